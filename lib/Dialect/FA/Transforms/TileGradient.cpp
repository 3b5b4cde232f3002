//===- TileGradient.cpp - Gradients block by block ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the gradient of attention parallel loops: one that prepares the numbers
// of each query row, one over blocks of keys, one over blocks of queries, and
// one for each kind of captured tables. No two iterations of a loop add to the
// same element, so gradients are the same in each run. Read
// `GradientTiler::tile` first.
//
//===----------------------------------------------------------------------===//

#include "Lengths.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATILEGRADIENT
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// One block of a sequence: where it begins in the operand, how many rows it
/// has, and how many of these are below the length of the batch item.
struct SequenceBlock {
  OpFoldResult first, count, valid;
};

/// Gradients of captures that the same loops may compute in parallel.
struct CaptureGroup {
  /// Whether batches, heads and query blocks add to elements of their own.
  std::array<bool, 3> isParallel;
  SmallVector<int64_t> numbers;
  SmallVector<Value> destinations;
  Value scale;
};

class GradientTiler {
public:
  GradientTiler(RewriterBase &rewriter, AttentionGradientOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()),
        config(op.getConfigAttr()) {}

  void tile();

private:
  using Body = function_ref<void(ValueRange)>;

  OpFoldResult size(Value operand, DimsAttr order, DimKind kind) {
    return getMixedSize(rewriter, loc, operand, order, kind);
  }
  Value toValue(OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, value);
  }
  OpFoldResult add(OpFoldResult a, OpFoldResult b) {
    return addSizes(rewriter, loc, a, b);
  }
  int64_t getBlock(OpFoldResult total, int64_t block) {
    std::optional<int64_t> known = getConstantIntValue(total);
    return known ? std::clamp<int64_t>(*known, 1, block) : block;
  }
  /// A loop over the blocks of (batch, head, rows), parallel where it says so.
  void loop(OpFoldResult headCount, OpFoldResult rows, int64_t block,
            std::array<bool, 3> isParallel, Body body);
  SequenceBlock getSequenceBlock(Value first, OpFoldResult total, int64_t block,
                                 Value offset, Value length);
  OpFoldResult getValidCount(OpFoldResult count, OpFoldResult first,
                             Value length);
  Value getLength(Value lengths, Value batch, Value extent) {
    return getValidLength(rewriter, loc, lengths,
                          toValue(add(op.getOffsets()[0], batch)), extent);
  }
  Value slice(Value operand, DimsAttr order, Value batch, OpFoldResult first,
              OpFoldResult count, OpFoldResult head);
  Value sliceRows(Value rows, Value batch, Value head, OpFoldResult first,
                  OpFoldResult count);
  Value createZeros(int64_t rows, Value operand, DimsAttr order);
  Value getScale();
  SmallVector<Value> getOffsets(Value batch, Value head, OpFoldResult query,
                                OpFoldResult key);
  template <typename OpTy> void takeRegions(OpTy step);
  void finalize(Value accumulator, Value scale, Value gradient, DimsAttr order,
                Value batch, Value head, const SequenceBlock &block);

  void prepare();
  void tileKeys();
  GradientKeysOp createKeysStep(Value batch, Value keyHead, Value head,
                                const SequenceBlock &keyBlock,
                                ValueRange state);
  void tileQueries(const CaptureGroup &captures, bool withQueries);
  SmallVector<CaptureGroup> groupCaptures();
  std::array<bool, 3> findParallel(int64_t capture);
  Value createDestination(Value gradient);
  void storeCaptures();

  RewriterBase &rewriter;
  AttentionGradientOp op;
  Location loc;
  ConfigAttr config;
  OpFoldResult batches, heads, keyHeads, queries, keys;
  /// Numbers of each query row: batch x heads x queries.
  Value delta, reference;
  /// Gradients that are summed in f32 elsewhere, with where they go.
  SmallVector<std::pair<Value, Value>> summed;
  SmallVector<Value> workspaces;
};
} // namespace

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void GradientTiler::loop(OpFoldResult headCount, OpFoldResult rows,
                         int64_t block, std::array<bool, 3> isParallel,
                         Body body) {
  OpBuilder::InsertionGuard guard(rewriter);
  OpFoldResult ends[] = {batches, headCount, rows};
  int64_t steps[] = {1, 1, block};
  SmallVector<OpFoldResult> begins, limits, strides;
  for (auto [end, step, parallel] : llvm::zip_equal(ends, steps, isParallel)) {
    if (!parallel)
      continue;
    begins.push_back(rewriter.getIndexAttr(0));
    limits.push_back(end);
    strides.push_back(rewriter.getIndexAttr(step));
  }
  SmallVector<Value> indices(3);
  ValueRange ofParallel;
  if (!limits.empty()) {
    auto forall = scf::ForallOp::create(rewriter, loc, begins, limits, strides,
                                        /*outputs=*/ValueRange(),
                                        /*mapping=*/std::nullopt);
    ofParallel = forall.getInductionVars();
    rewriter.setInsertionPoint(forall.getTerminator());
  }
  for (unsigned dim = 0, next = 0; dim < 3; ++dim) {
    if (isParallel[dim]) {
      indices[dim] = ofParallel[next++];
      continue;
    }
    auto sequential = scf::ForOp::create(
        rewriter, loc, toValue(rewriter.getIndexAttr(0)), toValue(ends[dim]),
        toValue(rewriter.getIndexAttr(steps[dim])));
    indices[dim] = sequential.getInductionVar();
    rewriter.setInsertionPoint(sequential.getBody()->getTerminator());
  }
  body(indices);
}

