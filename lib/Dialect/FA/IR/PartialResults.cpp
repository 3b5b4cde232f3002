//===- PartialResults.cpp - Results over parts of the keys ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention over parts of the keys, as split-K (flash decoding) needs: makes
// the op on one part, and merges the outputs of all parts by their lse. Read
// `createPartialAttention`, then `combinePartialResults`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/PartialResults.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
mlir::fa::getPartialResultSizes(OpBuilder &builder, AttentionOp op,
                                OpFoldResult parts) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> outputs{parts}, lses{parts};
  for (int64_t position = 0; position < 4; ++position)
    outputs.push_back(getMixedSize(builder, loc, op.getOutput(), position));
  for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::Sequence})
    lses.push_back(
        getMixedSize(builder, loc, op.getQuery(), op.getQueryOrder(), kind));
  return {outputs, lses};
}

AttentionOp mlir::fa::createPartialAttention(OpBuilder &builder, AttentionOp op,
                                             OpFoldResult begin,
                                             OpFoldResult size,
                                             OpFoldResult number, Value output,
                                             Value lse) {
  Location loc = op.getLoc();
  Value key = createSliceOf(builder, loc, op.getKey(), op.getKeyOrder(),
                            DimKind::Sequence, begin, size);
  Value value = createSliceOf(builder, loc, op.getValue(), op.getValueOrder(),
                              DimKind::Sequence, begin, size);
  // Not a clone: the results may be more than those of `op`.
  SmallVector<Type> types;
  for (Value destination : {output, lse})
    if (isa<RankedTensorType>(destination.getType()))
      types.push_back(destination.getType());
  auto partial = AttentionOp::create(
      builder, loc, types, op.getQuery(), op.getKey(), op.getValue(),
      op.getScale(), op.getQueryLengths(), op.getKeyLengths(),
      /*query_starts=*/Value(), /*key_starts=*/Value(), /*key_pages=*/Value(),
      op.getOffsets(), op.getExtents(), op.getScoreCaptures(),
      op.getMaskCaptures(), op.getSinkCaptures(), output, lse,
      op.getQueryDimsAttr(), op.getKeyDimsAttr(), op.getValueDimsAttr(),
      op.getOutputDimsAttr(), op.getConfigAttr(), op.getBatchInvariantAttr());
  IRMapping mapping;
  op.getScore().cloneInto(&partial.getScore(), mapping);
  op.getMask().cloneInto(&partial.getMask(), mapping);
  op.getSink().cloneInto(&partial.getSink(), mapping);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(partial);
  materializePlace(builder, partial);
  SmallVector<Value> offsets(partial.getOffsets());
  offsets[3] = getValueOrCreateConstantIndexOp(
      builder, loc,
      addSizes(builder, loc, getAsOpFoldResult(offsets[3]), begin));
  partial.getOffsetsMutable().assign(offsets);
  partial.getKeyMutable().set(key);
  partial.getValueMutable().set(value);
  if (!partial.getSink().empty()) {
    // A sink is one key, so it is of one part.
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value part = getValueOrCreateConstantIndexOp(builder, loc, number);
    Value isFirst = arith::CmpIOp::create(builder, loc,
                                          arith::CmpIPredicate::eq, part, zero);
    keepSinkWhere(builder, partial, isFirst,
                  APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true));
  }
  return partial;
}

void mlir::fa::keepSinkWhere(OpBuilder &builder, AttentionOp op,
                             Value condition, const APFloat &otherwise) {
  Location loc = op.getLoc();
  Region &sink = op.getSink();
  OpBuilder::InsertionGuard guard(builder);
  FloatType f32 = builder.getF32Type();
  if (sink.empty()) {
    SmallVector<Type> types(3, builder.getIndexType());
    builder.createBlock(&sink, sink.end(), types,
                        SmallVector<Location>(3, loc));
    APFloat none = APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true);
    YieldOp::create(
        builder, loc,
        arith::ConstantFloatOp::create(builder, loc, f32, none).getResult());
  }
  op.getSinkCapturesMutable().append(condition);
  Value argument = sink.addArgument(condition.getType(), loc);
  auto yield = cast<YieldOp>(sink.front().getTerminator());
  builder.setInsertionPoint(yield);
  Value replacement =
      arith::ConstantFloatOp::create(builder, loc, f32, otherwise);
  yield->setOperand(0,
                    arith::SelectOp::create(builder, loc, argument,
                                            yield->getOperand(0), replacement));
}

namespace {

/// Output and lse of some of the keys.
struct Part {
  Value output, lse;
};

/// Builds the merge of the parts of one operation.
class Combiner {
public:
  Combiner(OpBuilder &builder, AttentionOp op, PartialResults partial)
      : builder(builder), op(op), partial(partial), loc(op.getLoc()) {
    if (!op.getQueryLengths() || op.getOffsets().empty())
      return;
    batchOffset = op.getOffsets()[0];
    queryOffset = op.getOffsets()[2];
  }

  Part getPart(OpFoldResult number) {
    return {createLeadingSlice(builder, loc, partial.outputs, number),
            createLeadingSlice(builder, loc, partial.lses, number)};
  }

  CombineOp combine(Part a, Part b, Value output, Value lse) {
    SmallVector<Type> types;
    for (Value destination : {output, lse})
      if (destination && isa<RankedTensorType>(destination.getType()))
        types.push_back(destination.getType());
    return CombineOp::create(builder, loc, types, a.output, a.lse, b.output,
                             b.lse, output, lse, op.getQueryLengths(),
                             batchOffset, queryOffset, op.getOutputDimsAttr());
  }

  // All but the last part. On memrefs the first part's memory takes the
  // others; on tensors that is a value of its own, which bufferization need not
  // copy because no later part is read from it.
  Part combineAllButLast(int64_t parts);

private:
  Value createEmpty(Value like) {
    return tensor::EmptyOp::create(builder, loc,
                                   tensor::getMixedSizes(builder, loc, like),
                                   builder.getF32Type());
  }

  OpBuilder &builder;
  AttentionOp op;
  PartialResults partial;
  Location loc;
  Value batchOffset, queryOffset;
};

} // namespace

Part Combiner::combineAllButLast(int64_t parts) {
  Part merged = getPart(builder.getIndexAttr(0));
  if (parts == 2)
    return merged;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  bool onTensors = isa<RankedTensorType>(merged.output.getType());
  SmallVector<Value> carried;
  int64_t next = 1;
  if (onTensors) {
    CombineOp first =
        combine(merged, getPart(builder.getIndexAttr(next++)),
                createEmpty(merged.output), createEmpty(merged.lse));
    carried = first->getResults();
  }
  auto loop = scf::ForOp::create(builder, loc, index(next), index(parts - 1),
                                 index(1), carried);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  if (onTensors)
    merged = {loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
  CombineOp all = combine(merged, getPart(loop.getInductionVar()),
                          merged.output, merged.lse);
  if (!onTensors)
    return merged;
  scf::YieldOp::create(builder, loc, all->getResults());
  return {loop.getResult(0), loop.getResult(1)};
}

CombineOp mlir::fa::combinePartialResults(OpBuilder &builder, AttentionOp op,
                                          PartialResults partial,
                                          int64_t parts) {
  assert(parts >= 2 && "one part is the result");
  Combiner combiner(builder, op, partial);
  Part merged = combiner.combineAllButLast(parts);
  Part last = combiner.getPart(builder.getIndexAttr(parts - 1));
  return combiner.combine(merged, last, op.getOutput(), op.getLse());
}
