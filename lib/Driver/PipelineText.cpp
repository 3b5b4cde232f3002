//===- PipelineText.cpp - Pipelines as text -------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/PipelineText.h"
#include "fa/Pipelines/RegisterPipeline.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"

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
llvm::Error fa::checkOptions(StringRef name, StringRef options) {
  const PassInfo *pass = PassInfo::lookup(name);
  const PassRegistryEntry *entry = pass;
  if (!pass)
    entry = PassPipelineInfo::lookup(name);
  // Upstream's pipelines print errors of their own.
  if (!entry || !name.starts_with("fa"))
    return llvm::Error::success();
  if (options.consume_front("{"))
    options.consume_back("}");
  OpPassManager manager;
  std::string message;
  auto refuse = [&](const Twine &text) {
    message = text.str();
    return failure();
  };
  if (succeeded(entry->addToPipeline(manager, options, refuse)))
    return llvm::Error::success();
  if (pass)
    message = explainOptions(name, message, printOptions(*pass));
  return llvm::createStringError(message);
}

llvm::Error fa::checkPipelineOptions(StringRef text) {
  auto isInName = [](char c) { return llvm::isAlnum(c) || c == '-'; };
  for (size_t open = text.find('{'); open != StringRef::npos;
       open = text.find('{', open + 1)) {
    size_t start = open;
    while (start && isInName(text[start - 1]))
      --start;
    size_t close = text.find('}', open);
    if (llvm::Error error =
            checkOptions(text.slice(start, open), text.slice(open + 1, close)))
      return error;
  }
  return llvm::Error::success();
}

/// The parser's first message, without the text that it repeats.
static StringRef getMessage(StringRef printed) {
  printed = printed.substr(printed.find("error: "));
  printed.consume_front("error: ");
  return printed.split('\n').first;
}

llvm::Error fa::addPipeline(PassManager &manager, StringRef text) {
  text = text.trim();
  StringRef passes = text;
  if (passes.consume_front("builtin.module(") && !passes.consume_back(")"))
    return llvm::createStringError("the pipeline '" + text +
                                   "' does not end its 'builtin.module('");
  if (llvm::Error error = checkPipelineOptions(passes))
    return error;
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  if (succeeded(parsePassPipeline(passes, manager, stream)))
    return llvm::Error::success();
  StringRef message = getMessage(printed);
  return llvm::createStringError("the pipeline '" + text + "' is malformed" +
                                 (message.empty() ? "" : ": ") + message);
}
