//===- Target.cpp - Limits of processors ---------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names the targets, CPU and GPU, and forwards questions about configurations
// to CPUConfigs.cpp or GPUConfigs.cpp. Limits of CPUs are the table
// CPUTargets.def. `AttentionProblem::get` collects what a choice depends on;
// begin there.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Target.h"
#include "TargetConfigs.h"
#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Threading.h"
#include "llvm/TargetParser/Host.h"
#include <numeric>
#include <unistd.h>

using namespace mlir;
using namespace mlir::fa;

namespace {

struct CPURow {
  StringLiteral name, feature;
  CPULimits limits;
};
constexpr CPURow cpuRows[] = {
#define FA_CPU_TARGET(NAME, FEATURE, ...) {NAME, FEATURE, {__VA_ARGS__}},
#include "CPUTargets.def"
};

} // namespace

/// See AttentionProblem::alignment. The stride 1 of the head dim does not
/// count.
static int64_t getAlignment(ValueRange operands) {
  int64_t common = 16;
  for (Value operand : operands) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type)
      continue;
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    auto [strides, offset] = type.getStridesAndOffset();
    if (!ShapedType::isDynamic(offset))
      common = std::gcd(common, offset * bytes);
    for (int64_t stride : strides)
      if (!ShapedType::isDynamic(stride) && stride != 1)
        common = std::gcd(common, stride * bytes);
  }
  return common;
}

/// What an attention and its gradient have in common.
template <typename OpTy>
static AttentionProblem getProblem(OpTy op, ValueRange tiles,
                                   const RegionWork &regions) {
  auto query = cast<ShapedType>(op.getQuery().getType());
  auto key = cast<ShapedType>(op.getKey().getType());
  auto value = cast<ShapedType>(op.getValue().getType());
  DimsAttr queryOrder = op.getQueryOrder(), valueOrder = op.getValueOrder();
  // The rows of a page are not the keys of a sequence.
  int64_t keys =
      op.getKeyOrder().has(DimKind::Page)
          ? ShapedType::kDynamic
          : key.getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
  return {query.getDimSize(queryOrder.positionOf(DimKind::HeadDim)),
          value.getDimSize(valueOrder.positionOf(DimKind::HeadDim)),
          query.getDimSize(queryOrder.positionOf(DimKind::Sequence)),
          keys,
          query.getElementType(),
          !op.getScore().empty(),
          !op.getMask().empty(),
          !op.getMask().empty() &&
              !MaskNormalizer(op.getMask()).getObstacles().empty(),
          op.getQueryLengths() || op.getKeyLengths(),
          getAlignment(tiles),
          regions};
}

/// The factors of weights that a score function gives, as dropout's.
static int64_t countFactors(Region &score) {
  return score.empty() ? 0
                       : score.front().getTerminator()->getNumOperands() - 1;
}

AttentionProblem AttentionProblem::get(AttentionOp op) {
  AttentionProblem problem = getProblem(
      op, {op.getQuery(), op.getKey(), op.getValue(), op.getOutput()},
      RegionWork::get(op));
  problem.valuesOfFactors = countFactors(op.getScore());
  problem.isPacked = op.getQueryStarts() && op.getKeyStarts() &&
                     !op.getKeyPages() && !op.getBatchInvariant();
  problem.isOfAnyLengths =
      op.getBatchInvariant() ||
      ((op.getQueryStarts() || op.getKeyStarts()) && !problem.isPacked);
  // Warps read gathered pages, whose memory a call allocates, and not yet
  // groups.
  if (op.getKeyPages() && op.getKey().getDefiningOp<memref::AllocOp>())
    problem.alignment = std::min<int64_t>(problem.alignment, 8);
  return problem;
}

/// Whether a number of a region depends on an index of its pairs.
static bool dependsOn(Value value, BlockArgument index) {
  SetVector<Operation *> slice;
  getForwardSlice(index, &slice);
  return value == index || slice.contains(value.getDefiningOp());
}

/// Whether a number of a region is made of indices alone.
static bool isOfIndices(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::SIToFPOp>(op) ||
         (isa_and_nonnull<math::AbsFOp, arith::NegFOp>(op) &&
          isOfIndices(op->getOperand(0)));
}

/// Whether it is a gradient, or that times an integer.
static bool isOfGradient(Value value, Value gradient) {
  if (auto negated = value.getDefiningOp<arith::NegFOp>())
    return isOfGradient(negated.getOperand(), gradient);
  auto product = value.getDefiningOp<arith::MulFOp>();
  return value == gradient ||
         (product && isOfGradient(product.getLhs(), gradient) &&
          isOfIndices(product.getRhs()));
}

/// Scores are what they were, and have the factor of dropout.
static bool hasOnlyDropout(Region &score) {
  if (score.empty() || score.front().getTerminator()->getNumOperands() < 2)
    return false;
  Operation *yield = score.front().getTerminator();
  return yield->getOperand(0) == score.getArgument(0) &&
         yield->getOperand(1).getDefiningOp<DropoutOp>();
}

