//===- ShortSpellings.cpp - Common masks and score functions -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the IR of the masks and score functions that have names: causal,
// window, prefix, document; softcap, ALiBi, bias. One function each,
// independent of each other. `buildCausalMask` is the simplest one to begin
// with.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

Value mlir::fa::buildCapturedLoad(OpBuilder &builder, Location loc,
                                  Value capture, ValueRange indices) {
  if (isa<MemRefType>(capture.getType()))
    return memref::LoadOp::create(builder, loc, capture, indices);
  return tensor::ExtractOp::create(builder, loc, capture, indices);
}

Value mlir::fa::buildGuardedLoad(OpBuilder &builder, Location loc,
                                 Value capture, ValueRange indices) {
  Value inBounds;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value position = arith::ConstantIndexOp::create(builder, loc, dim);
    Value size =
        isa<MemRefType>(capture.getType())
            ? builder.createOrFold<memref::DimOp>(loc, capture, position)
            : builder.createOrFold<tensor::DimOp>(loc, capture, position);
    Value below = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, index, size);
    inBounds = inBounds
                   ? builder.createOrFold<arith::AndIOp>(loc, inBounds, below)
                   : below;
  }
  if (!inBounds)
    return buildCapturedLoad(builder, loc, capture, indices);
  Type type = cast<ShapedType>(capture.getType()).getElementType();
  auto read = [&](OpBuilder &nested, Location at) {
    scf::YieldOp::create(nested, at,
                         buildCapturedLoad(nested, at, capture, indices));
  };
  auto zero = [&](OpBuilder &nested, Location at) {
    Value value =
        arith::ConstantOp::create(nested, at, nested.getZeroAttr(type));
    scf::YieldOp::create(nested, at, value);
  };
  return scf::IfOp::create(builder, loc, inBounds, read, zero).getResult(0);
}

// keys - queries: how far the bottom-right diagonal lies right of the
// top-left one.
static Value buildDiagonal(OpBuilder &builder, Location loc) {
  Type index = builder.getIndexType();
  Value keys = KeyLengthOp::create(builder, loc, index);
  Value queries = QueryLengthOp::create(builder, loc, index);
  return arith::SubIOp::create(builder, loc, keys, queries);
}

// The key that stands on the bottom-right diagonal of the query.
static Value buildDiagonalKey(OpBuilder &builder, Location loc, Value query) {
  return arith::AddIOp::create(builder, loc, query,
                               buildDiagonal(builder, loc));
}

Value mlir::fa::buildCausalMask(OpBuilder &builder, Location loc,
                                PairIndices pair, CausalAlignment alignment) {
  Value last = alignment == CausalAlignment::TopLeft
                   ? pair.query
                   : buildDiagonalKey(builder, loc, pair.query);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                               pair.key, last);
}

// A negative size means unlimited: 2^40 is past every index and leaves room
// for the sums below.
static Value buildWindowSize(OpBuilder &builder, Location loc, Value size) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value unlimited = arith::ConstantIndexOp::create(builder, loc, 1LL << 40);
  Value negative = arith::CmpIOp::create(builder, loc,
                                         arith::CmpIPredicate::slt, size, zero);
  return arith::SelectOp::create(builder, loc, negative, unlimited, size);
}

Value mlir::fa::buildWindowMask(OpBuilder &builder, Location loc,
                                PairIndices pair, Value left, Value right) {
  Value center = buildDiagonalKey(builder, loc, pair.query);
  Value first = arith::SubIOp::create(builder, loc, center,
                                      buildWindowSize(builder, loc, left));
  Value last = arith::AddIOp::create(builder, loc, center,
                                     buildWindowSize(builder, loc, right));
  Value afterFirst = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sge, pair.key, first);
  Value beforeLast = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sle, pair.key, last);
  return arith::AndIOp::create(builder, loc, afterFirst, beforeLast);
}

