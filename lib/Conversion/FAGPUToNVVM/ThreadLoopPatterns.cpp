//===- ThreadLoopPatterns.cpp - Parallel loops of a group's threads ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers scf.parallel in a role to a loop of each thread. A loop without
// results is shared by all threads of the group. One with sums is run by each
// warp, whose lanes add up what they have.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "ThreadLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

static constexpr int64_t warpLanes = 32;

/// Whether a reduction adds its two arguments.
static bool isSum(Region &reduction) {
  Block &block = reduction.front();
  auto sum =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::AddIOp>();
  return sum && sum.getType().isInteger(32) &&
         llvm::equal(sum->getOperands(), block.getArguments());
}

LogicalResult mlir::fagpu::verifyThreadLoop(scf::ParallelOp op) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role || role.getElect())
    return op.emitOpError() << "stands outside of a role of whole warps, "
                               "expected threads that share it";
  if (op.getNumLoops() != 1)
    return op.emitOpError() << "has " << op.getNumLoops()
                            << " dimensions, expected 1 in a kernel";
  // All lanes of a warp add up together.
  if (op.getNumReductions() != 0 && op->getParentOfType<scf::ParallelOp>())
    return op.emitOpError() << "has results inside of another scf.parallel, "
                               "whose threads part; expected none there";
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  for (auto [number, reduction] : llvm::enumerate(reduce.getReductions()))
    if (!isSum(reduction))
      return op.emitOpError() << "reduces result " << number
                              << " by another operation than arith.addi on "
                                 "i32, expected that in a kernel";
  return success();
}

namespace {
struct ParallelPattern : public KernelPattern<scf::ParallelOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(scf::ParallelOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Emitter emit(rewriter, loc);
    bool isReduced = op.getNumReductions() != 0;
    auto role = op->getParentOfType<RoleOp>();
    Value number = kernel.getThreads(op).thread;
    if (isReduced)
      number = emit.bitAnd(number, warpLanes - 1);
    Type index = rewriter.getIndexType();
    Value step = op.getStep().front();
    Value ofThread = arith::MulIOp::create(
        rewriter, loc, step,
        arith::IndexCastOp::create(rewriter, loc, index, number));
    Value first = arith::AddIOp::create(rewriter, loc,
                                        op.getLowerBound().front(), ofThread);
    Value threads = arith::ConstantIndexOp::create(
        rewriter, loc, isReduced ? warpLanes : role.getThreadsPerGroup());
    Value stride = arith::MulIOp::create(rewriter, loc, step, threads);
    SmallVector<Value> zeros(op.getNumReductions(), emit.constant(0));
    auto loop = scf::ForOp::create(rewriter, loc, first,
                                   op.getUpperBound().front(), stride, zeros);
    auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
    Block *body = loop.getBody();
    rewriter.inlineBlockBefore(op.getBody(), body,
                               isReduced ? body->end()
                                         : body->getTerminator()->getIterator(),
                               loop.getInductionVar());
    rewriter.setInsertionPoint(reduce);
    SmallVector<Value> sums;
    for (auto [sum, term] :
         llvm::zip_equal(loop.getRegionIterArgs(), reduce.getOperands()))
      sums.push_back(arith::AddIOp::create(rewriter, loc, sum, term));
    if (isReduced)
      scf::YieldOp::create(rewriter, loc, sums);
    rewriter.eraseOp(reduce);
    rewriter.setInsertionPointAfter(loop);
    SmallVector<Value> results;
    for (auto [sum, init] :
         llvm::zip_equal(loop.getResults(), op.getInitVals())) {
      Value all =
          NVVM::ReduxOp::create(rewriter, loc, sum.getType(), sum,
                                NVVM::ReduxKind::ADD, emit.constant(-1));
      results.push_back(arith::AddIOp::create(rewriter, loc, all, init));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};
} // namespace

void mlir::fagpu::populateThreadLoopPatterns(RewritePatternSet &patterns,
                                             const TypeConverter &converter,
                                             const KernelContext &kernel) {
  patterns.add<ParallelPattern>(converter, patterns.getContext(), kernel);
}
