//===- AssignGroupSlots.cpp - Stage and order for groups of warps ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The modulo schedule of warpgroups, after Shah et al. 2024
// (FlashAttention-3), algorithm 2: softmax of one step beside products of
// another, and turns of groups (ping-pong). Read `Order`, the slots, then
// `KeyLoop::slotOf` and `GroupScheduler::run`. The pass's description has the
// rules.
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUASSIGNGROUPSLOTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// The order numbers of a step, of the loop over blocks and of the tile alike.
enum Order : int64_t {
  startTile,
  acquireFirst,
  takeTurn,
  multiplyFirst,
  multiplySecond,
  finishRows,
  softmax,
  awaitSecond,
  renew,
  finishTile
};

/// Those of a step, which has one order for each kind of products: see the
/// table in the pass's description.
struct StepOrders {
  int64_t acquireFirst = Order::acquireFirst, takeTurn = Order::takeTurn,
          multiplyFirst = Order::multiplyFirst,
          multiplySecond = Order::multiplySecond, softmax = Order::softmax,
          awaitSecond = Order::awaitSecond, renew = Order::renew,
          // Of a product that needs no other one, behind the second ones.
      multiplyLate = Order::renew, useLate = Order::finishTile,
          renewLate = Order::finishTile + 1;
};

/// Two sums leave no registers for the next product beside what it is awaited
/// with: both second products come first.
constexpr StepOrders ordersOfTwoSums = {
    /*acquireFirst=*/3,   /*takeTurn=*/1,
    /*multiplyFirst=*/3,
    /*multiplySecond=*/2, /*softmax=*/6,
    /*awaitSecond=*/4,
    /*renew=*/8,          /*multiplyLate=*/5,
    /*useLate=*/7,
    /*renewLate=*/8};

/// The operations of a loop over keys, by what they have to do with products.
class KeyLoop {
public:
  explicit KeyLoop(ForOp loop) : loop(loop), body(&loop.getBody().front()) {}
  bool collect();
  void schedule(GPUPart config, Value turns);
  /// Which results of the loop a second product has added to.
  bool isAccumulated(unsigned result) { return accumulated.contains(result); }

private:
  bool readsOfProducts(Operation *op);
  void collectLate();
  void collectPacked();
  void collectRescaled();
  Slot slotOf(Operation *op, RescalePlace place);
  void takeTurns(Value turns);

  ForOp loop;
  Block *body;
  /// What needs a result of this body's products, itself or inside.
  llvm::SmallPtrSet<Operation *, 32> ofProducts;
  /// First products need no other product of their step; second ones do. Of
  /// several first ones, all but one are late.
  llvm::SetVector<Operation *> firsts, seconds, late;
  /// What needs late products, or is needed for what does alone.
  llvm::SmallPtrSet<Operation *, 32> besideLate;
  StepOrders orders;
  /// What makes register operands of second products from wider values.
  llvm::SmallPtrSet<Operation *, 8> packed;
  /// What is done to a sum between two products that add to it.
  llvm::SmallPtrSet<Operation *, 8> rescaled;
  llvm::SmallDenseSet<unsigned> accumulated;
};
} // namespace

static Operation *getSource(Value value, Block *body) {
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == body ? op : nullptr;
}

/// Whether `op`, or an operation inside it, reads a product of this body or
/// what one is known to give.
bool KeyLoop::readsOfProducts(Operation *op) {
  WalkResult result = op->walk([&](Operation *nested) -> WalkResult {
    for (Value operand : nested->getOperands())
      if (Operation *source = getSource(operand, body);
          source && (isa<MmaAsyncOp>(source) || ofProducts.contains(source)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// From the register operands back to where elements were still wider.
void KeyLoop::collectPacked() {
  SmallVector<Value> values;
  for (Operation *second : seconds)
    values.push_back(cast<MmaAsyncOp>(second).getA());
  while (!values.empty()) {
    Value value = values.pop_back_val();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    Operation *op = getSource(value, body);
    if (!type || !op || !isPackedElement(type.getElementType()))
      continue;
    if (packed.insert(op).second)
      llvm::append_range(values, op->getOperands());
  }
}

/// From the sums that the loop carries on to the products that add to them, and
/// what is only repeated for that.
void KeyLoop::collectRescaled() {
  ValueRange yielded = body->getTerminator()->getOperands();
  SmallVector<Value> carried;
  for (auto [index, value] : llvm::enumerate(yielded)) {
    auto wait = value.getDefiningOp<WaitOp>();
    if (!wait || !seconds.contains(wait.getInflight().getDefiningOp()))
      continue;
    accumulated.insert(index);
    carried.push_back(loop.getIterArguments()[index]);
  }
  for (Operation &op : body->without_terminator())
    if (!isa<MmaAsyncOp, WaitOp>(op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return llvm::is_contained(carried, operand) ||
                 rescaled.contains(operand.getDefiningOp());
        }))
      rescaled.insert(&op);
  for (Operation &op : llvm::reverse(body->without_terminator()))
    if (isa<BroadcastOp>(op) &&
        llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return rescaled.contains(user); }))
      rescaled.insert(&op);
}

/// Of the products that need no other one, those behind the first; then what
/// needs them, and what nothing else needs.
void KeyLoop::collectLate() {
  for (Operation *product : ArrayRef(firsts.getArrayRef()).drop_front())
    late.insert(product);
  for (Operation *product : late)
    firsts.remove(product);
  if (late.empty())
    return;
  auto isLate = [&](Operation *op) {
    return late.contains(op) || besideLate.contains(op);
  };
  for (Operation &op : body->without_terminator()) {
    bool needsLate = false;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *source = getSource(operand, body))
          needsLate |= isLate(source);
    });
    if (needsLate && !late.contains(&op) && !seconds.contains(&op))
      besideLate.insert(&op);
  }
  // Backwards: what is read by those alone, with releases of what is loaded.
  for (Operation &op : llvm::reverse(body->without_terminator())) {
    if (ofProducts.contains(&op) || isa<MmaAsyncOp, ReleaseOp>(op) ||
        op.use_empty())
      continue;
    if (llvm::all_of(op.getUsers(), [&](Operation *user) {
          Operation *own = body->findAncestorOpInBlock(*user);
          return isa<ReleaseOp>(own) || besideLate.contains(own);
        }))
      besideLate.insert(&op);
  }
  for (auto release : body->getOps<ReleaseOp>())
    if (Operation *source = getSource(release.getView(), body);
        source && besideLate.contains(source))
      besideLate.insert(release);
  if (seconds.size() > 1)
    orders = ordersOfTwoSums;
}