/// `offset` is where the operand begins in the problem, `length` where the
/// batch item ends in it.
SequenceBlock GradientTiler::getSequenceBlock(Value first, OpFoldResult total,
                                              int64_t block, Value offset,
                                              Value length) {
  MLIRContext *context = rewriter.getContext();
  AffineExpr s0, s1;
  bindSymbols(context, s0, s1);
  SequenceBlock result;
  result.first = first;
  std::optional<int64_t> known = getConstantIntValue(total);
  if (known && *known % block == 0)
    result.count = rewriter.getIndexAttr(block);
  else
    result.count = affine::makeComposedFoldedAffineMin(
        rewriter, loc,
        AffineMap::get(0, 2, {getAffineConstantExpr(block, context), s1 - s0},
                       context),
        {first, total});
  result.valid =
      length ? getValidCount(result.count,
                             add(getAsOpFoldResult(offset), first), length)
             : result.count;
  return result;
}

/// How many of `count` rows from `first` of the problem on are below `length`.
OpFoldResult GradientTiler::getValidCount(OpFoldResult count,
                                          OpFoldResult first, Value length) {
  MLIRContext *context = rewriter.getContext();
  AffineExpr s0, s1, s2;
  bindSymbols(context, s0, s1, s2);
  OpFoldResult within = affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 3, {s0, s1 - s2}, context),
      {count, getAsOpFoldResult(length), first});
  return affine::makeComposedFoldedAffineMax(
      rewriter, loc,
      AffineMap::get(0, 1, {s0, getAffineConstantExpr(0, context)}, context),
      {within});
}

Value GradientTiler::slice(Value operand, DimsAttr order, Value batch,
                           OpFoldResult first, OpFoldResult count,
                           OpFoldResult head) {
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  DimValues offsets{batch, first, head, zero};
  DimValues sizes{one, count, one, size(operand, order, DimKind::HeadDim)};
  return createSlice(rewriter, loc, operand, offsets.inOrder(order),
                     sizes.inOrder(order));
}

Value GradientTiler::sliceRows(Value rows, Value batch, Value head,
                               OpFoldResult first, OpFoldResult count) {
  OpFoldResult one = rewriter.getIndexAttr(1);
  return createSlice(rewriter, loc, rows, {batch, head, first},
                     {one, one, count});
}

