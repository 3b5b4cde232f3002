//===- GPUConfigs.cpp - Configurations of GPUs ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the configuration of an attention for a GPU, and verifies one that
// is given: the first row of the table (GPUConfigTable.h) that takes the
// problem and fits the chip. Read `selectGPUConfig`, then `takes` and
// `verifyGPUConfig`.
//
//===----------------------------------------------------------------------===//

#include "GPUConfigTable.h"
#include "GPUNeeds.h"
#include "TargetConfigs.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

using gpu_configs::Row;

// A query of more does not fit the registers of a warp's threads.
static constexpr int64_t maxGPUHeadDim = 256;

static bool isFloat(const AttentionProblem &problem) {
  return problem.elementType.getIntOrFloatBitWidth() > 16;
}

/// Whether rows are copied 16 bytes at a time, at known places.
static bool hasWholeRows(const AttentionProblem &problem) {
  int64_t bits = problem.elementType.getIntOrFloatBitWidth();
  return problem.queryHeadDim * bits % 128 == 0 &&
         problem.valueHeadDim * bits % 128 == 0;
}

/// Whether the mask compares several times, as a window or a prefix does, or
/// where nothing is known before the launch.
static bool hasSeveralBounds(const AttentionProblem &problem) {
  return problem.hidesAtRunTime || problem.regions.comparisons > 1;
}

/// Chooses turns, and how a tanh is shared. Turns order the exponentials of
/// groups, and ptxas arranges instructions by the order of elements.
static void scheduleTanh(GPUPart &part, const AttentionProblem &problem) {
  int64_t headDim = std::max(problem.queryHeadDim, problem.valueHeadDim);
  if (headDim > gpu_configs::widestForTanh)
    return;
  if (problem.regions.hasApproximateTanh) {
    part.turns = false;
    return;
  }
  if (part.overlap != Overlap::tiles) {
    part.turns &= problem.hasMask;
    return;
  }
  // The running maximum that f16 has costs as much as turns gain.
  if (!problem.elementType.isBF16()) {
    part.turns &= problem.hasMask && hasSeveralBounds(problem);
    return;
  }
  const auto *row = llvm::find_if(gpu_configs::tanhTable, [&](const auto &row) {
    return headDim <= row.maxHeadDim;
  });
  gpu_configs::TanhChoice choice =
      row->choices[problem.hasMask][problem.regions.hasConstantCap];
  part.turns = choice.turns;
  part.tanhSharers = choice.sharers;
  part.tanhInterleavesRows = choice.interleavesRows;
}

/// The blocks of a row, with its part for this problem.
static GPUTile getTile(const Row &row, const AttentionProblem &problem) {
  GPUPart part = row.part;
  if (part.hasGroups() && problem.regions.tileLoads &&
      problem.regions.areTilesAligned)
    part.captures = Captures::tiles;
  // Head by head, the longest tile of the last one starts late. Measured on an
  // H200, causal, by warps: 1.00 to 1.11 of the speed, f32 0.97 to 1.15. Of a
  // mask that is known at run time alone the last tile is none of the longest:
  // documents by warps 0.85 to 1.02, f32 1.01 to 1.11. Other rows leave no
  // registers for the number of the tile.
  bool lastIsLongest =
      problem.hasMask &&
      (!problem.hidesAtRunTime || part.hasGroups() || isFloat(problem));
  if (lastIsLongest && row.mostQueries == 0 && hasWholeRows(problem))
    part.tileOrder = TileOrder::longest_first;
  if (row.rescalesBeforeIfUnmasked && !problem.hasMask)
    part.rescale = RescalePlace::before_product;
  if (row.turnsByMask && problem.hasMask && !problem.hasScore) {
    part.turns = hasSeveralBounds(problem);
    if (part.turns)
      part.rescale = RescalePlace::before_product;
  }
  if (problem.regions.hasTanh && part.hasGroups())
    scheduleTanh(part, problem);
  // Bounds of a mask and what a score function reads may be copied too.
  if (problem.hasScore || problem.hasMask)
    part.copyingRegisters = 0;
  // Query blocks of a head see different keys, and cannot share the copies.
  if (problem.hasMask || problem.hasLengths)
    part.cluster = 1;
  // A step of f32 is six products long, and ptxas takes as long for a copy.
  part.rolled = isFloat(problem) && !part.hasOverlap();
  return {row.queryBlock, row.keyBlock, part};
}

