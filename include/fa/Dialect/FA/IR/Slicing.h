//===- Slicing.h - Slices of operands and their absolute place -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What tiling does to operands, the same on tensors and on memrefs. Sizes and
// offsets are elements, an attribute where static.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_SLICING_H
#define FA_DIALECT_FA_IR_SLICING_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// Size of the dimension at `position` of a tensor or memref.
OpFoldResult getMixedSize(OpBuilder &builder, Location loc, Value shaped,
                          int64_t position);
/// Size of the dimension `kind` of a rank-4 operand with the order `order`.
OpFoldResult getMixedSize(OpBuilder &builder, Location loc, Value shaped,
                          DimsAttr order, DimKind kind);

/// Whether [offset, offset + size) is seen to be all of the dimension `kind` of
/// `shaped`, as where `size` comes from `getMixedSize`.
bool isWholeDim(OpBuilder &builder, OpFoldResult offset, OpFoldResult size,
                Value shaped, DimsAttr order, DimKind kind);

/// Sizes or offsets of one rank-4 operand, by dimension.
struct DimValues {
  OpFoldResult batch, sequence, heads, headDim;
  /// The same in the order of the operand's dimensions.
  SmallVector<OpFoldResult> inOrder(DimsAttr order) const;
};

/// tensor.extract_slice or memref.subview with unit strides. Returns `shaped`
/// itself where the slice is statically all of it.
Value createSlice(OpBuilder &builder, Location loc, Value shaped,
                  ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes);
/// The same without the leading dimension, of which the slice takes one.
Value createLeadingSlice(OpBuilder &builder, Location loc, Value shaped,
                         OpFoldResult position);
/// The elements [offset, offset + size) of the dimension `kind`.
Value createSliceOf(OpBuilder &builder, Location loc, Value shaped,
                    DimsAttr order, DimKind kind, OpFoldResult offset,
                    OpFoldResult size);

/// a + b.
OpFoldResult addSizes(OpBuilder &builder, Location loc, OpFoldResult a,
                      OpFoldResult b);

/// Makes the offsets (origin) and extents (the operands' sizes) of an
/// attention explicit where they are absent.
template <typename OpTy> void materializePlace(OpBuilder &builder, OpTy op);
extern template void materializePlace(OpBuilder &, AttentionOp);
extern template void materializePlace(OpBuilder &, OnlineAttentionOp);
extern template void materializePlace(OpBuilder &, AttentionGradientOp);
extern template void materializePlace(OpBuilder &, GradientKeysOp);
extern template void materializePlace(OpBuilder &, GradientQueriesOp);

/// head floordiv (heads / key heads), where the group may be dynamic.
OpFoldResult getKeyHead(OpBuilder &builder, AttentionLikeOpInterface op,
                        OpFoldResult head);

/// The tile of key heads that a tile of query heads reads: query head `h`
/// reads key head `h floordiv group`, group = heads / key heads. Fails after a
/// diagnostic on `op` where the tile neither holds whole groups nor lies
/// within one.
struct HeadTile {
  OpFoldResult offset, size;
};
FailureOr<HeadTile> getKeyHeadTile(OpBuilder &builder, AttentionOp op,
                                   OpFoldResult offset, OpFoldResult size);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_SLICING_H
