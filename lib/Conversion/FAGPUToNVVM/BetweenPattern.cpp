//===- BetweenPattern.cpp - Columns between two limits, as bits -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers fagpu.between, the columns from one limit to another. A row gets
// words with one bit for each column that the thread holds; ptxas turns tests
// of all bits of a word into few instructions (R2P). Read `lower` first, then
// `getBitsFrom`.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

constexpr int64_t bitsOfWord = 32;

/// The columns that a thread has of one row: runs of `length` columns, `period`
/// apart, from `first` on. Both are powers of two.
struct ColumnRuns {
  int64_t first, length, period;
};

/// Registers of one row, in ascending order of their columns.
struct RowElements {
  SmallVector<int64_t> elements, columns;
};

} // namespace

/// An accumulator's layout gives a thread pairs of columns, 8 apart.
static ColumnRuns findRuns(ArrayRef<int64_t> columns) {
  int64_t first = columns.front(), length = 1;
  while (length < static_cast<int64_t>(columns.size()) &&
         columns[length] == first + length)
    ++length;
  int64_t period = length < static_cast<int64_t>(columns.size())
                       ? columns[length] - first
                       : length;
  assert(llvm::isPowerOf2_64(length) && llvm::isPowerOf2_64(period));
  assert(llvm::all_of(llvm::enumerate(columns), [&](auto found) {
    int64_t index = found.index();
    return found.value() == first + index / length * period + index % length;
  }));
  return {first, length, period};
}

static Value least(Emitter &emit, Value a, int64_t b) {
  return arith::MinSIOp::create(emit.builder, emit.location, a,
                                emit.constant(b));
}

static Value greatest(Emitter &emit, Value a, int64_t b) {
  return arith::MaxSIOp::create(emit.builder, emit.location, a,
                                emit.constant(b));
}

/// Zeros for the columns of a word that are less than `limit`, then ones.
static Value getBitsFrom(Emitter &emit, Value limit, ColumnRuns runs) {
  int64_t span = bitsOfWord / runs.length * runs.period;
  Value distance = emit.add(limit, -runs.first);
  distance = least(emit, greatest(emit, distance, 0), span);
  Value whole = emit.multiply(
      emit.shiftRight(distance, llvm::Log2_64(runs.period)), runs.length);
  Value rest = least(emit, emit.bitAnd(distance, runs.period - 1), runs.length);
  // A shift by all 32 bits is defined in 64.
  Type wide = emit.builder.getI64Type();
  Value count = arith::ExtUIOp::create(emit.builder, emit.location, wide,
                                       emit.add(whole, rest));
  Value ones = arith::ShLIOp::create(emit.builder, emit.location,
                                     emit.constant64(-1), count);
  return emit.narrow(ones);
}

namespace {

struct BetweenPattern : public LoweringPattern<BetweenOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(BetweenOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getType());
    auto limits = cast<RankedTensorType>(op.getFirst().getType());
    Value column = getThreadIndex(emit, kernel, op, type, /*dim=*/1);
    // A limit below all columns is 0, so that the difference does not wrap.
    auto ofThread = [&](Value limit) {
      return emit.subtract(greatest(emit, limit, 0), column);
    };
    SmallVector<Value> results(registersPerThread(type));
    for (auto [row, ofRow] : llvm::enumerate(getRows(type, limits))) {
      Value first = ofThread(adaptor.getFirst()[row]),
            end = ofThread(adaptor.getEnd()[row]);
      ArrayRef<int64_t> elements = ofRow.elements, columns = ofRow.columns;
      for (; !elements.empty();
           elements = elements.drop_front(
               std::min<size_t>(bitsOfWord, elements.size())),
           columns =
               columns.drop_front(std::min<size_t>(bitsOfWord, columns.size())))
        lowerWord(emit, first, end, elements.take_front(bitsOfWord),
                  columns.take_front(bitsOfWord), results);
    }
    return {results};
  }

private:
  /// The elements of each register of the limits.
  static SmallVector<RowElements> getRows(RankedTensorType type,
                                          RankedTensorType limits) {
    LayoutInterface layout = getBlockLayout(type),
                    ofLimits = getBlockLayout(limits);
    SmallVector<RowElements> rows(registersPerThread(limits));
    for (auto [index, row] : llvm::enumerate(rows)) {
      int64_t offset =
          ofLimits.getElementOffset(limits.getShape(), index).front();
      SmallVector<std::pair<int64_t, int64_t>> found;
      for (int64_t i = 0, e = registersPerThread(type); i < e; ++i) {
        SmallVector<int64_t> at = layout.getElementOffset(type.getShape(), i);
        if (at.front() == offset)
          found.push_back({at.back(), i});
      }
      llvm::sort(found);
      for (auto [column, element] : found) {
        row.columns.push_back(column);
        row.elements.push_back(element);
      }
    }
    return rows;
  }

  static void lowerWord(Emitter &emit, Value first, Value end,
                        ArrayRef<int64_t> elements, ArrayRef<int64_t> columns,
                        MutableArrayRef<Value> results) {
    ColumnRuns runs = findRuns(columns);
    Value below = emit.bitXor(getBitsFrom(emit, end, runs), emit.constant(-1));
    Value bits = arith::AndIOp::create(emit.builder, emit.location, below,
                                       getBitsFrom(emit, first, runs));
    for (auto [bit, element] : llvm::enumerate(elements))
      results[element] = arith::CmpIOp::create(
          emit.builder, emit.location, arith::CmpIPredicate::ne,
          emit.getBit(bits, bit), emit.constant(0));
  }
};

} // namespace

void mlir::fagpu::populateBetweenPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const KernelContext &kernel) {
  patterns.add<BetweenPattern>(converter, patterns.getContext(), kernel);
}

/// `ptxas` joins tests of bits that stand where they are used alone.
void mlir::fagpu::sinkBitTests(func::FuncOp kernel) {
  kernel.walk([](arith::CmpIOp test) {
    auto bit = test.getLhs().getDefiningOp<LLVM::InlineAsmOp>();
    if (!bit || bit.getHasSideEffects() || !bit->hasOneUse() ||
        !test->hasOneUse())
      return;
    Operation *user = *test->user_begin();
    if (user->getBlock() != test->getBlock())
      return;
    bit->moveBefore(user);
    test->moveBefore(user);
  });
}
