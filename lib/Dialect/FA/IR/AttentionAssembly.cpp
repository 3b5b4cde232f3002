//===- AttentionAssembly.cpp - Text form of the attention operations -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   fa.attention ins(%q, %k, %v : types) outs(%o, %lse : types)
//       [scale(%s)] [query_lengths(%l : type)] [key_lengths(%l : type)]
//       [query_starts(%l : type)] [key_starts(%l : type)]
//       [key_pages(%t : type)]
//       [offsets(%b, %h, %i, %j)] [extents(%queries, %keys)]
//       [score pieces] [mask pieces] [sink(%b, %h, %i) region]
//       [dropout(%p, %seed, %offset)] [attr-dict]
//
// RegionAssembly.cpp reads the pieces. A type is written where more than one is
// legal; else it may be left out. Begin with `AttentionParser::parse`, which
// both operations share, then `printAttention`.
//
//===----------------------------------------------------------------------===//

#include "ClauseAssembly.h"
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
  ParseResult resolve(const TypedOperands &group);

  OpAsmParser &parser;
  OperationState &result;
  OpBuilder builder;
  CaptureSizes captureSizes;
};

} // namespace

ParseResult AttentionParser::resolve(const TypedOperands &group) {
  return parser.resolveOperands(group.operands, group.types, group.loc,
                                result.operands);
}

ParseResult AttentionParser::parse(bool hasLengths) {
  TypedOperands ins, outs, scale, queryLengths, keyLengths, queryStarts,
      keyStarts, keyPages, offsets, extents;
  RegionClause score, mask, sink;
  SMLoc insLoc = parser.getCurrentLocation();
  if (parser.parseKeyword("ins") || parseTypedGroup(parser, ins))
    return failure();
  if (ins.operands.size() != 3)
    return parser.emitError(insLoc)
           << "ins has " << ins.operands.size()
           << " operands, expected 3 (query, key, value)";
  SMLoc outsLoc = parser.getCurrentLocation();
  if (parser.parseKeyword("outs") || parseTypedGroup(parser, outs))
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
  static const StringRef clauses[] = {
      "ins",          "outs",       "scale",     "query_lengths", "key_lengths",
      "query_starts", "key_starts", "key_pages", "offsets",       "extents",
      "score",        "mask",       "sink",      "dropout"};
  Type index = builder.getIndexType();
  if (parseOptionalPlain(parser, "scale", builder.getF32Type(), 1, scale))
    return failure();
  if (hasLengths &&
      (parseOptionalTyped(parser, "query_lengths", queryLengths) ||
       parseOptionalTyped(parser, "key_lengths", keyLengths) ||
       parseOptionalTyped(parser, "query_starts", queryStarts) ||
       parseOptionalTyped(parser, "key_starts", keyStarts) ||
       parseOptionalTyped(parser, "key_pages", keyPages)))
    return failure();
  if (parseOptionalPlain(parser, "offsets", index, 4, offsets) ||
      parseOptionalPlain(parser, "extents", index, 2, extents) ||
      parseRegionClause(parser, /*isScore=*/true, captureSizes, score) ||
      parseRegionClause(parser, /*isScore=*/false, captureSizes, mask) ||
      (hasLengths && parseSinkClause(parser, sink)) ||
      parseDropout(parser, score) ||
      checkNoClause(parser, clauses, hasLengths) ||
      parseOwnAttributes(parser, result) ||
      checkNoClause(parser, clauses, hasLengths))
    return failure();
  // A piece of a larger problem keeps the captures of the whole.
  if (hasLengths && offsets.operands.empty() &&
      captureSizes.check(parser, ins.types[0],
                         getWrittenOrder(result, "query_dims"), ins.types[1],
                         getWrittenOrder(result, "key_dims")))
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
  if (hasLengths && (add(queryLengths) || add(keyLengths) || add(queryStarts) ||
                     add(keyStarts) || add(keyPages)))
    return failure();
  if (add(offsets) || add(extents) || add(score.captures) ||
      add(mask.captures) || (hasLengths && add(sink.captures)) || resolve(outs))
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
  if (hasLengths)
    result.addRegion(std::move(sink.region));
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printSequences(AttentionOp op, OpAsmPrinter &printer) {
  std::pair<StringRef, Value> operands[] = {
      {"query_lengths", op.getQueryLengths()},
      {"key_lengths", op.getKeyLengths()},
      {"query_starts", op.getQueryStarts()},
      {"key_starts", op.getKeyStarts()},
      {"key_pages", op.getKeyPages()}};
  for (auto [keyword, operand] : operands)
    if (operand)
      printTyped(printer, keyword, operand);
}

static void printSequences(OnlineAttentionOp, OpAsmPrinter &) {}

template <typename OpTy>
static void printAttention(OpTy op, OpAsmPrinter &printer) {
  printTyped(printer, "ins",
             ValueRange{op.getQuery(), op.getKey(), op.getValue()});
  printTyped(printer, "outs", op.getDpsInits());
  if (op.getScale())
    printPlain(printer, "scale", op.getScale());
  printSequences(op, printer);
  printPlain(printer, "offsets", op.getOffsets());
  printPlain(printer, "extents", op.getExtents());
  printRegionClause(printer, "score", op.getScore(), op.getScoreCaptures());
  printRegionClause(printer, "mask", op.getMask(), op.getMaskCaptures());
  if constexpr (std::is_same_v<OpTy, AttentionOp>)
    printRegionClause(printer, "sink", op.getSink(), op.getSinkCaptures());
  printer.printOptionalAttrDict(op->getAttrs(), {"operandSegmentSizes"});
}

// Names of region arguments that have none in the text that was read.
static void nameRegionArguments(Region &region, bool isScore, bool isSink,
                                OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"score", "batch", "head", "query",
                                            "key"};
  ArrayRef<StringLiteral> fixed =
      ArrayRef(names).drop_front(isScore ? 0 : 1).drop_back(isSink ? 1 : 0);
  for (auto [position, argument] : llvm::enumerate(region.getArguments()))
    setName(argument, position < fixed.size() ? StringRef(fixed[position])
                                              : StringRef("capture"));
}

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  nameRegionArguments(region, &region == &getScore(), &region == &getSink(),
                      setName);
}

void OnlineAttentionOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  nameRegionArguments(region, &region == &getScore(), /*isSink=*/false,
                      setName);
}

ParseResult AttentionOp::parse(OpAsmParser &parser, OperationState &result) {
  return AttentionParser(parser, result).parse(/*hasLengths=*/true);
}

void AttentionOp::print(OpAsmPrinter &printer) {
  printAttention(*this, printer);
}

ParseResult OnlineAttentionOp::parse(OpAsmParser &parser,
                                     OperationState &result) {
  return AttentionParser(parser, result).parse(/*hasLengths=*/false);
}

void OnlineAttentionOp::print(OpAsmPrinter &printer) {
  printAttention(*this, printer);
}
