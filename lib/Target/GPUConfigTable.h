//===- GPUConfigTable.h - Configurations of GPUs ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table lists blocks and the GPU's part of a configuration for kinds
// of problems. The first row that takes the problem and fits is chosen. The
// last row of a chip for an element type serves what no row fits, with smaller
// blocks. Then how a tanh is computed. GPUConfigs.cpp reads the tables.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_GPUCONFIGTABLE_H
#define FA_LIB_TARGET_GPUCONFIGTABLE_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa::gpu_configs {

/// A row is a chain of steps. Each step sets what its name says.
struct Row {
  enum class Elements { Any, Packed, Floats };

  StringRef chips[3] = {};
  Elements elements = Elements::Any;
  int64_t maxHeadDim = 0, fromKeys = 0;
  /// Whether a row for more keys is for score functions alone.
  bool hasScore = false;
  /// 0 for any number, known or not.
  int64_t mostQueries = 0;
  bool needsManyKeys = false;
  /// 0 for sequences of any length.
  int64_t mostInMean = 0;
  int64_t queryBlock = 0, keyBlock = 0;
  bool rescalesBeforeIfUnmasked = false;
  bool turnsByMask = false;
  GPUPart part;

  /// A row for these chips; for every one where none is named.
  template <typename... Chips>
  constexpr explicit Row(Chips... names) : chips{names...} {}

  template <typename Field, typename Value>
  constexpr Row &set(Field &field, Value value) {
    field = value;
    return *this;
  }

  // The problems.

  /// Elements of 16 bits.
  constexpr Row &packed() { return set(elements, Elements::Packed); }
  /// Elements of f32.
  constexpr Row &ofFloats() { return set(elements, Elements::Floats); }
  /// Head dims up to `most`.
  constexpr Row &headDim(int64_t most) { return set(maxHeadDim, most); }
  /// So many keys or more. Such a row takes the place of the first one for the
  /// same chips, form, elements and head dim, where there is no score function
  /// and the mask bounds keys on one side at most.
  constexpr Row &from(int64_t keys) { return set(fromKeys, keys); }
  /// The same where there is a score function, without functions such as tanh.
  constexpr Row &fromWithScore(int64_t keys) {
    return from(keys).set(hasScore, true);
  }

  /// Queries that are known to be so many at most.
  constexpr Row &upToQueries(int64_t most) { return set(mostQueries, most); }
  /// Keys that may fill several blocks, of which no mask of run time hides any.
  /// Blocks of `batch_invariant` do not depend on how many keys there are.
  constexpr Row &overManyKeys() { return set(needsManyKeys, true); }

  /// Packed sequences of so many keys in the mean at most, of this head dim.
  /// Such a row stands beside the first one for the same chips, form and
  /// elements, where there is neither a mask nor a score function.
  constexpr Row &ofShortSequences(int64_t most) {
    return set(mostInMean, most);
  }

  // The configuration.

  constexpr Row &block(int64_t queries, int64_t keys) {
    return set(queryBlock, queries).set(keyBlock, keys);
  }
  constexpr Row &groups(int64_t number) {
    return set(part.form, KernelForm::warp_groups).set(part.groups, number);
  }
  /// Products of a key block run beside the softmax of the next one.
  constexpr Row &overKeys() {
    return set(part.overlap, Overlap::keys).set(part.stages, 2);
  }
  /// Also from tile to tile.
  constexpr Row &overTiles() {
    return set(part.overlap, Overlap::tiles).set(part.stages, 2);
  }
  constexpr Row &stages(int64_t number) { return set(part.stages, number); }
  /// But for some tanhs (`scheduleTanh`).
  constexpr Row &takingTurns() { return set(part.turns, true); }
  constexpr Row &rescaledBeforeIfUnmasked() {
    return set(rescalesBeforeIfUnmasked, true);
  }
  /// With a mask and no score function, turns are taken where the mask has
  /// several bounds, and the output is rescaled before the product then.
  constexpr Row &takingTurnsByMask() {
    return takingTurns().set(turnsByMask, true);
  }
  /// Without a mask and a score function, copies need few registers.
  constexpr Row &copyingIfPlain(int64_t registers) {
    return set(part.copyingRegisters, registers);
  }
  /// Without a mask and lengths, all query blocks of a head see the same keys.
  constexpr Row &clusterIfUnmasked(int64_t blocks) {
    return set(part.cluster, blocks);
  }
  constexpr Row &columns(int64_t number) { return set(part.columns, number); }
  constexpr Row &keepingQueries() { return set(part.keepsQueries, true); }
  constexpr Row &commonStages() { return set(part.commonStages, true); }
};

