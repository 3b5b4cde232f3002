//===- GPUConfigs.cpp - Configurations of GPUs ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUNeeds.h"
#include "TargetConfigs.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
enum class Masks { Any, Full, Masked };
enum class Elements { Any, Packed, Float };

struct ConfigRow {
  StringLiteral target;
  KernelForm form;
  Elements elements;
  int64_t maxHeadDim;
  Masks masks;
  int64_t fromKeys, queryBlock, keyBlock, groups, stages;
  Overlap overlap;
  RescalePlace rescale;
  bool turns;
  TileOrder tileOrder;
  int64_t copyingRegisters;
  int64_t columns;
  bool keepsQueries, commonStages;
  int64_t cluster;

  GPUTile getTile(MLIRContext *context, const AttentionProblem &problem) const;
  bool takesElements(const AttentionProblem &problem) const;
  bool takes(const AttentionProblem &problem) const;
  /// Whether all query blocks of a head see the same keys, so that those of a
  /// cluster can share the copies.
  bool sharesCopies(const AttentionProblem &problem) const {
    return !problem.hasMask && !problem.hasLengths;
  }
  /// Whether this row is for more keys of what `row` is for.
  bool isLongerThan(const ConfigRow &row) const;
  std::string describe() const;
};
constexpr ConfigRow configRows[] = {
// clang-format off
#define FA_GPU_CONFIG(TARGET, FORM, ELEMENTS, HEAD_DIM, MASKS, FROM, QUERIES,  \
                      KEYS, GROUPS, STAGES, OVERLAP, RESCALE, TURNS, ORDER,    \
                      COPYING, COLUMNS, KEEPS, COMMON, CLUSTER)                \
  {TARGET, KernelForm::FORM, Elements::ELEMENTS, HEAD_DIM, Masks::MASKS,       \
   FROM, QUERIES, KEYS, GROUPS, STAGES, Overlap::OVERLAP,                      \
   RescalePlace::RESCALE, TURNS, TileOrder::ORDER, COPYING, COLUMNS, KEEPS,    \
   COMMON, CLUSTER},
// clang-format on
#include "GPUConfigs.def"
};

// A query of more does not fit the registers of a warp's threads.
constexpr int64_t maxGPUHeadDim = 256;
} // namespace

GPUTile ConfigRow::getTile(MLIRContext *context,
                           const AttentionProblem &problem) const {
  Captures captures = form == KernelForm::warp_groups &&
                              problem.regions.tileLoads &&
                              problem.regions.areTilesAligned
                          ? Captures::tiles
                          : Captures::elements;
  // Functions of scores take longer than the products that a turn is for.
  bool takesTurns = turns && !problem.regions.hasFunctions;
  // What a score function reads may be copied too.
  int64_t copying = problem.hasScore ? 0 : copyingRegisters;
  // A step of f32 is six products long, and ptxas takes as long for a copy.
  bool isFloat = problem.elementType.getIntOrFloatBitWidth() > 16;
  bool rolled = isFloat && overlap == Overlap::none;
  return {queryBlock, keyBlock,
          GPUConfigAttr::get(context, form, groups, stages, overlap, rescale,
                             takesTurns, tileOrder, /*blockTable=*/false,
                             captures, copying, columns, keepsQueries,
                             commonStages, rolled,
                             sharesCopies(problem) ? cluster : 1)};
}

bool ConfigRow::takesElements(const AttentionProblem &problem) const {
  bool isFloat = problem.elementType.getIntOrFloatBitWidth() > 16;
  return elements == Elements::Any || (elements == Elements::Float) == isFloat;
}

bool ConfigRow::takes(const AttentionProblem &problem) const {
  if (std::max(problem.queryHeadDim, problem.valueHeadDim) > maxHeadDim ||
      !takesElements(problem))
    return false;
  return masks == Masks::Any || (masks == Masks::Masked) == problem.hasMask;
}

bool ConfigRow::isLongerThan(const ConfigRow &row) const {
  return fromKeys > row.fromKeys && target == row.target && form == row.form &&
         elements == row.elements && maxHeadDim == row.maxHeadDim &&
         masks == row.masks;
}

std::string ConfigRow::describe() const {
  StringRef kind = masks == Masks::Any    ? ""
                   : masks == Masks::Full ? ", no mask"
                                          : ", a mask";
  StringRef type = elements == Elements::Float ? ", f32" : "";
  return llvm::formatv("table row {0}, form = {1}, head dims up to {2}{3}{4}",
                       target, stringifyKernelForm(form), maxHeadDim, type,
                       kind);
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
                        cast<GPUConfigAttr>(config.getTarget())},
                       target, problem);
}

