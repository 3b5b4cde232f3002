//===- BufferizationSemantics.cpp - Tensors and memory in the executor ----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor keeps its value whatever happens to memory, so every way between the
// two copies.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/ArrayOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// The result is a copy of the operand.
static LogicalResult compileArrayCopy(Operation *op, ProgramBuilder &builder) {
  if (!isa<RankedTensorType, MemRefType>(op->getOperand(0).getType()))
    return refuse(op, "of unranked types");
  unsigned source = builder.getRegister(op->getOperand(0));
  unsigned result = builder.getRegister(op->getResult(0));
  builder.emit([=](Frame &frame) -> LogicalResult {
    const Array &array = frame.array(source);
    if (failed(checkLive(op, array)))
      return failure();
    frame[result] = copyArray(array);
    return success();
  });
  return success();
}

template <typename OpT>
static LogicalResult compileCopy(OpT op, ProgramBuilder &builder) {
  return compileArrayCopy(op, builder);
}

static LogicalResult compileAllocTensor(bufferization::AllocTensorOp op,
                                        ProgramBuilder &builder) {
  if (op.getCopy())
    return compileArrayCopy(op, builder);
  return compileAllocation(op, cast<ShapedType>(op.getType()),
                           op.getDynamicSizes(), builder);
}

static LogicalResult
compileMaterialize(bufferization::MaterializeInDestinationOp op,
                   ProgramBuilder &builder) {
  if (op->getNumResults() > 0)
    return compileArrayCopy(op, builder);
  return compileCopyInto(op, op.getSource(), op.getDest(), builder);
}

void executor::addBufferizationSemantics(Semantics &semantics) {
  using namespace bufferization;
  semantics.add<ToTensorOp>(compileCopy<ToTensorOp>);
  semantics.add<ToBufferOp>(compileCopy<ToBufferOp>);
  semantics.add<CloneOp>(compileCopy<CloneOp>);
  semantics.add<AllocTensorOp>(compileAllocTensor);
  semantics.add<MaterializeInDestinationOp>(compileMaterialize);
}
