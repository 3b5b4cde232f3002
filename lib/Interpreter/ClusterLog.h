//===- ClusterLog.h - Boxes that blocks of a cluster share ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_CLUSTERLOG_H
#define FA_LIB_INTERPRETER_CLUSTERLOG_H

#include "Boxes.h"
#include <map>

namespace mlir::fa::interpreter {

/// What the blocks of clusters have put into channels that are multicast: on a
/// device each block copies a share of a box, so that all have to put the same
/// one. Here each copies all of it.
class ClusterLog {
public:
  explicit ClusterLog(int64_t blocks) : blocks(blocks) {}

  /// Notes a use of a bank of a channel by the worker's block. Fails where
  /// another block of its cluster puts another box.
  LogicalResult add(Worker &worker, Operation *op, Operation *channel,
                    int64_t bank, int64_t use, const Box &box);
  /// Refuses what only some blocks of a cluster have put.
  LogicalResult checkEnd() const;

private:
  struct Use {
    Operation *channel;
    int64_t bank, use, cluster;

    bool operator<(const Use &other) const {
      return std::tie(channel, bank, use, cluster) <
             std::tie(other.channel, other.bank, other.use, other.cluster);
    }
  };
  struct Entry {
    Operation *op;
    int64_t block;
    Box box;
    int64_t numBlocks;
  };

  int64_t blocks;
  std::map<Use, Entry> entries;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_CLUSTERLOG_H
