//===- ShareOperands.cpp - Computed operands through shared memory --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelTypes.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"

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

static ChannelOp makeChannel(OpBuilder &builder, func::FuncOp kernel,
                             Value value) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*kernel.getOps<RoleOp>().begin());
  return ChannelOp::create(
      builder, value.getLoc(),
      makeChannelType(cast<RankedTensorType>(value.getType()), /*depth=*/1),
      Engine::cp_async, /*banks=*/1, Value(), IntegerAttr(), IntegerAttr(),
      DenseI32ArrayAttr());
}

/// Acquires the values that are there, all before the first use of one of them,
/// so that the threads wait for each other once.
static void acquireTogether(OpBuilder &builder, ArrayRef<SharedValue *> values,
                            Operation *first) {
  for (SharedValue *shared : values) {
    Location loc = shared->value.getLoc();
    Operation *last = shared->getLast();
    builder.setInsertionPointAfterValue(shared->value);
    WriteOp::create(builder, loc, shared->channel, Value(), ValueRange(),
                    shared->value, UnitAttr(), Value(), Value());
    builder.setInsertionPoint(first);
    Value view = AcquireOp::create(
        builder, loc, shared->channel.getType().getView(), shared->channel,
        Value(), Value(), Value(), IntegerAttr());
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
    for (auto &[value, shared] : all) {
      shared.channel = makeChannel(builder, kernel, value);
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
