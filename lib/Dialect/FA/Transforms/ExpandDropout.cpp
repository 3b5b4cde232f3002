//===- ExpandDropout.cpp - Random factors in integer arithmetic -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox 4x32-10: Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers:
// as easy as 1, 2, 3".
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
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

private:
  OpBuilder &builder;
  Location loc;
  Type i32;
};
} // namespace

static std::array<Value, 4> runPhilox(Words &words,
                                      std::array<Value, 4> counter,
                                      std::array<Value, 2> key) {
  constexpr uint32_t multipliers[] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t steps[] = {0x9E3779B9, 0xBB67AE85};
  constexpr unsigned rounds = 10;
  for (unsigned round = 0; round < rounds; ++round) {
    auto [low0, high0] = words.multiply(counter[0], multipliers[0]);
    auto [low1, high1] = words.multiply(counter[2], multipliers[1]);
    auto mix = [&](Value high, unsigned number) {
      Value roundKey =
          words.add(key[number], words.constant(round * steps[number]));
      return words.exclusiveOr(words.exclusiveOr(high, counter[2 * number + 1]),
                               roundKey);
    };
    counter = {mix(high1, 0), low1, mix(high0, 1), low0};
  }
  return counter;
}

static Value select(OpBuilder &builder, DropoutOp op, Words &words,
                    const std::array<Value, 4> &random, Value key) {
  Location loc = op.getLoc();
  auto isOne = [&](uint32_t bit) -> Value {
    Value only =
        arith::AndIOp::create(builder, loc, key, words.constant(1u << bit));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, only,
                                 words.constant(0));
  };
  auto choose = [&](Value condition, Value isTrue, Value isFalse) -> Value {
    return arith::SelectOp::create(builder, loc, condition, isTrue, isFalse);
  };
  Value isOdd = isOne(0), isUpper = isOne(1);
  return choose(isUpper, choose(isOdd, random[3], random[2]),
                choose(isOdd, random[1], random[0]));
}

static void expand(DropoutOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Words words(builder, loc);
  Value two = arith::ConstantIndexOp::create(builder, loc, 2);
  Value fourth = arith::ShRUIOp::create(builder, loc, op.getKey(), two);
  Value key = words.truncate(op.getKey());
  std::array<Value, 4> counter = {
      words.truncate(fourth), words.truncate(op.getQuery()),
      words.add(words.shiftLeft(words.truncate(op.getBatch()), 16),
                words.truncate(op.getHead())),
      words.truncate(op.getOffset())};
  std::array<Value, 2> keys = {
      words.truncate(op.getSeed()),
      words.add(words.getHigh(op.getSeed()), words.getHigh(op.getOffset()))};
  Value random =
      select(builder, op, words, runPhilox(words, counter, keys), key);
  // 24 bits are an f32 without rounding.
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(value));
  };
  Value upper = arith::SIToFPOp::create(builder, loc, builder.getF32Type(),
                                        words.shiftRight(random, 8));
  Value uniform = arith::MulFOp::create(builder, loc, upper, number(0x1p-24f));
  Value isKept = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE,
                                       uniform, op.getP());
  Value one = number(1.0f);
  Value factor = arith::DivFOp::create(
      builder, loc, one, arith::SubFOp::create(builder, loc, one, op.getP()));
  Value result =
      arith::SelectOp::create(builder, loc, isKept, factor, number(0.0f));
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct ExpandDropoutPass
    : public fa::impl::FAExpandDropoutBase<ExpandDropoutPass> {
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
    getOperation()->walk([&](DropoutOp op) { all.push_back(op); });
    for (DropoutOp op : all)
      expand(op);
  }
};
} // namespace
