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
  constexpr int64_t multiple = philox::blockMultiple;
  bool isWhole =
      isMultipleOf(place.query, multiple) && isMultipleOf(place.key, multiple);
  if (!isWhole)
    remark::missed(loc, remark::RemarkOpts::name("Dropout").category(
                            "fa-decompose-to-blocks"))
        << "draws for each pair alone: queries or keys of a block are not "
           "known to begin at multiples of 16";
  Blocks blocks(inside, loc);
  RankedTensorType type = typeOf(Kind::Matrix, inside.getI1Type());
  Value kept = fagpu::DropoutOp::create(
      inside, loc, type, words.threshold, words.key0, words.key1,
      words.counter2, words.counter3, blocks.cast32(place.query),
      blocks.cast32(place.key), isWhole, place.rowsAreKeys);
  RankedTensorType factors = typeOf(Kind::Matrix, inside.getF32Type());
  return blocks.select(kept, blocks.splat(words.factor, factors),
                       blocks.constant(0.0f, factors));
}
