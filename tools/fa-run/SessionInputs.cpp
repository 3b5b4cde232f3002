//===- SessionInputs.cpp - The files and inputs of a run ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentSizes.h"
#include "InputSpec.h"
#include "PastLengths.h"
#include "SessionState.h"
#include "fa/Dialect/FA/IR/FADialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

LogicalResult Session::load() {
  bool compiles = target == TargetKind::Auto || target == TargetKind::CPU ||
                  target == TargetKind::CUDA;
  if (options.bench && !compiles)
    return reportError(
        "--bench times compiled code, but --target=" + getTargetName(target) +
        " does not compile: use --target=cpu or cuda");
  if (!options.grid.empty() && target != TargetKind::Interpret)
    return reportError("--grid is for --target=interpret, not for --target=" +
                       getTargetName(target));
  if (options.asWritten && target != TargetKind::Interpret)
    return reportError("--as-written is for --target=interpret, not for "
                       "--target=" +
                       getTargetName(target));
  // As many as no device has.
  constexpr int64_t mostMultiprocessors = 1024;
  if (options.multiprocessors) {
    int64_t count = *options.multiprocessors;
    if (target != TargetKind::Interpret)
      return reportError("--multiprocessors is for --target=interpret, not for "
                         "--target=" +
                         getTargetName(target));
    if (count < 1 || count > mostMultiprocessors)
      return reportError(
          llvm::formatv("--multiprocessors={0} is no device: expected 1 to {1}",
                        count, mostMultiprocessors)
              .str());
  }
  if (!(options.verifyWork >= 0))
    return reportError(
        "--verify-work=" + llvm::formatv("{0:e}", options.verifyWork).str() +
        " is no amount of work: expected 0 or more operations");
  original = parseProgram(options.file, &context);
  if (!original)
    return failure();
  FailureOr<func::FuncOp> found =
      findEntry(*original, options.entry, options.file);
  if (failed(found))
    return failure();
  entry = running = judge = *found;
  outputs = getOutputs(entry);
  if (options.outputs.size() > outputs.size())
    return reportError(Twine(options.outputs.size()) +
                       " --output options, but '" + entry.getName() + "' has " +
                       Twine(outputs.size()) + " outputs");
  for (StringRef output : options.outputs)
    if (!output.starts_with("@") || output.size() == 1)
      return reportError("--output=" + output +
                         " is malformed: expected @FILE.npy");
  if (!options.strategy.empty()) {
    transformed = cast<ModuleOp>(original.get()->clone());
    if (failed(applyStrategy(*transformed, options.strategy)))
      return failure();
    running = transformed->lookupSymbol<func::FuncOp>(entry.getName());
    if (!running)
      return reportError("--strategy=" + options.strategy + " removed '" +
                         entry.getName() + "'");
  }
  if (!options.against.empty()) {
    other = parseProgram(options.against, &context);
    if (!other)
      return failure();
    // The other file's entry may have a name of its own.
    bool hasSameName = other->lookupSymbol<func::FuncOp>(entry.getName());
    auto otherEntry = findEntry(
        *other, hasSameName ? entry.getName() : StringRef(), options.against);
    if (failed(otherEntry))
      return failure();
    judge = *otherEntry;
  } else if (auto name = entry->getAttrOfType<FlatSymbolRefAttr>(
                 FADialect::implementsAttrName)) {
    judge = original->lookupSymbol<func::FuncOp>(name.getValue());
  }
  return success();
}

LogicalResult Session::makeInputs() {
  unsigned count = entry.getNumArguments();
  if (options.inputs.size() > count)
    return reportError(Twine(options.inputs.size()) +
                       " --input options, but '" + entry.getName() + "' has " +
                       Twine(count) + " arguments");
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    // Neighbouring seeds must not give related values.
    uint64_t seed = options.seed * 0x9e3779b97f4a7c15 + i;
    bool isGiven = i < options.inputs.size();
    auto buffer = isGiven ? makeInput(options.inputs[i], type, seed)
                          : makeDefaultInput(type, seed);
    if (!buffer)
      return reportError("argument " + Twine(i) + " of '" + entry.getName() +
                         "': " + llvm::toString(buffer.takeError()));
    inputs.push_back(std::move(*buffer));
  }
  auto isRandom = [&](unsigned index) {
    return index >= options.inputs.size() ||
           StringRef(options.inputs[index]).find_first_of("=@") ==
               StringRef::npos;
  };
  // An output that nobody gave a value is poisoned.
  for (const Output &output : outputs)
    if (output.isArgument && isRandom(output.index))
      inputs[output.index].poison();
  if (llvm::Error error = boundLengths(judge, inputs, isRandom))
    return reportError(llvm::toString(std::move(error)));
  poisonPastLengths(judge, inputs, isRandom);
  arguments = inputs;
  return success();
}

LogicalResult Session::makeResults() {
  auto shapes = Reference(*original).getResultShapes(entry, inputs);
  if (failed(shapes))
    return failure();
  for (auto [type, shape] : llvm::zip_equal(entry.getResultTypes(), *shapes)) {
    Type elementType = getInterfaceElementType(type);
    if (llvm::Error error = checkMemory(elementType, shape))
      return reportError("result " + Twine(results.size()) + " of '" +
                         entry.getName() +
                         "': " + llvm::toString(std::move(error)));
    results.emplace_back(elementType, shape);
    results.back().poison();
  }
  // Of tensors the evaluator has found the shapes, and what is wrong with them.
  if (llvm::Error error = checkSizes(judge, inputs))
    return reportError(llvm::toString(std::move(error)));
  return success();
}
