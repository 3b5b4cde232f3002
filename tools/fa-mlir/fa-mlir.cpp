//===- fa-mlir.cpp - All tools in one program -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the portable bundle: LLVM and MLIR are linked in once.
//
//===----------------------------------------------------------------------===//

#include "../ToolMains.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::fa;

static constexpr std::pair<llvm::StringLiteral, int (*)(int, char **)> tools[] =
    {{"fa-opt", optMain},
     {"fa-run", runMain},
     {"fa-compile", compileMain},
     {"fa-grid", gridMain},
     {"FileCheck", fileCheckMain}};

static auto *findTool(llvm::StringRef path) {
  return llvm::find_if(tools, [&](const auto &tool) {
    return tool.first == llvm::sys::path::stem(path);
  });
}

/// Runs the tool that the program is called as, or that its first argument
/// names.
int main(int argc, char **argv) {
  auto *tool = findTool(argv[0]);
  if (tool == std::end(tools) && argc > 1) {
    --argc;
    ++argv;
    tool = findTool(argv[0]);
  }
  if (tool != std::end(tools))
    return tool->second(argc, argv);
  llvm::errs()
      << "fa-mlir: error: expected a link to this program called, or a "
         "first argument that is, one of";
  for (const auto &known : tools)
    llvm::errs() << ' ' << known.first;
  llvm::errs() << '\n';
  return 1;
}
