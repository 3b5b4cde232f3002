//===- GPUWarpsGradientConfigs.cpp - Gradients by warps on GPUs -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The configurations of gradients whose kernels have the form `warps`: chosen,
// and verified where they are given. Rows are queries, or keys with the
// configuration `gradient_keys`. Read the table, then `getNeeds`.
//
//===----------------------------------------------------------------------===//

#include "GPUNeeds.h"
#include "TargetConfigs.h"
#include "fa/Target/GradientWarps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Rows of a block, and the most columns of a step.
struct RowsByColumns {
  int64_t rows, columns;
};
/// Blocks of queries, which visit keys, and blocks of keys, which visit
/// queries; of one pass, where sums may have any order.
struct WarpsRow {
  int64_t maxHeadDim;
  GradientForm form;
  RowsByColumns ofQueries, ofKeys, once;
};
} // namespace

// Warps of 32 rows read columns half as often as those of 16. Above head dim
// 128 the sums of both gradients of keys leave no registers for scores.
static constexpr WarpsRow table[] = {
    {64, GradientForm::two_pass, {128, 32}, {128, 32}, {128, 32}},
    {128, GradientForm::two_pass, {128, 32}, {64, 64}, {64, 64}},
    {256, GradientForm::three_pass, {64, 32}, {64, 32}, {}},
};

/// Each thread keeps addresses, indices and operands of the next instructions
/// beside sums and scores.
static constexpr int64_t registersBeside = 48;

static constexpr int64_t mostHeadDims = 256;

static int64_t getHeadDim(const AttentionProblem &problem) {
  return std::max(problem.queryHeadDim, problem.valueHeadDim);
}

static const WarpsRow &getRow(const AttentionProblem &problem) {
  for (const WarpsRow &row : table)
    if (getHeadDim(problem) <= row.maxHeadDim)
      return row;
  return table[std::size(table) - 1];
}

/// Whether sums in any order can have `one_pass`, whose warps divide the head
/// dim.
static bool takesOnePass(RowsByColumns block, const AttentionProblem &problem) {
  constexpr int64_t rowsOfWarp = 16;
  return problem.hasAllGradients && getHeadDim(problem) <= 128 &&
         problem.queryHeadDim %
                 (rowsOfWarp * getWarpsOfOnePass(block.rows, block.columns)) ==
             0;
}

static GPUPart getPart(const AttentionProblem &problem) {
  GPUPart part;
  part.stages = 2;
  part.blockTable = problem.hidesAtRunTime;
  return part;
}

namespace {
/// A kernel whose rows sum up so many columns.
struct Kernel {
  RowsByColumns block;
  int64_t sums;
  bool isOnePass = false;

  int64_t getThreads() const {
    return 32 * (isOnePass ? getWarpsOfOnePass(block.rows, block.columns) : 4);
  }
};
} // namespace

/// What a kernel takes. That of one pass brings gradients of scores to all
/// warps, and then has those of the queries in place of scores.
static GPUNeeds getNeeds(const GPUPart &part, const Kernel &kernel,
                         const AttentionProblem &problem) {
  const RowsByColumns &block = kernel.block;
  int64_t elements = 0;
  constexpr int64_t bytes = 2;
  for (int64_t headDim : {problem.queryHeadDim, problem.valueHeadDim})
    elements += llvm::alignTo(headDim, depthOfProduct);
  // Factors are made where they are used: of dropout a bit of each pair is
  // kept.
  int64_t columns =
      block.columns * ((problem.gradientReadsScore ? 3 : 2) +
                       problem.getValuesBeside() - problem.valuesOfFactors);
  int64_t numbers = block.rows * columns, shared = 0;
  if (kernel.isOnePass) {
    numbers = std::max(numbers, block.columns * problem.queryHeadDim);
    shared = block.rows * block.columns * bytes;
  }
  numbers += block.rows *
             static_cast<int64_t>(llvm::alignTo(kernel.sums, depthOfProduct));
  return {(block.rows + part.stages * block.columns) * elements * bytes +
              shared,
          numbers / kernel.getThreads() + registersBeside, 0};
}

static bool fits(const GPUNeeds &needs, const GPULimits &limits) {
  return needs.registers <= limits.registers &&
         needs.sharedBytes <= limits.sharedBytes;
}

static bool fits(const GPUPart &part, const Kernel &kernel,
                 const GPUTarget &target, const AttentionProblem &problem) {
  return fits(getNeeds(part, kernel, problem), getGPULimits(target, part));
}

