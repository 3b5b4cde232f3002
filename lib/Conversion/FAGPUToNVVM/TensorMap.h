//===- TensorMap.h - Views that bulk copies have of memory ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_TENSORMAP_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_TENSORMAP_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fagpu {

/// A bulk copy's view of a memref argument. Dimensions of the map, from the one
/// that is contiguous: `columns` of a panel; the dimensions with a box above 1,
/// the last first; the panels, where a row has several; what is left, the last
/// first. Where the rows are bounded at run time, what is left is two
/// dimensions: the one that undoes the bound, and all offsets in units of a
/// common stride.
struct TensorMap {
  unsigned argument;
  /// Box in dimensions of the memref.
  SmallVector<int64_t> box;
  /// Columns of a panel, and how many panels the box has. Where columns end
  /// inside a panel, the box is one, and `copies` of it cover a row: the
  /// hardware only compares the first dimension with where the columns end.
  int64_t columns, panels;
  int64_t copies = 1;
  int64_t swizzle;
  bool bounded;
  /// The dimension of the memref that is bounded.
  int64_t row;
  /// Bytes that the L2 cache fetches at least. Stores fetch nothing.
  int64_t l2Promotion = 128;
  /// What is outside reads as NaN.
  bool fillsNaN = false;

  bool operator<(const TensorMap &other) const { return key() < other.key(); }
  DictionaryAttr toAttribute(MLIRContext *context) const;

private:
  std::tuple<unsigned, ArrayRef<int64_t>, int64_t, int64_t, int64_t, bool,
             int64_t, int64_t, bool>
  key() const {
    return {argument, box, columns,     panels,  swizzle,
            bounded,  row, l2Promotion, fillsNaN};
  }
};

/// How many blocks fill the stages of a channel together: those of a cluster
/// where it is multicast, else 1.
int64_t getNumSharers(Value channel);

/// The map of a put into a channel that is filled in bulk, or of a store or a
/// drain that leaves in bulk. Fails after one diagnostic.
FailureOr<TensorMap> makeTensorMap(PutOp put);
FailureOr<TensorMap> makeTensorMap(StoreOp store);
FailureOr<TensorMap> makeTensorMap(DrainOp drain);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_TENSORMAP_H
