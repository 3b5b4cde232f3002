//===- SplitSum.cpp - Sums over parts of the columns ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitSum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fagpu;

Value mlir::fagpu::fetchPart(OpBuilder &builder, FetchOp fetch, Value first,
                             int64_t columns, bool isInside) {
  Location loc = fetch.getLoc();
  SmallVector<Value> offsets(fetch.getOffsets());
  offsets.back() =
      builder.createOrFold<arith::AddIOp>(loc, offsets.back(), first);
  SmallVector<int64_t> sizes(fetch.getSizes());
  sizes.back() = columns;
  // A bound that the part does not reach says nothing.
  Value bound = fetch.getColumns();
  std::optional<int64_t> from = getConstantIntValue(offsets.back()),
                         end =
                             bound ? getConstantIntValue(bound) : std::nullopt;
  if (isInside || (from && end && *from + columns <= *end))
    bound = Value();
  auto part = FetchOp::create(
      builder, loc,
      fetch.getType().clone({fetch.getType().getDimSize(0), columns}),
      fetch.getSource(), offsets, sizes, fetch.getRows(), bound,
      fetch.getAlignment(), fetch.getPadded(), fetch.getFragments(),
      fetch.getPages(), fetch.getPageDimAttr());
  part->setDiscardableAttrs(fetch->getDiscardableAttrDictionary());
  return part;
}

namespace {
class SumSplitter {
public:
  SumSplitter(ProductOp product, int64_t width, bool keepsFirst)
      : product(product), a(product.getA().getDefiningOp<FetchOp>()),
        b(product.getB().getDefiningOp<FetchOp>()), width(width),
        keepsFirst(keepsFirst), builder(product), loc(product.getLoc()) {}
  void run(bool isRolled);

private:
  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value fetchFirst(Value first, int64_t columns, bool isInside);
  void addPart(Value first, int64_t columns, bool isInside);
  void addInLoop(int64_t turns);

  ProductOp product;
  FetchOp a, b;
  int64_t width;
  bool keepsFirst;
  OpBuilder builder;
  Location loc;
  /// Of the parts so far.
  Value sum;
};
} // namespace

/// A part of the first operand, where it is multiplied or where all of it was
/// fetched.
Value SumSplitter::fetchFirst(Value first, int64_t columns, bool isInside) {
  if (!keepsFirst)
    return fetchPart(builder, a, first, columns, isInside);
  OpBuilder before(a);
  Value there = before.clone(*first.getDefiningOp())->getResult(0);
  return fetchPart(before, a, there, columns, isInside);
}

void SumSplitter::addPart(Value first, int64_t columns, bool isInside) {
  Value left = fetchFirst(first, columns, isInside),
        right = fetchPart(builder, b, first, columns, isInside);
  sum = ProductOp::create(builder, loc, product.getType(), product.getForm(),
                          left, right, sum);
}

/// A loop over so many pairs of parts: the two of a pair take turns at the
/// memory.
void SumSplitter::addInLoop(int64_t turns) {
  Type i32 = builder.getI32Type(), type = product.getType();
  if (!sum)
    sum = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto loop = ForOp::create(builder, loc, TypeRange{type}, constant(0),
                            ValueRange{constant(turns)}, ValueRange{sum},
                            builder.getI32IntegerAttr(1),
                            builder.getBoolAttr(false), builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(
      &loop.getBody(), {}, {i32, builder.getI1Type(), type}, {loc, loc, loc});
  Value first = arith::MulIOp::create(builder, loc, body->getArgument(0),
                                      constant(2 * width));
  Value second = arith::AddIOp::create(builder, loc, first, constant(width));
  sum = body->getArgument(2);
  addPart(first, width, /*isInside=*/true);
  addPart(second, width, /*isInside=*/true);
  fagpu::YieldOp::create(builder, loc, sum);
  sum = loop.getResult(0);
}

/// The columns that are known to lie before the bound of the box.
static int64_t countColumns(FetchOp fetch) {
  if (getConstantIntValue(fetch.getOffsets().back()) != 0)
    return 0;
  int64_t columns = fetch.getSizes().back();
  if (Value bound = fetch.getColumns())
    return std::min(getConstantIntValue(bound).value_or(0), columns);
  return columns;
}

void SumSplitter::run(bool isRolled) {
  sum = product.getAcc();
  int64_t columns = a.getSizes().back(), first = 0;
  int64_t turns = std::min(countColumns(a), countColumns(b)) / (2 * width);
  if (isRolled && turns > 1) {
    addInLoop(turns);
    first = turns * 2 * width;
  }
  for (; first < columns; first += width)
    addPart(constant(first), std::min(width, columns - first),
            /*isInside=*/false);
  product.replaceAllUsesWith(sum);
  product.erase();
  for (FetchOp fetch : {a, b})
    if (fetch->use_empty())
      fetch.erase();
}

void mlir::fagpu::splitSum(ProductOp product, int64_t width, bool isRolled,
                           bool keepsFirst) {
  SumSplitter(product, width, keepsFirst).run(isRolled);
}