/// What blocks add to gradients of captures and of the scale.
static void addCaptures(AttentionProblem &problem, AttentionGradientOp op) {
  int64_t added = 0;
  problem.addedValues = op.getScaleGradient() ? 1 : 0;
  problem.addsToCaptures =
      op.getScaleGradient() || !op.getCaptureGradients().empty();
  if (op.getScoreGradient().empty())
    return;
  Block &body = op.getScoreGradient().front();
  constexpr int64_t bytes = 2;
  for (int64_t capture : op.getDifferentiated())
    if (isStoredInBoxes(op, capture))
      problem.bytesInBoxes += bytes;
  for (auto scatter : body.getOps<ScatterGradientOp>()) {
    if (!isOfGradient(scatter.getValue(), body.getTerminator()->getOperand(0)))
      ++added;
    auto varies = [&](BlockArgument index) {
      return llvm::any_of(scatter.getIndices(),
                          [&](Value at) { return dependsOn(at, index); });
    };
    problem.addsOfQueries |=
        varies(body.getArgument(4)) && !varies(body.getArgument(5));
  }
  // With the weight beside what the region keeps, in which one value becomes
  // the gradient of the score.
  int64_t kept =
      RegionWork::getOfScoreGradient(op.getScoreGradient()).pairsBeside + 2;
  problem.valuesAtOnce = kept;
  int64_t beside = kept - (problem.gradientReadsScore ? 3 : 2);
  if (added > 0)
    added = std::max(added, beside);
  problem.addedValues += added;
  // Of a few values a thread keeps parts of a block at a time.
  constexpr int64_t few = 3;
  problem.valuesOfScore = beside > few ? beside : 0;
}

AttentionProblem AttentionProblem::get(AttentionGradientOp op) {
  AttentionProblem problem = getProblem(
      op, {op.getQuery(), op.getKey(), op.getValue(), op.getOutputGradient()},
      RegionWork());
  problem.isGradient = true;
  RegionWork mask = RegionWork::getOfMask(op.getMask());
  problem.valuesOfMask = mask.pairLoads;
  problem.regions.comparisons = mask.comparisons;
  RegionWork score = getWorkOfScore(op);
  problem.regions.tileLoads = score.tileLoads;
  problem.regions.areTilesAligned = score.areTilesAligned;
  problem.regions.unaligned = score.unaligned;
  // Of one, as the document of a row, blocks of the table leave registers.
  problem.registersOfColumns =
      mask.registersAlong > 1 ? mask.registersAlong : 0;
  // Blocks of keys visit queries.
  problem.hidesAtRunTime |=
      problem.hasMask &&
      !MaskNormalizer(op.getMask(), VisitedIndex::Query).getObstacles().empty();
  problem.mustBeDeterministic = op.getDeterministic();
  problem.isPacked = op.isRagged();
  problem.hasAllGradients =
      op.getQueryGradient() && op.getKeyGradient() && op.getValueGradient();
  // Of one that is not derived yet nothing is known.
  Region &gradient = op.getScoreGradient();
  problem.gradientReadsScore =
      problem.hasScore &&
      (gradient.empty() || !gradient.getArgument(1).use_empty());
  problem.hasFloatGradient =
      op.getQueryGradient() &&
      getElementTypeOrSelf(op.getQueryGradient().getType()).isF32();
  problem.valuesOfFactors = countFactors(op.getScore());
  problem.isDropoutAlone = hasOnlyDropout(op.getScore());
  addCaptures(problem, op);
  // What the score holds, beside what its gradient reads later.
  if (problem.valuesAtOnce)
    problem.valuesAtOnce =
        std::max(problem.valuesAtOnce, score.pairsBeside + 2);
  return problem;
}

SmallVector<StringRef> Target::getNames() {
  SmallVector<StringRef> names;
  for (const CPURow &row : cpuRows)
    names.push_back(row.name);
  for (const GPUTarget &row : getGPUTargets())
    names.push_back(row.chip);
  return names;
}

Target Target::getHost() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  int64_t threads = llvm::hardware_concurrency().compute_thread_count();
  for (const CPURow &row : cpuRows) {
    if (!features.lookup(row.feature))
      continue;
    CPULimits limits = row.limits;
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    // 0 or -1 where the system does not know.
    if (int64_t bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0)
      limits.level1Bytes = bytes;
    if (int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
      limits.level2Bytes = bytes;
#endif
    limits.threads = threads;
    return Target(row.name, limits);
  }
  // No vector unit that the table knows: one lane serves any processor.
  return Target("scalar", CPULimits{1, 16, 32768, 262144, threads});
}

FailureOr<Target> Target::get(StringRef name,
                              function_ref<InFlightDiagnostic()> emitError) {
  if (name == "cpu")
    return getHost();
  for (const CPURow &row : cpuRows)
    if (row.name == name)
      return Target(row.name, row.limits);
  if (const GPUTarget *gpu = lookupGPUTarget(name))
    return Target(gpu->chip, gpu);
  return emitError() << "unknown chip '" << name
                     << "', expected cpu (this machine) or one of "
                     << llvm::join(getNames(), ", ");
}

