//===- CPUConfigs.cpp - Configurations of CPUs ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TargetConfigs.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
struct ConfigRow {
  StringLiteral target;
  int64_t maxHeadDim, queryBlock, keyBlock;
  /// Of gradients, and of those with a mask.
  int64_t gradientKeyBlock, maskedKeyBlock;
  int64_t registerRows, registerVectors;

  int64_t getKeyBlock(const AttentionProblem &problem) const {
    if (!problem.isGradient)
      return keyBlock;
    return problem.hasMask ? maskedKeyBlock : gradientKeyBlock;
  }
};
constexpr ConfigRow configRows[] = {
#define FA_CPU_CONFIG(...) {__VA_ARGS__},
#include "CPUTargets.def"
};
// For processors without a vector unit that the table knows.
constexpr ConfigRow scalarRow = {"scalar", maxHeadDim, 16, 64, 64, 64, 4, 2};
} // namespace

static const ConfigRow &getRow(StringRef target, int64_t headDim) {
  for (const ConfigRow &row : configRows)
    if (row.target == target && headDim <= row.maxHeadDim)
      return row;
  return scalarRow;
}

// Accumulators, one operand vector for each column and one broadcast.
static int64_t getTileRegisters(int64_t rows, int64_t vectors) {
  return rows * vectors + vectors + 1;
}

ConfigAttr mlir::fa::selectCPUConfig(MLIRContext *context, StringRef target,
                                     const CPULimits &limits,
                                     const AttentionProblem &problem,
                                     std::string &reason) {
  int64_t headDim = std::max(problem.queryHeadDim, problem.valueHeadDim);
  const ConfigRow &row = getRow(target, headDim);
  int64_t queryBlock = row.queryBlock, vectors = row.registerVectors;
  reason = llvm::formatv("table row {0}, head dims up to {1}", target,
                         row.maxHeadDim);
  // Lanes without a query are work for nothing.
  bool isShort =
      !ShapedType::isDynamic(problem.queries) && problem.queries < queryBlock;
  if (isShort) {
    while (vectors > 1 && problem.queries <= limits.lanes * (vectors / 2))
      vectors /= 2;
    int64_t tile = limits.lanes * vectors;
    queryBlock = llvm::alignTo(std::max<int64_t>(problem.queries, 1), tile);
    reason += llvm::formatv("; query_block for the {0} queries there are",
                            problem.queries);
  }
  return ConfigAttr::get(
      context, queryBlock, row.getKeyBlock(problem), /*keySplits=*/1,
      /*deterministic=*/true,
      CPUConfigAttr::get(context, limits.lanes, row.registerRows, vectors));
}

ConfigAttr mlir::fa::completeCPUConfig(StringRef target,
                                       const CPULimits &limits,
                                       ConfigAttr config) {
  const ConfigRow &row = getRow(target, /*headDim=*/1);
  int64_t queryBlock = config.getQueryBlock();
  int64_t lanes = limits.lanes, vectors = row.registerVectors;
  while (lanes > 1 && queryBlock % lanes != 0)
    lanes /= 2;
  while (vectors > 1 && queryBlock % (lanes * vectors) != 0)
    vectors /= 2;
  return config.withTarget(CPUConfigAttr::get(config.getContext(), lanes,
                                              row.registerRows, vectors));
}

/// Threads take whole key heads in one pass, and blocks in two passes, which
/// compute seven products for five.
GradientForm mlir::fa::selectCPUGradientForm(const CPULimits &limits,
                                             AttentionGradientOp op) {
  bool hasKeys = op.getKeyGradient() || op.getValueGradient();
  if (!hasKeys || !op.getQueryGradient() || !limits.threads)
    return GradientForm::two_pass;
  // Unknown numbers are at least one.
  int64_t keyHeads = 1;
  for (DimKind kind : {DimKind::Batch, DimKind::Heads}) {
    // Packed sequences are cut, and each is one batch item.
    if (!op.getKeyOrder().has(kind))
      continue;
    int64_t size = cast<ShapedType>(op.getKey().getType())
                       .getDimSize(op.getKeyOrder().positionOf(kind));
    keyHeads *= ShapedType::isDynamic(size) ? 1 : std::max<int64_t>(size, 1);
  }
  int64_t rounds = llvm::divideCeil(keyHeads, limits.threads);
  return rounds * limits.threads * 5 <= keyHeads * 7 ? GradientForm::one_pass
                                                     : GradientForm::two_pass;
}

LogicalResult
mlir::fa::verifyCPUConfig(function_ref<InFlightDiagnostic()> emitError,
                          StringRef target, const CPULimits &limits,
                          ConfigAttr config) {
  // A thread holds a block of scores; splits are launched one by one.
  constexpr int64_t mostOfBlock = 4096, mostSplits = 4096;
  for (auto [name, value, most] :
       {std::tuple("query_block", config.getQueryBlock(), mostOfBlock),
        std::tuple("key_block", config.getKeyBlock(), mostOfBlock),
        std::tuple("key_splits", config.getKeySplits(), mostSplits)})
    if (value > most)
      return emitError() << name << " is " << value << ", expected at most "
                         << most << " on " << target;
  auto tile = cast<CPUConfigAttr>(config.getTarget());
  if (tile.getLanes() > limits.lanes)
    return emitError() << "lanes is " << tile.getLanes() << ", but a vector of "
                       << target << " holds " << limits.lanes
                       << " f32; the nearest is " << limits.lanes;
  int64_t rows = tile.getRegisterRows(), vectors = tile.getRegisterVectors();
  int64_t needed = getTileRegisters(rows, vectors);
  if (needed <= limits.vectorRegisters)
    return success();
  InFlightDiagnostic diagnostic =
      emitError() << "a register tile of register_rows = " << rows
                  << " by register_vectors = " << vectors << " needs " << needed
                  << " vector registers, but " << target << " has "
                  << limits.vectorRegisters;
  int64_t nearestRows = (limits.vectorRegisters - 1 - vectors) / vectors;
  if (nearestRows >= 1)
    return diagnostic << "; the nearest is register_rows = " << nearestRows;
  return diagnostic << "; the nearest is register_rows = 1 and "
                       "register_vectors = "
                    << (limits.vectorRegisters - 1) / 2;
}
