//===- KernelKind.cpp - What kernel a loop over tiles becomes -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for the operations of attention in a loop, and at what it stores. Read
// `KernelKind::read` at the end: the configuration comes first, as the number
// of warps follows from it, and then the name.
//
//===----------------------------------------------------------------------===//

#include "KernelKind.h"
#include "SummarizeMask.h"
#include "fa/Target/GradientWarps.h"
#include "fa/Target/OrderedSums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

/// Whether a loop stores blocks, each as it was read.
static bool isCopy(scf::ForallOp loop) {
  bool stores = false;
  WalkResult result = loop.walk([&](fagpu::StoreOp store) {
    stores = true;
    Value value = store.getValue();
    if (auto narrowed = value.getDefiningOp<arith::TruncFOp>())
      value = narrowed.getIn();
    return value.getDefiningOp<fagpu::GatherOp>() ? WalkResult::advance()
                                                  : WalkResult::interrupt();
  });
  return stores && !result.wasInterrupted();
}

static StringRef getSuffixOfGradient(Operation *step) {
  if (isa<PrepareGradientOp>(step))
    return "_rows";
  if (isa<FinalizeGradientOp>(step))
    return "_sums";
  if (isa<GradientQueriesOp>(step))
    return "_queries";
  auto keys = cast<GradientKeysOp>(step);
  if (keys.getQueryGradient())
    return "_all";
  if (!keys.getValueAccumulator())
    return "_keys";
  return keys.getKeyAccumulator() ? "_keys_and_values" : "_values";
}

/// What an operation of a tile is configured by; nothing for most.
static std::optional<ConfigAttr> getConfig(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<ConfigAttr>>(op)
      .Case<OnlineAttentionOp, GradientKeysOp, GradientQueriesOp,
            PrepareGradientOp>([](auto step) { return step.getConfigAttr(); })
      .Case<FinalizeGradientOp>([](auto result) -> std::optional<ConfigAttr> {
        ConfigAttr config = result.getConfigAttr();
        return config ? std::optional(config) : std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// One kernel has one configuration.
LogicalResult KernelKind::readConfig(scf::ForallOp loop) {
  bool isConfigured = false;
  WalkResult result = loop.walk([&](Operation *op) -> WalkResult {
    std::optional<ConfigAttr> ofStep = getConfig(op);
    if (!ofStep)
      return WalkResult::advance();
    if (isConfigured && *ofStep != config) {
      InFlightDiagnostic error = op->emitOpError() << "is configured ";
      auto describe = [&](ConfigAttr by) {
        if (by)
          error << "by " << by;
        else
          error << "by nothing";
      };
      describe(*ofStep);
      error << ", but another step of its kernel ";
      describe(config);
      return error;
    }
    isConfigured = true;
    config = *ofStep;
    if (auto attention = dyn_cast<AttentionLikeOpInterface>(op))
      step = attention;
    if (!isa<OnlineAttentionOp>(op))
      suffix = getSuffixOfGradient(op);
    isOrdered |= op->hasAttr(orderedSumsAttrName);
    // Under a causal mask the first keys are seen by the most queries.
    isAscending = isa<GradientKeysOp>(op);
    return WalkResult::advance();
  });
  part = getGPUPart(config);
  return failure(result.wasInterrupted());
}

/// Kernels without products have as many warps as their rows are for.
void KernelKind::chooseWarps(scf::ForallOp loop) {
  loop.walk([&](SummarizeMaskOp op) {
    if (getNumRows(op) % 32 == 0)
      warps = getNumRows(op) / 16;
  });
  loop.walk([&](ApplyOp op) { warps = op.getBlockType().getDimSize(0) / 16; });
  // Many small blocks hide memory's latency.
  loop.walk([&](PrepareGradientOp op) {
    if (config && config.getQueryBlock() % 16 == 0)
      warps = config.getQueryBlock() / 16;
    config = {};
    part = GPUPart();
  });
  loop.walk([&](GradientLikeOpInterface) {
    if (config && !part.hasGroups())
      warps = getWarpsOfPasses(config.getQueryBlock(), config.getKeyBlock());
  });
  if (config && config.getGradientForm() == GradientForm::one_pass &&
      !part.hasGroups())
    warps = getWarpsOfOnePass(config.getKeyBlock(), config.getQueryBlock());
  // What reads sums of blocks of queries from memory has no products either.
  // Where a mask hides all, no step says how many rows there are.
  loop.walk([&](FinalizeGradientOp op) {
    auto type = cast<ShapedType>(op.getAccumulator().getType());
    if (isa<MemRefType>(type) && !part.hasGroups())
      warps = config.getQueryBlock() / 16;
    else if (!config && type.getDimSize(0) % (16 * warps) != 0)
      warps = type.getDimSize(0) / 16;
  });
  // Nor has a merge of partial results.
  loop.walk([&](AddPartialOp op) {
    warps = cast<ShapedType>(op.getMaximum().getType()).getDimSize(0) / 16;
  });
}

/// By what the loop stores, where that is no result of a step.
void KernelKind::chooseSuffix(scf::ForallOp loop) {
  bool isBlockTable = false;
  loop.walk([&](SummarizeMaskOp) {
    isBlockTable = true;
    suffix = "_block_table";
  });
  loop.walk([&](AddPartialOp) {
    suffix = "_merge";
    isMerge = true;
  });
  if (isCopy(loop))
    suffix = "_copy";
  loop.walk([&](ApplyOp) { suffix = "_elements"; });
  loop.walk([&](memref::StoreOp store) {
    if (isBlockTable || !store.getMemRefType().getElementType().isInteger(32))
      return;
    isPlan = store.getMemRef().getDefiningOp<fagpu::WorkspaceOp>() != nullptr;
    suffix = isPlan ? "_plan" : "_errors";
  });
  loop.walk([&](vector::StoreOp store) {
    bool ofDevice = store.getBase().getDefiningOp<fagpu::WorkspaceOp>();
    suffix = ofDevice ? "_gather" : "_append";
    isPlan = false;
  });
}

LogicalResult KernelKind::read(scf::ForallOp loop) {
  if (failed(readConfig(loop)))
    return failure();
  chooseWarps(loop);
  chooseSuffix(loop);
  return success();
}