Value mlir::fa::buildPrefixMask(OpBuilder &builder, Location loc,
                                PairIndices pair, Value prefix) {
  if (!prefix.getType().isIndex()) {
    prefix = buildCapturedLoad(builder, loc, prefix, pair.batch);
    prefix = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        prefix);
  }
  Value below = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      pair.key, prefix);
  Value causal =
      buildCausalMask(builder, loc, pair, CausalAlignment::BottomRight);
  return arith::OrIOp::create(builder, loc, below, causal);
}

Value mlir::fa::buildDocumentMask(OpBuilder &builder, Location loc,
                                  PairIndices pair, Value queryIds,
                                  Value keyIds) {
  Value queryId =
      buildCapturedLoad(builder, loc, queryIds, {pair.batch, pair.query});
  Value keyId = buildCapturedLoad(builder, loc, keyIds, {pair.batch, pair.key});
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, queryId,
                               keyId);
}

Value mlir::fa::buildSoftcapScore(OpBuilder &builder, Location loc, Value score,
                                  Value cap) {
  // Reciprocals may be taken for the divisions.
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(),
                                             arith::FastMathFlags::arcp);
  Value ratio = arith::DivFOp::create(builder, loc, score, cap, flags);
  Value bounded = math::TanhOp::create(builder, loc, ratio, flags);
  return arith::MulFOp::create(builder, loc, cap, bounded);
}

Value mlir::fa::buildApproximateSoftcapScore(OpBuilder &builder, Location loc,
                                             Value score, Value cap) {
  using Flags = arith::FastMathFlags;
  auto flags = arith::FastMathFlagsAttr::get(
      builder.getContext(),
      Flags::arcp | Flags::afn | Flags::contract | Flags::reassoc);
  // The same for a negative cap; what is known to be positive commutes with the
  // maximum of a row.
  Value bound = math::AbsFOp::create(builder, loc, cap);
  Value ratio = arith::DivFOp::create(builder, loc, score, bound, flags);
  Value bounded = math::TanhOp::create(builder, loc, ratio, flags);
  return arith::MulFOp::create(builder, loc, bounded, bound, flags);
}

Value mlir::fa::buildAlibiScore(OpBuilder &builder, Location loc, Value score,
                                PairIndices pair, Value slopes) {
  SmallVector<Value> indices;
  if (cast<ShapedType>(slopes.getType()).getRank() == 2)
    indices.push_back(pair.batch);
  indices.push_back(pair.head);
  Value slope = buildCapturedLoad(builder, loc, slopes, indices);
  Value center = buildDiagonalKey(builder, loc, pair.query);
  // 32 bits hold every distance and convert to floating point cheaply.
  Type i32 = builder.getI32Type();
  Value distance = arith::SubIOp::create(
      builder, loc, arith::IndexCastOp::create(builder, loc, i32, center),
      arith::IndexCastOp::create(builder, loc, i32, pair.key));
  Value real =
      arith::SIToFPOp::create(builder, loc, builder.getF32Type(), distance);
  Value magnitude = math::AbsFOp::create(builder, loc, real);
  // One rounding is as good as two.
  auto contract = arith::FastMathFlagsAttr::get(builder.getContext(),
                                                arith::FastMathFlags::contract);
  Value penalty =
      arith::MulFOp::create(builder, loc, slope, magnitude, contract);
  return arith::SubFOp::create(builder, loc, score, penalty, contract);
}

Value mlir::fa::buildBiasScore(OpBuilder &builder, Location loc, Value score,
                               PairIndices pair, Value bias) {
  auto type = cast<ShapedType>(bias.getType());
  SmallVector<Value> indices{pair.batch, pair.head, pair.query, pair.key};
  for (auto [position, index] : llvm::enumerate(indices))
    if (type.getDimSize(position) == 1)
      index = arith::ConstantIndexOp::create(builder, loc, 0);
  Value loaded = buildCapturedLoad(builder, loc, bias, indices);
  if (!type.getElementType().isF32())
    loaded = arith::ExtFOp::create(builder, loc, builder.getF32Type(), loaded);
  return arith::AddFOp::create(builder, loc, score, loaded);
}
