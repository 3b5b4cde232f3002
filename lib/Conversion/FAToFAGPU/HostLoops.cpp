//===- HostLoops.cpp - Memory in loops of the host ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostLoops.h"
#include "MemoryUsers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

bool fa::isInHostLoop(Value memory) {
  return llvm::any_of(findMemoryUsers(memory), [](Operation *user) {
    bool isInLoop = false;
    // A tile becomes a kernel, with the loops in it.
    for (; user; user = user->getParentOp())
      isInLoop = isa<scf::ForOp, scf::WhileOp>(user) ||
                 (isInLoop && !isa<scf::ForallOp>(user));
    return isInLoop;
  });
}
