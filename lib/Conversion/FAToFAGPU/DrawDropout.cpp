//===- DrawDropout.cpp - Dropout of a block of pairs ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"
#include "Multiples.h"
#include "RegionOnBlocks.h"
#include "fa/Dialect/FA/Transforms/Dropout.h"
#include "fa/Support/Philox.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::fa;

/// Whether `other` is the end of a sequence, which may be that of a part of it.
static bool isAtLeast(Value other, Value end) {
  auto least = end.getDefiningOp<arith::MinSIOp>();
  return other == end ||
         (least && llvm::is_contained(least->getOperands(), other));
}

/// Whether a block begins at a multiple, or behind the end of its sequence,
/// where it is empty.
static bool isWhole(Value first, Value end) {
  constexpr int64_t multiple = philox::blockMultiple;
  if (isMultipleOf(first, multiple))
    return true;
  Operation *op = first.getDefiningOp();
  if (!op || !isa<arith::AddIOp, arith::MinSIOp>(op))
    return false;
  auto is = [&](Value one, Value other) {
    return isMultipleOf(one, multiple) &&
           (isa<arith::AddIOp>(op) ? isWhole(other, end)
                                   : isAtLeast(other, end));
  };
  Value left = op->getOperand(0), right = op->getOperand(1);
  return is(left, right) || is(right, left);
}

/// The factor of a pair is one number or zero. What all pairs share is computed
/// outside.
FailureOr<Value> RegionOnBlocks::draw(DropoutOp op, const IRMapping &mapping) {
  if (!isAtOwnPair(op)) {
    op.emitOpError() << "is not at the indices of its pair, expected "
                        "fa-expand-dropout before";
    return failure();
  }
  auto mapped = [&](Value value) { return mapping.lookup(value); };
  DropoutWords words =
      createDropoutWords(outside, loc, mapped(op.getP()), mapped(op.getSeed()),
                         mapped(op.getOffset()), place.batch, place.head);
  bool ofWholeDraws =
      isWhole(place.query, place.queries) && isWhole(place.key, place.keys);
  if (!ofWholeDraws)
    remark::missed(loc, remark::RemarkOpts::name("Dropout").category(
                            "fa-decompose-to-blocks"))
        << "draws for each pair alone: queries or keys of a block are not "
           "known to begin at multiples of 16";
  Blocks blocks(inside, loc);
  RankedTensorType type = typeOf(Kind::Matrix, inside.getI1Type());
  Value kept = fagpu::DropoutOp::create(
      inside, loc, type, words.threshold, words.key0, words.key1,
      words.counter2, words.counter3, blocks.cast32(place.query),
      blocks.cast32(place.key), ofWholeDraws, place.rowsAreKeys);
  RankedTensorType factors = typeOf(Kind::Matrix, inside.getF32Type());
  return blocks.select(kept, blocks.splat(words.factor, factors),
                       blocks.constant(0.0f, factors));
}
