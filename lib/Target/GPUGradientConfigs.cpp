//===- GPUGradientConfigs.cpp - Configurations of gradients on GPUs -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the form of a gradient and the blocks of its kernels, and verifies
// ones that are given. Two groups of warps have 64 rows each: of queries, or of
// keys in `one_pass` and with the configuration `gradient_keys`. Read
// GPUGradientTable.h, then `getNeeds`.
//
//===----------------------------------------------------------------------===//

#include "GPUGradientTable.h"
#include "GPUNeeds.h"
#include "TargetConfigs.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

using gpu_gradients::GroupsRow;

static constexpr ArrayRef<GroupsRow> table = gpu_gradients::ofGroups;

static constexpr int64_t groups = 2, rows = groups * rowsPerWarpGroup;

/// Registers of the thread that copies, whose blocks take one tile. Steps of
/// more than 64 queries need what they can get, and it spills some scalars.
static constexpr int64_t leastCopyingRegisters = 24, copyingRegisters = 40;

/// Steps of fewer queries are slower than two passes. Positions of more, which
/// a score function may take, spill.
static constexpr int64_t leastOnce = 48, scoredOnce = 64;

/// What a thread keeps beside sums and scores: addresses, indices, numbers of
/// rows.
static constexpr int64_t registersBeside = 28;

/// The least of that, where blocks of all values are counted.
static constexpr int64_t registersAtOnce = 4, manyAtOnce = 6;

static const GroupsRow &getRow(const AttentionProblem &problem) {
  int64_t headDim = std::max(problem.queryHeadDim, problem.valueHeadDim);
  for (const GroupsRow &row : table)
    if (headDim <= row.maxHeadDim)
      return row;
  return table.back();
}

static GPUPart getPart(const AttentionProblem &problem, bool ofKeys) {
  GPUPart part;
  part.form = KernelForm::warp_groups;
  part.groups = groups;
  part.stages = 2;
  part.overlap = Overlap::keys;
  part.turns = ofKeys || (problem.isPacked &&
                          getRow(problem).form == GradientForm::two_pass);
  if (problem.hasMask)
    part.tileOrder = TileOrder::longest_first;
  part.blockTable = problem.hidesAtRunTime;
  // Bounds of a mask, and the query heads of a key head, are computed by the
  // thread that copies.
  bool isPlain = !problem.hasMask && !problem.hasScore && !problem.hasLengths;
  part.copyingRegisters = isPlain && !ofKeys ? 40 : 0;
  return part;
}

static ConfigAttr makeConfig(MLIRContext *context, int64_t queryBlock,
                             int64_t keyBlock, const GPUPart &part,
                             bool deterministic = true) {
  return ConfigAttr::get(context, queryBlock, keyBlock, /*keySplits=*/1,
                         deterministic, GPUConfigAttr::get(context, part));
}

/// How groups can divide the gradient of a block of queries: by rows, by
/// columns of 64 queries, or by columns that become rows, which only 16-bit
/// elements leave as columns again.
static bool dividesQueries(int64_t queries, const AttentionProblem &problem) {
  int64_t headDim = problem.queryHeadDim;
  return queries == rows || (headDim == rows && !problem.hasFloatGradient) ||
         (queries == rowsPerWarpGroup && headDim % (16 * groups) == 0);
}

/// Whether sums in any order can have `one_pass`.
static bool takesOnePass(int64_t queries, const AttentionProblem &problem) {
  return problem.hasAllGradients &&
         problem.queryHeadDim % depthOfProduct == 0 &&
         std::max(problem.queryHeadDim, problem.valueHeadDim) <= 128 &&
         dividesQueries(queries, problem);
}

/// Whether kernels of three passes are as without a score function: those with
/// dropout are 1.12 to 1.23 times as fast with as many columns, and spill some
/// of the words that they draw (measured on an H200).
static bool isAsUnscored(const AttentionProblem &problem) {
  return !problem.hasScore ||
         (problem.isDropoutAlone &&
          getRow(problem).form == GradientForm::three_pass);
}

