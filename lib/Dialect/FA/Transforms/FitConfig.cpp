//===- FitConfig.cpp - Suit a configuration to sequences and machine ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks that lie in a page, and parts of the keys for machines that few query
// blocks would leave idle: threads of a CPU, then multiprocessors of a GPU. In
// the order in which selectConfig calls them: fitSequences, fillThreads,
// fillDevice, shareProcessors, verifyPages.
//
//===----------------------------------------------------------------------===//

#include "FitConfig.h"
#include "MergedColumns.h"
#include "fa/Dialect/FA/IR/MissingPages.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// Rows of a page; dynamic where its type does not say.
static int64_t getPageRows(AttentionOp op) {
  return cast<ShapedType>(op.getKey().getType())
      .getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
}

/// What key blocks in pages are multiples of.
static constexpr int64_t keyUnit = 16;

static bool hasJoinedPages(AttentionOp op, ConfigAttr config) {
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  return gpu && joinsPages(gpu.getPart(), op.getKey().getType());
}

/// Keys of a block that is a part of one page, so that nothing is copied: the
/// most that are below `keyBlock`, and a multiple of 16. A CPU copies small
/// pages.
static int64_t fitPages(AttentionOp op, ConfigAttr config) {
  bool isGPU = isa_and_present<GPUConfigAttr>(config.getTarget());
  int64_t fewest = isGPU ? keyUnit : 32, keyBlock = config.getKeyBlock();
  if (!op.getKeyPages())
    return keyBlock;
  int64_t rows = getPageRows(op);
  if (ShapedType::isDynamic(rows))
    return keyBlock;
  // Whole pages are boxes, which are copied faster than rows one by one.
  if (hasJoinedPages(op, config) && rows < keyBlock && rows % keyUnit == 0)
    return keyBlock / rows * rows;
  if (hasJoinedPages(op, config) && (rows < keyBlock || rows % keyUnit))
    return keyBlock;
  for (int64_t block = std::min(rows, keyBlock); block >= fewest; --block)
    if (rows % block == 0 && block % keyUnit == 0)
      return block;
  return keyBlock;
}

LogicalResult mlir::fa::verifyPages(AttentionOp op, ConfigAttr config,
                                    bool isGiven, StringRef target) {
  if (!op.getKeyPages())
    return success();
  int64_t rows = getPageRows(op), keyBlock = config.getKeyBlock();
  if (hasJoinedPages(op, config))
    return success();
  if (ShapedType::isDynamic(rows))
    return op.emitOpError() << "has pages of ? rows, expected a static number "
                               "of them on "
                            << target << "; the nearest is a version for each "
                            << "size of a page";
  if (rows % keyBlock == 0)
    return success();
  return op.emitOpError() << "has pages of " << rows
                          << " rows and key_block = " << keyBlock
                          << ", expected pages of whole key blocks on "
                          << target << "; the nearest is pages of "
                          << llvm::alignTo(rows, isGiven ? keyBlock : keyUnit)
                          << " rows";
}

ConfigAttr mlir::fa::fitSequences(ConfigAttr config, AttentionOp op) {
  TargetConfigAttrInterface target = config.getTarget();
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(target);
  if (gpu) {
    GPUPart part = gpu.getPart();
    part.tileOrder = TileOrder::in_order;
    part.cluster = 1;
    target = GPUConfigAttr::get(config.getContext(), part);
  }
  int64_t keyBlock = config.getKeyBlock();
  if (!op.getBatchInvariant())
    keyBlock = fitPages(op, config);
  int64_t splitKeys = llvm::alignTo(config.getSplitKeys(), keyBlock);
  ConfigAttr longer = config.getLonger();
  if (longer)
    longer = fitSequences(longer, op);
  return config.withBlocks(config.getQueryBlock(), keyBlock)
      .withTarget(target)
      .withKeySplits(config.getKeySplits(), splitKeys)
      .withLengths(config.getFromKeys(), config.getFromQueries(), longer);
}

/// Query blocks of a problem; nothing where types do not say.
static std::optional<int64_t> countQueryBlocks(AttentionOp op,
                                               int64_t queryBlock) {
  DimsAttr order = op.getQueryOrder();
  if (op.getQueryStarts())
    return std::nullopt;
  auto type = cast<ShapedType>(op.getQuery().getType());
  int64_t blocks = 1;
  for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::Sequence}) {
    int64_t size = type.getDimSize(order.positionOf(kind));
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    blocks *=
        kind == DimKind::Sequence ? llvm::divideCeil(size, queryBlock) : size;
  }
  return blocks;
}

