//===- GPUConfigs.cpp - Configurations of GPUs ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TargetConfigs.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
struct ConfigRow {
  StringLiteral target;
  int64_t maxHeadDim, queryBlock, keyBlock;
};
constexpr ConfigRow configRows[] = {
#define FA_GPU_CONFIG(...) {__VA_ARGS__},
#include "GPUConfigs.def"
};

// Rows of the smallest matrix instruction.
constexpr int64_t smallestBlock = 16;
// A query of more does not fit the registers of a warp's threads.
constexpr int64_t maxGPUHeadDim = 256;

/// What a block of queries and keys needs at least.
struct Needs {
  int64_t sharedBytes, registers;
};
} // namespace

// Shared memory holds the queries and one block each of keys and values.
// Scores and output are accumulated in f32 registers.
static Needs getNeeds(int64_t queryBlock, int64_t keyBlock,
                      const AttentionProblem &problem) {
  int64_t elementBytes = problem.elementType.getIntOrFloatBitWidth() / 8;
  int64_t elements = queryBlock * problem.queryHeadDim +
                     keyBlock * (problem.queryHeadDim + problem.valueHeadDim);
  int64_t accumulators = queryBlock * (keyBlock + problem.valueHeadDim);
  return {elements * elementBytes, accumulators};
}

static bool fits(int64_t queryBlock, int64_t keyBlock, const GPUTarget &target,
                 const AttentionProblem &problem) {
  Needs needs = getNeeds(queryBlock, keyBlock, problem);
  return needs.sharedBytes <= target.sharedMemoryPerBlock &&
         needs.registers <= target.registersPerSM;
}

// The largest blocks at or below the given ones that fit: fewer keys first.
static std::pair<int64_t, int64_t> shrink(int64_t queryBlock, int64_t keyBlock,
                                          const GPUTarget &target,
                                          const AttentionProblem &problem) {
  for (int64_t rows = queryBlock;; rows /= 2) {
    for (int64_t keys = keyBlock; keys >= smallestBlock; keys -= smallestBlock)
      if (fits(rows, keys, target, problem))
        return {rows, keys};
    if (rows <= smallestBlock)
      return {smallestBlock, smallestBlock};
  }
}

ConfigAttr mlir::fa::selectGPUConfig(MLIRContext *context,
                                     const GPUTarget &target,
                                     const AttentionProblem &problem,
                                     std::string &reason) {
  int64_t headDim = std::max(problem.queryHeadDim, problem.valueHeadDim);
  const ConfigRow *row = nullptr;
  for (const ConfigRow &candidate : configRows) {
    if (candidate.target != target.chip)
      continue;
    row = &candidate;
    if (headDim <= candidate.maxHeadDim)
      break;
  }
  auto [queryBlock, keyBlock] =
      shrink(row->queryBlock, row->keyBlock, target, problem);
  reason = llvm::formatv("table row {0}, head dims up to {1}", target.chip,
                         row->maxHeadDim);
  if (queryBlock != row->queryBlock || keyBlock != row->keyBlock)
    reason += llvm::formatv("; {0} x {1} does not fit", row->queryBlock,
                            row->keyBlock);
  return ConfigAttr::get(context, queryBlock, keyBlock, /*keySplits=*/1,
                         /*deterministic=*/true, TargetConfigAttrInterface());
}

LogicalResult
mlir::fa::verifyGPUConfig(function_ref<InFlightDiagnostic()> emitError,
                          const GPUTarget &target, ConfigAttr config,
                          const AttentionProblem &problem) {
  int64_t headDim = std::max(problem.queryHeadDim, problem.valueHeadDim);
  if (headDim > maxGPUHeadDim)
    return emitError() << "head dim is " << headDim << ", but " << target.chip
                       << " takes at most " << maxGPUHeadDim;
  int64_t queryBlock = config.getQueryBlock(), keyBlock = config.getKeyBlock();
  Needs needs = getNeeds(queryBlock, keyBlock, problem);
  bool tooMuchMemory = needs.sharedBytes > target.sharedMemoryPerBlock;
  if (!tooMuchMemory && needs.registers <= target.registersPerSM)
    return success();
  auto [nearestRows, nearestKeys] =
      shrink(queryBlock, keyBlock, target, problem);
  InFlightDiagnostic diagnostic = emitError() << "query_block = " << queryBlock
                                              << " and key_block = " << keyBlock
                                              << " need at least ";
  if (tooMuchMemory)
    diagnostic << needs.sharedBytes << " bytes of shared memory, but a block "
               << "of " << target.chip << " has "
               << target.sharedMemoryPerBlock;
  else
    diagnostic << needs.registers << " registers, but a block of "
               << target.chip << " has " << target.registersPerSM;
  return diagnostic << "; the nearest is query_block = " << nearestRows
                    << " and key_block = " << nearestKeys;
}
