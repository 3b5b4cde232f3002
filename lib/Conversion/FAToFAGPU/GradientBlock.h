//===- GradientBlock.h - One block of a gradient on block values -*- C++ -*-==//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two classes that turn gradients on tensors into block values: `GradientBlock`
// the loops and the step of a block, `GradientResult` what a block has summed
// up. Begin with `GradientBlock::run` in GradientBlock.cpp, then `emitScores`
// and `emitStep` there. GradientOperands.cpp defines what a step reads,
// GradientAdditions.cpp what it adds to captures, GradientRows.cpp the rest.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_GRADIENTBLOCK_H
#define FA_LIB_CONVERSION_FATOFAGPU_GRADIENTBLOCK_H

#include "PairsTile.h"
#include "QuerySums.h"

namespace mlir::fa {

/// Decomposes the loops and the step of a block of queries or of keys, and
/// stores what they sum up.
class GradientBlock : PairsTile {
public:
  explicit GradientBlock(GradientLikeOpInterface step)
      : PairsTile(step), step(step) {}
  LogicalResult run();

private:
  /// An operand of the pairs with the order of its dimensions.
  struct Operand {
    Value memory;
    DimsAttr order;
  };
  /// The step's operands: of rows and of columns, those of the scores and those
  /// of the weights' gradient.
  struct Operands {
    Operand rows, columns, rowGradients, columnGradients;
  };
  /// What a block adds to the gradient of a capture, or of the scale.
  struct Addition {
    Value memory;
    SmallVector<Value> indices;
    /// Of each pair, which the mask hides as it does gradients of the scores;
    /// or a multiple of these. Null for both: the gradients themselves.
    Value values, multiple;
    /// What they are multiplied by behind the mask; may be null.
    Value factors = {};
    /// Where the block is in memory that takes boxes, and which dimension the
    /// queries index; none of other memory.
    SmallVector<Value> place = {};
    int64_t queryDim = 0;
    /// Indices in front of those of the region, of ordered sums.
    SmallVector<Value> leading = {};
  };
  /// Weights and gradients of the scores of a block; null where not needed.
  struct Scores {
    Value weights, gradients;
    /// What the products with them read.
    Value columns, columnGradients;
    /// The one whose sums are gradients of weights.
    Value product;
    SmallVector<Addition> additions;
  };

  LogicalResult match();
  void visitAllOfHeads();
  LogicalResult readProblem();
  Operands getOperands();
  LogicalResult fetchRows(OpBuilder &front);
  LogicalResult fetchKeys(OpBuilder &front);
  /// Gradients of captures, with the numbers of these, and that of the scale.
  struct AddedTo {
    ArrayRef<int64_t> numbers;
    ValueRange gradients;
    Value scale;
  };
  AddedTo getAddedTo();
  bool addsToQueries();
  bool addsToCaptures();
  bool hidesWeights();
  LogicalResult resolveSum(Value gradient, const IRMapping &mapping,
                           Addition &addition);
  LogicalResult collectAdditions(OpBuilder &inside, const PairBlock &place,
                                 RegionOnBlocks &region,
                                 const IRMapping &mapping, Value scaled,
                                 Value product, Scores &scores);
  LogicalResult findPlace(ScatterGradientOp scatter, int64_t capture,
                          const PairBlock &place, OpBuilder &inside,
                          Addition &addition);
  Value getSumEnd(OpBuilder &outside, const Addition &addition, int64_t dim,
                  bool isGuarded);
  void storePairs(OpBuilder &outside, OpBuilder &inside,
                  const Addition &addition, Value values);
  LogicalResult addOrdered(RegionOnBlocks &region, OpBuilder &outside,
                           const Addition &addition, Value added);
  LogicalResult emitAdditions(OpBuilder &outside, OpBuilder &inside,
                              RegionOnBlocks &region, const Scores &scores,
                              Value hidden, ValueRange values);
  Value takeGroup(OpBuilder &builder, Value block, int64_t rows,
                  int64_t columns, bool ofColumns);
  FailureOr<SmallVector<Value>> hidePairs(OpBuilder &outside, OpBuilder &inside,
                                          const PairBlock &place,
                                          const IRMapping &mapping,
                                          ValueRange values);
  Value multiplyQueries(OpBuilder &inside, Value gradients);
  LogicalResult storeQueries(OpBuilder &inside, Value sums,
                             const IRMapping &mapping);
  LogicalResult gatherRowNumbers(OpBuilder &outside);
  void rebuildMembers();
  LogicalResult rebuildRanges();
  LogicalResult emitStep(OpBuilder &outside, OpBuilder &inside,
                         const IRMapping &mapping);
  FailureOr<Value> spreadNumbers(OpBuilder &inside, Value numbers, Value ofRows,
                                 const IRMapping &mapping);
  Value emitWeights(OpBuilder &outside, OpBuilder &inside, Value scores,
                    Value reference);
  FailureOr<Scores> emitScores(OpBuilder &outside, OpBuilder &inside,
                               const PairBlock &place, RegionOnBlocks &region,
                               const IRMapping &mapping);
  LogicalResult emitResults();
  Value getDelta();

  GradientLikeOpInterface step;
  /// The visits, and the loop over the query heads of a key head around them;
  /// null where there is one head.
  BlockRangesOpInterface ranges, newRanges;
  scf::ForOp members, newMembers;
  bool rowsAreKeys = false;
  /// Whether one thread copies and groups of warps multiply.
  bool hasGroups = false;
  SmallVector<RankedTensorType> stateTypes;
  /// Of the rows: keys and values, or queries and gradients of the output.
  Value rowTile, rowGradientTile;
  /// The keys of all groups, and those columns of them that a group multiplies
  /// with, where it adds to gradients of queries.
  Value allKeys, keyColumns;
  QuerySumsPart sumsPart;
  /// lse in base 2 and delta where rows are queries.
  Value rowReferences, rowDeltas;
};

/// Writes the gradient of a block.
class GradientResult : PairsTile {
public:
  explicit GradientResult(FinalizeGradientOp finalize)
      : PairsTile(finalize), finalize(finalize) {}
  /// Stores the sums of a group's rows; null: zeros.
  LogicalResult run(Value sums, Type element, int64_t columns);
  /// Stores what blocks of keys have added to memory.
  LogicalResult runSums();

private:
  Value gatherFragments(const QuerySums &place, const QuerySumsPart &part);

  FinalizeGradientOp finalize;
};

/// Decomposes the numbers of each query row that gradients read.
LogicalResult decomposeRows(PrepareGradientOp op);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_GRADIENTBLOCK_H