static bool isFor(const Row &row, const GPUTarget &target) {
  return row.chips[0].empty() || llvm::is_contained(row.chips, target.chip);
}

static bool takesElements(const Row &row, const AttentionProblem &problem) {
  return row.elements == Row::Elements::Any ||
         (row.elements == Row::Elements::Floats) == isFloat(problem);
}

static bool takes(const Row &row, const AttentionProblem &problem) {
  bool hasFew = !ShapedType::isDynamic(problem.queries) &&
                problem.queries <= row.mostQueries;
  constexpr int64_t severalBlocks = 4;
  bool hasMany = !problem.isOfAnyLengths && !problem.hidesAtRunTime &&
                 (ShapedType::isDynamic(problem.keys) ||
                  problem.keys >= severalBlocks * row.keyBlock);
  return std::max(problem.queryHeadDim, problem.valueHeadDim) <=
             row.maxHeadDim &&
         takesElements(row, problem) && (!row.mostQueries || hasFew) &&
         (!row.needsManyKeys || hasMany);
}

/// Whether two rows are for the same problems, but for the lengths.
static bool areAlike(const Row &row, const Row &other) {
  return ArrayRef<StringRef>(row.chips) == ArrayRef<StringRef>(other.chips) &&
         row.part.form == other.part.form && row.elements == other.elements &&
         row.maxHeadDim == other.maxHeadDim &&
         row.mostQueries == other.mostQueries;
}

/// Whether a row is chosen beside another one, for some lengths.
static bool isForLengths(const Row &row) {
  return row.fromKeys != 0 || row.mostInMean != 0;
}

static std::string describe(const Row &row, const GPUTarget &target) {
  return llvm::formatv("table row {0}, {1}, head dims up to {2}{3}",
                       target.chip, stringifyKernelForm(row.part.form),
                       row.maxHeadDim,
                       row.elements == Row::Elements::Floats ? ", f32" : "");
}

static std::string describeNeeds(const GPUTile &tile, const GPUTarget &target,
                                 const AttentionProblem &problem) {
  GPUNeeds needs = getGPUNeeds(tile, problem);
  GPULimits limits = getGPULimits(target, tile.part);
  std::string text = llvm::formatv(
      "{0} of {1} registers a thread, {2} of {3} bytes of shared memory",
      needs.registers, limits.registers, needs.sharedBytes, limits.sharedBytes);
  if (needs.copyingRegisters > limits.copyingRegisters)
    text += llvm::formatv(", {0} of {1} registers of the thread that copies",
                          needs.copyingRegisters, limits.copyingRegisters);
  return text;
}

std::string mlir::fa::describeGPUFit(const GPUTarget &target, ConfigAttr config,
                                     const AttentionProblem &problem) {
  return describeNeeds({config.getQueryBlock(), config.getKeyBlock(),
                        cast<GPUConfigAttr>(config.getTarget()).getPart()},
                       target, problem);
}

int64_t mlir::fa::chooseGPUBlocksPerSM(const GPUTarget &target,
                                       ConfigAttr config,
                                       const AttentionProblem &problem) {
  // While one block waits for its keys another one multiplies; a third one
  // gains nothing (benchmarks/results/notes/decoding.md).
  constexpr int64_t mostBlocks = 2;
  GPUPart part = cast<GPUConfigAttr>(config.getTarget()).getPart();
  if (part.hasGroups())
    return 1;
  GPUTile tile = {config.getQueryBlock(), config.getKeyBlock(), part};
  return std::clamp<int64_t>(countBlocksPerSM(tile, target, problem), 1,
                             mostBlocks);
}

/// A table of visited blocks pays where a mask may hide whole blocks of which
/// nothing is known ahead of time.
static GPUTile addBlockTable(GPUTile tile, const AttentionProblem &problem) {
  bool isOneBlock =
      !ShapedType::isDynamic(problem.keys) && problem.keys <= tile.keyBlock;
  tile.part.blockTable = problem.hidesAtRunTime && !isOneBlock;
  return tile;
}