/// What a kernel takes whose rows sum up so many columns, and go by `columns`.
static GPUNeeds getNeeds(const GPUPart &part, int64_t columns, int64_t sums,
                         bool isOnePass, const AttentionProblem &problem) {
  int64_t elements = 0;
  // Numbers of queries come with them.
  constexpr int64_t bytes = 2, numberBytes = 4;
  for (int64_t headDim : {problem.queryHeadDim, problem.valueHeadDim})
    elements += llvm::alignTo(headDim, depthOfProduct);
  // At least one of both operands has a stage of its own.
  int64_t stages = columns * elements +
                   (part.stages - 1) * columns *
                       llvm::alignTo(problem.queryHeadDim, depthOfProduct);
  if (isOnePass) {
    // All operands have their stages; gradients of scores have two, and their
    // products leave through a tile of f32.
    stages = columns * (part.stages * elements + 2 * rows) +
             columns * problem.queryHeadDim * numberBytes / bytes;
    // Gradients of keys and of values leave through one tile of their own.
    if (part.overlap != Overlap::keys)
      stages += rows * std::max(problem.queryHeadDim, problem.valueHeadDim);
  }
  // What a score reads of each pair has one stage.
  if (part.captures == Captures::tiles)
    stages += problem.regions.tileLoads * rows * columns;
  // What leaves in boxes does so through a tile.
  stages += problem.bytesInBoxes * rows * columns / bytes;
  int64_t beside = std::max(problem.getValuesBeside(), problem.valuesOfScore);
  if (isAsUnscored(problem))
    beside -= problem.valuesOfFactors;
  // Nothing is smaller than blocks of these columns: they may spill a little.
  bool isSmallest = problem.valuesOfScore > 0 && columns == depthOfProduct;
  int64_t registers =
      columns * ((problem.gradientReadsScore ? 3 : 2) + beside) / 2 +
      columns * problem.registersOfColumns / 4 +
      (isSmallest ? registersAtOnce : registersBeside);
  // fagpu-check counts whole blocks. Of many values, kernels of several passes
  // hold one more.
  if (problem.valuesAtOnce && !isAsUnscored(problem)) {
    int64_t atOnce = problem.valuesAtOnce;
    if (!isOnePass && atOnce >= manyAtOnce && columns > depthOfProduct)
      ++atOnce;
    registers = std::max(registers, columns * atOnce / 2 + registersAtOnce);
  }
  return {(rows * elements + stages) * bytes +
              2 * part.stages * columns * numberBytes + barrierBytes,
          registers + sums / 2, 0};
}

static bool fits(const GPUNeeds &needs, const GPULimits &limits) {
  return needs.registers <= limits.registers &&
         needs.sharedBytes <= limits.sharedBytes;
}

/// Blocks take one tile after the other where shared memory holds what one
/// stores beside what the next one loads (measured on an H200: with 80 queries
/// a step it does not, and these are worth more without a mask).
static GPUPart getOnePassPart(const GPUTarget &target, int64_t queries,
                              const AttentionProblem &problem) {
  GPUPart part = getPart(problem, /*ofKeys=*/true);
  part.copyingRegisters =
      queries > rowsPerWarpGroup ? leastCopyingRegisters : copyingRegisters;
  // Copies of what a score reads of each pair run ahead of the products.
  GPUPart ofCaptures = part;
  ofCaptures.captures = Captures::tiles;
  int64_t sums = problem.queryHeadDim + problem.valueHeadDim;
  if (problem.regions.tileLoads && problem.regions.areTilesAligned &&
      fits(getNeeds(ofCaptures, queries, sums, /*isOnePass=*/true, problem),
           getGPULimits(target, ofCaptures)))
    part = ofCaptures;
  GPUPart ofTiles = part;
  ofTiles.overlap = problem.hasMask && getRow(problem).tilesIfMaskedBelow
                        ? Overlap::stores
                        : Overlap::tiles;
  bool isPlain =
      !problem.hasScore && problem.addedValues == 0 && !part.blockTable;
  return isPlain && fits(getNeeds(ofTiles, queries, sums, /*isOnePass=*/true,
                                  problem),
                         getGPULimits(target, ofTiles))
             ? ofTiles
             : part;
}

