//===- CopyChecks.h - What copies of tiles have in common -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of the operations that move tiles between memory, channels and
// registers. Each is of one property and reports one error.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_IR_COPYCHECKS_H
#define FA_LIB_DIALECT_FAGPU_IR_COPYCHECKS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fagpu {

/// Prints a shape as 64x128.
std::string formatShape(ArrayRef<int64_t> shape);

/// A channel with several banks is used by bank, any other one is not.
LogicalResult verifyBank(Operation *op, Value channel, Value bank);

LogicalResult verifyEngine(Operation *op, Value channel,
                           ArrayRef<Engine> engines);

/// A part of a tile starts at one offset per dimension of the tile.
LogicalResult verifyPart(Operation *op, ValueRange part,
                         ArrayRef<int64_t> tile);

LogicalResult verifyOffsets(Operation *op, ValueRange offsets,
                            MemRefType memory);

LogicalResult verifySizes(Operation *op, ArrayRef<int64_t> sizes,
                          MemRefType memory);

/// A tile goes to a box of as many elements.
LogicalResult verifyBox(Operation *op, ArrayRef<int64_t> tile,
                        ArrayRef<int64_t> box);

LogicalResult verifyElements(Operation *op, Type element, Type expected,
                             StringRef what);

/// `columns` bounds the columns of a matrix; a vector ends at `rows`.
LogicalResult verifyColumns(Operation *op, Value columns,
                            ArrayRef<int64_t> tile);

LogicalResult verifyAlignment(Operation *op, int64_t alignment, Type element,
                              Value channel);

/// A box fills the tile, or divides it and says which part it is.
LogicalResult verifyCovers(Operation *op, ArrayRef<int64_t> box,
                           ArrayRef<int64_t> tile, bool hasPart);

/// Bulk copies alone tell the L2 cache what to keep.
LogicalResult verifyCache(Operation *op, std::optional<CachePriority> cache,
                          TypedValue<ChannelType> channel, Engine wanted);

/// One piece of memory, which is copied whole: nothing bounds it, and the
/// hardware moves 16 bytes at a time.
LogicalResult verifyPiece(Operation *op, StringRef what, ArrayRef<int64_t> box,
                          MemRefType memory);

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_IR_COPYCHECKS_H
