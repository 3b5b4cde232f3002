//===- Boxes.cpp - Boxes of global memory ---------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Boxes.h"
#include "Machine.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

/// How much of each dimension lies below its limit.
static SmallVector<int64_t> getTouchedSizes(const Box &box) {
  SmallVector<int64_t> sizes = box.sizes;
  auto bound = [&](unsigned dim, int64_t limit) {
    sizes[dim] = std::clamp<int64_t>(limit - box.offsets[dim], 0, sizes[dim]);
  };
  if (box.padded)
    for (auto [dim, size] : llvm::enumerate(box.memory->shape))
      bound(dim, size);
  bound(box.rowDim, box.limit);
  if (box.columnLimit)
    bound(sizes.size() - 1, *box.columnLimit);
  return sizes;
}

static LogicalResult checkInside(Worker &worker, Operation *op, const Box &box,
                                 ArrayRef<int64_t> touched) {
  if (getNumElements(touched) == 0)
    return success();
  for (auto [dim, offset] : llvm::enumerate(box.offsets)) {
    int64_t last = offset + touched[dim] - 1, size = box.memory->shape[dim];
    if (offset >= 0 && last < size)
      continue;
    return worker.fail(op, "touches index " +
                               Twine(offset < 0 ? offset : last) +
                               " of dimension " + Twine(dim) +
                               " of the memory, which has " + Twine(size));
  }
  return success();
}

LogicalResult interpreter::checkPiece(Worker &worker, Operation *op,
                                      const Box &piece, Type element) {
  int64_t place = 0;
  for (auto [offset, stride] :
       llvm::zip_equal(piece.offsets, piece.memory->strides))
    place += offset * stride;
  int64_t bytes = place * element.getIntOrFloatBitWidth() / 8;
  if (bytes % 16 == 0)
    return success();
  return worker.fail(op, "moves a piece from byte " + Twine(bytes) +
                             " of the memory on, expected a multiple of 16");
}

LogicalResult interpreter::visitBox(
    Worker &worker, Operation *op, const Box &box, Access access,
    llvm::function_ref<void(int64_t, int64_t, Slot *, int64_t)> visit) {
  SmallVector<int64_t> touched = getTouchedSizes(box);
  if (failed(checkInside(worker, op, box, touched)))
    return failure();
  const Array &memory = *box.memory;
  WriteLog &log = worker.getBlock().getGrid().writes;
  int64_t length = box.sizes.back(), stride = memory.strides.back();
  int64_t numRows = getNumElements(box.sizes) / length;
  int64_t lastDim = box.sizes.size() - 1;
  for (int64_t row = 0; row < numRows; ++row) {
    // The position of the row: its number in the leading sizes.
    int64_t rest = row;
    int64_t offset = memory.offset + box.offsets[lastDim] * stride;
    bool isTouched = touched[lastDim] > 0;
    for (int64_t dim = lastDim - 1; dim >= 0; --dim) {
      int64_t index = rest % box.sizes[dim];
      rest /= box.sizes[dim];
      isTouched &= index < touched[dim];
      offset += (box.offsets[dim] + index) * memory.strides[dim];
    }
    if (!isTouched) {
      visit(row * length, 0, nullptr, stride);
      continue;
    }
    if (failed(log.note(worker, op, *memory.storage, offset, touched[lastDim],
                        stride, access)))
      return failure();
    visit(row * length, touched[lastDim], memory.storage->data() + offset,
          stride);
  }
  return success();
}
