//===- DropoutPattern.cpp - Random numbers of a thread's pairs ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers fagpu.dropout. Read `lower`, then `SharedDraws`: two threads whose
// rows differ in the lowest bit share the 16 pairs of a draw, eight each. Each
// draws for both of them, and they exchange signs of what is kept.
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

constexpr int64_t byteMask = (1 << philox::byteBits) - 1;

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
  Words getSigns(const Words &words);

private:
  Value bitOr(Value a, Value b) { return emit.bitOr(a, b); }
  Value bitAnd(Value a, Value b) {
    return arith::AndIOp::create(emit.builder, emit.location, a, b);
  }
  Value getCommonByte(const Words &words);

  Emitter &emit;
  Value threshold, counter2, counter3;
  Value keys[philox::rounds][2];
  /// See `getSigns`.
  Value commonThreshold, addend, lessByOne, upper;
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
  Value word = emit.select(ofQuery, emit.select(ofKey, words[3], words[2]),
                           emit.select(ofKey, words[1], words[0]));
  auto bit = [&](Value index, int64_t place) {
    return emit.shiftLeft(emit.bitAnd(index, 1), place);
  };
  Value place = bitOr(bit(query, 4), bit(key, 3));
  Value own = arith::ShRUIOp::create(emit.builder, emit.location, word, place);
  Value number =
      bitOr(emit.shiftLeft(emit.bitAnd(own, byteMask), philox::byteBits),
            getCommonByte(words));
  return arith::CmpIOp::create(emit.builder, emit.location,
                               arith::CmpIPredicate::uge, number, threshold);
}

/// The lower byte of all numbers of a draw.
Value Drawer::getCommonByte(const Words &words) {
  Value all = emit.bitXor(emit.bitXor(words[0], words[1]), words[2]);
  return emit.bitAnd(emit.bitXor(all, words[3]), byteMask);
}

/// Bit 7 of each byte of each word: whether it is at least the upper byte t of
/// the threshold, or t + 1 where the byte that all have in common is below the
/// threshold's lower one. The lower 7 bits of a byte plus 2^7 - t, or 2^8 - t
/// for a t with bit 7, have bit 7 where they are at least t without it. A byte
/// is then kept if it has bit 7 itself or, of such a t, and.
Words Drawer::getSigns(const Words &words) {
  constexpr int64_t sign = 1 << 7, all = 0x01010101;
  if (!addend) {
    Value isLower =
        emit.isBelow(threshold, emit.constant(sign << philox::byteBits));
    upper = emit.select(isLower, emit.constant(-1), emit.constant(0));
    addend = emit.subtract(
        emit.select(isLower, emit.constant(sign), emit.constant(2 * sign)),
        emit.shiftRight(threshold, philox::byteBits));
    addend = emit.multiply(addend, all);
    lessByOne = emit.subtract(addend, emit.constant(all));
    commonThreshold = emit.bitAnd(threshold, byteMask);
  }
  Value added = emit.select(emit.isBelow(getCommonByte(words), commonThreshold),
                            lessByOne, addend);
  Words signs;
  for (auto [word, kept] : llvm::zip_equal(words, signs)) {
    Value sum = emit.add(emit.bitAnd(word, (sign - 1) * all), added);
    // The majority of three is one instruction.
    kept = bitOr(bitAnd(sum, word), bitAnd(upper, bitOr(sum, word)));
  }
  return signs;
}

namespace {

/// The pairs of a thread: the first query and key, and what is added to them.
struct ThreadPairs {
  Value query, key;
  SmallVector<std::pair<int64_t, int64_t>> offsets;
};

/// Draws for the pairs of threads whose rows differ in the lowest bit. Of two
/// draws a thread makes one, for both of them.
class SharedDraws {
public:
  SharedDraws(Emitter &emit, Drawer &drawer, const ThreadPairs &pairs,
              Value row, bool keysAreRows);
  SmallVector<Value> makeBits();
  SmallVector<Value> makeHalves();

private:
  /// What is added to the first query and key, and the elements of the pairs.
  struct Draw {
    int64_t query, key;
    SmallVector<int64_t> elements;
  };
  /// Two draws, or the last one alone, which then both threads make.
  using Unit = ArrayRef<Draw>;

