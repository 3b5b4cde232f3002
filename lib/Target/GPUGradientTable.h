//===- GPUGradientTable.h - Configurations of gradients ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the form of a gradient on GPUs and the columns that a step of its
// kernels takes, by head dim. The first row that takes the head dims is chosen.
// GPUGradientConfigs.cpp reads the rows of groups, GPUWarpsGradientConfigs.cpp
// those of warps.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_GPUGRADIENTTABLE_H
#define FA_LIB_TARGET_GPUGRADIENTTABLE_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa::gpu_gradients {

/// A row is a chain of steps. Each step sets what its name says. Blocks have
/// 128 rows, of queries or of keys.
struct GroupsRow {
  int64_t maxHeadDim;
  GradientForm form = GradientForm::two_pass;
  int64_t keys = 0, packedKeys = 0;
  int64_t queries = 0, queriesIfMasked = 0, ifScored = 0;
  int64_t once = 0, onceIfMasked = 0;
  int64_t fromLong = 0, onceIfLong = 0, tilesIfMaskedBelow = 0;
  int64_t fromPacked = 0, fromPackedIfMasked = 0;
  bool packedPassesIfScored = false;

  /// A row for head dims up to `most`.
  constexpr explicit GroupsRow(int64_t most) : maxHeadDim(most) {}

  constexpr GroupsRow &set(int64_t &field, int64_t value) {
    field = value;
    return *this;
  }

  // Forms of several passes.

  constexpr GroupsRow &passes(GradientForm ofSeveral) {
    form = ofSeveral;
    return *this;
  }
  /// Keys a step of a block of queries.
  constexpr GroupsRow &keysAStep(int64_t number) {
    return set(keys, number).set(packedKeys, number);
  }
  /// Of packed sequences: shared memory has room for what the next block reads.
  constexpr GroupsRow &keysAStepIfPacked(int64_t number) {
    return set(packedKeys, number);
  }
  /// Queries a step of a block of keys.
  constexpr GroupsRow &queriesAStep(int64_t number) {
    return set(queries, number).set(queriesIfMasked, number);
  }
  constexpr GroupsRow &queriesAStepIfMasked(int64_t number) {
    return set(queriesIfMasked, number);
  }
  /// At most, with a score function: its gradient holds as many values again.
  constexpr GroupsRow &columnsIfScored(int64_t most) {
    return set(ifScored, most);
  }

  // One pass, where sums may have any order.

  /// At most so many queries a step. Without this step there is no one pass.
  constexpr GroupsRow &onePass(int64_t most) {
    return set(once, most).set(onceIfMasked, most);
  }
  constexpr GroupsRow &onePassIfMasked(int64_t most) {
    return set(onceIfMasked, most);
  }
  /// From so many keys and queries on, where a mask bounds one side.
  constexpr GroupsRow &onePassIfLong(int64_t from, int64_t number) {
    return set(fromLong, from).set(onceIfLong, number);
  }
  /// With a mask, tiles overlap below so many keys or queries, where it bounds
  /// one side. Else the stores of a tile do.
  constexpr GroupsRow &tilesBelowIfMasked(int64_t length) {
    return set(tilesIfMaskedBelow, length);
  }
  /// Packed sequences of fewer keys or queries in the mean take several passes.
  constexpr GroupsRow &onePassFromMean(int64_t least) {
    return set(fromPacked, least).set(fromPackedIfMasked, least);
  }
  constexpr GroupsRow &onePassFromMeanIfMasked(int64_t least) {
    return set(fromPackedIfMasked, least);
  }
  /// Packed sequences with a score function and no mask take several passes.
  constexpr GroupsRow &passesIfScored() {
    packedPassesIfScored = true;
    return *this;
  }
};

// Above head dim 128 the sums of both gradients of keys leave no registers for
// scores. With a causal mask 80 queries a step take 0.99 of the time of 64 from
// 10240 on, and 1.03 at 4096. At head dim 64, causal, tiles that overlap have
// 1.06 of the speed of stores that do at 512, 0.99 at 2048 and 0.94 at 16384:
// steps of the loop are slower. Two passes take packed documents of 352, 448,
// 576 and 704 tokens, causal, in 0.85, 0.93, 0.98 and 1.01 of the time of one
// at head dim 128, and in 0.92, 0.89, 0.95 and 1.00 at 64; without a mask in
// 0.95 and 1.01 of 352 and 448 at 128, in 0.92, 0.96 and 0.98 of 352, 448 and
// 576 at 64. Where lengths differ much, those of 590 in the mean take 1.09 and
// 1.11 (measured on an H200).
// clang-format off
inline constexpr GroupsRow ofGroups[] = {
    GroupsRow(64).passes(GradientForm::two_pass).keysAStep(128)
        .queriesAStep(96).queriesAStepIfMasked(64).columnsIfScored(32)
        .onePass(128).tilesBelowIfMasked(2048)
        .onePassFromMean(448).onePassFromMeanIfMasked(512),
    GroupsRow(128).passes(GradientForm::two_pass).keysAStep(128)
        .keysAStepIfPacked(64).queriesAStep(64).columnsIfScored(32)
        .onePass(80).onePassIfMasked(64).onePassIfLong(10240, 80)
        .onePassFromMean(416).onePassFromMeanIfMasked(512).passesIfScored(),
    GroupsRow(256).passes(GradientForm::three_pass).keysAStep(64)
        .queriesAStep(64).columnsIfScored(32)};
