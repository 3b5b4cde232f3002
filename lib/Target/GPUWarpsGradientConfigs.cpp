//===- GPUWarpsGradientConfigs.cpp - Gradients by warps on GPUs -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The configurations of gradients whose kernels have the form `warps`: chosen,
// and verified where they are given. Rows are queries, or keys with the
// configuration `gradient_keys`. Read GPUGradientTable.h,
// then `getNeeds`.
//
//===----------------------------------------------------------------------===//

#include "GPUGradientTable.h"
#include "GPUNeeds.h"
#include "TargetConfigs.h"
#include "fa/Target/GradientWarps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

using gpu_gradients::RowsByColumns;
using gpu_gradients::WarpsRow;

/// Of two warps, for score functions that hold more values than four have
/// registers for.
static constexpr RowsByColumns smallestOfFloats = {32, 32};

/// Each thread keeps addresses, indices and operands of the next instructions
/// beside sums and scores. Where operands come by parts these are counted.
static constexpr int64_t registersBeside = 48, registersBesideParts = 16;

/// The least of that, where blocks of all values are counted.
static constexpr int64_t registersAtOnce = 16, registersAtOnceOfFloats = 4;

static constexpr int64_t mostHeadDims = 256;

static int64_t getHeadDim(const AttentionProblem &problem) {
  return std::max(problem.queryHeadDim, problem.valueHeadDim);
}

static const WarpsRow &getRow(const AttentionProblem &problem) {
  ArrayRef<WarpsRow> rows = gpu_gradients::ofWarps;
  if (isSplit(problem))
    rows = gpu_gradients::ofWarpsForFloats;
  for (const WarpsRow &row : rows)
    if (getHeadDim(problem) <= row.maxHeadDim)
      return row;
  return rows.back();
}

/// Whether sums in any order can have `one_pass`, whose warps divide the head
/// dim.
static bool takesOnePass(RowsByColumns block, const AttentionProblem &problem) {
  constexpr int64_t rowsOfWarp = 16;
  return problem.hasAllGradients && !isSplit(problem) &&
         getHeadDim(problem) <= 128 &&
         problem.queryHeadDim %
                 (rowsOfWarp * getWarpsOfOnePass(block.rows, block.columns)) ==
             0;
}

/// Whether groups can divide columns: their share of a head dim is a panel of
/// shared memory, and dropout numbers the columns of all threads.
static bool takesColumnGroups(int64_t groups, const AttentionProblem &problem) {
  constexpr int64_t panel = 64;
  return problem.queryHeadDim % (panel * groups) == 0 &&
         problem.valueHeadDim % (panel * groups) == 0 &&
         problem.valuesOfFactors == 0 && !problem.isDropoutAlone;
}

static GPUPart getPart(const AttentionProblem &problem) {
  GPUPart part;
  part.blockTable = problem.hidesAtRunTime;
  // Head by head, the longest block of the last one starts late. Measured on an
  // H200, causal, from 512 to 16384, one pass: head dim 64 0.98 to 1.02, 128
  // 1.01 to 1.07, 64 heads on 8 1.17; two and three: 1.02 to 1.09, f32 0.99 to
  // 1.06.
  if (problem.hasMask)
    part.tileOrder = TileOrder::longest_first;
  part.stages = isSplit(problem) ? 1 : 2;
  part.columns = getRow(problem).operandColumns;
  part.rolled = isSplit(problem);
  return part;
}

namespace {
/// A kernel whose rows sum up so many columns.
struct Kernel {
  RowsByColumns block;
  int64_t sums;
  bool isOnePass = false;

  int64_t getThreads() const {
    return 32 * (isOnePass ? getWarpsOfOnePass(block.rows, block.columns)
                           : getWarpsOfPasses(block.rows, block.columns));
  }
};
} // namespace

