//===- MaskSlice.cpp - Values of a mask region outside of it -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskSlice.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

MaskSlice::MaskSlice(OpBuilder &builder, Location loc, Region &region,
                     MaskNormalizer &normalizer, const QueryBlockPlace &place)
    : builder(builder), loc(loc), normalizer(normalizer), place(place) {
  if (region.empty())
    return;
  for (IRMapping *mapping : {&first, &last}) {
    mapping->map(normalizer.getBatch(), place.batch);
    mapping->map(normalizer.getHead(), place.head);
    mapping->map(region.getArguments().drop_front(4), place.captures);
  }
  first.map(normalizer.getQuery(), place.firstQuery);
}

Value MaskSlice::copyLastQuery() {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value end = builder.createOrFold<arith::AddIOp>(loc, place.firstQuery,
                                                  place.numQueries);
  return builder.createOrFold<arith::SubIOp>(loc, end, one);
}

Value MaskSlice::copyResult(OpResult result, BlockEnd end) {
  Operation *op = result.getOwner();
  if (isa<QueryLengthOp>(op))
    return place.queryLength;
  if (isa<KeyLengthOp>(op))
    return place.keyLength;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand, end));
  // Inside the region the bounds of the problem guard loads; here nothing does.
  if (isa<memref::LoadOp, tensor::ExtractOp>(op))
    return buildGuardedLoad(builder, loc, operands.front(),
                            ArrayRef(operands).drop_front());
  IRMapping ofOperands;
  ofOperands.map(op->getOperands(), operands);
  Operation *copy = builder.clone(*op, ofOperands);
  getMapping(end).map(op->getResults(), copy->getResults());
  return copy->getResult(result.getResultNumber());
}

Value MaskSlice::get(Value value, BlockEnd end) {
  assert(!normalizer.dependsOnKey(value) && "the key varies in a block");
  // One copy of what is the same at both ends.
  auto endOf = [&](Value next) {
    return normalizer.dependsOnQuery(next) ? end : BlockEnd::First;
  };
  auto isKnown = [&](Value next) {
    return getMapping(endOf(next)).contains(next);
  };
  visitOperandsFirst(value, isKnown, [&](Value next) {
    Value result = next == normalizer.getQuery()
                       ? copyLastQuery()
                       : copyResult(cast<OpResult>(next), endOf(next));
    getMapping(endOf(next)).map(next, result);
  });
  return getMapping(endOf(value)).lookup(value);
}

Value MaskSlice::getAsIndex(Value value, BlockEnd end) {
  return createIndexOf(builder, loc, get(value, end));
}

// Its product with the coefficient stays within 2^61.
Value MaskSlice::saturate(Value term, int64_t coefficient) {
  int64_t limit = beyondIndices / std::abs(coefficient);
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value held =
      builder.createOrFold<arith::MaxSIOp>(loc, term, constant(-limit));
  return builder.createOrFold<arith::MinSIOp>(loc, held, constant(limit));
}

Value MaskSlice::getExtreme(const LinearForm &form, bool largest) {
  assert(form.key == 0 && "expected a form without key");
  int64_t constant = form.constant;
  SmallVector<std::pair<Value, int64_t>> summands;
  for (auto [term, coefficient] : form.terms) {
    bool growing = normalizer.getDirection(term) != Direction::Decreasing;
    bool atLast = (growing == (coefficient > 0)) == largest;
    BlockEnd end = atLast ? BlockEnd::Last : BlockEnd::First;
    if (term == form.saturated) {
      Value held = saturate(getAsIndex(term, end), coefficient);
      summands.push_back({held, coefficient});
      continue;
    }
    if (term == normalizer.getQuery() && atLast) {
      // Its minus one joins the other constants.
      summands.push_back({place.firstQuery, coefficient});
      summands.push_back({place.numQueries, coefficient});
      constant -= coefficient;
      continue;
    }
    summands.push_back({getAsIndex(term, end), coefficient});
  }
  // A sum that starts with a positive term needs no negation.
  SmallVector<std::pair<Value, int64_t>> ordered;
  for (bool positive : {true, false})
    llvm::append_range(ordered, llvm::make_filter_range(summands, [&](auto &s) {
                         return (s.second > 0) == positive;
                       }));
  Value sum;
  for (auto [value, coefficient] : ordered) {
    int64_t magnitude = std::abs(coefficient);
    if (magnitude != 1)
      value = builder.createOrFold<arith::MulIOp>(
          loc, value, arith::ConstantIndexOp::create(builder, loc, magnitude));
    if (!sum && coefficient < 0)
      sum = arith::ConstantIndexOp::create(builder, loc, 0);
    if (!sum)
      sum = value;
    else if (coefficient > 0)
      sum = builder.createOrFold<arith::AddIOp>(loc, sum, value);
    else
      sum = builder.createOrFold<arith::SubIOp>(loc, sum, value);
  }
  if (!sum)
    return arith::ConstantIndexOp::create(builder, loc, constant);
  if (constant == 0)
    return sum;
  return builder.createOrFold<arith::AddIOp>(
      loc, sum, arith::ConstantIndexOp::create(builder, loc, constant));
}

std::pair<Value, Value> MaskSlice::getExtremes(const LinearForm &form) {
  Value smallest = getExtreme(form, /*largest=*/false);
  if (normalizer.getDirection(form) == Direction::Constant)
    return {smallest, smallest};
  return {smallest, getExtreme(form, /*largest=*/true)};
}
