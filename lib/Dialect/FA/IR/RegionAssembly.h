//===- RegionAssembly.h - Text form of score and mask -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_IR_REGIONASSEMBLY_H
#define FA_LIB_DIALECT_FA_IR_REGIONASSEMBLY_H

#include "CaptureSizes.h"

namespace mlir::fa {

/// Operands of one clause with their types, not yet resolved.
struct TypedOperands {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc;
};

/// A score or mask region while it is parsed.
struct RegionClause {
  TypedOperands captures;
  std::unique_ptr<Region> region = std::make_unique<Region>();
};

/// What follows `score` or `mask`: regions and short spellings, which apply one
/// after the other. They become one region.
ParseResult parseRegionClause(OpAsmParser &parser, bool isScore,
                              CaptureSizes &sizes, RegionClause &clause);

/// [`dropout` `(` %p, %seed, %offset [`:` types] `)`], which becomes the second
/// result of the score, whose captures it joins.
ParseResult parseDropout(OpAsmParser &parser, RegionClause &score);

/// [`captures` `(` %arg = %value : type, ... `)`], of which each argument joins
/// `arguments`.
ParseResult parseCaptures(OpAsmParser &parser, TypedOperands &captures,
                          SmallVectorImpl<OpAsmParser::Argument> &arguments);

/// Prints what the clause `keyword` became; nothing for an empty region.
void printRegionClause(OpAsmPrinter &printer, StringRef keyword, Region &region,
                       OperandRange captures);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_IR_REGIONASSEMBLY_H
