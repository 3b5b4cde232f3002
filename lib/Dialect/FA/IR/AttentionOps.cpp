//===- AttentionOps.cpp - Checks and interfaces of attention --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of fa.attention and fa.online_attention, from the outside in:
// types and sizes of operands, then what the score and mask regions may hold.
// Begin with `AttentionOp::verify`, near the end; the checks above it are
// shared.
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fa;

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FAOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static bool isOperandElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

LogicalResult mlir::fa::verifyRank(Operation *op, StringRef name, Type type,
                                   int64_t rank) {
  int64_t actual = cast<ShapedType>(type).getRank();
  if (actual == rank)
    return success();
  return op->emitOpError() << name << " has rank " << actual << ", expected "
                           << rank;
}

LogicalResult mlir::fa::verifyElementType(Operation *op, StringRef name,
                                          Type type, Type expected) {
  Type actual = cast<ShapedType>(type).getElementType();
  if (actual == expected)
    return success();
  return op->emitOpError() << name << " has element type " << actual
                           << ", expected " << expected;
}

LogicalResult mlir::fa::verifySameSize(Operation *op, StringRef what,
                                       StringRef nameA, int64_t sizeA,
                                       StringRef nameB, int64_t sizeB) {
  if (ShapedType::isDynamic(sizeA) || ShapedType::isDynamic(sizeB) ||
      sizeA == sizeB)
    return success();
  return op->emitOpError() << nameA << " has " << sizeA << ' ' << what
                           << " but " << nameB << " has " << sizeB;
}

LogicalResult mlir::fa::verifyContiguousHeadDim(Operation *op, StringRef name,
                                                Type type, DimsAttr order) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return success();
  int64_t position = order.positionOf(DimKind::HeadDim);
  if (memref.getDimSize(position) == 1)
    return success();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return op->emitOpError() << name << " has no strided layout";
  if (strides[position] == 1)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << name << " has head dim stride ";
  if (ShapedType::isDynamic(strides[position]))
    diagnostic << "?";
  else
    diagnostic << strides[position];
  return diagnostic << ", expected 1: the head dim must be contiguous";
}

int64_t mlir::fa::sizeOf(Value value, DimsAttr order, DimKind kind) {
  if (!order.has(kind))
    return ShapedType::kDynamic;
  return cast<ShapedType>(value.getType()).getDimSize(order.positionOf(kind));
}

LogicalResult mlir::fa::verifyHeadDim(Operation *op, StringRef name,
                                      int64_t size) {
  if (ShapedType::isDynamic(size))
    return op->emitOpError() << name << " is dynamic, expected a static size "
                             << "from 1 to " << maxHeadDim;
  if (size < 1 || size > maxHeadDim)
    return op->emitOpError()
           << name << " is " << size << ", expected 1 to " << maxHeadDim
           << "; the nearest is " << std::clamp<int64_t>(size, 1, maxHeadDim);
  return success();
}

