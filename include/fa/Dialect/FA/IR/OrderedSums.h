//===- OrderedSums.h - Gradients of captures in one order -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_ORDEREDSUMS_H
#define FA_DIALECT_FA_IR_ORDEREDSUMS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::fa {

/// On a step of gradients: no two threads add to one element of the gradients
/// of captures and of the scale; what all pairs of a block share has a
/// dimension of warps in front.
inline constexpr llvm::StringLiteral orderedSumsAttrName = "fa.ordered_sums";

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_ORDEREDSUMS_H
