//===- CheckOptions.cpp - Options of passes on a command line -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckOptions.h"
#include "fa/Driver/PipelineText.h"
#include "llvm/Support/WithColor.h"
#include <cstdio>
#include <tuple>
#include <unistd.h>

using namespace mlir;
using namespace mlir::fa;

/// What `action` prints to the standard error of the process.
static std::string captureErrors(function_ref<void()> action) {
  std::FILE *file = std::tmpfile();
  int errors = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  action();
  dup2(errors, STDERR_FILENO);
  close(errors);
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;)
    text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

/// LLVM's parsers of values print what is wrong instead of returning it, as
/// ": for the --rows option: 'x' value invalid for long argument!".
static std::string explain(StringRef message, StringRef printed) {
  auto [option, reason] = printed.split("for the --").second.split(" option: ");
  if (reason.empty() || !message.consume_back("an option of an illegal value"))
    return message.str();
  return (message + "an illegal value for the option " + option + ": " +
          reason.rtrim().rtrim('!'))
      .str();
}

LogicalResult fa::checkOptions(ArrayRef<char *> words) {
  for (size_t i = 1; i < words.size(); ++i) {
    StringRef word = words[i];
    if (!word.starts_with("-"))
      continue;
    StringRef name, value;
    std::tie(name, value) = word.ltrim('-').split('=');
    bool isPipeline = name == "pass-pipeline";
    if (isPipeline && value.empty() && i + 1 < words.size())
      value = words[++i];
    std::string message;
    std::string printed = captureErrors([&] {
      message = llvm::toString(isPipeline ? checkPipelineOptions(value)
                                          : checkOptions(name, value));
    });
    if (message.empty())
      continue;
    llvm::WithColor::error(llvm::errs(), "fa-opt")
        << explain(message, printed) << '\n';
    return failure();
  }
  return success();
}
