//===- Elementwise.cpp - Elementwise operations of StableHLO --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

/// Numbers by themselves stay so: sizes and counters are computed with them.
static LogicalResult importOnScalars(Operation *op, Importer &importer) {
  SmallVector<Value> scalars;
  for (Value operand : op->getOperands())
    scalars.push_back(importer.sizes.getElement(importer.builder, operand));
  RankedTensorType type = Importer::getType(op);
  FailureOr<Value> element =
      computeElement(importer.builder, op, scalars, type.getElementType());
  if (failed(element))
    return failure();
  Value result =
      tensor::FromElementsOp::create(importer.builder, type, *element);
  return importer.replace(op, result);
}

static LogicalResult importElementwise(Operation *op, Importer &importer) {
  RankedTensorType type = Importer::getType(op);
  if (failed(checkElementTypes(op)))
    return failure();
  MLIRContext *context = op->getContext();
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(type.getRank(), context);
  AffineMap scalar = AffineMap::get(type.getRank(), 0, context);
  SmallVector<AffineMap> maps;
  SizeList sizes;
  for (Value operand : op->getOperands()) {
    unsigned rank = Importer::getRank(operand);
    if (failed(verifyCompatibleShape(operand.getType(), type)) && rank != 0)
      return refuse(op) << "has an operand of type " << operand.getType()
                        << " beside a result of type " << type;
    // The condition of a select and the bounds of a clamp may be one number.
    maps.push_back(rank == 0 ? scalar : identity);
    if (rank == 0)
      continue;
    SizeList ofOperand = importer.sizes.get(importer.builder, operand);
    if (sizes.empty())
      sizes = ofOperand;
    for (auto [first, second] : llvm::zip_equal(sizes, ofOperand))
      importer.sizes.unite(first, second);
  }
  if (type.getRank() == 0)
    return importOnScalars(op, importer);
  if (sizes.empty())
    return refuse(op) << "has no operand of the shape of its result, " << type;
  bool isValid = true;
  Value result = importer.makeParallel(
      type, sizes, op->getOperands(), maps,
      [&](ImplicitLocOpBuilder &builder, ValueRange elements) {
        FailureOr<Value> element =
            computeElement(builder, op, elements, type.getElementType());
        isValid = succeeded(element);
        return isValid ? *element : Value();
      });
  return isValid ? importer.replace(op, result) : failure();
}

void stablehlo::addElementwise(ImportTable &table) {
  for (auto [name, numOperands] : getElementwiseOperations())
    table[name] = {importElementwise, numOperands};
}