Value GradientTiler::createZeros(int64_t rows, Value operand, DimsAttr order) {
  SmallVector<OpFoldResult> sizes = {rewriter.getIndexAttr(rows),
                                     size(operand, order, DimKind::HeadDim)};
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, rewriter.getF32Type());
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0.0f));
  return linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
}

Value GradientTiler::getScale() {
  if (op.getScale())
    return op.getScale();
  return arith::ConstantOp::create(
      rewriter, loc, rewriter.getF32FloatAttr(getDefaultScale(op)));
}

SmallVector<Value> GradientTiler::getOffsets(Value batch, Value head,
                                             OpFoldResult query,
                                             OpFoldResult key) {
  OpFoldResult local[] = {batch, head, query, key};
  SmallVector<Value> offsets;
  for (auto [offset, position] : llvm::zip_equal(op.getOffsets(), local))
    offsets.push_back(toValue(add(getAsOpFoldResult(offset), position)));
  return offsets;
}

template <typename OpTy> void GradientTiler::takeRegions(OpTy step) {
  IRMapping mapping;
  op.getScore().cloneInto(&step.getScore(), mapping);
  op.getScoreGradient().cloneInto(&step.getScoreGradient(), mapping);
  op.getMask().cloneInto(&step.getMask(), mapping);
}

