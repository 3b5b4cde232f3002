//===- PredicateLaunches.cpp - Launches in branches to conditions ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes scf.if around launches on the host, because a launcher runs a
// straight-line program: each launch gets the branch's condition, and the
// rest is computed in either case, with divisors made safe. Read `flatten`,
// then `move`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Support/IntegerDivision.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUPREDICATELAUNCHESPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {
/// Moves what a branch, and branches in it, hold in front of it.
class Flattener {
public:
  explicit Flattener(scf::IfOp branch)
      : branch(branch), loc(branch.getLoc()), builder(branch) {}
  LogicalResult run();

private:
  Value makeNot(Value condition);
  void divideByOneUnless(Operation *op, Value condition);
  LogicalResult move(Operation *op, Value condition);
  LogicalResult flatten(Region &region, Value condition);
  LogicalResult flatten(scf::IfOp nested, Value outer);

  scf::IfOp branch;
  Location loc;
  OpBuilder builder;
};
} // namespace

Value Flattener::makeNot(Value condition) {
  Value yes = arith::ConstantIntOp::create(builder, loc, 1, /*width=*/1);
  return arith::XOrIOp::create(builder, loc, condition, yes);
}

/// A maximum with 1, for example.
static bool isNonZero(Value value) {
  SetVector<Value> values;
  values.insert(value);
  // Operands come behind what is computed from them.
  for (size_t i = 0; i < values.size(); ++i) {
    if (matchPattern(values[i], m_NonZero()))
      return true;
    if (auto maximum = values[i].getDefiningOp<arith::MaxUIOp>())
      values.insert_range(maximum->getOperands());
  }
  return false;
}

static bool launches(scf::IfOp branch) {
  return branch.walk([](LaunchOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Where the branch is not taken a divisor may be 0.
void Flattener::divideByOneUnless(Operation *op, Value condition) {
  Value divisor = op->getOperand(1);
  if (isNonZero(divisor))
    return;
  Value one = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(divisor.getType(), 1));
  op->setOperand(1, arith::SelectOp::create(builder, op->getLoc(), condition,
                                            divisor, one));
}

/// What `op` does holds where the branch is taken: a launch runs, an assertion
/// asks. The rest has no effect but memory, which may be there in vain.
LogicalResult Flattener::move(Operation *op, Value condition) {
  auto nested = dyn_cast<scf::IfOp>(op);
  if (nested && launches(nested))
    return flatten(nested, condition);
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    if (Value given = launch.getCondition())
      condition = arith::AndIOp::create(builder, loc, condition, given);
    launch.getConditionMutable().assign(condition);
  } else if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
    Value holds = arith::OrIOp::create(builder, loc, makeNot(condition),
                                       assertion.getArg());
    assertion.getArgMutable().assign(holds);
  } else if (fa::isDivision(op)) {
    divideByOneUnless(op, condition);
  } else if (!isa<CounterOp, WorkspaceOp>(op) &&
             !(isMemoryEffectFree(op) && isSpeculatable(op))) {
    return op->emitOpError() << "stands in a branch that launches kernels, "
                                "expected only what may "
                                "run whether or not the branch is taken";
  }
  op->moveBefore(branch);
  return success();
}

LogicalResult Flattener::flatten(Region &region, Value condition) {
  if (region.empty())
    return success();
  for (Operation &op :
       llvm::make_early_inc_range(region.front().without_terminator()))
    if (failed(move(&op, condition)))
      return failure();
  return success();
}

/// `outer` says whether the branch is come to; null where it always is. It
/// comes first, as what it guards need not be there without it.
LogicalResult Flattener::flatten(scf::IfOp nested, Value outer) {
  if (nested.getNumResults())
    return nested.emitOpError()
           << "yields " << nested.getNumResults()
           << " values, expected none where kernels are launched";
  auto within = [&](Value condition) -> Value {
    return outer ? arith::AndIOp::create(builder, loc, outer, condition)
                       .getResult()
                 : condition;
  };
  Value condition = nested.getCondition();
  if (failed(flatten(nested.getThenRegion(), within(condition))))
    return failure();
  if (!nested.getElseRegion().empty() &&
      failed(flatten(nested.getElseRegion(), within(makeNot(condition)))))
    return failure();
  nested.erase();
  return success();
}

LogicalResult Flattener::run() { return flatten(branch, /*outer=*/Value()); }

namespace {
struct PredicateLaunchesPass
    : public fagpu::impl::FAGPUPredicateLaunchesPassBase<
          PredicateLaunchesPass> {
  void runOnOperation() override {
    SmallVector<scf::IfOp> branches;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::IfOp branch) {
      if (!launches(branch))
        return WalkResult::advance();
      branches.push_back(branch);
      return WalkResult::skip();
    });
    for (scf::IfOp branch : branches)
      if (failed(Flattener(branch).run()))
        return signalPassFailure();
  }
};
} // namespace
