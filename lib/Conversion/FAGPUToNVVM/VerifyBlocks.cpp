//===- VerifyBlocks.cpp - What the conversion lowers on block values ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

bool mlir::fagpu::keepsElementsInPlace(RankedTensorType source,
                                       RankedTensorType type) {
  LayoutInterface from = getBlockLayout(source), to = getBlockLayout(type);
  ArrayRef<int64_t> shape = type.getShape();
  if (from.getThreadMap() != to.getThreadMap() ||
      from.perThread(shape) != to.perThread(shape))
    return false;
  return llvm::all_of(llvm::seq(from.perThread(shape)), [&](int64_t element) {
    return from.getElementOffset(shape, element) ==
           to.getElementOffset(shape, element);
  });
}

static LogicalResult verifyConvert(ConvertOp op) {
  RankedTensorType source = blockType(op.getSource()), type = blockType(op);
  if (keepsElementsInPlace(source, type))
    return success();
  return op.emitOpError() << "goes from layout " << source.getEncoding()
                          << " to " << type.getEncoding()
                          << ", which moves elements between threads; expected "
                             "layouts of the same elements in each thread, as "
                             "#fagpu.acc and #fagpu.opa of the same warps";
}

/// The first value of a block type with packed elements; null if there is none.
static Value findPacked(Operation *op) {
  auto isPacked = [](Value value) {
    return getBlockLayout(value.getType()) &&
           isPackedElement(getElementTypeOrSelf(value.getType()));
  };
  for (Value value : op->getOperands())
    if (isPacked(value))
      return value;
  for (Value value : op->getResults())
    if (isPacked(value))
      return value;
  return {};
}

/// 16-bit floats are packed in pairs, so they are moved, chosen and converted
/// only.
static LogicalResult verifyUnpacked(Operation *op) {
  Value packed = findPacked(op);
  if (!packed)
    return success();
  return op->emitOpError()
         << "computes on " << packed.getType()
         << ", expected 32-bit elements: arith.extf before it, and "
            "arith.truncf after it";
}

/// A conversion between a packed value and one of f32.
static LogicalResult verifyFloatConversion(Operation *op, Value packed,
                                           Value wide) {
  Type element = getElementTypeOrSelf(wide.getType());
  if (!getBlockLayout(packed.getType()) ||
      !isPackedElement(getElementTypeOrSelf(packed.getType())) ||
      element.isF32())
    return success();
  return op->emitOpError() << "converts between " << packed.getType() << " and "
                           << element << ", expected f32";
}

static LogicalResult verifyPin(PinOp op) {
  for (Value value : op.getValues()) {
    Type element = getElementTypeOrSelf(value.getType());
    if (!element.isF32() && !element.isInteger(32) && !isPackedElement(element))
      return op.emitOpError() << "keeps " << value.getType()
                              << " in place, expected f32, i32, f16 or bf16";
  }
  return success();
}

static LogicalResult verifyConstant(arith::ConstantOp op) {
  if (isa<SplatElementsAttr>(op.getValue()))
    return success();
  return op.emitOpError() << "holds a value for each element of "
                          << op.getType()
                          << ", expected one for all; a table is read by "
                             "memref.get_global and fagpu.gather";
}

/// Whether structural patterns carry block values through it.
static bool isControlFlow(Operation *op) {
  return isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::YieldOp,
             scf::ConditionOp>(op);
}

/// Operations of other dialects.
static LogicalResult verifyForeign(Operation *op) {
  auto hasLayout = [](Type type) { return getBlockLayout(type) != nullptr; };
  bool onBlocks = llvm::any_of(op->getOperandTypes(), hasLayout) ||
                  llvm::any_of(op->getResultTypes(), hasLayout);
  if (!onBlocks || isControlFlow(op))
    return success();
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
    return verifyUnpacked(op);
  return op->emitOpError() << "on block values has no lowering; expected an "
                              "elementwise operation of arith or math with one "
                              "result, tensor.splat, scf.if, scf.for or "
                              "scf.while, or one of fagpu";
}

LogicalResult mlir::fagpu::verifyBlockOperation(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](BetweenOp) { return success(); })
      .Case([](ConvertOp op) { return verifyConvert(op); })
      .Case([](BroadcastOp op) { return verifyUnpacked(op); })
      .Case([](PinOp op) { return verifyPin(op); })
      .Case([](arith::ConstantOp op) {
        return getBlockLayout(op.getType()) ? verifyConstant(op) : success();
      })
      .Case([](arith::SelectOp op) { return success(); })
      .Case([](tensor::SplatOp op) { return verifyUnpacked(op); })
      .Case([](arith::TruncFOp op) {
        return verifyFloatConversion(op, op.getOut(), op.getIn());
      })
      .Case([](arith::ExtFOp op) {
        return verifyFloatConversion(op, op.getIn(), op.getOut());
      })
      // To any float, as truncations are folded into them.
      .Case<arith::SIToFPOp, arith::UIToFPOp>([](auto) { return success(); })
      .Default([](Operation *op) { return verifyForeign(op); });
}