LogicalResult mlir::fa::verifyInputs(AttentionLikeOpInterface op,
                                     ConfigAttr config) {
  std::tuple<StringRef, Value, DimsAttr> inputs[] = {
      {"query", op.getQuery(), op.getQueryOrder()},
      {"key", op.getKey(), op.getKeyOrder()},
      {"value", op.getValue(), op.getValueOrder()}};
  for (auto [name, input, order] : inputs)
    if ((!isa<AttentionOp, AttentionGradientOp>(op) &&
         failed(verifyHasBatches(op, name, order))) ||
        failed(verifyRank(op, name, input.getType(), order.getRank())))
      return failure();
  Type element = cast<ShapedType>(op.getQuery().getType()).getElementType();
  if (!isOperandElement(element))
    return op->emitOpError() << "query has element type " << element
                             << ", expected f16, bf16 or f32";
  for (auto [name, input, order] : inputs) {
    if (failed(verifyElementType(op, name, input.getType(), element)))
      return failure();
    if (isa<MemRefType>(input.getType()) !=
        isa<MemRefType>(op.getQuery().getType()))
      return op->emitOpError()
             << name << " has type " << input.getType()
             << " but query has type " << op.getQuery().getType()
             << ", expected all tensors or all memrefs";
  }

  DimsAttr q = op.getQueryOrder(), k = op.getKeyOrder(), v = op.getValueOrder();
  auto size = [](Value operand, DimsAttr order, DimKind kind) {
    return sizeOf(operand, order, kind);
  };
  int64_t queryDim = size(op.getQuery(), q, DimKind::HeadDim);
  int64_t keyDim = size(op.getKey(), k, DimKind::HeadDim);
  int64_t valueDim = size(op.getValue(), v, DimKind::HeadDim);
  if (failed(verifyHeadDim(op, "query head dim", queryDim)) ||
      failed(verifyHeadDim(op, "key head dim", keyDim)) ||
      failed(verifyHeadDim(op, "value head dim", valueDim)) ||
      failed(
          verifySameSize(op, "head dims", "query", queryDim, "key", keyDim)) ||
      failed(verifySameSize(op, "batches", "query",
                            size(op.getQuery(), q, DimKind::Batch), "key",
                            size(op.getKey(), k, DimKind::Batch))) ||
      failed(verifySameSize(op, "batches", "query",
                            size(op.getQuery(), q, DimKind::Batch), "value",
                            size(op.getValue(), v, DimKind::Batch))) ||
      failed(verifySameSize(op, "keys", "key",
                            size(op.getKey(), k, DimKind::Sequence), "value",
                            size(op.getValue(), v, DimKind::Sequence))) ||
      failed(verifySameSize(op, "heads", "key",
                            size(op.getKey(), k, DimKind::Heads), "value",
                            size(op.getValue(), v, DimKind::Heads))))
    return failure();
  int64_t heads = size(op.getQuery(), q, DimKind::Heads);
  int64_t keyHeads = size(op.getKey(), k, DimKind::Heads);
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads) &&
      (keyHeads == 0 ? heads != 0 : heads % keyHeads != 0))
    return op->emitOpError()
           << "query has " << heads << " heads and key has " << keyHeads
           << ", expected a multiple of the key heads";
  if (config && config.getFromQueries() != 0)
    return op->emitOpError()
           << "config has from_queries = " << config.getFromQueries()
           << ", expected 0: only a 'longer' one starts later";
  if (config && config.getFromKeys() != 0)
    return op->emitOpError()
           << "config has from_keys = " << config.getFromKeys()
           << ", expected 0: only a 'longer' one starts later";
  for (; config; config = config.getLonger()) {
    TargetConfigAttrInterface target = config.getTarget();
    // Rows of these are keys, which the conversion to a kernel counts.
    bool hasRowsOfKeys = isa<GradientKeysOp>(op) ||
                         config.getGradientForm() == GradientForm::one_pass;
    if (hasRowsOfKeys && target && target.getTargetName() == "gpu")
      continue;
    if (target &&
        failed(target.verifyConfig([&] { return op->emitOpError("config "); },
                                   config.getQueryBlock(), config.getKeyBlock(),
                                   queryDim, valueDim, element)))
      return failure();
  }
  return success();
}

