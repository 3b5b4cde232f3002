//===- MemoryWrites.h - Whether operations may write memory -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_MEMORYWRITES_H
#define FA_SUPPORT_MEMORYWRITES_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::fa {

/// What the memory is a view of.
inline Value getViewedMemory(Value memory) {
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  return memory;
}

/// Whether two pieces of memory may have an element in common. An allocation
/// has none in common with another one, nor with arguments of a function.
inline bool mayShareMemory(Value a, Value b) {
  a = getViewedMemory(a);
  b = getViewedMemory(b);
  auto isNew = [](Value memory) {
    return memory.getDefiningOp<memref::AllocOp>() != nullptr;
  };
  auto isArgument = [](Value memory) {
    auto argument = dyn_cast<BlockArgument>(memory);
    return argument &&
           isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  };
  if (a == b || (!isNew(a) && !isNew(b)))
    return true;
  return !(isNew(a) || isArgument(a)) || !(isNew(b) || isArgument(b));
}

/// Whether `op`, or an operation in it, may write memory, or where `read` is
/// given, elements of that: a read may not move over it. An operation that says
/// nothing of its effects may.
inline bool mayWriteMemory(Operation *op, Value read = Value()) {
  auto mayWrite = [&](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect()) &&
           (!read || !effect.getValue() ||
            mayShareMemory(effect.getValue(), read));
  };
  auto found = op->walk([&](Operation *nested) {
    if (nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        nested->hasTrait<OpTrait::IsTerminator>() ||
        isa<bufferization::ToTensorOp>(nested))
      return WalkResult::advance();
    auto effects = dyn_cast<MemoryEffectOpInterface>(nested);
    if (!effects)
      return WalkResult::interrupt();
    SmallVector<MemoryEffects::EffectInstance> all;
    effects.getEffects(all);
    return llvm::any_of(all, mayWrite) ? WalkResult::interrupt()
                                       : WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// The same of what stands from `first` on and before `last`, in one block.
inline bool mayWriteMemoryBetween(Operation *first, Operation *last,
                                  Value read = Value()) {
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (!op || mayWriteMemory(op, read))
      return true;
  return false;
}

} // namespace mlir::fa

#endif // FA_SUPPORT_MEMORYWRITES_H
