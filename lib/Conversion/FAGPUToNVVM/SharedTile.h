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
#include "llvm/Support/MathExtras.h"

namespace mlir::fagpu {

/// The panels of a swizzled tile, by the bytes of a row: 32, 64 or 128. The
/// chunk of 16 bytes of a row is stored at its number xor that of the 128 bytes
/// that the row is in, which repeats after 8 rows; so eight rows of one chunk
/// are in all banks.
struct Panels {
  static constexpr int64_t chunkBytes = 16, chunkColumns = 8;

  int64_t rowBytes, elementBytes;

  explicit Panels(SharedLayoutAttr layout, int64_t elementBytes = 2)
      : rowBytes(layout.getSwizzle()), elementBytes(elementBytes) {}

  int64_t getColumns() const { return rowBytes / elementBytes; }
  int64_t getChunks() const { return rowBytes / chunkBytes; }
  /// The bits of the number of a chunk, and of a byte, in a row.
  int64_t getChunkBits() const { return llvm::Log2_64(getChunks()); }
  int64_t getRowBits() const { return llvm::Log2_64(rowBytes); }
  /// What the chunk's number is xored with.
  Value getPhase(Emitter &emit, Value row) const {
    if (int64_t rowsInBanks = 7 - getRowBits())
      row = emit.shiftRight(row, rowsInBanks);
    return emit.bitAnd(row, getChunks() - 1);
  }
};

/// A tile in swizzled memory: panels, one after the other, each with all rows.
/// Elements have 16 bits but for `storeFloats`.
struct SharedTile {
  /// Address of the first row of the part that is meant, a multiple of that of
  /// 8 rows of a panel.
  Value address;
  /// Rows of the whole tile: a panel has as many.
  int64_t rows;
  Panels panels;

  static bool isSupported(Type elementType, SharedLayoutAttr layout) {
    return isPackedElement(elementType) && layout.getSwizzle();
  }

  /// The tile from a row that is a multiple of 8 and a column that is the first
  /// of a panel on.
  SharedTile at(Emitter &emit, Value row, Value column) const;

  /// Stores the packed registers of a block value of accumulator order.
  void store(Emitter &emit, const RoleThreads &threads, RankedTensorType type,
             ValueRange registers, bool transposed = false) const;

  /// Stores the registers of a block value of f32 in accumulator order.
  void storeFloats(Emitter &emit, const RoleThreads &threads,
                   RankedTensorType type, ValueRange registers) const;

  /// Loads the packed registers of a block value of accumulator order.
  SmallVector<Value> load(Emitter &emit, const RoleThreads &threads,
                          RankedTensorType type, bool transposed = false) const;

private:
  /// Calls `access` with what each lane addresses of four 8x8 matrices, in the
  /// order of the registers that hold them.
  void forEachFour(Emitter &emit, const RoleThreads &threads,
                   RankedTensorType type, bool transposed,
                   llvm::function_ref<void(Value pointer)> access) const;
};

/// The tile of a view at `address`; a slice's panels are as far apart as those
/// of the whole.
SharedTile getTile(Value view, Value address);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_SHAREDTILE_H
