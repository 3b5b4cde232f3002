//===- GPUNeeds.cpp - What a configuration takes of a GPU -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates the registers and shared memory that a configuration takes, so
// that one which would spill much or not launch is not chosen. Read
// `getGPUNeeds`, then `fitsGPU` and `shrinkToGPU`.
//
//===----------------------------------------------------------------------===//

#include "GPUNeeds.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;

/// Threads that multiply the rows of one group: four warps in either form.
static constexpr int64_t threadsPerGroup = 128;

/// What a thread keeps beside its accumulators: addresses, indices and
/// statistics of rows; with products of a warp, also the operands of the next
/// instructions.
static constexpr int64_t registersBesideWarps = 48;
static constexpr int64_t registersBesideGroups = 28;
/// Where the operands' registers are counted too.
static constexpr int64_t registersBesideColumns = 8;

/// Bytes that the rows of what is copied in bulk start at multiples of.
static constexpr int64_t bulkAlignment = 16;

static bool hasTiles(const GPUPart &part) {
  return part.captures == Captures::tiles;
}

/// What score and mask regions hold: what they read at each pair (of tiles two
/// elements a register), and at each key (a thread has every fourth one;
/// products of a warp keep it twice), and what is on its way through a
/// function.
static int64_t getRegionRegisters(const GPUTile &tile, int64_t pairs,
                                  const RegionWork &regions) {
  int64_t keys = tile.keyBlock / (tile.part.hasGroups() ? 4 : 2);
  // Where one thread does all, the next operands are on their way too.
  int64_t beside = !tile.part.hasGroups() && regions.hasFunctions &&
                           regions.sixteenthsOnTheWay
                       ? 24
                       : 0;
  // What is on its way may be among the values that are live.
  int64_t live = std::max<int64_t>(regions.pairsBeside - regions.pairLoads, 0);
  int64_t tileLoads = hasTiles(tile.part) ? regions.tileLoads : 0;
  int64_t ofPairs =
      (regions.pairLoads - tileLoads) * pairs + tileLoads * pairs / 2;
  int64_t ofKeys = regions.keyLoads * keys;
  // A warp that does all keeps less of conversions. A quarter would not fit
  // ALiBi in 128 x 64 at head dim 128, which has 1.03 to 1.15 of the speed of
  // 64 x 128 on an H200, though lse and strides of run time spill 4 to 108
  // bytes.
  int64_t sixteenths = regions.sixteenthsOnTheWay;
  if (tile.part.hasGroups())
    sixteenths = llvm::alignTo(sixteenths, 4);
  int64_t onTheWay = std::max(live * pairs, sixteenths * pairs / 16 + beside);
  // Where columns are split nothing is read ahead: what is read is used up by
  // one part of the regions before the next one reads.
  if (tile.part.columns)
    return std::max({regions.pairLoadsOfRegion * pairs, ofKeys, onTheWay});
  return ofPairs + ofKeys + onTheWay;
}

/// Bounds of key ranges are computed by the thread that copies. More than four
/// comparisons need no more at a time.
static int64_t getCopyingRegisters(const RegionWork &regions) {
  return 24 + 8 * std::min<int64_t>(regions.comparisons, 4);
}

bool mlir::fa::isSplit(Type element) {
  return element.getIntOrFloatBitWidth() > 16;
}
bool mlir::fa::isSplit(const AttentionProblem &problem) {
  return isSplit(problem.elementType);
}

int64_t mlir::fa::getTileColumns(int64_t headDim, Type element,
                                 int64_t keyBlock, int64_t groups) {
  // Of the narrowest panel of shared memory.
  constexpr int64_t panelColumns = 16;
  bool sharesKeys = keyBlock % (rowsPerWarpGroup * groups) == 0;
  int64_t sharers = isSplit(element) && !sharesKeys ? groups : 1;
  return llvm::alignTo(headDim, panelColumns * sharers);
}

