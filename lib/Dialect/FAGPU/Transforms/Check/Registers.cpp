//===- Registers.cpp - Rule on the registers of block values --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An estimate from below of what a thread holds: block values that are live
// between two operations. A value that is made of constants, indices and row
// or column values alone is made where it is used, element by element, and
// takes none; nor do scalars, addresses and predicates count. So it is with a
// vector whose stage is released behind its last use. Read `visitBlock`, a
// walk from the block's end, then `isMadeAtUse`.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {
class RegisterPressure {
public:
  explicit RegisterPressure(RoleOp role) {
    // Operands come before what is made of them, so that no chain is followed.
    role.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isMadeAtUse(op))
        collectNeeded(op);
    });
    // What a loop carries counts only if it is read, which may show behind the
    // place where it is yielded.
    size_t before;
    do {
      before = read.size();
      peak = 0;
      visitBlock(role.getBody().front(), {});
    } while (read.size() > before);
  }

  int64_t getPeak() const { return peak; }
  /// The operation after which so much is live; null if nothing ever is.
  Operation *getPeakOp() const { return peakOp; }

private:
  using LiveSet = SetVector<Value>;

  /// Whether the elements are made where they are used.
  bool isMadeAtUse(Operation *op) {
    auto known = madeAtUse.find(op);
    if (known != madeAtUse.end())
      return known->second;
    bool result = computeMadeAtUse(op);
    madeAtUse[op] = result;
    return result;
  }

  /// Whether a vector may be read from its stage element by element, where it
  /// is used: the stage is released behind all uses.
  static bool isReadAtUse(LoadOp load) {
    if (cast<RankedTensorType>(load.getType()).getRank() != 1)
      return false;
    auto isRelease = llvm::IsaPred<ReleaseOp>;
    Value whole = getWholeView(load.getView());
    auto release = llvm::find_if(whole.getUsers(), isRelease);
    if (release == whole.getUsers().end() ||
        release->getBlock() != load->getBlock())
      return false;
    SmallVector<Operation *> users(load->getUsers());
    SmallPtrSet<Operation *, 8> seen;
    while (!users.empty()) {
      Operation *user = users.pop_back_val();
      if (!seen.insert(user).second)
        continue;
      Operation *inBlock = load->getBlock()->findAncestorOpInBlock(*user);
      if (!inBlock || !inBlock->isBeforeInBlock(*release))
        return false;
      // What is made of it alone, where that is used, reads it there.
      if (isa<BroadcastOp>(user) ||
          (user->hasTrait<OpTrait::Elementwise>() &&
           llvm::hasSingleElement(user->getOperands())))
        llvm::append_range(users, user->getUsers());
    }
    return true;
  }

  bool computeMadeAtUse(Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      return isReadAtUse(load);
    if (matchPattern(op, m_Constant()) ||
        isa<tensor::SplatOp, IotaOp, DropoutOp, BroadcastOp, ConvertOp,
            SliceOp>(op))
      return true;
    // One instruction a value, from half as many registers.
    if (auto extension = dyn_cast<arith::ExtFOp>(op))
      return isPackedElement(getElementTypeOrSelf(extension.getIn()));
    if (!op->hasTrait<OpTrait::Elementwise>())
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *made = operand.getDefiningOp();
      return !getBlockLayout(operand.getType()) ||
             (made && !isa<ConvertOp>(made) && isMadeAtUse(made));
    });
  }

  static int64_t registersOf(Value value) {
    if (auto flight = dyn_cast<InflightType>(value.getType()))
      return registersPerThread(flight.getValue());
    auto tensor = cast<RankedTensorType>(value.getType());
    int64_t bits = tensor.getElementTypeBitWidth();
    return bits == 1 ? 0 : registersPerThread(tensor) * (bits > 32 ? 2 : 1);
  }

  /// Adds the values in registers that a use of `value` needs.
  void collect(Value value, LiveSet &live) {
    if (!getBlockLayout(value.getType()) && !isa<InflightType>(value.getType()))
      return;
    Operation *made = value.getDefiningOp();
    if (made && isMadeAtUse(made)) {
      const LiveSet &needed = collectNeeded(made);
      live.insert(needed.begin(), needed.end());
      return;
    }
    live.insert(value);
    // What a product in flight still reads.
    for (auto issue = dyn_cast_or_null<MmaAsyncOp>(made); issue;
         issue = issue.getPrevious())
      collect(issue.getA(), live);
  }

  /// What the operands of an operation whose result is made at its use need.
  const LiveSet &collectNeeded(Operation *made) {
    auto known = needs.find(made);
    if (known != needs.end())
      return known->second;
    LiveSet needed;
    for (Value operand : made->getOperands())
      collect(operand, needed);
    return needs[made] = std::move(needed);
  }

  /// Where an operand of a loop or terminator is handed to: arguments, results.
  static SmallVector<Value, 2> getTargets(OpOperand &operand) {
    Operation *op = operand.getOwner(), *parent = op->getParentOp();
    unsigned number = operand.getOperandNumber();
    auto carriedBy = [&](auto loop, auto arguments, unsigned first) {
      SmallVector<Value, 2> targets;
      if (number >= first) {
        targets.push_back(arguments[number - first]);
        if (loop->getNumResults())
          targets.push_back(loop->getResult(number - first));
      }
      return targets;
    };
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return carriedBy(loop, loop.getRegionIterArgs(), 3);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return {loop.getBeforeArguments()[number]};
    if (auto loop = dyn_cast<ForOp>(op))
      return carriedBy(loop, loop.getIterArguments(),
                       1 + loop.getBounds().size());
    if (auto loop = dyn_cast<RepeatOp>(op))
      return {loop.getBody().getArgument(number)};
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return carriedBy(loop, loop.getRegionIterArgs(), 0);
    if (auto loop = dyn_cast<ForOp>(parent))
      return carriedBy(loop, loop.getIterArguments(), 0);
    if (auto loop = dyn_cast<RepeatOp>(parent))
      return carriedBy(loop, loop.getBody().getArguments(), 1);
    auto loop = dyn_cast<scf::WhileOp>(parent);
    if (loop && isa<scf::ConditionOp>(op))
      return carriedBy(loop, loop.getAfterArguments(), 1);
    if (loop)
      return {loop.getBeforeArguments()[number]};
    return {parent->getResult(number)};
  }

  /// Adds what an operation hands to a place that is read.
  void collectHanded(Operation *op, LiveSet &live) {
    for (OpOperand &operand : op->getOpOperands())
      if (llvm::any_of(getTargets(operand),
                       [&](Value target) { return read.contains(target); }))
        collect(operand.get(), live);
  }

  void measure(Operation *op, const LiveSet &live) {
    int64_t registers = 0;
    for (Value value : live)
      registers += registersOf(value);
    if (registers <= peak)
      return;
    peak = registers;
    peakOp = op;
  }

  /// Goes through a block from its end, where `live` is live; what is live at
  /// its start.
  LiveSet visitBlock(Block &block, LiveSet live) {
    if (Operation *last = block.empty() ? nullptr : &block.back();
        last && last->hasTrait<OpTrait::IsTerminator>())
      collectHanded(last, live);
    for (Operation &op : llvm::reverse(block)) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue;
      measure(&op, live);
      bool isUsed = false;
      for (Value result : op.getResults())
        if (live.remove(result)) {
          isUsed = true;
          read.insert(result);
        }
      if (op.getNumRegions())
        visitRegions(&op, live);
      else if (!isMadeAtUse(&op) && (isUsed || !isMemoryEffectFree(&op)))
        for (Value operand : op.getOperands())
          collect(operand, live);
    }
    for (BlockArgument argument : block.getArguments())
      if (live.remove(argument))
        read.insert(argument);
    return live;
  }

  /// `live` is what is live behind the operation, and then before it.
  void visitRegions(Operation *op, LiveSet &live) {
    bool isLoop = !isa<scf::IfOp>(op);
    if (isLoop) {
      // What a loop reads from outside is live in all of its iterations.
      SetVector<Value> used;
      getUsedValuesDefinedAbove(op->getRegions(), used);
      for (Value value : used)
        collect(value, live);
    }
    LiveSet before = live;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value value : visitBlock(block, live))
          before.insert(value);
    live = std::move(before);
    if (isLoop)
      collectHanded(op, live);
  }

  DenseMap<Operation *, bool> madeAtUse;
  DenseMap<Operation *, LiveSet> needs;
  /// Arguments and results that are read.
  DenseSet<Value> read;

  int64_t peak = 0;
  Operation *peakOp = nullptr;
};
} // namespace

