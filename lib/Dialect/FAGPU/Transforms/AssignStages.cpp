//===- AssignStages.cpp - Stages and phases of channel uses ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UseCounters.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUASSIGNSTAGESPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {

class StageAssigner {
public:
  StageAssigner(func::FuncOp kernel, ArrayRef<ChannelUse> uses)
      : entry(OpBuilder::atBlockBegin(&kernel.getBody().front())),
        numbers(uses) {}

  LogicalResult assign(ChannelUse use) {
    if (failed(use.verifyLockstep()))
      return failure();
    Operation *op = use.getOperation();
    OpBuilder builder(op);
    Location location = op->getLoc();
    Value counter = getCounter(use);
    Value uses = memref::LoadOp::create(builder, location, counter);
    if (numbers.advances(use)) {
      Value step =
          use.getCondition()
              ? arith::ExtUIOp::create(builder, location, builder.getI32Type(),
                                       use.getCondition())
                    .getResult()
              : constant(builder, location, 1);
      Value next = arith::AddIOp::create(builder, location, uses, step);
      memref::StoreOp::create(builder, location, next, counter, ValueRange());
    }
    auto [stage, phase] = divide(builder, location, uses, use.getDepth());
    if (use.isProducer())
      phase = arith::XOrIOp::create(builder, location, phase,
                                    constant(builder, location, 1));
    use.setStage(stage, phase);
    return success();
  }

private:
  static Value constant(OpBuilder &builder, Location location, int64_t value) {
    return arith::ConstantOp::create(builder, location,
                                     builder.getI32IntegerAttr(value));
  }

  /// Stage and phase of a use: its number modulo the depth, and how often the
  /// stages have been gone round, modulo 2.
  static std::pair<Value, Value> divide(OpBuilder &builder, Location location,
                                        Value uses, unsigned depth) {
    Value one = constant(builder, location, 1);
    Value stage, round;
    if (depth == 1) {
      stage = constant(builder, location, 0);
      round = uses;
    } else if (llvm::isPowerOf2_32(depth)) {
      stage = arith::AndIOp::create(builder, location, uses,
                                    constant(builder, location, depth - 1));
      round = arith::ShRUIOp::create(
          builder, location, uses,
          constant(builder, location, llvm::Log2_32(depth)));
    } else {
      Value size = constant(builder, location, depth);
      stage = arith::RemUIOp::create(builder, location, uses, size);
      round = arith::DivUIOp::create(builder, location, uses, size);
    }
    return {stage, arith::AndIOp::create(builder, location, round, one)};
  }

  /// The counter that a use belongs to, zero at the kernel's entry.
  Value getCounter(ChannelUse use) {
    Value &counter = counters[numbers.getCounter(use)];
    if (counter)
      return counter;
    Location location = use.getOperation()->getLoc();
    counter = memref::AllocaOp::create(entry, location,
                                       MemRefType::get({}, entry.getI32Type()));
    memref::StoreOp::create(entry, location, constant(entry, location, 0),
                            counter, ValueRange());
    return counter;
  }

  OpBuilder entry;
  UseCounters numbers;
  DenseMap<unsigned, Value> counters;
};

struct AssignStagesPass
    : public fagpu::impl::FAGPUAssignStagesPassBase<AssignStagesPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    SmallVector<ChannelUse> uses;
    getOperation().walk([&](Operation *op) {
      if (ChannelUse::isUse(op))
        uses.push_back(ChannelUse(op));
    });
    StageAssigner assigner(getOperation(), uses);
    for (ChannelUse use : uses)
      if (failed(assigner.assign(use)))
        return signalPassFailure();
  }
};
} // namespace
