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
  TypedOperands ins, outs, scale, queryLengths, keyLengths, offsets, extents;
  RegionClause score, mask;
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
  static const StringRef clauses[] = {"ins",           "outs",        "scale",
                                      "query_lengths", "key_lengths", "offsets",
                                      "extents",       "score",       "mask"};
  Type index = builder.getIndexType();
  if (parseOptionalPlain(parser, "scale", builder.getF32Type(), 1, scale))
    return failure();
  if (hasLengths &&
      (parseOptionalTyped(parser, "query_lengths", queryLengths) ||
       parseOptionalTyped(parser, "key_lengths", keyLengths)))
    return failure();
  if (parseOptionalPlain(parser, "offsets", index, 4, offsets) ||
      parseOptionalPlain(parser, "extents", index, 2, extents) ||
      parseRegionClause(parser, /*isScore=*/true, captureSizes, score) ||
      parseRegionClause(parser, /*isScore=*/false, captureSizes, mask) ||
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
