//===- ThreadRows.cpp - Rows that threads move in pieces ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadRows.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr int64_t mostBytes = 16;

ThreadRows mlir::fa::orderRows(RewriterBase &rewriter, Location loc,
                               const RowView &view) {
  SmallVector<AffineExpr> dims(4);
  for (auto [position, kind] : llvm::enumerate(view.order.getOrder())) {
    bool isPage = static_cast<DimKind>(kind) == DimKind::Page;
    dims[isPage ? 0 : kind] = rewriter.getAffineDimExpr(position);
  }
  auto map = AffineMap::get(4, 0, dims, rewriter.getContext());
  if (map.isIdentity())
    return {view.memory};
  return {memref::TransposeOp::create(rewriter, loc, view.memory,
                                      AffineMapAttr::get(map))};
}

int64_t mlir::fa::getPieceWidth(ArrayRef<ThreadRows> all,
                                ArrayRef<int64_t> counts) {
  int64_t width =
      mostBytes * 8 / all.front().getType().getElementTypeBitWidth();
  auto divide = [&](int64_t number) {
    while (number % width)
      width /= 2;
  };
  llvm::for_each(counts, divide);
  for (const ThreadRows &rows : all) {
    divide(rows.getHeadDim());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (succeeded(rows.getType().getStridesAndOffset(strides, offset)))
      for (int64_t stride : ArrayRef(strides).drop_back())
        if (!ShapedType::isDynamic(stride))
          divide(stride);
  }
  return width;
}
