//===- TensorSemantics.cpp - The tensor dialect in the executor -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the tensor dialect to actions. A tensor is a view of a storage; an
// insertion updates it in place where nothing else refers to it, and copies
// it elsewhere. The table at the end, `addTensorSemantics`, lists all
// operations; begin there.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/ArrayOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

static LogicalResult compileEmpty(tensor::EmptyOp op, ProgramBuilder &builder) {
  return compileAllocation(op, op.getType(), op.getDynamicSizes(), builder);
}

static LogicalResult compileSplat(tensor::SplatOp op, ProgramBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<unsigned> sizes = builder.getRegisters(op.getDynamicSizes());
  unsigned input = builder.getRegister(op.getInput());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    SmallVector<int64_t> shape = fillShape(type, getIndices(frame, sizes));
    if (failed(checkSizes(op, shape, *frame.execution)))
      return failure();
    frame[result] = makeFilledArray(shape, frame.slot(input));
    return success();
  });
  return success();
}

static LogicalResult compileFromElements(tensor::FromElementsOp op,
                                         ProgramBuilder &builder) {
  if (!isSlotType(op.getType().getElementType()))
    return refuse(op, "of elements that are not numbers");
  SmallVector<unsigned> elements = builder.getRegisters(op.getElements());
  SmallVector<int64_t> shape(op.getType().getShape());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr array = makeArray(shape);
    for (auto [i, element] : llvm::enumerate(elements))
      array->data()[i] = frame.slot(element);
    frame[result] = array;
    return success();
  });
  return success();
}

/// Fills an array from a body that takes the indices of an element.
static LogicalResult generateElements(const BlockProgram &body, Frame &frame,
                                      Array &array) {
  SmallVector<int64_t> index(array.getRank(), 0);
  int64_t count = array.getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (int64_t dim = array.getRank() - 1; dim >= 0; --dim) {
      frame.slot(body.arguments[dim]).integer = rest % array.shape[dim];
      rest /= array.shape[dim];
    }
    if (failed(body.run(frame)))
      return failure();
    array.data()[i] = frame.slot(body.results[0].index);
  }
  return success();
}

static LogicalResult compileGenerate(tensor::GenerateOp op,
                                     ProgramBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getType());
  SmallVector<unsigned> sizes = builder.getRegisters(op.getDynamicExtents());
  unsigned result = builder.getRegister(op.getResult());
  auto body = std::make_unique<BlockProgram>();
  if (failed(builder.compileRegion(op.getBody(), *body)))
    return failure();
  builder.emit([=, body = std::move(body)](Frame &frame) -> LogicalResult {
    SmallVector<int64_t> shape = fillShape(type, getIndices(frame, sizes));
    if (failed(checkSizes(op, shape, *frame.execution)))
      return failure();
    ArrayRefPtr array = makeArray(shape);
    if (failed(generateElements(*body, frame, *array)))
      return failure();
    frame[result] = array;
    return success();
  });
  return success();
}

static LogicalResult compilePad(tensor::PadOp op, ProgramBuilder &builder) {
  SmallVector<IndexOperand> low = builder.getIndexOperands(op.getMixedLowPad());
  SmallVector<IndexOperand> high =
      builder.getIndexOperands(op.getMixedHighPad());
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  RankedTensorType type = op.getResultType();
  auto body = std::make_unique<BlockProgram>();
  if (failed(builder.compileRegion(op.getRegion(), *body)))
    return failure();
  builder.emit([=, body = std::move(body)](Frame &frame) -> LogicalResult {
    const Array &inner = frame.array(source);
    SmallVector<int64_t> before = getIndices(frame, low);
    SmallVector<int64_t> after = getIndices(frame, high);
    SmallVector<int64_t> shape;
    for (int64_t dim = 0; dim < inner.getRank(); ++dim) {
      if (before[dim] < 0 || after[dim] < 0)
        return op->emitError("padding of dimension ") << dim << " is negative";
      shape.push_back(before[dim] + inner.shape[dim] + after[dim]);
    }
    if (failed(checkSizes(op, shape, *frame.execution)) ||
        failed(checkShape(op, shape, type)))
      return failure();
    ArrayRefPtr array = makeArray(shape);
    if (failed(generateElements(*body, frame, *array)))
      return failure();
    int64_t offset = 0;
    for (int64_t dim = 0; dim < inner.getRank(); ++dim)
      offset += before[dim] * array->strides[dim];
    ArrayRefPtr hole = makeView(*array, offset, inner.shape, array->strides);
    copyElements(inner, *hole);
    frame[result] = array;
    return success();
  });
  return success();
}

