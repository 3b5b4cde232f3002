//===- DecomposeCombine.cpp - Merging of partial results to loops ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockViews.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// What the merge of one row needs of its two lse values.
struct RowWeights {
  Value maximum, a, b, total, empty;
};

class CombineDecomposer {
public:
  CombineDecomposer(OpBuilder &builder, CombineOp combine)
      : combine(combine), block(builder, combine.getLoc(), ConfigAttr()),
        loc(combine.getLoc()) {}
  void writeOutput();
  void writeLse();

private:
  RowWeights weigh(OpBuilder &nested, Value lseA, Value lseB);
  Value keepPastLength(OpBuilder &nested, unsigned batchLoop,
                       unsigned queryLoop, Value computed, Value old);

  CombineOp combine;
  BlockBuilder block;
  Location loc;
};
} // namespace

RowWeights CombineDecomposer::weigh(OpBuilder &nested, Value lseA, Value lseB) {
  Value hidden = arith::ConstantOp::create(
      nested, loc,
      nested.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  Value zero =
      arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(0.0f));
  RowWeights row;
  Value maximum = arith::MaximumFOp::create(nested, loc, lseA, lseB);
  row.empty = arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OEQ,
                                    maximum, hidden);
  row.maximum = arith::SelectOp::create(nested, loc, row.empty, zero, maximum);
  auto weight = [&](Value lse) -> Value {
    Value difference = arith::SubFOp::create(nested, loc, lse, row.maximum);
    return math::ExpOp::create(nested, loc, difference);
  };
  row.a = weight(lseA);
  row.b = weight(lseB);
  row.total = arith::AddFOp::create(nested, loc, row.a, row.b);
  return row;
}

/// `old` where the query of this iteration is past its batch's length.
Value CombineDecomposer::keepPastLength(OpBuilder &nested, unsigned batchLoop,
                                        unsigned queryLoop, Value computed,
                                        Value old) {
  Value lengths = combine.getQueryLengths();
  if (!lengths)
    return computed;
  auto place = [&](unsigned loop, Value offset) -> Value {
    Value index = linalg::IndexOp::create(nested, loc, loop);
    return offset
               ? arith::AddIOp::create(nested, loc, index, offset).getResult()
               : index;
  };
  Value batch = place(batchLoop, combine.getBatchOffset());
  Value query = place(queryLoop, combine.getQueryOffset());
  Value length = memref::LoadOp::create(nested, loc, lengths, batch);
  length =
      arith::IndexCastOp::create(nested, loc, nested.getIndexType(), length);
  Value inside = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt,
                                       query, length);
  return arith::SelectOp::create(nested, loc, inside, computed, old);
}

void CombineDecomposer::writeOutput() {
  // Loops follow the order of the operands' dimensions; the lse's are batch,
  // heads, sequence.
  DimsAttr order = combine.getOrder();
  unsigned batch = order.positionOf(DimKind::Batch);
  unsigned heads = order.positionOf(DimKind::Heads);
  unsigned query = order.positionOf(DimKind::Sequence);
  SmallVector<unsigned> all{0, 1, 2, 3}, row{batch, heads, query};
  SmallVector<utils::IteratorType> loops(4, parallelLoop);
  Type element =
      cast<MemRefType>(combine.getOutput().getType()).getElementType();
  block.generic(
      loops, {all, row, all, row, all},
      {combine.getOutputA(), combine.getLseA(), combine.getOutputB(),
       combine.getLseB()},
      combine.getOutput(), [&](OpBuilder &nested, ValueRange scalars) {
        RowWeights weights = weigh(nested, scalars[1], scalars[3]);
        Value zero = arith::ConstantOp::create(nested, loc,
                                               nested.getF32FloatAttr(0.0f));
        // A part with weight 0 may hold anything and is not read into the sum.
        auto term = [&](Value part, Value weight) -> Value {
          Value none = arith::CmpFOp::create(
              nested, loc, arith::CmpFPredicate::OEQ, weight, zero);
          Value product = arith::MulFOp::create(
              nested, loc, extendToF32(nested, loc, part), weight);
          return arith::SelectOp::create(nested, loc, none, zero, product);
        };
        Value sum =
            arith::AddFOp::create(nested, loc, term(scalars[0], weights.a),
                                  term(scalars[2], weights.b));
        Value merged = arith::DivFOp::create(nested, loc, sum, weights.total);
        merged =
            arith::SelectOp::create(nested, loc, weights.empty, zero, merged);
        merged = truncateTo(nested, loc, merged, element);
        return SmallVector<Value>{
            keepPastLength(nested, batch, query, merged, scalars[4])};
      });
}

void CombineDecomposer::writeLse() {
  SmallVector<unsigned> all{0, 1, 2};
  SmallVector<utils::IteratorType> loops(3, parallelLoop);
  block.generic(
      loops, {all, all, all}, {combine.getLseA(), combine.getLseB()},
      combine.getLse(), [&](OpBuilder &nested, ValueRange scalars) {
        RowWeights weights = weigh(nested, scalars[0], scalars[1]);
        Value hidden = arith::ConstantOp::create(
            nested, loc,
            nested.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
        Value merged = arith::AddFOp::create(
            nested, loc, weights.maximum,
            math::LogOp::create(nested, loc, weights.total));
        merged =
            arith::SelectOp::create(nested, loc, weights.empty, hidden, merged);
        return SmallVector<Value>{
            keepPastLength(nested, 0, 2, merged, scalars[2])};
      });
}

LogicalResult mlir::fa::decomposeCombine(RewriterBase &rewriter,
                                         CombineOp combine) {
  if (!isa<MemRefType>(combine.getOutput().getType()))
    return combine.emitOpError("has tensor operands, expected memrefs: "
                               "bufferize before decomposing");
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(combine);
  CombineDecomposer decomposer(rewriter, combine);
  // The output first: the merged lse may overwrite the lse that it reads.
  decomposer.writeOutput();
  if (combine.getLse())
    decomposer.writeLse();
  rewriter.eraseOp(combine);
  return success();
}
