//===- TileGradient.cpp - Gradients block by block ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the gradient of attention parallel loops: one that prepares the numbers
// of each query row, then as the form of the configuration says, loops over
// blocks of keys and of queries, and one for each kind of captured tables. No
// two iterations of a loop add to the same element, so gradients are the same
// in each run; but those of `one_pass` on a GPU, which add in any order. Read
// `GradientTiler::tile` first.
//
//===----------------------------------------------------------------------===//

#include "CaptureSums.h"
#include "CutGradient.h"
#include "Lengths.h"
#include "Sinks.h"
#include "fa/Dialect/FA/IR/EmptyFolds.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// What blocks of keys add to.
struct KeyGradients {
  Value key, value;
  /// Of `one_pass` where an iteration owns a key head.
  Value query;
  CaptureGroup captures;
};

class GradientTiler {
public:
  GradientTiler(RewriterBase &rewriter, AttentionGradientOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()),
        config(op.getConfigAttr()),
        keysConfig(op->getAttrOfType<ConfigAttr>(gradientKeysAttrName)) {
    if (!keysConfig)
      keysConfig = config;
    TargetConfigAttrInterface target = config.getTarget();
    hasWholeBlocks = target && target.getTargetName() == "gpu";
  }

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
    return known && !hasWholeBlocks ? std::clamp<int64_t>(*known, 1, block)
                                    : block;
  }
  /// Loops that become kernels stay loops where they have one iteration.
  std::optional<ArrayAttr> getMapping(size_t numDims) {
    if (!hasWholeBlocks)
      return std::nullopt;
    SmallVector<Attribute> ids;
    for (size_t dim = 0; dim < numDims; ++dim)
      ids.push_back(gpu::GPUBlockMappingAttr::get(
          rewriter.getContext(),
          gpu::symbolizeMappingId(numDims - 1 - dim).value()));
    return rewriter.getArrayAttr(ids);
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
                Value batch, Value head, const SequenceBlock &block,
                ConfigAttr withConfig = {});

  int64_t getPreparedBlock();
  OpFoldResult padRows();
  Value allocate(OpFoldResult rows);
  void prepare(bool hasSums);
  Value viewSums(OpFoldResult rows);
  void tileKeys(const KeyGradients &gradients);
  void tileKeyHeads(const KeyGradients &gradients);
  void addKeyBlock(const KeyGradients &gradients, Value batch, Value keyHead,
                   Value firstKey, int64_t block, Value querySums);
  GradientKeysOp createKeysStep(const KeyGradients &gradients, Value batch,
                                Value keyHead, Value member, Value head,
                                const SequenceBlock &keyBlock, ValueRange state,
                                Value querySums);
  Value createQuerySums();
  void finalizeQuerySums(Value querySums, Value batch, Value keyHead);
  void finalizeSums(Value ofHead, Value batch, Value head, Value firstQuery,
                    int64_t block, ConfigAttr withConfig);
  void tileSums();
  Value getGroup() {
    return rewriter.createOrFold<arith::DivUIOp>(loc, toValue(heads),
                                                 toValue(keyHeads));
  }
  Value getQueryHead(Value keyHead, Value member);
  void tileQueries(const CaptureGroup &captures, bool withQueries);
  Value getOrdinal(Value first, int64_t block);
  void fillWithoutKeys();

  RewriterBase &rewriter;
  AttentionGradientOp op;
  Location loc;
  /// Of blocks of queries, and of keys.
  ConfigAttr config, keysConfig;
  /// Whether rows that are queries, and rows that are keys, are always as many
  /// as a block has.
  bool hasWholeBlocks;
  OpFoldResult batches, heads, keyHeads, queries, keys;
  /// Numbers of each query row: batch x heads x queries.
  Value delta, reference;
  /// Where blocks of keys in parallel add up the gradient of queries: batch x
  /// heads x elements of whole blocks of queries. Their order in a block is the
  /// kernels'.
  Value sums;
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
                                        getMapping(limits.size()));
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
  AffineExpr s0, s1;
  bindSymbols(context, s0, s1);
  // In a form whose bound, that of the count, later passes know.
  OpFoldResult left = affine::makeComposedFoldedAffineMax(
      rewriter, loc,
      AffineMap::get(0, 2, {s0 - s1, getAffineConstantExpr(0, context)},
                     context),
      {getAsOpFoldResult(length), first});
  return affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 2, {s0, s1}, context), {count, left});
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
                             const SequenceBlock &block,
                             ConfigAttr withConfig) {
  FinalizeGradientOp::create(
      rewriter, loc, accumulator, scale,
      slice(gradient, order, batch, block.first, block.count, head),
      toValue(block.valid), order.isDefault() ? DimsAttr() : order, withConfig);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Rows of a head follow each other.
static DimsAttr getQuerySumsOrder(MLIRContext *context) {
  return DimsAttr::get(context, {0, 2, 1, 3});
}

/// Rows whose numbers a block prepares: on a GPU an even number of its
/// products' rows, 16, as warps copy those of two together.
int64_t GradientTiler::getPreparedBlock() {
  int64_t block = getBlock(queries, keysConfig.getQueryBlock());
  return hasWholeBlocks && block % 32 ? 2 * block : block;
}

/// At least one block, so that each visit of queries has one to read.
OpFoldResult GradientTiler::padRows() {
  if (!hasWholeBlocks)
    return queries;
  int64_t block = getPreparedBlock();
  if (std::optional<int64_t> known = getConstantIntValue(queries))
    return rewriter.getIndexAttr(
        llvm::alignTo(std::max<int64_t>(*known, 1), block));
  Value one = toValue(rewriter.getIndexAttr(1));
  Value size = toValue(rewriter.getIndexAttr(block));
  Value rows =
      rewriter.createOrFold<arith::MaxUIOp>(loc, toValue(queries), one);
  Value blocks = rewriter.createOrFold<arith::CeilDivUIOp>(loc, rows, size);
  return getAsOpFoldResult(
      rewriter.createOrFold<arith::MulIOp>(loc, blocks, size));
}

Value GradientTiler::allocate(OpFoldResult rows) {
  Value memory = memref::AllocOp::create(
      rewriter, loc, SmallVector<OpFoldResult>{batches, heads, rows},
      rewriter.getF32Type());
  workspaces.push_back(memory);
  return memory;
}

/// The sums as batch x heads x queries x head dim.
Value GradientTiler::viewSums(OpFoldResult rows) {
  OpFoldResult headDim =
      size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim);
  SmallVector<OpFoldResult> sizes = {batches, heads, rows, headDim};
  auto [shape, dynamic] = decomposeMixedValues(sizes);
  SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
  return memref::ExpandShapeOp::create(
      rewriter, loc, MemRefType::get(shape, rewriter.getF32Type()), sums,
      groups, sizes);
}

