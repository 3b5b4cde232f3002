//===- SequenceErrorsOp.cpp - Checks of fa.sequence_errors ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionVerifiers.h"
#include "fa/Dialect/FA/IR/FASequence.h"

using namespace mlir;
using namespace mlir::fa;

#define GET_OP_CLASSES
#include "fa/Dialect/FA/IR/FASequenceOps.cpp.inc"

LogicalResult SequenceErrorsOp::verify() {
  if (failed(verifyAttributeNames(*this, getAttributeNames())))
    return failure();
  bool onTensors = isa<RankedTensorType>(getQuery().getType());
  for (Value operand : getOperands())
    if (isa<RankedTensorType>(operand.getType()) != onTensors)
      return emitOpError() << "operand has type " << operand.getType()
                           << " but query has type " << getQuery().getType()
                           << ", expected all tensors or all memrefs";
  if (!getQueryLengths() && !getKeyLengths() && !getQueryStarts() &&
      !getKeyStarts())
    return emitOpError("has no lengths and no starts, expected some to look "
                       "at");
  return verifySequences(*this);
}

void SequenceErrorsOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addDestinationStyleEffects(*this, effects);
}

LogicalResult
SequenceErrorsOp::reifyResultShapes(OpBuilder &builder,
                                    ReifiedRankedShapedTypeDims &shapes) {
  return reifyDestinationShapes(*this, builder, shapes);
}
