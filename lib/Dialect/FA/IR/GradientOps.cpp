//===- GradientOps.cpp - Checks and interfaces of gradients ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of fa.attention_gradient and of what tiling makes of it. What they
// share with attention is in AttentionVerifiers.h. Begin with
// `AttentionGradientOp::verify`; steps and their ends follow.
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "Folds.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

/// `name` has the element type `expected`, that of `of`, or f32.
static LogicalResult verifyElementOrF32(Operation *op, StringRef name,
                                        Value value, Type expected,
                                        StringRef of) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element == expected || element.isF32())
    return success();
  return op->emitOpError() << name << " has element type " << element
                           << ", expected " << expected << " (that of " << of
                           << ") or f32";
}

/// The rank of `value` is that of its order, which has a batch but in a whole
/// gradient.
static LogicalResult verifyOrderOf(Operation *op, StringRef name, Value value,
                                   DimsAttr order) {
  if (!isa<AttentionGradientOp>(op) &&
      failed(verifyHasBatches(op, name, order)))
    return failure();
  return verifyRank(op, name, value.getType(), order.getRank());
}

/// Rank, sizes and head dim of `value` are those of `model`.
static LogicalResult verifySameShape(Operation *op, StringRef name, Value value,
                                     DimsAttr order, StringRef modelName,
                                     Value model, DimsAttr modelOrder) {
  if (failed(verifyOrderOf(op, name, value, order)))
    return failure();
  std::pair<StringRef, DimKind> dims[] = {{"batches", DimKind::Batch},
                                          {"rows", DimKind::Sequence},
                                          {"heads", DimKind::Heads},
                                          {"head dims", DimKind::HeadDim}};
  for (auto [what, kind] : dims)
    if (failed(verifySameSize(op, what, modelName,
                              sizeOf(model, modelOrder, kind), name,
                              sizeOf(value, order, kind))))
      return failure();
  return verifyContiguousHeadDim(op, name, value.getType(), order);
}

/// The output or its gradient: queries of the query, head dim of the value.
static LogicalResult verifyLikeOutput(AttentionLikeOpInterface op,
                                      StringRef name, Value value,
                                      DimsAttr order) {
  if (failed(verifyOrderOf(op, name, value, order)) ||
      failed(verifyElementOrF32(op, name, value,
                                getElementTypeOrSelf(op.getQuery().getType()),
                                "query")))
    return failure();
  std::pair<StringRef, DimKind> dims[] = {{"batches", DimKind::Batch},
                                          {"queries", DimKind::Sequence},
                                          {"heads", DimKind::Heads}};
  for (auto [what, kind] : dims)
    if (failed(verifySameSize(op, what, "query",
                              sizeOf(op.getQuery(), op.getQueryOrder(), kind),
                              name, sizeOf(value, order, kind))))
      return failure();
  if (failed(verifySameSize(
          op, "head dims", "value",
          sizeOf(op.getValue(), op.getValueOrder(), DimKind::HeadDim), name,
          sizeOf(value, order, DimKind::HeadDim))))
    return failure();
  return verifyContiguousHeadDim(op, name, value.getType(), order);
}

/// A number for each query row: batch x heads x queries of f32.
static LogicalResult verifyRowNumbers(AttentionLikeOpInterface op,
                                      StringRef name, Value value) {
  if (!value)
    return success();
  auto type = cast<ShapedType>(value.getType());
  auto whole = dyn_cast<AttentionGradientOp>(op.getOperation());
  int64_t batch = whole && whole.getQueryStarts() ? 0 : 1;
  if (failed(verifyRank(op, name, type, 2 + batch)) ||
      failed(
          verifyElementType(op, name, type, Float32Type::get(op.getContext()))))
    return failure();
  std::tuple<StringRef, DimKind, int64_t> dims[] = {
      {"batches", DimKind::Batch, 0},
      {"heads", DimKind::Heads, batch},
      {"queries", DimKind::Sequence, batch + 1}};
  for (auto [what, kind, position] : dims)
    if (failed(verifySameSize(op, what, "query",
                              sizeOf(op.getQuery(), op.getQueryOrder(), kind),
                              name, type.getDimSize(position))))
      return failure();
  return success();
}

static LogicalResult verifyScaleGradient(Operation *op, Value gradient) {
  if (!gradient)
    return success();
  Type f32 = Float32Type::get(op->getContext());
  if (failed(verifyRank(op, "scale", gradient.getType(), 0)))
    return failure();
  return verifyElementType(op, "scale", gradient.getType(), f32);
}

