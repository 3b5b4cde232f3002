//===- Sizes.h - Sizes of tensors, and which are the same -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_STABLEHLOTOLINALG_SIZES_H
#define FA_LIB_CONVERSION_STABLEHLOTOLINALG_SIZES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace mlir::fa::stablehlo {

/// Sizes of dimensions: index attributes and values of type index.
using SizeList = SmallVector<OpFoldResult>;

/// The sizes of imported tensors. StableHLO computes with sizes in tensors of
/// integers; this keeps the indices they come from, and which of them a program
/// takes to be the same.
class Sizes {
public:
  /// The sizes of a tensor. What was not recorded is asked for by `tensor.dim`
  /// where the tensor is made.
  SizeList get(ImplicitLocOpBuilder &builder, Value tensor);
  void record(Value tensor, ArrayRef<OpFoldResult> sizes);

  /// An element of a tensor of rank 0 or 1, as a scalar.
  Value getElement(ImplicitLocOpBuilder &builder, Value tensor,
                   int64_t position = 0);
  /// The same as an index, one value for one integer: the index that the
  /// integer was cast from; a product of indices for a product.
  OpFoldResult getIndex(ImplicitLocOpBuilder &builder, Value tensor,
                        int64_t position = 0);

  /// That of an integer by itself.
  OpFoldResult getIndexOf(ImplicitLocOpBuilder &builder, Value integer);

  /// Two sizes that can only differ where the program means nothing.
  void unite(OpFoldResult first, OpFoldResult second);
  bool areSame(OpFoldResult first, OpFoldResult second) const;

  /// The factors of a product of sizes: constants multiplied, and the rest.
  struct Factors {
    int64_t constant = 1;
    SmallVector<OpFoldResult> others;
  };
  static void multiply(Factors &factors, OpFoldResult size);
  /// Removes the factors that both have.
  void cancel(Factors &first, Factors &second) const;

private:
  Value toIndex(ImplicitLocOpBuilder &builder, Value integer);

  llvm::DenseMap<Value, SizeList> known;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> elements;
  llvm::DenseMap<Value, Value> indices;
  llvm::EquivalenceClasses<void *> same;
};

} // namespace mlir::fa::stablehlo

#endif // FA_LIB_CONVERSION_STABLEHLOTOLINALG_SIZES_H
