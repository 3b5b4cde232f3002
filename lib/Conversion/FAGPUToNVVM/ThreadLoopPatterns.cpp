//===- ThreadLoopPatterns.cpp - Parallel loops of a group's threads ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers scf.parallel in a role to a loop of each thread. A loop without
// results is shared by all threads of the group. One with sums is run by each
// warp, whose lanes add up what they have, four iterations at a time.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "ThreadLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::fagpu;

static constexpr int64_t warpLanes = 32;

/// How many iterations a lane that adds up takes in one, so that their loads
/// wait for memory together.
static constexpr int64_t iterationsAtOnce = 4;

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

/// Whether an iteration that runs twice changes nothing.
static bool canRepeat(scf::ParallelOp op) {
  auto effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](auto &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

namespace {
struct ParallelPattern : public KernelPattern<scf::ParallelOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(scf::ParallelOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getNumReductions() == 0)
      share(op, rewriter);
    else
      addUp(op, rewriter);
    return success();
  }

private:
  /// The loop of one of `threads` threads, whose iteration stands for `atOnce`
  /// of `op`.
  scf::ForOp createLoop(scf::ParallelOp op, Value thread, int64_t threads,
                        int64_t atOnce, ValueRange inits,
                        OpBuilder &builder) const {
    Location loc = op.getLoc();
    Value step = op.getStep().front();
    auto multiply = [&](Value by) -> Value {
      return arith::MulIOp::create(builder, loc, step, by);
    };
    Value ofThread = multiply(arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(), thread));
    Value first = arith::AddIOp::create(builder, loc,
                                        op.getLowerBound().front(), ofThread);
    Value stride = multiply(
        arith::ConstantIndexOp::create(builder, loc, threads * atOnce));
    return scf::ForOp::create(builder, loc, first, op.getUpperBound().front(),
                              stride, inits);
  }

  void share(scf::ParallelOp op, ConversionPatternRewriter &rewriter) const {
    auto role = op->getParentOfType<RoleOp>();
    scf::ForOp loop =
        createLoop(op, kernel.getThreads(op).thread, role.getThreadsPerGroup(),
                   /*atOnce=*/1, ValueRange(), rewriter);
    rewriter.eraseOp(op.getBody()->getTerminator());
    rewriter.inlineBlockBefore(op.getBody(), loop.getBody()->getTerminator(),
                               loop.getInductionVar());
    rewriter.eraseOp(op);
  }

  /// What iteration `index` adds to the sums; 0 where `isIn` is false.
  static SmallVector<Value> getTerms(scf::ParallelOp op, Value index,
                                     Value isIn, OpBuilder &builder) {
    IRMapping mapping;
    mapping.map(op.getInductionVars().front(), index);
    for (Operation &each : op.getBody()->without_terminator())
      builder.clone(each, mapping);
    Value zero = arith::ConstantIntOp::create(builder, op.getLoc(), 0, 32);
    SmallVector<Value> terms;
    for (Value term : op.getBody()->getTerminator()->getOperands()) {
      term = mapping.lookupOrDefault(term);
      if (isIn)
        term = arith::SelectOp::create(builder, op.getLoc(), isIn, term, zero);
      terms.push_back(term);
    }
    return terms;
  }

  /// An iteration of a lane adds `atOnce` terms. Those past the end load at the
  /// index of the first one again, and add 0.
  void addUp(scf::ParallelOp op, ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    Emitter emit(rewriter, loc);
    int64_t atOnce = canRepeat(op) ? iterationsAtOnce : 1;
    Value lane = emit.bitAnd(kernel.getThreads(op).thread, warpLanes - 1);
    scf::ForOp loop = createLoop(
        op, lane, warpLanes, atOnce,
        SmallVector<Value>(op.getNumReductions(), emit.constant(0)), rewriter);
    rewriter.setInsertionPointToEnd(loop.getBody());
    Value index = loop.getInductionVar();
    SmallVector<Value> sums(loop.getRegionIterArgs());
    for (int64_t number = 0; number != atOnce; ++number) {
      Value at = index, isIn;
      if (number != 0) {
        Value ahead = arith::MulIOp::create(
            rewriter, loc, op.getStep().front(),
            arith::ConstantIndexOp::create(rewriter, loc, number * warpLanes));
        at = arith::AddIOp::create(rewriter, loc, index, ahead);
        isIn = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                     at, op.getUpperBound().front());
        at = arith::SelectOp::create(rewriter, loc, isIn, at, index);
      }
      for (auto [sum, term] :
           llvm::zip_equal(sums, getTerms(op, at, isIn, rewriter)))
        sum = arith::AddIOp::create(rewriter, loc, sum, term);
    }
    scf::YieldOp::create(rewriter, loc, sums);
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
  }
};
} // namespace

void mlir::fagpu::populateThreadLoopPatterns(RewritePatternSet &patterns,
                                             const TypeConverter &converter,
                                             const KernelContext &kernel) {
  patterns.add<ParallelPattern>(converter, patterns.getContext(), kernel);
}
