//===- MemRefSemantics.cpp - The memref dialect in the executor -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the memref dialect to actions: allocation, access, views. A view
// shares the storage of its source. Views have sections of their own; the
// table at the end, `addMemRefSemantics`, lists all operations; begin there.
//
//===----------------------------------------------------------------------===//

#include "ConstantArray.h"
#include "fa/Executor/ArrayOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

template <typename OpT>
static LogicalResult compileMemRefAllocation(OpT op, ProgramBuilder &builder) {
  if (!op.getType().getLayout().isIdentity())
    return refuse(op, "with a layout");
  return compileAllocation(op, op.getType(), op.getDynamicSizes(), builder);
}

static LogicalResult compileDealloc(memref::DeallocOp op,
                                    ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getMemref());
  builder.emit([=](Frame &frame) -> LogicalResult {
    Array &array = frame.array(source);
    if (failed(checkLive(op, array)))
      return failure();
    array.storage->released = true;
    return success();
  });
  return success();
}

static LogicalResult compileAllocaScope(memref::AllocaScopeOp op,
                                        ProgramBuilder &builder) {
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  auto body = std::make_unique<BlockProgram>();
  if (failed(builder.compileRegion(op.getBodyRegion(), *body)))
    return failure();
  builder.emit([=, body = std::move(body)](Frame &frame) -> LogicalResult {
    if (failed(body->run(frame)))
      return failure();
    transfer(frame, body->results, results);
    return success();
  });
  return success();
}

/// Constant globals only: others would be state between runs.
static LogicalResult compileGetGlobal(memref::GetGlobalOp op,
                                      ProgramBuilder &builder) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      op, op.getNameAttr());
  if (!global || !global.getConstant())
    return refuse(op, "of anything but a constant global");
  FailureOr<ArrayRefPtr> array =
      makeConstantArray(op, global.getInitialValue().value_or(Attribute()));
  if (failed(array))
    return failure();
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([result, array = *array](Frame &frame) {
    frame[result] = copyArray(*array);
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

static LogicalResult compileStore(memref::StoreOp op, ProgramBuilder &builder) {
  if (!isSlotType(op.getValueToStore().getType()))
    return refuse(op, "of elements that are not numbers");
  unsigned value = builder.getRegister(op.getValueToStore());
  unsigned target = builder.getRegister(op.getMemref());
  SmallVector<unsigned> indices = builder.getRegisters(op.getIndices());
  builder.emit([=](Frame &frame) -> LogicalResult {
    Array &array = frame.array(target);
    FailureOr<int64_t> offset =
        getElementOffset(op, array, getIndices(frame, indices));
    if (failed(offset))
      return failure();
    array.storage->data()[*offset] = frame.slot(value);
    return success();
  });
  return success();
}

static LogicalResult compileCopy(memref::CopyOp op, ProgramBuilder &builder) {
  return compileCopyInto(op, op.getSource(), op.getTarget(), builder);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult compileSubView(memref::SubViewOp op,
                                    ProgramBuilder &builder) {
  return compileSliceView(op, op.getSource(), getSliceOperands(op, builder),
                          builder);
}

static LogicalResult compileReinterpretCast(memref::ReinterpretCastOp op,
                                            ProgramBuilder &builder) {
  if (!isa<MemRefType>(op.getSource().getType()))
    return refuse(op, "of unranked types");
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  auto offsets = builder.getIndexOperands(op.getMixedOffsets());
  auto sizes = builder.getIndexOperands(op.getMixedSizes());
  auto strides = builder.getIndexOperands(op.getMixedStrides());
  builder.emit([=](Frame &frame) -> LogicalResult {
    SmallVector<int64_t> shape = getIndices(frame, sizes);
    if (failed(checkSizes(op, shape, *frame.execution)))
      return failure();
    ArrayRefPtr view = makeView(frame.array(source), offsets[0].get(frame),
                                shape, getIndices(frame, strides));
    if (failed(checkView(op, *view)))
      return failure();
    frame[result] = view;
    return success();
  });
  return success();
}

static LogicalResult compileCollapse(memref::CollapseShapeOp op,
                                     ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getSrc());
  unsigned result = builder.getRegister(op.getResult());
  auto groups = op.getReassociationIndices();
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<ArrayRefPtr> view =
        collapseArray(op, frame.array(source), groups);
    if (failed(view))
      return failure();
    frame[result] = *view;
    return success();
  });
  return success();
}

