//===- SelectConfig.cpp - Choose how an attention is tiled ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASELECTCONFIG
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static void report(Operation *op, ConfigAttr config, const Twine &reason) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << config << ": " << reason;
  remark::analysis(op->getLoc(), remark::RemarkOpts::name("Config").category(
                                     "fa-select-config"))
      << text;
}

/// Tables that score and mask regions read are of elements that a GPU's threads
/// load and a launch passes.
static LogicalResult verifyTables(AttentionOp op, StringRef target) {
  for (Value capture :
       llvm::concat<Value>(op.getScoreCaptures(), op.getMaskCaptures())) {
    auto type = dyn_cast<ShapedType>(capture.getType());
    if (!type)
      continue;
    Type element = type.getElementType();
    bool isReal = isa<FloatType>(element);
    unsigned bits = element.isIndex() ? 0 : element.getIntOrFloatBitWidth();
    if (isReal ? bits >= 16 && !element.isTF32()
               : llvm::is_contained({1u, 8u, 32u, 64u}, bits))
      continue;
    return op.emitOpError()
           << "captures a table of " << element
           << ", expected f16, bf16, f32, f64, i1, i8, i32 or i64 on " << target
           << "; the nearest is "
           << (isReal              ? "f32"
               : bits && bits < 32 ? "i32"
                                   : "i64");
  }
  return success();
}

LogicalResult mlir::fa::selectConfig(AttentionOp op, const Target &target) {
  if (!target.isCPU() && failed(verifyTables(op, target.getName())))
    return failure();
  AttentionProblem problem = AttentionProblem::get(op);
  ConfigAttr given = op.getConfigAttr();
  std::string reason = "given by hand";
  ConfigAttr config =
      given ? target.completeConfig(given, problem)
            : target.selectConfig(op.getContext(), problem, reason);
  auto emitMisfit = [&] { return op.emitOpError("config does not fit: "); };
  if (failed(target.verifyConfig(emitMisfit, config, problem)))
    return failure();
  op.setConfigAttr(config);
  if (given)
    reason += target.describeFit(config, problem);
  report(op, config, reason);
  return success();
}

LogicalResult mlir::fa::selectConfig(AttentionGradientOp op,
                                     const Target &target) {
  if (!target.isCPU())
    return op.emitOpError() << "has no lowering for " << target.getName()
                            << ", expected a CPU: gradients run there alone";
  AttentionProblem problem = AttentionProblem::get(op);
  ConfigAttr given = op.getConfigAttr();
  std::string reason = "given by hand";
  ConfigAttr config =
      given ? target.completeConfig(given, problem)
            : target.selectConfig(op.getContext(), problem, reason);
  auto emitMisfit = [&] { return op.emitOpError("config does not fit: "); };
  if (failed(target.verifyConfig(emitMisfit, config, problem)))
    return failure();
  op.setConfigAttr(config.forAnyLengths().withoutKeySplits());
  report(op, config, reason);
  return success();
}

namespace {
struct SelectConfigPass
    : public mlir::fa::impl::FASelectConfigBase<SelectConfigPass> {
  using FASelectConfigBase::FASelectConfigBase;

  void runOnOperation() override {
    FailureOr<Target> selected =
        Target::get(chip, [&] { return emitError(getOperation()->getLoc()); });
    if (failed(selected))
      return signalPassFailure();
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (auto function = dyn_cast<func::FuncOp>(op))
            return verifyAlignments(function);
          if (auto attention = dyn_cast<AttentionOp>(op))
            return selectConfig(attention, *selected);
          if (auto gradient = dyn_cast<AttentionGradientOp>(op))
            return selectConfig(gradient, *selected);
          return success();
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