/// How many queries a step of one pass takes: those of the table, or as many
/// as a score that is kept leaves registers for. 0 where two passes are taken.
static int64_t getQueriesOnce(const GroupsRow &row, const GPUTarget &target,
                              const AttentionProblem &problem) {
  // Elements that queries share have rows of their own in blocks of these.
  if (problem.mustBeDeterministic || problem.addsOfQueries)
    return 0;
  // A list has blocks as long as those of numbers of queries, which 80 are not.
  bool takesFew = problem.hasMask || problem.isPacked;
  int64_t most = takesFew ? row.onceIfMasked : row.once;
  if (problem.hasScore)
    most = std::min(most, scoredOnce);
  for (int64_t queries = most; queries >= leastOnce;
       queries -= depthOfProduct) {
    GPUPart part = getOnePassPart(target, queries, problem);
    if (takesOnePass(queries, problem) &&
        fits(getNeeds(part, queries,
                      problem.queryHeadDim + problem.valueHeadDim,
                      /*isOnePass=*/true, problem),
             getGPULimits(target, part)))
      return queries;
  }
  return 0;
}

static ConfigAttr makeOnePass(MLIRContext *context, const GPUTarget &target,
                              int64_t queries,
                              const AttentionProblem &problem) {
  return makeConfig(context, queries, rows,
                    getOnePassPart(target, queries, problem),
                    /*deterministic=*/false)
      .withGradientForm(GradientForm::one_pass);
}

bool mlir::fa::isPlainGradient(const AttentionProblem &problem) {
  bool isBounded = !problem.hasMask || (!problem.hidesAtRunTime &&
                                        problem.regions.comparisons == 1);
  return isBounded && !problem.hasScore && !problem.hasLengths &&
         !problem.isPacked && !problem.addsToCaptures &&
         problem.getValuesBeside() == 0;
}

/// That of short sequences, whose tiles overlap, and `config` for long ones.
static ConfigAttr addShortTiles(ConfigAttr config, int64_t below) {
  GPUPart part = cast<GPUConfigAttr>(config.getTarget()).getPart();
  part.overlap = Overlap::tiles;
  part.copyingRegisters = copyingRegisters;
  ConfigAttr longer = config.withLengths(below, /*fromQueries=*/below,
                                         /*longer=*/{});
  return makeConfig(config.getContext(), config.getQueryBlock(),
                    config.getKeyBlock(), part, /*deterministic=*/false)
      .withGradientForm(GradientForm::one_pass)
      .withLengths(/*fromKeys=*/0, /*fromQueries=*/0, longer);
}

/// The configuration of one pass with that for long sequences.
/// fa-version-lengths says which of both it is, by lengths and by heads.
static ConfigAttr addLonger(ConfigAttr config, const GroupsRow &row,
                            const GPUTarget &target,
                            const AttentionProblem &problem,
                            std::string &reason) {
  if (!problem.hasMask || !isPlainGradient(problem))
    return config;
  if (int64_t below = row.tilesIfMaskedBelow;
      below && cast<GPUConfigAttr>(config.getTarget()).getPart().overlap ==
                   Overlap::stores) {
    reason += llvm::formatv("; tiles overlap below {0} keys or queries", below);
    return addShortTiles(config, below);
  }
  if (!row.fromLong || !takesOnePass(row.onceIfLong, problem))
    return config;
  ConfigAttr longer =
      makeOnePass(config.getContext(), target, row.onceIfLong, problem)
          .withLengths(row.fromLong, /*fromQueries=*/row.fromLong,
                       /*longer=*/{});
  reason += llvm::formatv("; from {0} keys and queries on {1} queries a step",
                          row.fromLong, row.onceIfLong);
  return config.withLengths(/*fromKeys=*/0, /*fromQueries=*/0, longer);
}

