//===- RegionOnBlocks.cpp - Score and mask regions on block values --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionOnBlocks.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

/// `a pred b` as `b pred a`.
static arith::CmpIPredicate reverse(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::sge;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::sle;
  default:
    return predicate;
  }
}

RegionOnBlocks::Kind RegionOnBlocks::kindOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return Kind::Scalar;
  if (type.getRank() == 2)
    return Kind::Matrix;
  return isa<fagpu::RowLayoutAttr>(type.getEncoding()) ? Kind::Row
                                                       : Kind::Column;
}

RegionOnBlocks::Kind RegionOnBlocks::join(Kind a, Kind b) {
  if (a == b || b == Kind::Scalar)
    return a;
  return a == Kind::Scalar ? b : Kind::Matrix;
}

RankedTensorType RegionOnBlocks::typeOf(Kind kind, Type element) {
  MLIRContext *context = element.getContext();
  if (element.isIndex())
    element = IntegerType::get(context, 32);
  if (kind == Kind::Matrix)
    return RankedTensorType::get({place.rows, place.columns}, element);
  if (kind == Kind::Row)
    return RankedTensorType::get(
        {place.rows}, element, fagpu::RowLayoutAttr::get(context, place.warps));
  return RankedTensorType::get(
      {place.columns}, element,
      fagpu::ColumnLayoutAttr::get(context, place.warps));
}

/// `value` repeated along what `kind` has beyond it.
Value RegionOnBlocks::spread(Value value, Kind kind) {
  Kind from = kindOf(value);
  if (from == kind)
    return value;
  if (from == Kind::Scalar) {
    if (value.getType().isIndex())
      value =
          arith::IndexCastOp::create(outside, loc, outside.getI32Type(), value);
    OpBuilder &builder = builderOf(kind);
    return tensor::SplatOp::create(builder, loc, value,
                                   typeOf(kind, value.getType()));
  }
  Type element = getElementTypeOrSelf(value);
  return fagpu::BroadcastOp::create(inside, loc, typeOf(kind, element), value);
}

/// The absolute query of each row, or key of each column.
Value RegionOnBlocks::makeIndex(Kind kind) {
  OpBuilder &builder = builderOf(kind);
  Type i32 = builder.getI32Type();
  Value number = fagpu::IotaOp::create(builder, loc, typeOf(kind, i32), 0,
                                       fagpu::IndexPart::all);
  Value first = kind == Kind::Row ? place.query : place.key;
  first = arith::IndexCastOp::create(builder, loc, i32, first);
  Value all = tensor::SplatOp::create(builder, loc, first, typeOf(kind, i32));
  return arith::AddIOp::create(builder, loc, number, all);
}

Value RegionOnBlocks::isBelow(Value end) {
  // Relative to the block, so that the comparison is with the column's number.
  Type i32 = inside.getI32Type();
  Value rest = arith::SubIOp::create(inside, loc, end, place.key);
  rest = arith::IndexCastOp::create(inside, loc, i32, rest);
  Value column = fagpu::IotaOp::create(inside, loc, typeOf(Kind::Matrix, i32),
                                       1, fagpu::IndexPart::all);
  Value limit =
      tensor::SplatOp::create(inside, loc, rest, typeOf(Kind::Matrix, i32));
  return arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, column,
                               limit);
}

/// The scalar `s`, an index, where `bound` is the queries plus `s`; null
/// otherwise.
Value RegionOnBlocks::matchQueryOffset(Value bound) {
  if (bound == queryIndex)
    return arith::ConstantIndexOp::create(outside, loc, 0);
  Operation *op = bound.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return {};
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (isa<arith::AddIOp>(op) && left.getDefiningOp<tensor::SplatOp>())
    std::swap(left, right);
  auto splat = right.getDefiningOp<tensor::SplatOp>();
  Value offset = splat ? matchQueryOffset(left) : Value();
  if (!offset)
    return {};
  Value more = asIndex(splat.getInput());
  if (isa<arith::AddIOp>(op))
    return arith::AddIOp::create(outside, loc, offset, more);
  return arith::SubIOp::create(outside, loc, offset, more);
}

