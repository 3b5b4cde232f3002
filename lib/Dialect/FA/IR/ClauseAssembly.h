//===- ClauseAssembly.h - Clauses in the text of attention ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the texts of attention and of its gradients are made of: a keyword with
// operands, and where more than one type is legal, their types.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_IR_CLAUSEASSEMBLY_H
#define FA_LIB_DIALECT_FA_IR_CLAUSEASSEMBLY_H

#include "RegionAssembly.h"

namespace mlir::fa {

/// `(` operands `:` types `)`
ParseResult parseTypedGroup(OpAsmParser &parser, TypedOperands &group);
/// [keyword `(` operand `:` type `)`]
ParseResult parseOptionalTyped(OpAsmParser &parser, StringRef keyword,
                               TypedOperands &group);
/// [keyword `(` operands [`:` types] `)`]: `count` operands of one type.
ParseResult parseOptionalPlain(OpAsmParser &parser, StringRef keyword,
                               Type type, unsigned count, TypedOperands &group);
/// [keyword `(` indices `)`]: `count` of them, or any number.
ParseResult parseIndices(OpAsmParser &parser, StringRef keyword,
                         std::optional<unsigned> count, TypedOperands &group);
/// [`rows` `(` `keys` `)`]
ParseResult parseRowsAreKeys(OpAsmParser &parser,
                             function_ref<void(UnitAttr)> setRowsAreKeys);
/// `pairs` `(` arguments `)` [`captures` `(` %arg = %value : type, ... `)`]
/// region. The arguments are elements of `types`, then batch, head, query, key.
ParseResult parsePairs(OpAsmParser &parser, SmallVector<Type> types,
                       TypedOperands &captures, Region &region);
/// [`sink` `(` %batch, %head, %query `)` [captures] region]
ParseResult parseSinkClause(OpAsmParser &parser, RegionClause &clause);
/// An error where one of the clauses follows, which would read as an operation
/// of its own. Operations without lengths know no clause of these.
ParseResult checkNoClause(OpAsmParser &parser, ArrayRef<StringRef> clauses,
                          bool hasLengths);
/// Attributes, of which what is not of its type would be dropped when the
/// operation is created.
ParseResult parseOwnAttributes(OpAsmParser &parser, OperationState &result);
/// The order that an attribute of the operation gives.
DimsAttr getWrittenOrder(OperationState &result, StringRef name);

/// Nothing without operands.
/// @{
void printTyped(OpAsmPrinter &printer, StringRef keyword, ValueRange operands);
void printPlain(OpAsmPrinter &printer, StringRef keyword, ValueRange operands);
/// @}

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_IR_CLAUSEASSEMBLY_H
