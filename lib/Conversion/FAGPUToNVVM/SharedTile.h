//===- SharedTile.h - Matrix tiles in shared memory -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_SHAREDTILE_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_SHAREDTILE_H

#include "Emitter.h"
#include "KernelContext.h"

namespace mlir::fagpu {

/// A tile of 16-bit elements in #fagpu.smem<128>: panels of 64 columns, one
/// after the other, each with all rows; the 16-byte chunks of a row are
/// numbered by their own number xor the row's, modulo 8.
struct SharedTile {
  static constexpr int64_t rowBytes = 128, panelColumns = 64;

  /// Address of the first row of the part that is meant, a multiple of 1024.
  Value address;
  /// Rows of the whole tile: a panel has as many.
  int64_t rows;

  static bool isSupported(Type elementType, SharedLayoutAttr layout) {
    return isPackedElement(elementType) && layout.getSwizzle() == rowBytes;
  }

  /// The tile from a row that is a multiple of 8 and a column that is a
  /// multiple of 64 on.
  SharedTile at(Emitter &emit, Value row, Value column) const;

  /// Stores the packed registers of a block value of accumulator order.
  void store(Emitter &emit, const RoleThreads &threads, RankedTensorType type,
             ValueRange registers, bool transposed = false) const;

  /// Loads the packed registers of a block value of accumulator order.
  SmallVector<Value> load(Emitter &emit, const RoleThreads &threads,
                          RankedTensorType type) const;

private:
  /// Calls `access` with what each lane addresses of four 8x8 matrices, in the
  /// order of the registers that hold them.
  void forEachFour(Emitter &emit, const RoleThreads &threads,
                   RankedTensorType type, bool transposed,
                   llvm::function_ref<void(Value pointer)> access) const;
};

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_SHAREDTILE_H
