//===- AttentionAssembly.cpp - Text form of the attention operations -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   fa.attention ins(%q, %k, %v : types) outs(%o, %lse : types)
//       [scale(%s)] [query_lengths(%l : type)] [key_lengths(%l : type)]
//       [offsets(%b, %h, %i, %j)] [extents(%queries, %keys)]
//       [score pieces] [mask pieces] [attr-dict]
//
// RegionAssembly.cpp reads the pieces. A type is written where more than one is
// legal; else it may be left out.
//
//===----------------------------------------------------------------------===//

#include "RegionAssembly.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa;

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

namespace {

/// Reads the clauses that both attention operations share.
class AttentionParser {
public:
  AttentionParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result), builder(parser.getContext()) {}

  ParseResult parse(bool hasLengths);

private:
  ParseResult parseTypedGroup(TypedOperands &group);
  ParseResult parseOptionalTyped(StringRef keyword, TypedOperands &group);
  ParseResult parseOptionalPlain(StringRef keyword, Type type, unsigned count,
                                 TypedOperands &group);
  ParseResult checkNoClause(bool hasLengths);
  ParseResult parseAttributes();
  ParseResult resolve(const TypedOperands &group);

  DimsAttr getOrder(StringRef name);

  OpAsmParser &parser;
  OperationState &result;
  OpBuilder builder;
  CaptureSizes captureSizes;
};

} // namespace

// `(` operands `:` types `)`
ParseResult AttentionParser::parseTypedGroup(TypedOperands &group) {
  group.loc = parser.getCurrentLocation();
  return failure(
      parser.parseLParen() || parser.parseOperandList(group.operands) ||
      parser.parseColonTypeList(group.types) || parser.parseRParen());
}

ParseResult AttentionParser::parseOptionalTyped(StringRef keyword,
                                                TypedOperands &group) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  if (parseTypedGroup(group))
    return failure();
  if (group.operands.size() != 1)
    return parser.emitError(loc) << keyword << " has " << group.operands.size()
                                 << " operands, expected 1";
  return success();
}

ParseResult AttentionParser::parseOptionalPlain(StringRef keyword, Type type,
                                                unsigned count,
                                                TypedOperands &group) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  group.loc = parser.getCurrentLocation();
  if (parser.parseLParen() || parser.parseOperandList(group.operands) ||
      (succeeded(parser.parseOptionalColon()) &&
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

ParseResult AttentionParser::resolve(const TypedOperands &group) {
  return parser.resolveOperands(group.operands, group.types, group.loc,
                                result.operands);
}

// The order that an attribute of the operation gives.
DimsAttr AttentionParser::getOrder(StringRef name) {
  if (auto order = dyn_cast_if_present<DimsAttr>(result.attributes.get(name)))
    return order;
  return DimsAttr::getDefault(parser.getContext());
}

// What is left of an operation reads as an operation of its own.
ParseResult AttentionParser::checkNoClause(bool hasLengths) {
  static const StringRef clauses[] = {"ins",           "outs",        "scale",
                                      "query_lengths", "key_lengths", "offsets",
                                      "extents",       "score",       "mask"};
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name, clauses)))
    return success();
  SmallVector<StringRef> order;
  for (StringRef clause : clauses)
    if (hasLengths || !clause.ends_with("_lengths"))
      order.push_back(clause);
  return parser.emitError(loc)
         << "'" << name << "' is out of place, expected each clause once, in "
         << "this order: " << llvm::join(order, ", ") << ", attributes";
}

// What is not of its type would be dropped when the operation is created.
ParseResult AttentionParser::parseAttributes() {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  return result.name.verifyInherentAttrs(result.attributes,
                                         [&] { return parser.emitError(loc); });
}