// warp_groups: tiles of the published FlashAttention-3 kernels; overlap,
// rescaling and order of tiles as measured on an H200 (examples/schedules,
// benchmarks/results).
// warps: tiles of the published FlashAttention-2 kernels, which ptxas 13.0
// takes without a spill; four warps hold the accumulators of 64 queries at head
// dim 256. The rows behind the first of a head dim are for score and mask
// regions that hold values of their own.
// clang-format off
inline constexpr Row table[] = {
    // Memory bounds the time of few queries: one group, and as many stages as
    // keep 64 KiB in flight (benchmarks/results, serving, notes/decoding.md).
    Row("sm_90a").packed().headDim(64).upToQueries(64).overManyKeys()
        .block(64, 128).groups(1).overKeys(),
    Row("sm_90a").packed().headDim(96).upToQueries(64).block(64, 64).groups(1)
        .overKeys().stages(3),
    Row("sm_90a").packed().headDim(128).upToQueries(64).block(64, 64).groups(1)
        .overKeys(),
    Row("sm_90a").packed().headDim(256).upToQueries(64).overManyKeys()
        .block(64, 64).groups(1).overKeys(),
    // Two groups read what 16 tokens of 8 heads share once. Without turns they
    // wait for the same keys, and then multiply at the same time.
    Row("sm_90a").packed().headDim(128).upToQueries(128).block(128, 128)
        .groups(2).overKeys().takingTurns(),
    Row("sm_90a").packed().headDim(256).upToQueries(128).overManyKeys()
        .block(128, 64).groups(2).overKeys().takingTurnsByMask(),
    // Every tile overlaps with the next one.
    Row("sm_90a").packed().headDim(64).block(192, 128).groups(3).overTiles()
        .takingTurns(),
    Row("sm_90a").packed().headDim(64).block(128, 128).groups(2).overTiles()
        .takingTurns(),
    // With a score function the first row does not fit. A third group is worth
    // more than keys a step, but for short sequences, which 192 queries a block
    // divide badly.
    Row("sm_90a").packed().headDim(64).fromWithScore(2048).block(192, 96)
        .groups(3).overTiles().takingTurns(),
    Row("sm_90a").packed().headDim(128).block(128, 128).groups(2).overTiles()
        .takingTurns().copyingIfPlain(40),
    // Larger blocks leave no shared memory for the next queries. Where a tile
    // has many keys they are worth more than the overlap of tiles.
    Row("sm_90a").packed().headDim(128).from(6144).block(128, 176).groups(2)
        .overKeys().copyingIfPlain(40).clusterIfUnmasked(2),
    // Sequences that end within a block compute less for nothing. Where more
    // are long, that is less than larger blocks gain.
    Row("sm_90a").packed().headDim(128).ofShortSequences(112).block(128, 64)
        .groups(2).overTiles().takingTurns().stages(4),
    // Beside copied tiles of a bias, shared memory holds one block of queries
    // or fewer keys, of which more keys are worth more.
    Row("sm_90a").packed().headDim(128).block(128, 128).groups(2).overKeys()
        .rescaledBeforeIfUnmasked(),
    Row("sm_90a").packed().headDim(128).block(128, 96).groups(2).overTiles()
        .takingTurns(),
    // Shared memory holds one block of queries.
    Row("sm_90a").packed().headDim(192).block(128, 112).groups(2).overKeys()
        .takingTurns(),
    Row("sm_90a").packed().headDim(256).block(128, 80).groups(2).overKeys()
        .takingTurnsByMask(),
    Row("sm_90a").packed().headDim(256).block(128, 64).groups(2).overKeys()
        .takingTurnsByMask(),
    Row("sm_90a").packed().headDim(256).block(128, 48).groups(2).overKeys()
        .takingTurnsByMask(),
    // Half a block of two groups would have no queries.
    Row("sm_90a").ofFloats().headDim(128).upToQueries(64).overManyKeys()
        .block(64, 64).commonStages(),
    // Groups split f32 operands. With an overlap ptxas 13.0 spills at head dim
    // 128, and at 64 with 128 keys.
    Row("sm_90a").ofFloats().headDim(96).block(128, 128).groups(2),
    Row("sm_90a").ofFloats().headDim(128).block(128, 64).groups(2),
    // Blocks of which a multiprocessor holds two: one loads and splits operands
    // while the other multiplies.
    Row().ofFloats().headDim(128).block(64, 64).commonStages(),
    // Few queries leave registers for keys. Larger blocks keep more bytes in
    // flight. Timed on an H200, where two fit a multiprocessor.
    Row().packed().headDim(64).upToQueries(64).overManyKeys().block(64, 256),
    Row().packed().headDim(128).upToQueries(64).overManyKeys().block(64, 128),
    Row().headDim(64).block(128, 128),
    Row().headDim(64).block(128, 96),
    Row().headDim(64).block(128, 64),
    Row().headDim(128).block(128, 64),
    Row().headDim(128).block(64, 128),
    Row().packed().headDim(256).block(64, 64),
    // Terms of a part of the columns at a time, for f32 whose whole operands
    // fit no shared memory, or no registers. Groups split the next part while
    // they multiply the one before.
    Row("sm_90a").ofFloats().headDim(256).block(128, 64).groups(2).columns(32)
        .keepingQueries(),
    // All terms of queries stay in shared memory, of which two blocks of a
    // multiprocessor still have enough. At head dim 256 sums that are written
    // out take ptxas beyond two seconds.
    Row("sm_90", "sm_90a", "sm_100").ofFloats().headDim(192).block(64, 64)
        .columns(16).keepingQueries(),
    Row().ofFloats().headDim(256).block(64, 64).columns(16)};
