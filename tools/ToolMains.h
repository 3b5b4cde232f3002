//===- ToolMains.h - The tools as functions ---------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_TOOLMAINS_H
#define FA_TOOLS_TOOLMAINS_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::fa {

/// The tools, each with the arguments and the exit status of a program. One
/// program may hold several, of which one runs in a process: options are
/// registered when it starts.
int optMain(int argc, char **argv);
int runMain(int argc, char **argv);
int compileMain(int argc, char **argv);
int fileCheckMain(int argc, char **argv);
int gridMain(int argc, char **argv);

#ifdef FA_VERSION
/// Puts the project's version under LLVM's, which --version prints.
inline void addVersion() {
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "fa-mlir version " FA_VERSION "\n"; });
}
#endif

} // namespace mlir::fa

#endif // FA_TOOLS_TOOLMAINS_H
