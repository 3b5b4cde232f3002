//===- SoleReader.h - Partial results that one operation reads --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_SOLEREADER_H
#define FA_DIALECT_FA_IR_SOLEREADER_H

#include "llvm/ADT/StringRef.h"

namespace mlir::fa {

/// On an fa.finalize: where it stores rows, nothing else reads the partial
/// result that its state was made of.
inline constexpr llvm::StringLiteral soleReaderAttrName = "fa.sole_reader";

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_SOLEREADER_H
