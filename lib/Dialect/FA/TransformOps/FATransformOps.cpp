//===- FATransformOps.cpp - Strategies for attention ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transform dialect ops for strategies of one's own. Each calls the function
// behind a pass on one target: configure, split keys, tile, convert to
// online, specialise the mask, decompose. `FATileOp::applyToOne` is a typical
// one.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/TransformOps/FATransformOps.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Target/Target.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::transform;

#define GET_OP_CLASSES
#include "fa/Dialect/FA/TransformOps/FATransformOps.cpp.inc"

// The functions of the passes report what is wrong themselves.
static DiagnosedSilenceableFailure reported() {
  return DiagnosedSilenceableFailure::definiteFailure();
}

// The one operation of its kind that a rewrite left inside `parent`.
template <typename OpTy> static OpTy findInside(Operation *parent) {
  OpTy found;
  parent->walk([&](OpTy op) { found = op; });
  return found;
}

DiagnosedSilenceableFailure FAResultsToOutParametersOp::applyToOne(
    TransformRewriter &rewriter, func::FuncOp target,
    ApplyToEachResultList &results, TransformState &state) {
  if (failed(convertResultsToOutParameters(rewriter, target)))
    return reported();
  results.push_back(target);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
FAConfigureOp::applyToOne(TransformRewriter &rewriter, AttentionOp target,
                          ApplyToEachResultList &results,
                          TransformState &state) {
  rewriter.modifyOpInPlace(target, [&] { target.setConfigAttr(getConfig()); });
  if (failed(target.verify()))
    return reported();
  if (!getChip())
    return DiagnosedSilenceableFailure::success();
  FailureOr<Target> chip =
      Target::get(*getChip(), [&] { return emitOpError(); });
  if (failed(chip) || failed(selectConfig(target, *chip)))
    return reported();
  return DiagnosedSilenceableFailure::success();
}

void FAConfigureOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  onlyReadsHandle(getTargetMutable(), effects);
  modifiesPayload(effects);
}

DiagnosedSilenceableFailure
FASplitKeysOp::applyToOne(TransformRewriter &rewriter, AttentionOp target,
                          ApplyToEachResultList &results,
                          TransformState &state) {
  FailureOr<scf::ForallOp> loop = splitKeys(rewriter, target);
  if (failed(loop))
    return reported();
  results.push_back(findInside<AttentionOp>(*loop));
  results.push_back(*loop);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure FATileOp::applyToOne(TransformRewriter &rewriter,
                                                 AttentionOp target,
                                                 ApplyToEachResultList &results,
                                                 TransformState &state) {
  FailureOr<scf::ForallOp> loop = tileAttention(rewriter, target);
  if (failed(loop))
    return reported();
  results.push_back(findInside<AttentionOp>(*loop));
  results.push_back(*loop);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
FAConvertToOnlineOp::applyToOne(TransformRewriter &rewriter, AttentionOp target,
                                ApplyToEachResultList &results,
                                TransformState &state) {
  FailureOr<FinalizeOp> finalize = convertToOnline(rewriter, target);
  if (failed(finalize))
    return reported();
  results.push_back(finalize->getAccumulator().getDefiningOp());
  results.push_back(*finalize);
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure FASpecializeMaskOp::applyToOne(
    TransformRewriter &rewriter, OnlineAttentionOp target,
    ApplyToEachResultList &results, TransformState &state) {
  FailureOr<KeyRangesOp> ranges = specializeMask(rewriter, target);
  if (failed(ranges))
    return reported();
  results.push_back(*ranges);
  results.push_back(findInside<OnlineAttentionOp>(*ranges));
  return DiagnosedSilenceableFailure::success();
}

DiagnosedSilenceableFailure
FADecomposeOp::applyToOne(TransformRewriter &rewriter, Operation *target,
                          ApplyToEachResultList &results,
                          TransformState &state) {
  if (!isa<OnlineAttentionOp, FinalizeOp, CombineOp>(target))
    return emitDefiniteFailure()
           << "target is '" << target->getName()
           << "', expected 'fa.online_attention', 'fa.finalize' or "
              "'fa.combine'";
  return succeeded(decomposeStep(rewriter, target))
             ? DiagnosedSilenceableFailure::success()
             : reported();
}

void FADecomposeOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  consumesHandle(getTargetMutable(), effects);
  modifiesPayload(effects);
}

namespace {
class FATransformDialectExtension
    : public TransformDialectExtension<FATransformDialectExtension> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FATransformDialectExtension)

  void init() {
    // Configurations are attributes of the dialect.
    declareDependentDialect<FADialect>();
    declareGeneratedDialect<affine::AffineDialect>();
    declareGeneratedDialect<arith::ArithDialect>();
    declareGeneratedDialect<bufferization::BufferizationDialect>();
    declareGeneratedDialect<FADialect>();
    declareGeneratedDialect<linalg::LinalgDialect>();
    declareGeneratedDialect<memref::MemRefDialect>();
    declareGeneratedDialect<scf::SCFDialect>();
    declareGeneratedDialect<tensor::TensorDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "fa/Dialect/FA/TransformOps/FATransformOps.cpp.inc"
        >();
  }
};
} // namespace

void mlir::fa::registerTransformDialectExtension(DialectRegistry &registry) {
  registry.addExtensions<FATransformDialectExtension>();
  registerTransformDependencies(registry);
}