void GradientTiler::prepare(bool hasSums) {
  int64_t block = getPreparedBlock();
  OpFoldResult padded = padRows();
  ConfigAttr preparedBy = keysConfig;
  if (block != keysConfig.getQueryBlock() && hasWholeBlocks)
    preparedBy = ConfigAttr::get(
        rewriter.getContext(), block, keysConfig.getKeyBlock(), /*keySplits=*/1,
        keysConfig.getDeterministic(), keysConfig.getTarget());
  delta = allocate(padded);
  reference = allocate(padded);
  if (hasSums) {
    AffineExpr s0 = rewriter.getAffineSymbolExpr(0);
    AffineExpr s1 = rewriter.getAffineSymbolExpr(1);
    sums = allocate(affine::makeComposedFoldedAffineApply(
        rewriter, loc, s0 * s1,
        {padded, size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim)}));
  }
  loop(heads, padded, block, {true, true, true}, [&](ValueRange at) {
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
    Value cleared;
    if (sums)
      cleared = slice(viewSums(padded), getQuerySumsOrder(op.getContext()),
                      batch, rows.first, rewriter.getIndexAttr(block), head);
    Value output, outputGradient;
    if (op.getOutput()) {
      output = ofTile(op.getOutput(), op.getOutputOrder());
      outputGradient =
          ofTile(op.getOutputGradient(), op.getOutputGradientOrder());
    }
    PrepareGradientOp::create(
        rewriter, loc, output, outputGradient, ofRows(op.getDelta()),
        ofRows(op.getLse()), ofRows(op.getLseGradient()), ofRows(delta),
        ofRows(reference), cleared, toValue(rows.valid), op.getOutputDimsAttr(),
        op.getOutputGradientDimsAttr(), preparedBy);
  });
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

Value GradientTiler::getQueryHead(Value keyHead, Value member) {
  if (isEqualConstantIntOrValue(heads, keyHeads))
    return keyHead;
  Value first = rewriter.createOrFold<arith::MulIOp>(loc, keyHead, getGroup());
  return rewriter.createOrFold<arith::AddIOp>(loc, first, member);
}