static int64_t getColumns(const GPUTile &tile, const AttentionProblem &problem,
                          int64_t headDim) {
  return getTileColumns(headDim, problem.elementType, tile.keyBlock,
                        tile.part.hasGroups() ? tile.part.groups : 1);
}

int64_t mlir::fa::getKeyMultiple(const AttentionProblem &problem) {
  return isSplit(problem) ? rowsPerWarpGroup : depthOfProduct;
}

/// Columns of keys and values that are there at once: those of one of them
/// where the other one takes its place.
static int64_t countStagedColumns(const GPUTile &tile, int64_t queryColumns,
                                  int64_t valueColumns) {
  bool takeTurns = tile.part.commonStages && queryColumns == valueColumns;
  return takeTurns ? queryColumns : queryColumns + valueColumns;
}

int64_t mlir::fa::countSharedElements(const GPUTile &tile,
                                      const AttentionProblem &problem) {
  int64_t queryColumns = getColumns(tile, problem, problem.queryHeadDim);
  int64_t valueColumns = getColumns(tile, problem, problem.valueHeadDim);
  if (int64_t columns = tile.part.columns) {
    // Two parts of each width that keys and values are split into take turns.
    constexpr int64_t turns = 2;
    llvm::SmallSetVector<int64_t, 4> widths;
    for (int64_t all : {queryColumns, valueColumns})
      for (int64_t width : {std::min(columns, all), all % columns})
        if (width)
          widths.insert(width);
    int64_t queries =
        tile.part.keepsQueries ? tile.queryBlock * queryColumns : 0;
    return queries +
           turns * tile.keyBlock *
               std::accumulate(widths.begin(), widths.end(), int64_t(0));
  }
  // The next tile's queries come while this one's are read.
  int64_t queryStages = tile.part.overlap == Overlap::tiles ? 2 : 1;
  int64_t elements = queryStages * tile.queryBlock * queryColumns +
                     tile.part.stages * tile.keyBlock *
                         countStagedColumns(tile, queryColumns, valueColumns);
  if (hasTiles(tile.part))
    elements += problem.regions.tileLoads * tile.part.stages * tile.queryBlock *
                tile.keyBlock;
  return elements;
}

/// Registers where groups split parts of f32 operands beside a product: a part
/// of keys that comes next, one that is split with what is left of it and a
/// term, and the queries' beside two sums of scores; then what regions hold;
/// then weights with what is left of them and two terms.
static int64_t countOfGroupColumns(const GPUTile &tile, int64_t valueColumns,
                                   int64_t regions) {
  int64_t columns = tile.part.columns;
  int64_t threads = threadsPerGroup * tile.part.groups;
  auto perThread = [&](int64_t number) {
    return llvm::divideCeil(tile.queryBlock * number, threads);
  };
  int64_t part = llvm::divideCeil(tile.keyBlock * columns, threads);
  int64_t scores = perThread(tile.keyBlock);
  int64_t queries =
      tile.part.keepsQueries
          ? 0
          : perThread(columns) + perThread(termsOfFloat * columns) / 2;
  return perThread(valueColumns) +
         std::max({2 * scores + 4 * part + part / 2 + queries,
                   scores + regions + part, 3 * scores + 2 * part});
}

