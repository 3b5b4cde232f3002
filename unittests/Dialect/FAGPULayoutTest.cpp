//===- FAGPULayoutTest.cpp - Register layouts -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace mlir::fagpu;

namespace {

class FAGPULayoutTest : public testing::Test {
protected:
  FAGPULayoutTest() { context.loadDialect<FAGPUDialect>(); }

  /// How many times each coordinate is held.
  std::map<std::vector<int64_t>, int64_t> count(LayoutInterface layout,
                                                ArrayRef<int64_t> shape) {
    std::map<std::vector<int64_t>, int64_t> counts;
    for (int64_t thread = 0; thread < 32 * layout.getWarps(); ++thread)
      for (int64_t i = 0, e = layout.perThread(shape); i < e; ++i) {
        SmallVector<int64_t> at = layout.coordinate(shape, thread, i);
        for (auto [index, size] : llvm::zip_equal(at, shape))
          EXPECT_TRUE(index >= 0 && index < size);
        ++counts[std::vector<int64_t>(at.begin(), at.end())];
      }
    return counts;
  }

  /// Every element is held, by `copies` threads.
  void expectCopies(LayoutInterface layout, ArrayRef<int64_t> shape,
                    int64_t copies) {
    auto counts = count(layout, shape);
    EXPECT_EQ(static_cast<int64_t>(counts.size()),
              ShapedType::getNumElements(shape));
    for (auto &[at, number] : counts)
      EXPECT_EQ(number, copies);
  }

  MLIRContext context;
};

TEST_F(FAGPULayoutTest, EveryElementIsHeld) {
  expectCopies(AccumulatorLayoutAttr::get(&context, 4), {128, 24}, 1);
  expectCopies(AccumulatorLayoutAttr::get(&context, 1), {16, 8}, 1);
  expectCopies(OperandLayoutAttr::get(&context, 4), {64, 32}, 1);
  expectCopies(QuadLayoutAttr::get(&context, 4), {128, 4}, 1);
  expectCopies(RowLayoutAttr::get(&context, 4), {128}, 4);
  expectCopies(ColumnLayoutAttr::get(&context, 2), {24}, 8 * 2);
  expectCopies(WarpLayoutAttr::get(&context, 4), {4}, 32);
}

// PTX ISA, wgmma: register d[i] of thread t of a 64xN accumulator.
TEST_F(FAGPULayoutTest, AccumulatorIsThatOfWGMMA) {
  LayoutInterface layout = AccumulatorLayoutAttr::get(&context, 4);
  int64_t shape[] = {64, 128};
  EXPECT_EQ(layout.perThread(shape), 64);
  using Coordinate = SmallVector<int64_t>;
  EXPECT_EQ(layout.coordinate(shape, 0, 0), Coordinate({0, 0}));
  EXPECT_EQ(layout.coordinate(shape, 0, 1), Coordinate({0, 1}));
  EXPECT_EQ(layout.coordinate(shape, 0, 2), Coordinate({8, 0}));
  EXPECT_EQ(layout.coordinate(shape, 0, 4), Coordinate({0, 8}));
  EXPECT_EQ(layout.coordinate(shape, 127, 63), Coordinate({63, 127}));
  EXPECT_EQ(layout.coordinate(shape, 38, 6), Coordinate({25, 12}));
}

// A row or column value is held where the accumulator has that row or column.
TEST_F(FAGPULayoutTest, RowsAndColumnsAreThoseOfTheAccumulator) {
  LayoutInterface accumulator = AccumulatorLayoutAttr::get(&context, 4);
  LayoutInterface row = RowLayoutAttr::get(&context, 4);
  LayoutInterface column = ColumnLayoutAttr::get(&context, 4);
  int64_t shape[] = {128, 64}, rows[] = {128}, columns[] = {64};
  for (int64_t thread : {0, 5, 31, 77, 127}) {
    auto holds = [&](LayoutInterface layout, ArrayRef<int64_t> size,
                     int64_t index) {
      for (int64_t i = 0; i < layout.perThread(size); ++i)
        if (layout.coordinate(size, thread, i)[0] == index)
          return true;
      return false;
    };
    for (int64_t i = 0; i < accumulator.perThread(shape); ++i) {
      SmallVector<int64_t> at = accumulator.coordinate(shape, thread, i);
      EXPECT_TRUE(holds(row, rows, at[0]));
      EXPECT_TRUE(holds(column, columns, at[1]));
    }
  }
}

// A warp's value is held by the threads that hold its rows.
TEST_F(FAGPULayoutTest, WarpsAreThoseOfTheAccumulator) {
  LayoutInterface accumulator = AccumulatorLayoutAttr::get(&context, 4);
  LayoutInterface warp = WarpLayoutAttr::get(&context, 4);
  int64_t shape[] = {128, 16}, warps[] = {4};
  for (int64_t thread = 0; thread < 128; ++thread)
    for (int64_t i = 0; i < accumulator.perThread(shape); ++i)
      EXPECT_EQ(accumulator.coordinate(shape, thread, i)[0] / 16 % 4,
                warp.coordinate(warps, thread, 0)[0]);
}

} // namespace