/// False where nothing can overlap: no product needs another one.
bool KeyLoop::collect() {
  for (Operation &op : *body)
    if (getSlot(&op))
      return false;
  for (Operation &op : *body)
    if (readsOfProducts(&op))
      ofProducts.insert(&op);
  for (auto product : body->getOps<MmaAsyncOp>())
    (ofProducts.contains(product) ? seconds : firsts).insert(product);
  if (seconds.empty())
    return false;
  collectLate();
  collectPacked();
  collectRescaled();
  return true;
}

Slot KeyLoop::slotOf(Operation *op, RescalePlace place) {
  auto isOf = [&](const llvm::SetVector<Operation *> &products, Value view) {
    return llvm::any_of(view.getUsers(), [&](Operation *user) {
      return products.contains(user);
    });
  };
  bool isBesideLate = besideLate.contains(op);
  Slot use = {0, isBesideLate ? orders.useLate : orders.softmax};
  if (auto acquire = dyn_cast<AcquireOp>(op)) {
    if (isOf(firsts, acquire.getView()))
      return {0, orders.acquireFirst};
    if (isOf(late, acquire.getView()))
      return {0, orders.multiplyLate};
    return isOf(seconds, acquire.getView()) ? Slot{1, orders.multiplySecond}
                                            : use;
  }
  if (firsts.contains(op))
    return {0, orders.multiplyFirst};
  if (late.contains(op))
    return {0, orders.multiplyLate};
  if (seconds.contains(op))
    return {1, orders.multiplySecond};
  if (auto wait = dyn_cast<WaitOp>(op))
    return seconds.contains(wait.getInflight().getDefiningOp())
               ? Slot{1, orders.awaitSecond}
               : use;
  if (auto release = dyn_cast<ReleaseOp>(op)) {
    if (isOf(seconds, release.getView()))
      return {1, orders.awaitSecond};
    return isOf(late, release.getView()) ? Slot{0, orders.useLate} : use;
  }
  // Loads that need no product of the step wait beside it.
  if (isa<scf::IfOp>(op) && !ofProducts.contains(op))
    return {0, orders.multiplyFirst};
  if (rescaled.contains(op) && place == RescalePlace::before_product)
    return {1, orders.multiplySecond};
  // What is stored of each pair may be what is packed for a product.
  auto store = dyn_cast<StoreOp>(op);
  bool storesPacked =
      store && packed.contains(store.getValue().getDefiningOp());
  if (rescaled.contains(op) || packed.contains(op) || storesPacked)
    return {0, isBesideLate ? orders.renewLate : orders.renew};
  return use;
}

/// A group has its turn while it issues the products of a step.
void KeyLoop::takeTurns(Value turns) {
  OpBuilder builder(body, body->begin());
  Operation *last = seconds.back();
  for (auto acquire : body->getOps<AcquireOp>())
    if (getSlot(acquire)->stage == 1) {
      builder.setInsertionPoint(acquire);
      break;
    }
  auto take = TakeOp::create(builder, last->getLoc(), turns);
  setSlot(take, {1, orders.takeTurn});
  builder.setInsertionPointAfter(last);
  auto pass = PassOp::create(builder, last->getLoc(), turns);
  setSlot(pass, {1, orders.multiplySecond});
}

void KeyLoop::schedule(GPUPart config, Value turns) {
  for (Operation &op : body->without_terminator())
    setSlot(&op, slotOf(&op, config.rescale));
  if (turns)
    takeTurns(turns);
}

