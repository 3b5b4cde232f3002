//===- CheckOptions.cpp - Options of passes on a command line -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckOptions.h"
#include "fa/Driver/PipelineText.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult fa::checkOptions(ArrayRef<char *> words) {
  for (size_t i = 1; i < words.size(); ++i) {
    StringRef word = words[i];
    if (!word.starts_with("-"))
      continue;
    auto [name, value] = word.ltrim('-').split('=');
    bool isPipeline = name == "pass-pipeline";
    if (isPipeline && value.empty() && i + 1 < words.size())
      value = words[++i];
    llvm::Error error =
        isPipeline ? checkPipelineOptions(value) : checkOptions(name, value);
    if (!error)
      continue;
    llvm::WithColor::error(llvm::errs(), "fa-opt")
        << llvm::toString(std::move(error)) << '\n';
    return failure();
  }
  return success();
}
