//===- GradientQueries.cpp - Blocks of queries ----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientTiler.h"

using namespace mlir;
using namespace mlir::fa;

/// The number of the block that begins at `first`.
Value GradientTiler::getOrdinal(Value first, int64_t block) {
  return rewriter.createOrFold<arith::DivUIOp>(
      loc, first, toValue(rewriter.getIndexAttr(block)));
}

void GradientTiler::tileQueries(const CaptureGroup &captures,
                                bool withQueries) {
  int64_t block = getBlock(queries, config.getQueryBlock());
  loop(heads, queries, block, captures.isParallel, [&](ValueRange at) {
    Value batch = at[0], head = at[1];
    OpFoldResult keyHead = getKeyHead(rewriter, op, head);
    OpFoldResult zero = rewriter.getIndexAttr(0);
    Value queryLength =
        getLength(op.getQueryLengths(), batch, op.getExtents()[0]);
    Value keyLength = getLength(op.getKeyLengths(), batch, op.getExtents()[1]);
    SequenceBlock rows =
        getSequenceBlock(at[2], queries, block, op.getOffsets()[2],
                         op.getQueryLengths() ? queryLength : Value());
    OpFoldResult count = keys;
    if (op.getKeyLengths())
      count =
          getValidCount(keys, getAsOpFoldResult(op.getOffsets()[3]), keyLength);
    auto ofQueries = [&](Value operand, DimsAttr order) {
      return slice(operand, order, batch, rows.first, rows.valid, head);
    };
    auto ofKeys = [&](Value operand, DimsAttr order) {
      return slice(operand, order, batch, zero, count, keyHead);
    };
    CaptureDestinations destinations = CaptureSums::getDestinations(
        rewriter, loc, captures, {batch, head, getOrdinal(at[2], block)});
    Value state;
    if (withQueries)
      state = createZeros(block, op.getQuery(), op.getQueryOrder());
    auto step = GradientQueriesOp::create(
        rewriter, loc, state ? TypeRange(state.getType()) : TypeRange(),
        ofQueries(op.getQuery(), op.getQueryOrder()),
        ofKeys(op.getKey(), op.getKeyOrder()),
        ofKeys(op.getValue(), op.getValueOrder()),
        ofQueries(op.getOutputGradient(), op.getOutputGradientOrder()),
        sliceRows(reference, batch, head, rows.first, rows.valid),
        sliceRows(delta, batch, head, rows.first, rows.valid), op.getScale(),
        getOffsets(batch, head, rows.first, zero),
        ValueRange{queryLength, keyLength}, op.getScoreCaptures(),
        op.getMaskCaptures(), state, destinations.memory, destinations.scale,
        rewriter.getDenseI64ArrayAttr(destinations.numbers),
        op.getQueryDimsAttr(), op.getKeyDimsAttr(), op.getValueDimsAttr(),
        op.getOutputGradientDimsAttr(), config);
    CaptureSums::markBoxes(step, destinations);
    takeRegions(step);
    if (withQueries)
      finalize(step.getResult(0), getScale(), op.getQueryGradient(),
               op.getQueryGradientOrder(), batch, head, rows);
  });
}