static ConfigAttr makePasses(MLIRContext *context, const GroupsRow &row,
                             const GPUTarget &target,
                             const AttentionProblem &problem);

/// The configuration of packed sequences: of few blocks each a pass more costs
/// less than sums in memory and what leads to a block.
static ConfigAttr addShorter(ConfigAttr onePass, const GroupsRow &row,
                             const GPUTarget &target,
                             const AttentionProblem &problem,
                             std::string &reason) {
  bool isPlain = !problem.hasScore && !problem.addsToCaptures;
  int64_t from = problem.hasMask ? row.fromPackedIfMasked : row.fromPacked;
  if (!from)
    return onePass;
  MLIRContext *context = onePass.getContext();
  // With a score function, short documents without a mask were timed alone.
  bool takesPasses = row.packedPassesIfScored && !problem.hasMask;
  if (!isPlain)
    return takesPasses ? makePasses(context, row, target, problem) : onePass;
  reason +=
      llvm::formatv("; two passes below {0} keys or queries in the mean", from);
  return makePasses(context, row, target, problem)
      .withLengths(
          /*fromKeys=*/0, /*fromQueries=*/0,
          onePass.withLengths(from, /*fromQueries=*/from, /*longer=*/{}));
}

/// As many columns of a step, or as few as leave registers for what is kept
/// beside scores.
static int64_t leaveRegisters(int64_t columns, int64_t sums,
                              const GPUPart &part, const GPUTarget &target,
                              const AttentionProblem &problem) {
  bool isMeasured = problem.getValuesBeside() == 0 &&
                    problem.valuesOfScore == 0 && problem.valuesAtOnce == 0 &&
                    problem.registersOfColumns == 0;
  while (!isMeasured && columns > depthOfProduct &&
         !fits(getNeeds(part, columns, sums, /*isOnePass=*/false, problem),
               getGPULimits(target, part)))
    columns -= depthOfProduct;
  return columns;
}

ConfigAttr mlir::fa::selectGPUGradientConfig(MLIRContext *context,
                                             const GPUTarget &target,
                                             const AttentionProblem &problem,
                                             std::string &reason) {
  const GroupsRow &row = getRow(problem);
  reason = llvm::formatv("gradients on {0}, head dims up to {1}", target.chip,
                         row.maxHeadDim);
  // One pass is five products for seven of two.
  if (int64_t queries = getQueriesOnce(row, target, problem)) {
    ConfigAttr once = makeOnePass(context, target, queries, problem);
    return problem.isPacked ? addShorter(once, row, target, problem, reason)
                            : addLonger(once, row, target, problem, reason);
  }
  return makePasses(context, row, target, problem);
}

/// Of two passes, or of three.
static ConfigAttr makePasses(MLIRContext *context, const GroupsRow &row,
                             const GPUTarget &target,
                             const AttentionProblem &problem) {
  // Half of the sums of blocks of keys at most: twice as many columns.
  int64_t keys = problem.isPacked ? row.packedKeys : row.keys;
  if (!isAsUnscored(problem))
    keys = std::min(keys, row.form == GradientForm::two_pass ? 2 * row.ifScored
                                                             : row.ifScored);
  GPUPart part = getPart(problem, /*ofKeys=*/false);
  keys = leaveRegisters(keys, problem.queryHeadDim, part, target, problem);
  return makeConfig(context, rows, keys, part,
                    problem.mustBeDeterministic || !problem.addsToCaptures)
      .withGradientForm(row.form);
}