  Words getSigns(Unit unit);
  /// The byte of a thread with an odd row or not, for an even or odd column.
  int64_t getByte(bool isOdd, int64_t column) const {
    return keysAreRows ? 2 * column + isOdd : 2 * isOdd + column;
  }
  int64_t getColumn(int64_t element) const {
    auto [query, key] = pairs.offsets[element];
    return (keysAreRows ? query : key) & 1;
  }
  int64_t getWord(int64_t element) const {
    auto [query, key] = pairs.offsets[element];
    return (query & philox::sharedBit ? 2 : 0) +
           (key & philox::sharedBit ? 1 : 0);
  }
  Value choose(int64_t ofOdd, int64_t ofEven) {
    return emit.select(hasOddRow, emit.constant(ofOdd), emit.constant(ofEven));
  }
  /// `makeSelector` of odd rows and of even ones.
  Value chooseSelector(llvm::function_ref<int64_t(bool)> makeSelector) {
    return choose(makeSelector(true), makeSelector(false));
  }
  Value isSet(Value word, int64_t bit) {
    return arith::CmpIOp::create(emit.builder, emit.location,
                                 arith::CmpIPredicate::ne,
                                 emit.getBit(word, bit), emit.constant(0));
  }

  Emitter &emit;
  Drawer &drawer;
  ThreadPairs pairs;
  bool keysAreRows;
  Value odd, hasOddRow;
  SmallVector<Draw> draws;
};

} // namespace

/// The lane whose row differs in the lowest bit.
static constexpr int64_t nextRow = 4;

SharedDraws::SharedDraws(Emitter &emit, Drawer &drawer,
                         const ThreadPairs &threadPairs, Value row,
                         bool keysAreRows)
    : emit(emit), drawer(drawer), pairs(threadPairs), keysAreRows(keysAreRows),
      odd(emit.bitAnd(row, 1)), hasOddRow(emit.equal(odd, emit.constant(1))) {
  Value &ofRow = keysAreRows ? pairs.key : pairs.query;
  ofRow = emit.subtract(ofRow, odd);
  constexpr auto mask = static_cast<int32_t>(philox::drawMask);
  llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<int64_t>> found;
  for (auto [element, offset] : llvm::enumerate(pairs.offsets))
    found[{offset.first & mask, offset.second & mask}].push_back(element);
  for (auto &[offset, elements] : found)
    draws.push_back({offset.first, offset.second, elements});
}

Words SharedDraws::getSigns(Unit unit) {
  auto place = [&](Value first, int64_t even, int64_t ofOdd) {
    Value at = first;
    if (ofOdd != even)
      at = emit.add(at, emit.multiply(odd, ofOdd - even));
    return emit.add(at, static_cast<int32_t>(even));
  };
  const Draw &even = unit.front(), &ofOdd = unit.back();
  return drawer.getSigns(
      drawer.draw(place(pairs.query, even.query, ofOdd.query),
                  place(pairs.key, even.key, ofOdd.key)));
}

/// Tests of bits. A word has those of two units.
SmallVector<Value> SharedDraws::makeBits() {
  constexpr int64_t wordsOfDraw = 4, signs = 0x80808080, lastBit = 7;
  SmallVector<Value> results(pairs.offsets.size());
  for (ArrayRef<Draw> left = draws; !left.empty();) {
    size_t size = std::min<size_t>(left.size(), 2);
    SmallVector<Unit> units = {left.take_front(size)};
    left = left.drop_front(size);
    if (size == 2 && left.size() >= 2) {
      units.push_back(left.take_front(2));
      left = left.drop_front(2);
    }
    Value bits = emit.constant(0);
    for (auto [number, unit] : llvm::enumerate(units))
      for (auto [word, kept] : llvm::enumerate(getSigns(unit))) {
        int64_t shift = lastBit - (number * wordsOfDraw + word);
        bits = emit.bitOr(
            bits, emit.bitAnd(emit.shiftRight(kept, shift), signs >> shift));
      }
    // Bytes of the columns of the first draw, then of the second one.
    Value other = size == 2 ? emit.shuffleButterfly(bits, nextRow) : bits;
    bits =
        emit.permuteBytes(bits, other, chooseSelector([&](bool isOdd) {
                            int64_t selector = 0;
                            for (int64_t byte = 0; byte < 4; ++byte) {
                              bool isOwn = size == 1 || (byte >= 2) == isOdd;
                              selector |=
                                  (getByte(isOdd, byte % 2) + (isOwn ? 0 : 4))
                                  << 4 * byte;
                            }
                            return selector;
                          }));
    for (auto [number, unit] : llvm::enumerate(units))
      for (auto [second, draw] : llvm::enumerate(unit))
        for (int64_t element : draw.elements)
          results[element] =
              isSet(bits, 8 * (2 * second + getColumn(element)) +
                              number * wordsOfDraw + getWord(element));
  }
  return results;
}

