//===- AssignSlots.cpp - Stage and order where one role copies for itself -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stage and order for a role whose threads copy for themselves. `Step::collect`
// finds the copies, acquires and releases of a loop body, by whether its first
// product reads them. `Step::schedule` numbers them so that copies run beside
// products; `scheduleAhead` is its case where every operand is copied one
// iteration ahead. In both, what depends on the segment stays in its own
// iteration.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUASSIGNSLOTSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// The order numbers of a step; a copy ahead belongs to the next iteration.
enum Order : int64_t {
  acquireFirst,
  copyOthers,
  multiplyFirst,
  acquireOthers,
  copyFirst,
  theRest
};

/// Those of a step whose operands are all copied a step ahead: the wait's
/// barrier says that every thread has read the stage that is copied to.
enum OrderAhead : int64_t { acquireAll, copyAll, allTheRest };

/// The protocol operations of one loop body, by what its first product reads.
struct Step {
  SmallVector<PutOp> putsFirst, putsOthers;
  SmallVector<AcquireOp> acquiresFirst, acquiresOthers;
  SmallVector<ReleaseOp> releasesFirst;
  MmaOp first;
  /// Whether nothing else reads what the first product does.
  bool isReadOnce = true;

  bool collect(Block &body);
  bool hasStages();
  LogicalResult schedule(Block &body);
  LogicalResult scheduleAhead(Block &body);
};

} // namespace

/// False where the body is not a role that copies for itself, or has slots.
bool Step::collect(Block &body) {
  for (Operation &op : body)
    if (getSlot(&op))
      return false;
  auto products = body.getOps<MmaOp>();
  if (products.empty())
    return false;
  first = *products.begin();
  // A first operand of the loop itself leaves nothing to copy beside.
  if (first.getA().getParentBlock() == &body)
    return false;
  SmallPtrSet<Value, 4> firstChannels, copied;
  for (PutOp put : body.getOps<PutOp>())
    copied.insert(put.getChannel());
  for (AcquireOp acquire : body.getOps<AcquireOp>()) {
    // What threads compute has its place behind.
    if (!copied.contains(acquire.getChannel()))
      continue;
    bool isFirst = getWholeView(first.getB()) == acquire.getView() ||
                   getWholeView(first.getA()) == acquire.getView();
    (isFirst ? acquiresFirst : acquiresOthers).push_back(acquire);
    if (!isFirst)
      continue;
    firstChannels.insert(acquire.getChannel());
    for (Operation *user : acquire->getUsers()) {
      bool isOfFirst = isa<SliceOp>(user) && user->hasOneUse() &&
                       *user->user_begin() == first;
      isReadOnce &= user == first || isOfFirst || isa<ReleaseOp>(user);
    }
  }
  for (PutOp put : body.getOps<PutOp>())
    (firstChannels.contains(put.getChannel()) ? putsFirst : putsOthers)
        .push_back(put);
  for (ReleaseOp release : body.getOps<ReleaseOp>())
    if (auto acquire = release.getView().getDefiningOp<AcquireOp>();
        acquire && isReadOnce && firstChannels.contains(acquire.getChannel()))
      releasesFirst.push_back(release);
  return !putsFirst.empty();
}

/// The operations that need to know the segment: they cannot run for an
/// iteration of another one.
static SmallPtrSet<Operation *, 16> collectOfSegment(ForOp loop) {
  SmallPtrSet<Operation *, 16> ofSegment;
  for (Operation &op : loop.getBody().front())
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return llvm::is_contained(loop.getFlags(), operand) ||
                 ofSegment.contains(operand.getDefiningOp());
        }))
      ofSegment.insert(&op);
  return ofSegment;
}

