//===- SameHeads.h - Gradients for one query head a key head ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_SAMEHEADS_H
#define FA_DIALECT_FA_IR_SAMEHEADS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::fa {

/// On a gradient that runs for as many key heads as query heads alone, where
/// its types do not say so: a branch around it does.
inline constexpr llvm::StringLiteral sameHeadsAttrName = "fa.same_heads";

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_SAMEHEADS_H