namespace {
/// Captures of a region, and the gradients of some of them.
struct Captured {
  /// What captures them, and what an error calls them.
  StringRef of, prefix, attribute;
  OperandRange captures, gradients;
  ArrayRef<int64_t> numbers;
};
} // namespace

/// Destinations of gradients of captures: `capture[n]` has a gradient, and the
/// destination its shape.
static LogicalResult verifyCaptured(Operation *op, const Captured &captured) {
  ArrayRef<int64_t> numbers = captured.numbers;
  if (numbers.size() != captured.gradients.size())
    return op->emitOpError()
           << "has " << captured.gradients.size()
           << " gradients of captures but '" << captured.attribute << "' names "
           << numbers.size();
  int64_t count = captured.captures.size();
  for (auto [position, number] : llvm::enumerate(numbers)) {
    std::string name = (captured.prefix + "[" + Twine(number) + "]").str();
    if (number < 0 || number >= count) {
      InFlightDiagnostic diagnostic =
          op->emitOpError() << name << " has a gradient but the " << captured.of
                            << " captures " << count << " values";
      return count ? diagnostic << ", expected 0 to " << count - 1 : diagnostic;
    }
    if (llvm::is_contained(numbers.take_front(position), number))
      return op->emitOpError() << name << " has two gradients, expected one";
    Type capture = captured.captures[number].getType();
    auto destination = cast<ShapedType>(captured.gradients[position].getType());
    Type element = getElementTypeOrSelf(capture);
    if (!isa<FloatType>(element))
      return op->emitOpError()
             << name << " has type " << capture
             << ", which has no gradient: expected numbers of "
                "f16, bf16 or f32";
    if (failed(verifyElementOrF32(op, name, captured.gradients[position],
                                  element, "the capture")))
      return failure();
    ArrayRef<int64_t> shape;
    if (auto shaped = dyn_cast<ShapedType>(capture))
      shape = shaped.getShape();
    if (failed(verifyCompatibleShape(shape, destination.getShape())))
      return op->emitOpError()
             << name << " has type " << capture << " but its gradient has type "
             << destination << ", expected the same shape";
  }
  return success();
}

template <typename OpTy> static LogicalResult verifyCaptureGradients(OpTy op) {
  return verifyCaptured(op, {"score", "capture", "differentiated",
                             op.getScoreCaptures(), op.getCaptureGradients(),
                             op.getDifferentiated()});
}

/// The three regions. A score without the region of its gradient waits for
/// `fa-differentiate-score`.
template <typename OpTy> static LogicalResult verifyRegions(OpTy op) {
  Type f32 = Float32Type::get(op.getContext());
  Type i1 = IntegerType::get(op.getContext(), 1);
  if (op.getScore().empty() && !op.getScoreGradient().empty())
    return op.emitOpError("has a score_gradient region but no score region, "
                          "expected both: the gradient of no score function is "
                          "the identity");
  if (failed(verifyScore(op)))
    return failure();
  if (!op.getScoreGradient().empty() &&
      failed(verifyPairRegion(
          op, "score_gradient",
          {&op.getScoreGradient(), 2, op.getScoreCaptures()}, {f32, f32}, f32)))
    return failure();
  return verifyPairRegion(op, "mask", {&op.getMask(), 0, op.getMaskCaptures()},
                          {}, i1);
}

//===----------------------------------------------------------------------===//
// AttentionGradientOp
//===----------------------------------------------------------------------===//

/// Delta stands for the output and the gradient of lse.
static LogicalResult verifyDelta(AttentionGradientOp op) {
  if (!op.getOutput() && !op.getDelta())
    return op.emitOpError("has neither the output nor delta, expected "
                          "of(%output, %lse) or of(%lse) delta(%delta)");
  if (op.getDelta() && op.getOutput())
    return op.emitOpError("has the output and delta, expected one of them: "
                          "delta is made from the output");
  if (op.getDelta() && op.getLseGradient())
    return op.emitOpError("has delta and a gradient of lse, expected one of "
                          "them: delta holds the gradient of lse");
  return success();
}

