//===- KeyRangeAnalysisTest.cpp - Key ranges against brute force ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Random masks over small sizes. A scalar interpreter evaluates the mask for
// every pair of a query block and the keys, and the arithmetic that computes
// the ranges; then what lies outside the ranges must be invisible and what
// lies in full ones visible.
//
//===----------------------------------------------------------------------===//

#include "fa/Analysis/KeyRangeAnalysis.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {

using Environment = DenseMap<Value, int64_t>;

/// Sizes and places of one query block.
struct Numbers {
  int64_t firstQuery, numQueries, firstKey, numKeys, queryLength, keyLength;
  int64_t scalars[2];
};

int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// Evaluates pure scalar operations one by one.
class Interpreter {
public:
  Interpreter(const Numbers &numbers) : numbers(numbers) {}

  void run(Block &block) {
    for (Operation &op : block)
      if (op.getNumResults() == 1)
        values[op.getResult(0)] =
            bringInto(op.getResult(0).getType(), evaluate(&op));
  }

  const Numbers &numbers;
  Environment values;

private:
  /// Arithmetic of fewer than 64 bits wraps.
  static int64_t bringInto(Type type, int64_t number) {
    bool wraps = type.isInteger() && !type.isInteger(1);
    return wraps ? llvm::SignExtend64(number, type.getIntOrFloatBitWidth())
                 : number;
  }

  int64_t evaluate(Operation *op) {
    if (isa<QueryLengthOp>(op))
      return numbers.queryLength;
    if (isa<KeyLengthOp>(op))
      return numbers.keyLength;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return cast<IntegerAttr>(constant.getValue()).getValue().isOne() &&
                     constant.getType().isInteger(1)
                 ? 1
                 : cast<IntegerAttr>(constant.getValue()).getInt();
    SmallVector<int64_t, 3> x;
    for (Value operand : op->getOperands()) {
      EXPECT_TRUE(values.contains(operand)) << "operand without a value";
      x.push_back(values[operand]);
    }
    return TypeSwitch<Operation *, int64_t>(op)
        .Case<arith::AddIOp>([&](auto) { return x[0] + x[1]; })
        .Case<arith::SubIOp>([&](auto) { return x[0] - x[1]; })
        .Case<arith::MulIOp>([&](auto) { return x[0] * x[1]; })
        .Case<arith::MinSIOp>([&](auto) { return std::min(x[0], x[1]); })
        .Case<arith::MaxSIOp>([&](auto) { return std::max(x[0], x[1]); })
        .Case<arith::FloorDivSIOp>(
            [&](auto) { return floorDivide(x[0], x[1]); })
        .Case<arith::CeilDivSIOp>(
            [&](auto) { return -floorDivide(-x[0], x[1]); })
        .Case<arith::RemUIOp>([&](auto) { return x[0] % x[1]; })
        .Case<arith::AndIOp>([&](auto) { return x[0] & x[1]; })
        .Case<arith::OrIOp>([&](auto) { return x[0] | x[1]; })
        .Case<arith::XOrIOp>([&](auto) { return x[0] ^ x[1]; })
        .Case<arith::SelectOp>([&](auto) { return x[0] ? x[1] : x[2]; })
        .Case<arith::IndexCastOp, arith::TruncIOp, arith::ExtSIOp>(
            [&](auto) { return x[0]; })
        .Case<arith::ShLIOp>([&](auto) { return x[0] << x[1]; })
        .Case<math::AbsIOp>([&](auto) { return std::abs(x[0]); })
        .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
          return arith::applyCmpPredicate(compare.getPredicate(),
                                          APInt(64, x[0], true),
                                          APInt(64, x[1], true));
        })
        .Default([](Operation *unknown) {
          ADD_FAILURE() << "no semantics for "
                        << unknown->getName().getStringRef().str();
          return int64_t(0);
        });
  }
};

/// A mask region and the function that computes its ranges.
class Mask {
public:
  explicit Mask(MLIRContext *context)
      : builder(context), loc(builder.getUnknownLoc()) {
    Block &block = region.emplaceBlock();
    for (unsigned i = 0; i < 6; ++i)
      block.addArgument(builder.getIndexType(), loc);
    builder.setInsertionPointToEnd(&block);
  }
  Value argument(unsigned position) { return region.getArgument(position); }
  PairIndices pair() {
    return {argument(0), argument(1), argument(2), argument(3)};
  }
  void yield(Value visible) { YieldOp::create(builder, loc, visible); }

