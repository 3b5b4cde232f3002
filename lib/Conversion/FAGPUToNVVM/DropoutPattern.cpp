//===- DropoutPattern.cpp - Random numbers of a thread's pairs ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers fagpu.dropout: draws by Philox, and a word with a bit for each pair.
// Read `lower`, then `drawShared`: where rows are queries a thread holds the
// eight pairs of a draw; where rows are keys two threads do, and exchange bits.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "fa/Support/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::fagpu;
namespace philox = mlir::fa::philox;

namespace {

/// The words of a draw.
using Words = std::array<Value, 4>;

/// Draws for the pairs of one block.
class Drawer {
public:
  Drawer(Emitter &emit,
         DropoutOp::GenericAdaptor<ArrayRef<ValueRange>> operands)
      : emit(emit), threshold(operands.getThreshold().front()),
        counter2(operands.getCounter2().front()),
        counter3(operands.getCounter3().front()) {
    Value words[] = {operands.getWord0().front(), operands.getWord1().front()};
    for (unsigned round = 0; round < philox::rounds; ++round)
      for (unsigned number : {0, 1})
        keys[round][number] =
            emit.add(words[number],
                     static_cast<int32_t>(round * philox::keySteps[number]));
  }

  Words draw(Value query, Value key);
  Value isKept(const Words &words, Value query, Value key);
  std::pair<Value, Value> getSigns(const Words &words);

private:
  Value bitOr(Value a, Value b) { return emit.bitOr(a, b); }
  Value bitAnd(Value a, Value b) {
    return arith::AndIOp::create(emit.builder, emit.location, a, b);
  }
  Value choose(Value condition, Value a, Value b) {
    return arith::SelectOp::create(emit.builder, emit.location, condition, a,
                                   b);
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(emit.builder, emit.location,
                                 arith::CmpIPredicate::ult, a, b);
  }
  Value getSign(Value word);

  Emitter &emit;
  Value threshold, counter2, counter3;
  Value keys[philox::rounds][2];
  /// See `getSign`.
  Value addend, upper;
};

} // namespace

Words Drawer::draw(Value query, Value key) {
  Words counter = {key, query, counter2, counter3};
  for (auto &roundKeys : keys) {
    auto multiply = [&](unsigned number) {
      return arith::MulUIExtendedOp::create(
          emit.builder, emit.location, counter[2 * number],
          emit.constant(static_cast<int32_t>(philox::multipliers[number])));
    };
    auto first = multiply(0), second = multiply(1);
    auto mix = [&](Value high, unsigned number) {
      return emit.bitXor(emit.bitXor(high, counter[2 * number + 1]),
                         roundKeys[number]);
    };
    counter = {mix(second.getHigh(), 0), second.getLow(),
               mix(first.getHigh(), 1), first.getLow()};
  }
  return counter;
}

/// Whether the pair of a draw is kept, whatever the bits of its indices are.
Value Drawer::isKept(const Words &words, Value query, Value key) {
  auto isSet = [&](Value index, int64_t bit) {
    return arith::CmpIOp::create(emit.builder, emit.location,
                                 arith::CmpIPredicate::ne,
                                 emit.bitAnd(index, bit), emit.constant(0));
  };
  Value ofQuery = isSet(query, philox::sharedBit),
        ofKey = isSet(key, philox::sharedBit);
  Value word = choose(ofQuery, choose(ofKey, words[3], words[2]),
                      choose(ofKey, words[1], words[0]));
  Value number =
      choose(isSet(key, 1), emit.shiftRight(word, philox::numberBits),
             emit.bitAnd(word, (1 << philox::numberBits) - 1));
  return arith::CmpIOp::create(emit.builder, emit.location,
                               arith::CmpIPredicate::uge, number, threshold);
}

/// Bit 15 of each half of a word: whether the half is at least the threshold t.
/// The lower 15 bits of a half plus 2^15 - t, or 2^16 - t for a t with bit 15,
/// have bit 15 where they are at least t without it. A half is then kept if it
/// has bit 15 itself or, of such a t, and.
Value Drawer::getSign(Value word) {
  constexpr int64_t sign = 1 << 15, twice = 0x10001;
  if (!addend) {
    Value isLower = isBelow(threshold, emit.constant(sign));
    upper = choose(isLower, emit.constant(-1), emit.constant(0));
    addend = emit.subtract(
        choose(isLower, emit.constant(sign), emit.constant(2 * sign)),
        threshold);
    addend = emit.multiply(addend, twice);
  }
  Value sum = emit.add(emit.bitAnd(word, (sign - 1) * twice), addend);
  // The majority of three is one instruction.
  return bitOr(bitAnd(sum, word), bitAnd(upper, bitOr(sum, word)));
}

/// Bytes of ones for the pairs that are kept: of the even and the odd key
/// without bit 3, then of those with it; first of queries without bit 3.
std::pair<Value, Value> Drawer::getSigns(const Words &words) {
  auto join = [&](Value a, Value b) {
    // The signs of bytes 1 and 3 of both.
    return emit.permuteBytes(getSign(a), getSign(b), emit.constant(0xFDB9));
  };
  Value first = join(words[0], words[1]);
  return {first, join(words[2], words[3])};
}