/// `member` is the place of `head` in the group of its key head.
GradientKeysOp GradientTiler::createKeysStep(const KeyGradients &gradients,
                                             Value batch, Value keyHead,
                                             Value member, Value head,
                                             const SequenceBlock &keyBlock,
                                             ValueRange state,
                                             Value querySums) {
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
  Value keyState = gradients.key ? state[next++] : Value();
  Value valueState = gradients.value ? state[next++] : Value();
  DimsAttr sumsOrder;
  Value addedTo;
  if (querySums || sums) {
    sumsOrder = getQuerySumsOrder(rewriter.getContext());
    addedTo =
        querySums
            ? slice(querySums, sumsOrder, toValue(zero), zero, count, member)
            : slice(viewSums(padRows()), sumsOrder, batch, zero, count, head);
  }
  CaptureDestinations captures = CaptureSums::getDestinations(
      rewriter, loc, gradients.captures, {batch, keyHead, Value()});
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
      op.getMaskCaptures(), keyState, valueState, addedTo, captures.memory,
      captures.scale, rewriter.getDenseI64ArrayAttr(captures.numbers),
      op.getQueryDimsAttr(), op.getKeyDimsAttr(), op.getValueDimsAttr(),
      op.getOutputGradientDimsAttr(), sumsOrder, keysConfig);
  takeRegions(step);
  return step;
}

/// The query heads of a group visit a block of keys one after the other.
void GradientTiler::addKeyBlock(const KeyGradients &gradients, Value batch,
                                Value keyHead, Value firstKey, int64_t block,
                                Value querySums) {
  Value length = op.getKeyLengths()
                     ? getLength(op.getKeyLengths(), batch, op.getExtents()[1])
                     : Value();
  SequenceBlock keyBlock =
      getSequenceBlock(firstKey, keys, block, op.getOffsets()[3], length);
  SmallVector<Value> state;
  if (gradients.key)
    state.push_back(createZeros(block, op.getKey(), op.getKeyOrder()));
  if (gradients.value)
    state.push_back(createZeros(block, op.getValue(), op.getValueOrder()));
  Value zero = toValue(rewriter.getIndexAttr(0));
  if (isEqualConstantIntOrValue(heads, keyHeads)) {
    auto step = createKeysStep(gradients, batch, keyHead, zero, keyHead,
                               keyBlock, state, querySums);
    state.assign(step.getResults().begin(), step.getResults().end());
  } else {
    auto members = scf::ForOp::create(rewriter, loc, zero, getGroup(),
                                      toValue(rewriter.getIndexAttr(1)), state);
    OpBuilder::InsertionGuard guard(rewriter);
    if (!members.getBody()->empty())
      rewriter.eraseOp(members.getBody()->getTerminator());
    rewriter.setInsertionPointToEnd(members.getBody());
    Value member = members.getInductionVar();
    auto step = createKeysStep(gradients, batch, keyHead, member,
                               getQueryHead(keyHead, member), keyBlock,
                               members.getRegionIterArgs(), querySums);
    scf::YieldOp::create(rewriter, loc, step.getResults());
    state.assign(members.getResults().begin(), members.getResults().end());
  }
  unsigned next = 0;
  if (gradients.key)
    finalize(state[next++], getScale(), gradients.key, op.getKeyGradientOrder(),
             batch, keyHead, keyBlock);
  if (gradients.value)
    finalize(state[next++], Value(), gradients.value,
             op.getValueGradientOrder(), batch, keyHead, keyBlock);
}

/// Blocks of keys in parallel.
void GradientTiler::tileKeys(const KeyGradients &gradients) {
  int64_t block = getBlock(keys, keysConfig.getKeyBlock());
  loop(keyHeads, keys, block, {true, true, true}, [&](ValueRange at) {
    addKeyBlock(gradients, at[0], at[1], at[2], block, /*querySums=*/Value());
  });
}