  bool isVisible(const Numbers &numbers, int64_t query, int64_t key) {
    Interpreter interpreter(numbers);
    int64_t arguments[] = {
        1, 2, query, key, numbers.scalars[0], numbers.scalars[1]};
    for (auto [argument, value] :
         llvm::zip_equal(region.getArguments(), arguments))
      interpreter.values[argument] = value;
    interpreter.run(region.front());
    return interpreter.values[region.front().getTerminator()->getOperand(0)];
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (Operation &op : region.front())
      stream << op << '\n';
    return text;
  }

  OpBuilder builder;
  Location loc;
  Region region;
};

struct ConcreteRange {
  int64_t begin, end;
  bool full;
};

/// The ranges' arithmetic, built once and evaluated for many numbers.
class RangeFunction {
public:
  RangeFunction(Mask &mask, int64_t step) {
    OpBuilder builder(mask.builder.getContext());
    Location loc = builder.getUnknownLoc();
    Block &block = region.emplaceBlock();
    for (unsigned i = 0; i < 10; ++i)
      block.addArgument(builder.getIndexType(), loc);
    builder.setInsertionPointToEnd(&block);
    SmallVector<Value> arguments(block.getArguments());
    SmallVector<Value> captures(block.getArguments().drop_front(8));
    QueryBlockPlace place{arguments[0], arguments[1], arguments[2],
                          arguments[3], arguments[4], arguments[5],
                          arguments[6], arguments[7], captures};
    KeyRangeAnalysis analysis(mask.region);
    ranges = analysis.buildRanges(builder, loc, place, step);
    numObstacles = analysis.getObstacles().size();
  }

  SmallVector<ConcreteRange> evaluate(const Numbers &n) {
    Interpreter interpreter(n);
    int64_t arguments[] = {1,
                           2,
                           n.firstQuery,
                           n.numQueries,
                           n.firstKey,
                           n.numKeys,
                           n.queryLength,
                           n.keyLength,
                           n.scalars[0],
                           n.scalars[1]};
    for (auto [argument, value] :
         llvm::zip_equal(region.getArguments(), arguments))
      interpreter.values[argument] = value;
    interpreter.run(region.front());
    SmallVector<ConcreteRange> result;
    for (const KeyRange &range : ranges)
      result.push_back({interpreter.values[range.begin],
                        interpreter.values[range.end], range.full});
    return result;
  }

  SmallVector<KeyRange> ranges;
  size_t numObstacles;

private:
  Region region;
};

/// What the ranges of one block leave out and prove.
struct Coverage {
  int64_t hidden = 0, skipped = 0, always = 0, proven = 0;
};

class KeyRangeAnalysisTest : public ::testing::Test {
protected:
  KeyRangeAnalysisTest() {
    context.loadDialect<FADialect, func::FuncDialect, arith::ArithDialect,
                        math::MathDialect, scf::SCFDialect>();
  }

  int64_t random(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }

  Numbers randomNumbers() {
    Numbers n;
    n.queryLength = random(0, 20);
    n.keyLength = random(0, 24);
    n.firstQuery = random(0, std::max<int64_t>(n.queryLength - 1, 0));
    n.numQueries =
        std::min<int64_t>(random(0, 6), n.queryLength - n.firstQuery);
    n.firstKey = random(0, 3) ? 0 : random(0, n.keyLength);
    n.numKeys = n.keyLength - n.firstKey;
    n.scalars[0] = random(-4, 24);
    n.scalars[1] = random(-4, 24);
    return n;
  }

  /// Checks the ranges of one block against all pairs.
  void check(Mask &mask, RangeFunction &function, const Numbers &n,
             int64_t step, Coverage &coverage) {
    SmallVector<ConcreteRange> ranges = function.evaluate(n);
    ASSERT_LE(ranges.size(), KeyRangesOp::maxRanges);
    int64_t previous = 0;
    for (ConcreteRange range : ranges) {
      ASSERT_LE(previous, range.begin) << mask.print();
      ASSERT_LE(range.begin, range.end) << mask.print();
      ASSERT_LE(range.end, n.numKeys) << mask.print();
      if (range.full)
        ASSERT_EQ((range.end - range.begin) % step, 0) << mask.print();
      previous = range.end;
    }
    for (int64_t key = 0; key < n.numKeys; ++key) {
      int64_t seen = 0;
      for (int64_t row = 0; row < n.numQueries; ++row)
        seen += mask.isVisible(n, n.firstQuery + row, n.firstKey + key);
      auto *range = llvm::find_if(ranges, [&](ConcreteRange r) {
        return r.begin <= key && key < r.end;
      });
      bool skipped = range == ranges.end();
      bool full = !skipped && range->full;
      ASSERT_FALSE(skipped && seen != 0)
          << "key " << key << " is visible but outside the ranges of\n"
          << mask.print();
      ASSERT_FALSE(full && seen != n.numQueries)
          << "key " << key << " is hidden in a full range of\n"
          << mask.print();
      coverage.hidden += seen == 0;
      coverage.skipped += skipped;
      coverage.always += n.numQueries != 0 && seen == n.numQueries;
      coverage.proven += full;
    }
  }

