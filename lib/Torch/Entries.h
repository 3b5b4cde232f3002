//===- Entries.h - What a call of an operator runs --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled code by what decides it, which the host is asked for once.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TORCH_ENTRIES_H
#define FA_LIB_TORCH_ENTRIES_H

#include "fa-c/Torch.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace fa::torch {

/// What decides which code runs: no length, no batch, no number of heads, no
/// stride, no number. Of a call, its texts are views of the inputs.
template <typename Text> struct BasicFacts {
  const char *operation;
  int32_t device, queryType, valueType;
  int64_t headDim, valueHeadDim;
  /// Bit n: tensor n of those behind the operands is aligned.
  uint64_t aligned;
  uint32_t flagCount;
  Text more, specification;

  template <typename Other>
  bool operator==(const BasicFacts<Other> &other) const {
    return operation == other.operation && device == other.device &&
           queryType == other.queryType && valueType == other.valueType &&
           headDim == other.headDim && valueHeadDim == other.valueHeadDim &&
           aligned == other.aligned && flagCount == other.flagCount &&
           more == other.more && specification == other.specification;
  }
  /// As the host reads it.
  std::string getKey() const;
};
using Facts = BasicFacts<std::string_view>;
using OwnedFacts = BasicFacts<std::string>;

/// Of `Facts::operation`, which is compared by its address.
extern const char forward[], backward[];

/// The last entries of a thread: most programs make the same few calls.
class RecentEntries {
public:
  /// The entry of a call, which the host is asked for where it is new. Throws
  /// std::runtime_error with what the host says.
  const FaTorchEntry &find(const Facts &facts);

private:
  static constexpr unsigned size = 8;
  struct Slot {
    OwnedFacts facts;
    FaTorchEntry entry;
  };
  Slot slots[size];
  unsigned count = 0, next = 0, known = 0;
};

/// Those of this thread.
RecentEntries &getRecentEntries();

void setCompile(FaTorchCompile compile);

/// Counts the times that all entries became invalid.
unsigned getGeneration();

} // namespace fa::torch

#endif // FA_LIB_TORCH_ENTRIES_H
