//===- FitConfig.h - Suit a configuration to the problem --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_FITCONFIG_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_FITCONFIG_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Target/Target.h"

namespace mlir::fa {

/// Threads copy a block of keys as one box, so it lies in one page. Fails
/// with one diagnostic.
LogicalResult verifyPages(AttentionOp op, ConfigAttr config, bool isGiven,
                          StringRef target);

/// What suits sequences of their own: keys of a block lie in one page, unless
/// results may not depend on pages. Query blocks have keys of their own each,
/// so a GPU neither sorts them nor shares what they read.
ConfigAttr fitSequences(ConfigAttr config, AttentionOp op);

/// Parts of the keys for threads that query blocks leave without work, where
/// keys are so many that a part is long. Never where blocks keep all busy. Adds
/// to the reason.
ConfigAttr fillThreads(ConfigAttr config, AttentionOp op, const Target &target,
                       std::string &reason);

/// Parts of the keys for multiprocessors that few queries leave without work:
/// so many keys each at least, or exactly where results may not depend on the
/// batch. Adds to the reason.
ConfigAttr fillDevice(ConfigAttr config, AttentionOp op, const Target &target,
                      std::string &reason);

/// Blocks that share a multiprocessor, where parts of the keys are made for as
/// many as fill the device.
ConfigAttr shareProcessors(ConfigAttr config, AttentionOp op,
                           const Target &target,
                           const AttentionProblem &problem);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_FITCONFIG_H
