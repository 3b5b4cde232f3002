//===- DecomposeToBlocks.cpp - Tiled attention to block values ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state, the loop over keys and the result of a query block. Read `run`
// first: it checks the problem, rebuilds the loop and stores the result. The
// step stands in OnlineSoftmax.cpp, its scores in BlockScores.cpp, results in
// BlockResult.cpp.
//
//===----------------------------------------------------------------------===//

#include "QueryBlock.h"
#include "RealRange.h"
#include "SummarizeMask.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Support/OperandsFirst.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace mlir::fa {
#define GEN_PASS_DEF_FADECOMPOSETOBLOCKSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

LogicalResult QueryBlock::match() {
  ranges = finalize.getAccumulator().getDefiningOp<KeyRangesOp>();
  if (!ranges || finalize.getMaximum().getDefiningOp() != ranges ||
      finalize.getSum().getDefiningOp() != ranges)
    return finalize.emitOpError()
           << "has a state that no 'fa.key_ranges' makes; run "
              "fa-specialize-mask before";
  auto steps = ranges.getBodyRegion().getOps<OnlineAttentionOp>();
  if (!llvm::hasSingleElement(steps) || ranges.getNumResults() != 3)
    return ranges.emitOpError()
           << "holds " << std::distance(steps.begin(), steps.end())
           << " steps and " << ranges.getNumResults()
           << " values, expected one 'fa.online_attention' and its state";
  step = *steps.begin();
  return success();
}

int64_t mlir::fa::padColumns(int64_t headDim) {
  return llvm::alignTo(headDim, 16);
}

Value mlir::fa::boundColumns(OpBuilder &builder, Location loc, int64_t headDim,
                             int64_t columns) {
  if (columns == headDim)
    return {};
  return arith::ConstantIntOp::create(builder, loc, headDim, 32);
}

int64_t mlir::fa::getAlignment(MemRefType memory, int64_t headDim) {
  int64_t bytes = memory.getElementTypeBitWidth() / 8;
  int64_t common = std::gcd(16, headDim * bytes);
  auto [strides, offset] = memory.getStridesAndOffset();
  if (!ShapedType::isDynamic(offset))
    common = std::gcd(common, offset * bytes);
  for (int64_t stride : strides)
    if (!ShapedType::isDynamic(stride) && stride != 1)
      common = std::gcd(common, stride * bytes);
  return common;
}

/// Without a step nothing is split.
int64_t QueryBlock::getColumns(int64_t headDim) {
  return element ? getTileColumns(headDim, element, keys, role.getGroups())
                 : padColumns(headDim);
}

/// Whether no key is visited, as of a mask that is false everywhere.
bool QueryBlock::isEmpty() {
  return llvm::all_of(
      ValueRange{finalize.getAccumulator(), finalize.getMaximum(),
                 finalize.getSum()},
      [](Value state) { return state.getDefiningOp<linalg::FillOp>(); });
}

/// What the state says of the problem.
LogicalResult QueryBlock::readRows() {
  auto state = cast<RankedTensorType>(finalize.getAccumulator().getType());
  if (!state.hasStaticShape())
    return finalize.emitOpError()
           << "has a state of type " << state
           << ", expected static rows and columns, as fa-tile makes them";
  rows = state.getDimSize(0);
  valueDim = state.getDimSize(1);
  warps = static_cast<unsigned>(role.getWarps());
  int64_t groups = role.getGroups();
  if (rows % (16 * warps * groups))
    return finalize.emitOpError()
           << "has a state of " << rows << " rows, expected a multiple of "
           << 16 * warps * groups << ", 16 for each of " << warps * groups
           << " warps";
  rows /= groups;
  MLIRContext *context = finalize.getContext();
  Type f32 = Float32Type::get(context);
  accType = RankedTensorType::get({rows, getColumns(valueDim)}, f32);
  rowType = RankedTensorType::get({rows}, f32,
                                  fagpu::RowLayoutAttr::get(context, warps));
  return success();
}