/// A scalar before it was made an i32.
Value RegionOnBlocks::asIndex(Value scalar) {
  if (auto cast = scalar.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getIn().getType().isIndex())
    return cast.getIn();
  return arith::IndexCastOp::create(outside, loc, outside.getIndexType(),
                                    scalar);
}

/// `bound` minus the first key of the block, in i32. The bound may be any
/// number, and is replaced by one near 0 or the greatest key that compares with
/// all keys as it does, so that no difference leaves 32 bits.
Value RegionOnBlocks::makeRelative(Value bound) {
  Type i32 = outside.getI32Type();
  // Lengths are at most that, as sums of indices are to fit 32 bits.
  constexpr int64_t greatestKey = int64_t(1) << 30;
  auto clamp = [&](Value value, Value least, Value greatest) -> Value {
    value = arith::MaxSIOp::create(outside, loc, value, least);
    return arith::MinSIOp::create(outside, loc, value, greatest);
  };
  auto index = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(outside, loc, number);
  };
  Kind kind = kindOf(bound);
  if (Value offset = matchQueryOffset(bound)) {
    // One scalar for all rows: what the rows add to it are immediates.
    Value end =
        arith::AddIOp::create(outside, loc, place.query, index(place.rows));
    offset =
        clamp(offset, arith::SubIOp::create(outside, loc, index(0), end),
              arith::SubIOp::create(outside, loc, index(greatestKey), end));
    Value distance = arith::SubIOp::create(inside, loc, place.query, place.key);
    offset = arith::AddIOp::create(inside, loc, distance, offset);
    offset = arith::IndexCastOp::create(inside, loc, i32, offset);
    auto type = cast<RankedTensorType>(bound.getType());
    Value row =
        fagpu::IotaOp::create(inside, loc, type, 0, fagpu::IndexPart::all);
    return arith::AddIOp::create(
        inside, loc, row, tensor::SplatOp::create(inside, loc, offset, type));
  }
  if (kind == Kind::Scalar) {
    bound = clamp(bound.getType().isIndex() ? bound : asIndex(bound), index(-1),
                  index(greatestKey));
    bound = arith::SubIOp::create(inside, loc, bound, place.key);
    return arith::IndexCastOp::create(inside, loc, i32, bound);
  }
  auto constant = [&](int64_t number) -> Value {
    return spread(arith::ConstantIntOp::create(outside, loc, i32, number),
                  kind);
  };
  Value firstKey = arith::IndexCastOp::create(inside, loc, i32, place.key);
  bound = clamp(bound, constant(-1), constant(greatestKey));
  return arith::SubIOp::create(
      inside, loc, bound,
      tensor::SplatOp::create(inside, loc, firstKey, bound.getType()));
}

/// Whether the keys compare so with `bound`, a scalar or a value of each row.
/// It is relative to the block, so that the comparison is with the column's
/// number, and one of `slt` and `sge` where it is of order.
Value RegionOnBlocks::compareKey(arith::CmpIPredicate predicate, Value bound) {
  Value relative = makeRelative(bound);
  if (predicate == arith::CmpIPredicate::sle ||
      predicate == arith::CmpIPredicate::sgt) {
    predicate = predicate == arith::CmpIPredicate::sle
                    ? arith::CmpIPredicate::slt
                    : arith::CmpIPredicate::sge;
    Type type = relative.getType();
    TypedAttr one = inside.getI32IntegerAttr(1);
    if (auto tensorType = dyn_cast<RankedTensorType>(type))
      one = DenseElementsAttr::get(tensorType, Attribute(one));
    relative = arith::AddIOp::create(
        inside, loc, relative, arith::ConstantOp::create(inside, loc, one));
  }
  Kind kind = join(kindOf(relative), Kind::Column);
  Value column =
      fagpu::IotaOp::create(inside, loc, typeOf(kind, inside.getI32Type()),
                            kind == Kind::Matrix, fagpu::IndexPart::all);
  return arith::CmpIOp::create(inside, loc, predicate, column,
                               spread(relative, kind));
}