GPUNeeds mlir::fa::getGPUNeeds(const GPUTile &tile,
                               const AttentionProblem &problem) {
  int64_t elementBytes = isSplit(problem) ? 2 * termsOfFloat : 2;
  int64_t valueColumns = getColumns(tile, problem, problem.valueHeadDim);
  int64_t threads = threadsPerGroup * tile.part.groups;
  auto perThread = [&](int64_t columns) {
    return llvm::divideCeil(tile.queryBlock * columns, threads);
  };
  int64_t accumulators = perThread(tile.keyBlock + valueColumns);
  // Weights in 16 bits are multiplied while the next scores come in.
  int64_t weights = !tile.part.hasOverlap() ? 0 : perThread(tile.keyBlock) / 2;
  int64_t regions =
      getRegionRegisters(tile, perThread(tile.keyBlock), problem.regions);
  // Terms of the weights take the place of scores; a product is added apart.
  int64_t terms = std::max(perThread(tile.keyBlock),
                           perThread(termsOfFloat * tile.keyBlock) / 2);
  bool groups = tile.part.hasGroups();
  int64_t beside = groups ? registersBesideGroups : registersBesideWarps;
  // What is read at each pair may make scores of any size, which have a factor
  // for each row; four threads share a row. Without room for four registers a
  // row ptxas spills a bias at head dim 64 (sm_80).
  if (!groups && !tile.part.columns && problem.hasScore &&
      problem.regions.pairLoads)
    beside += 4 * perThread(4);
  if (groups && tile.part.columns) {
    accumulators = countOfGroupColumns(tile, valueColumns, regions);
    beside = registersBesideColumns;
    regions = 0;
  } else if (int64_t columns = tile.part.columns) {
    // Terms of queries, or parts of keys that are on their way, beside two sums
    // of scores; then what regions hold, then terms of weights.
    int64_t operands = tile.part.keepsQueries
                           ? llvm::divideCeil(tile.keyBlock * columns, threads)
                           : perThread(termsOfFloat * columns) / 2;
    accumulators = perThread(valueColumns) +
                   std::max({perThread(2 * tile.keyBlock) + operands,
                             perThread(tile.keyBlock) + regions,
                             perThread(columns) + terms});
    regions = 0;
  } else if (isSplit(problem)) {
    accumulators = perThread(2 * valueColumns) + terms;
    // Threads of warps load keys and values before they multiply.
    int64_t loaded = llvm::divideCeil(
        tile.keyBlock *
            countStagedColumns(tile,
                               getColumns(tile, problem, problem.queryHeadDim),
                               valueColumns),
        threads);
    if (!tile.part.hasGroups()) {
      accumulators = std::max<int64_t>(accumulators + regions,
                                       perThread(valueColumns) + loaded);
      regions = 0;
    }
  }
  return {countSharedElements(tile, problem) * elementBytes +
              (groups ? barrierBytes + mailBytes : 0),
          accumulators + weights + regions + beside,
          groups && !tile.part.columns ? getCopyingRegisters(problem.regions)
                                       : 0};
}

GPULimits mlir::fa::getGPULimits(const GPUTarget &target, const GPUPart &part) {
  if (!part.hasGroups())
    return {target.sharedMemoryPerBlock, target.registersPerThread, 0};
  // Parts of f32 operands are loaded by the groups, not by a thread of its own.
  if (part.columns) {
    constexpr int64_t registersOfBlock = 65536, step = 8;
    int64_t all = registersOfBlock / (threadsPerGroup * part.groups);
    return {target.sharedMemoryPerBlock,
            std::min<int64_t>(all / step * step, target.registersPerThread), 0};
  }
  RegisterShare share = getRegisterShare(part.groups, part.copyingRegisters);
  return {target.sharedMemoryPerBlock, share.computing, share.copying};
}

bool mlir::fa::fitsGPU(const GPUTile &tile, const GPUTarget &target,
                       const AttentionProblem &problem) {
  GPUNeeds needs = getGPUNeeds(tile, problem);
  GPULimits limits = getGPULimits(target, tile.part);
  return needs.sharedBytes <= limits.sharedBytes &&
         needs.registers <= limits.registers &&
         needs.copyingRegisters <= limits.copyingRegisters &&
         tile.keyBlock % getKeyMultiple(problem) == 0;
}

