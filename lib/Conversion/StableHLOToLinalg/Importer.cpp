//===- Importer.cpp - What operations of StableHLO become -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `importOperation` looks an operation up in the table of importers, and
// `importRegion` goes over a region. The second section has what importers
// share: types, sizes, empty and filled tensors, and generics over all elements
// (`makeParallel`).
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

const ImportTable &stablehlo::getImportTable() {
  static const ImportTable table = [] {
    ImportTable table;
    addContractions(table);
    addElementwise(table);
    addLoops(table);
    addReshapes(table);
    addShapes(table);
    addSlices(table);
    return table;
  }();
  return table;
}

Importer::Importer(MLIRContext *context)
    : builder(UnknownLoc::get(context), context) {}

LogicalResult Importer::importOperation(Operation *op) {
  auto entry = getImportTable().find(op->getName().getStringRef());
  if (entry == getImportTable().end()) {
    for (Region &region : op->getRegions())
      if (failed(importRegion(region)))
        return failure();
    return success();
  }
  OpBuilder::InsertionGuard guard(builder);
  Location before = builder.getLoc();
  builder.setInsertionPoint(op);
  builder.setLoc(op->getLoc());
  LogicalResult result = entry->second.import(op, *this);
  builder.setLoc(before);
  return result;
}

LogicalResult Importer::importRegion(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(importOperation(&op)))
        return failure();
  return success();
}

LogicalResult Importer::replace(Operation *op, ValueRange values) {
  for (auto [old, value] : llvm::zip_equal(op->getResults(), values))
    if (old.getType() != value.getType())
      return refuse(op) << "has a result of type " << old.getType()
                        << ", but its operands give " << value.getType();
  op->replaceAllUsesWith(values);
  op->erase();
  return success();
}

LogicalResult stablehlo::checkNumber(Operation *op, unsigned operand) {
  Type type = op->getOperand(operand).getType();
  if (cast<RankedTensorType>(type).getRank() == 0)
    return success();
  return refuse(op) << "has operand " << operand << " of type " << type
                    << ", expected a tensor of rank 0";
}

LogicalResult stablehlo::checkShape(Operation *op, unsigned operand) {
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  int64_t rank = Importer::getType(op).getRank();
  if (type.getRank() == 1 && isa<IntegerType>(type.getElementType()) &&
      type.getDimSize(0) == rank)
    return success();
  return refuse(op) << "has operand " << operand << " of type " << type
                    << ", expected " << rank
                    << " integers, the sizes of its result";
}

//===----------------------------------------------------------------------===//
// What several operations are made of
//===----------------------------------------------------------------------===//

RankedTensorType Importer::getType(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType());
}

SizeList Importer::fit(RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
  SizeList fitting;
  for (auto [wanted, size] : llvm::zip_equal(type.getShape(), sizes))
    if (!ShapedType::isDynamic(wanted))
      fitting.push_back(builder.getIndexAttr(wanted));
    else
      fitting.push_back(
          getValueOrCreateConstantIndexOp(builder, builder.getLoc(), size));
  return fitting;
}

Value Importer::makeEmpty(RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> dynamic;
  SizeList fitting = fit(type, sizes);
  for (OpFoldResult size : fitting)
    if (auto value = dyn_cast<Value>(size))
      dynamic.push_back(value);
  Value empty = tensor::EmptyOp::create(builder, type, dynamic);
  this->sizes.record(empty, fitting);
  return empty;
}

Value Importer::makeFilled(RankedTensorType type, ArrayRef<OpFoldResult> sizes,
                           Value scalar) {
  Value empty = makeEmpty(type, sizes);
  Value filled = linalg::FillOp::create(builder, scalar, empty).getResult(0);
  this->sizes.record(filled, this->sizes.get(builder, empty));
  return filled;
}

Value Importer::makeParallel(RankedTensorType type,
                             ArrayRef<OpFoldResult> sizes, ValueRange inputs,
                             ArrayRef<AffineMap> maps, BodyFn body) {
  Value init = makeEmpty(type, sizes);
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(
      AffineMap::getMultiDimIdentityMap(type.getRank(), type.getContext()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, type, inputs, init, allMaps, loops,
      [&](OpBuilder &inner, Location loc, ValueRange elements) {
        ImplicitLocOpBuilder bodyBuilder(loc, inner);
        Value element = body(bodyBuilder, elements.drop_back());
        linalg::YieldOp::create(bodyBuilder,
                                element ? ValueRange(element) : ValueRange());
      });
  Value result = generic.getResult(0);
  this->sizes.record(result, this->sizes.get(builder, init));
  return result;
}

Value Importer::castElements(Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == element)
    return tensor;
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(type.getRank(), type.getContext());
  return makeParallel(type.clone(element), sizes.get(builder, tensor), tensor,
                      identity,
                      [&](ImplicitLocOpBuilder &body, ValueRange elements) {
                        return convertElement(body, elements[0], element);
                      });
}
