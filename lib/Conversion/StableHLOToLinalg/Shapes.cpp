//===- Shapes.cpp - Broadcasts, transposes and index tensors of StableHLO -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each operation, and a table of them at the end. Sizes of a
// result come from its type or from an operand that holds them (`getSizes`).
// `importBroadcast` is the longest one: what is repeated may be known at run
// time only (`isRepeated`). The others are read alone.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

/// The sizes of a result: of its type, and of an operand that holds them where
/// they are dynamic.
static FailureOr<SizeList> getSizes(Operation *op, Importer &importer,
                                    unsigned operand) {
  RankedTensorType type = Importer::getType(op);
  bool hasShape = op->getNumOperands() > operand;
  if (!hasShape && !type.hasStaticShape())
    return refuse(op) << "has a result of type " << type
                      << ", expected a static shape";
  if (hasShape && failed(checkShape(op, operand)))
    return failure();
  Value shape = hasShape ? op->getOperand(operand) : Value();
  SizeList sizes;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    sizes.push_back(ShapedType::isDynamic(size)
                        ? importer.sizes.getIndex(importer.builder, shape, i)
                        : OpFoldResult(importer.builder.getIndexAttr(size)));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

/// Whether a dimension of the operand is repeated, or nothing if that is known
/// at run time only.
static std::optional<bool> isRepeated(Operation *op, Importer &importer,
                                      int64_t dim, OpFoldResult from,
                                      OpFoldResult to) {
  if (std::optional<int64_t> size = getConstantIntValue(from))
    return *size == 1;
  auto isListed = [&](StringRef name) {
    auto list = op->getAttrOfType<DenseI64ArrayAttr>(name);
    return list && llvm::is_contained(list.asArrayRef(), dim);
  };
  if (isListed("known_expanding_dimensions"))
    return true;
  if (isListed("known_nonexpanding_dimensions") ||
      importer.sizes.areSame(from, to))
    return false;
  return std::nullopt;
}

static LogicalResult importBroadcast(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  RankedTensorType type = Importer::getType(op);
  Value operand = op->getOperand(0);
  FailureOr<SmallVector<int64_t>> dims =
      readIntegers(op, "broadcast_dimensions");
  if (failed(dims))
    return failure();
  if (dims->size() != Importer::getRank(operand) ||
      llvm::any_of(
          *dims, [&](int64_t dim) { return dim < 0 || dim >= type.getRank(); }))
    return refuse(op) << "has 'broadcast_dimensions' that do not place each "
                         "dimension of "
                      << operand.getType() << " in " << type;
  FailureOr<SizeList> maybeSizes = getSizes(op, importer, /*operand=*/1);
  if (failed(maybeSizes))
    return failure();
  SizeList &sizes = *maybeSizes;
  if (dims->empty()) {
    Value scalar = importer.sizes.getElement(builder, operand);
    return importer.replace(op, importer.makeFilled(type, sizes, scalar));
  }
  SmallVector<AffineExpr> places;
  SizeList ofOperand = importer.sizes.get(builder, operand);
  for (auto [i, dim] : llvm::enumerate(*dims)) {
    std::optional<bool> repeated =
        isRepeated(op, importer, i, ofOperand[i], sizes[dim]);
    if (!repeated)
      return refuse(op) << "may or may not repeat dimension " << i
                        << " of its operand, by its size at run time; list it "
                           "in 'known_nonexpanding_dimensions' or "
                           "'known_expanding_dimensions'";
    bool isOne = getConstantIntValue(sizes[dim]) == 1;
    places.push_back(*repeated && !isOne ? builder.getAffineConstantExpr(0)
                                         : builder.getAffineDimExpr(dim));
  }
  auto map = AffineMap::get(type.getRank(), 0, places, op->getContext());
  if (map.isIdentity() && operand.getType() == type)
    return importer.replace(op, operand);
  Value result = importer.makeParallel(
      type, sizes, operand, map,
      [](ImplicitLocOpBuilder &, ValueRange elements) { return elements[0]; });
  return importer.replace(op, result);
}

//===----------------------------------------------------------------------===//
// Transposes, constants, indices and sizes
//===----------------------------------------------------------------------===//

static LogicalResult importTranspose(Operation *op, Importer &importer) {
  RankedTensorType type = Importer::getType(op);
  FailureOr<SmallVector<int64_t>> order = readIntegers(op, "permutation");
  if (failed(order))
    return failure();
  SizeList source = importer.sizes.get(importer.builder, op->getOperand(0));
  if (order->size() != source.size() || !isPermutationVector(*order) ||
      type.getRank() != static_cast<int64_t>(source.size()))
    return refuse(op) << "has a 'permutation' that is none of the "
                      << source.size() << " dimensions of its operand";
  SizeList sizes = applyPermutation(source, *order);
  Value init = importer.makeEmpty(type, sizes);
  Value result = linalg::TransposeOp::create(importer.builder,
                                             op->getOperand(0), init, *order)
                     ->getResult(0);
  importer.sizes.record(result, importer.fit(type, sizes));
  return importer.replace(op, result);
}

static LogicalResult importConstant(Operation *op, Importer &importer) {
  auto value = op->getAttrOfType<ElementsAttr>("value");
  if (!value || value.getType() != op->getResult(0).getType())
    return refuse(op) << "has no 'value' of its type, "
                      << op->getResult(0).getType();
  Value result = arith::ConstantOp::create(importer.builder, value);
  return importer.replace(op, result);
}

static LogicalResult importIota(Operation *op, Importer &importer) {
  RankedTensorType type = Importer::getType(op);
  FailureOr<int64_t> dim = readInteger(op, "iota_dimension");
  if (failed(dim))
    return failure();
  if (*dim < 0 || *dim >= type.getRank())
    return refuse(op) << "has 'iota_dimension' = " << *dim
                      << ", expected a dimension of " << type;
  FailureOr<SizeList> sizes = getSizes(op, importer, /*operand=*/0);
  if (failed(sizes))
    return failure();
  Value result = importer.makeParallel(
      type, *sizes, {}, {},
      [&](ImplicitLocOpBuilder &builder, ValueRange) -> Value {
        Value index = linalg::IndexOp::create(builder, *dim);
        Type element = type.getElementType();
        if (isa<IntegerType>(element))
          return arith::IndexCastOp::create(builder, element, index);
        Value integer =
            arith::IndexCastOp::create(builder, builder.getI64Type(), index);
        return convertElement(builder, integer, element);
      });
  return importer.replace(op, result);
}

static LogicalResult importDimensionSize(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  FailureOr<int64_t> dim = readInteger(op, "dimension");
  if (failed(dim))
    return failure();
  Value operand = op->getOperand(0);
  if (*dim < 0 || *dim >= Importer::getRank(operand))
    return refuse(op) << "has 'dimension' = " << *dim
                      << ", expected a dimension of " << operand.getType();
  Value size = getValueOrCreateConstantIndexOp(
      builder, builder.getLoc(), importer.sizes.get(builder, operand)[*dim]);
  RankedTensorType type = Importer::getType(op);
  if (type.getRank() != 0 || !isa<IntegerType>(type.getElementType()))
    return refuse(op) << "has a result of type " << type
                      << ", expected an integer";
  Value integer =
      builder.createOrFold<arith::IndexCastOp>(type.getElementType(), size);
  Value result = tensor::FromElementsOp::create(builder, type, integer);
  return importer.replace(op, result);
}

static LogicalResult importBarrier(Operation *op, Importer &importer) {
  if (op->getNumOperands() != op->getNumResults())
    return refuse(op) << "has " << op->getNumOperands() << " operands and "
                      << op->getNumResults() << " results";
  return importer.replace(op, op->getOperands());
}

void stablehlo::addShapes(ImportTable &table) {
  table["stablehlo.broadcast_in_dim"] = {importBroadcast, 1};
  table["stablehlo.dynamic_broadcast_in_dim"] = {importBroadcast, 2};
  table["stablehlo.transpose"] = {importTranspose, 1};
  table["stablehlo.constant"] = {importConstant, 0};
  table["stablehlo.iota"] = {importIota, 0};
  table["stablehlo.dynamic_iota"] = {importIota, 1};
  table["stablehlo.get_dimension_size"] = {importDimensionSize, 1};
  table["stablehlo.optimization_barrier"] = {importBarrier, -1, -1};
}
