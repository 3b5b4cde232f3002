//===- Tools.cpp - The command-line tools as a function -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../tools/ToolMains.h"
#include "ErrorStream.h"
#include "fa-c/Compiler.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::fa;

int faRunTool(int argc, char **argv) {
  printErrorOutput();
  llvm::StringRef name = argc > 0 ? llvm::sys::path::stem(argv[0]) : "";
  auto *tool = llvm::StringSwitch<int (*)(int, char **)>(name)
                   .Case("fa-opt", optMain)
                   .Case("fa-run", runMain)
                   .Case("fa-compile", compileMain)
                   .Default(nullptr);
  if (tool)
    return tool(argc, argv);
  llvm::errs() << "error: the tool is '" << name
               << "', expected fa-opt, fa-run or fa-compile\n";
  return 1;
}