  Value randomNumber(Mask &mask, unsigned depth) {
    OpBuilder &b = mask.builder;
    Location loc = mask.loc;
    auto constant = [&](int64_t low, int64_t high) -> Value {
      return arith::ConstantIndexOp::create(b, loc, random(low, high));
    };
    if (depth == 0 || random(0, 3) == 0) {
      switch (random(0, 6)) {
      case 0:
      case 1:
        return mask.argument(3);
      case 2:
      case 3:
        return mask.argument(2);
      case 4:
        return mask.argument(random(4, 5));
      case 5:
        return constant(-6, 20);
      default:
        if (random(0, 1))
          return KeyLengthOp::create(b, loc, b.getIndexType());
        return QueryLengthOp::create(b, loc, b.getIndexType());
      }
    }
    Value x = randomNumber(mask, depth - 1);
    switch (random(0, 9)) {
    case 0:
    case 1:
    case 2:
      return arith::AddIOp::create(b, loc, x, randomNumber(mask, depth - 1));
    case 3:
    case 4:
      return arith::SubIOp::create(b, loc, x, randomNumber(mask, depth - 1));
    case 5:
      return arith::MulIOp::create(b, loc, x, constant(-3, 3));
    case 6:
      return arith::FloorDivSIOp::create(b, loc, x, constant(1, 5));
    case 7:
      return arith::MaxSIOp::create(b, loc, x, randomNumber(mask, depth - 1));
    case 8:
      return arith::MinSIOp::create(b, loc, x, randomNumber(mask, depth - 1));
    default:
      return math::AbsIOp::create(b, loc, x);
    }
  }

  /// A number of 8 bits, which positions times small constants leave.
  Value randomByte(Mask &mask, unsigned depth) {
    OpBuilder &b = mask.builder;
    Location loc = mask.loc;
    auto constant = [&](int64_t low, int64_t high) -> Value {
      return arith::ConstantIntOp::create(b, loc, b.getI8Type(),
                                          random(low, high));
    };
    if (depth == 0 || random(0, 4) == 0)
      return arith::IndexCastOp::create(b, loc, b.getI8Type(),
                                        randomNumber(mask, random(0, 1)));
    Value x = randomByte(mask, depth - 1);
    auto another = [&] { return randomByte(mask, depth - 1); };
    switch (random(0, 9)) {
    case 0:
    case 1:
      return arith::AddIOp::create(b, loc, x, another());
    case 2:
      return arith::SubIOp::create(b, loc, x, another());
    case 3:
      return arith::AddIOp::create(b, loc, x, constant(-128, 127));
    case 4:
      return arith::MulIOp::create(b, loc, x, constant(-20, 20));
    case 5:
      return arith::ShLIOp::create(b, loc, x, constant(0, 6));
    case 6:
      return arith::FloorDivSIOp::create(b, loc, x, constant(1, 30));
    case 7:
      return arith::MaxSIOp::create(b, loc, x, another());
    case 8:
      return arith::MinSIOp::create(b, loc, x, another());
    default:
      return math::AbsIOp::create(b, loc, x);
    }
  }

