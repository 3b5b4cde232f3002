//===- standalone-opt.cpp - Driver of the standalone compiler -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Standalone/Standalone.h"
#include "fa/InitAll.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::tensor::TensorDialect,
                  standalone::StandaloneDialect>();
  mlir::registerTransformsPasses();
  mlir::fa::registerAllDialects(registry);
  mlir::fa::registerAllPasses();
  standalone::registerStandalonePasses();
  standalone::registerStandalonePipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "standalone compiler\n", registry));
}
