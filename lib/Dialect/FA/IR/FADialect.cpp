//===- FADialect.cpp - The fa dialect ------------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FASequence.h"
#include "fa/Dialect/FA/IR/OrderedSums.h"
#include "fa/Dialect/FA/IR/SameHeads.h"
#include "fa/Dialect/FA/IR/SoleReader.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

#include "fa/Dialect/FA/IR/FADialect.cpp.inc"
#include "fa/Dialect/FA/IR/FAOpInterfaces.cpp.inc"

void FADialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "fa/Dialect/FA/IR/FAOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fa/Dialect/FA/IR/FASequenceOps.cpp.inc"
      >();
}

Operation *FADialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// The function named must be beside `op`, with arguments of the same types.
static LogicalResult verifyImplements(Operation *op, Attribute value) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError()
           << "'" << FADialect::implementsAttrName << "' is for functions only";
  auto name = dyn_cast<FlatSymbolRefAttr>(value);
  FunctionOpInterface reference;
  if (name)
    reference =
        SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(op, name);
  if (!reference)
    return op->emitOpError() << "'" << FADialect::implementsAttrName << "' is "
                             << value << ", expected the name of a function";
  if (reference.getArgumentTypes() != function.getArgumentTypes() ||
      reference.getResultTypes() != function.getResultTypes())
    return op->emitOpError()
           << "has the type " << function.getFunctionType() << ", but " << name
           << ", which it implements, has the type "
           << reference.getFunctionType();
  return success();
}

static LogicalResult verifyConfig(Operation *op, Attribute value) {
  if (isa<FunctionOpInterface, linalg::ContractOp>(op) &&
      isa<ConfigAttr>(value))
    return success();
  return op->emitOpError() << "'" << FADialect::configAttrName << "' is "
                           << value
                           << ", expected a #fa.config on a function or a "
                              "product";
}

static LogicalResult verifyOrderedSums(Operation *op, Attribute value) {
  if (isa<GradientLikeOpInterface>(op) && isa<UnitAttr>(value))
    return success();
  return op->emitOpError() << "'" << orderedSumsAttrName << "' is " << value
                           << ", expected it without a value on a step of "
                              "gradients";
}

static LogicalResult verifySoleReader(Operation *op, Attribute value) {
  if (isa<FinalizeOp>(op) && isa<UnitAttr>(value))
    return success();
  return op->emitOpError() << "'" << soleReaderAttrName << "' is " << value
                           << ", expected it without a value on an "
                              "fa.finalize";
}

static LogicalResult verifySameHeads(Operation *op, Attribute value) {
  auto gradient = dyn_cast<AttentionGradientOp>(op);
  if (!gradient || !isa<UnitAttr>(value))
    return op->emitOpError() << "'" << sameHeadsAttrName << "' is " << value
                             << ", expected it without a value on an "
                                "fa.attention_gradient";
  auto getHeads = [](Value operand, DimsAttr order) {
    return cast<ShapedType>(operand.getType())
        .getDimSize(order.positionOf(DimKind::Heads));
  };
  int64_t heads = getHeads(gradient.getQuery(), gradient.getQueryOrder()),
          keyHeads = getHeads(gradient.getKey(), gradient.getKeyOrder());
  if (heads == keyHeads || ShapedType::isDynamic(heads) ||
      ShapedType::isDynamic(keyHeads))
    return success();
  return op->emitOpError() << "has " << heads << " query heads and '"
                           << sameHeadsAttrName << "', expected as many as the "
                           << keyHeads << " key heads";
}

LogicalResult FADialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  if (attribute.getName() == implementsAttrName)
    return verifyImplements(op, attribute.getValue());
  if (attribute.getName() == configAttrName)
    return verifyConfig(op, attribute.getValue());
  if (attribute.getName() == orderedSumsAttrName)
    return verifyOrderedSums(op, attribute.getValue());
  if (attribute.getName() == soleReaderAttrName)
    return verifySoleReader(op, attribute.getValue());
  if (attribute.getName() == sameHeadsAttrName)
    return verifySameHeads(op, attribute.getValue());
  return success();
}