int64_t mlir::fa::countBlocksPerSM(const GPUTile &tile, const GPUTarget &target,
                                   const AttentionProblem &problem) {
  GPUNeeds needs = getGPUNeeds(tile, problem);
  // Registers are given out by eights.
  int64_t registers =
      threadsPerGroup * llvm::alignTo(std::max<int64_t>(needs.registers, 1), 8);
  int64_t bytes = llvm::alignTo(needs.sharedBytes, 128) +
                  target.reservedSharedMemoryPerBlock;
  return std::min(target.registersPerSM / registers,
                  target.sharedMemoryPerSM / bytes);
}

/// Fewer keys, then fewer stages; nothing if neither helps.
static std::optional<GPUTile> shrinkKeys(GPUTile tile, const GPUTarget &target,
                                         const AttentionProblem &problem) {
  int64_t multiple = getKeyMultiple(problem);
  for (int64_t stages = tile.part.stages; stages >= 1; --stages)
    for (int64_t keys = llvm::alignTo(tile.keyBlock, multiple); keys > 0;
         keys -= multiple) {
      GPUTile candidate = {tile.queryBlock, std::min(keys, tile.keyBlock),
                           tile.part};
      candidate.part.stages = stages;
      if (fitsGPU(candidate, target, problem))
        return candidate;
    }
  return std::nullopt;
}

GPUTile mlir::fa::shrinkToGPU(GPUTile tile, const GPUTarget &target,
                              const AttentionProblem &problem) {
  while (true) {
    if (std::optional<GPUTile> smaller = shrinkKeys(tile, target, problem))
      return *smaller;
    if (tile.queryBlock <= rowsPerWarpGroup) {
      tile.part.groups = tile.part.stages = 1;
      return {rowsPerWarpGroup, getKeyMultiple(problem), tile.part};
    }
    tile.queryBlock -= rowsPerWarpGroup;
    if (tile.part.hasGroups())
      --tile.part.groups;
  }
}

LogicalResult
mlir::fa::verifyCaptures(function_ref<InFlightDiagnostic()> emitError,
                         const GPUPart &part, const AttentionProblem &problem) {
  const auto &unaligned = problem.regions.unaligned;
  if (!hasTiles(part) || problem.regions.tileLoads || !unaligned)
    return success();
  // `findTileRows` takes elements of 16 bits.
  constexpr int64_t bytes = 2, multiple = bulkAlignment / bytes;
  std::string place = unaligned->dim
                          ? "a stride in dim " + std::to_string(*unaligned->dim)
                          : "an offset";
  return emitError() << "captures is tiles, but capture " << unaligned->number
                     << " has " << place << " of " << unaligned->elements
                     << " elements, " << unaligned->elements * bytes
                     << " bytes, and bulk copies take multiples of "
                     << bulkAlignment << "; the nearest is "
                     << llvm::alignTo(unaligned->elements, multiple)
                     << " elements, or captures = elements";
}

std::string mlir::fa::getFormObstacle(KernelForm form, const GPUTarget &target,
                                      const AttentionProblem &problem) {
  if (form == KernelForm::warps)
    return "";
  if (!target.hasTMA || !target.hasAsyncMatrix ||
      !target.hasRegisterReallocation)
    return llvm::formatv("{0} has no asynchronous matrix products",
                         target.chip);
  // Threads read and split the elements.
  if (isSplit(problem))
    return "";
  int64_t elementBytes = problem.elementType.getIntOrFloatBitWidth() / 8;
  for (int64_t headDim : {problem.queryHeadDim, problem.valueHeadDim})
    if (headDim * elementBytes % bulkAlignment)
      return llvm::formatv("bulk copies take rows of multiples of {0} bytes, "
                           "head dims that are multiples of {1}, not {2}",
                           bulkAlignment, bulkAlignment / elementBytes,
                           headDim);
  if (problem.alignment % bulkAlignment)
    return llvm::formatv("bulk copies take strides and offsets of multiples of "
                         "{0} bytes, not of {1} as the operands' types say",
                         bulkAlignment, problem.alignment);
  return "";
}