static LogicalResult verifyDestinations(AttentionGradientOp op) {
  if (op.getDpsInits().empty())
    return op.emitOpError("has no gradient in outs, expected at least one of "
                          "query, key, value, capture[n], scale, "
                          "sink_capture[n]");
  std::tuple<StringRef, Value, DimsAttr, StringRef, Value, DimsAttr>
      gradients[] = {{"gradient of query", op.getQueryGradient(),
                      op.getQueryGradientOrder(), "query", op.getQuery(),
                      op.getQueryOrder()},
                     {"gradient of key", op.getKeyGradient(),
                      op.getKeyGradientOrder(), "key", op.getKey(),
                      op.getKeyOrder()},
                     {"gradient of value", op.getValueGradient(),
                      op.getValueGradientOrder(), "value", op.getValue(),
                      op.getValueOrder()}};
  for (auto [name, gradient, order, of, operand, operandOrder] : gradients)
    if (gradient && (failed(verifyElementOrF32(
                         op, name, gradient,
                         getElementTypeOrSelf(operand.getType()), of)) ||
                     failed(verifySameShape(op, name, gradient, order, of,
                                            operand, operandOrder))))
      return failure();
  bool onTensors = isa<RankedTensorType>(op.getQuery().getType());
  for (Value destination : op.getDpsInits())
    if (isa<RankedTensorType>(destination.getType()) != onTensors)
      return op.emitOpError()
             << "destination has type " << destination.getType()
             << " but query has type " << op.getQuery().getType()
             << ", expected all tensors or all memrefs";
  return success();
}

/// The sink and its gradient. One without the other waits for
/// `fa-differentiate-score`, or needs no gradient.
static LogicalResult verifySink(AttentionGradientOp op) {
  Type f32 = Float32Type::get(op.getContext());
  if (op.getSink().empty() && !op.getSinkGradient().empty())
    return op.emitOpError("has a sink_gradient region but no sink region, "
                          "expected both");
  if (failed(verifyPairRegion(
          op, "sink", {&op.getSink(), 0, op.getSinkCaptures(), 3}, {}, f32)))
    return failure();
  if (!op.getSinkGradient().empty() &&
      failed(verifyPairRegion(
          op, "sink_gradient",
          {&op.getSinkGradient(), 1, op.getSinkCaptures(), 3}, f32, {})))
    return failure();
  return verifyCaptured(op, {"sink", "sink_capture", "differentiated_sink",
                             op.getSinkCaptures(), op.getSinkCaptureGradients(),
                             op.getDifferentiatedSink()});
}

LogicalResult mlir::fa::verifyDeterministic(AttentionGradientOp op) {
  if (!op.getDeterministic())
    return success();
  // A target may have another configuration beside that of the operation.
  SmallVector<std::pair<StringRef, ConfigAttr>> configs = {
      {"config", op.getConfigAttr()}};
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (auto config = dyn_cast<ConfigAttr>(attribute.getValue()))
      configs.push_back({attribute.getName(), config});
  for (auto [name, config] : configs)
    for (; config; config = config.getLonger())
      if (!config.getDeterministic())
        return op.emitOpError()
               << "is deterministic and its " << name
               << " has deterministic = false, expected sums in one order; the "
                  "nearest is deterministic = true, with gradient_form = "
                  "two_pass on a GPU";
  return success();
}

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyAttributeNames(*this, getAttributeNames())) ||
      failed(verifySequences(*this)) ||
      failed(verifyInputs(*this, getConfigAttr())) ||
      failed(verifyDelta(*this)) ||
      (getOutput() && failed(verifyLikeOutput(*this, "output", getOutput(),
                                              getOutputOrder()))) ||
      failed(verifyLikeOutput(*this, "gradient of the output",
                              getOutputGradient(), getOutputGradientOrder())) ||
      failed(verifyRowNumbers(*this, "lse", getLse())) ||
      failed(verifyRowNumbers(*this, "delta", getDelta())) ||
      failed(verifyRowNumbers(*this, "gradient of lse", getLseGradient())) ||
      failed(verifyPlace(cast<PairRegionsOpInterface>(getOperation()))) ||
      failed(verifyLengths(*this, "query_lengths", getQueryLengths())) ||
      failed(verifyLengths(*this, "key_lengths", getKeyLengths())) ||
      failed(verifyDestinations(*this)) ||
      failed(verifyCaptureGradients(*this)) ||
      failed(verifyScaleGradient(*this, getScaleGradient())) ||
      failed(verifySink(*this)) || failed(verifyDeterministic(*this)))
    return failure();
  std::tuple<StringRef, Value, DimsAttr> operands[] = {
      {"query", getQuery(), getQueryOrder()},
      {"key", getKey(), getKeyOrder()},
      {"value", getValue(), getValueOrder()}};
  for (auto [name, operand, order] : operands)
    if (failed(verifyContiguousHeadDim(*this, name, operand.getType(), order)))
      return failure();
  return ::verifyRegions(*this);
}

