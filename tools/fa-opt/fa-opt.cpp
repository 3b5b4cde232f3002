//===- fa-opt.cpp - Driver that runs any pass of the project --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ToolMains.h"
#include "CheckOptions.h"
#include "fa/InitAll.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

/// A diagnostic shows the line it is about. The generic form of the operation
/// under it, as mlir-opt adds it, would drown the message of an attention with
/// regions; --mlir-print-op-on-diagnostic brings it back.
static void showOnlyLinesInDiagnostics() {
  mlir::registerMLIRContextCLOptions();
  llvm::cl::Option *option =
      llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  assert(option && "an option of every context");
  static_cast<llvm::cl::opt<bool> *>(option)->setInitialValue(false);
}

int mlir::fa::optMain(int argc, char **argv) {
  addVersion();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  mlir::fa::registerAllDialects(registry);
  mlir::fa::registerAllPasses();
  showOnlyLinesInDiagnostics();
  if (failed(checkOptions(ArrayRef(argv, argc))))
    return 1;
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "fa-mlir optimizer driver\n", registry));
}
