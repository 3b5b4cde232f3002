//===- StateOps.cpp - Operations on partial results ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text form and verifiers of the operations below fa.attention: fa.finalize
// and fa.combine on partial results, fa.key_ranges with its queries, and
// fa.summarize_mask. One section each, in this order; fa.key_ranges is the
// longest.
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// FinalizeOp and CombineOp
//===----------------------------------------------------------------------===//

ParseResult
mlir::fa::parseOutputAndLse(OpAsmParser &parser,
                            OpAsmParser::UnresolvedOperand &output,
                            std::optional<OpAsmParser::UnresolvedOperand> &lse,
                            Type &outputType, Type &lseType) {
  if (parser.parseOperand(output))
    return failure();
  if (succeeded(parser.parseOptionalComma()) &&
      parser.parseOperand(lse.emplace()))
    return failure();
  if (parser.parseColonType(outputType))
    return failure();
  if (lse && (parser.parseComma() || parser.parseType(lseType)))
    return failure();
  return success();
}

void mlir::fa::printOutputAndLse(OpAsmPrinter &printer, Operation *op,
                                 Value output, Value lse, Type outputType,
                                 Type lseType) {
  printer << output;
  if (lse)
    printer << ", " << lse;
  printer << " : " << outputType;
  if (lse)
    printer << ", " << lseType;
}

static LogicalResult verifyFloatElement(Operation *op, StringRef name,
                                        Type type) {
  Type element = cast<ShapedType>(type).getElementType();
  if (element.isF16() || element.isBF16() || element.isF32())
    return success();
  return op->emitOpError() << name << " has element type " << element
                           << ", expected f16, bf16 or f32";
}

LogicalResult FinalizeOp::verify() {
  if (failed(verifyState(*this, getAccumulator(), getMaximum(), getSum())) ||
      failed(verifyRank(*this, "output", getOutput().getType(), 4)) ||
      failed(verifyFloatElement(*this, "output", getOutput().getType())))
    return failure();
  DimsAttr order = getOutputOrder();
  for (DimKind kind : {DimKind::Batch, DimKind::Heads})
    if (int64_t size = sizeOf(getOutput(), order, kind); size != 1)
      return emitOpError() << "output has "
                           << (kind == DimKind::Batch ? "batches" : "heads")
                           << " of size "
                           << (ShapedType::isDynamic(size)
                                   ? std::string("?")
                                   : std::to_string(size))
                           << ", expected 1";
  int64_t rows = sizeOf(getOutput(), order, DimKind::Sequence);
  if (failed(verifyStateHolds(*this, "output", rows, getAccumulator())) ||
      failed(verifySameSize(
          *this, "head dims", "accumulator",
          cast<ShapedType>(getAccumulator().getType()).getDimSize(1), "output",
          sizeOf(getOutput(), order, DimKind::HeadDim))))
    return failure();
  if (!getLse())
    return success();
  auto lse = cast<ShapedType>(getLse().getType());
  if (failed(verifyRank(*this, "lse", lse, 3)) ||
      failed(
          verifyElementType(*this, "lse", lse, Float32Type::get(getContext()))))
    return failure();
  return verifySameSize(*this, "rows", "output", rows, "lse",
                        lse.getDimSize(2));
}

void FinalizeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult CombineOp::verify() {
  std::pair<StringRef, Value> outputs[] = {{"output_a", getOutputA()},
                                           {"output_b", getOutputB()},
                                           {"output", getOutput()}};
  std::pair<StringRef, Value> lses[] = {
      {"lse_a", getLseA()}, {"lse_b", getLseB()}, {"lse", getLse()}};
  for (auto [name, value] : outputs)
    if (failed(verifyRank(*this, name, value.getType(), 4)) ||
        failed(verifyFloatElement(*this, name, value.getType())))
      return failure();
  DimsAttr order = getOrder();
  std::pair<StringRef, DimKind> kinds[] = {{"batches", DimKind::Batch},
                                           {"queries", DimKind::Sequence},
                                           {"heads", DimKind::Heads},
                                           {"head dims", DimKind::HeadDim}};
  for (auto [name, value] : outputs)
    for (auto [what, kind] : kinds)
      if (failed(verifySameSize(*this, what, "output_a",
                                sizeOf(getOutputA(), order, kind), name,
                                sizeOf(value, order, kind))))
        return failure();
  for (auto [name, value] : lses) {
    if (!value)
      continue;
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyRank(*this, name, type, 3)) ||
        failed(verifyElementType(*this, name, type,
                                 Float32Type::get(getContext()))))
      return failure();
    std::tuple<StringRef, DimKind, int64_t> dims[] = {
        {"batches", DimKind::Batch, 0},
        {"heads", DimKind::Heads, 1},
        {"queries", DimKind::Sequence, 2}};
    for (auto [what, kind, position] : dims)
      if (failed(verifySameSize(*this, what, "output_a",
                                sizeOf(getOutputA(), order, kind), name,
                                type.getDimSize(position))))
        return failure();
  }
  if (Value lengths = getQueryLengths())
    if (failed(verifyRank(*this, "query_lengths", lengths.getType(), 1)) ||
        failed(verifyElementType(*this, "query_lengths", lengths.getType(),
                                 IntegerType::get(getContext(), 32))))
      return failure();
  return success();
}

void CombineOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult
CombineOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}

//===----------------------------------------------------------------------===//
// KeyRangesOp
//===----------------------------------------------------------------------===//

void KeyRangesOp::build(
    OpBuilder &builder, OperationState &state, ValueRange begins,
    ValueRange ends, ArrayRef<bool> full, int64_t step, ValueRange inits,
    function_ref<void(OpBuilder &, Location, Value, Value, ValueRange)> body) {
  state.addOperands(begins);
  state.addOperands(ends);
  state.addOperands(inits);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.setFull(builder.getDenseBoolArrayAttr(full));
  properties.setStep(builder.getI64IntegerAttr(step));
  properties.operandSegmentSizes = {static_cast<int32_t>(begins.size()),
                                    static_cast<int32_t>(ends.size()),
                                    static_cast<int32_t>(inits.size())};
  state.addTypes(inits.getTypes());
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(region);
  SmallVector<Type> types(2, builder.getIndexType());
  llvm::append_range(types, inits.getTypes());
  for (Type type : types)
    block->addArgument(type, state.location);
  if (body)
    body(builder, state.location, block->getArgument(0), block->getArgument(1),
         block->getArguments().drop_front(2));
}

// `(` %key `,` %count `)` `=` `[` (`full` | `partial`) a `to` b, ... `]`
// `step` n [`iter_args` `(` %x = %init, ... `)` `->` `(` types `)`] region
ParseResult KeyRangesOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  if (arguments.size() != 2)
    return parser.emitError(parser.getNameLoc())
           << "names " << arguments.size()
           << " arguments, expected 2 (first key, number of keys)";
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = index;
  SmallVector<OpAsmParser::UnresolvedOperand> begins, ends, inits;
  SmallVector<bool> full;
  auto parseRange = [&]() -> ParseResult {
    StringRef kind;
    if (parser.parseKeyword(&kind))
      return failure();
    if (kind != "full" && kind != "partial")
      return parser.emitError(parser.getCurrentLocation())
             << "range kind is '" << kind << "', expected full or partial";
    full.push_back(kind == "full");
    return failure(parser.parseOperand(begins.emplace_back()) ||
                   parser.parseKeyword("to") ||
                   parser.parseOperand(ends.emplace_back()));
  };
  int64_t step;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseRange) ||
      parser.parseKeyword("step") || parser.parseInteger(step))
    return failure();
  auto parseCarried = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(inits.emplace_back()));
  };
  if (succeeded(parser.parseOptionalKeyword("iter_args"))) {
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                       parseCarried) ||
        parser.parseArrowTypeList(result.types))
      return failure();
    if (result.types.size() != inits.size())
      return parser.emitError(loc)
             << "carries " << inits.size() << " values but names "
             << result.types.size() << " result types";
    for (auto [argument, type] :
         llvm::zip(llvm::drop_begin(arguments, 2), result.types))
      argument.type = type;
  }
  if (parser.resolveOperands(begins, index, result.operands) ||
      parser.resolveOperands(ends, index, result.operands) ||
      parser.resolveOperands(inits, result.types, loc, result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  KeyRangesOp::ensureTerminator(*result.regions.back(), builder,
                                result.location);
  result.addAttribute("full", builder.getDenseBoolArrayAttr(full));
  result.addAttribute("step", builder.getI64IntegerAttr(step));
  int32_t count = begins.size();
  result.addAttribute("operandSegmentSizes",
                      builder.getDenseI32ArrayAttr(
                          {count, count, static_cast<int32_t>(inits.size())}));
  return success();
}

void KeyRangesOp::print(OpAsmPrinter &printer) {
  printer << " (" << getKey() << ", " << getCount() << ") = [";
  for (unsigned i = 0; i < getNumRanges(); ++i)
    printer << (i ? ", " : "") << (getFull()[i] ? "full " : "partial ")
            << getBegins()[i] << " to " << getEnds()[i];
  printer << "] step " << getStep();
  if (!getInits().empty()) {
    printer << " iter_args(";
    llvm::interleaveComma(
        llvm::zip(getRegionIterArgs(), getInits()), printer, [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << ") -> (" << getResultTypes() << ')';
  }
  printer << ' ';
  printer.printRegion(getBodyRegion(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"full", "step", "operandSegmentSizes"});
}

void KeyRangesOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), "key");
  setName(region.getArgument(1), "count");
}

