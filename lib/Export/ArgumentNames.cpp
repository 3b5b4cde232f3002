//===- ArgumentNames.cpp - What a manifest calls its arguments ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Export/Compile.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// A name of a manifest has letters, digits and '_', and no digit first.
static std::string makeManifestName(StringRef text) {
  std::string name = text.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name = "arg" + name;
  return name;
}

static std::string findFreeName(StringRef name, ArrayRef<std::string> taken) {
  for (unsigned number = 2;; ++number) {
    std::string free = (name + "_" + Twine(number)).str();
    if (!llvm::is_contained(taken, free))
      return free;
  }
}

/// The launcher refuses a manifest where a name stands for two things.
static LogicalResult checkNames(func::FuncOp function,
                                ArrayRef<StringRef> texts,
                                ArrayRef<std::string> names) {
  for (auto [number, name] : llvm::enumerate(names)) {
    unsigned first = llvm::find(names, name) - names.begin();
    if (name != "multiprocessors" && first == number)
      continue;
    InFlightDiagnostic error = emitError(function.getArgument(number).getLoc())
                               << "argument '%" << texts[number] << "' of '@"
                               << function.getSymName() << "' is '" << name
                               << "' in the manifest, ";
    if (first == number)
      error << "which holds the number of the device's multiprocessors";
    else
      error << "as is '%" << texts[first] << "'";
    return error << "; expected another name, such as '%"
                 << findFreeName(name, names) << "'";
  }
  return success();
}

FailureOr<SmallVector<std::string>>
mlir::fa::getArgumentNames(func::FuncOp function, const AsmParserState &state) {
  SmallVector<StringRef> texts;
  SmallVector<std::string> names;
  const AsmParserState::BlockDefinition *block =
      function.isExternal() ? nullptr
                            : state.getBlockDef(&function.getBody().front());
  if (!block)
    return names;
  for (const AsmParserState::SMDefinition &argument : block->arguments) {
    const char *start = argument.loc.Start.getPointer();
    StringRef text(start, argument.loc.End.getPointer() - start);
    text.consume_front("%");
    texts.push_back(text);
    names.push_back(makeManifestName(text));
  }
  if (failed(checkNames(function, texts, names)))
    return failure();
  return names;
}

/// What the `number`-th result of a problem is called by itself.
static std::string getResultName(func::FuncOp problem, unsigned number) {
  Value value = problem.getBody().front().getTerminator()->getOperand(number);
  if (value.getDefiningOp<AttentionOp>())
    return cast<OpResult>(value).getResultNumber() == 0 ? "output" : "lse";
  return "result" + std::to_string(number);
}

SmallVector<std::string>
mlir::fa::addResultNames(func::FuncOp problem,
                         SmallVector<std::string> arguments) {
  // The names are positions: those that the text does not give come first.
  for (unsigned i = arguments.size(); i < problem.getNumArguments(); ++i)
    arguments.push_back("arg" + std::to_string(i));
  for (unsigned i = 0; i < problem.getNumResults(); ++i) {
    std::string name = getResultName(problem, i);
    if (llvm::is_contained(arguments, name))
      name = findFreeName(name, arguments);
    arguments.push_back(name);
  }
  return arguments;
}
