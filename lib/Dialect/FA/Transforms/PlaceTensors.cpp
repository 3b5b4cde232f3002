//===- PlaceTensors.cpp - Memory of tensors that control flow returns -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlaceTensors.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

/// What a terminator hands on is written into `memory`.
static void writeInto(RewriterBase &rewriter, OpOperand &handedOn,
                      Value memory) {
  Operation *terminator = handedOn.getOwner();
  rewriter.setInsertionPoint(terminator);
  auto written = bufferization::MaterializeInDestinationOp::create(
      rewriter, terminator->getLoc(), handedOn.get(), memory);
  rewriter.modifyOpInPlace(terminator,
                           [&] { handedOn.set(written.getResult()); });
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// `op` without its result `number`, which has no use.
static void eraseResult(RewriterBase &rewriter, scf::IfOp op, unsigned number) {
  for (scf::YieldOp yield : {op.thenYield(), op.elseYield()})
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperand(number); });
  SmallVector<Type> types(op.getResultTypes());
  SmallVector<Value> kept(op.getResults());
  types.erase(types.begin() + number);
  kept.erase(kept.begin() + number);
  rewriter.setInsertionPoint(op);
  auto smaller = scf::IfOp::create(rewriter, op.getLoc(), types,
                                   op.getCondition(), /*withElseRegion=*/true);
  smaller.getThenRegion().takeBody(op.getThenRegion());
  smaller.getElseRegion().takeBody(op.getElseRegion());
  for (auto [old, result] : llvm::zip_equal(kept, smaller.getResults()))
    rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(op);
}

void fa::sinkStoresIntoBranches(RewriterBase &rewriter, func::FuncOp function) {
  SmallVector<bufferization::MaterializeInDestinationOp> stores;
  function.walk([&](bufferization::MaterializeInDestinationOp store) {
    if (isa<MemRefType>(store.getDest().getType()))
      stores.push_back(store);
  });
  while (!stores.empty()) {
    auto store = stores.pop_back_val();
    auto op = store.getSource().getDefiningOp<scf::IfOp>();
    if (!op || !store.getSource().hasOneUse() ||
        op->getBlock() != store->getBlock())
      continue;
    unsigned number = cast<OpResult>(store.getSource()).getResultNumber();
    for (scf::YieldOp yield : {op.thenYield(), op.elseYield()}) {
      rewriter.setInsertionPoint(yield);
      auto inner = cast<bufferization::MaterializeInDestinationOp>(
          rewriter.clone(*store));
      rewriter.modifyOpInPlace(inner, [&] {
        inner.getSourceMutable().assign(yield.getOperand(number));
      });
      stores.push_back(inner);
    }
    rewriter.eraseOp(store);
    eraseResult(rewriter, op, number);
  }
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// The size of a dimension of `value`, which a branch of `op` returns, in terms
/// of what is known before `op`.
static FailureOr<Value> getSizeBefore(RewriterBase &rewriter, scf::IfOp op,
                                      Value value, int64_t dim) {
  auto isBefore = [&](Value known, std::optional<int64_t>,
                      ValueBoundsConstraintSet &) {
    return !op->isAncestor(known.getParentBlock()->getParentOp());
  };
  FailureOr<OpFoldResult> size = affine::reifyShapedValueDimBound(
      rewriter, op.getLoc(), presburger::BoundType::EQ, value, dim, isBefore);
  if (failed(size))
    return op.emitOpError()
           << "returns a tensor whose dimension " << dim
           << " has a size that is known inside of a branch alone: expected a "
              "static one, or one computed before";
  return getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), *size);
}

/// The sizes before `op` of its result `number` that are dynamic. Where the
/// branches' differ the condition chooses.
static FailureOr<SmallVector<Value>>
getSizesBefore(RewriterBase &rewriter, scf::IfOp op, unsigned number) {
  auto type = cast<RankedTensorType>(op.getResult(number).getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim))
      continue;
    auto thenSize =
        getSizeBefore(rewriter, op, op.thenYield().getOperand(number), dim);
    if (failed(thenSize))
      return failure();
    auto elseSize =
        getSizeBefore(rewriter, op, op.elseYield().getOperand(number), dim);
    if (failed(elseSize))
      return failure();
    sizes.push_back(*thenSize == *elseSize
                        ? *thenSize
                        : arith::SelectOp::create(rewriter, op.getLoc(),
                                                  op.getCondition(), *thenSize,
                                                  *elseSize));
  }
  return sizes;
}

/// Upstream's elimination replaces one use of an empty tensor, whichever comes
/// first in memory. One that several blocks use becomes one for each.
static void splitSharedEmptyTensors(RewriterBase &rewriter,
                                    func::FuncOp function) {
  function.walk([&](tensor::EmptyOp empty) {
    DenseMap<Block *, Value> ofBlock;
    for (OpOperand &use : llvm::make_early_inc_range(empty->getUses())) {
      Value &own = ofBlock[use.getOwner()->getBlock()];
      if (!own && ofBlock.size() == 1)
        own = empty;
      rewriter.setInsertionPoint(empty);
      if (!own)
        own = rewriter.clone(*empty)->getResult(0);
      rewriter.modifyOpInPlace(use.getOwner(), [&] { use.set(own); });
    }
  });
}

LogicalResult fa::placeBranchTensors(RewriterBase &rewriter,
                                     func::FuncOp function) {
  splitSharedEmptyTensors(rewriter, function);
  SmallVector<scf::IfOp> branches;
  // Outer ones first: an inner one then writes to the memory of the outer one.
  function.walk<WalkOrder::PreOrder>(
      [&](scf::IfOp op) { branches.push_back(op); });
  for (scf::IfOp op : branches)
    for (OpResult result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      unsigned number = result.getResultNumber();
      rewriter.setInsertionPoint(op);
      auto sizes = getSizesBefore(rewriter, op, number);
      if (failed(sizes))
        return failure();
      for (scf::YieldOp yield : {op.thenYield(), op.elseYield()}) {
        rewriter.setInsertionPoint(op);
        Value memory = tensor::EmptyOp::create(rewriter, op.getLoc(),
                                               result.getType(), *sizes);
        writeInto(rewriter, yield->getOpOperand(number), memory);
      }
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult fa::placeLoopTensors(RewriterBase &rewriter,
                                   func::FuncOp function) {
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  bufferization::OneShotAnalysisState state(function, options);
  if (failed(bufferization::analyzeOp(function, state)))
    return failure();
  SmallVector<std::pair<OpOperand *, Value>> elsewhere;
  function.walk([&](scf::ForOp loop) {
    for (auto [carried, yielded] : llvm::zip_equal(
             loop.getRegionIterArgs(), *loop.getYieldedValuesMutable()))
      if (isa<TensorType>(carried.getType()) &&
          !state.areEquivalentBufferizedValues(carried, yielded.get()))
        elsewhere.emplace_back(&yielded, carried);
  });
  for (auto [yielded, carried] : elsewhere)
    writeInto(rewriter, *yielded, carried);
  return success();
}
