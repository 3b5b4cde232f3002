//===- DecomposeToBlocks.cpp - Tiled attention to block values ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state, the loop over keys and the result of a query block. Read `run`
// first: it checks the problem, rebuilds the loop and stores the result. The
// step stands in OnlineSoftmax.cpp, what gradients share with it in
// PairsTile.cpp and PairScores.cpp, results in BlockResult.cpp.
//
//===----------------------------------------------------------------------===//

#include "GradientBlock.h"
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
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace mlir::fa {
#define GEN_PASS_DEF_FADECOMPOSETOBLOCKSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

LogicalResult QueryBlock::match() {
  parts = finalize.getAccumulator().getDefiningOp<scf::ForOp>();
  partial = finalize.getAccumulator().getDefiningOp<AddPartialOp>();
  if (parts || partial)
    return success();
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
  valueDim = state.getDimSize(1);
  if (failed(divideRows(state.getDimSize(0))))
    return failure();
  accType = RankedTensorType::get({rows, getColumns(valueDim)},
                                  Float32Type::get(finalize.getContext()));
  return success();
}

LogicalResult QueryBlock::readProblem() {
  auto queryType = cast<MemRefType>(step.getQuery().getType());
  columns = ranges.getStep();
  headDim =
      queryType.getDimSize(step.getQueryOrder().positionOf(DimKind::HeadDim));
  element = queryType.getElementType();
  if (failed(checkOrders(step,
                         {step.getQueryOrder(), step.getKeyOrder(),
                          step.getValueOrder(), finalize.getOutputOrder()})) ||
      failed(readRows()))
    return failure();
  return checkColumns(step, "keys");
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
  FailureOr<Value> q =
      fetch(outside, step, step.getQuery(), step.getQueryOrder(), rows,
            std::nullopt, groupRow);
  if (failed(q))
    return failure();
  query = *q;
  SmallVector<Value> inits = {blocks.constant(0.0f, accType),
                              blocks.constant(-infinity, rowType),
                              blocks.constant(0.0f, rowType)};
  newRanges =
      KeyRangesOp::create(outside, loc, ranges.getBegins(), ranges.getEnds(),
                          ranges.getFull(), ranges.getStep(), inits, nullptr);
  newRanges->setDiscardableAttrs(ranges->getDiscardableAttrDictionary());
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
  state.assign(newRanges.result_begin(), newRanges.result_end());
  return emitStep(outside, inside, mapping);
}

LogicalResult QueryBlock::run() {
  if (failed(findRole()))
    return failure();
  if (Value sink = finalize.getSink(); sink && isa<ShapedType>(sink.getType()))
    return finalize.emitOpError(
        "has a sink of each row, expected one number on "
        "a GPU: a sink region that does not use the "
        "query");
  bool hasKeys = !isEmpty();
  if (hasKeys && failed(match()))
    return failure();
  bool isMerge = parts || partial;
  if (hasKeys && !isMerge ? failed(readProblem()) : failed(readRows()))
    return failure();
  // Outputs are resolved again when the state is there.
  {
    SmallVector<FinalizeOp> results = {finalize};
    llvm::append_range(results, others);
    for (FinalizeOp result : results) {
      OpBuilder builder(result);
      for (Value memory : {result.getOutput(), result.getLse()})
        if (memory && failed(resolve(builder, result, memory)))
          return failure();
    }
  }
  if (hasKeys && failed(parts     ? rebuildMerge()
                        : partial ? rebuildPartials()
                                  : rebuildRanges()))
    return failure();
  if (hasKeys)
    emitResult();
  else
    emitEmptyResult();
  for (FinalizeOp other : others)
    other.erase();
  finalize.erase();
  if (parts)
    parts.erase();
  else if (hasKeys && !partial)
    ranges.erase();
  return success();
}

/// Results of an accumulator are made once, with one sink.
static LogicalResult verifyIsOneState(ArrayRef<FinalizeOp> results) {
  FinalizeOp first = results.front();
  for (FinalizeOp other : results.drop_front()) {
    std::tuple<StringRef, Value, Value> parts[] = {
        {"maximum", first.getMaximum(), other.getMaximum()},
        {"sum", first.getSum(), other.getSum()},
        {"sink", first.getSink(), other.getSink()}};
    for (auto [name, ofFirst, ofOther] : parts)
      if (ofFirst != ofOther)
        return other.emitOpError()
               << "has another " << name
               << " than a result of the same accumulator, expected one for "
                  "all results of a state";
  }
  return success();
}

/// What a kernel of its own computes for each element of a tile.
static LogicalResult decomposeApply(ApplyOp op) {
  auto role = op->getParentOfType<fagpu::RoleOp>();
  if (!role)
    return op.emitOpError() << "stands outside of the roles of a kernel";
  if (op.getNumResults() != 1 || !op.getBlockType().hasStaticShape())
    return op.emitOpError()
           << "has " << op.getNumResults() << " results, the first of "
           << op.getBlockType() << ", expected one of static shape";
  OpBuilder builder(op);
  PairBlock place = getPairBlock(op.getOffsets(), op.getExtents(), role);
  place.rows = op.getBlockType().getDimSize(0);
  place.columns = op.getBlockType().getDimSize(1);
  place.rowsAreKeys = op.getRowsAreKeys();
  RegionOnBlocks region(builder, builder, op.getLoc(), place);
  FailureOr<Value> values =
      region.apply(op.getBody(), op.getInputs(), op.getCaptures());
  if (failed(values))
    return failure();
  op.getResult(0).replaceAllUsesWith(*values);
  op.erase();
  return success();
}

namespace {
struct DecomposeToBlocksPass
    : public fa::impl::FADecomposeToBlocksPassBase<DecomposeToBlocksPass> {
  LogicalResult decomposeGradients() {
    SmallVector<PrepareGradientOp> rows;
    SmallVector<GradientLikeOpInterface> steps;
    getOperation().walk([&](Operation *op) {
      if (auto prepare = dyn_cast<PrepareGradientOp>(op))
        rows.push_back(prepare);
      else if (auto step = dyn_cast<GradientLikeOpInterface>(op))
        steps.push_back(step);
    });
    for (PrepareGradientOp op : rows)
      if (failed(decomposeRows(op)))
        return failure();
    for (GradientLikeOpInterface step : steps)
      if (failed(GradientBlock(step).run()))
        return failure();
    // What is left is of no step: a mask hides every pair.
    SmallVector<FinalizeGradientOp> results;
    getOperation().walk([&](FinalizeGradientOp op) { results.push_back(op); });
    for (FinalizeGradientOp op : results) {
      GradientResult result(op);
      bool isInMemory = isa<MemRefType>(op.getAccumulator().getType());
      if (failed(isInMemory ? result.runSums()
                            : result.run(Value(), Type(), /*columns=*/0)))
        return failure();
    }
    return success();
  }

  /// Rows in pages are as many as their operation says; it makes no memory.
  void countPagedRows() {
    getOperation().walk([&](memref::DimOp dim) {
      auto rows = dim.getSource().getDefiningOp<PagedRowsOp>();
      if (rows && dim.getConstantIndex() == 1)
        dim.getResult().replaceAllUsesWith(rows.getCount());
    });
  }

  void runOnOperation() override {
    if (!fagpu::isKernel(getOperation()))
      return;
    countPagedRows();
    // Results of a loop over keys, which may be several of one state.
    llvm::MapVector<Value, SmallVector<FinalizeOp, 1>> results;
    SmallVector<FinalizeOp> rest;
    getOperation().walk([&](FinalizeOp op) {
      if (op.getAccumulator().getDefiningOp<KeyRangesOp>())
        results[op.getAccumulator()].push_back(op);
      else
        rest.push_back(op);
    });
    for (auto &[state, ofState] : results)
      if (failed(verifyIsOneState(ofState)) ||
          failed(QueryBlock(ofState.front(), ArrayRef(ofState).drop_front())
                     .run()))
        return signalPassFailure();
    for (FinalizeOp op : rest)
      if (failed(QueryBlock(op, {}).run()))
        return signalPassFailure();
    if (failed(decomposeGradients()))
      return signalPassFailure();
    SmallVector<SummarizeMaskOp> summaries;
    getOperation().walk([&](SummarizeMaskOp op) { summaries.push_back(op); });
    for (SummarizeMaskOp op : summaries)
      if (failed(decomposeSummary(op)))
        return signalPassFailure();
    SmallVector<ApplyOp> applies;
    getOperation().walk([&](ApplyOp op) { applies.push_back(op); });
    for (ApplyOp op : applies)
      if (failed(decomposeApply(op)))
        return signalPassFailure();
  }
};
} // namespace
