//===- TileNumbers.cpp - From the number of a tile to loop indices --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tile comes next, so that concurrent blocks share keys in the L2 cache.
// Begin with `decodeTileNumber`: from one number to the indices of all loops.
// The host computes what it needs: `countTogether`, how many sequences fit into
// the cache at a time, and `countInClusters`, blocks rounded up to clusters.
//
//===----------------------------------------------------------------------===//

#include "TileNumbers.h"
#include "IndexWidths.h"
#include "KernelConfig.h"
#include "VisibleKeys.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

/// Keys and values of the sequences in work. Measured on an H200 (50 MB of L2
/// cache): 8 MiB are as good up to head dim 128 and worse at 256, 32 MiB worse
/// for short sequences.
static constexpr int64_t cachedBytes = int64_t(16) << 20;

/// What the host has of the memory that a tile is a part of.
static Value getHostMemory(Value memory, Region &tile) {
  while (tile.isAncestor(memory.getParentRegion())) {
    Operation *view = memory.getDefiningOp();
    if (!isa_and_nonnull<memref::SubViewOp, memref::CastOp>(view))
      return {};
    memory = view->getOperand(0);
  }
  return memory;
}

/// What a block of keys visits, where rows are keys.
static std::array<std::pair<Value, DimsAttr>, 2>
getVisited(AttentionLikeOpInterface step) {
  if (auto keys = dyn_cast<GradientKeysOp>(*step))
    return {std::pair(keys.getQuery(), keys.getQueryOrder()),
            std::pair(keys.getOutputGradient(), keys.getOutputGradientOrder())};
  return {std::pair(step.getKey(), step.getKeyOrder()),
          std::pair(step.getValue(), step.getValueOrder())};
}

int64_t mlir::fa::countCachedKeys(AttentionLikeOpInterface step) {
  int64_t bytesOfKey = 0;
  for (auto [memory, order] : getVisited(step)) {
    auto type = cast<MemRefType>(memory.getType());
    bytesOfKey += type.getDimSize(order.positionOf(DimKind::HeadDim)) *
                  type.getElementTypeBitWidth() / 8;
  }
  return cachedBytes / bytesOfKey;
}

/// More sequences than `fitting`, if that are one or two, where the last group
/// would end unevenly, its longest tile beside blocks that have nothing left:
/// three tiles for each multiprocessor. Measured on an H200: causal head dim
/// 256 gains 8 to 9 % at 6000 and 12288 queries; groups of shorter sequences
/// end evenly enough, and larger ones leave the L2 cache.
static Value evenOut(OpBuilder &builder, Location loc, Value fitting,
                     Value blocks) {
  constexpr int64_t tilesOfProcessor = 3, mostOfLong = 2;
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value processors = fagpu::MultiprocessorsOp::create(builder, loc);
  Value tiles =
      multiplyShort(builder, loc, processors, constant(tilesOfProcessor));
  Value some = builder.createOrFold<arith::MaxUIOp>(loc, blocks, constant(1));
  Value even = builder.createOrFold<arith::DivUIOp>(loc, tiles, some);
  even = builder.createOrFold<arith::MaxUIOp>(loc, even, fitting);
  Value isLong = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule,
                                       fitting, constant(mostOfLong));
  return arith::SelectOp::create(builder, loc, isLong, even, fitting);
}

/// So many sequences that their tiles fill the multiprocessors in whole waves,
/// the fewest waves for which that loses little. Each row is then read once a
/// wave. Measured on an H200, causal, head dim 128: groups of 16 MiB take 1.02
/// of the time at 512 and at 12288 queries, and 1.00 at 1024 to 8192 and 16384.
static Value countInWaves(OpBuilder &builder, Location loc, Value blocks) {
  constexpr int64_t fewest = 4;
  Value processors = fagpu::MultiprocessorsOp::create(builder, loc);
  Value some = builder.createOrFold<arith::MaxUIOp>(
      loc, blocks, arith::ConstantIndexOp::create(builder, loc, 1));
  Value tiles = multiplyShort(
      builder, loc, some, arith::ConstantIndexOp::create(builder, loc, fewest));
  Value waves =
      builder.createOrFold<arith::CeilDivUIOp>(loc, tiles, processors);
  Value ofWaves = multiplyShort(builder, loc, waves, processors);
  Value fitting = builder.createOrFold<arith::DivUIOp>(loc, ofWaves, some);
  // It is no more than that, and a number that is known to be short.
  return builder.createOrFold<arith::MinUIOp>(loc, fitting, processors);
}

/// Whether a block of keys makes all gradients, one or two blocks a
/// multiprocessor.
static bool isGradientInOnePass(AttentionLikeOpInterface step) {
  auto keys = dyn_cast<GradientKeysOp>(*step);
  return keys && keys.getQueryGradient();
}