  /// By way of 8, 16 and 64 bits.
  Value randomNarrowNumber(Mask &mask) {
    OpBuilder &b = mask.builder;
    Location loc = mask.loc;
    Value x = randomByte(mask, 2);
    if (random(0, 1)) {
      x = arith::ExtSIOp::create(b, loc, b.getI16Type(), x);
      Value factor = arith::ConstantIntOp::create(b, loc, b.getI16Type(),
                                                  random(-999, 999));
      x = arith::MulIOp::create(b, loc, x, factor);
      if (random(0, 1))
        x = arith::TruncIOp::create(b, loc, b.getI8Type(), x);
    }
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), x);
  }

  /// What both sides of a comparison share may cancel.
  Value randomSharingCondition(Mask &mask) {
    OpBuilder &b = mask.builder;
    Location loc = mask.loc;
    Value shared = randomByte(mask, random(0, 1)), sides[2];
    for (Value &side : sides) {
      side = shared;
      if (random(0, 1)) {
        Value constant = arith::ConstantIntOp::create(b, loc, b.getI8Type(),
                                                      random(-128, 127));
        side = arith::AddIOp::create(b, loc, side, constant);
      }
      if (random(0, 3) == 0)
        side = arith::SubIOp::create(b, loc, side, randomByte(mask, 0));
    }
    auto predicate = static_cast<arith::CmpIPredicate>(random(0, 5));
    return arith::CmpIOp::create(b, loc, predicate, sides[0], sides[1]);
  }

  Value randomNarrowCondition(Mask &mask) {
    OpBuilder &b = mask.builder;
    auto predicate = static_cast<arith::CmpIPredicate>(random(0, 5));
    Value lhs = random(0, 2) ? mask.argument(3) : randomNarrowNumber(mask);
    Value compared = arith::CmpIOp::create(b, mask.loc, predicate, lhs,
                                           randomNarrowNumber(mask));
    if (random(0, 1))
      return compared;
    Value other = randomCondition(mask, 0);
    if (random(0, 1))
      return arith::AndIOp::create(b, mask.loc, compared, other);
    return arith::OrIOp::create(b, mask.loc, compared, other);
  }

  Value randomBlockWindow(Mask &mask) {
    OpBuilder &b = mask.builder;
    Location loc = mask.loc;
    auto divide = [&](Value x, int64_t divisor) -> Value {
      return arith::FloorDivSIOp::create(
          b, loc, x, arith::ConstantIndexOp::create(b, loc, divisor));
    };
    // Of blocks of blocks, too, and of more keys than there are.
    int64_t size = random(0, 9) ? random(2, 6) : int64_t(1) << random(40, 61);
    Value key = divide(mask.argument(3), size);
    if (random(0, 2) == 0)
      key = divide(key, random(2, 3));
    Value bound = divide(mask.argument(2), random(2, 6));
    for (unsigned count = random(0, 4) ? 1 : 2; count > 0; --count) {
      Value limit = mask.argument(random(4, 5));
      if (random(0, 1))
        bound = arith::AddIOp::create(b, loc, bound, limit);
      else
        bound = arith::SubIOp::create(b, loc, bound, limit);
    }
    // Below 2^62 where both sizes are without limit.
    auto predicate = static_cast<arith::CmpIPredicate>(random(2, 5));
    if (random(0, 1))
      return arith::CmpIOp::create(b, loc, predicate, key, bound);
    return arith::CmpIOp::create(b, loc, predicate, bound, key);
  }

  Value randomCondition(Mask &mask, unsigned depth) {
    OpBuilder &b = mask.builder;
    Location loc = mask.loc;
    if (depth == 0 || random(0, 2) == 0) {
      // Signed predicates only: the interpreter's numbers may be negative.
      auto predicate = static_cast<arith::CmpIPredicate>(random(0, 5));
      Value lhs = random(0, 1) ? mask.argument(3) : randomNumber(mask, 2);
      return arith::CmpIOp::create(b, loc, predicate, lhs,
                                   randomNumber(mask, 2));
    }
    Value x = randomCondition(mask, depth - 1);
    Value y = randomCondition(mask, depth - 1);
    switch (random(0, 7)) {
    case 0:
    case 1:
    case 2:
      return arith::AndIOp::create(b, loc, x, y);
    case 3:
    case 4:
      return arith::OrIOp::create(b, loc, x, y);
    case 5:
      return arith::XOrIOp::create(b, loc, x, y);
    case 6:
      return arith::SelectOp::create(b, loc, randomCondition(mask, depth - 1),
                                     x, y);
    default:
      return arith::XOrIOp::create(b, loc, x,
                                   arith::ConstantIntOp::create(b, loc, 1, 1));
    }
  }

  /// Checks a mask at many places; returns what its ranges left out.
  Coverage checkMask(Mask &mask, int64_t step, unsigned places) {
    RangeFunction function(mask, step);
    Coverage coverage;
    for (unsigned i = 0; i < places && !HasFatalFailure(); ++i)
      check(mask, function, randomNumbers(), step, coverage);
    return coverage;
  }

  /// What is left out and proven of `count` masks, and how many of them the
  /// analysis understands.
  std::pair<Coverage, unsigned>
  checkMasks(unsigned count, llvm::function_ref<Value(Mask &)> makeCondition) {
    Coverage total;
    unsigned understood = 0;
    for (unsigned i = 0; i < count && !HasFatalFailure(); ++i) {
      Mask mask(&context);
      mask.yield(makeCondition(mask));
      MaskNormalizer normalizer(mask.region);
      understood += normalizer.getObstacles().empty();
      Coverage coverage = checkMask(mask, random(1, 4), 12);
      total.hidden += coverage.hidden;
      total.skipped += coverage.skipped;
      total.always += coverage.always;
      total.proven += coverage.proven;
    }
    return {total, understood};
  }

  MLIRContext context;
  std::mt19937_64 engine{20240611};
};