/// As many columns as fit, up to those of the block; at least the depth of a
/// product.
static Kernel shrink(Kernel kernel, const GPUPart &part,
                     const GPUTarget &target, const AttentionProblem &problem) {
  while (kernel.block.columns > depthOfProduct &&
         !fits(part, kernel, target, problem))
    kernel.block.columns -= depthOfProduct;
  return kernel;
}

/// The same with half as many rows where no number of columns fits.
static RowsByColumns shrinkBlock(Kernel kernel, const GPUPart &part,
                                 const GPUTarget &target,
                                 const AttentionProblem &problem) {
  Kernel smaller = shrink(kernel, part, target, problem);
  if (!fits(part, smaller, target, problem) &&
      kernel.block.rows > rowsPerWarpGroup) {
    kernel.block.rows = rowsPerWarpGroup;
    smaller = shrink(kernel, part, target, problem);
  }
  return smaller.block;
}

bool mlir::fa::hasGradientByWarps(const GPUTarget &target,
                                  const AttentionProblem &problem) {
  return !getFormObstacle(KernelForm::warp_groups, target, problem).empty();
}

static ConfigAttr makeConfig(MLIRContext *context, int64_t queryBlock,
                             int64_t keyBlock, const GPUPart &part,
                             bool deterministic = true) {
  return ConfigAttr::get(context, queryBlock, keyBlock, /*keySplits=*/1,
                         deterministic, GPUConfigAttr::get(context, part));
}

static int64_t getSumsOfKeys(const AttentionProblem &problem) {
  return problem.queryHeadDim + problem.valueHeadDim;
}

ConfigAttr mlir::fa::selectWarpsGradientConfig(MLIRContext *context,
                                               const GPUTarget &target,
                                               const AttentionProblem &problem,
                                               std::string &reason) {
  const WarpsRow &row = getRow(problem);
  reason = llvm::formatv("gradients on {0}, warps, head dims up to {1}",
                         target.chip, row.maxHeadDim);
  GPUPart part = getPart(problem);
  // One pass is five products for seven of two.
  if (takesOnePass(row.once, problem) && !problem.mustBeDeterministic &&
      !problem.addsToCaptures) {
    Kernel once = {row.once, getSumsOfKeys(problem), /*isOnePass=*/true};
    if (fits(part, once, target, problem))
      return makeConfig(context, once.block.columns, once.block.rows, part,
                        /*deterministic=*/false)
          .withGradientForm(GradientForm::one_pass);
  }
  RowsByColumns block =
      shrinkBlock({row.ofQueries, problem.queryHeadDim}, part, target, problem);
  return makeConfig(context, block.rows, block.columns, part,
                    /*deterministic=*/!problem.addsToCaptures)
      .withGradientForm(row.form);
}

ConfigAttr mlir::fa::selectWarpsKeysConfig(MLIRContext *context,
                                           const GPUTarget &target,
                                           const AttentionProblem &problem) {
  const WarpsRow &row = getRow(problem);
  int64_t sums = row.form == GradientForm::two_pass ? getSumsOfKeys(problem)
                                                    : getHeadDim(problem);
  GPUPart part = getPart(problem);
  RowsByColumns block = shrinkBlock({row.ofKeys, sums}, part, target, problem);
  return makeConfig(context, block.columns, block.rows, part);
}

ConfigAttr
mlir::fa::completeWarpsGradientConfig(ConfigAttr config,
                                      const AttentionProblem &problem) {
  // Where sums may have any order, queries are read once.
  bool isOnePass =
      !config.getDeterministic() &&
      takesOnePass({config.getKeyBlock(), config.getQueryBlock()}, problem);
  GradientForm form = config.getGradientForm().value_or(
      isOnePass ? GradientForm::one_pass : getRow(problem).form);
  return withForm(config, form, getPart(problem));
}

