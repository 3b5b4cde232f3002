//===- AssignWriteSlots.cpp - Slots where groups make their operands ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Software-pipelines loops whose warpgroups themselves write the operands of
// asynchronous products to shared memory. `Order` is the modulo schedule of a
// step: operands of one product are written while the other one runs. Read
// it, then `schedule`.
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUASSIGNWRITESLOTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// The order numbers of a step.
enum Order : int64_t {
  multiplySecond,
  writeFirst,
  multiplyFirst,
  awaitSecond,
  writeOthers,
  awaitFirst,
  rescale
};

/// A loop in which groups compute the operands of asynchronous products and
/// write them to channels.
class WritingLoop {
public:
  explicit WritingLoop(ForOp loop) : body(&loop.getBody().front()) {}
  bool collect();
  void schedule();

private:
  bool isSecond(Operation *op);
  bool isReadFirst(WriteOp write);
  void placeMakers(Value value, Order order);
  void placeBehindSecond();

  Block *body;
  llvm::SmallVector<WriteOp> writes;
  llvm::DenseMap<Operation *, Slot> slots;
};
} // namespace

/// Whether a product, or a wait for one, needs another product of its step
/// beside those that it adds to.
bool WritingLoop::isSecond(Operation *op) {
  MmaAsyncOp product;
  if (auto wait = dyn_cast<WaitOp>(op))
    product = wait.getInflight().getDefiningOp<MmaAsyncOp>();
  else
    product = cast<MmaAsyncOp>(op);
  // What a loop carries in flight was made in another step.
  if (!product)
    return false;
  Operation *made = getWholeView(product.getA()).getDefiningOp();
  return made && made->getBlock() == body && !isa<AcquireOp>(made);
}

static bool isReadBySecond(Value view,
                           llvm::function_ref<bool(Operation *)> is) {
  return llvm::any_of(view.getUsers(), [&](Operation *user) {
    if (auto slice = dyn_cast<SliceOp>(user))
      return isReadBySecond(slice.getResult(), is);
    return isa<MmaAsyncOp>(user) && is(user);
  });
}

bool WritingLoop::isReadFirst(WriteOp write) {
  for (Operation *user : write.getChannel().getUsers())
    if (auto acquire = dyn_cast<AcquireOp>(user);
        acquire && acquire->getBlock() == body)
      return !isReadBySecond(acquire.getView(),
                             [&](Operation *op) { return isSecond(op); });
  return false;
}

bool WritingLoop::collect() {
  bool hasSecond = false;
  for (Operation &op : *body) {
    if (getSlot(&op))
      return false;
    if (auto write = dyn_cast<WriteOp>(op))
      writes.push_back(write);
    hasSecond |= isa<MmaAsyncOp>(op) && isSecond(&op);
  }
  return hasSecond && !writes.empty();
}

/// Places what makes a block value, unless something earlier needs it too.
void WritingLoop::placeMakers(Value value, Order order) {
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && op->getBlock() == body && isBlockType(value.getType()) &&
        slots.try_emplace(op, Slot{0, order}).second)
      llvm::append_range(values, op->getOperands());
  }
}

/// What a second product is added to is scaled before it is issued; the sum
/// itself is made of the result.
void WritingLoop::placeBehindSecond() {
  for (Operation &op : body->without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          auto slot = slots.find(operand.getDefiningOp());
          return slot != slots.end() && slot->second.order == awaitSecond;
        }))
      slots[&op] = {1, awaitSecond};
  for (Operation &op : llvm::reverse(body->without_terminator()))
    if (isMemoryEffectFree(&op) && !slots.contains(&op) && !op.use_empty() &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          auto slot = slots.find(user);
          return slot != slots.end() && (slot->second.order == awaitSecond ||
                                         slot->second.order == rescale);
        }))
      slots[&op] = {0, rescale};
}

void WritingLoop::schedule() {
  for (bool ofFirst : {true, false})
    for (WriteOp write : writes)
      if (isReadFirst(write) == ofFirst)
        placeMakers(write.getValue(), ofFirst ? writeFirst : writeOthers);
  auto second = [&](Operation *op) { return isSecond(op); };
  for (Operation &op : body->without_terminator()) {
    if (auto write = dyn_cast<WriteOp>(op))
      slots[&op] = {0, isReadFirst(write) ? writeFirst : writeOthers};
    else if (auto acquire = dyn_cast<AcquireOp>(op))
      slots[&op] = isReadBySecond(acquire.getView(), second)
                       ? Slot{1, multiplySecond}
                       : Slot{0, multiplyFirst};
    else if (isa<MmaAsyncOp>(op))
      slots[&op] =
          isSecond(&op) ? Slot{1, multiplySecond} : Slot{0, multiplyFirst};
    else if (isa<WaitOp>(op))
      slots[&op] = isSecond(&op) ? Slot{1, awaitSecond} : Slot{0, awaitFirst};
    else if (auto release = dyn_cast<ReleaseOp>(op))
      slots[&op] = isReadBySecond(release.getView(), second)
                       ? Slot{1, awaitSecond}
                       : Slot{0, awaitFirst};
  }
  placeBehindSecond();
  for (Operation &op : body->without_terminator()) {
    auto slot = slots.find(&op);
    setSlot(&op, slot == slots.end() ? Slot{0, awaitFirst} : slot->second);
  }
}

namespace {
struct AssignWriteSlotsPass
    : public fa::impl::FAGPUAssignWriteSlotsPassBase<AssignWriteSlotsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !hasWarpGroups(kernel) ||
        !getGPUPart(kernel).hasOverlap())
      return;
    SmallVector<ForOp> loops;
    kernel.walk([&](ForOp loop) { loops.push_back(loop); });
    for (ForOp loop : loops) {
      WritingLoop writing(loop);
      if (!writing.collect())
        continue;
      writing.schedule();
      leaveOutInheritedSlots(&loop.getBody().front());
    }
  }
};
} // namespace
