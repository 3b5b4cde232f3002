//===- ApplyOp.cpp - A region on the pairs of a block ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.apply, a region on the pairs of a block. First its text, with parts that
// other operations share (`parseIndices`, `parsePairs`): read `ApplyOp::parse`.
// Then its checks, its effects and its shapes. The text is
//
//   fa.apply [ins(%x, ... : types)] [sizes(%n, ...)]
//       offsets(%b, %h, %i, %j) extents(%queries, %keys) [rows(keys)]
//       pairs(%x, ..., %b, %h, %i, %j) [captures(%arg = %value : type, ...)]
//       { ... } [attr-dict] -> types
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "ClauseAssembly.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Text form
//===----------------------------------------------------------------------===//

ParseResult mlir::fa::parseIndices(OpAsmParser &parser, StringRef keyword,
                                   std::optional<unsigned> count,
                                   TypedOperands &group) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  group.loc = parser.getCurrentLocation();
  if (parser.parseOperandList(group.operands, OpAsmParser::Delimiter::Paren))
    return failure();
  if (count && group.operands.size() != *count)
    return parser.emitError(group.loc)
           << keyword << " has " << group.operands.size()
           << " operands, expected " << *count;
  group.types.assign(group.operands.size(), parser.getBuilder().getIndexType());
  return success();
}

ParseResult
mlir::fa::parseRowsAreKeys(OpAsmParser &parser,
                           function_ref<void(UnitAttr)> setRowsAreKeys) {
  if (failed(parser.parseOptionalKeyword("rows")))
    return success();
  if (parser.parseLParen() || parser.parseKeyword("keys") ||
      parser.parseRParen())
    return failure();
  setRowsAreKeys(parser.getBuilder().getUnitAttr());
  return success();
}

ParseResult mlir::fa::parsePairs(OpAsmParser &parser, SmallVector<Type> types,
                                 TypedOperands &captures, Region &region) {
  bool hasElements = !types.empty();
  types.append(4, parser.getBuilder().getIndexType());
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc loc;
  if (parser.parseKeyword("pairs") || parser.getCurrentLocation(&loc) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != types.size())
    return parser.emitError(loc)
           << "pairs names " << arguments.size() << " arguments, expected "
           << types.size() << " ("
           << (hasElements ? "an element of each input, " : "")
           << "batch, head, query, key)";
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  if (parseCaptures(parser, captures, arguments))
    return failure();
  return parser.parseRegion(region, arguments);
}

ParseResult ApplyOp::parse(OpAsmParser &parser, OperationState &result) {
  TypedOperands inputs, sizes, offsets, extents, captures;
  if (succeeded(parser.parseOptionalKeyword("ins")) &&
      (parser.getCurrentLocation(&inputs.loc) || parser.parseLParen() ||
       parser.parseOperandList(inputs.operands) ||
       parser.parseColonTypeList(inputs.types) || parser.parseRParen()))
    return failure();
  if (parseIndices(parser, "sizes", std::nullopt, sizes) ||
      parseIndices(parser, "offsets", 4, offsets) ||
      parseIndices(parser, "extents", 2, extents))
    return failure();
  if (parseRowsAreKeys(parser, [&](UnitAttr attribute) {
        result.getOrAddProperties<Properties>().setRowsAreKeys(attribute);
      }))
    return failure();
  SmallVector<Type> elements;
  for (Type type : inputs.types)
    elements.push_back(getElementTypeOrSelf(type));
  if (parsePairs(parser, elements, captures, *result.addRegion()) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseArrowTypeList(result.types))
    return failure();
  auto &segments = result.getOrAddProperties<Properties>().operandSegmentSizes;
  const TypedOperands *groups[] = {&inputs, &sizes, &offsets, &extents,
                                   &captures};
  for (auto [number, group] : llvm::enumerate(groups)) {
    segments[number] = group->operands.size();
    if (parser.resolveOperands(group->operands, group->types, group->loc,
                               result.operands))
      return failure();
  }
  return success();
}

void ApplyOp::print(OpAsmPrinter &printer) {
  if (!getInputs().empty())
    printer << " ins(" << getInputs() << " : " << getInputs().getTypes() << ')';
  for (auto [keyword, indices] :
       {std::pair("sizes", getSizes()), std::pair("offsets", getOffsets()),
        std::pair("extents", getExtents())})
    if (!indices.empty())
      printer << ' ' << keyword << '(' << indices << ')';
  if (getRowsAreKeys())
    printer << " rows(keys)";
  printRegionClause(printer, "pairs", getBody(), getCaptures());
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"operandSegmentSizes", "rows_are_keys"});
  printer.printArrowTypeList(getResultTypes());
}

void ApplyOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral names[] = {"batch", "head", "query", "key"};
  size_t numElements = getInputs().size();
  for (auto [position, argument] : llvm::enumerate(region.getArguments())) {
    if (position < numElements)
      setName(argument, "element");
    else if (position < numElements + std::size(names))
      setName(argument, names[position - numElements]);
    else
      setName(argument, "capture");
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult ApplyOp::verify() {
  if (getResults().empty())
    return emitOpError("has no result, expected one for each yielded value");
  auto block = cast<RankedTensorType>(getResult(0).getType());
  if (failed(verifyRank(*this, "result", block, 2)))
    return failure();
  for (auto [name, types] : {std::pair("input", TypeRange(getInputs())),
                             std::pair("result", TypeRange(getResults()))})
    for (auto [number, type] : llvm::enumerate(types))
      if (cast<RankedTensorType>(type).getShape() != block.getShape())
        return emitOpError()
               << name << ' ' << number << " has type " << type
               << " but result 0 has type " << block << ", expected one shape";
  int64_t expected = getInputs().empty() ? block.getNumDynamicDims() : 0;
  if (static_cast<int64_t>(getSizes().size()) != expected)
    return emitOpError() << "has " << getSizes().size() << " sizes, expected "
                         << expected
                         << (getInputs().empty()
                                 ? ": one for each dynamic size of a result"
                                 : ": the inputs have them");
  if (getOffsets().empty() || getExtents().empty())
    return emitOpError() << "has no "
                         << (getOffsets().empty() ? "offsets" : "extents")
                         << ", which say where its pairs stand";
  return verifyPlace(cast<PairRegionsOpInterface>(getOperation()));
}

LogicalResult ApplyOp::verifyRegions() {
  auto getElements = [](TypeRange types) {
    return llvm::map_to_vector(
        types, [](Type type) { return getElementTypeOrSelf(type); });
  };
  return verifyPairRegion(*this, "pair", getPairRegions().front(),
                          getElements(getInputs().getTypes()),
                          getElements(getResultTypes()));
}

//===----------------------------------------------------------------------===//
// Effects and shapes
//===----------------------------------------------------------------------===//

void ApplyOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &capture : getCapturesMutable())
    if (isa<MemRefType>(capture.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &capture,
                           SideEffects::DefaultResource::get());
}

LogicalResult ApplyOp::reifyResultShapes(OpBuilder &builder,
                                         ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> shape;
  if (getInputs().empty())
    shape = getMixedValues(getBlockType().getShape(), getSizes(), builder);
  else
    shape = tensor::getMixedSizes(builder, getLoc(), getInputs().front());
  shapes.assign(getNumResults(), shape);
  return success();
}