static ConfigAttr makeConfig(MLIRContext *context, const GPUTile &tile,
                             int64_t keySplits = 1, bool deterministic = true) {
  return ConfigAttr::get(context, tile.queryBlock, tile.keyBlock, keySplits,
                         deterministic, GPUConfigAttr::get(context, tile.part));
}

/// Blocks that fill up the last cluster of a head compute for nothing: at most
/// a 33rd of all.
static int64_t leastQueries(const GPUTile &tile) {
  int64_t cluster = tile.part.cluster;
  return cluster > 1 ? 16 * cluster * tile.queryBlock : 0;
}

/// The configuration with those that other rows have for more keys, in the
/// order of the table. Of a mask of several bounds or of run time a query may
/// see few keys, however many there are. A function such as tanh, a
/// remainder and dropout take longer than what blocks can save.
static ConfigAttr addLonger(ConfigAttr config, const Row &row,
                            const GPUTarget &target,
                            const AttentionProblem &problem,
                            std::string &reason) {
  if (hasSeveralBounds(problem) || problem.regions.hasFunctions ||
      problem.regions.sixteenthsOnTheWay > 4 || problem.valuesOfFactors != 0)
    return config;
  ConfigAttr longer;
  for (const Row &other : llvm::reverse(gpu_configs::table)) {
    if (other.fromKeys <= row.fromKeys || !areAlike(other, row) ||
        other.hasScore != problem.hasScore)
      continue;
    GPUTile tile = getTile(other, problem);
    if (!fitsGPU(tile, target, problem))
      continue;
    int64_t fromQueries = leastQueries(tile);
    longer = makeConfig(config.getContext(), tile)
                 .withLengths(other.fromKeys, fromQueries, longer);
    reason += llvm::formatv(
        "; from {0} keys{1} on {2}", other.fromKeys,
        fromQueries ? llvm::formatv(" and {0} queries", fromQueries).str() : "",
        describeNeeds(tile, target, problem));
  }
  return config.withLengths(row.fromKeys, /*fromQueries=*/0, longer)
      .getForLengths(problem.queries, problem.keys);
}

/// The configuration for packed sequences, behind one for short ones where
/// another row has that: of its head dim, as others were not timed.
static ConfigAttr addShorter(ConfigAttr config, const Row &row,
                             const GPUTarget &target,
                             const AttentionProblem &problem,
                             std::string &reason) {
  if (problem.hasMask || problem.hasScore || problem.hasLengths)
    return config;
  for (const Row &other : gpu_configs::table) {
    GPUTile tile = getTile(other, problem);
    if (other.mostInMean == 0 || !areAlike(other, row) ||
        other.maxHeadDim !=
            std::max(problem.queryHeadDim, problem.valueHeadDim) ||
        !fitsGPU(tile, target, problem))
      continue;
    reason +=
        llvm::formatv("; up to {0} keys in the mean on {1}", other.mostInMean,
                      describeNeeds(tile, target, problem));
    return makeConfig(config.getContext(), tile)
        .withLengths(/*fromKeys=*/0, /*fromQueries=*/0,
                     config.withLengths(other.mostInMean + 1, /*fromQueries=*/0,
                                        /*longer=*/{}));
  }
  return config;
}

ConfigAttr mlir::fa::selectGPUConfig(MLIRContext *context,
                                     const GPUTarget &target,
                                     const AttentionProblem &problem,
                                     std::string &reason) {
  // What was passed over is part of the reason.
  std::string passed;
  KernelForm refused = KernelForm::warps;
  const Row *last = nullptr;
  for (const Row &row : gpu_configs::table) {
    if (!isFor(row, target) || isForLengths(row))
      continue;
    if (takesElements(row, problem))
      last = &row;
    KernelForm form = row.part.form;
    if (!takes(row, problem) ||
        (form == refused && refused != KernelForm::warps))
      continue;
    std::string obstacle = getFormObstacle(form, target, problem);
    if (!obstacle.empty()) {
      refused = form;
      passed +=
          llvm::formatv("; no {0}: {1}", stringifyKernelForm(form), obstacle);
      continue;
    }
    GPUTile tile = addBlockTable(getTile(row, problem), problem);
    if (fitsGPU(tile, target, problem)) {
      reason = describe(row, target) + passed + "; " +
               describeNeeds(tile, target, problem);
      ConfigAttr config = makeConfig(context, tile);
      if (problem.isOfAnyLengths)
        return config;
      return problem.isPacked ? addShorter(config, row, target, problem, reason)
                              : addLonger(config, row, target, problem, reason);
    }
    passed += llvm::formatv("; {0} x {1} does not fit: {2}", row.queryBlock,
                            row.keyBlock, describeNeeds(tile, target, problem));
  }
  GPUTile tile = addBlockTable(
      shrinkToGPU(getTile(*last, problem), target, problem), problem);
  reason = describe(*last, target) + passed +
           "; made smaller: " + describeNeeds(tile, target, problem);
  return makeConfig(context, tile);
}