/// A table of visited blocks pays where a mask may hide whole blocks of which
/// nothing is known ahead of time.
static GPUTile addBlockTable(const GPUTile &tile,
                             const AttentionProblem &problem) {
  bool isOneBlock =
      !ShapedType::isDynamic(problem.keys) && problem.keys <= tile.keyBlock;
  if (!problem.hidesAtRunTime || isOneBlock)
    return tile;
  GPUConfigAttr part = tile.part;
  return {tile.queryBlock, tile.keyBlock,
          GPUConfigAttr::get(part.getContext(), part.getForm(),
                             part.getGroups(), part.getStages(),
                             part.getOverlap(), part.getRescale(),
                             part.getTurns(), part.getTileOrder(),
                             /*blockTable=*/true, part.getCaptures(),
                             part.getCopyingRegisters(), part.getColumns(),
                             part.getKeepsQueries(), part.getCommonStages(),
                             part.getRolled(), part.getCluster())};
}

static ConfigAttr makeConfig(const GPUTile &tile, int64_t keySplits = 1,
                             bool deterministic = true) {
  return ConfigAttr::get(tile.part.getContext(), tile.queryBlock, tile.keyBlock,
                         keySplits, deterministic, tile.part);
}

/// Blocks that fill up the last cluster of a head compute for nothing: at most
/// a 33rd of all.
static int64_t leastQueries(const GPUTile &tile) {
  int64_t cluster = tile.part.getCluster();
  return cluster > 1 ? 16 * cluster * tile.queryBlock : 0;
}

/// The configuration with those that other rows have for more keys, in the
/// order of the table. They are for the products' sake: a score function takes
/// longer, and of a mask of several bounds or of run time a query may see few
/// keys, however many there are.
static ConfigAttr addLonger(ConfigAttr config, const ConfigRow &row,
                            const GPUTarget &target,
                            const AttentionProblem &problem,
                            std::string &reason) {
  if (problem.hasScore || problem.hidesAtRunTime ||
      problem.regions.comparisons > 1)
    return config;
  ConfigAttr longer;
  for (const ConfigRow &other : llvm::reverse(configRows)) {
    if (!other.isLongerThan(row))
      continue;
    GPUTile tile = other.getTile(config.getContext(), problem);
    if (!fitsGPU(tile, target, problem))
      continue;
    int64_t fromQueries = leastQueries(tile);
    longer = makeConfig(tile).withLengths(other.fromKeys, fromQueries, longer);
    reason += llvm::formatv(
        "; from {0} keys{1} on {2}", other.fromKeys,
        fromQueries ? llvm::formatv(" and {0} queries", fromQueries).str() : "",
        describeNeeds(tile, target, problem));
  }
  return config.withLengths(row.fromKeys, /*fromQueries=*/0, longer)
      .getForLengths(problem.queries, problem.keys);
}

ConfigAttr mlir::fa::selectGPUConfig(MLIRContext *context,
                                     const GPUTarget &target,
                                     const AttentionProblem &problem,
                                     std::string &reason) {
  // What was passed over is part of the reason.
  std::string passed;
  KernelForm refused = KernelForm::warps;
  const ConfigRow *last = nullptr;
  for (const ConfigRow &row : configRows) {
    if (row.target != target.chip)
      continue;
    if (row.fromKeys != 0)
      continue;
    if (row.takesElements(problem))
      last = &row;
    if (!row.takes(problem) ||
        (row.form == refused && refused != KernelForm::warps))
      continue;
    std::string obstacle = getFormObstacle(row.form, target, problem);
    if (!obstacle.empty()) {
      refused = row.form;
      passed += llvm::formatv("; no form = {0}: {1}",
                              stringifyKernelForm(row.form), obstacle);
      continue;
    }
    GPUTile tile = addBlockTable(row.getTile(context, problem), problem);
    if (fitsGPU(tile, target, problem)) {
      reason =
          row.describe() + passed + "; " + describeNeeds(tile, target, problem);
      return addLonger(makeConfig(tile), row, target, problem, reason);
    }
    passed += llvm::formatv("; {0} x {1} does not fit: {2}", row.queryBlock,
                            row.keyBlock, describeNeeds(tile, target, problem));
  }
  GPUTile tile = addBlockTable(
      shrinkToGPU(last->getTile(context, problem), target, problem), problem);
  reason = last->describe() + passed +
           "; made smaller: " + describeNeeds(tile, target, problem);
  return makeConfig(tile);
}

