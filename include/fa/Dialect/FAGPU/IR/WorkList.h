//===- WorkList.h - Tiles that each block has its own of --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_WORKLIST_H
#define FA_DIALECT_FAGPU_IR_WORKLIST_H

#include "llvm/ADT/StringRef.h"

namespace mlir::fagpu {

/// Marks a workspace that lists tiles, and an argument of a kernel that is one:
/// each block of threads has tiles of its own, which are a fixed number apart.
/// The words of the list are i32, and the first is the number of tiles.
inline constexpr llvm::StringLiteral workListAttrName = "fagpu.work_list";

/// The word that says how far tiles of a block are apart, and the place of two
/// words for each block: its first tile, and the end of its tiles.
inline constexpr int64_t workListStride = 1, workListHead = 8,
                         workListBlockWords = 2;

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_IR_WORKLIST_H