/// What a kernel takes whose operands are f32: terms of both operands of rows
/// and of both of columns are in shared memory, or parts of two of columns. In
/// registers are beside the sums two scores with a part of an operand, or terms
/// of one with the product that is added to the sums.
static GPUNeeds getNeedsOfFloats(const GPUPart &part, const Kernel &kernel,
                                 const AttentionProblem &problem) {
  const RowsByColumns &block = kernel.block;
  auto perThread = [&](int64_t columns) -> int64_t {
    return llvm::divideCeil(block.rows * columns, kernel.getThreads());
  };
  int64_t headDim = llvm::alignTo(getHeadDim(problem), depthOfProduct);
  int64_t elements = block.rows + block.columns;
  elements *= llvm::alignTo(problem.queryHeadDim, depthOfProduct) +
              llvm::alignTo(problem.valueHeadDim, depthOfProduct);
  int64_t ofOperand = 0, product = headDim;
  if (part.columns) {
    elements = countSharedElements({block.rows, block.columns, part}, problem);
    // Operands of rows that are no wider stay.
    for (int64_t columns : {problem.queryHeadDim, problem.valueHeadDim})
      if (columns <= part.columns)
        elements += block.rows * part.columns;
    ofOperand = termsOfFloat * part.columns;
    product = std::min(product, part.columns);
  }
  int64_t kept = (problem.gradientReadsScore ? 2 : 1) +
                 problem.getValuesBeside() - problem.valuesOfFactors;
  int64_t scores = part.columns ? 2 : 1;
  int64_t numbers = std::max(
      perThread((kept + scores) * block.columns) + perThread(ofOperand) / 2,
      perThread(kept * block.columns) +
          perThread(termsOfFloat * block.columns) / 2 + perThread(product));
  int64_t registers =
      numbers + (part.columns ? registersBesideParts : registersBeside);
  // fagpu-check counts whole blocks of the values of a score's gradient, and
  // where operands come by parts those of a term.
  if (problem.valuesAtOnce) {
    int64_t atOnce = problem.valuesAtOnce + (part.columns ? 1 : 0);
    registers = std::max(registers, perThread(atOnce * block.columns) +
                                        registersAtOnceOfFloats);
  }
  return {elements * termsOfFloat * 2,
          perThread(llvm::alignTo(kernel.sums, depthOfProduct)) + registers, 0};
}

/// What a kernel takes. That of one pass brings gradients of scores to all
/// warps, with several groups weights too, and then has those of the queries in
/// place of scores.
static GPUNeeds getNeeds(const GPUPart &part, const Kernel &kernel,
                         const AttentionProblem &problem) {
  if (isSplit(problem))
    return getNeedsOfFloats(part, kernel, problem);
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
    if (part.columnGroups > 1)
      shared *= 2;
  }
  // fagpu-check counts whole blocks of the values of a score's gradient.
  int64_t atOnce = block.rows * block.columns * problem.valuesAtOnce;
  int64_t sums = block.rows * static_cast<int64_t>(
                                  llvm::alignTo(kernel.sums, depthOfProduct));
  int64_t registers = std::max(
      numbers / kernel.getThreads() + registersBeside,
      problem.valuesAtOnce ? atOnce / kernel.getThreads() + registersAtOnce
                           : 0);
  return {(block.rows + part.stages * block.columns) * elements * bytes +
              shared,
          registers + sums / kernel.getThreads(), 0};
}

static bool fits(const GPUNeeds &needs, const GPULimits &limits) {
  return needs.registers <= limits.registers &&
         needs.sharedBytes <= limits.sharedBytes;
}

static bool fits(const GPUPart &part, const Kernel &kernel,
                 const GPUTarget &target, const AttentionProblem &problem) {
  return fits(getNeeds(part, kernel, problem), getGPULimits(target, part));
}

/// What the columns of a step are a multiple of: the depth of a product for
/// each group, or, of f32, the rows of all warps, which split them.
static int64_t getColumnMultiple(const GPUPart &part, const Kernel &kernel,
                                 const AttentionProblem &problem) {
  return isSplit(problem) ? kernel.getThreads() / 2
                          : depthOfProduct * part.columnGroups;
}