/// A comparison of the keys with what does not depend on them; null for any
/// other operation.
Value RegionOnBlocks::matchKeyBound(Operation *op, ValueRange operands) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || compare.getPredicate() >= arith::CmpIPredicate::ult)
    return {};
  bool isLeft = operands[0] == keyIndex;
  if (!isLeft && operands[1] != keyIndex)
    return {};
  Value bound = operands[isLeft];
  Kind kind = kindOf(bound);
  if (kind == Kind::Column || kind == Kind::Matrix)
    return {};
  arith::CmpIPredicate predicate = compare.getPredicate();
  return compareKey(isLeft ? predicate : reverse(predicate), bound);
}

/// Whether an index of a load is below the size of its dimension, and `also`
/// holds, a scalar that may be null; null where that is known.
Value RegionOnBlocks::guard(Value mapped, Value memory, unsigned dim,
                            Value also) {
  int64_t size = cast<MemRefType>(memory.getType()).getDimSize(dim);
  if (std::optional<int64_t> constant = getConstantIntValue(mapped);
      constant && !ShapedType::isDynamic(size) && *constant >= 0 &&
      *constant < size)
    return also;
  Kind kind = kindOf(mapped);
  Value limit =
      memref::DimOp::create(outside, loc, memory, static_cast<int64_t>(dim));
  if (kind == Kind::Scalar) {
    Value inBounds = arith::CmpIOp::create(
        outside, loc, arith::CmpIPredicate::ult, mapped, limit);
    return also
               ? arith::AndIOp::create(outside, loc, also, inBounds).getResult()
               : inBounds;
  }
  // No index is below 0: one comparison for each element says both.
  if (also)
    limit = arith::SelectOp::create(
        outside, loc, also, limit,
        arith::ConstantIndexOp::create(outside, loc, 0));
  if (isWideBlock(mapped))
    return arith::CmpIOp::create(builderOf(kind), loc,
                                 arith::CmpIPredicate::ult, mapped,
                                 widen(limit, kind));
  if (mapped == keyIndex)
    return compareKey(arith::CmpIPredicate::slt, limit);
  // Queries are not negative.
  auto predicate = mapped == queryIndex ? arith::CmpIPredicate::slt
                                        : arith::CmpIPredicate::ult;
  return arith::CmpIOp::create(builderOf(kind), loc, predicate, mapped,
                               spread(limit, kind));
}

/// At indices that are equal for all pairs; `inBounds` may be null.
Value RegionOnBlocks::loadScalar(memref::LoadOp op, Value memory,
                                 ArrayRef<Value> indices, Value inBounds) {
  auto loadBy = [&](OpBuilder &builder) -> Value {
    return memref::LoadOp::create(builder, loc, memory, indices);
  };
  if (!inBounds)
    return loadBy(outside);
  Type type = op.getType();
  auto branch = scf::IfOp::create(outside, loc, TypeRange{type}, inBounds,
                                  /*withElseRegion=*/true);
  OpBuilder inside = branch.getThenBodyBuilder();
  scf::YieldOp::create(inside, loc, loadBy(inside));
  OpBuilder past = branch.getElseBodyBuilder();
  Value zero = arith::ConstantOp::create(past, loc, past.getZeroAttr(type));
  scf::YieldOp::create(past, loc, zero);
  return branch.getResult(0);
}

/// The box that the block reads, where it can be copied in bulk, or null: its
/// padding is what a load reads out of bounds.
Value RegionOnBlocks::loadTile(memref::LoadOp op, Value memory,
                               ArrayRef<Value> indices) {
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!place.hasTiles || !isScore || !argument ||
      !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return {};
  auto classify = [&](Value index) {
    if (index == queryIndex || index == keyIndex)
      return index == queryIndex ? CapturedIndex::query : CapturedIndex::key;
    return index == place.batch || index == place.head || isSmallConstant(index)
               ? CapturedIndex::sameForAll
               : CapturedIndex::other;
  };
  std::optional<unsigned> rowDim =
      findTileRows(memory.getType(), llvm::map_to_vector(indices, classify));
  if (!rowDim)
    return {};
  Type i32 = inside.getI32Type();
  SmallVector<Value> offsets;
  for (Value index : indices) {
    if (index == queryIndex || index == keyIndex)
      index = index == queryIndex ? place.query : place.key;
    offsets.push_back(arith::IndexCastOp::create(
        index == place.key ? inside : outside, loc, i32, index));
  }
  SmallVector<int64_t> sizes(indices.size(), 1);
  sizes[*rowDim] = place.rows;
  sizes.back() = place.columns;
  return fagpu::FetchOp::create(
      inside, loc, typeOf(Kind::Matrix, op.getType()), memory, offsets, sizes,
      /*rows=*/Value(), /*columns=*/Value(), /*alignment=*/16, /*padded=*/true);
}

