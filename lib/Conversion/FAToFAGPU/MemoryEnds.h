//===- MemoryEnds.h - Boxes that end where memory does ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_MEMORYENDS_H
#define FA_LIB_CONVERSION_FATOFAGPU_MEMORYENDS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fagpu {

/// A condition on which the number of rows is `all`, and 0 otherwise; null for
/// other numbers.
inline Value getConditionOfAll(Value rows, int64_t all) {
  auto select = rows.getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(select.getFalseValue(), m_Zero()) ||
      getConstantIntValue(select.getTrueValue()) != all)
    return {};
  return select.getCondition();
}

/// A map of a box of several rows of several dimensions has no dimension left
/// for an end of rows: it ends where the memory does. False where that is not
/// the same. What stores all rows or none has none behind the memory.
template <typename OpTy>
bool endWithMemory(OpTy op, ArrayRef<int64_t> box, MemRefType memory) {
  unsigned rowDim = getRowDim(box, /*tileRank=*/2);
  if (!op.getRows() || llvm::all_of(box.drop_front(rowDim + 1).drop_back(),
                                    [](int64_t size) { return size == 1; }))
    return true;
  int64_t all = memory.getDimSize(rowDim);
  Value isAll = getConditionOfAll(op.getRows(), all);
  bool isStore = std::is_same_v<OpTy, StoreOp>;
  if ((getConstantIntValue(op.getRows()) != all && !(isStore && isAll)) ||
      (op.getColumns() &&
       getConstantIntValue(op.getColumns()) != memory.getShape().back()))
    return false;
  if (isAll) {
    OpBuilder builder(op);
    Value behind = arith::ConstantIntOp::create(builder, op.getLoc(), all,
                                                /*width=*/32);
    OpOperand &first = op.getOffsetsMutable()[rowDim];
    first.set(arith::SelectOp::create(builder, op.getLoc(), isAll, first.get(),
                                      behind));
  }
  op.getRowsMutable().clear();
  op.getColumnsMutable().clear();
  op.setPadded(true);
  return true;
}

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FATOFAGPU_MEMORYENDS_H
