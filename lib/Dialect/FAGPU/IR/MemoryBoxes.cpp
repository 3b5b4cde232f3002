//===- MemoryBoxes.cpp - Boxes of global memory that tiles cover ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

using namespace mlir;
using namespace mlir::fagpu;

unsigned mlir::fagpu::getRowDim(ArrayRef<int64_t> box, unsigned tileRank) {
  bool isMatrix = tileRank > 1;
  for (auto [dim, size] : llvm::enumerate(box.drop_back(isMatrix)))
    if (size > 1)
      return dim;
  return box.size() - (isMatrix && box.size() > 1 ? 2 : 1);
}

/// The box of a tile whose text does not write one.
static SmallVector<int64_t> makeBox(MemRefType memory, ArrayRef<int64_t> tile) {
  SmallVector<int64_t> box(memory.getRank(), 1);
  if (tile.empty() || box.empty())
    return box;
  box[getRowDim(box, tile.size())] = tile.front();
  box.back() = tile.back();
  return box;
}

unsigned PutOp::getRowDim() {
  return fagpu::getRowDim(getSizes(), getChannel().getType().getShape().size());
}

SmallVector<int64_t> StoreOp::getTile() {
  auto type = cast<RankedTensorType>(getValue().getType());
  SmallVector<int64_t> tile(type.getShape());
  if (getFragments())
    tile = {type.getNumElements()};
  else if (getTransposed())
    std::reverse(tile.begin(), tile.end());
  return tile;
}

SmallVector<int64_t> StoreOp::getBox() {
  if (getSizes())
    return SmallVector<int64_t>(*getSizes());
  return makeBox(cast<MemRefType>(getDestination().getType()), getTile());
}

unsigned StoreOp::getRowDim() {
  return fagpu::getRowDim(getBox(), getTile().size());
}

SmallVector<int64_t> DrainOp::getBox() {
  if (getSizes())
    return SmallVector<int64_t>(*getSizes());
  return makeBox(cast<MemRefType>(getDestination().getType()),
                 getView().getType().getShape());
}

unsigned DrainOp::getRowDim() {
  return fagpu::getRowDim(getBox(), getView().getType().getShape().size());
}