/// The part of the first row whose groups share such a query block and whose
/// form the problem can have; warps otherwise.
ConfigAttr mlir::fa::completeGPUConfig(const GPUTarget &target,
                                       ConfigAttr config,
                                       const AttentionProblem &problem) {
  GPUTile tile = {config.getQueryBlock(), config.getKeyBlock(), GPUPart()};
  for (const Row &row : gpu_configs::table) {
    if (!isFor(row, target) || isForLengths(row) || !takes(row, problem) ||
        !getFormObstacle(row.part.form, target, problem).empty())
      continue;
    bool isShared = !row.part.hasGroups() ||
                    row.part.groups * rowsPerWarpGroup == tile.queryBlock;
    tile.part = getTile(row, problem).part;
    if (isShared && fitsGPU(tile, target, problem))
      break;
    tile.part = GPUPart();
  }
  // A table is of query blocks, and parts of the keys have a tile each.
  if (config.splitsKeys()) {
    tile.part.tileOrder = TileOrder::in_order;
    tile.part.cluster = 1;
  } else {
    tile = addBlockTable(tile, problem);
  }
  return makeConfig(config.getContext(), tile, config.getKeySplits(),
                    config.getDeterministic())
      .withKeySplits(config.getKeySplits(), config.getSplitKeys());
}

/// The largest tile at or below `tile` that fits, or else what the table has.
static GPUTile findNearest(MLIRContext *context, const GPUTile &tile,
                           const GPUTarget &target,
                           const AttentionProblem &problem) {
  GPUTile smaller = shrinkToGPU(tile, target, problem);
  if (fitsGPU(smaller, target, problem))
    return smaller;
  std::string reason;
  ConfigAttr chosen = selectGPUConfig(context, target, problem, reason);
  return {chosen.getQueryBlock(), chosen.getKeyBlock(),
          cast<GPUConfigAttr>(chosen.getTarget()).getPart()};
}

static void appendNearest(InFlightDiagnostic &diagnostic, const GPUTile &tile,
                          const GPUTarget &target,
                          const AttentionProblem &problem) {
  MLIRContext *context = problem.elementType.getContext();
  GPUTile nearest = findNearest(context, tile, target, problem);
  if (!fitsGPU(nearest, target, problem)) {
    diagnostic << "; no smaller blocks fit";
    return;
  }
  diagnostic << "; the nearest is query_block = " << nearest.queryBlock
             << " and key_block = " << nearest.keyBlock;
  if (nearest.part != tile.part)
    diagnostic << " with " << GPUConfigAttr::get(context, nearest.part);
}

static LogicalResult refuseMisfit(function_ref<InFlightDiagnostic()> emitError,
                                  const GPUTarget &target, const GPUTile &tile,
                                  const AttentionProblem &problem) {
  GPUNeeds needs = getGPUNeeds(tile, problem);
  GPULimits limits = getGPULimits(target, tile.part);
  InFlightDiagnostic diagnostic =
      emitError() << "query_block = " << tile.queryBlock
                  << " and key_block = " << tile.keyBlock << " of "
                  << stringifyKernelForm(tile.part.form) << " need at least ";
  if (needs.sharedBytes > limits.sharedBytes)
    diagnostic << needs.sharedBytes << " bytes of shared memory, but a block "
               << "of " << target.chip << " has " << limits.sharedBytes;
  else if (needs.registers > limits.registers)
    diagnostic << needs.registers << " registers a thread, but there are "
               << limits.registers;
  else
    diagnostic << needs.copyingRegisters
               << " registers of the thread that copies, but there are "
               << limits.copyingRegisters;
  appendNearest(diagnostic, tile, target, problem);
  return diagnostic;
}