LogicalResult mlir::fa::verifyPlace(PairRegionsOpInterface op) {
  if (!op.getOffsets().empty() && op.getOffsets().size() != 4)
    return op->emitOpError() << "has " << op.getOffsets().size()
                             << " offsets, expected 4 (batch, head, query, "
                                "key) or none";
  if (!op.getExtents().empty() && op.getExtents().size() != 2)
    return op->emitOpError() << "has " << op.getExtents().size()
                             << " extents, expected 2 (queries, keys) or none";
  return success();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

// A load from a capture, which is always a block argument of the region.
static Value getLoadedCapture(Operation *nested) {
  Value base;
  if (auto load = dyn_cast<memref::LoadOp>(nested))
    base = load.getMemRef();
  else if (auto extract = dyn_cast<tensor::ExtractOp>(nested))
    base = extract.getTensor();
  return base && isa<BlockArgument>(base) ? base : Value();
}

/// Why a division is none that may be evaluated for pairs whose result nobody
/// reads.
static void describeDivision(InFlightDiagnostic &diagnostic, Operation *op) {
  if (isa<index::IndexDialect>(op->getDialect())) {
    diagnostic << ", expected a division of arith";
    return;
  }
  APInt divisor;
  if (matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    diagnostic << " by " << llvm::toString(divisor, 10, /*Signed=*/true);
  else
    diagnostic << " by a divisor that is not a constant";
  diagnostic << ", expected a constant that is not 0"
             << (isa<arith::DivSIOp, arith::CeilDivSIOp>(op) ? " or -1" : "");
  if (!matchPattern(op->getOperand(1), m_Constant()))
    diagnostic << "; 'arith.floordivsi' divides by a captured value too";
}

/// What an operation of arith, math or index computes with and targets do not.
/// Elements of other types may be loaded, and be taken for integers.
static Type getForeignType(Operation *nested) {
  auto isKnown = [](Type type) {
    return type.isIntOrIndex() ||
           isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
  };
  for (Type type : nested->getResultTypes())
    if (!isKnown(type))
      return type;
  if (!isa<arith::BitcastOp>(nested))
    for (Type type : nested->getOperandTypes())
      if (!isKnown(type))
        return type;
  return Type();
}

static LogicalResult verifyRegionOp(Operation *op, StringRef name,
                                    Operation *nested) {
  if (isa<DropoutOp, KeyLengthOp, QueryLengthOp, ScatterGradientOp,
          StopGradientOp, YieldOp, memref::DimOp, tensor::DimOp,
          affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
          nested) ||
      getLoadedCapture(nested))
    return success();
  StringRef dialect = nested->getName().getDialectNamespace();
  bool allowedDialect =
      dialect == "arith" || dialect == "math" || dialect == "index";
  bool isAllowed =
      allowedDialect && nested->getNumRegions() == 0 && isPure(nested);
  Type foreign = isAllowed ? getForeignType(nested) : Type();
  if (isAllowed && !foreign)
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError() << "does not allow '" << nested->getName() << "' ";
  if (foreign)
    diagnostic << "on " << foreign << ' ';
  diagnostic << "in its " << name << " region";
  if (foreign)
    diagnostic << ", expected integers, indices, f16, bf16, f32 or f64";
  else if (allowedDialect && isMemoryEffectFree(nested))
    describeDivision(diagnostic, nested);
  else
    diagnostic << ", expected arith, math and index operations and loads from "
                  "captures";
  diagnostic.attachNote(nested->getLoc()) << "operation is here";
  return diagnostic;
}

LogicalResult mlir::fa::verifyPairRegion(Operation *op, StringRef name,
                                         const PairRegion &pairs,
                                         ArrayRef<Type> elements,
                                         ArrayRef<Type> results) {
  Region &region = *pairs.region;
  OperandRange captures = pairs.captures;
  if (region.empty()) {
    if (captures.empty())
      return success();
    return op->emitOpError() << "has " << captures.size() << ' ' << name
                             << " captures but no " << name << " region";
  }
  if (!region.hasOneBlock())
    return op->emitOpError() << name << " region has control flow, expected "
                             << "one block";
  SmallVector<Type> expected(elements);
  expected.append(pairs.numIndices, IndexType::get(op->getContext()));
  llvm::append_range(expected, captures.getTypes());
  Block &block = region.front();
  if (block.getNumArguments() != expected.size())
    return op->emitOpError()
           << name << " region has " << block.getNumArguments()
           << " arguments, expected " << expected.size() << " ("
           << expected.size() - captures.size() << " and one for each of "
           << captures.size() << " captures)";
  for (auto [position, argument, type] :
       llvm::enumerate(block.getArguments(), expected))
    if (argument.getType() != type)
      return op->emitOpError()
             << name << " region argument " << position << " has type "
             << argument.getType() << ", expected " << type;
  if (block.empty())
    return op->emitOpError() << name << " region is empty, expected 'fa.yield'";
  for (Operation &nested : block)
    if (failed(verifyRegionOp(op, name, &nested)))
      return failure();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return op->emitOpError()
           << name << " region ends in '" << block.getTerminator()->getName()
           << "', expected 'fa.yield'";
  if (yield.getResults().getTypes() != results)
    return op->emitOpError()
           << name << " region yields (" << yield.getResults().getTypes()
           << "), expected (" << results << ')';
  return success();
}

bool mlir::fa::dependsOn(Value value, BlockArgument argument) {
  llvm::DenseSet<Value> dependent = {argument};
  for (Operation &nested : *argument.getOwner())
    if (llvm::any_of(nested.getOperands(), [&](Value operand) {
          return dependent.contains(operand);
        }))
      dependent.insert(nested.result_begin(), nested.result_end());
  return dependent.contains(value);
}

LogicalResult mlir::fa::verifyScore(AttentionLikeOpInterface op) {
  Region &score = op.getScore();
  Type f32 = Float32Type::get(op.getContext());
  SmallVector<Type> results = {f32};
  bool hasFactor = !score.empty() && !score.front().empty() &&
                   score.front().back().getNumOperands() == 2;
  if (hasFactor)
    results.push_back(f32);
  if (failed(verifyPairRegion(op, "score", {&score, 1, op.getScoreCaptures()},
                              f32, results)))
    return failure();
  if (hasFactor &&
      dependsOn(score.front().back().getOperand(1), score.getArgument(0)))
    return op.emitOpError("score region yields a factor of the weight that "
                          "depends on the score, expected one of the indices "
                          "and captures alone");
  return success();
}

template <typename OpTy> static LogicalResult verifyPairRegions(OpTy op) {
  Type i1 = IntegerType::get(op.getContext(), 1);
  return success(
      succeeded(verifyScore(op)) &&
      succeeded(verifyPairRegion(
          op, "mask", {&op.getMask(), 0, op.getMaskCaptures()}, {}, i1)));
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

LogicalResult mlir::fa::verifyLengths(AttentionLikeOpInterface op,
                                      StringRef name, Value lengths) {
  if (!lengths)
    return success();
  if (failed(verifyRank(op, name, lengths.getType(), 1)) ||
      failed(verifyElementType(op, name, lengths.getType(),
                               IntegerType::get(op.getContext(), 32))))
    return failure();
  // A tile of a larger problem keeps the lengths of the whole.
  if (!op.getOffsets().empty())
    return success();
  return verifySameSize(
      op, "batches", "query",
      sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Batch), name,
      cast<ShapedType>(lengths.getType()).getDimSize(0));
}

static LogicalResult verifyLse(AttentionOp op) {
  Value lse = op.getLse();
  if (!lse)
    return success();
  auto type = cast<ShapedType>(lse.getType());
  DimsAttr order = op.getQueryOrder();
  int64_t batch = op.getQueryStarts() ? 0 : 1;
  if (failed(verifyRank(op, "lse", type, 2 + batch)) ||
      failed(verifyElementType(op, "lse", type,
                               Float32Type::get(op.getContext()))))
    return failure();
  auto check = [&](StringRef what, DimKind kind, int64_t position) {
    return verifySameSize(op, what, "query", sizeOf(op.getQuery(), order, kind),
                          "lse", type.getDimSize(position));
  };
  return success(succeeded(check("batches", DimKind::Batch, 0)) &&
                 succeeded(check("heads", DimKind::Heads, batch)) &&
                 succeeded(check("queries", DimKind::Sequence, batch + 1)));
}

static LogicalResult verifyOutput(AttentionOp op) {
  auto type = cast<ShapedType>(op.getOutput().getType());
  Type element = cast<ShapedType>(op.getQuery().getType()).getElementType();
  if (failed(verifyRank(op, "output", type, op.getOutputOrder().getRank())))
    return failure();
  if (type.getElementType() != element && !type.getElementType().isF32())
    return op.emitOpError()
           << "output has element type " << type.getElementType()
           << ", expected " << element << " (that of query) or f32";
  auto check = [&](StringRef what, DimKind kind) {
    return verifySameSize(
        op, what, "query", sizeOf(op.getQuery(), op.getQueryOrder(), kind),
        "output", sizeOf(op.getOutput(), op.getOutputOrder(), kind));
  };
  if (failed(check("batches", DimKind::Batch)) ||
      failed(check("queries", DimKind::Sequence)) ||
      failed(check("heads", DimKind::Heads)))
    return failure();
  int64_t outputDim =
      sizeOf(op.getOutput(), op.getOutputOrder(), DimKind::HeadDim);
  if (failed(verifyHeadDim(op, "output head dim", outputDim)))
    return failure();
  return verifySameSize(
      op, "head dims", "value",
      sizeOf(op.getValue(), op.getValueOrder(), DimKind::HeadDim), "output",
      outputDim);
}

/// A misspelt attribute would be kept as a mark of someone else's, and not be
/// looked at. One of another dialect, by its prefix, is someone else's.
LogicalResult mlir::fa::verifyAttributeNames(Operation *op,
                                             ArrayRef<StringRef> names) {
  constexpr unsigned mostErrors = 2;
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name.contains('.'))
      continue;
    for (StringRef known : names)
      if (name.edit_distance(known, /*AllowReplacements=*/true, mostErrors) <=
          mostErrors)
        return op->emitOpError()
               << "has an attribute '" << name
               << "', which it does not know; the nearest is '" << known << "'";
  }
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttributeNames(*this, getAttributeNames())) ||
      failed(verifySequences(*this)) ||
      failed(verifyInputs(*this, getConfigAttr())) ||
      failed(verifyOutput(*this)) || failed(verifyLse(*this)) ||
      failed(verifyPlace(cast<PairRegionsOpInterface>(getOperation()))) ||
      failed(verifyLengths(*this, "query_lengths", getQueryLengths())) ||
      failed(verifyLengths(*this, "key_lengths", getKeyLengths())))
    return failure();
  bool onTensors = isa<RankedTensorType>(getQuery().getType());
  for (Value destination : getDpsInits())
    if (isa<RankedTensorType>(destination.getType()) != onTensors)
      return emitOpError() << "destination has type " << destination.getType()
                           << " but query has type " << getQuery().getType()
                           << ", expected all tensors or all memrefs";
  std::tuple<StringRef, Value, DimsAttr> operands[] = {
      {"query", getQuery(), getQueryOrder()},
      {"key", getKey(), getKeyOrder()},
      {"value", getValue(), getValueOrder()},
      {"output", getOutput(), getOutputOrder()}};
  for (auto [name, operand, order] : operands)
    if (failed(verifyContiguousHeadDim(*this, name, operand.getType(), order)))
      return failure();
  if (failed(verifyPairRegions(*this)) ||
      failed(verifyPairRegion(*this, "sink",
                              {&getSink(), 0, getSinkCaptures(), 3}, {},
                              Float32Type::get(getContext()))))
    return failure();
  return verifyBatchInvariant(*this);
}

