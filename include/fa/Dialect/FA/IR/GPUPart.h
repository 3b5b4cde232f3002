//===- GPUPart.h - What #fa.gpu says ----------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_GPUPART_H
#define FA_DIALECT_FA_IR_GPUPART_H

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/Hashing.h"
#include <tuple>

#include "fa/Dialect/FA/IR/FAEnums.h.inc"

namespace mlir::fa {

/// tanh(x) is 1 but for 2^-23 where the exponential of 2 x is 2^24, and the
/// product of those that share a reciprocal stays below 2^120, so that it is a
/// normal number: five at most.
inline constexpr int64_t largestTanhExponent = 120;
inline constexpr int64_t mostTanhSharers = largestTanhExponent / 24;

/// The GPU's part of a configuration. `#fa.gpu` describes the fields; what its
/// text leaves out has the value that stands here.
struct GPUPart {
  KernelForm form = KernelForm::warps;
  int64_t stages = 1;
  bool blockTable = false;

  // Of either form.
  TileOrder tileOrder = TileOrder::in_order;

  // Of the form `warps`.
  int64_t columnGroups = 1;
  int64_t blocksPerSM = 1;

  // Of the form `warp_groups`.
  int64_t groups = 1;
  Overlap overlap = Overlap::none;
  int64_t cluster = 1;
  Captures captures = Captures::elements;
  int64_t copyingRegisters = 0;

  // Of its overlap.
  bool turns = false;
  RescalePlace rescale = RescalePlace::after_product;

  // Of `terms`.
  int64_t columns = 0;
  bool keepsQueries = false;
  bool commonStages = false;
  bool rolled = false;

  // Of `tanh`.
  int64_t tanhSharers = 4;
  bool tanhInterleavesRows = false;

  /// Whether one thread copies and groups of warps multiply.
  constexpr bool hasGroups() const { return form == KernelForm::warp_groups; }
  constexpr bool hasOverlap() const { return overlap != Overlap::none; }

  auto asTuple() const {
    return std::tie(form, stages, blockTable, columnGroups, blocksPerSM, groups,
                    overlap, tileOrder, cluster, captures, copyingRegisters,
                    turns, rescale, columns, keepsQueries, commonStages, rolled,
                    tanhSharers, tanhInterleavesRows);
  }

  bool operator==(const GPUPart &other) const {
    return asTuple() == other.asTuple();
  }
  bool operator!=(const GPUPart &other) const { return !(*this == other); }
  friend llvm::hash_code hash_value(const GPUPart &part) {
    return llvm::hash_value(part.asTuple());
  }
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_GPUPART_H