static LogicalResult compileConcat(tensor::ConcatOp op,
                                   ProgramBuilder &builder) {
  SmallVector<unsigned> inputs = builder.getRegisters(op.getInputs());
  unsigned result = builder.getRegister(op.getResult());
  int64_t dim = op.getDim();
  builder.emit([=](Frame &frame) -> LogicalResult {
    SmallVector<int64_t> shape =
        llvm::to_vector(frame.array(inputs.front()).shape);
    int64_t total = 0;
    for (unsigned input : inputs) {
      SmallVector<int64_t> other = llvm::to_vector(frame.array(input).shape);
      total += other[dim];
      other[dim] = shape[dim];
      if (other != shape)
        return op->emitError("operands differ in shape at run time");
    }
    shape[dim] = total;
    ArrayRefPtr array = makeArray(shape);
    int64_t offset = 0;
    for (unsigned input : inputs) {
      const Array &part = frame.array(input);
      ArrayRefPtr hole = makeView(*array, offset, part.shape, array->strides);
      copyElements(part, *hole);
      offset += part.shape[dim] * array->strides[dim];
    }
    frame[result] = array;
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static LogicalResult compileInsert(tensor::InsertOp op,
                                   ProgramBuilder &builder) {
  unsigned scalar = builder.getRegister(op.getScalar());
  Use target = builder.getUse(op.getDestMutable());
  SmallVector<unsigned> indices = builder.getRegisters(op.getIndices());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    ArrayRefPtr array = takeForUpdate(frame, target);
    FailureOr<int64_t> offset =
        getElementOffset(op, *array, getIndices(frame, indices));
    if (failed(offset))
      return failure();
    array->storage->data()[*offset] = frame.slot(scalar);
    frame[result] = array;
    return success();
  });
  return success();
}

static LogicalResult compileExtractSlice(tensor::ExtractSliceOp op,
                                         ProgramBuilder &builder) {
  return compileSliceView(op, op.getSource(), getSliceOperands(op, builder),
                          builder);
}

/// Emits a copy of `source` into a slice of `target`, the updated tensor going
/// to the register `result`.
static void emitInsertSlice(Operation *op, unsigned source, Use target,
                            unsigned result, SliceOperands slice,
                            ProgramBuilder &builder) {
  builder.emit([=, slice = std::move(slice)](Frame &frame) -> LogicalResult {
    ArrayRefPtr array = takeForUpdate(frame, target);
    const Array &part = frame.array(source);
    FailureOr<ArrayRefPtr> view = makeSlice(op, frame, *array, slice);
    if (failed(view))
      return failure();
    if ((*view)->shape != part.shape)
      return op->emitError("source and slice differ in shape at run time");
    copyElements(part, **view);
    frame[result] = array;
    return success();
  });
}

static LogicalResult compileInsertSlice(tensor::InsertSliceOp op,
                                        ProgramBuilder &builder) {
  emitInsertSlice(op, builder.getRegister(op.getSource()),
                  builder.getUse(op.getDestMutable()),
                  builder.getRegister(op.getResult()),
                  getSliceOperands(op, builder), builder);
  return success();
}

/// The destination is an argument of the surrounding scf.forall, which holds
/// the tensor that all iterations share.
static LogicalResult
compileParallelInsertSlice(tensor::ParallelInsertSliceOp op,
                           ProgramBuilder &builder) {
  unsigned target = builder.getRegister(op.getDest());
  emitInsertSlice(op, builder.getRegister(op.getSource()),
                  Use{target, /*last=*/true}, target,
                  getSliceOperands(op, builder), builder);
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static LogicalResult compileCollapse(tensor::CollapseShapeOp op,
                                     ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getSrc());
  unsigned result = builder.getRegister(op.getResult());
  auto groups = op.getReassociationIndices();
  builder.emit([=](Frame &frame) -> LogicalResult {
    ArrayRefPtr packed = packArray(frame.arrayRef(source));
    FailureOr<ArrayRefPtr> view = collapseArray(op, *packed, groups);
    if (failed(view))
      return failure();
    frame[result] = *view;
    return success();
  });
  return success();
}

static LogicalResult compileExpand(tensor::ExpandShapeOp op,
                                   ProgramBuilder &builder) {
  return compileExpandShape(op, op.getSrc(), op.getReassociationIndices(),
                            op.getMixedOutputShape(), builder);
}

static LogicalResult compileReshape(tensor::ReshapeOp op,
                                    ProgramBuilder &builder) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return refuse(op, "of unranked types");
  unsigned source = builder.getRegister(op.getSource());
  unsigned shapeRegister = builder.getRegister(op.getShape());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    ArrayRefPtr packed = packArray(frame.arrayRef(source));
    ArrayRefPtr sizes = packArray(frame.arrayRef(shapeRegister));
    SmallVector<int64_t> shape;
    for (int64_t i = 0; i < sizes->getNumElements(); ++i)
      shape.push_back(sizes->data()[i].integer);
    if (failed(checkSizes(op, shape, *frame.execution)) ||
        failed(checkShape(op, shape, type)))
      return failure();
    if (getNumElements(shape) != packed->getNumElements())
      return op->emitError("reshape of ")
             << packed->getNumElements() << " elements to "
             << getNumElements(shape);
    frame[result] =
        makeView(*packed, packed->offset, shape, getRowMajorStrides(shape));
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

static LogicalResult compileExtract(tensor::ExtractOp op,
                                    ProgramBuilder &builder) {
  return compileElementLoad(op, op.getTensor(), op.getIndices(), builder);
}
static LogicalResult compileExtractLanes(tensor::ExtractOp op,
                                         LaneBuilder &builder) {
  return compileElementLoadLanes(op, op.getTensor(), op.getIndices(), builder);
}
static LogicalResult compileTensorDim(tensor::DimOp op,
                                      ProgramBuilder &builder) {
  return compileDim(op, op.getSource(), op.getIndex(), builder);
}
static LogicalResult compileTensorDimLanes(tensor::DimOp op,
                                           LaneBuilder &builder) {
  return compileDimLanes(op, op.getSource(), op.getIndex(), builder);
}
static LogicalResult compileTensorRank(tensor::RankOp op,
                                       ProgramBuilder &builder) {
  return compileRank(op, op.getTensor(), builder);
}
static LogicalResult compileCast(tensor::CastOp op, ProgramBuilder &builder) {
  return compileShapeCast(op, builder);
}

void executor::addTensorSemantics(Semantics &semantics) {
  semantics.add<tensor::EmptyOp>(compileEmpty);
  semantics.add<tensor::SplatOp>(compileSplat);
  semantics.add<tensor::FromElementsOp>(compileFromElements);
  semantics.add<tensor::GenerateOp>(compileGenerate);
  semantics.add<tensor::PadOp>(compilePad);
  semantics.add<tensor::ConcatOp>(compileConcat);
  semantics.add<tensor::ExtractOp>(compileExtract);
  semantics.addLanes<tensor::ExtractOp>(compileExtractLanes);
  semantics.add<tensor::InsertOp>(compileInsert);
  semantics.add<tensor::ExtractSliceOp>(compileExtractSlice);
  semantics.add<tensor::InsertSliceOp>(compileInsertSlice);
  semantics.add<tensor::ParallelInsertSliceOp>(compileParallelInsertSlice);
  semantics.add<tensor::CollapseShapeOp>(compileCollapse);
  semantics.add<tensor::ExpandShapeOp>(compileExpand);
  semantics.add<tensor::ReshapeOp>(compileReshape);
  semantics.add<tensor::DimOp>(compileTensorDim);
  semantics.addLanes<tensor::DimOp>(compileTensorDimLanes);
  semantics.add<tensor::RankOp>(compileTensorRank);
  semantics.add<tensor::CastOp>(compileCast);
}
