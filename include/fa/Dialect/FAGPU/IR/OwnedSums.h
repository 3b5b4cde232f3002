//===- OwnedSums.h - Additions that have one order --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_OWNEDSUMS_H
#define FA_DIALECT_FAGPU_IR_OWNEDSUMS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::fagpu {

/// On `fagpu.scatter_add`: all that is added to an element of memory comes from
/// one element of one operation of one tile, in the order of the text.
inline constexpr llvm::StringLiteral ownedAttrName = "fagpu.owned";

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_IR_OWNEDSUMS_H
