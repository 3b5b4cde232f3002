//===- Pin.cpp - Keep an order that no dependence states ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUPINPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

/// Whether threads hold the value as it is. What is made where it is used, as a
/// constant is, would take registers if it were pinned, and predicates have no
/// register that it could be pinned to.
static bool isHeld(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !getBlockLayout(type) || type.getElementType().isInteger(1) ||
      matchPattern(value, m_Constant()))
    return false;
  Operation *made = value.getDefiningOp();
  return !made || !isa<tensor::SplatOp, IotaOp, BroadcastOp>(made);
}

static void pinOperands(Operation *op) {
  op->removeAttr(FAGPUDialect::pinnedAttrName);
  SetVector<Value> values;
  for (Value operand : op->getOperands())
    if (isHeld(operand))
      values.insert(operand);
  if (values.empty()) {
    op->emitWarning("is pinned, but has no operand that threads hold: its "
                    "operands are made where they are used, so that nothing "
                    "keeps it at its place; pin what uses its result instead");
    return;
  }
  OpBuilder builder(op);
  ValueRange held = values.getArrayRef();
  auto pin = PinOp::create(builder, op->getLoc(), held.getTypes(), held);
  for (auto [value, pinned] : llvm::zip_equal(held, pin.getPinned()))
    op->replaceUsesOfWith(value, pinned);
}

namespace {
struct PinPass : public fagpu::impl::FAGPUPinPassBase<PinPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (op->hasAttr(FAGPUDialect::pinnedAttrName))
        pinOperands(op);
    });
  }
};
} // namespace
