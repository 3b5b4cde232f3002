//===- AssignCopies.cpp - Copies in flight, and barriers between them -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For channels that threads fill by cp.async: counts the copies in flight at
// each acquire, which gives the operand of its wait, and places the barriers.
// A data-flow analysis, to a fixed point in loops. Read `CopyState`, then
// `visit`.
//
//===----------------------------------------------------------------------===//

#include "ChannelUse.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUASSIGNCOPIESPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

/// The copied channel whose memory a store is staged in, if any.
static Value getStagingMemory(StoreOp store) {
  if (!store.getVia())
    return {};
  Value over = store.getVia().getDefiningOp<ChannelOp>().getOver();
  return over && isCopiedByThreads(over) ? over : Value();
}

static bool usesCopies(Operation *op) {
  return op
      ->walk([](Operation *nested) {
        bool uses = isa<PutOp, WriteOp, AcquireOp>(nested) &&
                    isCopiedByThreads(nested->getOperand(0));
        if (auto store = dyn_cast<StoreOp>(nested))
          uses |= getStagingMemory(store) != nullptr;
        return uses ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {

/// A bank of a channel.
using Bank = std::pair<Value, int64_t>;

/// What is known of the stages of one bank at a point of the program.
struct StageState {
  /// Stages that puts have begun to fill, less releases.
  int64_t inUse = 0;
  /// Parts of the last of them that are put already; 0: all.
  int64_t numParts = 0;
  /// How many of the last releases no barrier has followed.
  int64_t unsynchronized = 0;
};

/// A copy in flight, and whether it is the last part of its stage.
struct Copy {
  Bank bank;
  bool endsStage;

  bool operator==(const Copy &other) const {
    return bank == other.bank && endsStage == other.endsStage;
  }
};

struct CopyState {
  /// The copies that no acquire has taken, in order of their start.
  SmallVector<Copy> started;
  llvm::MapVector<Bank, StageState> stages;

  void synchronize() {
    for (auto &[bank, state] : stages)
      state.unsynchronized = 0;
  }

  bool hasSameCopies(const CopyState &other) const {
    auto inUse = [](const CopyState &state, Bank bank) {
      auto found = state.stages.find(bank);
      return found == state.stages.end()
                 ? std::pair<int64_t, int64_t>()
                 : std::pair(found->second.inUse, found->second.numParts);
    };
    for (const CopyState *state : {this, &other})
      for (auto &[bank, unused] : state->stages)
        if (inUse(*this, bank) != inUse(other, bank))
          return false;
    return started == other.started;
  }

  /// Takes the releases of both. Returns whether this changed.
  bool join(const CopyState &other) {
    bool changed = false;
    for (auto &[bank, state] : other.stages) {
      StageState &mine = stages[bank];
      changed |= mine.unsynchronized < state.unsynchronized;
      mine.unsynchronized = std::max(mine.unsynchronized, state.unsynchronized);
      mine.inUse = state.inUse;
      mine.numParts = state.numParts;
    }
    return changed;
  }
};

/// Follows one role. Operations are changed only where `assign` is set, which
/// is once, with what holds whenever they run.
class CopyTracker {
public:
  LogicalResult run(Block *block, CopyState &state, bool assign) {
    for (Operation &op : llvm::make_early_inc_range(*block))
      if (failed(visit(&op, state, assign)))
        return failure();
    return success();
  }

private:
  LogicalResult visit(Operation *op, CopyState &state, bool assign) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<PutOp, WriteOp, AcquireOp, ReleaseOp, StoreOp, scf::ForOp,
              scf::WhileOp, scf::IfOp>(
            [&](auto known) { return follow(known, state, assign); })
        .Case([&](SyncOp) {
          state.synchronize();
          return success();
        })
        .Default([](Operation *other) -> LogicalResult {
          if (!other->getNumRegions() || !usesCopies(other))
            return success();
          return other->emitOpError()
                 << "holds copies in flight; run fagpu-pipeline before";
        });
  }

  //===--- Uses of channels ----------------------------------------------===//

  static void placeBarrier(OpBuilder builder, Location loc, CopyState &state,
                           bool assign) {
    state.synchronize();
    if (assign)
      SyncOp::create(builder, loc);
  }

  static void placeBarrier(Operation *before, CopyState &state, bool assign) {
    placeBarrier(OpBuilder(before), before->getLoc(), state, assign);
  }

  LogicalResult follow(PutOp put, CopyState &state, bool assign) {
    return fill(put, state, assign);
  }

  /// What threads write is a copy that has ended: it counts, and is seen by
  /// others behind the same barrier.
  LogicalResult follow(WriteOp write, CopyState &state, bool assign) {
    bool isAlone = write->getParentOfType<RoleOp>().getGroups() == 1;
    if (isCopiedByThreads(write.getChannel()) && !write.getPart().empty() &&
        isAlone)
      return write.emitOpError() << "writes to a part(...) of a stage that "
                                    "threads copy to, expected all of it";
    return fill(write, state, assign);
  }

  template <typename FillOp>
  LogicalResult fill(FillOp put, CopyState &state, bool assign) {
    Value channel = put.getChannel();
    if (!isCopiedByThreads(channel))
      return success();
    if (failed(verifyCopy(put)) ||
        failed(verifyShare(put, getNumElements(put), channel, put.getBank())))
      return failure();
    FailureOr<Bank> bank = getBank(put, channel, put.getBank());
    if (failed(bank))
      return failure();
    StageState &stages = state.stages[*bank];
    int64_t depth = put.getChannel().getType().getDepth();
    if (!stages.numParts) {
      if (stages.inUse >= depth)
        return put.emitOpError()
               << "fills a stage while all " << depth
               << " of its channel are in use; release one before";
      // The stage is that of the release `depth - inUse` before the last one.
      if (stages.unsynchronized > depth - 1 - stages.inUse)
        placeBarrier(put, state, assign);
      ++stages.inUse;
    }
    stages.numParts = (stages.numParts + 1) % ChannelUse(put).getNumParts();
    state.started.push_back({*bank, stages.numParts == 0});
    return success();
  }

  /// Copies are counted by bank, so which one is known.
  static FailureOr<Bank> getBank(Operation *op, Value channel, Value bank) {
    APInt number(32, 0);
    if (bank && !matchPattern(bank, m_ConstantInt(&number))) {
      op->emitOpError() << "names a bank that is no constant of a channel that "
                           "threads copy to, so its copies are not counted; "
                           "expected a constant";
      return failure();
    }
    return Bank(channel, number.getSExtValue());
  }

  static LogicalResult verifyCopy(Operation *put) {
    auto role = put->getParentOfType<RoleOp>();
    if (role.getElect())
      return put->emitOpError()
             << "copies by the threads of the role @" << role.getSymName()
             << ", which is one thread (elect); expected groups of warps";
    return success();
  }

  static int64_t getNumElements(PutOp put) {
    return ShapedType::getNumElements(put.getSizes());
  }
  static int64_t getNumElements(WriteOp write) {
    return cast<ShapedType>(write.getValue().getType()).getNumElements();
  }

  /// Groups of a role fill a stage together, each a share of it.
  static LogicalResult verifyShare(Operation *put, int64_t elements,
                                   Value channel, Value bank) {
    auto role = put->getParentOfType<RoleOp>();
    int64_t groups = role.getGroups();
    if (groups == 1)
      return success();
    if (bank)
      return put->emitOpError()
             << "names a bank in the role @" << role.getSymName() << ", whose "
             << groups << " groups fill a stage together; expected no bank";
    int64_t tile = ShapedType::getNumElements(
        cast<ChannelType>(channel.getType()).getShape());
    if (tile % (elements * groups) == 0)
      return success();
    return put->emitOpError()
           << "fills " << elements << " of the " << tile
           << " elements of a stage in each of the " << groups
           << " groups of the role @" << role.getSymName()
           << "; expected a part(...) of " << tile / groups
           << " elements, or of a number that divides them";
  }

  LogicalResult follow(AcquireOp acquire, CopyState &state, bool assign) {
    Value channel = acquire.getChannel();
    if (!isCopiedByThreads(channel))
      return success();
    FailureOr<Bank> bank = getBank(acquire, channel, acquire.getBank());
    if (failed(bank))
      return failure();
    // The oldest copies of the bank are the parts of its oldest stage.
    SmallVector<Copy> rest;
    int64_t behind = 0;
    bool isFull = false;
    for (const Copy &copy : state.started) {
      if (!isFull && copy.bank == *bank) {
        isFull = copy.endsStage;
        behind = 0;
        continue;
      }
      ++behind;
      rest.push_back(copy);
    }
    if (!isFull)
      return acquire.emitOpError()
             << "acquires a stage that no 'fagpu.put' of its role before it "
                "has filled";
    if (assign)
      acquire.setPending(behind);
    state.started = std::move(rest);
    // One barrier serves acquires that stand together.
    if (!isBeforeAcquire(acquire)) {
      OpBuilder behindIt(acquire->getContext());
      behindIt.setInsertionPointAfter(acquire);
      placeBarrier(behindIt, acquire.getLoc(), state, assign);
    }
    return success();
  }

  /// Whether the next operation that is no scalar arithmetic is one more
  /// acquire.
  static bool isBeforeAcquire(AcquireOp acquire) {
    for (Operation *next = acquire->getNextNode(); next;
         next = next->getNextNode()) {
      if (auto other = dyn_cast<AcquireOp>(next))
        return isCopiedByThreads(other.getChannel());
      if (next->getNumRegions() || !isMemoryEffectFree(next) ||
          llvm::any_of(next->getOperands(), [](Value operand) {
            return isa<ViewType>(operand.getType());
          }))
        return false;
    }
    return false;
  }

  LogicalResult follow(ReleaseOp release, CopyState &state, bool assign) {
    auto acquire = release.getView().getDefiningOp<AcquireOp>();
    if (!acquire)
      return release.emitOpError() << "releases a view that comes from no "
                                      "'fagpu.acquire' of its block";
    if (!isCopiedByThreads(acquire.getChannel()))
      return success();
    FailureOr<Bank> bank =
        getBank(acquire, acquire.getChannel(), acquire.getBank());
    if (failed(bank))
      return failure();
    StageState &stages = state.stages[*bank];
    --stages.inUse;
    stages.unsynchronized = std::min<int64_t>(
        stages.unsynchronized + 1, acquire.getChannel().getType().getDepth());
    return success();
  }

  LogicalResult follow(StoreOp store, CopyState &state, bool assign) {
    Value memory = getStagingMemory(store);
    if (!memory)
      return success();
    for (auto &[bank, stages] : state.stages) {
      if (bank.first != memory)
        continue;
      if (stages.inUse)
        return store.emitOpError()
               << "is staged over a channel of which " << stages.inUse
               << " stages are in use; release them before";
      if (stages.unsynchronized)
        placeBarrier(store, state, assign);
    }
    // What is put there next waits until the staged value has left.
    auto channel = memory.getDefiningOp<ChannelOp>();
    for (int64_t bank = 0; bank < channel.getBanks(); ++bank)
      state.stages[Bank(memory, bank)].unsynchronized =
          channel.getType().getDepth();
    return success();
  }

  //===--- Control flow --------------------------------------------------===//

  static LogicalResult verifySame(Operation *op, const CopyState &a,
                                  const CopyState &b, StringRef where) {
    if (a.hasSameCopies(b))
      return success();
    return op->emitOpError() << "has other copies in flight " << where
                             << ", so how many are there is not known";
  }

  /// Runs `iterate` until what it does to the state is known, then once more
  /// where operations are to be changed. The state is then the one at the start
  /// of any iteration.
  LogicalResult
  iterate(Operation *op, CopyState &state, bool assign,
          llvm::function_ref<LogicalResult(CopyState &, bool)> body) {
    bool changed = true;
    while (changed) {
      CopyState after = state;
      if (failed(body(after, /*assign=*/false)) ||
          failed(verifySame(op, state, after,
                            "at the end of its body than on entry")))
        return failure();
      changed = state.join(after);
    }
    CopyState last = state;
    return assign ? body(last, /*assign=*/true) : success();
  }

  LogicalResult follow(scf::ForOp loop, CopyState &state, bool assign) {
    return iterate(loop, state, assign, [&](CopyState &inside, bool change) {
      return run(loop.getBody(), inside, change);
    });
  }

  LogicalResult follow(scf::WhileOp loop, CopyState &state, bool assign) {
    CopyState atCondition;
    if (failed(
            iterate(loop, state, assign, [&](CopyState &inside, bool change) {
              if (failed(run(loop.getBeforeBody(), inside, change)))
                return failure();
              atCondition = inside;
              return run(loop.getAfterBody(), inside, change);
            })))
      return failure();
    state = atCondition;
    return success();
  }

  LogicalResult follow(scf::IfOp branch, CopyState &state, bool assign) {
    CopyState otherwise = state;
    if (failed(run(branch.thenBlock(), state, assign)) ||
        (branch.elseBlock() &&
         failed(run(branch.elseBlock(), otherwise, assign))) ||
        failed(verifySame(branch, state, otherwise,
                          "at the end of one branch than of the other")))
      return failure();
    state.join(otherwise);
    return success();
  }
};

struct AssignCopiesPass
    : public fagpu::impl::FAGPUAssignCopiesPassBase<AssignCopiesPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    for (RoleOp role : getOperation().getOps<RoleOp>()) {
      CopyState state;
      if (usesCopies(role) &&
          failed(CopyTracker().run(&role.getBody().front(), state, true)))
        return signalPassFailure();
    }
  }
};
} // namespace