Value mlir::fa::countTogether(OpBuilder &builder, scf::ForallOp loop,
                              AttentionLikeOpInterface step, Value sequences,
                              Value blocks) {
  Location loc = loop.getLoc();
  auto visited = getVisited(step);
  Value key = getHostMemory(visited[0].first, loop.getRegion());
  if (!key)
    return {};
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value one = constant(1);
  if (isGradientInOnePass(step))
    return builder.createOrFold<arith::MinUIOp>(
        loc, countInWaves(builder, loc, blocks), sequences);
  Value keys = builder.createOrFold<memref::DimOp>(
      loc, key, visited[0].second.positionOf(DimKind::Sequence));
  keys = countVisibleKeys(builder, loop, step, keys, blocks);
  keys = builder.createOrFold<arith::MaxUIOp>(loc, keys, one);
  Value fitting = builder.createOrFold<arith::DivUIOp>(
      loc, constant(countCachedKeys(step)), keys);
  fitting = builder.createOrFold<arith::MaxUIOp>(loc, fitting, one);
  if (isa<OnlineAttentionOp>(*step))
    fitting = evenOut(builder, loc, fitting, blocks);
  return builder.createOrFold<arith::MinUIOp>(loc, fitting, sequences);
}

static Value countClusters(OpBuilder &builder, Location loc, Value blocks,
                           int64_t cluster) {
  Value size = arith::ConstantIndexOp::create(builder, loc, cluster);
  return builder.createOrFold<arith::CeilDivUIOp>(loc, blocks, size);
}

Value mlir::fa::countInClusters(OpBuilder &builder, Location loc, Value blocks,
                                int64_t cluster) {
  if (cluster == 1)
    return blocks;
  Value clusters = countClusters(builder, loc, blocks, cluster);
  Value size = arith::ConstantIndexOp::create(builder, loc, cluster);
  return multiplyShort(builder, loc, clusters, size);
}

SmallVector<Value> mlir::fa::decodeTileNumber(OpBuilder &builder, Location loc,
                                              Value tile,
                                              const TileCounts &grid) {
  // The remainder from the quotient: a second division would cost as much.
  auto divide = [&](Value a, Value b) -> std::pair<Value, Value> {
    Value quotient = arith::DivUIOp::create(builder, loc, a, b);
    Value whole = multiplyShort(builder, loc, quotient, b);
    Value remainder = arith::SubIOp::create(builder, loc, a, whole);
    return {quotient, remainder};
  };
  ArrayRef<Value> counts = grid.counts;
  Value blocks = counts.back(), block, sequence;
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto fromEnd = [&](Value count, Value number) -> Value {
    Value last = arith::SubIOp::create(builder, loc, count, one);
    return arith::SubIOp::create(builder, loc, last, number);
  };
  if (grid.together) {
    Value sequences = counts.front();
    for (Value count : counts.drop_front().drop_back())
      sequences = multiplyShort(builder, loc, sequences, count);
    // From the last tile back, so that the group that holds fewer comes first:
    // the last ones at work are short tiles of a whole group.
    Value all = multiplyShort(builder, loc, sequences, blocks);
    Value tiles = multiplyShort(builder, loc, grid.together, blocks);
    auto [group, inGroup] = divide(fromEnd(all, tile), tiles);
    Value first = multiplyShort(builder, loc, group, grid.together);
    Value left = arith::SubIOp::create(builder, loc, sequences, first);
    Value here = arith::MinUIOp::create(builder, loc, grid.together, left);
    Value inBlock;
    std::tie(block, inBlock) = divide(inGroup, here);
    if (grid.isAscending)
      block = fromEnd(blocks, block);
    sequence = arith::AddIOp::create(builder, loc, first, inBlock);
  } else if (grid.cluster > 1) {
    Value size = arith::ConstantIndexOp::create(builder, loc, grid.cluster);
    auto [number, inCluster] = divide(tile, size);
    Value place = number;
    if (counts.size() > 1)
      std::tie(sequence, place) =
          divide(number, countClusters(builder, loc, blocks, grid.cluster));
    Value first = multiplyShort(builder, loc, place, size);
    block = arith::AddIOp::create(builder, loc, first, inCluster);
  } else {
    block = tile;
    if (counts.size() > 1)
      std::tie(sequence, block) = divide(tile, blocks);
    if (!grid.isAscending)
      block = fromEnd(blocks, block);
  }
  SmallVector<Value> numbers(counts.size());
  numbers.back() = block;
  for (size_t dim = counts.size() - 1; dim-- > 1;)
    std::tie(sequence, numbers[dim]) = divide(sequence, counts[dim]);
  if (counts.size() > 1)
    numbers.front() = sequence;
  return numbers;
}
