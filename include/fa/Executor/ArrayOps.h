//===- ArrayOps.h - Checked work on arrays ----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the semantics of tensor, memref, vector and linalg operations share.
// Functions that take an operation emit their diagnostic at it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_ARRAYOPS_H
#define FA_EXECUTOR_ARRAYOPS_H

#include "fa/Executor/ProgramBuilder.h"

namespace mlir::fa::executor {

/// Fails unless 0 <= index < size.
LogicalResult checkIndex(Operation *op, int64_t index, int64_t dim,
                         int64_t size);
/// Offset in the storage of one element.
FailureOr<int64_t> getElementOffset(Operation *op, const Array &array,
                                    ArrayRef<int64_t> indices);
/// Fails if the storage was deallocated.
LogicalResult checkLive(Operation *op, const Array &array);
/// Fails unless the shape is one that the type allows.
LogicalResult checkShape(Operation *op, ArrayRef<int64_t> shape,
                         ShapedType type);
/// Fails for negative sizes and for more elements than the run allows.
LogicalResult checkSizes(Operation *op, ArrayRef<int64_t> shape,
                         const Execution &execution);
/// Fails if a view would reach outside its storage.
LogicalResult checkView(Operation *op, const Array &view);

SmallVector<int64_t> getIndices(Frame &frame, ArrayRef<unsigned> registers);
SmallVector<int64_t> getIndices(Frame &frame, ArrayRef<IndexOperand> operands);
/// The static sizes of a type with the dynamic ones filled in.
SmallVector<int64_t> fillShape(ShapedType type, ArrayRef<int64_t> dynamic);

/// The array of a use, safe to write: itself when nothing else sees it, else a
/// copy.
ArrayRefPtr takeForUpdate(Frame &frame, Use use);

/// A row-major array of this shape in a register: the one already there if
/// nothing else refers to it.
Array &getResultArray(Frame &frame, unsigned index, ArrayRef<int64_t> shape);

/// Offsets, sizes and strides of a subview with the dims that its type drops.
struct SliceOperands {
  SmallVector<IndexOperand> offsets, sizes, strides;
  llvm::SmallBitVector dropped;
};
/// From an operation with OffsetSizeAndStrideOpInterface.
template <typename OpT>
SliceOperands getSliceOperands(OpT op, ProgramBuilder &builder) {
  return {builder.getIndexOperands(op.getMixedOffsets()),
          builder.getIndexOperands(op.getMixedSizes()),
          builder.getIndexOperands(op.getMixedStrides()), op.getDroppedDims()};
}
FailureOr<ArrayRefPtr> makeSlice(Operation *op, Frame &frame,
                                 const Array &source,
                                 const SliceOperands &slice);

/// A view with each group of dims merged; the group must have no gaps.
FailureOr<ArrayRefPtr> collapseArray(Operation *op, const Array &source,
                                     ArrayRef<SmallVector<int64_t, 2>> groups);
/// A view with each dim split to the sizes of its group; `shape` is the result.
FailureOr<ArrayRefPtr> expandArray(Operation *op, const Array &source,
                                   ArrayRef<SmallVector<int64_t, 2>> groups,
                                   ArrayRef<int64_t> shape);

// Actions and lane steps that several dialects have.

/// The result is a new array of elements that nobody has written.
LogicalResult compileAllocation(Operation *op, ShapedType type,
                                ValueRange dynamicSizes,
                                ProgramBuilder &builder);
/// The result is a view of a part of `source`.
LogicalResult compileSliceView(Operation *op, Value source, SliceOperands slice,
                               ProgramBuilder &builder);
/// The result is a view of `source` with dims split to `sizes`.
LogicalResult compileExpandShape(Operation *op, Value source,
                                 ArrayRef<SmallVector<int64_t, 2>> groups,
                                 ArrayRef<OpFoldResult> sizes,
                                 ProgramBuilder &builder);
/// Copies the elements of `source` to memory of the same shape.
LogicalResult compileCopyInto(Operation *op, Value source, Value target,
                              ProgramBuilder &builder);
/// The result is one element of `array`.
LogicalResult compileElementLoad(Operation *op, Value array, ValueRange indices,
                                 ProgramBuilder &builder);
LogicalResult compileElementLoadLanes(Operation *op, Value array,
                                      ValueRange indices, LaneBuilder &builder);
LogicalResult compileDim(Operation *op, Value array, Value dim,
                         ProgramBuilder &builder);
LogicalResult compileDimLanes(Operation *op, Value array, Value dim,
                              LaneBuilder &builder);
LogicalResult compileRank(Operation *op, Value array, ProgramBuilder &builder);
/// The result is the operand, whose shape the result type must allow.
LogicalResult compileShapeCast(Operation *op, ProgramBuilder &builder);

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_ARRAYOPS_H
