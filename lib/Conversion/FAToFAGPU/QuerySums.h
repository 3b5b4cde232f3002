//===- QuerySums.h - Gradients of queries that blocks of keys add up -*- C++
//-*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory of `one_pass`: batch x heads x elements, of which a block of
// queries has one piece, and each group of warps an equal part of that. Who
// adds, who clears and who reads agree on the parts here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_QUERYSUMS_H
#define FA_LIB_CONVERSION_FATOFAGPU_QUERYSUMS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// What one group has of the gradient of a block of queries: some of its rows,
/// or some of its columns, those perhaps as rows.
struct QuerySumsPart {
  bool ofColumns = false, transposed = false;
  int64_t queries = 0, columns = 0;

  /// Products of a group have 64 rows: of queries, or else of columns.
  static FailureOr<QuerySumsPart> get(Operation *op, int64_t queries,
                                      int64_t columns, int64_t groups);
  int64_t getNumElements() const { return queries * columns; }
  RankedTensorType getType(MLIRContext *context) const {
    return RankedTensorType::get(transposed
                                     ? ArrayRef<int64_t>{columns, queries}
                                     : ArrayRef<int64_t>{queries, columns},
                                 Float32Type::get(context));
  }
};

/// Whether threads add a word at a time, each warp to one piece of memory: the
/// chip adds no vectors (`by_words` of fagpu.store).
bool addsByWords(func::FuncOp kernel);

/// A slice of the memory, and where it begins in there.
struct QuerySums {
  Value memory, batch, head, element;

  /// Of a slice that views make of a kernel's argument.
  static FailureOr<QuerySums> resolve(OpBuilder &builder, Operation *user,
                                      Value slice);
  /// The place of `part` elements (null: all), group by group.
  SmallVector<Value> getOffsets(OpBuilder &builder, Location loc, Value group,
                                int64_t elements) const;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_QUERYSUMS_H
