//===- IndexBits.h - Sizes of the indices of a region -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_INDEXBITS_H
#define FA_LIB_CONVERSION_FATOFAGPU_INDEXBITS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::fa {

/// Whether the result for a first operand below 0 depends on its bits.
bool isReadAsUnsigned(Operation *op);

/// Whether an integer of a region is at least 0: indices, lengths, constants
/// and what is made of these without a sign.
bool isNeverNegative(Value value);

/// Bits that the sizes of integers of a score or mask region take, without
/// their sign. Captured numbers are taken to fit 32 bits with it.
class IndexBits {
public:
  /// `queries` and `keys` are the lengths, below 2^30 where they are not known.
  IndexBits(Value queries, Value keys);

  /// Sets what the values of an argument are below of.
  void setQuery(Value argument) { known[argument] = queryBits; }
  void setKey(Value argument) { known[argument] = keyBits; }

  int64_t get(Value value);

private:
  int64_t compute(Value value);

  int64_t queryBits, keyBits;
  llvm::DenseMap<Value, int64_t> known;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_INDEXBITS_H