//===----------------------------------------------------------------------===//
// OnlineAttentionOp
//===----------------------------------------------------------------------===//

LogicalResult mlir::fa::verifyState(Operation *op, Value accumulator,
                                    Value maximum, Value sum) {
  Type f32 = Float32Type::get(op->getContext());
  if (failed(verifyRank(op, "accumulator", accumulator.getType(), 2)) ||
      failed(verifyRank(op, "maximum", maximum.getType(), 1)) ||
      failed(verifyRank(op, "sum", sum.getType(), 1)) ||
      failed(
          verifyElementType(op, "accumulator", accumulator.getType(), f32)) ||
      failed(verifyElementType(op, "maximum", maximum.getType(), f32)) ||
      failed(verifyElementType(op, "sum", sum.getType(), f32)))
    return failure();
  int64_t rows = cast<ShapedType>(accumulator.getType()).getDimSize(0);
  return success(
      succeeded(
          verifySameSize(op, "rows", "accumulator", rows, "maximum",
                         cast<ShapedType>(maximum.getType()).getDimSize(0))) &&
      succeeded(verifySameSize(op, "rows", "accumulator", rows, "sum",
                               cast<ShapedType>(sum.getType()).getDimSize(0))));
}

LogicalResult mlir::fa::verifyStateHolds(Operation *op, StringRef name,
                                         int64_t rows, Value accumulator) {
  int64_t stateRows = cast<ShapedType>(accumulator.getType()).getDimSize(0);
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(stateRows) ||
      rows <= stateRows)
    return success();
  return op->emitOpError() << name << " has " << rows
                           << " rows, expected at most the " << stateRows
                           << " rows of the state";
}

