//===- ScatterAddOp.cpp - Sums of pairs into memory -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   fa.scatter_add %x : type to %memory : type [scores(%s : type)]
//       offsets(%b, %h, %i, %j) extents(%queries, %keys) [rows(keys)]
//       pairs([%score,] %batch, %head, %query, %key) [captures(...)] region
//       [attr-dict]
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "ClauseAssembly.h"

using namespace mlir;
using namespace mlir::fa;

ParseResult ScatterAddOp::parse(OpAsmParser &parser, OperationState &result) {
  TypedOperands input, destination, scores, offsets, extents, captures;
  auto parseOne = [&](TypedOperands &group) -> ParseResult {
    group.loc = parser.getCurrentLocation();
    return failure(parser.parseOperand(group.operands.emplace_back()) ||
                   parser.parseColonType(group.types.emplace_back()));
  };
  if (parseOne(input) || parser.parseKeyword("to") || parseOne(destination))
    return failure();
  SmallVector<Type> elements;
  if (succeeded(parser.parseOptionalKeyword("scores"))) {
    if (parser.parseLParen() || parseOne(scores) || parser.parseRParen())
      return failure();
    elements.push_back(getElementTypeOrSelf(scores.types.front()));
  }
  if (parseIndices(parser, "offsets", 4, offsets) ||
      parseIndices(parser, "extents", 2, extents))
    return failure();
  if (parseRowsAreKeys(parser,
                       [&](UnitAttr attribute) {
                         result.getOrAddProperties<Properties>().setRowsAreKeys(
                             attribute);
                       }) ||
      parsePairs(parser, elements, captures, *result.addRegion()) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  auto &segments = result.getOrAddProperties<Properties>().operandSegmentSizes;
  const TypedOperands *groups[] = {&input,   &destination, &scores,
                                   &offsets, &extents,     &captures};
  for (auto [number, group] : llvm::enumerate(groups)) {
    segments[number] = group->operands.size();
    if (parser.resolveOperands(group->operands, group->types, group->loc,
                               result.operands))
      return failure();
  }
  return success();
}

void ScatterAddOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getInput() << " : " << getInput().getType() << " to "
          << getDestination() << " : " << getDestination().getType();
  if (getScores())
    printer << " scores(" << getScores() << " : " << getScores().getType()
            << ')';
  printPlain(printer, "offsets", getOffsets());
  printPlain(printer, "extents", getExtents());
  if (getRowsAreKeys())
    printer << " rows(keys)";
  printRegionClause(printer, "pairs", getBody(), getCaptures());
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"operandSegmentSizes", "rows_are_keys"});
}

void ScatterAddOp::getAsmBlockArgumentNames(Region &region,
                                            OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral all[] = {"score", "batch", "head", "query",
                                          "key"};
  ArrayRef<StringLiteral> names = ArrayRef(all).drop_front(getScores() ? 0 : 1);
  for (auto [position, argument] : llvm::enumerate(region.getArguments()))
    setName(argument,
            position < names.size() ? StringRef(names[position]) : "capture");
}

LogicalResult ScatterAddOp::verify() {
  if (failed(verifyRank(*this, "input", getInput().getType(), 2)))
    return failure();
  Type element = getElementTypeOrSelf(getInput().getType());
  if (failed(verifyElementType(*this, "destination", getDestination().getType(),
                               element)))
    return failure();
  if (getScores() && cast<ShapedType>(getScores().getType()).getShape() !=
                         cast<ShapedType>(getInput().getType()).getShape())
    return emitOpError() << "scores are of type " << getScores().getType()
                         << ", expected the shape of " << getInput().getType();
  if (getOffsets().empty() || getExtents().empty())
    return emitOpError() << "has no "
                         << (getOffsets().empty() ? "offsets" : "extents")
                         << ", which say where its pairs stand";
  return verifyPlace(cast<PairRegionsOpInterface>(getOperation()));
}

LogicalResult ScatterAddOp::verifyRegions() {
  int64_t rank = cast<ShapedType>(getDestination().getType()).getRank();
  SmallVector<Type> elements;
  if (getScores())
    elements.push_back(getElementTypeOrSelf(getScores().getType()));
  return verifyPairRegion(
      *this, "pair", getPairRegions().front(), elements,
      SmallVector<Type>(rank, IndexType::get(getContext())));
}

void ScatterAddOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : (*this)->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestinationMutable(),
                       SideEffects::DefaultResource::get());
}