/// A load reads 0 out of bounds, and touches no memory there.
Value RegionOnBlocks::load(memref::LoadOp op, const IRMapping &mapping) {
  Value memory = mapping.lookup(op.getMemRef());
  Kind kind = Kind::Scalar;
  SmallVector<Value> indices = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return mapping.lookup(index); });
  if (Value tile = loadTile(op, memory, indices))
    return tile;
  Value inBounds;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    kind = join(kind, kindOf(index));
    if (kindOf(index) == Kind::Scalar)
      inBounds = guard(index, memory, dim, inBounds);
  }
  if (kind == Kind::Scalar)
    return loadScalar(op, memory, indices, inBounds);
  OpBuilder &builder = builderOf(kind);
  Value mask;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (kindOf(index) == Kind::Scalar)
      continue;
    Value wide =
        spread(guard(index, memory, dim, mask ? Value() : inBounds), kind);
    mask = mask ? arith::AndIOp::create(builder, loc, mask, wide).getResult()
                : wide;
  }
  for (Value &index : indices)
    if (isWideBlock(index))
      // In bounds it fits.
      index = arith::TruncIOp::create(builder, loc,
                                      typeOf(kind, builder.getI32Type()),
                                      spread(index, kind));
    else if (kindOf(index) != Kind::Scalar)
      index = spread(index, kind);
    else
      index =
          arith::IndexCastOp::create(outside, loc, outside.getI32Type(), index);
  return fagpu::GatherOp::create(builder, loc,
                                 typeOf(kind, op.getResult().getType()), memory,
                                 indices, mask, /*pairs=*/false,
                                 /*in_order=*/false)
      .getResult();
}

Value RegionOnBlocks::create(Operation *like, ValueRange operands, Kind kind,
                             Type element) {
  OperationState state(loc, like->getName(), operands, {typeOf(kind, element)},
                       like->getAttrs());
  return builderOf(kind).create(state)->getResult(0);
}

/// A matrix times a scalar, as one product with the scalar that it has been
/// multiplied by before where both leave the order of products free; null where
/// not.
Value RegionOnBlocks::multiplyByScalar(Value value, Value scalar,
                                       arith::FastMathFlags flags) {
  auto before = value.getDefiningOp<arith::MulFOp>();
  auto splat = before ? before.getRhs().getDefiningOp<tensor::SplatOp>()
                      : tensor::SplatOp();
  if (!splat || kindOf(scalar) != Kind::Scalar ||
      !arith::bitEnumContainsAll(flags & before.getFastmath(),
                                 arith::FastMathFlags::reassoc))
    return {};
  Value factor =
      arith::MulFOp::create(outside, loc, splat.getInput(), scalar, flags);
  return arith::MulFOp::create(inside, loc, before.getLhs(),
                               spread(factor, kindOf(value)), flags);
}

/// A quotient that may be taken by a reciprocal, of which there are fewer than
/// quotients; null for others.
Value RegionOnBlocks::multiplyByReciprocal(Operation *op, ValueRange operands,
                                           Kind kind) {
  auto division = dyn_cast<arith::DivFOp>(op);
  if (!division || kindOf(operands[1]) == kind ||
      !arith::bitEnumContainsAll(division.getFastmath(),
                                 arith::FastMathFlags::arcp))
    return {};
  Kind ofDivisor = kindOf(operands[1]);
  OpBuilder &builder = builderOf(ofDivisor);
  Type type = operands[1].getType(), element = getElementTypeOrSelf(type);
  TypedAttr one = builder.getFloatAttr(element, 1.0);
  if (auto shaped = dyn_cast<ShapedType>(type))
    one = DenseElementsAttr::get(shaped, cast<Attribute>(one));
  Value reciprocal = arith::DivFOp::create(
      builder, loc, arith::ConstantOp::create(builder, loc, one), operands[1]);
  if (Value product =
          multiplyByScalar(operands[0], reciprocal, division.getFastmath()))
    return product;
  return arith::MulFOp::create(builderOf(kind), loc, spread(operands[0], kind),
                               spread(reciprocal, kind));
}

