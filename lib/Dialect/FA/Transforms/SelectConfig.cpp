//===- SelectConfig.cpp - Choose how an attention is tiled ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target's tables choose a configuration; what it does not fit is said.
// Then it is suited to the sequences and the machine (FitConfig.cpp). Attention
// first, then gradients.
//
//===----------------------------------------------------------------------===//

#include "FitConfig.h"
#include "MergedColumns.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Target/OrderedSums.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

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
template <typename OpTy>
static LogicalResult verifyTables(OpTy op, StringRef target) {
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
  if (given && given.getGradientForm())
    return op.emitOpError() << "config has gradient_form = "
                            << stringifyGradientForm(*given.getGradientForm())
                            << ", expected none: only fa.attention_gradient "
                               "has a form";
  std::string reason = "given by hand";
  ConfigAttr config =
      given ? target.completeConfig(given, problem)
            : target.selectConfig(op.getContext(), problem, reason);
  auto emitMisfit = [&] { return op.emitOpError("config does not fit: "); };
  if (failed(target.verifyConfig(emitMisfit, config, problem)))
    return failure();
  if (!target.isCPU() && config.splitsKeys() &&
      !mergesOnGPU(problem.valueHeadDim))
    return emitMisfit() << "splits keys of head dim " << problem.valueHeadDim
                        << ", whose rows fit no registers where parts are "
                           "merged, expected at most "
                        << mostMergedColumns << " or a multiple of "
                        << leastMergedColumns << "; the nearest is no parts";
  // The rows of all sequences are not those of one, and what depends on the
  // longest one is not the same in any batch. Packed ones go by their mean.
  if (!given && (op.isRagged() || op.getBatchInvariant()))
    config =
        (problem.isPacked ? config : config.forAnyLengths()).withoutKeySplits();
  if (!given && op.isRagged())
    config = fitSequences(config, op);
  if (!given) {
    config = fillThreads(config, op, target, reason);
    config = fillDevice(config, op, target, reason);
  }
  if (!target.isCPU() && (!given || !given.getTarget()))
    config = shareProcessors(config, op, target, problem);
  if (!target.isCPU() &&
      failed(
          verifyPages(op, config, static_cast<bool>(given), target.getName())))
    return failure();
  op.setConfigAttr(config);
  if (given)
    reason += target.describeFit(config, problem);
  report(op, config, reason);
  return success();
}

/// A GPU has no kernels that add to gradients of a sink's captures, and none
/// whose products have two types.
static LogicalResult verifyGradientsOfGPU(AttentionGradientOp op,
                                          StringRef target) {
  Type element = getElementTypeOrSelf(op.getQuery().getType()),
       ofOutput = getElementTypeOrSelf(op.getOutputGradient().getType());
  if (ofOutput != element)
    return op.emitOpError()
           << "has an output gradient of " << ofOutput << " beside a query of "
           << element << ", which has no lowering for " << target
           << "; the nearest is an output gradient of " << element
           << " there, and this one on a CPU";
  if (!op.getSinkCaptureGradients().empty())
    return op.emitOpError()
           << "asks for the gradient of a capture of the sink, which has no "
              "lowering for "
           << target
           << "; the nearest is query, key, value and captures of the score "
              "there, and this one on a CPU";
  ConfigAttr given = op.getConfigAttr();
  bool isOrdered = op.getDeterministic() || (given && given.getDeterministic());
  if (!isOrdered)
    return success();
  for (int64_t capture : op.getDifferentiated())
    if (getOrderedSum(op, capture) == OrderedSum::none)
      return op.emitOpError()
             << "asks for the gradient of capture " << capture
             << ", whose elements pairs of a block share and add to in any "
                "order on "
             << target << ", but "
             << (op.getDeterministic() ? "is deterministic"
                                       : "its config has deterministic = true")
             << "; the nearest is an index of query alone, of key alone beside "
                "the gradient of key or value, of neither, or of batch, head, "
                "query and key, or deterministic = false there, and this one "
                "on a CPU";
  return success();
}

/// Each configuration of the chain with a form, and without parts of the keys.
static ConfigAttr forGradients(ConfigAttr config, GradientForm form) {
  if (ConfigAttr longer = config.getLonger())
    config = config.withLengths(config.getFromKeys(), config.getFromQueries(),
                                forGradients(longer, form));
  return config.withoutKeySplits().withGradientForm(
      config.getGradientForm().value_or(form));
}

/// Whether blocks of keys of some version have a configuration of their own.
static bool visitsKeysApart(ConfigAttr config) {
  for (; config; config = config.getLonger())
    if (config.getGradientForm() != GradientForm::one_pass)
      return true;
  return false;
}

LogicalResult mlir::fa::selectConfig(AttentionGradientOp op,
                                     const Target &target) {
  if (!target.isCPU() && (failed(verifyTables(op, target.getName())) ||
                          failed(verifyGradientsOfGPU(op, target.getName()))))
    return failure();
  AttentionProblem problem = AttentionProblem::get(op);
  ConfigAttr given = op.getConfigAttr();
  std::string reason = "given by hand";
  ConfigAttr config =
      given ? target.completeConfig(given, problem)
            : target.selectConfig(op.getContext(), problem, reason);
  auto emitMisfit = [&] { return op.emitOpError("config does not fit: "); };
  for (ConfigAttr one = given; one; one = one.getLonger())
    if (one.getKeySplits() != 1)
      return emitMisfit() << "key_splits is " << one.getKeySplits()
                          << ", expected 1 for gradients";
  if (failed(target.verifyConfig(emitMisfit, config, problem)))
    return failure();
  config = forGradients(config, target.selectGradientForm(op));
  op.setConfigAttr(config);
  if (ConfigAttr keys = visitsKeysApart(config)
                            ? target.selectKeysConfig(op.getContext(), problem)
                            : ConfigAttr())
    op->setAttr(gradientKeysAttrName, keys);
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