ConfigAttr mlir::fa::selectGPUKeysConfig(MLIRContext *context,
                                         const GPUTarget &target,
                                         const AttentionProblem &problem) {
  const GroupsRow &row = getRow(problem);
  int64_t queries = !isAsUnscored(problem) ? row.ifScored
                    : problem.hasMask      ? row.queriesIfMasked
                                           : row.queries;
  GPUPart part = getPart(problem, /*ofKeys=*/true);
  // A kernel of three passes sums up one gradient of keys.
  int64_t sums = row.form == GradientForm::three_pass
                     ? std::max(problem.queryHeadDim, problem.valueHeadDim)
                     : problem.queryHeadDim + problem.valueHeadDim;
  return makeConfig(context,
                    leaveRegisters(queries, sums, part, target, problem), rows,
                    part);
}

ConfigAttr mlir::fa::withForm(ConfigAttr config, GradientForm form,
                              const GPUPart &part) {
  if (!config.getTarget())
    config = config.withTarget(GPUConfigAttr::get(config.getContext(), part));
  return config.withGradientForm(form);
}

ConfigAttr
mlir::fa::completeGPUGradientConfig(const GPUTarget &target, ConfigAttr config,
                                    const AttentionProblem &problem) {
  // Where sums may have any order, queries are read once.
  bool isOnePass = !config.getDeterministic() &&
                   takesOnePass(config.getQueryBlock(), problem);
  GradientForm form = config.getGradientForm().value_or(
      isOnePass ? GradientForm::one_pass : getRow(problem).form);
  return withForm(config, form,
                  form == GradientForm::one_pass
                      ? getOnePassPart(target, config.getQueryBlock(), problem)
                      : getPart(problem, /*ofKeys=*/false));
}

static LogicalResult verifyKernel(function_ref<InFlightDiagnostic()> emitError,
                                  const GPUTarget &target, ConfigAttr config,
                                  int64_t ofRows, StringRef rowsName,
                                  int64_t columns, StringRef columnsName,
                                  int64_t sums,
                                  const AttentionProblem &problem) {
  bool isOnePass = config.getGradientForm() == GradientForm::one_pass;
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  if (!gpu || !gpu.getPart().hasGroups() || gpu.getPart().groups != groups ||
      (gpu.getPart().overlap != Overlap::keys &&
       !(isOnePass && gpu.getPart().hasOverlap())) ||
      gpu.getPart().cluster != 1)
    return emitError() << "its target part is " << config.getTarget()
                       << ", but gradients on " << target.chip
                       << " take #fa.gpu<warp_groups<groups = " << groups
                       << ", overlap = keys>>, "
                       << (isOnePass ? "tiles or stores, " : "")
                       << "without cluster";
  if (ofRows != rows)
    return emitError() << rowsName << " is " << ofRows << ", expected " << rows
                       << ", 64 rows for each of " << groups << " groups";
  if (columns % depthOfProduct || columns < depthOfProduct || columns > 256)
    return emitError() << columnsName << " is " << columns
                       << ", expected a multiple of " << depthOfProduct
                       << " up to 256";
  int64_t stages = gpu.getPart().stages;
  if (stages < 1 || stages > 64)
    return emitError() << "stages is " << stages << ", expected 1 to 64";
  GPUNeeds needs = getNeeds(gpu.getPart(), columns, sums, isOnePass, problem);
  GPULimits limits = getGPULimits(target, gpu.getPart());
  if (fits(needs, limits))
    return success();
  bool fitsRegisters = needs.registers <= limits.registers;
  int64_t nearest = columns;
  auto isFit = [&](int64_t number) {
    return (!isOnePass || dividesQueries(number, problem)) &&
           fits(getNeeds(gpu.getPart(), number, sums, isOnePass, problem),
                limits);
  };
  while (nearest > depthOfProduct && !isFit(nearest))
    nearest -= depthOfProduct;
  InFlightDiagnostic diagnostic = emitError() << columnsName << " = " << columns
                                              << " needs at least ";
  if (fitsRegisters)
    diagnostic << needs.sharedBytes
               << " bytes of shared memory, but a block of " << target.chip
               << " has " << limits.sharedBytes;
  else
    diagnostic << needs.registers << " registers a thread, but there are "
               << limits.registers;
  if (isFit(nearest))
    return diagnostic << "; the nearest is " << nearest;
  return diagnostic << "; no smaller block fits";
}

