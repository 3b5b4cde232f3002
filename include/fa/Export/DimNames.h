//===- DimNames.h - Names of dims that must be equal ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXPORT_DIMNAMES_H
#define FA_EXPORT_DIMNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace mlir::fa {

class AttentionOp;
class AttentionGradientOp;

/// A dim of an argument: their numbers.
using ArgumentDim = std::pair<unsigned, unsigned>;

/// Names of dims of the arguments of a function.
using DimNames = std::map<ArgumentDim, std::string>;

/// Calls `visit` with each dim of an operand that the operation says is equal
/// to those of the same name: batch, queries, keys, heads, kv_heads, head_dim,
/// value_dim.
void visitNamedDims(
    AttentionOp attention,
    llvm::function_ref<void(Value operand, unsigned dim, StringRef name)>
        visit);

/// The same; gradients are shaped as what they are of.
void visitNamedDims(
    AttentionGradientOp gradient,
    llvm::function_ref<void(Value operand, unsigned dim, StringRef name)>
        visit);

/// The names that dims of arguments have by the `fa.attention`s of a function,
/// then by its `fa.attention_gradient`s.
/// A second set of equal dims of one name is called `keys_2`.
DimNames findDimNames(func::FuncOp function);

/// Dims of query heads, which are multiples of those of key heads, of each
/// attention or gradient whose operands are arguments.
SmallVector<std::pair<ArgumentDim, ArgumentDim>>
findGroupedHeads(func::FuncOp function);

} // namespace mlir::fa

#endif // FA_EXPORT_DIMNAMES_H
