//===- Problem.h - Attention described by values ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_PROBLEM_H
#define FA_DRIVER_PROBLEM_H

#include "fa-c/Compiler.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::fa {

/// The text of a module with one function that holds the attention. An error
/// for a field that the text could not express; what only the operation's
/// verifier knows is left to it.
llvm::Expected<std::string> writeProblem(const FaProblem &problem);

} // namespace mlir::fa

#endif // FA_DRIVER_PROBLEM_H
