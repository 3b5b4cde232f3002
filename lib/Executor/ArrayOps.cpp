//===- ArrayOps.cpp - Checked work on arrays ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What actions on arrays do at run time, with checks: indices in bounds,
// memory not freed, sizes as the types say. An error names the operation.
// `checkIndex` and `getElementOffset` are the basis; slices and reshapes
// follow.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/ArrayOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

LogicalResult executor::checkIndex(Operation *op, int64_t index, int64_t dim,
                                   int64_t size) {
  if (index >= 0 && index < size)
    return success();
  return op->emitError() << "'" << op->getName() << "' index " << index
                         << " is out of bounds for dimension " << dim
                         << " of size " << size;
}

FailureOr<int64_t> executor::getElementOffset(Operation *op, const Array &array,
                                              ArrayRef<int64_t> indices) {
  int64_t offset = array.offset;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (failed(checkIndex(op, index, dim, array.shape[dim])))
      return failure();
    offset += index * array.strides[dim];
  }
  if (failed(checkLive(op, array)))
    return failure();
  return offset;
}

LogicalResult executor::checkLive(Operation *op, const Array &array) {
  if (!array.storage->released)
    return success();
  return op->emitError() << "'" << op->getName()
                         << "' uses memory after its deallocation";
}

LogicalResult executor::checkShape(Operation *op, ArrayRef<int64_t> shape,
                                   ShapedType type) {
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!type.isDynamicDim(dim) && type.getDimSize(dim) != size)
      return op->emitError() << "'" << op->getName() << "' dimension " << dim
                             << " has size " << size << " at run time, but "
                             << type << " has " << type.getDimSize(dim);
  return success();
}

LogicalResult executor::checkSizes(Operation *op, ArrayRef<int64_t> shape,
                                   const Execution &execution) {
  int64_t count = 1;
  bool overflows = false;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size < 0)
      return op->emitError() << "'" << op->getName() << "' dimension " << dim
                             << " has negative size " << size;
    overflows |= llvm::MulOverflow(count, size, count);
  }
  if (overflows || count > execution.maxElements)
    return op->emitError() << "'" << op->getName()
                           << "' needs more elements than the limit of "
                           << execution.maxElements;
  return success();
}

LogicalResult executor::checkView(Operation *op, const Array &view) {
  if (view.getNumElements() == 0)
    return success();
  int64_t low = view.offset, high = view.offset;
  for (auto [size, stride] : llvm::zip_equal(view.shape, view.strides))
    (stride < 0 ? low : high) += (size - 1) * stride;
  if (low >= 0 && high < view.storage->getSize())
    return success();
  return op->emitError() << "'" << op->getName() << "' reaches elements " << low
                         << " to " << high << " of a buffer of "
                         << view.storage->getSize();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

SmallVector<int64_t> executor::getIndices(Frame &frame,
                                          ArrayRef<unsigned> registers) {
  return llvm::map_to_vector(
      registers, [&](unsigned index) { return frame.integer(index); });
}

SmallVector<int64_t> executor::getIndices(Frame &frame,
                                          ArrayRef<IndexOperand> operands) {
  return llvm::map_to_vector(
      operands, [&](IndexOperand operand) { return operand.get(frame); });
}

SmallVector<int64_t> executor::fillShape(ShapedType type,
                                         ArrayRef<int64_t> dynamic) {
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t &size : shape) {
    if (!ShapedType::isDynamic(size))
      continue;
    size = dynamic.front();
    dynamic = dynamic.drop_front();
  }
  return shape;
}

ArrayRefPtr executor::takeForUpdate(Frame &frame, Use use) {
  RuntimeValue value = use.take(frame);
  Array &array = value.array();
  bool isUnique = array.UseCount() == 1 && array.storage->UseCount() == 1;
  return isUnique ? ArrayRefPtr(&array) : copyArray(array);
}

Array &executor::getResultArray(Frame &frame, unsigned index,
                                ArrayRef<int64_t> shape) {
  RuntimeValue &value = frame[index];
  bool reusable = value.object && value.object->UseCount() == 1 &&
                  value.array().storage->UseCount() == 1 &&
                  ArrayRef<int64_t>(value.array().shape) == shape &&
                  value.array().isContiguous();
  if (!reusable)
    value.object = makeArray(shape);
  return value.array();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

FailureOr<ArrayRefPtr> executor::makeSlice(Operation *op, Frame &frame,
                                           const Array &source,
                                           const SliceOperands &slice) {
  ArrayRefPtr view(new Array());
  view->storage = source.storage;
  view->offset = source.offset;
  bool isEmpty = false;
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    int64_t offset = slice.offsets[dim].get(frame);
    int64_t size = slice.sizes[dim].get(frame);
    int64_t stride = slice.strides[dim].get(frame);
    if (size < 0)
      return op->emitError() << "'" << op->getName() << "' dimension " << dim
                             << " has negative size " << size;
    if (size > 0 && (failed(checkIndex(op, offset, dim, source.shape[dim])) ||
                     failed(checkIndex(op, offset + (size - 1) * stride, dim,
                                       source.shape[dim]))))
      return failure();
    isEmpty |= size == 0;
    view->offset += offset * source.strides[dim];
    if (slice.dropped.test(dim))
      continue;
    view->shape.push_back(size);
    view->strides.push_back(stride * source.strides[dim]);
  }
  if (isEmpty)
    view->offset = source.offset;
  return view;
}

FailureOr<ArrayRefPtr>
executor::collapseArray(Operation *op, const Array &source,
                        ArrayRef<SmallVector<int64_t, 2>> groups) {
  SmallVector<int64_t> shape, strides;
  if (source.getNumElements() == 0) {
    for (ArrayRef<int64_t> group : groups) {
      shape.push_back(1);
      for (int64_t dim : group)
        shape.back() *= source.shape[dim];
    }
    return makeView(source, source.offset, shape, getRowMajorStrides(shape));
  }
  for (ArrayRef<int64_t> group : groups) {
    int64_t size = 1, stride = 1;
    for (int64_t dim : llvm::reverse(group)) {
      int64_t extent = source.shape[dim];
      if (extent == 1)
        continue;
      if (size == 1)
        stride = source.strides[dim];
      else if (source.strides[dim] != size * stride)
        return op->emitError()
               << "'" << op->getName() << "' merges dimension " << dim
               << ", which has gaps: stride " << source.strides[dim]
               << " where " << size * stride << " was expected";
      size *= extent;
    }
    shape.push_back(size);
    strides.push_back(stride);
  }
  return makeView(source, source.offset, shape, strides);
}

FailureOr<ArrayRefPtr>
executor::expandArray(Operation *op, const Array &source,
                      ArrayRef<SmallVector<int64_t, 2>> groups,
                      ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (auto [dim, group] : llvm::enumerate(groups)) {
    int64_t size = 1;
    for (int64_t split : llvm::reverse(group)) {
      strides[split] = size * source.strides[dim];
      size *= shape[split];
    }
    if (size != source.shape[dim])
      return op->emitError() << "'" << op->getName() << "' splits dimension "
                             << dim << " of size " << source.shape[dim]
                             << " into " << size << " elements";
  }
  return makeView(source, source.offset, shape, strides);
}
