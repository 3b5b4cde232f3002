//===- ClauseAssembly.cpp - Clauses in the text of attention --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClauseAssembly.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fa;

ParseResult mlir::fa::parseTypedGroup(OpAsmParser &parser,
                                      TypedOperands &group) {
  group.loc = parser.getCurrentLocation();
  return failure(
      parser.parseLParen() || parser.parseOperandList(group.operands) ||
      parser.parseColonTypeList(group.types) || parser.parseRParen());
}

ParseResult mlir::fa::parseOptionalTyped(OpAsmParser &parser, StringRef keyword,
                                         TypedOperands &group) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  if (parseTypedGroup(parser, group))
    return failure();
  if (group.operands.size() != 1)
    return parser.emitError(loc) << keyword << " has " << group.operands.size()
                                 << " operands, expected 1";
  return success();
}

ParseResult mlir::fa::parseOptionalPlain(OpAsmParser &parser, StringRef keyword,
                                         Type type, unsigned count,
                                         TypedOperands &group) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  group.loc = parser.getCurrentLocation();
  if (parser.parseLParen() || parser.parseOperandList(group.operands))
    return failure();
  if (group.operands.empty())
    return parser.emitError(parser.getCurrentLocation())
           << keyword << " names no value, expected " << count << ", as in "
           << keyword << "(%x), of type " << type;
  if ((succeeded(parser.parseOptionalColon()) &&
       parser.parseTypeList(group.types)) ||
      parser.parseRParen())
    return failure();
  if (group.operands.size() != count)
    return parser.emitError(group.loc)
           << keyword << " has " << group.operands.size()
           << " operands, expected " << count;
  if (group.types.empty())
    group.types.assign(count, type);
  for (Type written : group.types)
    if (written != type)
      return parser.emitError(group.loc)
             << keyword << " has type " << written << ", expected " << type;
  return success();
}

DimsAttr mlir::fa::getWrittenOrder(OperationState &result, StringRef name) {
  if (auto order = dyn_cast_if_present<DimsAttr>(result.attributes.get(name)))
    return order;
  return DimsAttr::getDefault(result.getContext());
}

ParseResult mlir::fa::checkNoClause(OpAsmParser &parser,
                                    ArrayRef<StringRef> clauses,
                                    bool hasLengths) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name, clauses)))
    return success();
  SmallVector<StringRef> order;
  for (StringRef clause : clauses)
    if (hasLengths ||
        (!clause.ends_with("_lengths") && !clause.ends_with("_starts") &&
         clause != "key_pages" && !clause.starts_with("sink")))
      order.push_back(clause);
  return parser.emitError(loc)
         << "'" << name << "' is out of place, expected each clause once, in "
         << "this order: " << llvm::join(order, ", ") << ", attributes";
}

ParseResult mlir::fa::parseOwnAttributes(OpAsmParser &parser,
                                         OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  return result.name.verifyInherentAttrs(result.attributes,
                                         [&] { return parser.emitError(loc); });
}

ParseResult mlir::fa::parseSinkClause(OpAsmParser &parser,
                                      RegionClause &clause) {
  if (failed(parser.parseOptionalKeyword("sink")))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<OpAsmParser::Argument> arguments;
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::Argument &argument = arguments.emplace_back();
    return failure(parser.parseArgument(argument) ||
                   (succeeded(parser.parseOptionalColon()) &&
                    parser.parseType(argument.type)));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne))
    return failure();
  if (arguments.size() != 3)
    return parser.emitError(loc) << "sink names " << arguments.size()
                                 << " arguments, expected 3 (batch, head, "
                                    "query)";
  Type index = parser.getBuilder().getIndexType();
  for (OpAsmParser::Argument &argument : arguments) {
    if (argument.type && argument.type != index)
      return parser.emitError(argument.ssaName.location)
             << "sink argument has type " << argument.type << ", expected "
             << index;
    argument.type = index;
  }
  return failure(parseCaptures(parser, clause.captures, arguments) ||
                 parser.parseRegion(*clause.region, arguments));
}

void mlir::fa::printTyped(OpAsmPrinter &printer, StringRef keyword,
                          ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << " : " << operands.getTypes()
          << ')';
}

void mlir::fa::printPlain(OpAsmPrinter &printer, StringRef keyword,
                          ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << ')';
}
