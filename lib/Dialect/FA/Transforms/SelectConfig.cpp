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

/// Keys of a block that is a part of one page, so that nothing is copied: the
/// most that are below `keyBlock`, and a multiple of 16. Small pages are
/// copied.
static int64_t fitPages(AttentionOp op, int64_t keyBlock) {
  constexpr int64_t fewest = 32, unit = 16;
  if (!op.getKeyPages())
    return keyBlock;
  int64_t rows =
      cast<ShapedType>(op.getKey().getType())
          .getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
  if (ShapedType::isDynamic(rows))
    return keyBlock;
  for (int64_t block = std::min(rows, keyBlock); block >= fewest; --block)
    if (rows % block == 0 && block % unit == 0)
      return block;
  return keyBlock;
}

/// What suits sequences of their own: keys of a block lie in one page, unless
/// results may not depend on pages. Query blocks have keys of their own each,
/// so a GPU neither sorts them nor shares what they read.
static ConfigAttr fitSequences(ConfigAttr config, AttentionOp op) {
  TargetConfigAttrInterface target = config.getTarget();
  if (auto gpu = dyn_cast_if_present<GPUConfigAttr>(target)) {
    GPUPart part = gpu.getPart();
    part.tileOrder = TileOrder::in_order;
    part.cluster = 1;
    target = GPUConfigAttr::get(config.getContext(), part);
  }
  int64_t keyBlock = config.getKeyBlock();
  if (!op.getBatchInvariant())
    keyBlock = fitPages(op, keyBlock);
  return ConfigAttr::get(config.getContext(), config.getQueryBlock(), keyBlock,
                         config.getKeySplits(), config.getDeterministic(),
                         target);
}

LogicalResult mlir::fa::selectConfig(AttentionOp op, const Target &target) {
  if (!target.isCPU() && failed(verifyTables(op, target.getName())))
    return failure();
  if (!target.isCPU() && op.getKeyPages())
    return op.emitOpError() << "has pages, which have no lowering for "
                            << target.getName() << ", expected a CPU";
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
  // The rows of all sequences are not those of one, and what depends on the
  // longest one is not the same in any batch.
  if (!given && (op.isRagged() || op.getBatchInvariant()))
    config = config.forAnyLengths().withoutKeySplits();
  if (!given && op.isRagged())
    config = fitSequences(config, op);
  op.setConfigAttr(config);
  if (given)
    reason += target.describeFit(config, problem);
  report(op, config, reason);
  return success();
}

/// A GPU has no kernels that add to gradients of captures, none for packed
/// sequences, and none whose products have two types.
static LogicalResult verifyGradientsOfGPU(AttentionGradientOp op,
                                          StringRef target) {
  if (op.getQueryStarts())
    return op.emitOpError()
           << "has packed sequences, whose gradients have no lowering for "
           << target << "; the nearest is a batch there, and this on a CPU";
  Type element = getElementTypeOrSelf(op.getQuery().getType()),
       ofOutput = getElementTypeOrSelf(op.getOutputGradient().getType());
  if (ofOutput != element)
    return op.emitOpError()
           << "has an output gradient of " << ofOutput << " beside a query of "
           << element << ", which has no lowering for " << target
           << "; the nearest is an output gradient of " << element
           << " there, and this one on a CPU";
  if (op.getCaptureGradients().empty() && !op.getScaleGradient())
    return success();
  return op.emitOpError()
         << "asks for the gradient of "
         << (op.getScaleGradient() ? "the scale" : "a capture")
         << ", which has no lowering for " << target
         << "; the nearest is query, key and value there, and this one on a "
            "CPU";
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
  if (given && given.getKeySplits() != 1)
    return emitMisfit() << "key_splits is " << given.getKeySplits()
                        << ", expected 1 for gradients";
  if (failed(target.verifyConfig(emitMisfit, config, problem)))
    return failure();
  if (!config.getGradientForm())
    config = config.withGradientForm(target.selectGradientForm(op));
  op.setConfigAttr(config.forAnyLengths().withoutKeySplits());
  if (ConfigAttr keys = target.selectKeysConfig(op.getContext(), problem))
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
