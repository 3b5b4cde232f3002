//===- Bounds.cpp - Proven bounds of dynamic sizes -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

bool mlir::fa::isProvenAtMost(Value shaped, int64_t position, int64_t bound) {
  auto type = cast<ShapedType>(shaped.getType());
  if (!type.isDynamicDim(position))
    return type.getDimSize(position) <= bound;
  FailureOr<int64_t> proven = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {shaped, position}, /*stopCondition=*/nullptr,
      /*closedUB=*/true);
  return succeeded(proven) && *proven <= bound;
}

bool mlir::fa::isProvenEqual(Value shaped, int64_t position, Value size) {
  FailureOr<bool> equal = ValueBoundsConstraintSet::areEqual(
      {shaped, position}, ValueBoundsConstraintSet::Variable(size));
  return succeeded(equal) && *equal;
}

void mlir::fa::registerBoundsDependencies(DialectRegistry &registry) {
  affine::registerValueBoundsOpInterfaceExternalModels(registry);
  arith::registerValueBoundsOpInterfaceExternalModels(registry);
  memref::registerValueBoundsOpInterfaceExternalModels(registry);
  scf::registerValueBoundsOpInterfaceExternalModels(registry);
  tensor::registerValueBoundsOpInterfaceExternalModels(registry);
}