/// Key heads in parallel: each iteration owns the gradients of the queries that
/// its blocks of keys add to.
void GradientTiler::tileKeyHeads(const KeyGradients &gradients) {
  int64_t block = getBlock(keys, keysConfig.getKeyBlock());
  scf::ForallOp forall = scf::ForallOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{batches, keyHeads},
      /*outputs=*/ValueRange(), /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(forall.getTerminator());
  Value batch = forall.getInductionVar(0), keyHead = forall.getInductionVar(1);
  Value querySums = gradients.query ? createQuerySums() : Value();
  Value zero = toValue(rewriter.getIndexAttr(0));
  auto blocks = scf::ForOp::create(rewriter, loc, zero, toValue(keys),
                                   toValue(rewriter.getIndexAttr(block)));
  rewriter.setInsertionPoint(blocks.getBody()->getTerminator());
  addKeyBlock(gradients, batch, keyHead, blocks.getInductionVar(), block,
              querySums);
  rewriter.setInsertionPointAfter(blocks);
  if (!querySums)
    return;
  finalizeQuerySums(querySums, batch, keyHead);
  memref::DeallocOp::create(rewriter, loc, querySums);
}

/// Sums for the query heads of one key head: 1 x group x queries x head dim.
Value GradientTiler::createQuerySums() {
  OpFoldResult one = rewriter.getIndexAttr(1);
  OpFoldResult group = isEqualConstantIntOrValue(heads, keyHeads)
                           ? one
                           : getAsOpFoldResult(getGroup());
  Value sums = memref::AllocOp::create(
      rewriter, loc,
      SmallVector<OpFoldResult>{
          one, group, queries,
          size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim)},
      rewriter.getF32Type());
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0.0f));
  linalg::FillOp::create(rewriter, loc, zero, sums);
  return sums;
}

void GradientTiler::finalizeQuerySums(Value querySums, Value batch,
                                      Value keyHead) {
  int64_t block = getBlock(queries, config.getQueryBlock());
  Value zero = toValue(rewriter.getIndexAttr(0));
  OpBuilder::InsertionGuard guard(rewriter);
  Value member = zero;
  if (!isEqualConstantIntOrValue(heads, keyHeads)) {
    auto members = scf::ForOp::create(rewriter, loc, zero, getGroup(),
                                      toValue(rewriter.getIndexAttr(1)));
    rewriter.setInsertionPoint(members.getBody()->getTerminator());
    member = members.getInductionVar();
  }
  auto blocks = scf::ForOp::create(rewriter, loc, zero, toValue(queries),
                                   toValue(rewriter.getIndexAttr(block)));
  rewriter.setInsertionPoint(blocks.getBody()->getTerminator());
  Value none = toValue(rewriter.getIndexAttr(0));
  Value ofHead = createLeadingSlice(
      rewriter, loc,
      createLeadingSlice(rewriter, loc, querySums, getAsOpFoldResult(none)),
      getAsOpFoldResult(member));
  finalizeSums(ofHead, batch, getQueryHead(keyHead, member),
               blocks.getInductionVar(), block, /*withConfig=*/{});
}

/// Stores what was added up for a block of queries of a head: queries x head
/// dim.
void GradientTiler::finalizeSums(Value ofHead, Value batch, Value head,
                                 Value firstQuery, int64_t block,
                                 ConfigAttr withConfig) {
  // Nothing was added to rows past a length: their sums are 0.
  SequenceBlock rows = getSequenceBlock(firstQuery, queries, block,
                                        op.getOffsets()[2], /*length=*/Value());
  OpFoldResult none = rewriter.getIndexAttr(0);
  OpFoldResult headDim =
      size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim);
  Value ofBlock = createSlice(rewriter, loc, ofHead, {rows.first, none},
                              {rows.count, headDim});
  finalize(ofBlock, getScale(), op.getQueryGradient(),
           op.getQueryGradientOrder(), batch, head, rows, withConfig);
}

/// Blocks of queries in parallel, behind those of keys.
void GradientTiler::tileSums() {
  int64_t block = keysConfig.getQueryBlock();
  loop(heads, queries, block, {true, true, true}, [&](ValueRange at) {
    Value ofHead = createLeadingSlice(
        rewriter, loc,
        createLeadingSlice(rewriter, loc, viewSums(padRows()),
                           getAsOpFoldResult(at[0])),
        getAsOpFoldResult(at[1]));
    finalizeSums(ofHead, at[0], at[1], at[2], block, keysConfig);
  });
}

//===----------------------------------------------------------------------===//
// Queries and captures
//===----------------------------------------------------------------------===//

