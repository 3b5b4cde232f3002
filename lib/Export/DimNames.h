//===- DimNames.h - Names of dims that must be equal ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXPORT_DIMNAMES_H
#define FA_LIB_EXPORT_DIMNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace mlir::fa {

/// Names of dims of the arguments of a function, by argument and dim.
using DimNames = std::map<std::pair<unsigned, unsigned>, StringRef>;

/// The names that dims have by the `fa.attention` of the function that `host`
/// implements: batch, queries, keys, heads, kv_heads, head_dim, value_dim. None
/// where there is no such function.
DimNames findDimNames(func::FuncOp host);

} // namespace mlir::fa

#endif // FA_LIB_EXPORT_DIMNAMES_H
