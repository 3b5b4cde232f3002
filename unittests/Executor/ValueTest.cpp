//===- ValueTest.cpp - Numbers and arrays of the executor -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/Value.h"
#include "fa/Executor/NumberPolicy.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa::executor;

TEST(Value, IntegersWrapAtTheirWidth) {
  EXPECT_EQ(wrapInteger(200, 8), -56);
  EXPECT_EQ(wrapInteger(3, 1), 1);
  EXPECT_EQ(asSigned(1, 1), -1);
  EXPECT_EQ(asUnsigned(-56, 8), 200u);
  EXPECT_EQ(wrapInteger(int64_t(1) << 40, 32), 0);
}

TEST(Value, FloatsRoundToNearestEven) {
  const auto &bf16 = llvm::APFloat::BFloat();
  EXPECT_EQ(roundToFloat(1.00390625, bf16), 1.0);
  EXPECT_EQ(roundToFloat(1.01171875, bf16), 1.015625);
  EXPECT_EQ(floatToBits(-2.0, bf16), 0xc000u);
  EXPECT_EQ(floatFromBits(0x3f80, bf16), 1.0);
  EXPECT_TRUE(std::isnan(floatFromBits(0x7fc0, bf16)));
  EXPECT_TRUE(std::isinf(roundToFloat(1e6, llvm::APFloat::IEEEhalf())));
}

/// A 2 x 3 array that counts from 0.
static ArrayRefPtr makeRamp() {
  ArrayRefPtr array = makeArray({2, 3});
  for (int64_t i = 0; i < 6; ++i)
    array->data()[i].integer = i;
  return array;
}

static std::vector<int64_t> getElements(const Array &array) {
  ArrayRefPtr packed = copyArray(array);
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < packed->getNumElements(); ++i)
    elements.push_back(packed->data()[i].integer);
  return elements;
}

TEST(Value, ViewsShareMemory) {
  ArrayRefPtr ramp = makeRamp();
  ArrayRefPtr transposed = makeView(*ramp, 0, {3, 2}, {1, 3});
  EXPECT_FALSE(transposed->isContiguous());
  EXPECT_EQ(getElements(*transposed), (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  ArrayRefPtr column = makeView(*ramp, 1, {2}, {3});
  fillElements(*column, Slot::ofInteger(9));
  EXPECT_EQ(getElements(*ramp), (std::vector<int64_t>{0, 9, 2, 3, 9, 5}));
}

TEST(Value, OverlappingCopiesReadBeforeTheyWrite) {
  ArrayRefPtr ramp = makeRamp();
  ArrayRefPtr first = makeView(*ramp, 0, {5}, {1});
  ArrayRefPtr last = makeView(*ramp, 1, {5}, {1});
  copyElements(*first, *last);
  EXPECT_EQ(getElements(*ramp), (std::vector<int64_t>{0, 0, 1, 2, 3, 4}));
}

TEST(Value, RowsOfEmptyAndScalarArrays) {
  int visits = 0;
  forEachRow(*makeArray({3, 0}), [&](int64_t) { ++visits; });
  EXPECT_EQ(visits, 0);
  forEachRow(*makeArray({}), [&](int64_t) { ++visits; });
  EXPECT_EQ(visits, 1);
  forEachRow(*makeArray({2, 2, 5}), [&](int64_t) { ++visits; });
  EXPECT_EQ(visits, 5);
}
