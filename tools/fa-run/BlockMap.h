//===- BlockMap.h - Which key blocks a query block visits -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_BLOCKMAP_H
#define FA_TOOLS_FA_RUN_BLOCKMAP_H

#include "fa/Driver/HostBuffer.h"
#include "fa/Executor/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// The key blocks that a tiled attention visits for one batch and head.
struct BlockMap {
  int64_t batch = 0, head = 0;
  /// All rows, and rows of a block; 0 queries where nothing was visited.
  int64_t queries = 0, keys = 0, queryBlock = 0, keyBlock = 0;
  std::vector<executor::KeyBlockVisit> visits;

  /// One line for each query block: '#' for a full key block, '+' for a partial
  /// one, whose mask is asked, '.' for one that is skipped.
  void print(raw_ostream &stream) const;
  std::string toJSON() const;

private:
  std::vector<std::string> getRows() const;
};

/// Tiles `function`, which holds one fa.attention, as `chip` would have it (a
/// GPU's name or "cpu"), and records what its steps visit on these arguments
/// and results; nothing is computed. Fails with one diagnostic.
FailureOr<BlockMap> makeBlockMap(func::FuncOp function, StringRef chip,
                                 ArrayRef<HostBuffer> arguments,
                                 ArrayRef<HostBuffer> results, int64_t batch,
                                 int64_t head);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_BLOCKMAP_H
