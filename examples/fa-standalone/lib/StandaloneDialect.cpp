//===- StandaloneDialect.cpp - The dialect and its operation --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Standalone/Standalone.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace standalone;

#include "Standalone/StandaloneDialect.cpp.inc"

#define GET_OP_CLASSES
#include "Standalone/StandaloneOps.cpp.inc"

void StandaloneDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Standalone/StandaloneOps.cpp.inc"
      >();
}

LogicalResult CappedAttentionOp::verify() {
  if (!getCap().isFiniteNonZero() || getCap().isNegative())
    return emitOpError() << "cap is " << getCapAttr()
                         << ", expected a positive number";
  return success();
}

LogicalResult SelfAttentionOp::verify() {
  RankedTensorType packed = getPacked().getType();
  RankedTensorType output = getOutput().getType();
  int64_t width = packed.getDimSize(2);
  int64_t multiple = 3 * static_cast<int64_t>(getHeads());
  if (ShapedType::isDynamic(width) || width == 0 || width % multiple != 0)
    return emitOpError() << "packed has type " << packed
                         << ", expected a static last size that is a positive "
                            "multiple of 3 * heads = "
                         << multiple;
  auto expected = RankedTensorType::get(
      {packed.getDimSize(0), packed.getDimSize(1), width / 3},
      packed.getElementType());
  if (output != expected)
    return emitOpError() << "output has type " << output << ", expected "
                         << expected;
  return success();
}