TEST_F(KeyRangeAnalysisTest, RandomMasks) {
  auto [total, understood] =
      checkMasks(1500, [&](Mask &mask) { return randomCondition(mask, 3); });
  // Ranges that visit everything and prove nothing would be right, too.
  EXPECT_GT(understood, 700u);
  EXPECT_GT(total.skipped, total.hidden / 2);
  EXPECT_GT(total.proven, total.always / 4);
  RecordProperty("hidden", std::to_string(total.hidden));
  RecordProperty("skipped", std::to_string(total.skipped));
  RecordProperty("always", std::to_string(total.always));
  RecordProperty("proven", std::to_string(total.proven));
}

// Sums and products of 8 and 16 bits wrap, those that fit bound the keys.
TEST_F(KeyRangeAnalysisTest, MasksThatMayWrap) {
  auto [total, understood] =
      checkMasks(3000, [&](Mask &mask) { return randomNarrowCondition(mask); });
  EXPECT_GT(understood, 1000u);
  EXPECT_GT(total.skipped, total.hidden / 4);
  EXPECT_GT(total.proven, total.always / 8);
  RecordProperty("skipped", std::to_string(total.skipped));
  RecordProperty("proven", std::to_string(total.proven));
}

TEST_F(KeyRangeAnalysisTest, MasksThatCancel) {
  auto [total, understood] = checkMasks(
      2000, [&](Mask &mask) { return randomSharingCondition(mask); });
  EXPECT_GT(understood, 500u);
  EXPECT_GT(total.skipped, total.hidden / 8);
  EXPECT_GT(total.proven, total.always / 8);
  RecordProperty("skipped", std::to_string(total.skipped));
  RecordProperty("proven", std::to_string(total.proven));
}

// Windows of blocks, of sizes up to 2^61, which stands for "without limit".
TEST_F(KeyRangeAnalysisTest, BlockWindows) {
  constexpr int64_t unlimited = int64_t(1) << 61;
  Coverage total;
  unsigned understood = 0;
  for (unsigned i = 0; i < 500 && !HasFatalFailure(); ++i) {
    Mask mask(&context);
    mask.yield(randomBlockWindow(mask));
    RangeFunction function(mask, /*step=*/1);
    understood += function.numObstacles == 0;
    for (unsigned place = 0; place < 12 && !HasFatalFailure(); ++place) {
      Numbers n = randomNumbers();
      for (int64_t &scalar : n.scalars)
        if (random(0, 1))
          scalar = (random(0, 1) ? unlimited : -unlimited) + random(-3, 3);
      check(mask, function, n, /*step=*/1, total);
    }
  }
  // One size that may be without limit is understood, two of them are not.
  EXPECT_GT(understood, 250u);
  EXPECT_LT(understood, 500u);
  EXPECT_GT(total.skipped, total.hidden / 2);
  EXPECT_GT(total.proven, total.always / 2);
}