LogicalResult KeyRangesOp::verify() {
  size_t count = getFull().size();
  if (getBegins().size() != count || getEnds().size() != count)
    return emitOpError() << "has " << getBegins().size() << " begins and "
                         << getEnds().size() << " ends for " << count
                         << " ranges, expected one of each for a range";
  if (count > maxRanges)
    return emitOpError() << "has " << count << " ranges, expected at most "
                         << maxRanges;
  if (getStep() < 1)
    return emitOpError() << "step is " << getStep() << ", expected at least 1";
  if (getInits().getTypes() != getResultTypes())
    return emitOpError() << "carries (" << getInits().getTypes()
                         << ") but returns (" << getResultTypes() << ')';
  return success();
}

LogicalResult KeyRangesOp::verifyRegions() {
  Block &block = getBodyRegion().front();
  SmallVector<Type> expected(2, IndexType::get(getContext()));
  llvm::append_range(expected, getResultTypes());
  if (!llvm::equal(block.getArgumentTypes(), expected))
    return emitOpError() << "body has arguments (" << block.getArgumentTypes()
                         << "), expected (" << TypeRange(expected) << ')';
  auto yield = cast<YieldOp>(block.getTerminator());
  if (yield.getResults().getTypes() != getResultTypes())
    return emitOpError() << "body yields (" << yield.getResults().getTypes()
                         << "), expected (" << getResultTypes() << ')';
  return success();
}

//===----------------------------------------------------------------------===//
// SummarizeMaskOp
//===----------------------------------------------------------------------===//

void SummarizeMaskOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getSome(), "some");
  setName(getEvery(), "every");
}

LogicalResult SummarizeMaskOp::verify() {
  if (getOffsets().size() != 4)
    return emitOpError() << "has " << getOffsets().size()
                         << " offsets, expected 4: batch, head, query, key";
  if (getExtents().size() != 2)
    return emitOpError() << "has " << getExtents().size()
                         << " extents, expected 2: queries, keys";
  return success();
}

LogicalResult SummarizeMaskOp::verifyRegions() {
  Type i1 = IntegerType::get(getContext(), 1);
  return verifyPairRegion(*this, "mask", {&getMask(), 0, getCaptures()}, {},
                          i1);
}

//===----------------------------------------------------------------------===//
// IsPartialOp and IsFirstOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyInRanges(Operation *op) {
  if (op->getParentOfType<KeyRangesOp>())
    return success();
  return op->emitOpError() << "stands outside of 'fa.key_ranges', whose blocks "
                              "it asks about";
}

LogicalResult IsPartialOp::verify() { return verifyInRanges(*this); }

LogicalResult IsFirstOp::verify() { return verifyInRanges(*this); }