namespace {

struct DropoutPattern : public LoweringPattern<DropoutOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(DropoutOp op, Adaptor adaptor, Emitter &emit) const override {
    Drawer drawer(emit, adaptor);
    RankedTensorType type = blockType(op);
    Value row = getThreadIndex(emit, kernel, op, type, 0),
          column = getThreadIndex(emit, kernel, op, type, 1);
    bool keysAreRows = op.getKeysAreRows();
    ThreadPairs pairs = {
        adaptor.getQuery().front(), adaptor.getKey().front(), {}};
    pairs.query = emit.add(pairs.query, keysAreRows ? column : row);
    pairs.key = emit.add(pairs.key, keysAreRows ? row : column);
    LayoutInterface layout = getBlockLayout(type);
    for (int64_t i = 0, e = registersPerThread(type); i < e; ++i) {
      SmallVector<int64_t> at = layout.getElementOffset(type.getShape(), i);
      pairs.offsets.push_back({at[keysAreRows], at[!keysAreRows]});
    }
    if (op.getWhole())
      return {drawShared(emit, drawer, pairs, keysAreRows ? row : Value())};
    return {drawAlone(emit, drawer, pairs)};
  }

private:
  /// The pairs of a thread: the first query and key, and what is added to them.
  struct ThreadPairs {
    Value query, key;
    SmallVector<std::pair<int64_t, int64_t>> offsets;
  };

  static SmallVector<Value> drawAlone(Emitter &emit, Drawer &drawer,
                                      const ThreadPairs &pairs) {
    SmallVector<Value> results;
    for (auto [ofQuery, ofKey] : pairs.offsets) {
      Value query = emit.add(pairs.query, ofQuery),
            key = emit.add(pairs.key, ofKey);
      Words words = drawer.draw(
          emit.bitAnd(query, static_cast<int32_t>(philox::queryMask)),
          emit.bitAnd(key, static_cast<int32_t>(philox::keyMask)));
      results.push_back(drawer.isKept(words, query, key));
    }
    return results;
  }

  /// The elements of a draw have a byte and two bits of a word, which has four
  /// draws. `row` is the thread's row if rows are keys. Then its keys are even
  /// or odd, and two lanes have the two queries of a pair of columns in common:
  /// each draws for one of them.
  static SmallVector<Value> drawShared(Emitter &emit, Drawer &drawer,
                                       ThreadPairs pairs, Value row) {
    constexpr int64_t shared = philox::sharedBit, drawsOfWord = 4;
    llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<int64_t>> draws;
    for (auto [element, offset] : llvm::enumerate(pairs.offsets))
      draws[{offset.first & ~(row ? shared + 1 : shared),
             offset.second & ~(shared + 1)}]
          .push_back(element);
    Value isOdd = row ? emit.bitAnd(row, 1) : Value();
    if (row) {
      pairs.query = emit.add(pairs.query, isOdd);
      pairs.key = emit.subtract(pairs.key, isOdd);
    }
    SmallVector<Value> results(pairs.offsets.size());
    auto all = draws.takeVector();
    for (size_t first = 0; first < all.size(); first += drawsOfWord) {
      auto ofWord = ArrayRef(all).slice(
          first, std::min<size_t>(drawsOfWord, all.size() - first));
      Value bits = emit.constant(0);
      for (auto [number, draw] : llvm::enumerate(ofWord)) {
        auto [low, high] = drawer.getSigns(
            drawer.draw(emit.add(pairs.query, draw.first.first),
                        emit.add(pairs.key, draw.first.second)));
        // Bits 2 n and 2 n + 1 of each byte.
        int64_t mask = 0x01010101ll << (2 * number);
        bits = emit.bitOr(bits, emit.bitAnd(low, mask));
        bits = emit.bitOr(bits, emit.bitAnd(high, mask << 1));
      }
      if (row)
        bits = exchange(emit, bits, isOdd);
      for (auto [number, draw] : llvm::enumerate(ofWord))
        for (int64_t element : draw.second) {
          auto [query, key] = pairs.offsets[element];
          int64_t byte = row ? (query & 1) * 2 + (key & shared ? 1 : 0)
                             : (key & shared ? 2 : 0) + (key & 1);
          int64_t bit = 8 * byte + 2 * number + (query & shared ? 1 : 0);
          results[element] = arith::CmpIOp::create(
              emit.builder, emit.location, arith::CmpIPredicate::ne,
              emit.getBit(bits, bit), emit.constant(0));
        }
    }
    return results;
  }

  /// Of the bytes that two lanes have drawn, for an even and an odd key each,
  /// those of the thread's own key: for the even query, then for the odd one.
  static Value exchange(Emitter &emit, Value bits, Value isOdd) {
    constexpr int64_t nextRow = 4;
    Value other = emit.shuffleButterfly(bits, nextRow);
    Value selector = arith::SelectOp::create(
        emit.builder, emit.location, emit.equal(isOdd, emit.constant(0)),
        emit.constant(0x6420), emit.constant(0x3175));
    return emit.permuteBytes(bits, other, selector);
  }
};

} // namespace

void mlir::fagpu::populateDropoutPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const KernelContext &kernel) {
  patterns.add<DropoutPattern>(converter, patterns.getContext(), kernel);
}
