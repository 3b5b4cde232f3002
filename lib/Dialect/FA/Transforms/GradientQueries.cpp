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
Value GradientTiler::getOrdinal(const BatchItem &item, Value first,
                                int64_t block) {
  if (item.slot)
    return item.slot;
  return rewriter.createOrFold<arith::DivUIOp>(
      loc, first, toValue(rewriter.getIndexAttr(block)));
}

void GradientTiler::tileQueries(const CaptureGroup &captures,
                                bool withQueries) {
  int64_t block = getBlock(queries, config.getQueryBlock());
  loop(heads, RowKind::queries, queries, block, captures.isParallel,
       [&](const BatchItem &item, Value head, Value firstQuery) {
         OpFoldResult keyHead = getKeyHead(rewriter, op, head);
         OpFoldResult zero = rewriter.getIndexAttr(0);
         SequenceBlock rows = getSequenceBlock(firstQuery, item.queries, block,
                                               op.getOffsets()[2]);
         OpFoldResult count = countRows(item.keys, op.getOffsets()[3]);
         auto ofQueries = [&](Value operand, DimsAttr order) {
           return slice(operand, order, item.queries, rows.first, rows.valid,
                        head);
         };
         auto ofKeys = [&](Value operand, DimsAttr order) {
           return slice(operand, order, item.keys, zero, count, keyHead);
         };
         CaptureDestinations destinations = CaptureSums::getDestinations(
             rewriter, loc, captures,
             {item.batch, head, getOrdinal(item, firstQuery, block)});
         Value state;
         if (withQueries)
           state = createZeros(rewriter.getIndexAttr(block), op.getQuery(),
                               op.getQueryOrder());
         auto step = GradientQueriesOp::create(
             rewriter, loc, state ? TypeRange(state.getType()) : TypeRange(),
             ofQueries(op.getQuery(), op.getQueryOrder()),
             ofKeys(op.getKey(), op.getKeyOrder()),
             ofKeys(op.getValue(), op.getValueOrder()),
             ofQueries(op.getOutputGradient(), op.getOutputGradientOrder()),
             sliceNumbers(reference, item, head, rows.first, rows.valid),
             sliceNumbers(delta, item, head, rows.first, rows.valid),
             op.getScale(), getOffsets(item.batch, head, rows.first, zero),
             ValueRange{item.queries.length, item.keys.length},
             op.getScoreCaptures(), op.getMaskCaptures(), state,
             destinations.memory, destinations.scale,
             rewriter.getDenseI64ArrayAttr(destinations.numbers),
             op.getQueryDimsAttr(), op.getKeyDimsAttr(), op.getValueDimsAttr(),
             op.getOutputGradientDimsAttr(), config);
         CaptureSums::mark(step, captures, destinations);
         takeRegions(step);
         if (withQueries)
           finalize(step.getResult(0), getScaleOf(item), op.getQueryGradient(),
                    op.getQueryGradientOrder(), item.queries, head, rows);
       });
}