/// The destinations are the last operands.
template <typename OpTy>
static MutableOperandRange getLastOperands(OpTy op, unsigned group) {
  unsigned first = op.getODSOperandIndexAndLength(group).first;
  return MutableOperandRange(op, first, op->getNumOperands() - first);
}

MutableOperandRange AttentionGradientOp::getDpsInitsMutable() {
  return getLastOperands(*this, /*group=*/18);
}

void AttentionGradientOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult
AttentionGradientOp::reifyResultShapes(OpBuilder &builder,
                                       ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}

void AttentionGradientOp::getCanonicalizationPatterns(
    RewritePatternSet &patterns, MLIRContext *context) {
  // One set serves the gradient and its steps.
  populateRegionFolds(patterns);
  populateMaskFolds(patterns);
  populateOperandFolds(patterns);
  populateEmptyGradientFolds(patterns);
}

//===----------------------------------------------------------------------===//
// ScatterGradientOp
//===----------------------------------------------------------------------===//

/// Arguments before the captures: the gradient, batch, head and query; of a
/// score also the score and the key.
static unsigned countFirstArguments(bool isOfSink) { return isOfSink ? 4 : 6; }

bool ScatterGradientOp::isOfSink() {
  auto whole = dyn_cast<AttentionGradientOp>((*this)->getParentOp());
  return whole && (*this)->getParentRegion() == &whole.getSinkGradient();
}

int64_t ScatterGradientOp::getCaptureNumber() {
  return cast<BlockArgument>(getCapture()).getArgNumber() -
         countFirstArguments(isOfSink());
}