ConfigAttr Target::selectConfig(MLIRContext *context,
                                const AttentionProblem &problem,
                                std::string &reason) const {
  if (isCPU())
    return selectCPUConfig(context, name, getCPU(), problem, reason);
  if (problem.isGradient)
    return hasGradientByWarps(getGPU(), problem)
               ? selectWarpsGradientConfig(context, getGPU(), problem, reason)
               : selectGPUGradientConfig(context, getGPU(), problem, reason);
  return selectGPUConfig(context, getGPU(), problem, reason);
}

GradientForm Target::selectGradientForm(AttentionGradientOp op) const {
  return isCPU() ? selectCPUGradientForm(getCPU(), op) : GradientForm::two_pass;
}

ConfigAttr Target::selectKeysConfig(MLIRContext *context,
                                    const AttentionProblem &problem) const {
  if (isCPU())
    return ConfigAttr();
  return hasGradientByWarps(getGPU(), problem)
             ? selectWarpsKeysConfig(context, getGPU(), problem)
             : selectGPUKeysConfig(context, getGPU(), problem);
}

/// Without the longer ones.
static ConfigAttr completeOne(const Target &target, ConfigAttr config,
                              const AttentionProblem &problem) {
  if (!target.isCPU() && problem.isGradient)
    return hasGradientByWarps(target.getGPU(), problem)
               ? completeWarpsGradientConfig(config, problem)
               : completeGPUGradientConfig(target.getGPU(), config, problem);
  if (config.getTarget())
    return config;
  std::optional<GradientForm> form = config.getGradientForm();
  config = target.isCPU()
               ? completeCPUConfig(target.getName(), target.getCPU(), config)
               : completeGPUConfig(target.getGPU(), config, problem);
  return config.withGradientForm(form);
}

ConfigAttr Target::completeConfig(ConfigAttr config,
                                  const AttentionProblem &problem) const {
  ConfigAttr longer = config.getLonger();
  if (longer)
    longer = completeConfig(longer, problem);
  return completeOne(*this, config, problem)
      .withLengths(config.getFromKeys(), config.getFromQueries(), longer);
}

int64_t Target::chooseBlocksPerSM(ConfigAttr config,
                                  const AttentionProblem &problem) const {
  return chooseGPUBlocksPerSM(getGPU(), config, problem);
}

std::string Target::describeFit(ConfigAttr config,
                                const AttentionProblem &problem) const {
  std::string text;
  for (; !isCPU() && !problem.isGradient && config; config = config.getLonger())
    text += "; " + describeGPUFit(getGPU(), config, problem);
  return text;
}

/// Gradients read each tanh more than once, so that none is expanded.
static LogicalResult verifyNoTanh(function_ref<InFlightDiagnostic()> emitError,
                                  TargetConfigAttrInterface part) {
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(part);
  if (!gpu || (gpu.getPart().tanhSharers == GPUPart().tanhSharers &&
               !gpu.getPart().tanhInterleavesRows))
    return success();
  return emitError() << "its target part is " << part
                     << ", but gradients share no reciprocals of a tanh; "
                        "expected no tanh";
}

static LogicalResult
verifyOneBlockPerSM(function_ref<InFlightDiagnostic()> emitError,
                    TargetConfigAttrInterface part) {
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(part);
  if (!gpu || gpu.getPart().blocksPerSM == 1)
    return success();
  return emitError() << "blocks_per_sm is " << gpu.getPart().blocksPerSM
                     << ", expected 1 for gradients";
}

LogicalResult Target::verifyConfig(function_ref<InFlightDiagnostic()> emitError,
                                   ConfigAttr config,
                                   const AttentionProblem &problem) const {
  TargetConfigAttrInterface part = config.getTarget();
  StringRef kind = isCPU() ? "cpu" : "gpu";
  if (part && part.getTargetName() != kind)
    return emitError() << "its target part " << part << " is for '"
                       << part.getTargetName() << "', but the target is "
                       << name << ", expected a part for '" << kind << "'";
  auto verifyOne = [&] {
    if (isCPU())
      return verifyCPUConfig(emitError, name, getCPU(), config);
    if (!problem.isGradient)
      return verifyGPUConfig(emitError, getGPU(), config, problem);
    if (failed(verifyNoTanh(emitError, part)) ||
        failed(verifyOneBlockPerSM(emitError, part)))
      return failure();
    return hasGradientByWarps(getGPU(), problem)
               ? verifyWarpsGradientConfig(emitError, getGPU(), config, problem)
               : verifyGPUGradientConfig(emitError, getGPU(), config, problem);
  };
  if (failed(verifyOne()))
    return failure();
  if (ConfigAttr longer = config.getLonger())
    return verifyConfig(emitError, longer, problem);
  return success();
}