/// As many columns as fit, up to those of the block; at least one multiple.
static Kernel shrink(Kernel kernel, const GPUPart &part,
                     const GPUTarget &target, const AttentionProblem &problem) {
  int64_t multiple = getColumnMultiple(part, kernel, problem);
  while (kernel.block.columns > multiple &&
         !fits(part, kernel, target, problem))
    kernel.block.columns -= multiple;
  return kernel;
}

/// The same with half as many rows where no number of columns fits.
static RowsByColumns shrinkBlock(Kernel kernel, const GPUPart &part,
                                 const GPUTarget &target,
                                 const AttentionProblem &problem) {
  Kernel smaller = shrink(kernel, part, target, problem);
  if (fits(part, smaller, target, problem))
    return smaller.block;
  if (isSplit(problem))
    return smallestOfFloats;
  if (kernel.block.rows > rowsPerWarpGroup) {
    kernel.block.rows = rowsPerWarpGroup;
    smaller = shrink(kernel, part, target, problem);
  }
  return smaller.block;
}

bool mlir::fa::hasGradientByWarps(const GPUTarget &target,
                                  const AttentionProblem &problem) {
  return isSplit(problem) ||
         !getFormObstacle(KernelForm::warp_groups, target, problem).empty();
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

static ConfigAttr makeOnePass(MLIRContext *context, const RowsByColumns &block,
                              const GPUPart &part) {
  return makeConfig(context, block.columns, block.rows, part,
                    /*deterministic=*/false)
      .withGradientForm(GradientForm::one_pass);
}

/// The configuration of one pass with that for long sequences.
static ConfigAttr addLonger(ConfigAttr config, const WarpsRow &row,
                            const GPUPart &part, const GPUTarget &target,
                            const AttentionProblem &problem,
                            std::string &reason) {
  Kernel kernel = {row.onceIfLong, getSumsOfKeys(problem), /*isOnePass=*/true};
  if (!row.fromLong || !isPlainGradient(problem) ||
      !takesOnePass(row.onceIfLong, problem) ||
      !fits(part, kernel, target, problem))
    return config;
  ConfigAttr longer =
      makeOnePass(config.getContext(), row.onceIfLong, part)
          .withLengths(row.fromLong, /*fromQueries=*/row.fromLong,
                       /*longer=*/{});
  reason += llvm::formatv("; from {0} keys and queries on {1} keys a block",
                          row.fromLong, row.onceIfLong.rows);
  return config.withLengths(/*fromKeys=*/0, /*fromQueries=*/0, longer);
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
    GPUPart divided = part;
    divided.columnGroups = row.groupsIfPlain;
    if (isPlainGradient(problem) &&
        takesColumnGroups(row.groupsIfPlain, problem) &&
        fits(divided, once, target, problem))
      part = divided;
    if (fits(part, once, target, problem))
      return addLonger(makeOnePass(context, once.block, part), row, part,
                       target, problem, reason);
  }
  RowsByColumns block =
      shrinkBlock({row.ofQueries, problem.queryHeadDim}, part, target, problem);
  return makeConfig(context, block.rows, block.columns, part,
                    problem.mustBeDeterministic || !problem.addsToCaptures)
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
  bool isSmallest = isSplit(problem) && block.rows == smallestOfFloats.rows &&
                    block.columns == smallestOfFloats.columns;
  int64_t most = isSplit(problem) ? rowsPerWarpGroup : 2 * rowsPerWarpGroup;
  if (!isSmallest && block.rows != rowsPerWarpGroup && block.rows != most) {
    InFlightDiagnostic diagnostic = emitError()
                                    << rowsName << " is " << block.rows
                                    << ", expected " << rowsPerWarpGroup;
    if (isSplit(problem))
      return diagnostic << ", 16 rows for each warp, or "
                        << smallestOfFloats.rows << " with " << columnsName
                        << " = " << smallestOfFloats.columns;
    return diagnostic << " or " << most << ", 16 or 32 rows for each warp";
  }
  int64_t multiple = getColumnMultiple(part, kernel, problem);
  if (block.columns % multiple || block.columns < multiple ||
      block.columns > 256)
    return emitError() << columnsName << " is " << block.columns
                       << ", expected a multiple of " << multiple
                       << " up to 256";
  int64_t stages = isSplit(problem) ? 1 : 64;
  if (part.stages < 1 || part.stages > stages)
    return emitError() << "stages is " << part.stages << ", expected 1"
                       << (isSplit(problem) ? ", as terms have" : " to 64");
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
  nearest.block = smallestOfFloats;
  if (isSplit(problem) && fits(part, nearest, target, problem))
    return diagnostic << "; the nearest is " << nearest.block.columns
                      << " with " << rowsName << " = " << nearest.block.rows;
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
  if (isSplit(problem))
    return refuse("which adds up gradients of f16 and bf16 on " + target.chip +
                  ", but the operands are f32");
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

static LogicalResult
verifyColumnGroups(function_ref<InFlightDiagnostic()> emitError,
                   ConfigAttr config, const AttentionProblem &problem) {
  int64_t groups =
      cast<GPUConfigAttr>(config.getTarget()).getPart().columnGroups;
  if (groups == 1)
    return success();
  auto refuse = [&](const Twine &reason) {
    return emitError() << "column_groups is " << groups << ", " << reason;
  };
  if (config.getGradientForm() != GradientForm::one_pass)
    return refuse("but gradient_form is " +
                  stringifyGradientForm(*config.getGradientForm()) +
                  ", expected one_pass; the nearest is column_groups = 1");
  if (problem.valuesOfFactors != 0 || problem.isDropoutAlone)
    return refuse("but dropout numbers the columns of all threads; the nearest "
                  "is 1");
  if (!takesColumnGroups(groups, problem))
    return refuse("but head dims are " + Twine(problem.queryHeadDim) + " and " +
                  Twine(problem.valueHeadDim) + ", expected multiples of " +
                  Twine(64 * groups) + "; the nearest is 1");
  return success();
}

LogicalResult mlir::fa::verifyWarpsGradientConfig(
    function_ref<InFlightDiagnostic()> emitError, const GPUTarget &target,
    ConfigAttr config, const AttentionProblem &problem) {
  int64_t headDim = getHeadDim(problem);
  if (headDim > mostHeadDims)
    return emitError() << "head dim is " << headDim << ", but " << target.chip
                       << " takes at most " << mostHeadDims << " for gradients";
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  if (!gpu || gpu.getPart().hasGroups() || gpu.getPart().keepsQueries ||
      gpu.getPart().commonStages ||
      (!isSplit(problem) && gpu.getPart().columns))
    return emitError() << "its target part is " << config.getTarget()
                       << ", but these gradients take #fa.gpu<warps> on "
                       << target.chip << ", without "
                       << (isSplit(problem) ? "keep_queries and common_stages"
                                            : "terms");
  if (config.getKeySplits() != 1 || config.getSplitKeys())
    return emitError() << "key_splits is "
                       << (config.getSplitKeys() ? config.getSplitKeys()
                                                 : config.getKeySplits())
                       << ", expected 1 for gradients";
  GradientForm form = *config.getGradientForm();
  if (form == GradientForm::one_pass &&
      failed(verifyOnePass(emitError, target, config, problem)))
    return failure();
  if (failed(verifyColumnGroups(emitError, config, problem)))
    return failure();
  // Both gradients of keys leave no registers for scores.
  int64_t most = isSplit(problem) ? 64 : 128;
  if (form == GradientForm::two_pass && headDim > most)
    return emitError() << "gradient_form is two_pass, but head dim is "
                       << headDim << ", expected at most " << most << " on "
                       << target.chip << "; the nearest is three_pass";
  return verifyBlock(emitError, target, config, problem);
}
