//===- ExpandDropout.cpp - Random factors in integer arithmetic -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.dropout for one pair in arith. Read `expand`: it takes the words that all
// pairs of a head share (`createDropoutWords`), runs the rounds of Philox
// (`runPhilox`; fa/Support/Philox.h defines them), picks the 16 bits of its
// pair and compares them with the threshold.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Dropout.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAEXPANDDROPOUT
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Words of 32 bits.
class Words {
public:
  Words(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc), i32(builder.getI32Type()) {}

  Value constant(uint32_t word) {
    return arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(word)));
  }
  Value number(float value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  }
  Value truncate(Value value) {
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(builder, loc, i32, value);
    return arith::TruncIOp::create(builder, loc, i32, value);
  }
  Value getHigh(Value value) {
    Value bits = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(value.getType(), 32));
    return truncate(arith::ShRUIOp::create(builder, loc, value, bits));
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value exclusiveOr(Value a, Value b) {
    return arith::XOrIOp::create(builder, loc, a, b);
  }
  Value bitAnd(Value a, uint32_t mask) {
    return arith::AndIOp::create(builder, loc, a, constant(mask));
  }
  Value shiftLeft(Value value, uint32_t bits) {
    return arith::ShLIOp::create(builder, loc, value, constant(bits));
  }
  Value shiftRight(Value value, uint32_t bits) {
    return arith::ShRUIOp::create(builder, loc, value, constant(bits));
  }
  /// The low and the high word of a product.
  std::pair<Value, Value> multiply(Value a, uint32_t b) {
    auto product = arith::MulUIExtendedOp::create(builder, loc, a, constant(b));
    return {product.getLow(), product.getHigh()};
  }
  /// `isTrue` where a bit of `word` is set.
  Value choose(Value word, uint32_t bit, Value isTrue, Value isFalse) {
    Value isSet = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        bitAnd(word, bit), constant(0));
    return arith::SelectOp::create(builder, loc, isSet, isTrue, isFalse);
  }

private:
  OpBuilder &builder;
  Location loc;
  Type i32;
};
} // namespace

/// The least number of 16 bits that is kept: `p * 2^16`, rounded up.
static Value createThreshold(OpBuilder &builder, Location loc, Value p) {
  Words words(builder, loc);
  Value most = words.number(1u << philox::numberBits);
  Value scaled = arith::MulFOp::create(builder, loc, p, most);
  scaled = arith::MaxNumFOp::create(builder, loc, scaled, words.number(0));
  scaled = arith::MinNumFOp::create(builder, loc, scaled, most);
  Value floor =
      arith::FPToSIOp::create(builder, loc, builder.getI32Type(), scaled);
  Value whole =
      arith::SIToFPOp::create(builder, loc, builder.getF32Type(), floor);
  Value isBelow = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT,
                                        whole, scaled);
  return words.add(floor, arith::ExtUIOp::create(
                              builder, loc, builder.getI32Type(), isBelow));
}

DropoutWords mlir::fa::createDropoutWords(OpBuilder &builder, Location loc,
                                          Value p, Value seed, Value offset,
                                          Value batch, Value head) {
  Words words(builder, loc);
  DropoutWords result;
  Value batchWord = words.truncate(batch);
  result.counter2 =
      words.add(words.shiftLeft(batchWord, 16), words.truncate(head));
  result.counter3 =
      words.add(words.truncate(offset), words.shiftRight(batchWord, 16));
  result.key0 = words.truncate(seed);
  result.key1 = words.add(words.getHigh(seed), words.getHigh(offset));
  result.threshold = createThreshold(builder, loc, p);
  Value one = words.number(1.0f);
  result.factor = arith::DivFOp::create(
      builder, loc, one, arith::SubFOp::create(builder, loc, one, p));
  return result;
}

bool mlir::fa::isAtOwnPair(DropoutOp op) {
  auto parent = dyn_cast<AttentionLikeOpInterface>(op->getParentOp());
  if (!parent || op->getParentRegion() != &parent.getScore())
    return false;
  // Behind the score.
  auto arguments = parent.getScore().getArguments().slice(1, 4);
  return llvm::equal(
      ValueRange{op.getBatch(), op.getHead(), op.getQuery(), op.getKey()},
      arguments);
}

static std::array<Value, 4> runPhilox(Words &words,
                                      std::array<Value, 4> counter,
                                      std::array<Value, 2> key) {
  for (unsigned round = 0; round < philox::rounds; ++round) {
    auto [low0, high0] = words.multiply(counter[0], philox::multipliers[0]);
    auto [low1, high1] = words.multiply(counter[2], philox::multipliers[1]);
    auto mix = [&](Value high, unsigned number) {
      Value roundKey = words.add(
          key[number], words.constant(round * philox::keySteps[number]));
      return words.exclusiveOr(words.exclusiveOr(high, counter[2 * number + 1]),
                               roundKey);
    };
    counter = {mix(high1, 0), low1, mix(high0, 1), low0};
  }
  return counter;
}

static void expand(DropoutOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Words words(builder, loc);
  DropoutWords common =
      createDropoutWords(builder, loc, op.getP(), op.getSeed(), op.getOffset(),
                         op.getBatch(), op.getHead());
  Value key = words.truncate(op.getKey()),
        query = words.truncate(op.getQuery());
  std::array<Value, 4> drawn = runPhilox(words,
                                         {words.bitAnd(key, philox::drawMask),
                                          words.bitAnd(query, philox::drawMask),
                                          common.counter2, common.counter3},
                                         {common.key0, common.key1});
  auto ofKey = [&](unsigned first) {
    return words.choose(key, philox::sharedBit, drawn[first + 1], drawn[first]);
  };
  Value word = words.choose(query, philox::sharedBit, ofKey(2), ofKey(0));
  constexpr uint32_t byteMask = (1u << philox::byteBits) - 1;
  // Bit 0 of the key chooses among neighbours, that of the query among halves.
  auto skip = [&](Value index, unsigned bytes) {
    return words.choose(index, 1,
                        words.shiftRight(word, bytes * philox::byteBits), word);
  };
  word = skip(query, 2);
  word = skip(key, 1);
  Value common0 = words.exclusiveOr(drawn[0], drawn[1]),
        common1 = words.exclusiveOr(drawn[2], drawn[3]);
  Value number =
      words.add(words.shiftLeft(words.bitAnd(word, byteMask), philox::byteBits),
                words.bitAnd(words.exclusiveOr(common0, common1), byteMask));
  Value isKept = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                       number, common.threshold);
  Value result = arith::SelectOp::create(builder, loc, isKept, common.factor,
                                         words.number(0.0f));
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct ExpandDropoutPass
    : public fa::impl::FAExpandDropoutBase<ExpandDropoutPass> {
  using FAExpandDropoutBase::FAExpandDropoutBase;

  void runOnOperation() override {
    // A probability of 0 leaves nothing to expand, and nothing behind.
    bool hasZero = false;
    getOperation()->walk(
        [&](DropoutOp op) { hasZero |= op.getKnownProbability() == 0.0; });
    RewritePatternSet folds(&getContext());
    AttentionOp::getCanonicalizationPatterns(folds, &getContext());
    AttentionGradientOp::getCanonicalizationPatterns(folds, &getContext());
    if (hasZero &&
        failed(applyPatternsGreedily(getOperation(), std::move(folds))))
      return signalPassFailure();
    SmallVector<DropoutOp> all;
    getOperation()->walk([&](DropoutOp op) {
      if (!keepPairs || !isAtOwnPair(op))
        all.push_back(op);
    });
    for (DropoutOp op : all)
      expand(op);
  }
};
} // namespace
