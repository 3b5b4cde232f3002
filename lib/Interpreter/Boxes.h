//===- Boxes.h - Boxes of global memory -------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_BOXES_H
#define FA_LIB_INTERPRETER_BOXES_H

#include "WriteLog.h"
#include "fa/Executor/Value.h"
#include "mlir/IR/Operation.h"

namespace mlir::fa::interpreter {

class Worker;

/// A box of memory whose elements, row-major, are those of a tile.
struct Box {
  executor::Array *memory;
  SmallVector<int64_t> offsets, sizes;
  /// The dimension that `limit` is about: indices from it on are not touched.
  unsigned rowDim;
  int64_t limit;
  /// The same for the last dimension, where it is bounded.
  std::optional<int64_t> columnLimit = std::nullopt;
  /// Whether each dimension is bounded by its size.
  bool padded = false;

  /// One piece of the last dimension, which nothing bounds.
  static Box ofPiece(executor::Array &memory, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> sizes) {
    return {&memory, SmallVector<int64_t>(offsets), SmallVector<int64_t>(sizes),
            static_cast<unsigned>(sizes.size() - 1),
            std::numeric_limits<int64_t>::max()};
  }
};

/// Refuses a piece that does not start at a multiple of 16 bytes, in memory
/// that does.
LogicalResult checkPiece(Worker &worker, Operation *op, const Box &piece,
                         Type element);

/// Calls `visit(first, count, elements, stride)` for each row of the box:
/// `first` is the position in the tile of its first element, `count` how many
/// of its elements are below the limits, `elements` those, null if there are
/// none, and `stride` the distance between them. Fails if an element below the
/// limit is outside the memory, or if nothing orders this access with one of
/// another group.
LogicalResult
visitBox(Worker &worker, Operation *op, const Box &box, Access access,
         llvm::function_ref<void(int64_t first, int64_t count,
                                 executor::Slot *elements, int64_t stride)>
             visit);

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_BOXES_H