/// Rows of the kernel are keys.
static LogicalResult verifyOnePass(function_ref<InFlightDiagnostic()> emitError,
                                   const GPUTarget &target, ConfigAttr config,
                                   const AttentionProblem &problem) {
  StringRef nearest = problem.queryHeadDim > 128 ? "three_pass" : "two_pass";
  if (config.getDeterministic())
    return emitError() << "gradient_form is one_pass, which adds in any order "
                          "on "
                       << target.chip
                       << ", but deterministic is true; expected deterministic "
                          "= false, or gradient_form = "
                       << nearest;
  if (!problem.hasAllGradients)
    return emitError() << "gradient_form is one_pass, which makes the "
                          "gradients of query, key and value, but not all of "
                          "them are asked for; the nearest is "
                       << nearest;
  int64_t headDim = problem.queryHeadDim;
  if (headDim % depthOfProduct ||
      !dividesQueries(config.getQueryBlock(), problem))
    return emitError() << "gradient_form is one_pass, but " << groups
                       << " groups cannot divide the gradient of query_block = "
                       << config.getQueryBlock() << " queries with head dim "
                       << headDim << "; expected " << rows << " queries"
                       << (headDim % (16 * groups) ? "" : ", or 64")
                       << (headDim == rows && !problem.hasFloatGradient
                               ? ", or a multiple of 16"
                               : "")
                       << ", or gradient_form = " << nearest;
  return verifyKernel(emitError, target, config, config.getKeyBlock(),
                      "key_block", config.getQueryBlock(), "query_block",
                      problem.queryHeadDim + problem.valueHeadDim, problem);
}

LogicalResult
mlir::fa::verifyGPUGradientConfig(function_ref<InFlightDiagnostic()> emitError,
                                  const GPUTarget &target, ConfigAttr config,
                                  const AttentionProblem &problem) {
  int64_t headDim = std::max(problem.queryHeadDim, problem.valueHeadDim);
  if (headDim > table.back().maxHeadDim)
    return emitError() << "head dim is " << headDim << ", but " << target.chip
                       << " takes at most " << table.back().maxHeadDim
                       << " for gradients";
  auto refuse = [&](const Twine &reason) {
    return emitError() << "it has no lowering for " << target.chip << ", since "
                       << reason << "; the nearest is a CPU";
  };
  if (problem.elementType.getIntOrFloatBitWidth() > 16)
    return refuse("gradients take f16 and bf16 there, not f32");
  std::string obstacle =
      getFormObstacle(KernelForm::warp_groups, target, problem);
  if (!obstacle.empty())
    return refuse(obstacle);
  if (config.getKeySplits() != 1)
    return emitError() << "key_splits is " << config.getKeySplits()
                       << ", expected 1 for gradients";
  if (config.getSplitKeys())
    return emitError() << "split_keys is " << config.getSplitKeys()
                       << ", expected none for gradients";
  if (auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
      gpu && failed(verifyCaptures(emitError, gpu.getPart(), problem)))
    return failure();
  GradientForm form = *config.getGradientForm();
  if (form == GradientForm::one_pass)
    return verifyOnePass(emitError, target, config, problem);
  if (form == GradientForm::two_pass && headDim > 128)
    return emitError() << "gradient_form is two_pass, but head dim is "
                       << headDim << ", expected at most 128 on " << target.chip
                       << "; the nearest is three_pass";
  return verifyKernel(emitError, target, config, config.getQueryBlock(),
                      "query_block", config.getKeyBlock(), "key_block",
                      problem.queryHeadDim, problem);
}