ParseResult AttentionParser::parse(bool hasLengths) {
  TypedOperands ins, outs, scale, queryLengths, keyLengths, offsets, extents;
  RegionClause score, mask;
  SMLoc insLoc = parser.getCurrentLocation();
  if (parser.parseKeyword("ins") || parseTypedGroup(ins))
    return failure();
  if (ins.operands.size() != 3)
    return parser.emitError(insLoc)
           << "ins has " << ins.operands.size()
           << " operands, expected 3 (query, key, value)";
  SMLoc outsLoc = parser.getCurrentLocation();
  if (parser.parseKeyword("outs") || parseTypedGroup(outs))
    return failure();
  size_t numOuts = outs.operands.size();
  if (hasLengths && (numOuts < 1 || numOuts > 2))
    return parser.emitError(outsLoc)
           << "outs has " << numOuts
           << " operands, expected 1 (output) or 2 (output, lse)";
  if (!hasLengths && numOuts != 3)
    return parser.emitError(outsLoc)
           << "outs has " << numOuts
           << " operands, expected 3 (accumulator, maximum, sum)";
  Type index = builder.getIndexType();
  if (parseOptionalPlain("scale", builder.getF32Type(), 1, scale))
    return failure();
  if (hasLengths && (parseOptionalTyped("query_lengths", queryLengths) ||
                     parseOptionalTyped("key_lengths", keyLengths)))
    return failure();
  if (parseOptionalPlain("offsets", index, 4, offsets) ||
      parseOptionalPlain("extents", index, 2, extents) ||
      parseRegionClause(parser, /*isScore=*/true, captureSizes, score) ||
      parseRegionClause(parser, /*isScore=*/false, captureSizes, mask) ||
      checkNoClause(hasLengths) || parseAttributes() ||
      checkNoClause(hasLengths))
    return failure();
  // A piece of a larger problem keeps the captures of the whole.
  if (hasLengths && offsets.operands.empty() &&
      captureSizes.check(parser, ins.types[0], getOrder("query_dims"),
                         ins.types[1], getOrder("key_dims")))
    return failure();

  SmallVector<int32_t> segments;
  auto add = [&](const TypedOperands &group) -> ParseResult {
    segments.push_back(group.operands.size());
    return resolve(group);
  };
  if (resolve(ins))
    return failure();
  segments.assign(3, 1);
  if (add(scale))
    return failure();
  if (hasLengths && (add(queryLengths) || add(keyLengths)))
    return failure();
  if (add(offsets) || add(extents) || add(score.captures) ||
      add(mask.captures) || resolve(outs))
    return failure();
  segments.append(numOuts, 1);
  if (hasLengths && numOuts == 1)
    segments.push_back(0);
  result.addAttribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(segments));
  for (Type type : outs.types)
    if (isa<RankedTensorType>(type))
      result.addTypes(type);
  result.addRegion(std::move(score.region));
  result.addRegion(std::move(mask.region));
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printTyped(OpAsmPrinter &printer, StringRef keyword,
                       ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << " : " << operands.getTypes()
          << ')';
}

static void printPlain(OpAsmPrinter &printer, StringRef keyword,
                       ValueRange operands) {
  if (operands.empty())
    return;
  printer << ' ' << keyword << '(' << operands << ')';
}

template <typename OpTy>
static void printAttention(OpTy op, OpAsmPrinter &printer,
                           ValueRange queryLengths, ValueRange keyLengths) {
  printTyped(printer, "ins",
             ValueRange{op.getQuery(), op.getKey(), op.getValue()});
  printTyped(printer, "outs", op.getDpsInits());
  if (op.getScale())
    printPlain(printer, "scale", op.getScale());
  printTyped(printer, "query_lengths", queryLengths);
  printTyped(printer, "key_lengths", keyLengths);
  printPlain(printer, "offsets", op.getOffsets());
  printPlain(printer, "extents", op.getExtents());
  printRegionClause(printer, "score", op.getScore(), op.getScoreCaptures());
  printRegionClause(printer, "mask", op.getMask(), op.getMaskCaptures());
  printer.printOptionalAttrDict(op->getAttrs(), {"operandSegmentSizes"});
}

// Names of region arguments that have none in the text that was read.
static void nameRegionArguments(Region &region, bool isScore,
                                OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"score", "batch", "head", "query",
                                            "key"};
  ArrayRef<StringLiteral> fixed = ArrayRef(names).drop_front(isScore ? 0 : 1);
  for (auto [position, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, position < fixed.size() ? StringRef(fixed[position])
                                              : StringRef("capture"));
}

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  nameRegionArguments(region, &region == &getScore(), setName);
}

void OnlineAttentionOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  nameRegionArguments(region, &region == &getScore(), setName);
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  return AttentionParser(parser, result).parse(/*hasLengths=*/true);
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printAttention(*this, printer, getODSOperands(4), getODSOperands(5));
}

ParseResult OnlineAttentionOp::parse(OpAsmParser &parser,
                                     OperationState &result) {
  return AttentionParser(parser, result).parse(/*hasLengths=*/false);
}

void OnlineAttentionOp::print(OpAsmPrinter &printer) {
  printAttention(*this, printer, {}, {});
}