/// The registers of a thread of the role, and where that number comes from.
static std::pair<int64_t, std::string> getLimit(func::FuncOp kernel,
                                                RoleOp role) {
  if (role.getRegs())
    return {*role.getRegs(), "regs(" + std::to_string(*role.getRegs()) + ")"};
  auto chip = kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName);
  const fa::GPUTarget *target = fa::lookupGPUTarget(chip.getValue());
  int64_t threads = 0;
  for (RoleOp other : kernel.getOps<RoleOp>())
    threads += other.getThreadsOfBlock();
  auto blocks =
      kernel->getAttrOfType<IntegerAttr>(FAGPUDialect::blocksPerSMAttrName);
  threads *= blocks ? blocks.getInt() : 1;
  int64_t share = target->registersPerSM / threads / 8 * 8;
  return {std::min(share, target->registersPerThread),
          target->chip.str() + " at " + std::to_string(threads) +
              " threads a multiprocessor"};
}

LogicalResult mlir::fagpu::checkRegisters(func::FuncOp kernel) {
  for (RoleOp role : kernel.getOps<RoleOp>()) {
    if (role.getElect())
      continue;
    RegisterPressure pressure(role);
    auto [limit, source] = getLimit(kernel, role);
    remark::analysis(
        role.getLoc(),
        remark::RemarkOpts::name("Registers").category("fagpu-check"))
        << ("at most " + std::to_string(pressure.getPeak()) +
            " registers of block values are live in @" +
            role.getSymName().str() + ", of " + std::to_string(limit));
    if (pressure.getPeak() <= limit)
      continue;
    InFlightDiagnostic diagnostic =
        pressure.getPeakOp()->emitOpError()
        << "is where block values take " << pressure.getPeak()
        << " registers of a thread in @" << role.getSymName() << ", which has "
        << limit << " by " << source << "; expected ";
    if (int64_t needed = llvm::alignTo(pressure.getPeak(), 8);
        role.getRegs() && needed < 256)
      diagnostic << "at least regs(" << needed << "), or smaller tiles";
    else
      diagnostic << "smaller tiles, or fewer values that are live at a time";
    return diagnostic;
  }
  return success();
}
