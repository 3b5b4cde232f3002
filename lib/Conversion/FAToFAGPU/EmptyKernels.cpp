//===- EmptyKernels.cpp - Kernels of functions over nothing ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmptyKernels.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

bool mlir::fa::isOverNothing(func::FuncOp function) {
  return function.isPublic() &&
         llvm::any_of(function.getArgumentTypes(),
                      [](Type type) {
                        auto memory = dyn_cast<MemRefType>(type);
                        return memory && memory.hasStaticShape() &&
                               memory.getNumElements() == 0;
                      }) &&
         llvm::all_of(function.getBody().front().without_terminator(),
                      [](Operation &op) { return isMemoryEffectFree(&op); });
}

void mlir::fa::launchNothing(func::FuncOp function, StringRef chip,
                             int64_t warps, SymbolTable &symbols) {
  Location loc = function.getLoc();
  OpBuilder builder(function);
  auto kernel =
      func::FuncOp::create(builder, loc, (function.getName() + "_kernel").str(),
                           builder.getFunctionType({}, {}));
  kernel->setAttr(fagpu::FAGPUDialect::kernelAttrName,
                  builder.getStringAttr(chip));
  symbols.insert(kernel);
  builder.setInsertionPointToStart(kernel.addEntryBlock());
  auto role = fagpu::RoleOp::create(
      builder, loc, builder.getStringAttr("compute"),
      builder.getI32IntegerAttr(1),
      builder.getI32IntegerAttr(static_cast<int32_t>(warps)), IntegerAttr(),
      UnitAttr(), IntegerAttr());
  func::ReturnOp::create(builder, loc);
  builder.createBlock(&role.getBody(), {}, {builder.getI32Type()}, {loc});
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  Value blocks = arith::ConstantIndexOp::create(builder, loc, 0);
  fagpu::LaunchOp::create(builder, loc, kernel.getName(), blocks,
                          /*condition=*/Value(), ValueRange());
}
