//===- tile.cpp - Read a file, print tiled attention ----------------------===//
//
// Part of the fa-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The smallest program that uses the library: docs/Embedding.md builds and runs
// it.
//
//===----------------------------------------------------------------------===//

#include "fa/InitAll.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: tile FILE.mlir\n";
    return 1;
  }
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::tensor::TensorDialect>();
  mlir::fa::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  mlir::PassManager manager(&context);
  mlir::fa::buildFAToLevel2Pipeline(manager);
  if (!module || failed(manager.run(*module)))
    return 1;
  module->print(llvm::outs());
}