// clang-format on

/// Rows of a block, and the most columns of a step.
struct RowsByColumns {
  int64_t rows, columns;
};

/// A row is a chain of steps. Each step sets what its name says.
struct WarpsRow {
  int64_t maxHeadDim;
  GradientForm form = GradientForm::two_pass;
  RowsByColumns ofQueries = {}, ofKeys = {}, once = {}, onceIfLong = {};
  int64_t operandColumns = 0, fromLong = 0, groupsIfPlain = 1;

  /// A row for head dims up to `most`.
  constexpr explicit WarpsRow(int64_t most) : maxHeadDim(most) {}

  template <typename Field, typename Value>
  constexpr WarpsRow &set(Field &field, Value value) {
    field = value;
    return *this;
  }

  constexpr WarpsRow &passes(GradientForm ofSeveral) {
    return set(form, ofSeveral);
  }
  /// Blocks of queries, which visit keys.
  constexpr WarpsRow &queriesByKeys(int64_t queries, int64_t keys) {
    return set(ofQueries, RowsByColumns{queries, keys});
  }
  /// Blocks of keys, which visit queries.
  constexpr WarpsRow &keysByQueries(int64_t keys, int64_t queries) {
    return set(ofKeys, RowsByColumns{keys, queries});
  }
  /// Those of one pass, where sums may have any order.
  constexpr WarpsRow &onePass(int64_t keys, int64_t queries) {
    return set(once, RowsByColumns{keys, queries});
  }
  /// Groups that divide its columns, where a gradient has at most a mask that
  /// bounds one side (`isPlainGradient`).
  constexpr WarpsRow &columnGroupsIfPlain(int64_t groups) {
    return set(groupsIfPlain, groups);
  }
  /// From so many keys and queries on, for the same gradients.
  constexpr WarpsRow &onePassIfLong(int64_t from, int64_t keys,
                                    int64_t queries) {
    return set(fromLong, from).set(onceIfLong, RowsByColumns{keys, queries});
  }
  /// Columns of f32 operands that are there at once, not all.
  constexpr WarpsRow &operandsBy(int64_t columns) {
    return set(operandColumns, columns);
  }
};

// Warps of 32 rows read columns half as often as those of 16. Above head dim
// 128 the sums of both gradients of keys leave no registers for scores. At head
// dim 128 two groups that divide the columns have 1.01 to 1.03 of the speed of
// one, causal 1.02 to 1.06 from 512 to 16384. Blocks of 128 keys add half as
// often to gradients of queries: 0.96 of that speed at 512, 1.04, 1.05 and 1.02
// at 2048, 4096 and 16384, causal 0.93, 1.00, 1.03 and 1.06 (measured on an
// H200).
// clang-format off
inline constexpr WarpsRow ofWarps[] = {
    WarpsRow(64).passes(GradientForm::two_pass).queriesByKeys(128, 32)
        .keysByQueries(128, 32).onePass(128, 32),
    WarpsRow(128).passes(GradientForm::two_pass).queriesByKeys(128, 32)
        .keysByQueries(64, 64).onePass(64, 64).columnGroupsIfPlain(2)
        .onePassIfLong(2048, 128, 64),
    WarpsRow(256).passes(GradientForm::three_pass).queriesByKeys(64, 32)
        .keysByQueries(64, 32)};

// Threads split f32 operands into terms, of 16 rows each warp. Those of head
// dim 64 leave shared memory for a second block.
inline constexpr WarpsRow ofWarpsForFloats[] = {
    WarpsRow(64).passes(GradientForm::two_pass).queriesByKeys(64, 64)
        .keysByQueries(64, 64),
    WarpsRow(256).passes(GradientForm::three_pass).queriesByKeys(64, 64)
        .keysByQueries(64, 64).operandsBy(16)};
// clang-format on

} // namespace mlir::fa::gpu_gradients

#endif // FA_LIB_TARGET_GPUGRADIENTTABLE_H