/// The part of the first row whose groups share such a query block and whose
/// form the problem can have; warps otherwise.
ConfigAttr mlir::fa::completeGPUConfig(const GPUTarget &target,
                                       ConfigAttr config,
                                       const AttentionProblem &problem) {
  MLIRContext *context = config.getContext();
  GPUTile tile = {config.getQueryBlock(), config.getKeyBlock(), nullptr};
  for (const ConfigRow &row : configRows) {
    if (row.target != target.chip || row.fromKeys != 0 || !row.takes(problem) ||
        !getFormObstacle(row.form, target, problem).empty())
      continue;
    bool isShared = row.form == KernelForm::warps ||
                    row.groups * rowsPerWarpGroup == tile.queryBlock;
    tile.part = row.getTile(context, problem).part;
    if (isShared && fitsGPU(tile, target, problem))
      break;
    tile.part = nullptr;
  }
  if (!tile.part)
    tile.part = GPUConfigAttr::get(
        context, KernelForm::warps, /*groups=*/1, /*stages=*/1, Overlap::none,
        RescalePlace::after_product, /*turns=*/false, TileOrder::in_order,
        /*blockTable=*/false, Captures::elements, /*copying_registers=*/0,
        /*columns=*/0, /*keepsQueries=*/false, /*commonStages=*/false,
        /*rolled=*/false,
        /*cluster=*/1);
  return makeConfig(addBlockTable(tile, problem), config.getKeySplits(),
                    config.getDeterministic());
}

/// The largest tile at or below `tile` that fits, or else what the table has.
static GPUTile findNearest(const GPUTile &tile, const GPUTarget &target,
                           const AttentionProblem &problem) {
  GPUTile smaller = shrinkToGPU(tile, target, problem);
  if (fitsGPU(smaller, target, problem))
    return smaller;
  std::string reason;
  ConfigAttr chosen =
      selectGPUConfig(tile.part.getContext(), target, problem, reason);
  return {chosen.getQueryBlock(), chosen.getKeyBlock(),
          cast<GPUConfigAttr>(chosen.getTarget())};
}

static void appendNearest(InFlightDiagnostic &diagnostic, const GPUTile &tile,
                          const GPUTarget &target,
                          const AttentionProblem &problem) {
  GPUTile nearest = findNearest(tile, target, problem);
  if (!fitsGPU(nearest, target, problem)) {
    diagnostic << "; no smaller blocks fit";
    return;
  }
  diagnostic << "; the nearest is query_block = " << nearest.queryBlock
             << " and key_block = " << nearest.keyBlock;
  if (nearest.part != tile.part)
    diagnostic << " with " << nearest.part;
}

static LogicalResult refuseMisfit(function_ref<InFlightDiagnostic()> emitError,
                                  const GPUTarget &target, const GPUTile &tile,
                                  const AttentionProblem &problem) {
  GPUNeeds needs = getGPUNeeds(tile, problem);
  GPULimits limits = getGPULimits(target, tile.part);
  InFlightDiagnostic diagnostic =
      emitError() << "query_block = " << tile.queryBlock
                  << " and key_block = " << tile.keyBlock
                  << " of form = " << stringifyKernelForm(tile.part.getForm())
                  << " need at least ";
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
  auto part = cast<GPUConfigAttr>(config.getTarget());
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
      failed(checkSize("stages", part.getStages(), 64)))
    return failure();
  if (config.getKeySplits() != 1)
    return emitError() << "key_splits is " << config.getKeySplits()
                       << ", expected 1 on " << target.chip;
  std::string obstacle = getFormObstacle(part.getForm(), target, problem);
  if (!obstacle.empty())
    return emitError() << "form = " << stringifyKernelForm(part.getForm())
                       << " is not possible, since " << obstacle
                       << "; the nearest is form = warps";
  GPUTile tile = {config.getQueryBlock(), config.getKeyBlock(), part};
  if (failed(checkMultiples(emitError, target, tile, problem)))
    return failure();
  if (fitsGPU(tile, target, problem))
    return success();
  return refuseMisfit(emitError, target, tile, problem);
}