static LogicalResult verifyBlock(function_ref<InFlightDiagnostic()> emitError,
                                 const GPUTarget &target, ConfigAttr config,
                                 const AttentionProblem &problem) {
  GPUPart part = cast<GPUConfigAttr>(config.getTarget()).getPart();
  Kernel kernel = {{config.getQueryBlock(), config.getKeyBlock()},
                   problem.queryHeadDim};
  StringRef rowsName = "query_block", columnsName = "key_block";
  if (config.getGradientForm() == GradientForm::one_pass) {
    kernel = {{config.getKeyBlock(), config.getQueryBlock()},
              getSumsOfKeys(problem),
              /*isOnePass=*/true};
    std::swap(rowsName, columnsName);
  }
  const RowsByColumns &block = kernel.block;
  if (block.rows != rowsPerWarpGroup && block.rows != 2 * rowsPerWarpGroup)
    return emitError() << rowsName << " is " << block.rows << ", expected "
                       << rowsPerWarpGroup << " or " << 2 * rowsPerWarpGroup
                       << ", 16 or 32 rows for each warp";
  if (block.columns % depthOfProduct || block.columns < depthOfProduct ||
      block.columns > 256)
    return emitError() << columnsName << " is " << block.columns
                       << ", expected a multiple of " << depthOfProduct
                       << " up to 256";
  if (part.stages < 1 || part.stages > 64)
    return emitError() << "stages is " << part.stages << ", expected 1 to 64";
  GPUNeeds needs = getNeeds(part, kernel, problem);
  GPULimits limits = getGPULimits(target, part);
  if (fits(needs, limits))
    return success();
  InFlightDiagnostic diagnostic = emitError()
                                  << columnsName << " = " << block.columns
                                  << " needs at least ";
  if (needs.registers <= limits.registers)
    diagnostic << needs.sharedBytes
               << " bytes of shared memory, but a block of " << target.chip
               << " has " << limits.sharedBytes;
  else
    diagnostic << needs.registers << " registers a thread, but there are "
               << limits.registers;
  Kernel nearest = shrink(kernel, part, target, problem);
  if (fits(part, nearest, target, problem))
    return diagnostic << "; the nearest is " << nearest.block.columns;
  return diagnostic << "; no smaller block fits";
}

/// Rows of the kernel are keys.
static LogicalResult verifyOnePass(function_ref<InFlightDiagnostic()> emitError,
                                   const GPUTarget &target, ConfigAttr config,
                                   const AttentionProblem &problem) {
  auto refuse = [&](const Twine &reason) {
    return emitError() << "gradient_form is one_pass, " << reason
                       << "; the nearest is "
                       << stringifyGradientForm(getRow(problem).form);
  };
  if (config.getDeterministic())
    return refuse("which adds in any order on " + target.chip +
                  ", but deterministic is true");
  if (!problem.hasAllGradients)
    return refuse("which makes the gradients of query, key and value, but not "
                  "all of them are asked for");
  if (!takesOnePass({config.getKeyBlock(), config.getQueryBlock()}, problem))
    return refuse(
        "but " +
        Twine(getWarpsOfOnePass(config.getKeyBlock(), config.getQueryBlock())) +
        " warps cannot divide the gradient of queries with head "
        "dim " +
        Twine(problem.queryHeadDim) + " beside values with " +
        Twine(problem.valueHeadDim) +
        ", expected 16 for each warp and at most 128");
  return success();
}

LogicalResult mlir::fa::verifyWarpsGradientConfig(
    function_ref<InFlightDiagnostic()> emitError, const GPUTarget &target,
    ConfigAttr config, const AttentionProblem &problem) {
  int64_t headDim = getHeadDim(problem);
  if (headDim > mostHeadDims)
    return emitError() << "head dim is " << headDim << ", but " << target.chip
                       << " takes at most " << mostHeadDims << " for gradients";
  if (problem.elementType.getIntOrFloatBitWidth() > 16)
    return emitError() << "it has no lowering for " << target.chip
                       << ", since gradients take f16 and bf16 there, not f32; "
                          "the nearest is a CPU";
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  if (!gpu || gpu.getPart().hasGroups() || gpu.getPart().columns ||
      gpu.getPart().commonStages)
    return emitError() << "its target part is " << config.getTarget()
                       << ", but these gradients take #fa.gpu<warps> on "
                       << target.chip << ", without terms";
  if (config.getKeySplits() != 1 || config.getSplitKeys())
    return emitError() << "key_splits is "
                       << (config.getSplitKeys() ? config.getSplitKeys()
                                                 : config.getKeySplits())
                       << ", expected 1 for gradients";
  GradientForm form = *config.getGradientForm();
  if (form == GradientForm::one_pass &&
      failed(verifyOnePass(emitError, target, config, problem)))
    return failure();
  if (form == GradientForm::two_pass && headDim > 128)
    return emitError() << "gradient_form is two_pass, but head dim is "
                       << headDim << ", expected at most 128 on " << target.chip
                       << "; the nearest is three_pass";
  return verifyBlock(emitError, target, config, problem);
}
