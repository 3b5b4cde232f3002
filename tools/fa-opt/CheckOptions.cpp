//===- CheckOptions.cpp - Options of passes on a command line -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckOptions.h"
#include "fa/Pipelines/RegisterPipeline.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::fa;

/// The options of a pass as it prints them: {a=1 b=2}; empty if it has none.
static std::string printOptions(const PassInfo &pass) {
  OpPassManager manager;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (succeeded(pass.addToPipeline(manager, "",
                                   [](const Twine &) { return failure(); })))
    manager.printAsTextualPipeline(stream);
  size_t first = text.find(pass.getPassArgument().str() + "{");
  if (first == std::string::npos)
    return {};
  // What follows closes the nesting around it.
  StringRef rest = StringRef(text).substr(text.find('{', first));
  return rest.take_front(rest.rfind('}') + 1).str();
}

/// Adds the pass or pipeline to one that nobody runs.
static LogicalResult check(StringRef name, StringRef options) {
  const PassInfo *pass = PassInfo::lookup(name);
  const PassRegistryEntry *entry = pass;
  if (!pass)
    entry = PassPipelineInfo::lookup(name);
  // Upstream's pipelines print errors of their own.
  if (!entry || !name.starts_with("fa"))
    return success();
  if (options.consume_front("{"))
    options.consume_back("}");
  OpPassManager manager;
  std::string message;
  auto refuse = [&](const Twine &text) {
    message = text.str();
    return failure();
  };
  if (succeeded(entry->addToPipeline(manager, options, refuse)))
    return success();
  if (pass)
    message = explainOptions(name, message, printOptions(*pass));
  llvm::WithColor::error(llvm::errs(), "fa-opt") << message << '\n';
  return failure();
}

/// All NAME{OPTIONS} of a textual pipeline.
static LogicalResult checkPipeline(StringRef text) {
  auto isInName = [](char c) { return llvm::isAlnum(c) || c == '-'; };
  for (size_t open = text.find('{'); open != StringRef::npos;
       open = text.find('{', open + 1)) {
    size_t start = open;
    while (start && isInName(text[start - 1]))
      --start;
    size_t close = text.find('}', open);
    if (failed(check(text.slice(start, open), text.slice(open + 1, close))))
      return failure();
  }
  return success();
}

LogicalResult fa::checkOptions(ArrayRef<char *> words) {
  for (size_t i = 1; i < words.size(); ++i) {
    StringRef word = words[i];
    if (!word.starts_with("-"))
      continue;
    auto [name, value] = word.ltrim('-').split('=');
    bool isPipeline = name == "pass-pipeline";
    if (isPipeline && value.empty() && i + 1 < words.size())
      value = words[++i];
    if (failed(isPipeline ? checkPipeline(value) : check(name, value)))
      return failure();
  }
  return success();
}