/// The number of the block that begins at `first`.
Value GradientTiler::getOrdinal(Value first, int64_t block) {
  return rewriter.createOrFold<arith::DivUIOp>(
      loc, first, toValue(rewriter.getIndexAttr(block)));
}

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
    CaptureDestinations destinations = CaptureSums::getDestinations(
        rewriter, loc, captures, {batch, head, getOrdinal(at[2], block)});
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
        op.getMaskCaptures(), state, destinations.memory, destinations.scale,
        rewriter.getDenseI64ArrayAttr(destinations.numbers),
        op.getQueryDimsAttr(), op.getKeyDimsAttr(), op.getValueDimsAttr(),
        op.getOutputGradientDimsAttr(), config);
    takeRegions(step);
    if (withQueries)
      finalize(step.getResult(0), getScale(), op.getQueryGradient(),
               op.getQueryGradientOrder(), batch, head, rows);
  });
}

/// Nothing but the sink has a gradient where there are no keys.
void GradientTiler::fillWithoutKeys() {
  OperandRange ofSink = op.getSinkCaptureGradients();
  for (Value destination : cast<DestinationStyleOpInterface>(*op).getDpsInits())
    if (!llvm::is_contained(ofSink, destination)) {
      Value zero = arith::ConstantOp::create(
          rewriter, loc,
          rewriter.getZeroAttr(getElementTypeOrSelf(destination.getType())));
      linalg::FillOp::create(rewriter, loc, zero, destination);
    }
  for (Value memory : workspaces)
    memref::DeallocOp::create(rewriter, loc, memory);
  rewriter.eraseOp(op);
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
  GradientForm form = config.getGradientForm().value_or(GradientForm::two_pass);
  KeyGradients ofKeys{op.getKeyGradient(), op.getValueGradient(), Value(), {}};
  bool hasKeys = ofKeys.key || ofKeys.value;
  bool isOnePass = form == GradientForm::one_pass && hasKeys;
  bool addsInParallel = isOnePass && hasWholeBlocks && op.getQueryGradient();
  prepare(addsInParallel);
  addSinkGradients(rewriter, op, delta, reference);
  if (isConstantIntValue(keys, 0))
    return fillWithoutKeys();
  if (isOnePass)
    ofKeys.query = op.getQueryGradient();
  CaptureGroup ofQueries;
  bool withQueries = op.getQueryGradient() && !isOnePass;
  int64_t block = getBlock(queries, config.getQueryBlock());
  AffineExpr s0 = rewriter.getAffineSymbolExpr(0);
  OpFoldResult blocks = affine::makeComposedFoldedAffineApply(
      rewriter, loc, s0.ceilDiv(block), {queries});
  CaptureSums captures(rewriter, op,
                       {batches, isOnePass ? keyHeads : heads, blocks},
                       /*blocksInOrder=*/isOnePass);
  for (CaptureGroup &group : captures.create()) {
    bool isParallel = group.isParallel == IterationDims{true, true, true};
    if (isOnePass && isParallel)
      ofKeys.captures = group;
    else if (withQueries && isParallel)
      ofQueries = group;
    else
      tileQueries(group, /*withQueries=*/false);
  }
  if (addsInParallel) {
    tileKeys(ofKeys);
    tileSums();
  } else if (isOnePass && !hasWholeBlocks) {
    tileKeyHeads(ofKeys);
  } else if (form == GradientForm::three_pass && ofKeys.key && ofKeys.value) {
    tileKeys({ofKeys.key, Value(), Value(), {}});
    tileKeys({Value(), ofKeys.value, Value(), {}});
  } else if (hasKeys) {
    tileKeys(ofKeys);
  }
  if (withQueries)
    tileQueries(ofQueries, /*withQueries=*/true);
  captures.store();
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
  if (!op.getDifferentiatedSink().empty() && op.getSinkGradient().empty())
    return op.emitOpError("has a sink region but no sink_gradient region; "
                          "fa-differentiate-score derives it");
  if (op.isRagged())
    op = cutGradient(rewriter, op);
  GradientTiler(rewriter, op).tile();
  return success();
}

namespace {
struct TileGradientPass
    : public fa::impl::FATileGradientBase<TileGradientPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FATileGradientBase::getDependentDialects(registry);
    registry.insert<gpu::GPUDialect, math::MathDialect>();
  }

  void runOnOperation() override {
    SmallVector<AttentionGradientOp> all;
    getOperation()->walk([&](AttentionGradientOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionGradientOp op : all)
      if (failed(fillGradientWithoutPairs(rewriter, op)) &&
          failed(tileGradient(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
