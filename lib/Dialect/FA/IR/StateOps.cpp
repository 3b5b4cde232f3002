//===- StateOps.cpp - Operations on partial results ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text form and verifiers of fa.finalize, fa.add_partial and fa.combine on
// partial results, in this order; then those of fa.summarize_mask. Each
// `verify` stands alone; `parseOutputAndLse` and its printer serve all that
// have an output and an lse.
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// FinalizeOp, AddPartialOp and CombineOp
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
      failed(verifyHasBatches(*this, "output", getOutputOrder())) ||
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
  if (Value sink = getSink(); sink && isa<ShapedType>(sink.getType()))
    if (failed(verifyRank(*this, "sink", sink.getType(), 1)) ||
        failed(verifyElementType(*this, "sink", sink.getType(),
                                 Float32Type::get(getContext()))) ||
        failed(verifySameSize(
            *this, "rows", "accumulator",
            cast<ShapedType>(getAccumulator().getType()).getDimSize(0), "sink",
            cast<ShapedType>(sink.getType()).getDimSize(0))))
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

LogicalResult AddPartialOp::verify() {
  Type f32 = Float32Type::get(getContext());
  if (failed(verifyState(*this, getAccumulator(), getMaximum(), getSum())) ||
      failed(verifyRank(*this, "output", getOutput().getType(), 4)) ||
      failed(verifyElementType(*this, "output", getOutput().getType(), f32)) ||
      failed(verifyRank(*this, "lse", getLse().getType(), 3)) ||
      failed(verifyElementType(*this, "lse", getLse().getType(), f32)))
    return failure();
  auto output = cast<ShapedType>(getOutput().getType());
  auto lse = cast<ShapedType>(getLse().getType());
  std::tuple<StringRef, ShapedType, unsigned, StringRef> ones[] = {
      {"output", output, 0, "batches"},
      {"output", output, 2, "heads"},
      {"lse", lse, 0, "batches"},
      {"lse", lse, 1, "heads"}};
  for (auto [name, type, dim, what] : ones)
    if (int64_t size = type.getDimSize(dim); size != 1)
      return emitOpError() << name << " has " << what << " of size "
                           << (ShapedType::isDynamic(size)
                                   ? std::string("?")
                                   : std::to_string(size))
                           << ", expected 1";
  if (failed(verifyStateHolds(*this, "output", output.getDimSize(1),
                              getAccumulator())) ||
      failed(verifySameSize(*this, "rows", "output", output.getDimSize(1),
                            "lse", lse.getDimSize(2))))
    return failure();
  return verifySameSize(
      *this, "head dims", "accumulator",
      cast<ShapedType>(getAccumulator().getType()).getDimSize(1), "output",
      output.getDimSize(3));
}

void AddPartialOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult CombineOp::verify() {
  if (failed(verifyHasBatches(*this, "output", getOrder())))
    return failure();
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
