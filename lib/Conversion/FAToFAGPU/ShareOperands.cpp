//===- ShareOperands.cpp - Computed operands through shared memory --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelTypes.h"
#include "GroupDependence.h"
#include "IndexWidths.h"
#include "KernelConfig.h"
#include "PartOfValue.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <deque>

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSHAREOPERANDSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// A value that products read from shared memory, and their operands.
struct SharedValue {
  Value value;
  SmallVector<OpOperand *> uses;
  ChannelOp channel = nullptr;
  /// What is written: all of it, to a bank of the group or for all groups, or
  /// the group's part of it, at this place.
  Value written, bank;
  SmallVector<Value> part;

  /// The operations of the value's block that read it, or hold who does.
  Operation *getFirst() { return getEnd(/*last=*/false); }
  Operation *getLast() { return getEnd(/*last=*/true); }

private:
  Operation *getEnd(bool last) {
    Block *block = value.getParentBlock();
    Operation *end = nullptr;
    for (OpOperand *use : uses) {
      Operation *op = block->findAncestorOpInBlock(*use->getOwner());
      if (!end || (last ? end->isBeforeInBlock(op) : op->isBeforeInBlock(end)))
        end = op;
    }
    return end;
  }
};
} // namespace

/// Operands that a fetch brings are copied to shared memory, not written.
static bool isComputed(Value operand) {
  return isa<RankedTensorType>(operand.getType()) && operand.getDefiningOp() &&
         !operand.getDefiningOp<FetchOp>();
}

/// A second operand is read by all warps; a first one from before a loop would
/// take registers in it.
static llvm::MapVector<Value, SharedValue> collect(func::FuncOp kernel) {
  llvm::MapVector<Value, SharedValue> shared;
  kernel.walk([&](ProductOp product) {
    auto add = [&](OpOperand &operand) {
      SharedValue &value = shared[operand.get()];
      value.value = operand.get();
      value.uses.push_back(&operand);
    };
    if (isComputed(product.getB()))
      add(product.getBMutable());
    if (isComputed(product.getA()) &&
        product.getA().getParentBlock() != product->getBlock())
      add(product.getAMutable());
  });
  return shared;
}

namespace {
/// Makes the channels of one kernel.
class ChannelMaker {
public:
  explicit ChannelMaker(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()),
        hasGroups(hasWarpGroups(kernel)) {}
  LogicalResult make(SharedValue &shared);

private:
  void setChannel(SharedValue &shared, ArrayRef<int64_t> written,
                  int64_t banks);
  bool reuseChannel(SharedValue &shared);
  FailureOr<SmallVector<int64_t>> getPartShape(Value value, RoleOp role);
  LogicalResult divide(SharedValue &shared, RoleOp role);

  func::FuncOp kernel;
  OpBuilder builder;
  bool hasGroups;
  /// Channels of values of one type and block, from the one that was used first
  /// to the one that was used last. A loop in a loop shares those of the outer
  /// one; it uses all of them or none, so that their turns are the same behind
  /// it.
  llvm::MapVector<std::pair<Block *, Type>, std::deque<ChannelOp>> inTurns;
  /// What is common to the parts of a role's values of one shape.
  llvm::MapVector<std::pair<Operation *, Type>, PartOfValue> parts;
};
} // namespace

/// The block of the value, or that of the loop which its own loop is in.
static Block *getOuterBlock(Value value) {
  Block *block = value.getParentBlock();
  while (isa<ForOp>(block->getParentOp()) &&
         isa<ForOp>(block->getParentOp()->getParentOp()))
    block = block->getParentOp()->getBlock();
  return block;
}

/// Operands take turns at channels: those that come by parts at those of two
/// products, of which one is written while the other is read, and those of
/// common stages at those of one.
bool ChannelMaker::reuseChannel(SharedValue &shared) {
  GPUConfigAttr config = getGPUConfig(kernel);
  if (!config.getColumns() && !config.getCommonStages())
    return false;
  constexpr size_t terms = 3;
  std::deque<ChannelOp> &channels =
      inTurns[{getOuterBlock(shared.value), shared.value.getType()}];
  if (channels.size() < (config.getColumns() ? 2 * terms : terms))
    return false;
  shared.channel = channels.front();
  channels.pop_front();
  channels.push_back(shared.channel);
  return true;
}

/// Panels are no wider than what a group writes.
void ChannelMaker::setChannel(SharedValue &shared, ArrayRef<int64_t> written,
                              int64_t banks) {
  if (reuseChannel(shared))
    return;
  builder.setInsertionPoint(*kernel.getOps<RoleOp>().begin());
  auto type = cast<RankedTensorType>(shared.value.getType());
  unsigned swizzle =
      chooseSwizzle(RankedTensorType::get(written, type.getElementType()));
  shared.channel = ChannelOp::create(
      builder, shared.value.getLoc(),
      ChannelType::get(
          type.getContext(), type.getShape(), type.getElementType(),
          SharedLayoutAttr::get(type.getContext(), swizzle), /*depth=*/1),
      hasGroups ? Engine::threads : Engine::cp_async, /*multicast=*/false,
      static_cast<int32_t>(banks), Value(), IntegerAttr(), IntegerAttr(),
      DenseI32ArrayAttr());
  inTurns[{getOuterBlock(shared.value), type}].push_back(shared.channel);
}

