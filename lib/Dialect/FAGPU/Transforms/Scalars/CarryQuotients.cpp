//===- CarryQuotients.cpp - Quotients of a loop's index, by increments ----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/CarryScalars.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUCARRYQUOTIENTSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {
/// What a loop's body computes of its index and one divisor.
struct Division {
  SmallVector<Operation *> quotients, remainders;
};
} // namespace

/// Divisors of the index that are the same in all iterations. Division by a
/// constant is cheap as it is.
static llvm::MapVector<Value, Division> findDivisions(ForOp loop) {
  llvm::MapVector<Value, Division> divisions;
  auto isVariable = [&](Value divisor) {
    return !loop->isAncestor(divisor.getParentRegion()->getParentOp()) &&
           !getConstantIntValue(divisor);
  };
  Block &body = loop.getBody().front();
  for (Operation &op : body) {
    if (!isa<arith::DivUIOp, arith::RemUIOp>(op) ||
        op.getOperand(0) != loop.getIndex() || !isVariable(op.getOperand(1)))
      continue;
    Division &division = divisions[op.getOperand(1)];
    if (isa<arith::RemUIOp>(op)) {
      division.remainders.push_back(&op);
      continue;
    }
    division.quotients.push_back(&op);
    // The index less the quotient times the divisor.
    for (Operation *user : op.getUsers()) {
      auto product = dyn_cast<arith::MulIOp>(user);
      if (!product ||
          !llvm::is_contained(product.getOperands(), op.getOperand(1)))
        continue;
      for (Operation *reader : product->getUsers())
        if (auto rest = dyn_cast<arith::SubIOp>(reader);
            rest && rest.getLhs() == loop.getIndex() &&
            rest->getBlock() == &body)
          division.remainders.push_back(rest);
    }
  }
  return divisions;
}

/// Copies that a role makes for itself run ahead of the loop, by its index.
static bool copiesAhead(ForOp loop) {
  return !loop->getParentOfType<RoleOp>().getElect() &&
         !loop.getBody().getOps<PutOp>().empty();
}

/// Whether the index runs through numbers from 0 on, so that it never passes
/// from the least unsigned number to the greatest. A first iteration that
/// always runs divides, so that a division before it is none in vain.
static bool isUnsigned(ForOp loop) {
  Value least =
      loop.getDirection() < 0 ? loop.getBounds().back() : loop.getStart();
  std::optional<int64_t> number = getConstantIntValue(least);
  return loop.getOnce() && number && *number >= 0;
}

/// The loop, which carries the quotient and the remainder of its index, and has
/// their next values from these.
static ForOp carry(ForOp loop, Value divisor, const Division &division) {
  Location loc = division.quotients.empty()
                     ? division.remainders.front()->getLoc()
                     : division.quotients.front()->getLoc();
  OpBuilder builder(loop);
  Value one = arith::ConstantIntOp::create(builder, loc, 1, /*width=*/32);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
  Value last = arith::SubIOp::create(builder, loc, divisor, one);
  Value first = arith::DivUIOp::create(builder, loc, loop.getStart(), divisor);
  Value whole = arith::MulIOp::create(builder, loc, first, divisor);
  Value rest = arith::SubIOp::create(builder, loc, loop.getStart(), whole);

  loop = carryScalars(builder, loop, {first, rest});
  auto carried = loop.getIterArguments().take_back(2);
  Value quotient = carried.front(), remainder = carried.back();
  for (auto [ops, value] : {std::pair(&division.quotients, quotient),
                            std::pair(&division.remainders, remainder)})
    for (Operation *op : *ops) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }

  auto yield = cast<fagpu::YieldOp>(loop.getBody().front().getTerminator());
  builder.setInsertionPoint(yield);
  bool rises = loop.getDirection() > 0;
  // A rest of 0, or the greatest one, is the last of its quotient.
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       remainder, rises ? last : zero);
  auto advance = [&](Value value) -> Value {
    if (rises)
      return arith::AddIOp::create(builder, loc, value, one);
    return arith::SubIOp::create(builder, loc, value, one);
  };
  Value nextQuotient = arith::SelectOp::create(builder, loc, isLast,
                                               advance(quotient), quotient);
  Value nextRemainder = arith::SelectOp::create(
      builder, loc, isLast, rises ? zero : last, advance(remainder));
  yield.getValuesMutable().append({nextQuotient, nextRemainder});
  return loop;
}

namespace {
struct CarryQuotientsPass
    : public fagpu::impl::FAGPUCarryQuotientsPassBase<CarryQuotientsPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    SmallVector<ForOp> loops;
    getOperation().walk([&](ForOp loop) { loops.push_back(loop); });
    for (ForOp loop : loops) {
      if (!isUnsigned(loop) || copiesAhead(loop))
        continue;
      auto divisions = findDivisions(loop);
      for (auto &[divisor, division] : divisions)
        loop = carry(loop, divisor, division);
    }
  }
};
} // namespace