/// Whether all that an operation does in its regions has no place either.
static bool onlyReads(Operation *op) {
  return !op->walk([&](Operation *nested) {
              return nested == op ||
                             nested->hasTrait<OpTrait::IsTerminator>() ||
                             hasNoPlace(nested)
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

/// Whether what several products read can be copied while they run.
bool Step::hasStages() {
  return llvm::all_of(
      llvm::concat<PutOp>(putsFirst, putsOthers),
      [](PutOp put) { return put.getChannel().getType().getDepth() > 1; });
}

/// Moves what no iteration changes ahead of the loop, also choices that read.
static void hoistInvariants(ForOp loop) {
  moveLoopInvariantCode(
      SmallVector<Region *>{&loop.getBody()},
      [&](Value value, Region *) {
        return !loop->isAncestor(value.getParentBlock()->getParentOp());
      },
      [](Operation *op, Region *) {
        return hasNoPlace(op) || (isa<scf::IfOp>(op) && onlyReads(op));
      },
      [&](Operation *op, Region *) { op->moveBefore(loop); });
}

/// Whether a copy depends on `op`.
static bool isForCopies(Operation *op) {
  SetVector<Operation *> users;
  getForwardSlice(op, &users);
  return llvm::any_of(users, llvm::IsaPred<PutOp>);
}

LogicalResult Step::scheduleAhead(Block &body) {
  auto hasPlace = [](Operation &op) {
    return !hasNoPlace(&op) && !isa<PutOp, AcquireOp>(op);
  };
  auto decidesCopies = [&](Operation &op) {
    return hasPlace(op) && isForCopies(&op);
  };
  // The copies come ahead of all that has a place, and so has what they need
  // to.
  if (llvm::any_of(body, decidesCopies))
    hoistInvariants(cast<ForOp>(body.getParentOp()));
  if (auto choice = llvm::find_if(body, decidesCopies); choice != body.end())
    return choice->emitOpError()
           << "decides in each iteration what is copied for the next one, "
              "expected arith.select, or a choice that no iteration changes";
  Operation *position = &*llvm::find_if(body, hasPlace);
  auto place = [&](Operation *op, int64_t stage, OrderAhead order) {
    moveWithOperands(op, position);
    setSlot(op, {stage, order});
  };
  SmallPtrSet<Operation *, 16> ofSegment =
      collectOfSegment(cast<ForOp>(body.getParentOp()));
  SmallVector<PutOp> ahead;
  for (PutOp op : llvm::concat<PutOp>(putsFirst, putsOthers))
    if (ofSegment.contains(op))
      place(op, 0, acquireAll);
    else
      ahead.push_back(op);
  for (PutOp op : ahead)
    place(op, -1, copyAll);
  for (AcquireOp op : llvm::concat<AcquireOp>(acquiresFirst, acquiresOthers))
    place(op, 0, acquireAll);
  setSlot(position, {0, allTheRest});
  return success();
}

LogicalResult Step::schedule(Block &body) {
  if (!isReadOnce && hasStages())
    return scheduleAhead(body);
  // What the product needs stands before it; the protocol operations follow
  // each other there, in their order.
  Operation *position = first;
  auto place = [&](Operation *op, int64_t stage, Order order) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        moveWithOperands(source, position);
    op->moveBefore(position);
    setSlot(op, {stage, order});
  };
  SmallPtrSet<Operation *, 16> ofSegment =
      collectOfSegment(cast<ForOp>(body.getParentOp()));
  for (PutOp op : putsFirst) {
    bool isAhead = isReadOnce && !ofSegment.contains(op);
    place(op, isAhead ? -1 : 0, isAhead ? copyFirst : acquireFirst);
  }
  for (AcquireOp op : acquiresFirst)
    place(op, 0, acquireFirst);
  for (Value operand : first->getOperands())
    if (auto part = operand.getDefiningOp<SliceOp>();
        part && part->getBlock() == &body)
      part->moveBefore(position);
  for (PutOp op : putsOthers)
    place(op, 0, copyOthers);
  setSlot(first, {0, multiplyFirst});
  position = first->getNextNode();
  for (ReleaseOp op : releasesFirst) {
    op->moveBefore(position);
    position = op->getNextNode();
  }
  for (AcquireOp op : acquiresOthers)
    place(op, 0, acquireOthers);
  setSlot(position, {0, theRest});
  // What numbers of columns are made of may stand before the operands.
  Operation &front = *llvm::find_if(
      body, [](Operation &op) { return getSlot(&op) || !hasNoPlace(&op); });
  if (!getSlot(&front))
    setSlot(&front, {0, acquireFirst});
  return success();
}

namespace {
struct AssignSlotsPass
    : public fagpu::impl::FAGPUAssignSlotsPassBase<AssignSlotsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](ForOp loop) -> WalkResult {
      Block &body = loop.getBody().front();
      Step step;
      return step.collect(body) ? step.schedule(body) : success();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
