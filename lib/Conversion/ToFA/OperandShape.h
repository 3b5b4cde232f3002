//===- OperandShape.h - Tensors as operands of attention --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a tensor, read at linear forms of digits, becomes one with a dimension
// each for batch, sequence, heads and head dim: a slice, dimensions expanded
// into digits, a transpose only where digits of one dimension lie apart or the
// head dim is not the last one, digits collapsed, and ones added.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_OPERANDSHAPE_H
#define FA_LIB_CONVERSION_TOFA_OPERANDSHAPE_H

#include "IndexForm.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include <array>

namespace mlir::fa {

/// The digits of batch, sequence, heads and head dim, by `DimKind`.
using DigitGroups = std::array<SmallVector<unsigned, 2>, 4>;

class OperandShape {
public:
  /// Nothing where the forms do not name each digit of the groups once.
  static std::optional<OperandShape>
  compute(Value tensor, ArrayRef<IndexForm> forms, const DigitGroups &groups,
          const Variables &variables, ExtentReader &extents);
  /// The tensor as an operand.
  Value apply(OpBuilder &builder, Location loc, Value tensor,
              ExtentReader &extents) const;
  /// From the shape of the operand to the tensor's; there was no slice.
  Value applyInverse(OpBuilder &builder, Location loc, Value operand,
                     Type tensorType, ExtentReader &extents) const;
  DimsAttr getOrder(MLIRContext *context) const {
    return DimsAttr::get(context, order);
  }
  ArrayRef<Extent> getShape() const { return finalShape; }
  bool hasSlice() const { return isSliced; }
  bool isTransposed() const { return !permutation.empty(); }

private:
  bool isSliced = false;
  SmallVector<int64_t> offsets, strides;
  SmallVector<Extent> sliceShape;
  // Each a shape and how it groups dimensions.
  SmallVector<Extent> itemShape, movedShape, runShape, finalShape;
  SmallVector<ReassociationIndices> toItems, toRuns, toFinal;
  SmallVector<int64_t> permutation;
  SmallVector<int64_t> order;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_OPERANDSHAPE_H
