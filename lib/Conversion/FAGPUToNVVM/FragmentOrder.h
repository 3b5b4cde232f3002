//===- FragmentOrder.h - Values as threads hold them ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `fragments`: four registers of a thread, 16 bytes, lie beside those of the
// next thread (fagpu::getFragmentOrder). So an access of a warp is one piece
// of memory, and in shared memory no two lanes meet in a bank.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_FRAGMENTORDER_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_FRAGMENTORDER_H

#include "Emitter.h"
#include "KernelContext.h"

namespace mlir::fagpu {

struct FragmentOrder {
  static constexpr int64_t atOnce = 4, bytesAtOnce = 16;

  /// Threads of a group.
  int64_t threads;

  explicit FragmentOrder(RankedTensorType type)
      : threads(32 * getBlockLayout(type).getWarps()) {}

  /// Bytes from the first registers of a thread to register `number`, a
  /// multiple of the `words` of a thread that lie beside each other, 4 or 1.
  int64_t offsetOf(int64_t number, int64_t words = atOnce) const {
    return number / words * threads * 4 * words;
  }

  /// Stores a thread's registers at a shared memory address.
  void storeShared(Emitter &emit, const RoleThreads &threads, Value address,
                   ValueRange registers) const;
};

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_FRAGMENTORDER_H