/// The keys that a sequence has room for; dynamic where types do not say.
static int64_t getKeyCapacity(AttentionOp op) {
  int64_t rows =
      cast<ShapedType>(op.getKey().getType())
          .getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
  if (!op.getKeyPages() || ShapedType::isDynamic(rows))
    return rows;
  int64_t pages = cast<ShapedType>(op.getKeyPages().getType()).getDimSize(1);
  return ShapedType::isDynamic(pages) ? pages : rows * pages;
}

ConfigAttr mlir::fa::fillThreads(ConfigAttr config, AttentionOp op,
                                 const Target &target, std::string &reason) {
  constexpr int64_t leastBlocks = 4;
  if (!target.isCPU() || op.getBatchInvariant() || !op.getOffsets().empty())
    return config;
  int64_t threads = target.getCPU().threads;
  std::optional<int64_t> blocks = countQueryBlocks(op, config.getQueryBlock());
  if (!blocks || *blocks == 0 || *blocks >= threads)
    return config;
  int64_t parts = llvm::divideCeil(threads, *blocks);
  int64_t least = parts * leastBlocks * config.getKeyBlock();
  int64_t keys = getKeyCapacity(op);
  // What a sequence in pages, or a packed one, has is known at run time only.
  bool isRagged = op.isRagged();
  if (ShapedType::isDynamic(keys) ? isRagged : keys < least)
    return config;
  reason += llvm::formatv("; {0} parts of at least {1} keys, for {2} threads "
                          "and {3} query blocks",
                          parts, least / parts, threads, *blocks);
  ConfigAttr split = config.withKeySplits(parts, /*splitKeys=*/0);
  if (isRagged || !ShapedType::isDynamic(keys))
    return split;
  return config.withLengths(
      /*fromKeys=*/0, /*fromQueries=*/0,
      split.withLengths(least, /*fromQueries=*/0, /*longer=*/{}));
}

ConfigAttr mlir::fa::fillDevice(ConfigAttr config, AttentionOp op,
                                const Target &target, std::string &reason) {
  constexpr int64_t leastKeys = 256, exactKeys = 2048;
  // No GPU has as many multiprocessors.
  constexpr int64_t mostBlocks = 256;
  // As 16 tokens of 8 heads, where a block has fewer.
  constexpr int64_t fewQueries = 128;
  if (target.isCPU() || op.getQueryStarts() || !op.getOffsets().empty() ||
      !op.getExtents().empty() || !isa<MemRefType>(op.getQuery().getType()))
    return config;
  int64_t queries =
      cast<ShapedType>(op.getQuery().getType())
          .getDimSize(op.getQueryOrder().positionOf(DimKind::Sequence));
  int64_t keys = getKeyCapacity(op), rows = config.getQueryBlock();
  GPUPart part = cast<GPUConfigAttr>(config.getTarget()).getPart();
  int64_t headDim =
      cast<ShapedType>(op.getValue().getType())
          .getDimSize(op.getValueOrder().positionOf(DimKind::HeadDim));
  int64_t size = llvm::alignTo(op.getBatchInvariant() ? exactKeys : leastKeys,
                               config.getKeyBlock());
  // Sequences that share keys are one, of few query blocks.
  bool isOne = op->hasAttr(sharedKeysAttrName);
  bool isShort = !ShapedType::isDynamic(queries) &&
                 queries <= std::max(rows, fewQueries) &&
                 part.overlap != Overlap::tiles;
  if ((!isOne && !isShort) || part.blockTable || !mergesOnGPU(headDim) ||
      (!ShapedType::isDynamic(keys) && keys < 2 * size))
    return config;
  std::optional<int64_t> blocks = countQueryBlocks(op, rows);
  if (blocks && *blocks > mostBlocks && !op.getBatchInvariant())
    return config;
  reason += llvm::formatv("; parts of {0} keys{1}, for {2}", size,
                          op.getBatchInvariant() ? "" : " at least",
                          isOne ? "sequences that share them"
                                : llvm::formatv("{0} queries", queries).str());
  if (part.overlap == Overlap::tiles) {
    part.overlap = Overlap::keys;
    part.turns = false;
  }
  // Parts of the keys have a tile each.
  part.tileOrder = TileOrder::in_order;
  part.cluster = 1;
  return config.withTarget(GPUConfigAttr::get(op.getContext(), part))
      .withKeySplits(/*keySplits=*/1, size)
      .forAnyLengths();
}

ConfigAttr mlir::fa::shareProcessors(ConfigAttr config, AttentionOp op,
                                     const Target &target,
                                     const AttentionProblem &problem) {
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  if (!gpu || !config.getSplitKeys() || op.getBatchInvariant() ||
      op.getQueryStarts())
    return config;
  GPUPart part = gpu.getPart();
  part.blocksPerSM = target.chooseBlocksPerSM(config, problem);
  return config.withTarget(GPUConfigAttr::get(op.getContext(), part));
}
