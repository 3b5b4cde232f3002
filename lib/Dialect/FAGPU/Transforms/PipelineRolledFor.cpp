//===- PipelineRolledFor.cpp - One loop for all segments ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterationCloner.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

class RolledLoop {
public:
  explicit RolledLoop(ForOp loop)
      : loop(loop), body(&loop.getBody().front()), builder(loop),
        location(loop.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult checkStages(ArrayRef<ScheduledOp> ops);
  SmallVector<Value> countTripsToEnds();
  void mapFlags(IRMapping &iteration, OpBuilder &at, Value trip,
                ArrayRef<Value> ends);

  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, location,
                                     builder.getI32IntegerAttr(value));
  }
  Value add(OpBuilder &at, Value a, Value b) {
    return at.createOrFold<arith::AddIOp>(location, a, b);
  }
  Value subtract(OpBuilder &at, Value a, Value b) {
    return at.createOrFold<arith::SubIOp>(location, a, b);
  }
  /// The index after so many iterations.
  Value indexAt(OpBuilder &at, Value trips) {
    return loop.getDirection() < 0 ? subtract(at, loop.getStart(), trips)
                                   : add(at, loop.getStart(), trips);
  }
  Value compare(OpBuilder &at, arith::CmpIPredicate predicate, Value a,
                Value b) {
    return arith::CmpIOp::create(at, location, predicate, a, b);
  }

  ForOp loop;
  Block *body;
  OpBuilder builder;
  Location location;
};

} // namespace

/// Iterations that overlap would need a first and a last one of their own.
LogicalResult RolledLoop::checkStages(ArrayRef<ScheduledOp> ops) {
  for (ScheduledOp op : ops)
    if (op.slot.stage != 0)
      return op.op->emitOpError("is of stage ")
             << op.slot.stage
             << " of a rolled loop, expected stage 0 or a loop without "
                "'rolled'";
  return success();
}

/// How many iterations have passed at the end of each segment.
SmallVector<Value> RolledLoop::countTripsToEnds() {
  Value passed = constant(loop.getOnce());
  SmallVector<Value> ends;
  if (loop.getOnce())
    ends.push_back(passed);
  for (Value bound : loop.getBounds()) {
    // The index of a falling loop reaches its bound, that of a rising one not.
    Value reached =
        loop.getDirection() < 0
            ? add(builder, subtract(builder, loop.getStart(), bound),
                  constant(1))
            : subtract(builder, bound, loop.getStart());
    passed = builder.createOrFold<arith::MaxSIOp>(location, passed, reached);
    ends.push_back(passed);
  }
  return ends;
}

/// A flag is true from the end of the segment before to that of its own.
void RolledLoop::mapFlags(IRMapping &iteration, OpBuilder &at, Value trip,
                          ArrayRef<Value> ends) {
  auto flags = loop.getFlags();
  for (auto [segment, flag] : llvm::enumerate(flags)) {
    Value inside;
    if (segment)
      inside = compare(at, arith::CmpIPredicate::sge, trip, ends[segment - 1]);
    if (segment + 1 < flags.size() || !inside) {
      Value isBefore =
          compare(at, arith::CmpIPredicate::slt, trip, ends[segment]);
      inside = inside
                   ? at.createOrFold<arith::AndIOp>(location, inside, isBefore)
                   : isBefore;
    }
    iteration.map(flag, inside);
  }
}

LogicalResult RolledLoop::run() {
  SmallVector<ScheduledOp> ops = getScheduledOps(body);
  if (failed(checkStages(ops)))
    return failure();
  SmallVector<Value> ends = countTripsToEnds();
  auto steps = scf::ForOp::create(builder, location, constant(0), ends.back(),
                                  constant(1), loop.getInits());
  if (std::optional<Slot> outer = getSlot(loop))
    setSlot(steps, *outer);
  OpBuilder inside = OpBuilder::atBlockBegin(steps.getBody());
  Value trip = steps.getInductionVar();
  IRMapping iteration;
  iteration.map(loop.getIndex(), indexAt(inside, trip));
  mapFlags(iteration, inside, trip, ends);
  iteration.map(loop.getIterArguments(), steps.getRegionIterArgs());

  SmallVector<StepItem> items;
  for (ScheduledOp op : ops)
    items.push_back({op, &iteration});
  sortStep(items);
  IterationCloner cloner(body);
  for (const StepItem &item : items)
    cloner.clone(item.scheduled.op, iteration, inside, std::nullopt);
  SmallVector<Value> results;
  for (Value value : body->getTerminator()->getOperands())
    results.push_back(cloner.resolve(value, iteration, inside, loop));
  if (!results.empty())
    scf::YieldOp::create(inside, location, results);
  if (cloner.hasFailed())
    return failure();
  loop.replaceAllUsesWith(steps.getResults());
  loop.erase();
  return success();
}

LogicalResult mlir::fagpu::rollLoop(ForOp loop) {
  return RolledLoop(loop).run();
}