/// Rows of whole warps where there are as many, else columns of whole panels.
FailureOr<SmallVector<int64_t>> ChannelMaker::getPartShape(Value value,
                                                           RoleOp role) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t groups = role.getGroups(), rowsOfWarps = 16 * role.getWarps();
  constexpr int64_t panel = 16;
  if (rows % (groups * rowsOfWarps) == 0)
    return SmallVector<int64_t>{rows / groups, columns};
  if (columns % (groups * panel) == 0 && rows % rowsOfWarps == 0)
    return SmallVector<int64_t>{rows, columns / groups};
  return emitError(value.getLoc())
         << groups << " groups share a computed operand of " << rows
         << " rows and " << columns << " columns, expected a multiple of "
         << groups * rowsOfWarps << " rows or of " << groups * panel
         << " columns";
}

/// Each group computes and writes a part of what all of them read.
LogicalResult ChannelMaker::divide(SharedValue &shared, RoleOp role) {
  auto shape = getPartShape(shared.value, role);
  if (failed(shape))
    return failure();
  auto type = cast<RankedTensorType>(shared.value.getType());
  bool ofRows = (*shape)[0] < type.getDimSize(0);
  auto key =
      std::pair(role.getOperation(),
                Type(RankedTensorType::get(*shape, builder.getI1Type())));
  auto *known = parts.find(key);
  if (known == parts.end()) {
    builder.setInsertionPointToStart(&role.getBody().front());
    Location loc = role.getLoc();
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
    Value size = arith::ConstantIntOp::create(builder, loc,
                                              (*shape)[ofRows ? 0 : 1], 32);
    Value first = multiplyShort(builder, loc, role.getGroup(), size);
    SmallVector<Value> offsets = {ofRows ? first : zero, ofRows ? zero : first};
    known = parts.insert({key, PartOfValue(*shape, offsets)}).first;
  }
  setChannel(shared, *shape, /*banks=*/1);
  shared.written = known->second.get(shared.value);
  if (!shared.written)
    return emitError(shared.value.getLoc())
           << "several groups share an operand that is not made by elementwise "
              "operations alone, so none of them can make a part of it";
  shared.part = llvm::to_vector(known->second.getOffsets());
  return success();
}

LogicalResult ChannelMaker::make(SharedValue &shared) {
  auto role = shared.value.getParentRegion()->getParentOfType<RoleOp>();
  int64_t groups = role.getGroups();
  bool isOfGroup = groups > 1 && dependsOnGroup(shared.value, role);
  if (groups > 1 && !isOfGroup)
    return divide(shared, role);
  setChannel(shared, cast<RankedTensorType>(shared.value.getType()).getShape(),
             isOfGroup ? groups : 1);
  shared.written = shared.value;
  if (isOfGroup)
    shared.bank = role.getGroup();
  return success();
}

/// Acquires the values that are there, all before the first use of one of them,
/// so that the threads wait for each other once.
static void acquireTogether(OpBuilder &builder, ArrayRef<SharedValue *> values,
                            Operation *first) {
  for (SharedValue *shared : values) {
    Location loc = shared->value.getLoc();
    Operation *last = shared->getLast();
    builder.setInsertionPointAfterValue(shared->written);
    WriteOp::create(builder, loc, shared->channel, shared->bank, shared->part,
                    shared->written, UnitAttr(), Value(), Value());
    builder.setInsertionPoint(first);
    Value view = AcquireOp::create(
        builder, loc, shared->channel.getType().getView(), shared->channel,
        shared->bank, Value(), Value(), IntegerAttr());
    for (OpOperand *use : shared->uses)
      use->set(view);
    builder.setInsertionPointAfter(last);
    ReleaseOp::create(builder, loc, view);
  }
}

namespace {
struct ShareOperandsPass
    : public fa::impl::FAGPUShareOperandsPassBase<ShareOperandsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel))
      return;
    OpBuilder builder(&getContext());
    llvm::MapVector<Value, SharedValue> all = collect(kernel);
    llvm::MapVector<Block *, SmallVector<SharedValue *>> blocks;
    ChannelMaker channels(kernel);
    for (auto &[value, shared] : all) {
      if (failed(channels.make(shared)))
        return signalPassFailure();
      blocks[value.getParentBlock()].push_back(&shared);
    }
    for (auto &[block, rest] : blocks) {
      while (!rest.empty()) {
        Operation *first = rest.front()->getFirst();
        for (SharedValue *shared : rest)
          if (shared->getFirst()->isBeforeInBlock(first))
            first = shared->getFirst();
        SmallVector<SharedValue *> together, later;
        for (SharedValue *shared : rest)
          (shared->value.getDefiningOp()->isBeforeInBlock(first) ? together
                                                                 : later)
              .push_back(shared);
        rest = later;
        acquireTogether(builder, together, first);
      }
    }
  }
};
} // namespace