void GradientTiler::finalize(Value accumulator, Value scale, Value gradient,
                             DimsAttr order, Value batch, Value head,
                             const SequenceBlock &block) {
  FinalizeGradientOp::create(
      rewriter, loc, accumulator, scale,
      slice(gradient, order, batch, block.first, block.count, head),
      toValue(block.valid), order.isDefault() ? DimsAttr() : order);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void GradientTiler::prepare() {
  auto allocate = [&]() -> Value {
    Value memory = memref::AllocOp::create(
        rewriter, loc, SmallVector<OpFoldResult>{batches, heads, queries},
        rewriter.getF32Type());
    workspaces.push_back(memory);
    return memory;
  };
  delta = allocate();
  reference = allocate();
  int64_t block = getBlock(queries, config.getQueryBlock());
  loop(heads, queries, block, {true, true, true}, [&](ValueRange at) {
    Value batch = at[0], head = at[1];
    Value length = op.getQueryLengths() ? getLength(op.getQueryLengths(), batch,
                                                    op.getExtents()[0])
                                        : Value();
    SequenceBlock rows =
        getSequenceBlock(at[2], queries, block, op.getOffsets()[2], length);
    auto ofRows = [&](Value numbers) {
      return numbers ? sliceRows(numbers, batch, head, rows.first, rows.count)
                     : Value();
    };
    auto ofTile = [&](Value tile, DimsAttr order) {
      return slice(tile, order, batch, rows.first, rows.count, head);
    };
    Value output, outputGradient;
    if (op.getOutput()) {
      output = ofTile(op.getOutput(), op.getOutputOrder());
      outputGradient =
          ofTile(op.getOutputGradient(), op.getOutputGradientOrder());
    }
    PrepareGradientOp::create(
        rewriter, loc, output, outputGradient, ofRows(op.getDelta()),
        ofRows(op.getLse()), ofRows(op.getLseGradient()), ofRows(delta),
        ofRows(reference), toValue(rows.valid), op.getOutputDimsAttr(),
        op.getOutputGradientDimsAttr(), config);
  });
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

GradientKeysOp GradientTiler::createKeysStep(Value batch, Value keyHead,
                                             Value head,
                                             const SequenceBlock &keyBlock,
                                             ValueRange state) {
  OpFoldResult zero = rewriter.getIndexAttr(0);
  Value queryLength =
      getLength(op.getQueryLengths(), batch, op.getExtents()[0]);
  Value keyLength = getLength(op.getKeyLengths(), batch, op.getExtents()[1]);
  OpFoldResult count = queries;
  if (op.getQueryLengths())
    count = getValidCount(queries, getAsOpFoldResult(op.getOffsets()[2]),
                          queryLength);
  auto ofQueries = [&](Value operand, DimsAttr order) {
    return slice(operand, order, batch, zero, count, head);
  };
  auto ofKeys = [&](Value operand, DimsAttr order) {
    return slice(operand, order, batch, keyBlock.first, keyBlock.valid,
                 keyHead);
  };
  unsigned next = 0;
  Value keyState = op.getKeyGradient() ? state[next++] : Value();
  Value valueState = op.getValueGradient() ? state[next++] : Value();
  auto step = GradientKeysOp::create(
      rewriter, loc, state.getTypes(),
      ofQueries(op.getQuery(), op.getQueryOrder()),
      ofKeys(op.getKey(), op.getKeyOrder()),
      ofKeys(op.getValue(), op.getValueOrder()),
      ofQueries(op.getOutputGradient(), op.getOutputGradientOrder()),
      sliceRows(reference, batch, head, zero, count),
      sliceRows(delta, batch, head, zero, count), op.getScale(),
      getOffsets(batch, head, zero, keyBlock.first),
      ValueRange{queryLength, keyLength}, op.getScoreCaptures(),
      op.getMaskCaptures(), keyState, valueState, op.getQueryDimsAttr(),
      op.getKeyDimsAttr(), op.getValueDimsAttr(),
      op.getOutputGradientDimsAttr(), config);
  takeRegions(step);
  return step;
}

/// Blocks of keys of a key head, which the query heads of its group visit one
/// after the other.
void GradientTiler::tileKeys() {
  int64_t block = getBlock(keys, config.getKeyBlock());
  loop(keyHeads, keys, block, {true, true, true}, [&](ValueRange at) {
    Value batch = at[0], keyHead = at[1];
    Value length = op.getKeyLengths() ? getLength(op.getKeyLengths(), batch,
                                                  op.getExtents()[1])
                                      : Value();
    SequenceBlock keyBlock =
        getSequenceBlock(at[2], keys, block, op.getOffsets()[3], length);
    SmallVector<Value> state;
    if (op.getKeyGradient())
      state.push_back(createZeros(block, op.getKey(), op.getKeyOrder()));
    if (op.getValueGradient())
      state.push_back(createZeros(block, op.getValue(), op.getValueOrder()));
    if (isEqualConstantIntOrValue(heads, keyHeads)) {
      auto step = createKeysStep(batch, keyHead, keyHead, keyBlock, state);
      state.assign(step.getResults().begin(), step.getResults().end());
    } else {
      Value group = rewriter.createOrFold<arith::DivUIOp>(loc, toValue(heads),
                                                          toValue(keyHeads));
      auto members =
          scf::ForOp::create(rewriter, loc, toValue(rewriter.getIndexAttr(0)),
                             group, toValue(rewriter.getIndexAttr(1)), state);
      OpBuilder::InsertionGuard guard(rewriter);
      if (!members.getBody()->empty())
        rewriter.eraseOp(members.getBody()->getTerminator());
      rewriter.setInsertionPointToEnd(members.getBody());
      Value first = rewriter.createOrFold<arith::MulIOp>(loc, keyHead, group);
      Value head = rewriter.createOrFold<arith::AddIOp>(
          loc, first, members.getInductionVar());
      auto step = createKeysStep(batch, keyHead, head, keyBlock,
                                 members.getRegionIterArgs());
      scf::YieldOp::create(rewriter, loc, step.getResults());
      state.assign(members.getResults().begin(), members.getResults().end());
    }
    unsigned next = 0;
    if (op.getKeyGradient())
      finalize(state[next++], getScale(), op.getKeyGradient(),
               op.getKeyGradientOrder(), batch, keyHead, keyBlock);
    if (op.getValueGradient())
      finalize(state[next++], Value(), op.getValueGradient(),
               op.getValueGradientOrder(), batch, keyHead, keyBlock);
  });
}

//===----------------------------------------------------------------------===//
// Queries and captures
//===----------------------------------------------------------------------===//

void GradientTiler::tileQueries(const CaptureGroup &captures,
                                bool withQueries) {
  int64_t block = getBlock(queries, config.getQueryBlock());
  loop(heads, queries, block, captures.isParallel, [&](ValueRange at) {
    Value batch = at[0], head = at[1];
    OpFoldResult keyHead = getKeyHead(rewriter, op, head);
    OpFoldResult zero = rewriter.getIndexAttr(0);
    Value queryLength =
        getLength(op.getQueryLengths(), batch, op.getExtents()[0]);
    Value keyLength = getLength(op.getKeyLengths(), batch, op.getExtents()[1]);
    SequenceBlock rows =
        getSequenceBlock(at[2], queries, block, op.getOffsets()[2],
                         op.getQueryLengths() ? queryLength : Value());
    OpFoldResult count = keys;
    if (op.getKeyLengths())
      count =
          getValidCount(keys, getAsOpFoldResult(op.getOffsets()[3]), keyLength);
    auto ofQueries = [&](Value operand, DimsAttr order) {
      return slice(operand, order, batch, rows.first, rows.valid, head);
    };
    auto ofKeys = [&](Value operand, DimsAttr order) {
      return slice(operand, order, batch, zero, count, keyHead);
    };
    Value state;
    if (withQueries)
      state = createZeros(block, op.getQuery(), op.getQueryOrder());
    auto step = GradientQueriesOp::create(
        rewriter, loc, state ? TypeRange(state.getType()) : TypeRange(),
        ofQueries(op.getQuery(), op.getQueryOrder()),
        ofKeys(op.getKey(), op.getKeyOrder()),
        ofKeys(op.getValue(), op.getValueOrder()),
        ofQueries(op.getOutputGradient(), op.getOutputGradientOrder()),
        sliceRows(reference, batch, head, rows.first, rows.valid),
        sliceRows(delta, batch, head, rows.first, rows.valid), op.getScale(),
        getOffsets(batch, head, rows.first, zero),
        ValueRange{queryLength, keyLength}, op.getScoreCaptures(),
        op.getMaskCaptures(), state, captures.destinations, captures.scale,
        rewriter.getDenseI64ArrayAttr(captures.numbers), op.getQueryDimsAttr(),
        op.getKeyDimsAttr(), op.getValueDimsAttr(),
        op.getOutputGradientDimsAttr(), config);
    takeRegions(step);
    if (withQueries)
      finalize(step.getResult(0), getScale(), op.getQueryGradient(),
               op.getQueryGradientOrder(), batch, head, rows);
  });
}

/// Which of batch, head and query index the same dimension of a capture in all
/// places that add to its gradient.
std::array<bool, 3> GradientTiler::findParallel(int64_t capture) {
  Block &body = op.getScoreGradient().front();
  std::array<bool, 3> isParallel = {true, true, true};
  for (unsigned dim = 0; dim < 3; ++dim) {
    llvm::SmallBitVector positions(64, true);
    for (ScatterGradientOp scatter : body.getOps<ScatterGradientOp>()) {
      if (scatter.getCapture() != body.getArgument(6 + capture))
        continue;
      llvm::SmallBitVector own(64);
      for (auto [position, index] : llvm::enumerate(scatter.getIndices()))
        if (index == body.getArgument(2 + dim))
          own.set(position);
      positions &= own;
    }
    isParallel[dim] = positions.any();
  }
  return isParallel;
}

/// Memory of f32 that sums are taken in: the gradient itself where it can be.
Value GradientTiler::createDestination(Value gradient) {
  auto type = cast<MemRefType>(gradient.getType());
  Value destination = gradient;
  if (!type.getElementType().isF32()) {
    SmallVector<OpFoldResult> sizes =
        memref::getMixedSizes(rewriter, loc, gradient);
    destination =
        memref::AllocOp::create(rewriter, loc, sizes, rewriter.getF32Type());
    workspaces.push_back(destination);
    summed.push_back({destination, gradient});
  }
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0.0f));
  linalg::FillOp::create(rewriter, loc, zero, destination);
  return destination;
}