LogicalResult QueryBlock::readProblem() {
  auto queryType = cast<MemRefType>(step.getQuery().getType());
  keys = ranges.getStep();
  headDim =
      queryType.getDimSize(step.getQueryOrder().positionOf(DimKind::HeadDim));
  element = queryType.getElementType();
  for (DimsAttr order : {step.getQueryOrder(), step.getKeyOrder(),
                         step.getValueOrder(), finalize.getOutputOrder()})
    if (order.positionOf(DimKind::HeadDim) != 3)
      return step.emitOpError()
             << "has dimensions in the order " << order
             << ", expected the head dim last on a GPU; the nearest is to pass "
                "a transposed view";
  if (failed(readRows()))
    return failure();
  if (keys % 16)
    return step.emitOpError() << "goes by blocks of " << keys
                              << " keys, expected a multiple of 16; nearest is "
                              << llvm::alignTo(keys, 16);
  scoreType =
      RankedTensorType::get({rows, keys}, Float32Type::get(step.getContext()));
  return success();
}

FailureOr<Tile> QueryBlock::resolve(OpBuilder &builder, Operation *user,
                                    Value memory) {
  Location loc = user->getLoc();
  Tile tile;
  Value at = memory;
  while (auto view = at.getDefiningOp<memref::SubViewOp>()) {
    if (!view.hasUnitStride() || view.getDroppedDims().any())
      return view.emitOpError()
             << "is a slice with steps or dropped dimensions, expected a "
                "dense one";
    if (tile.sizes.empty()) {
      tile.sizes = view.getMixedSizes();
      tile.offsets =
          getValueOrCreateConstantIndexOp(builder, loc, view.getMixedOffsets());
    } else {
      for (auto [sum, offset] :
           llvm::zip_equal(tile.offsets, view.getMixedOffsets())) {
        Value more = getValueOrCreateConstantIndexOp(builder, loc, offset);
        sum = builder.createOrFold<arith::AddIOp>(loc, sum, more);
      }
    }
    at = view.getSource();
  }
  if (!isa<BlockArgument>(at))
    return user->emitOpError()
           << "has memory that is no argument of the kernel";
  tile.memory = at;
  auto type = cast<MemRefType>(at.getType());
  if (tile.sizes.empty())
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      tile.offsets.push_back(arith::ConstantIndexOp::create(builder, loc, 0));
      tile.sizes.push_back(memref::getMixedSize(builder, loc, at, dim));
    }
  return tile;
}

/// Where the slice ends in the memory.
Value QueryBlock::getEnd(OpBuilder &builder, const Tile &tile, int64_t dim) {
  Location loc = finalize.getLoc();
  Value size = getValueOrCreateConstantIndexOp(builder, loc, tile.sizes[dim]);
  return builder.createOrFold<arith::AddIOp>(loc, tile.offsets[dim], size);
}

/// Groups take equal parts of the rows, one after the other.
void QueryBlock::findGroupRow(OpBuilder &builder) {
  if (role.getGroups() == 1)
    return;
  Location loc = finalize.getLoc();
  Value group = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           role.getGroup());
  groupRow = multiplyShort(builder, loc, group,
                           arith::ConstantIndexOp::create(builder, loc, rows));
}

void QueryBlock::shift(OpBuilder &builder, Value &offset, Value by) {
  if (by)
    offset = builder.createOrFold<arith::AddIOp>(finalize.getLoc(), offset, by);
}

/// `rows` of a slice of one batch and one head, from row `shiftBy` on (null:
/// the first one); null `limit`: up to the end of the slice.
FailureOr<Value> QueryBlock::fetch(OpBuilder &builder, Value memory,
                                   DimsAttr order, int64_t rows,
                                   std::optional<EndOfKeys> end,
                                   Value shiftBy) {
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  FailureOr<Tile> tile = resolve(builder, step, memory);
  if (failed(tile))
    return failure();
  auto type = cast<MemRefType>(tile->memory.getType());
  int64_t sequence = order.positionOf(DimKind::Sequence);
  int64_t headDim = type.getDimSize(order.positionOf(DimKind::HeadDim));
  int64_t columns = getColumns(headDim);
  Value at = tile->offsets[sequence];
  Value limit = end ? end->end : getEnd(builder, *tile, sequence);
  // Memory of a piece of the keys counts from elsewhere.
  if (end && end->place != at)
    limit = builder.createOrFold<arith::AddIOp>(
        loc, at, builder.createOrFold<arith::SubIOp>(loc, limit, end->place));
  shift(builder, tile->offsets[sequence], shiftBy);
  SmallVector<int64_t> sizes(type.getRank(), 1);
  sizes[sequence] = rows;
  sizes[order.positionOf(DimKind::HeadDim)] = columns;
  SmallVector<Value> offsets;
  for (Value offset : tile->offsets)
    offsets.push_back(blocks.cast32(offset));
  return fagpu::FetchOp::create(
             builder, loc,
             RankedTensorType::get({rows, columns}, type.getElementType()),
             tile->memory, offsets, sizes, blocks.cast32(limit),
             boundColumns(builder, loc, headDim, columns),
             getAlignment(type, headDim),
             /*padded=*/false)
      .getResult();
}

