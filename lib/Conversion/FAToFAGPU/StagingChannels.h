//===- StagingChannels.h - Shared memory that stores leave through *- C++ -*-=//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_STAGINGCHANNELS_H
#define FA_LIB_CONVERSION_FATOFAGPU_STAGINGCHANNELS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// Whether a store of a role may leave through shared memory.
bool mayBeStaged(fagpu::StoreOp store);

/// What stages a store of groups; null where bulk copies cannot do it.
fagpu::ChannelType getStagingType(fagpu::StoreOp store);

// Channels of the kernel whose memory a store of a group may leave through, by
// the tile that stages it; null where there is none.

/// Memory that is read for the last time before the store, or what is stored
/// through it already. Only where a block has one tile, and behind its loop:
/// that of the next one, or of the next step, would come too early.
fagpu::ChannelOp findFreeMemory(fagpu::StoreOp store, fagpu::ChannelType tile);

/// What a store before it, behind the same loop, leaves through.
fagpu::ChannelOp findStagedBefore(fagpu::StoreOp store,
                                  fagpu::ChannelType tile);

/// What sums of the loop are added through, where banks are as large.
fagpu::ChannelOp findStagedSums(fagpu::StoreOp store, fagpu::ChannelType tile);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_STAGINGCHANNELS_H
