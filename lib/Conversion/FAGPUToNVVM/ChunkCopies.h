//===- ChunkCopies.h - Copies of 16 bytes into shared memory ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_CHUNKCOPIES_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_CHUNKCOPIES_H

#include "Emitter.h"

namespace mlir::fagpu {

/// 16 bytes of a row that one thread copies from global to shared memory. What
/// is not in memory becomes zeros, without an access.
struct ChunkCopy {
  Value target, source;
  /// Whether the row is past the end.
  Value isPast;
  /// How many bytes of the chunk are in memory, 0 to 16; null: all.
  Value bytes;
  /// Whether anything is copied; null: it is.
  Value condition;

  /// Starts asynchronous copies of `granule` bytes each: 4, 8 or 16.
  void start(Emitter &emit, int64_t granule) const;
  /// Loads the chunk's four words by loads of `granule` bytes each: 2 to 16.
  /// Memory ends between two of them.
  SmallVector<Value> load(Emitter &emit, int64_t granule) const;
  /// Stores the words that were loaded.
  void store(Emitter &emit, ValueRange words) const;
};

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_CHUNKCOPIES_H