LogicalResult ScatterGradientOp::verify() {
  auto parent = cast<GradientLikeOpInterface>((*this)->getParentOp());
  if (!isOfSink() && (*this)->getParentRegion() != &parent.getScoreGradient())
    return emitOpError("stands outside of the score_gradient region, which "
                       "alone adds to gradients");
  auto argument = dyn_cast<BlockArgument>(getCapture());
  if (!argument || argument.getOwner() != (*this)->getBlock() ||
      argument.getArgNumber() < countFirstArguments(isOfSink()))
    return emitOpError("adds to the gradient of a value that is no capture, "
                       "expected an argument behind the ")
           << (isOfSink() ? "fourth" : "sixth");
  auto shaped = dyn_cast<ShapedType>(getCapture().getType());
  int64_t rank = shaped ? shaped.getRank() : 0;
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError() << "has " << getIndices().size()
                         << " indices, expected " << rank << " for "
                         << getCapture().getType();
  // Sums into memory know no gradients but what they add.
  for (Value index : getIndices())
    if (dependsOn(index, argument.getOwner()->getArgument(0)))
      return emitOpError("adds at an index that depends on the gradient, "
                         "expected one of ")
             << (isOfSink() ? "" : "scores, ") << "positions and captures";
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

template <typename OpTy>
static LogicalResult verifyStep(OpTy op, ArrayRef<StringRef> names) {
  if (failed(verifyAttributeNames(op, names)) ||
      failed(verifyInputs(op, op.getConfigAttr())) ||
      failed(verifyLikeOutput(op, "gradient of the output",
                              op.getOutputGradient(),
                              op.getOutputGradientOrder())) ||
      failed(verifyRowNumbers(op, "lse", op.getLse())) ||
      failed(verifyRowNumbers(op, "delta", op.getDelta())) ||
      failed(verifyPlace(cast<PairRegionsOpInterface>(op.getOperation()))))
    return failure();
  if (failed(verifyOneHead(op)))
    return failure();
  if (op.getDpsInits().empty())
    return op.emitOpError("has no gradient in outs, expected at least one");
  if (!op.getScore().empty() && op.getScoreGradient().empty())
    return op.emitOpError("has a score region but no score_gradient region; "
                          "fa-differentiate-score derives it before tiling");
  return verifyRegions(op);
}

/// The state of a gradient: a row for each of `operand`, of f32.
static LogicalResult verifyAccumulator(Operation *op, StringRef name,
                                       Value accumulator, Value operand,
                                       DimsAttr order) {
  if (!accumulator)
    return success();
  auto type = cast<ShapedType>(accumulator.getType());
  if (failed(verifyRank(op, name, type, 2)) ||
      failed(verifyElementType(op, name, type,
                               Float32Type::get(op->getContext()))) ||
      failed(verifyStateHolds(
          op, name, sizeOf(operand, order, DimKind::Sequence), accumulator)))
    return failure();
  return verifySameSize(op, "head dims", "operand",
                        sizeOf(operand, order, DimKind::HeadDim), name,
                        type.getDimSize(1));
}

LogicalResult GradientKeysOp::verify() {
  if (failed(verifyStep(*this, getAttributeNames())) ||
      failed(verifyAccumulator(*this, "gradient of key", getKeyAccumulator(),
                               getKey(), getKeyOrder())) ||
      failed(verifyAccumulator(*this, "gradient of value",
                               getValueAccumulator(), getValue(),
                               getValueOrder())) ||
      failed(verifyCaptureGradients(*this)) ||
      failed(verifyScaleGradient(*this, getScaleGradient())))
    return failure();
  if (!getQueryGradient())
    return success();
  StringRef name = "gradient of query";
  if (failed(verifyElementType(*this, name, getQueryGradient().getType(),
                               Float32Type::get(getContext()))))
    return failure();
  return verifySameShape(*this, name, getQueryGradient(),
                         getQueryGradientOrder(), "query", getQuery(),
                         getQueryOrder());
}

LogicalResult GradientQueriesOp::verify() {
  if (failed(verifyStep(*this, getAttributeNames())) ||
      failed(verifyAccumulator(*this, "gradient of query",
                               getQueryAccumulator(), getQuery(),
                               getQueryOrder())) ||
      failed(verifyCaptureGradients(*this)))
    return failure();
  return verifyScaleGradient(*this, getScaleGradient());
}

MutableOperandRange GradientKeysOp::getDpsInitsMutable() {
  return getLastOperands(*this, /*group=*/11);
}

MutableOperandRange GradientQueriesOp::getDpsInitsMutable() {
  return getLastOperands(*this, /*group=*/11);
}

void GradientKeysOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

void GradientQueriesOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult
GradientKeysOp::reifyResultShapes(OpBuilder &builder,
                                  ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}

LogicalResult
GradientQueriesOp::reifyResultShapes(OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}

// AttentionGradientOp's set holds the patterns of its steps.
void GradientKeysOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {}

void GradientQueriesOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {}

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

LogicalResult PrepareGradientOp::verify() {
  if (!getOutput() == !getGivenDelta())
    return emitOpError() << "has " << (getOutput() ? "both" : "neither")
                         << " of the output and delta, expected one of them";
  if (getGivenDelta() && getLseGradient())
    return emitOpError("has delta and a gradient of lse, expected one of them: "
                       "delta holds the gradient of lse");
  auto delta = cast<ShapedType>(getDelta().getType());
  std::pair<StringRef, Value> rows[] = {{"delta", getGivenDelta()},
                                        {"lse", getLse()},
                                        {"gradient of lse", getLseGradient()},
                                        {"destination delta", getDelta()},
                                        {"destination lse", getReference()}};
  for (auto [name, value] : rows) {
    if (!value)
      continue;
    auto type = cast<ShapedType>(value.getType());
    if (failed(verifyRank(*this, name, type, 3)) ||
        failed(verifyElementType(*this, name, type,
                                 Float32Type::get(getContext()))) ||
        failed(verifySameSize(*this, "rows", "destination delta",
                              delta.getDimSize(2), name, type.getDimSize(2))))
      return failure();
  }
  if (getQuerySums() && failed(verifyElementType(
                            *this, "what it clears", getQuerySums().getType(),
                            Float32Type::get(getContext()))))
    return failure();
  if (!getOutput())
    return success();
  std::tuple<StringRef, Value, DimsAttr> tiles[] = {
      {"output", getOutput(), getOutputOrder()},
      {"gradient of the output", getOutputGradient(),
       getOutputGradientOrder()}};
  for (auto [name, value, order] : tiles)
    if (failed(verifyRank(*this, name, value.getType(), 4)) ||
        failed(verifySameSize(*this, "rows", "destination delta",
                              delta.getDimSize(2), name,
                              sizeOf(value, order, DimKind::Sequence))))
      return failure();
  return success();
}

void PrepareGradientOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult FinalizeGradientOp::verify() {
  if (failed(verifyRank(*this, "output", getOutput().getType(), 4)))
    return failure();
  return verifyAccumulator(*this, "accumulator", getAccumulator(), getOutput(),
                           getOrder());
}

void FinalizeGradientOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}