// The masks of the short spellings lose nothing: every key that no query of
// the block sees is skipped, and with a step of 1 every key that all see is
// in a full range.
TEST_F(KeyRangeAnalysisTest, ShortSpellingsAreExact) {
  using Build = std::function<Value(Mask &)>;
  auto causal = [](Mask &m) {
    return buildCausalMask(m.builder, m.loc, m.pair(),
                           CausalAlignment::BottomRight);
  };
  auto window = [](Mask &m) {
    return buildWindowMask(m.builder, m.loc, m.pair(), m.argument(4),
                           m.argument(5));
  };
  std::pair<const char *, Build> masks[] = {
      {"causal", causal},
      {"causal_top_left",
       [](Mask &m) {
         return buildCausalMask(m.builder, m.loc, m.pair(),
                                CausalAlignment::TopLeft);
       }},
      {"window", window},
      {"causal window",
       [&](Mask &m) -> Value {
         Value first = causal(m);
         return arith::AndIOp::create(m.builder, m.loc, first, window(m));
       }},
      {"prefix", [](Mask &m) {
         return buildPrefixMask(m.builder, m.loc, m.pair(), m.argument(4));
       }}};
  for (auto &[name, build] : masks) {
    Mask mask(&context);
    mask.yield(build(mask));
    Coverage coverage = checkMask(mask, /*step=*/1, 2000);
    EXPECT_EQ(coverage.hidden, coverage.skipped) << name;
    EXPECT_EQ(coverage.always, coverage.proven) << name;
    EXPECT_GT(coverage.hidden, 0) << name;
    EXPECT_GT(coverage.always, 0) << name;
  }
}

// Masks whose text is short and whose expansion is not end in time, and large
// numbers stand for "without limit".
TEST_F(KeyRangeAnalysisTest, LargeMasks) {
  Mask doubling(&context);
  OpBuilder &b = doubling.builder;
  Location loc = doubling.loc;
  Value sum = doubling.argument(3), extreme = doubling.argument(2);
  for (unsigned i = 0; i < 80; ++i) {
    sum = arith::AddIOp::create(b, loc, sum, sum);
    extreme = arith::MaxSIOp::create(b, loc, extreme, extreme);
  }
  Value visible =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, sum, extreme);
  for (unsigned i = 0; i < 80; ++i)
    visible = arith::XOrIOp::create(b, loc, visible, visible);
  doubling.yield(visible);
  EXPECT_FALSE(MaskNormalizer(doubling.region).getObstacles().empty());

  Mask unlimited(&context);
  Value largest = arith::ConstantIndexOp::create(
      unlimited.builder, loc, std::numeric_limits<int64_t>::max());
  unlimited.yield(arith::CmpIOp::create(unlimited.builder, loc,
                                        arith::CmpIPredicate::sle,
                                        unlimited.argument(3), largest));
  Coverage coverage = checkMask(unlimited, /*step=*/1, 100);
  EXPECT_EQ(coverage.always, coverage.proven);
}

// A causal mask is known however it is spelled, and nothing else is.
TEST_F(KeyRangeAnalysisTest, CausalKind) {
  std::pair<const char *, CausalKind> cases[] = {
      {"mask causal", CausalKind::BottomRight},
      {"mask causal_top_left", CausalKind::TopLeft},
      {R"(mask(%b, %h, %i, %j) {
            %nk = fa.key_length : index
            %nq = fa.query_length : index
            %x = arith.addi %j, %nq : index
            %y = arith.addi %i, %nk : index
            %after = arith.cmpi sgt, %x, %y : index
            %true = arith.constant true
            %v = arith.xori %after, %true : i1
            fa.yield %v : i1
          })",
       CausalKind::BottomRight},
      {R"(mask(%b, %h, %i, %j) {
            %v = arith.cmpi slt, %j, %i : index
            fa.yield %v : i1
          })",
       CausalKind::None},
      {"mask causal window(%w, %w)", CausalKind::None},
      {"", CausalKind::None}};
  for (auto [mask, kind] : cases) {
    std::string text =
        std::string("func.func @f(%q: tensor<1x?x1x64xf32>, %w: index) {\n"
                    "fa.attention ins(%q, %q, %q : tensor<1x?x1x64xf32>, "
                    "tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>) "
                    "outs(%q : tensor<1x?x1x64xf32>) ") +
        mask + "\nreturn }";
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&context));
    ASSERT_TRUE(module) << text;
    module->walk([&, kind = kind](AttentionOp op) {
      EXPECT_EQ(getCausalKind(op), kind) << text;
    });
  }
}

// A mask without a region, and masks that are constant.
TEST_F(KeyRangeAnalysisTest, ConstantMasks) {
  for (int64_t visible : {0, 1}) {
    Mask mask(&context);
    mask.yield(
        arith::ConstantIntOp::create(mask.builder, mask.loc, visible, 1));
    RangeFunction function(mask, /*step=*/4);
    EXPECT_EQ(function.ranges.size(), visible ? 2u : 0u);
    Coverage coverage = checkMask(mask, /*step=*/4, 100);
    EXPECT_EQ(coverage.hidden, coverage.skipped);
  }
}

} // namespace
