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
  auto type = cast<RankedTensorType>(op.getType());
  if (!isSlotType(type.getElementType()))
    return refuse(op, "of elements that are not numbers");
  SmallVector<unsigned> sizes = builder.getRegisters(op.getDynamicSizes());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    SmallVector<int64_t> shape = fillShape(type, getIndices(frame, sizes));
    if (failed(checkSizes(op, shape, *frame.execution)))
      return failure();
    frame[result] = makeFilledArray(shape, getPoison(type.getElementType()));
    return success();
  });
  return success();
}

static LogicalResult
compileMaterialize(bufferization::MaterializeInDestinationOp op,
                   ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getSource());
  if (op->getNumResults() > 0)
    return compileArrayCopy(op, builder);
  unsigned target = builder.getRegister(op.getDest());
  builder.emit([=](Frame &frame) -> LogicalResult {
    Array &from = frame.array(source), &to = frame.array(target);
    if (failed(checkLive(op, to)))
      return failure();
    if (from.shape != to.shape)
      return op->emitError("operands differ in shape at run time");
    copyElements(from, to);
    return success();
  });
  return success();
}

void executor::addBufferizationSemantics(Semantics &semantics) {
  using namespace bufferization;
  semantics.add<ToTensorOp>(compileCopy<ToTensorOp>);
  semantics.add<ToBufferOp>(compileCopy<ToBufferOp>);
  semantics.add<CloneOp>(compileCopy<CloneOp>);
  semantics.add<AllocTensorOp>(compileAllocTensor);
  semantics.add<MaterializeInDestinationOp>(compileMaterialize);
}
