//===- ColumnShares.h - What groups have of columns -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The share of a block value that each of the groups has which divide its
// columns, and what they cannot divide.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_COLUMNSHARES_H
#define FA_LIB_CONVERSION_FATOFAGPU_COLUMNSHARES_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// Bytes of the narrowest panel of shared memory.
inline constexpr unsigned narrowestPanel = 32;

/// What a group of `warps` warps has of a block value; null where `groups`
/// groups cannot divide it.
Type getColumnShare(Type type, int64_t groups, unsigned warps);

/// Emits an error for the first operation of a role whose block values groups
/// cannot divide.
LogicalResult verifyColumnShares(fagpu::RoleOp role, int64_t groups);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_COLUMNSHARES_H
