//===- KernelKind.h - What kernel a loop over tiles becomes -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `KernelKind` is read from the operations in a loop before it is outlined: the
// kernel's name, its warps and its configuration, and in which order tiles
// come.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_KERNELKIND_H
#define FA_LIB_CONVERSION_FATOFAGPU_KERNELKIND_H

#include "KernelConfig.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

struct KernelKind {
  /// Fails where steps of the loop have several configurations.
  LogicalResult read(scf::ForallOp loop);

  /// Before it is read, those of a kernel of which nothing else says how many.
  int64_t warps;
  /// What the kernel's name has behind that of the function.
  StringRef suffix = "_kernel";
  /// Whether the loop adds results of parts of the keys, or lists the tiles of
  /// another one.
  bool isMerge = false, isPlan = false;
  /// Whether the sums of its steps have one order.
  bool isOrdered = false;
  /// Whether the first block of a sequence comes first, and not the last one.
  bool isAscending = false;
  /// A step of the attention in the loop, and what it is configured by; null
  /// where there is none.
  AttentionLikeOpInterface step;
  ConfigAttr config;
  GPUPart part;

private:
  LogicalResult readConfig(scf::ForallOp loop);
  void chooseWarps(scf::ForallOp loop);
  void chooseSuffix(scf::ForallOp loop);
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_KERNELKIND_H
