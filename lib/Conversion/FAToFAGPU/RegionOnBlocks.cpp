//===- RegionOnBlocks.cpp - Score and mask regions on block values --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a score or mask region for all pairs of a block at once. Each
// value is kept as small as it is: scalar, row, column or matrix (`Kind`),
// and is broadcast at its first use by a larger one. Read `apply`, then
// `convert`.
//
//===----------------------------------------------------------------------===//

#include "RegionOnBlocks.h"
#include "fa/Support/IntegerDivision.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

PairBlock mlir::fa::getPairBlock(ValueRange offsets, ValueRange extents,
                                 fagpu::RoleOp role) {
  PairBlock place;
  place.batch = offsets[0];
  place.head = offsets[1];
  place.query = offsets[2];
  place.key = offsets[3];
  place.queries = extents[0];
  place.keys = extents[1];
  place.warps = static_cast<unsigned>(role.getWarps());
  return place;
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

/// The absolute query or key of each row or column.
Value RegionOnBlocks::makeIndex(Kind kind) {
  OpBuilder &builder = builderOf(kind);
  Type i32 = builder.getI32Type();
  Value number = fagpu::IotaOp::create(builder, loc, typeOf(kind, i32), 0,
                                       fagpu::IndexPart::all);
  Value first = kind == Kind::Row ? place.firstRow() : place.firstColumn();
  first = arith::IndexCastOp::create(builder, loc, i32, first);
  Value all = tensor::SplatOp::create(builder, loc, first, typeOf(kind, i32));
  return arith::AddIOp::create(builder, loc, number, all);
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

/// What is known of a captured index.
void RegionOnBlocks::setRange(Value argument, Value capture) {
  if (!argument.getType().isIndex())
    return;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (std::optional<int64_t> number = getConstantIntValue(capture))
    ranges.set(argument, IntegerRange::getOne(*number));
  else if (widths.isShort(capture))
    ranges.set(argument, {-IndexWidths::shortLimit, IndexWidths::shortLimit});
  else if (widths.fits(capture))
    ranges.set(argument, {-most - 1, most});
}

/// A number for all pairs. Indices are taken for 32 bits where nothing says
/// otherwise, and for more where they come from integers of 64.
Value RegionOnBlocks::computeScalar(Operation *op, ValueRange operands) {
  if (ranges.needsLong(op) && !op->hasTrait<OpTrait::ConstantLike>() &&
      !isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return createLong(outside, loc, op, operands);
  IRMapping scalars;
  scalars.map(op->getOperands(), operands);
  Operation *copy = outside.clone(*op, scalars);
  // Products are short where they are marked so.
  constexpr int64_t limit = IndexWidths::shortLimit;
  if (auto product = dyn_cast<arith::MulIOp>(copy);
      product && product.getType().isIndex() &&
      ranges.isWithin(op->getResult(0), -limit, limit))
    product.setOverflowFlags(arith::IntegerOverflowFlags::nsw);
  return copy->getResult(0);
}

FailureOr<Value> RegionOnBlocks::convert(Operation *op,
                                         const IRMapping &mapping) {
  if (op->getNumResults() != 1) {
    op->emitOpError() << "has " << op->getNumResults()
                      << " results, which block values have not; expected one "
                         "(fa-separate-results)";
    return failure();
  }
  SmallVector<Value> operands;
  Kind kind = Kind::Scalar;
  for (Value operand : op->getOperands()) {
    operands.push_back(mapping.lookup(operand));
    kind = join(kind, kindOf(operands.back()));
  }
  if (kind == Kind::Scalar)
    return computeScalar(op, operands);
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
  if (!OpTrait::hasElementwiseMappableTraits(op)) {
    op->emitOpError() << "has no form on block values, expected an elementwise "
                         "operation of arith or math";
    return failure();
  }
  Type element = op->getResult(0).getType();
  bool isInteger = !element.isIndex();
  if (isOfWide && !isInteger)
    element = outside.getI64Type();
  Value result = create(op, operands, kind, element);
  if (isInteger)
    integers.insert(result);
  return result;
}

FailureOr<Value>
RegionOnBlocks::apply(Region &region, ValueRange inputs, ValueRange captures,
                      Value *second,
                      SmallVectorImpl<ScatteredBlock> *scattered) {
  for (Type type : captures.getTypes())
    if (isa<TensorType>(type)) {
      region.getParentOp()->emitOpError()
          << "captures " << type
          << ", expected memory (fa-results-to-out-parameters)";
      return failure();
    }
  if (!queryIndex) {
    queryIndex = makeIndex(place.rowsAreKeys ? Kind::Column : Kind::Row);
    keyIndex = makeIndex(place.rowsAreKeys ? Kind::Row : Kind::Column);
  }
  Block &body = region.front();
  isScore = !inputs.empty();
  SmallVector<Value> arguments(inputs);
  arguments.append({place.batch, place.head, queryIndex, keyIndex});
  llvm::append_range(arguments, captures);
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  unsigned first = inputs.size();
  ranges.setIndices(body.getArguments().slice(first, 4));
  keyArgument = body.getArgument(first + 3);
  for (auto [argument, capture] :
       llvm::zip_equal(body.getArguments().drop_front(first + 4), captures))
    setRange(argument, capture);
  for (Operation &op : body.without_terminator()) {
    if (auto scatter = dyn_cast<ScatterGradientOp>(op)) {
      if (scattered)
        scattered->push_back(
            {scatter, spread(mapping.lookup(scatter.getValue()), Kind::Matrix),
             llvm::map_to_vector(scatter.getIndices(), [&](Value index) {
               return mapping.lookup(index);
             })});
      continue;
    }
    FailureOr<Value> result = failure();
    if (isa<QueryLengthOp>(op))
      result = place.queries;
    else if (isa<KeyLengthOp>(op))
      result = place.keys;
    else if (auto stop = dyn_cast<StopGradientOp>(op))
      result = mapping.lookup(stop.getValue());
    else if (auto dropout = dyn_cast<DropoutOp>(op))
      result = draw(dropout, mapping);
    else if (auto loadOp = dyn_cast<memref::LoadOp>(op))
      result = load(loadOp, mapping);
    else
      result = convert(&op, mapping);
    if (failed(result))
      return failure();
    mapping.map(op.getResult(0), *result);
  }
  Operation *yield = body.getTerminator();
  if (second && yield->getNumOperands() == 2)
    *second = spread(mapping.lookup(yield->getOperand(1)), Kind::Matrix);
  return spread(mapping.lookup(yield->getOperand(0)), Kind::Matrix);
}
