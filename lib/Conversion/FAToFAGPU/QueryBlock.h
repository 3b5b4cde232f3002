//===- QueryBlock.h - One query block on block values -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_QUERYBLOCK_H
#define FA_LIB_CONVERSION_FATOFAGPU_QUERYBLOCK_H

#include "PairsTile.h"

namespace mlir::fa {

/// Decomposes the state, the key ranges and the result of one query block.
class QueryBlock : PairsTile {
public:
  /// `others` are results of the same state.
  QueryBlock(FinalizeOp finalize, ArrayRef<FinalizeOp> others)
      : PairsTile(finalize), finalize(finalize), others(others) {}
  LogicalResult run();

private:
  LogicalResult match();
  /// PartialResults.cpp. The loop that adds the results of parts of the keys.
  LogicalResult rebuildMerge();
  /// The same of a number of results that the text says.
  LogicalResult rebuildPartials();
  LogicalResult addParts(Value begin, Value end, int64_t atOnce, bool isWhole);
  struct Partial {
    Value output, lse;
  };
  FailureOr<Partial> readPartial(OpBuilder &builder, AddPartialOp op,
                                 Value isPart);
  SmallVector<Value> addPartials(OpBuilder &builder, ArrayRef<Partial> added,
                                 ValueRange state);
  LogicalResult readProblem();
  LogicalResult rebuildRanges();
  /// What a block of scores becomes: its weights, and the maximum, the sums and
  /// the result of rows that the product with these is added to.
  struct Weights {
    Value weights, maximum, sum, accumulated;
  };
  Weights emitWeights(OpBuilder &inside, Value scores);
  /// Weights as the product takes them.
  Value applyFactors(OpBuilder &inside, Value weights);
  void spoilMissingPages(Value keys);
  LogicalResult emitStep(OpBuilder &outside, OpBuilder &inside,
                         const IRMapping &mapping);
  /// The scores of a key block, hidden from `end` on and where the mask says
  /// so.
  FailureOr<Value> emitScores(OpBuilder &outside, OpBuilder &inside,
                              const PairBlock &place, const IRMapping &mapping,
                              Value end, Value k);
  /// BlockResult.cpp. Divides by the sum of each row; a row without a visible
  /// key gives 0 and -inf.
  void emitResult();
  /// Where a mask hides every key.
  void emitEmptyResult();
  /// Stores f32 values of rows; `lse` is not read where none is asked for.
  void storeResults(Value output, Value lse);
  void storeResult(FinalizeOp result, Value output, Value lse);
  LogicalResult readRows();
  bool isEmpty();

  FinalizeOp finalize;
  SmallVector<FinalizeOp> others;
  KeyRangesOp ranges, newRanges;
  scf::ForOp parts;
  /// The last of results that are added one by one.
  AddPartialOp partial;
  /// Accumulator, maximum and sum of all keys.
  SmallVector<Value> state;
  OnlineAttentionOp step;
  int64_t headDim, valueDim;
  RankedTensorType accType;
  Value query;
  /// Factors of the weights of a key block, if its score has them.
  Value factors;
  /// The factor that dropout gives all weights it keeps, if the result takes
  /// it.
  Value resultFactor;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_QUERYBLOCK_H