/// Blocks are multiples of what threads share. Where the next multiples do not
/// fit, the nearest tile is another one.
static LogicalResult
checkMultiples(function_ref<InFlightDiagnostic()> emitError,
               const GPUTarget &target, const GPUTile &tile,
               const AttentionProblem &problem) {
  int64_t keyMultiple = getKeyMultiple(problem);
  int64_t queries = llvm::alignTo(tile.queryBlock, rowsPerWarpGroup);
  int64_t keys = llvm::alignTo(tile.keyBlock, keyMultiple);
  GPUTile aligned = {queries, keys, tile.part};
  auto check = [&](StringRef name, int64_t value, int64_t next,
                   int64_t multiple) -> LogicalResult {
    if (value == next)
      return success();
    InFlightDiagnostic diagnostic = emitError()
                                    << name << " is " << value
                                    << ", expected a multiple of " << multiple;
    if (fitsGPU(aligned, target, problem))
      return diagnostic << "; the nearest is " << next;
    appendNearest(diagnostic, aligned, target, problem);
    return diagnostic;
  };
  if (failed(check("query_block", tile.queryBlock, queries, rowsPerWarpGroup)))
    return failure();
  return check("key_block", tile.keyBlock, keys, keyMultiple);
}

LogicalResult
mlir::fa::verifyGPUConfig(function_ref<InFlightDiagnostic()> emitError,
                          const GPUTarget &target, ConfigAttr config,
                          const AttentionProblem &problem) {
  int64_t headDim = std::max(problem.queryHeadDim, problem.valueHeadDim);
  if (headDim > maxGPUHeadDim)
    return emitError() << "head dim is " << headDim << ", but " << target.chip
                       << " takes at most " << maxGPUHeadDim;
  const GPUPart &part = cast<GPUConfigAttr>(config.getTarget()).getPart();
  // More can fit no chip, and numbers that products of them wrap are no sizes.
  auto checkSize = [&](StringRef name, int64_t value,
                       int64_t most) -> LogicalResult {
    if (value <= most)
      return success();
    return emitError() << name << " is " << value << ", expected at most "
                       << most;
  };
  if (failed(checkSize("query_block", config.getQueryBlock(), 4096)) ||
      failed(checkSize("key_block", config.getKeyBlock(), 4096)) ||
      failed(checkSize("stages", part.stages, 64)))
    return failure();
  if (failed(checkSize("key_splits", config.getKeySplits(), 4096)))
    return failure();
  if (config.splitsKeys() && part.blockTable)
    return emitError() << "has block_table and splits keys, expected one of "
                          "them on "
                       << target.chip << "; the nearest is no block_table";
  if (part.columnGroups != 1)
    return emitError() << "column_groups is " << part.columnGroups
                       << ", which is for gradients; the nearest is 1";
  std::string obstacle = getFormObstacle(part.form, target, problem);
  if (!obstacle.empty())
    return emitError() << stringifyKernelForm(part.form)
                       << " is not possible, since " << obstacle
                       << "; the nearest is warps";
  GPUTile tile = {config.getQueryBlock(), config.getKeyBlock(), part};
  if (failed(checkMultiples(emitError, target, tile, problem)))
    return failure();
  if (failed(verifyCaptures(emitError, part, problem)))
    return failure();
  if (!fitsGPU(tile, target, problem))
    return refuseMisfit(emitError, target, tile, problem);
  int64_t blocks = countBlocksPerSM(tile, target, problem);
  if (part.blocksPerSM == 1 || part.blocksPerSM <= blocks)
    return success();
  return emitError() << "blocks_per_sm is " << part.blocksPerSM << ", but "
                     << blocks << " such blocks share a multiprocessor of "
                     << target.chip << "; the nearest is "
                     << std::max<int64_t>(blocks, 1);
}
