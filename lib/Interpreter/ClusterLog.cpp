//===- ClusterLog.cpp - Boxes that blocks of a cluster share --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClusterLog.h"
#include "Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

static std::string describe(const Box &box) {
  std::string text = "[";
  for (auto [index, offset] : llvm::enumerate(box.offsets))
    text += (index ? ", " : "") + std::to_string(offset);
  return text + "] up to row " + std::to_string(box.limit);
}

static bool isSame(const Box &a, const Box &b) {
  return a.memory->data() == b.memory->data() && a.offsets == b.offsets &&
         a.limit == b.limit && a.columnLimit == b.columnLimit;
}

LogicalResult ClusterLog::add(Worker &worker, Operation *op, Operation *channel,
                              int64_t bank, int64_t use, const Box &box) {
  int64_t block = worker.getBlock().getNumber();
  auto [known, isFirst] = entries.insert(
      {{channel, bank, use, block / blocks}, {op, block, box, 1}});
  if (isFirst)
    return success();
  Entry &entry = known->second;
  if (!isSame(entry.box, box))
    return worker.fail(op, llvm::formatv("puts the box at {0} into use {1} of "
                                         "a channel of its cluster, but block "
                                         "{2} puts the one at {3}",
                                         describe(box), use, entry.block,
                                         describe(entry.box)));
  if (++entry.numBlocks == blocks)
    entries.erase(known);
  return success();
}

LogicalResult ClusterLog::checkEnd() const {
  if (entries.empty())
    return success();
  auto &[use, entry] = *entries.begin();
  return entry.op->emitOpError()
         << "puts use " << use.use << " of a channel of its cluster in "
         << entry.numBlocks << " of " << blocks
         << " blocks, expected it in all of them; the first is block "
         << entry.block;
}
