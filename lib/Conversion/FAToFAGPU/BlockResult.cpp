//===- BlockResult.cpp - Result of a query block --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryBlock.h"
#include "fa/Support/Philox.h"

using namespace mlir;
using namespace mlir::fa;

void QueryBlock::emitResult() {
  Location loc = finalize.getLoc();
  OpBuilder builder(finalize);
  Blocks blocks(builder, loc);
  Value acc = state[0], maximum = state[1], sum = state[2];
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(),
                                             arith::FastMathFlags::arcp |
                                                 arith::FastMathFlags::afn);
  Value weight = blocks.constant(1.0f, rowType);
  if (Value sink = finalize.getSink()) {
    // One more key, of value zero: m' = max(m, sink), and the accumulator and
    // the sum are rescaled by exp(m - m').
    Value score = blocks.splat(sink, rowType);
    Value both = arith::MaximumFOp::create(builder, loc, maximum, score);
    Value shift = blocks.select(blocks.isEqual(both, -infinity),
                                blocks.constant(0.0f, rowType), both);
    auto getWeight = [&](Value number) {
      return blocks.exp(arith::SubFOp::create(builder, loc, number, shift));
    };
    weight = getWeight(maximum);
    sum = math::FmaOp::create(builder, loc, sum, weight, getWeight(score));
    maximum = shift;
  }
  // Finite where dropout keeps nothing.
  if (resultFactor)
    weight = arith::MulFOp::create(
        builder, loc, weight,
        blocks.splat(arith::MinNumFOp::create(
                         builder, loc, resultFactor,
                         arith::ConstantOp::create(
                             builder, loc,
                             builder.getF32FloatAttr(2 << philox::numberBits))),
                     rowType));
  Value reciprocal = arith::DivFOp::create(builder, loc, weight, sum, flags);
  Value inverse = blocks.select(blocks.isEqual(sum, 0.0f),
                                blocks.constant(0.0f, rowType), reciprocal);
  Value lse;
  if (finalize.getLse() || !others.empty())
    lse = arith::AddFOp::create(
        builder, loc, maximum,
        math::LogOp::create(builder, loc, sum, arith::FastMathFlags::afn));
  Value normalised = arith::MulFOp::create(builder, loc, acc,
                                           blocks.broadcast(inverse, accType));
  storeResults(normalised, lse);
}

void QueryBlock::emitEmptyResult() {
  OpBuilder builder(finalize);
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  Value sink = finalize.getSink();
  if (!sink)
    return storeResults(blocks.constant(0.0f, accType),
                        blocks.constant(-infinity, rowType));
  // Nothing but the sink: 0, or NaN where it is.
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  };
  Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      sink, sink);
  Value output = blocks.select(
      isNaN, number(std::numeric_limits<float>::quiet_NaN()), number(0.0f));
  storeResults(blocks.splat(output, accType), blocks.splat(sink, rowType));
}

void QueryBlock::storeResults(Value output, Value lse) {
  storeResult(finalize, output, lse);
  for (FinalizeOp other : others)
    storeResult(other, output, lse);
}

void QueryBlock::storeResult(FinalizeOp result, Value output, Value lse) {
  OpBuilder builder(result);
  Blocks blocks(builder, result.getLoc());
  if (result.getLse())
    store(builder, lse, *resolve(builder, result, result.getLse()), 2,
          /*headDim=*/0, result.getRows());
  Tile tile = *resolve(builder, result, result.getOutput());
  Type type = cast<MemRefType>(tile.memory.getType()).getElementType();
  store(builder, blocks.truncate(output, type), tile,
        result.getOutputOrder().positionOf(DimKind::Sequence), valueDim,
        result.getRows());
}
