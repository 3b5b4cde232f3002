//===- ViewParts.h - Parts of block values as parts of views ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_VIEWPARTS_H
#define FA_LIB_CONVERSION_FATOFAGPU_VIEWPARTS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace mlir::fa {

/// Parts of `value`, for which `view` comes, become parts of the view.
inline void slicePartsOf(Value value, Value view) {
  auto whole = cast<fagpu::ViewType>(view.getType());
  for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
    auto part = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!part)
      continue;
    OpBuilder builder(part);
    Location loc = part.getLoc();
    SmallVector<Value> offsets;
    for (OpFoldResult offset : part.getMixedOffsets()) {
      std::optional<int64_t> known = getConstantIntValue(offset);
      offsets.push_back(
          known ? arith::ConstantIntOp::create(builder, loc, *known, 32)
                      .getResult()
                : builder.createOrFold<arith::IndexCastOp>(
                      loc, builder.getI32Type(), cast<Value>(offset)));
    }
    auto type =
        fagpu::ViewType::get(builder.getContext(), part.getType().getShape(),
                             whole.getElementType(), whole.getLayout());
    part.replaceAllUsesWith(
        fagpu::SliceOp::create(builder, loc, type, view, offsets).getResult());
    part.erase();
  }
}

/// The last operation of `block`, which `view` is made in, that reads the view
/// or a part of it, itself or inside; null where none does.
inline Operation *getLastReader(Value view, Block *block) {
  Operation *last = nullptr;
  SmallVector<Operation *> users(view.getUsers());
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    if (isa<fagpu::SliceOp>(user))
      llvm::append_range(users, user->getUsers());
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (!last || last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  return last;
}

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_VIEWPARTS_H
