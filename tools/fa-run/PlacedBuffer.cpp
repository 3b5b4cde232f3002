//===- PlacedBuffer.cpp - Arguments where code expects them ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacedBuffer.h"
#include <cstring>

using namespace mlir;
using namespace mlir::fa;

SmallVector<int64_t> fa::getPlacement(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  int64_t rank = shaped ? shaped.getRank() : 0, innermost = rank - 1;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (auto memref = dyn_cast<MemRefType>(type);
      memref && succeeded(memref.getStridesAndOffset(strides, offset)))
    for (int64_t dim = 0; dim < rank; ++dim)
      if (strides[dim] == 1)
        innermost = dim;
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != innermost)
      order.push_back(dim);
  if (rank)
    order.push_back(innermost);
  return order;
}

PlacedBuffer::PlacedBuffer(HostBuffer &buffer, Type type)
    : buffer(&buffer), strides(buffer.shape.size(), 1) {
  SmallVector<int64_t> order = getPlacement(type);
  isCopied = !llvm::is_sorted(order);
  int64_t stride = 1;
  for (int64_t dim : llvm::reverse(order)) {
    strides[dim] = stride;
    stride *= buffer.shape[dim];
  }
  if (!isCopied)
    return;
  bytes.resize(buffer.bytes.size());
  size_t size = buffer.getElementSize();
  forEach([&](size_t from, size_t to) {
    std::memcpy(&bytes[to], &buffer.bytes[from], size);
  });
}

void PlacedBuffer::copyBack() {
  size_t size = buffer->getElementSize();
  if (isCopied)
    forEach([&](size_t to, size_t from) {
      std::memcpy(&buffer->bytes[to], &bytes[from], size);
    });
}

void PlacedBuffer::forEach(llvm::function_ref<void(size_t, size_t)> copy) {
  size_t size = buffer->getElementSize();
  ArrayRef<int64_t> shape = buffer->shape;
  SmallVector<int64_t> index(shape.size());
  int64_t place = 0;
  for (int64_t i = 0, end = buffer->getNumElements(); i < end; ++i) {
    copy(i * size, place * size);
    for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
      place += strides[dim];
      if (++index[dim] < shape[dim])
        break;
      place -= strides[dim] * shape[dim];
      index[dim] = 0;
    }
  }
}
