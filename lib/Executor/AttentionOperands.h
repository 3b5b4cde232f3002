//===- AttentionOperands.h - Operands of one attention ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every operation like attention is given: where its operands lie, how
// they are read, where its rows stand, and the work that its mask leaves.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_ATTENTIONOPERANDS_H
#define FA_LIB_EXECUTOR_ATTENTIONOPERANDS_H

#include "AttentionRow.h"
#include "OrderedOperand.h"

namespace mlir::fa::executor {

/// Registers and regions that an attention, its gradient and their steps have
/// in common. Lengths belong to the whole problems.
struct AttentionPlan {
  Operation *op = nullptr;
  unsigned query = 0, key = 0, value = 0;
  DimsAttr queryOrder, keyOrder, valueOrder;
  std::optional<unsigned> scale, queryLengths, keyLengths, queryStarts,
      keyStarts, keyPages;
  SmallVector<unsigned> offsets, extents;
  CompiledRegion score, mask;
  /// Whether a page that is none spoils a whole sequence.
  bool spoilsSequences = false;

  /// Whether rows of a sequence are found by starts or pages.
  bool isRagged() const { return queryStarts || keyStarts || keyPages; }
};

/// The operands of one run.
struct AttentionRun {
  OrderedOperand query, key, value;
  int64_t headDim, valueHeadDim;
  int64_t batches = 0;
  bool isRagged = false;
  int64_t offsets[4] = {0, 0, 0, 0};
  int64_t extents[2];
  double scale;
};

LogicalResult compileOperands(AttentionLikeOpInterface op, AttentionPlan &plan,
                              ProgramBuilder &builder);
/// The operands, after their sizes agreed at run time.
FailureOr<AttentionRun> bindOperands(const AttentionPlan &plan, Frame &frame);
/// Fails unless a size at run time is the expected one.
LogicalResult checkEqual(Operation *op, StringRef name, int64_t size,
                         int64_t expected);
/// Fails unless `operand` has a row for each query and head, each of
/// `headDim`, and was not deallocated.
LogicalResult checkLikeQuery(const AttentionPlan &plan, const AttentionRun &run,
                             StringRef name, const OrderedOperand &operand,
                             int64_t headDim);
/// The same of an array of batch x heads x queries.
LogicalResult checkRowNumbers(const AttentionPlan &plan,
                              const AttentionRun &run, StringRef name,
                              const Array &array);
/// Element (batch, head, query) of an array of such.
inline Slot &getRowNumber(Array &array, int64_t batch, int64_t head,
                          int64_t query) {
  return array.data()[batch * array.strides[0] + head * array.strides[1] +
                      query * array.strides[2]];
}
/// The same for the queries of a run: of heads x rows where they are packed.
inline Slot &getRowNumber(const AttentionRun &run, Array &array, int64_t batch,
                          int64_t head, int64_t query) {
  const Array *starts = run.query.starts;
  if (!starts)
    return getRowNumber(array, batch, head, query);
  int64_t row = OrderedOperand::getEntry(*starts, batch) + query;
  return array.data()[head * array.strides[0] + row * array.strides[1]];
}

/// Packs the first `numKeys` keys of one batch and key head.
HeadData packHead(const AttentionRun &run, int64_t batch, int64_t head,
                  int64_t numKeys);
/// The most queries and keys that a sequence has.
FailureOr<std::pair<int64_t, int64_t>>
getMostRows(const AttentionPlan &plan, Frame &frame, const AttentionRun &run);
/// Where the rows of a batch and query head of a whole problem stand.
FailureOr<RowPosition> getHeadPosition(const AttentionPlan &plan, Frame &frame,
                                       const AttentionRun &run, int64_t batch,
                                       int64_t head);
/// Where the rows of a step stand.
RowPosition getStepPosition(const AttentionPlan &plan, const AttentionRun &run);
/// How a step asks its mask.
MaskUse getMaskUse(const Execution &execution);
/// Keys of this piece that are below the length of the batch.
int64_t getNumKeys(const AttentionRun &run, const RowPosition &position);
/// Padding rows have no defined value: poison shows whoever reads them.
void poisonPadding(ArrayRef<ArrayRefPtr> state, int64_t numRows);
/// The destination of a result: safe to write in place when on tensors.
ArrayRefPtr getDestination(Frame &frame, Use use, bool onTensors);

/// Adds the work of a whole problem, `factor` times that of the forward.
LogicalResult countWork(const AttentionPlan &plan, Frame &frame,
                        const AttentionRun &run, double factor,
                        AttentionWork &work);

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_ATTENTIONOPERANDS_H