// clang-format on

/// Beside the products of wider heads any tanh takes turns.
inline constexpr int64_t widestForTanh = 128;

/// How a kernel of bf16 by warp groups, whose tiles overlap, computes an exact
/// tanh.
struct TanhChoice {
  bool turns;
  int64_t sharers;
  bool interleavesRows;
};
struct TanhRow {
  int64_t maxHeadDim;
  /// By whether there is a mask, then whether the cap is a constant.
  TanhChoice choices[2][2];
};

// As measured on an H200 (benchmarks/results/notes/scores-and-masks.md).
inline constexpr TanhChoice withoutTurns = {false, 4, false};
inline constexpr TanhChoice inTurns = {true, 4, false};
inline constexpr TanhChoice interleaved = {true, 4, true};
inline constexpr TanhChoice fiveInTurns = {true, 5, true};
inline constexpr TanhChoice five = {false, 5, false};
inline constexpr TanhChoice fiveInterleaved = {false, 5, true};
inline constexpr TanhRow tanhTable[] = {
    {32, {{withoutTurns, withoutTurns}, {inTurns, inTurns}}},
    {48, {{interleaved, interleaved}, {interleaved, interleaved}}},
    {64, {{fiveInterleaved, interleaved}, {interleaved, interleaved}}},
    {96, {{interleaved, interleaved}, {inTurns, inTurns}}},
    {112, {{interleaved, interleaved}, {interleaved, inTurns}}},
    {widestForTanh, {{fiveInterleaved, five}, {inTurns, fiveInTurns}}}};

} // namespace mlir::fa::gpu_configs

#endif // FA_LIB_TARGET_GPUCONFIGTABLE_H