static LogicalResult compileExpand(memref::ExpandShapeOp op,
                                   ProgramBuilder &builder) {
  return compileExpandShape(op, op.getSrc(), op.getReassociationIndices(),
                            op.getMixedOutputShape(), builder);
}

static LogicalResult compileTranspose(memref::TransposeOp op,
                                      ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getIn());
  unsigned result = builder.getRegister(op.getResult());
  SmallVector<unsigned> order;
  for (AffineExpr expr : op.getPermutation().getResults())
    order.push_back(cast<AffineDimExpr>(expr).getPosition());
  builder.emit([=](Frame &frame) {
    const Array &array = frame.array(source);
    SmallVector<int64_t> shape, strides;
    for (unsigned dim : order) {
      shape.push_back(array.shape[dim]);
      strides.push_back(array.strides[dim]);
    }
    frame[result] = makeView(array, array.offset, shape, strides);
    return success();
  });
  return success();
}

static LogicalResult compileMetadata(memref::ExtractStridedMetadataOp op,
                                     ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getSource());
  unsigned base = builder.getRegister(op.getBaseBuffer());
  unsigned offset = builder.getRegister(op.getOffset());
  SmallVector<unsigned> sizes = builder.getRegisters(op.getSizes());
  SmallVector<unsigned> strides = builder.getRegisters(op.getStrides());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr array = frame.arrayRef(source);
    frame[base] = makeView(*array, 0, {}, {});
    frame.slot(offset).integer = array->offset;
    for (auto [dim, index] : llvm::enumerate(sizes))
      frame.slot(index).integer = array->shape[dim];
    for (auto [dim, index] : llvm::enumerate(strides))
      frame.slot(index).integer = array->strides[dim];
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

static LogicalResult compileLoad(memref::LoadOp op, ProgramBuilder &builder) {
  return compileElementLoad(op, op.getMemref(), op.getIndices(), builder);
}
static LogicalResult compileLoadLanes(memref::LoadOp op, LaneBuilder &builder) {
  return compileElementLoadLanes(op, op.getMemref(), op.getIndices(), builder);
}
static LogicalResult compileMemRefDim(memref::DimOp op,
                                      ProgramBuilder &builder) {
  return compileDim(op, op.getSource(), op.getIndex(), builder);
}
static LogicalResult compileMemRefDimLanes(memref::DimOp op,
                                           LaneBuilder &builder) {
  return compileDimLanes(op, op.getSource(), op.getIndex(), builder);
}
static LogicalResult compileMemRefRank(memref::RankOp op,
                                       ProgramBuilder &builder) {
  return compileRank(op, op.getMemref(), builder);
}
template <typename OpT>
static LogicalResult compileCast(OpT op, ProgramBuilder &builder) {
  return compileShapeCast(op, builder);
}
static LogicalResult compilePrefetch(memref::PrefetchOp, ProgramBuilder &) {
  return success();
}

void executor::addMemRefSemantics(Semantics &semantics) {
  semantics.add<memref::AllocOp>(compileMemRefAllocation<memref::AllocOp>);
  semantics.add<memref::AllocaOp>(compileMemRefAllocation<memref::AllocaOp>);
  semantics.add<memref::DeallocOp>(compileDealloc);
  semantics.add<memref::AllocaScopeOp>(compileAllocaScope);
  semantics.add<memref::GetGlobalOp>(compileGetGlobal);
  semantics.add<memref::LoadOp>(compileLoad);
  semantics.addLanes<memref::LoadOp>(compileLoadLanes);
  semantics.add<memref::StoreOp>(compileStore);
  semantics.add<memref::CopyOp>(compileCopy);
  semantics.add<memref::PrefetchOp>(compilePrefetch);
  semantics.add<memref::SubViewOp>(compileSubView);
  semantics.add<memref::ReinterpretCastOp>(compileReinterpretCast);
  semantics.add<memref::CollapseShapeOp>(compileCollapse);
  semantics.add<memref::ExpandShapeOp>(compileExpand);
  semantics.add<memref::TransposeOp>(compileTranspose);
  semantics.add<memref::ExtractStridedMetadataOp>(compileMetadata);
  semantics.add<memref::DimOp>(compileMemRefDim);
  semantics.addLanes<memref::DimOp>(compileMemRefDimLanes);
  semantics.add<memref::RankOp>(compileMemRefRank);
  semantics.add<memref::CastOp>(compileCast<memref::CastOp>);
  semantics.add<memref::MemorySpaceCastOp>(
      compileCast<memref::MemorySpaceCastOp>);
  semantics.add<memref::AssumeAlignmentOp>(
      compileCast<memref::AssumeAlignmentOp>);
}
