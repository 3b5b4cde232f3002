//===- MemoryWrites.h - Whether operations may write memory -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_MEMORYWRITES_H
#define FA_SUPPORT_MEMORYWRITES_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::fa {

/// Whether `op`, or an operation in it, may write memory: a read may not move
/// over it. An operation that says nothing of its effects may.
inline bool mayWriteMemory(Operation *op) {
  auto found = op->walk([](Operation *nested) {
    if (nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        nested->hasTrait<OpTrait::IsTerminator>() ||
        isa<bufferization::ToTensorOp>(nested))
      return WalkResult::advance();
    auto effects = dyn_cast<MemoryEffectOpInterface>(nested);
    return !effects || effects.hasEffect<MemoryEffects::Write>()
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// The same of what stands from `first` on and before `last`, in one block.
inline bool mayWriteMemoryBetween(Operation *first, Operation *last) {
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (!op || mayWriteMemory(op))
      return true;
  return false;
}

} // namespace mlir::fa

#endif // FA_SUPPORT_MEMORYWRITES_H