/// Whether a real number is at least 0, by what is known of its operands.
static bool computesNonNegative(Value value,
                                const llvm::DenseMap<Value, bool> &known) {
  if (FloatAttr constant; matchPattern(value, m_Constant(&constant)))
    return constant.getValueAsDouble() >= 0.0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<math::AbsFOp, math::ExpOp, math::Exp2Op, math::SqrtOp, math::RsqrtOp>(
          op))
    return true;
  auto isKnown = [&](Value operand) { return known.lookup(operand); };
  if (isa<arith::MaximumFOp>(op))
    return llvm::any_of(op->getOperands(), isKnown);
  return isa<arith::MulFOp, arith::DivFOp, arith::AddFOp, arith::MinimumFOp>(
             op) &&
         llvm::all_of(op->getOperands(), isKnown);
}

bool mlir::fa::isNonNegative(Value value) {
  llvm::DenseMap<Value, bool> known;
  visitOperandsFirst(
      value, [&](Value next) { return known.contains(next); },
      [&](Value next) {
        known.insert({next, computesNonNegative(next, known)});
      });
  return known.lookup(value);
}

LogicalResult QueryBlock::rebuildRanges() {
  Location loc = ranges.getLoc();
  OpBuilder outside(ranges);
  Blocks blocks(outside, loc);
  findGroupRow(outside);
  FailureOr<Value> q = fetch(outside, step.getQuery(), step.getQueryOrder(),
                             rows, std::nullopt, groupRow);
  if (failed(q))
    return failure();
  query = *q;
  SmallVector<Value> inits = {blocks.constant(0.0f, accType),
                              blocks.constant(-infinity, rowType),
                              blocks.constant(0.0f, rowType)};
  newRanges =
      KeyRangesOp::create(outside, loc, ranges.getBegins(), ranges.getEnds(),
                          ranges.getFull(), ranges.getStep(), inits, nullptr);
  outside.setInsertionPoint(newRanges);
  Block &body = newRanges.getBodyRegion().front();
  body.clear();
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  IRMapping mapping;
  mapping.map(ranges.getKey(), newRanges.getKey());
  mapping.map(ranges.getCount(), newRanges.getCount());
  for (Operation &op : ranges.getBodyRegion().front().without_terminator())
    if (&op != step)
      inside.clone(op, mapping);
  return emitStep(outside, inside, mapping);
}

LogicalResult QueryBlock::run() {
  role = finalize->getParentOfType<fagpu::RoleOp>();
  if (!role)
    return finalize.emitOpError()
           << "stands outside of the roles of its kernel, expected it in a "
              "'fagpu.role', as fa-outline-kernels makes it";
  bool hasKeys = !isEmpty();
  if (hasKeys ? failed(match()) || failed(readProblem()) : failed(readRows()))
    return failure();
  // Outputs are resolved again when the state is there.
  {
    OpBuilder builder(finalize);
    for (Value memory : {finalize.getOutput(), finalize.getLse()})
      if (memory && failed(resolve(builder, finalize, memory)))
        return failure();
  }
  if (hasKeys && failed(rebuildRanges()))
    return failure();
  if (hasKeys)
    emitResult();
  else
    emitEmptyResult();
  finalize.erase();
  if (hasKeys)
    ranges.erase();
  return success();
}

namespace {
struct DecomposeToBlocksPass
    : public fa::impl::FADecomposeToBlocksPassBase<DecomposeToBlocksPass> {
  void runOnOperation() override {
    if (!fagpu::isKernel(getOperation()))
      return;
    SmallVector<FinalizeOp> results;
    getOperation().walk([&](FinalizeOp op) { results.push_back(op); });
    for (FinalizeOp op : results)
      if (failed(QueryBlock(op).run()))
        return signalPassFailure();
    SmallVector<SummarizeMaskOp> summaries;
    getOperation().walk([&](SummarizeMaskOp op) { summaries.push_back(op); });
    for (SummarizeMaskOp op : summaries)
      if (failed(decomposeSummary(op)))
        return signalPassFailure();
  }
};
} // namespace