LogicalResult mlir::fa::verifyOneHead(AttentionLikeOpInterface op) {
  std::tuple<StringRef, Value, DimsAttr> inputs[] = {
      {"query", op.getQuery(), op.getQueryOrder()},
      {"key", op.getKey(), op.getKeyOrder()},
      {"value", op.getValue(), op.getValueOrder()}};
  for (auto [name, input, order] : inputs) {
    std::pair<StringRef, DimKind> units[] = {{"batches", DimKind::Batch},
                                             {"heads", DimKind::Heads}};
    for (auto [what, kind] : units) {
      int64_t size = sizeOf(input, order, kind);
      if (size != 1)
        return op->emitOpError()
               << name << " has "
               << (ShapedType::isDynamic(size) ? std::string("?")
                                               : std::to_string(size))
               << ' ' << what << ", expected 1";
    }
  }
  return success();
}

LogicalResult OnlineAttentionOp::verify() {
  if (failed(verifyAttributeNames(*this, getAttributeNames())) ||
      failed(verifyInputs(*this, getConfigAttr())) ||
      failed(verifyPlace(cast<PairRegionsOpInterface>(getOperation()))) ||
      failed(verifyState(*this, getAccumulator(), getMaximum(), getSum())))
    return failure();
  if (failed(verifyOneHead(*this)))
    return failure();
  if (failed(verifyStateHolds(
          *this, "query",
          sizeOf(getQuery(), getQueryOrder(), DimKind::Sequence),
          getAccumulator())) ||
      failed(verifySameSize(
          *this, "head dims", "value",
          sizeOf(getValue(), getValueOrder(), DimKind::HeadDim), "accumulator",
          cast<ShapedType>(getAccumulator().getType()).getDimSize(1))))
    return failure();
  return verifyPairRegions(*this);
}

//===----------------------------------------------------------------------===//
// Effects and shapes
//===----------------------------------------------------------------------===//

void mlir::fa::addDestinationStyleEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand,
                         SideEffects::DefaultResource::get());
    // Rows that an operation leaves alone keep what the destination held.
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

LogicalResult
mlir::fa::reifyDestinationShapes(DestinationStyleOpInterface op,
                                 OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  for (Value init : op.getDpsInits())
    if (isa<RankedTensorType>(init.getType()))
      shapes.push_back(tensor::getMixedSizes(builder, op.getLoc(), init));
  return success();
}

void AttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}

void OnlineAttentionOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult
OnlineAttentionOp::reifyResultShapes(OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}
