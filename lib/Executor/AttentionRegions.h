//===- AttentionRegions.h - Score and mask regions over keys ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_ATTENTIONREGIONS_H
#define FA_LIB_EXECUTOR_ATTENTIONREGIONS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Executor/ProgramBuilder.h"

namespace mlir::fa::executor {

/// Where a row stands: absolute indices and the valid lengths of its batch.
struct RowPosition {
  int64_t batch = 0;
  int64_t head = 0;
  int64_t query = 0;
  int64_t queryLength = 0;
  int64_t keyLength = 0;
  /// Whether starts or lengths of the sequence are none that can be: its
  /// results are NaN.
  bool isBroken = false;
};

/// The numbers that fa.query_length and fa.key_length read.
enum class RegionContext : unsigned { QueryLength = 0, KeyLength = 1 };

/// A region on pairs, compiled over keys: its lanes are the keys of one query.
class CompiledRegion {
public:
  /// How many keys are evaluated at once.
  static constexpr int64_t capacity = 1024;

  static FailureOr<CompiledRegion> compile(const PairRegion &pairs,
                                           ProgramBuilder &builder);

  bool isEmpty() const { return program == nullptr; }
  /// Whether the result may differ between batches, or heads.
  bool readsBatch() const { return usesBatch; }
  bool readsHead() const { return usesHead; }
  /// Lanes with the captured values bound.
  LaneState bind(Frame &frame) const;
  /// Sets what all keys of a row share.
  void setRow(LaneState &state, const RowPosition &position) const;
  /// The argument lanes to fill, then the result lanes, of one run.
  Slot *getElements(LaneState &state, unsigned input = 0) const;
  Slot *getKeys(LaneState &state) const;
  /// Sets where fa.scatter_gradient adds to the gradient of a capture; without
  /// a target it adds nothing.
  void setGradient(LaneState &state, unsigned capture,
                   ArrayRefPtr gradient) const;
  LogicalResult run(LaneState &state, int64_t count) const {
    return program->run(state, count);
  }
  size_t getNumResults() const { return program->results.size(); }
  const Slot *getResult(LaneState &state, unsigned number = 0) const {
    return program->getResult(state, number);
  }

private:
  std::unique_ptr<LaneProgram> program;
  SmallVector<unsigned> captures;
  unsigned firstIndex = 0;
  unsigned numIndices = 4;
  bool usesBatch = false;
  bool usesHead = false;
};

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_ATTENTIONREGIONS_H