namespace {
/// Assigns the slots of one kernel.
class GroupScheduler {
public:
  explicit GroupScheduler(func::FuncOp kernel)
      : kernel(kernel), config(getGPUPart(kernel)) {}
  void run();

private:
  void scheduleCompute(RoleOp role);
  void scheduleTile(RepeatOp tile, ForOp keys, KeyLoop &loop);
  void scheduleCopies(RoleOp role);
  bool isReadFirst(Value channel);
  Value makeTurns(RoleOp role);

  func::FuncOp kernel;
  GPUPart config;
};
} // namespace

Value GroupScheduler::makeTurns(RoleOp role) {
  if (!config.turns || role.getGroups() == 1)
    return {};
  OpBuilder builder(*kernel.getOps<RoleOp>().begin());
  return TurnsOp::create(builder, role.getLoc(),
                         TurnsType::get(builder.getContext()),
                         role.getGroupsAttr(), IntegerAttr());
}

/// The tile's products overlap with those of the next one; what is left to do
/// with its rows comes between, and its result last.
void GroupScheduler::scheduleTile(RepeatOp tile, ForOp keys, KeyLoop &loop) {
  Block &body = tile.getBody().front();
  llvm::SmallPtrSet<Operation *, 16> ofSums;
  bool isBefore = true;
  for (Operation &op : body.without_terminator()) {
    if (&op == keys) {
      isBefore = false;
      setSlot(&op, {1, startTile});
      continue;
    }
    if (isBefore) {
      setSlot(&op, {0, acquireFirst});
      continue;
    }
    if (isa<ReleaseOp, RecvOp>(op)) {
      setSlot(&op, {1, startTile});
      continue;
    }
    bool usesSum = isa<StoreOp>(op);
    for (Value operand : op.getOperands()) {
      auto result = dyn_cast<OpResult>(operand);
      if (result && result.getOwner() == keys)
        usesSum |= loop.isAccumulated(result.getResultNumber());
      else if (Operation *source = operand.getDefiningOp())
        usesSum |= ofSums.contains(source);
    }
    if (usesSum)
      ofSums.insert(&op);
    setSlot(&op, {1, usesSum ? finishTile : finishRows});
  }
}

void GroupScheduler::scheduleCompute(RoleOp role) {
  SmallVector<ForOp> loops;
  role.walk([&](ForOp loop) { loops.push_back(loop); });
  Value turns;
  for (ForOp keys : loops) {
    KeyLoop loop(keys);
    if (!loop.collect())
      continue;
    if (!turns)
      turns = makeTurns(role);
    loop.schedule(config, turns);
    auto tile = dyn_cast<RepeatOp>(keys->getParentOp());
    if (tile && config.overlap == Overlap::tiles)
      scheduleTile(tile, keys, loop);
  }
}

/// Whether first products read the channel.
bool GroupScheduler::isReadFirst(Value channel) {
  for (Operation *user : channel.getUsers())
    if (auto acquire = dyn_cast<AcquireOp>(user))
      if (std::optional<Slot> slot = getSlot(acquire))
        return slot->stage == 0;
  return true;
}

static bool hasPutAfter(Operation *op) {
  while ((op = op->getNextNode()))
    if (isa<PutOp>(op))
      return true;
  return false;
}

/// Copies come in the order in which they are read.
void GroupScheduler::scheduleCopies(RoleOp role) {
  role.walk([&](ForOp loop) {
    bool overlaps =
        llvm::any_of(loop.getBody().front().getOps<PutOp>(),
                     [&](PutOp put) { return !isReadFirst(put.getChannel()); });
    if (!overlaps)
      return;
    for (Operation &op : loop.getBody().front().without_terminator()) {
      auto put = dyn_cast<PutOp>(op);
      bool isSecond = put && !isReadFirst(put.getChannel());
      // What stands behind the copies is not to delay them.
      bool isBehind = !put && !hasPutAfter(&op);
      setSlot(&op, isSecond   ? Slot{1, multiplyFirst}
                   : isBehind ? Slot{0, multiplySecond}
                              : Slot{0, takeTurn});
    }
    auto tile = dyn_cast<RepeatOp>(loop->getParentOp());
    if (!tile || config.overlap != Overlap::tiles)
      return;
    for (Operation &op : tile.getBody().front().without_terminator())
      setSlot(&op, op.isBeforeInBlock(loop) ? Slot{0, acquireFirst}
                                            : Slot{1, startTile});
  });
}

void GroupScheduler::run() {
  if (!config.hasOverlap())
    return;
  for (RoleOp role : llvm::to_vector(kernel.getOps<RoleOp>()))
    if (!role.getElect())
      scheduleCompute(role);
  for (RoleOp role : llvm::to_vector(kernel.getOps<RoleOp>()))
    if (role.getElect())
      scheduleCopies(role);
}

namespace {
struct AssignGroupSlotsPass
    : public fa::impl::FAGPUAssignGroupSlotsPassBase<AssignGroupSlotsPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    GroupScheduler(getOperation()).run();
    getOperation().walk([](Operation *op) {
      if (isa<ForOp, RepeatOp>(op))
        leaveOutInheritedSlots(&op->getRegion(0).front());
    });
  }
};
} // namespace
