//===- Layouts.cpp - Rules on the layouts of block values -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

using namespace mlir;
using namespace mlir::fagpu;

static LogicalResult checkType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  LayoutInterface layout = getBlockLayout(type);
  if (!layout)
    return op->emitOpError()
           << "makes " << type
           << ", which no register layout spreads over threads; expected an "
              "encoding such as #fagpu.acc<4>, or fagpu-infer-layouts before";
  auto role = op->getParentOfType<RoleOp>();
  if (!role || layout.getWarps() == role.getWarps())
    return success();
  return op->emitOpError() << "makes a value of layout " << layout
                           << " in the role @" << role.getSymName()
                           << ", whose groups have " << role.getWarps()
                           << " warps; expected a layout over "
                           << role.getWarps();
}

LogicalResult mlir::fagpu::checkLayouts(func::FuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (failed(checkType(op, type)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