/// An index that vectors of short numbers are compared with, or that vectors of
/// 32 bits are divided by, is held to 32 bits, beyond which none of them is.
void RegionOnBlocks::saturate(Value &scalar) {
  constexpr int64_t least = std::numeric_limits<int32_t>::min(),
                    most = std::numeric_limits<int32_t>::max();
  if (!scalar.getType().isIndex())
    return;
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(outside, loc, number);
  };
  if (std::optional<int64_t> number = getConstantIntValue(scalar)) {
    if (*number < least || *number > most)
      scalar = constant(std::clamp(*number, least, most));
    return;
  }
  scalar = arith::MaxSIOp::create(outside, loc, scalar, constant(least));
  scalar = arith::MinSIOp::create(outside, loc, scalar, constant(most));
}

FailureOr<Value> RegionOnBlocks::convert(Operation *op,
                                         const IRMapping &mapping) {
  SmallVector<Value> operands;
  Kind kind = Kind::Scalar;
  for (Value operand : op->getOperands()) {
    operands.push_back(mapping.lookup(operand));
    kind = join(kind, kindOf(operands.back()));
  }
  if (kind == Kind::Scalar) {
    IRMapping scalars(mapping);
    return outside.clone(*op, scalars)->getResult(0);
  }
  bool isOfWide = isWide(op, operands);
  if (!isOfWide)
    if (Value visible = matchKeyBound(op, operands))
      return visible;
  if (Value product = multiplyByReciprocal(op, operands, kind))
    return product;
  if (isa<arith::CmpIOp>(op) && !isOfWide)
    llvm::for_each(operands, [&](Value &operand) { saturate(operand); });
  // Nothing of 32 bits is larger than what a divisor is held to.
  if (isDivision(op) && !isOfWide)
    saturate(operands.back());
  for (auto [operand, original] : llvm::zip_equal(operands, op->getOperands()))
    operand = isOfWide && original.getType().isIndex() ? widen(operand, kind)
                                                       : spread(operand, kind);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return castIndex(op, operands.front(), kind);
  if (op->getNumResults() != 1 || op->getNumRegions() ||
      !OpTrait::hasElementwiseMappableTraits(op)) {
    op->emitOpError() << "has no form on block values, expected an elementwise "
                         "operation of arith or math";
    return failure();
  }
  Type element = op->getResult(0).getType();
  if (isOfWide && element.isIndex())
    element = outside.getI64Type();
  return create(op, operands, kind, element);
}

FailureOr<Value> RegionOnBlocks::apply(Region &region, Value score,
                                       ValueRange captures) {
  if (!queryIndex) {
    queryIndex = makeIndex(Kind::Row);
    keyIndex = makeIndex(Kind::Column);
  }
  Block &body = region.front();
  isScore = static_cast<bool>(score);
  SmallVector<Value> arguments;
  if (score)
    arguments.push_back(score);
  arguments.append({place.batch, place.head, queryIndex, keyIndex});
  llvm::append_range(arguments, captures);
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  unsigned first = score ? 1 : 0;
  bits.setQuery(body.getArgument(first + 2));
  keyArgument = body.getArgument(first + 3);
  bits.setKey(keyArgument);
  for (Operation &op : body.without_terminator()) {
    FailureOr<Value> result = failure();
    if (isa<QueryLengthOp>(op))
      result = place.queries;
    else if (isa<KeyLengthOp>(op))
      result = place.keys;
    else if (auto loadOp = dyn_cast<memref::LoadOp>(op))
      result = load(loadOp, mapping);
    else
      result = convert(&op, mapping);
    if (failed(result))
      return failure();
    mapping.map(op.getResult(0), *result);
  }
  return spread(mapping.lookup(body.getTerminator()->getOperand(0)),
                Kind::Matrix);
}
