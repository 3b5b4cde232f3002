//===- PageCopies.h - Who copies rows in pages ------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A role of one thread that copies rows in pages is run by all lanes of all its
// warps, which share these copies. One thread of it does everything else.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_PAGECOPIES_H
#define FA_DIALECT_FAGPU_IR_PAGECOPIES_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace mlir::fagpu {

/// On a fagpu.ticket of a role whose warps share copies, set by
/// fagpu-plan-resources: where in shared memory they hear of it.
inline constexpr StringLiteral toldAtAttrName = "fagpu.told_at";

/// On a fagpu.role whose warps all run it, set by convert-fagpu-to-nvvm.
inline constexpr StringLiteral runByLanesAttrName = "fagpu.run_by_lanes";

/// Whether a role of one thread is run by all of its warps.
inline bool sharesCopies(RoleOp role) {
  return role
      .walk([](PutOp put) {
        return put.getPages() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// How a put copies rows in pages as boxes: each has so many rows, of one page.
struct PageBoxes {
  int64_t rows, count;

  explicit PageBoxes(PutOp put) {
    int64_t ofTile = put.getSizes()[put.getRowDim()];
    int64_t ofPage =
        cast<MemRefType>(put.getSource().getType()).getDimSize(put.getRowDim());
    rows = std::min(ofTile, ofPage);
    count = ofTile / rows;
  }
  /// Boxes that a warp copies at most: they take turns.
  int64_t getPerWarp(int64_t warps) const {
    return llvm::divideCeil(count, warps);
  }
};

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_IR_PAGECOPIES_H