/// Bits of words whose halves are ones or zeros, for two elements that are
/// packed in one register: see `getHalves`.
SmallVector<Value> SharedDraws::makeHalves() {
  // Each nibble repeats the sign of a byte.
  auto repeatSigns = [](int64_t low, int64_t high) {
    return 0x8888 | low | low << 4 | high << 8 | high << 12;
  };
  SmallVector<Value> results(pairs.offsets.size());
  for (ArrayRef<Draw> left = draws; !left.empty();) {
    Unit unit = left.take_front(2);
    left = left.drop_front(unit.size());
    Words signs = getSigns(unit);
    bool isShared = unit.size() == 2;
    Value others[2] = {signs[0], signs[2]};
    if (isShared)
      for (int64_t half : {0, 1})
        others[half] = emit.shuffleButterfly(
            emit.permuteBytes(signs[2 * half], signs[2 * half + 1],
                              chooseSelector([&](bool isOdd) {
                                int64_t low = getByte(!isOdd, 0),
                                        high = getByte(!isOdd, 1);
                                return low | high << 4 | (low + 4) << 8 |
                                       (high + 4) << 12;
                              })),
            nextRow);
    for (auto [second, draw] : llvm::enumerate(unit))
      for (size_t i = 0; i < draw.elements.size(); i += 2) {
        int64_t element = draw.elements[i], word = getWord(element);
        assert(draw.elements[i + 1] == element + 1 && !getColumn(element));
        bool isSecond = second;
        Value selector = chooseSelector([&](bool isOdd) {
          bool isOwn = !isShared || isSecond == isOdd;
          // Of the other thread the bytes of two words lie in one.
          int64_t first = 4 + word % 2 * 2;
          return isOwn ? repeatSigns(getByte(isOdd, 0), getByte(isOdd, 1))
                       : repeatSigns(first, first + 1);
        });
        Value halves =
            emit.permuteBytes(signs[word], others[word / 2], selector);
        std::tie(results[element], results[element + 1]) =
            testHalves(emit, halves);
      }
  }
  return results;
}

/// Whether all that use a block are selections of 16-bit elements.
static bool isForPacked(Value kept) {
  return llvm::all_of(kept.getUsers(), [&](Operation *user) {
    return isa<arith::SelectOp>(user) &&
           isPackedElement(getElementTypeOrSelf(user->getResultTypes()[0]));
  });
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
    if (!op.getWhole())
      return {drawAlone(emit, drawer, pairs)};
    SharedDraws draws(emit, drawer, pairs, row, keysAreRows);
    return {isForPacked(op) ? draws.makeHalves() : draws.makeBits()};
  }

private:
  static SmallVector<Value> drawAlone(Emitter &emit, Drawer &drawer,
                                      const ThreadPairs &pairs) {
    constexpr auto mask = static_cast<int32_t>(philox::drawMask);
    SmallVector<Value> results;
    for (auto [ofQuery, ofKey] : pairs.offsets) {
      Value query = emit.add(pairs.query, ofQuery),
            key = emit.add(pairs.key, ofKey);
      Words words =
          drawer.draw(emit.bitAnd(query, mask), emit.bitAnd(key, mask));
      results.push_back(drawer.isKept(words, query, key));
    }
    return results;
  }
};

} // namespace

void mlir::fagpu::populateDropoutPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const KernelContext &kernel) {
  patterns.add<DropoutPattern>(converter, patterns.getContext(), kernel);
}