SmallVector<CaptureGroup> GradientTiler::groupCaptures() {
  SmallVector<CaptureGroup> groups;
  auto getGroup = [&](std::array<bool, 3> isParallel) -> CaptureGroup & {
    for (CaptureGroup &group : groups)
      if (group.isParallel == isParallel)
        return group;
    groups.push_back({isParallel, {}, {}, Value()});
    return groups.back();
  };
  for (auto [number, gradient] :
       llvm::zip_equal(op.getDifferentiated(), op.getCaptureGradients())) {
    Value destination = createDestination(gradient);
    if (op.getScoreGradient().empty())
      continue;
    CaptureGroup &group = getGroup(findParallel(number));
    group.numbers.push_back(number);
    group.destinations.push_back(destination);
  }
  if (op.getScaleGradient())
    getGroup({false, false, false}).scale =
        createDestination(op.getScaleGradient());
  return groups;
}

void GradientTiler::storeCaptures() {
  for (auto [source, destination] : summed) {
    auto type = cast<MemRefType>(destination.getType());
    SmallVector<AffineMap> maps(
        2, rewriter.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> loops(type.getRank(),
                                           utils::IteratorType::parallel);
    linalg::GenericOp::create(
        rewriter, loc, source, destination, maps, loops,
        [&](OpBuilder &builder, Location at, ValueRange scalars) {
          Value narrowed = arith::TruncFOp::create(
              builder, at, type.getElementType(), scalars[0]);
          linalg::YieldOp::create(builder, at, narrowed);
        });
  }
}

void GradientTiler::tile() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });
  batches = size(op.getQuery(), op.getQueryOrder(), DimKind::Batch);
  heads = size(op.getQuery(), op.getQueryOrder(), DimKind::Heads);
  queries = size(op.getQuery(), op.getQueryOrder(), DimKind::Sequence);
  keyHeads = size(op.getKey(), op.getKeyOrder(), DimKind::Heads);
  keys = size(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  prepare();
  if (op.getKeyGradient() || op.getValueGradient())
    tileKeys();
  CaptureGroup ofQueries{{true, true, true}, {}, {}, Value()};
  bool withQueries = static_cast<bool>(op.getQueryGradient());
  for (CaptureGroup &group : groupCaptures()) {
    if (withQueries && group.isParallel == ofQueries.isParallel)
      ofQueries = group;
    else
      tileQueries(group, /*withQueries=*/false);
  }
  if (withQueries)
    tileQueries(ofQueries, /*withQueries=*/true);
  storeCaptures();
  for (Value memory : workspaces)
    memref::DeallocOp::create(rewriter, loc, memory);
  rewriter.eraseOp(op);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

LogicalResult mlir::fa::tileGradient(RewriterBase &rewriter,
                                     AttentionGradientOp op) {
  if (!op.getConfigAttr())
    return op.emitOpError("has no config, expected one that gives the query "
                          "block and the key block; fa-select-config sets it");
  if (isa<RankedTensorType>(op.getQuery().getType()))
    return op.emitOpError("is on tensors, expected memrefs: "
                          "fa-results-to-out-parameters makes them");
  if (!op.getScore().empty() && op.getScoreGradient().empty())
    return op.emitOpError("has a score region but no score_gradient region; "
                          "fa-differentiate-score derives it");
  GradientTiler(rewriter, op).tile();
  return success();
}

namespace {
struct TileGradientPass
    : public fa::impl::FATileGradientBase<TileGradientPass> {
  void runOnOperation() override {
    SmallVector<AttentionGradientOp> all;
    getOperation()->walk([&](AttentionGradientOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionGradientOp op : all)
      if (failed(tileGradient(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
