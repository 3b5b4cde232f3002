//===- MemoryUsers.cpp - Users of a memory and of its views ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryUsers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

SmallVector<Operation *> fa::findMemoryUsers(Value memory) {
  SmallVector<Value> memories = {memory};
  SmallVector<Operation *> users;
  for (size_t i = 0; i < memories.size(); ++i)
    for (Operation *user : memories[i].getUsers()) {
      // To MLIR a transposed view is no view.
      if (isa<ViewLikeOpInterface, memref::TransposeOp>(user))
        memories.push_back(user->getResult(0));
      else
        users.push_back(user);
    }
  return users;
}
