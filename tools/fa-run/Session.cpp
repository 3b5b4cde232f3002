//===- Session.cpp - One invocation of fa-run -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "BlockMap.h"
#include "InputSpec.h"
#include "Npy.h"
#include "SessionState.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// Outputs of up to this many elements are printed when they are not compared.
static constexpr int64_t maxPrinted = 32;

/// The elements of each output that the sampled rows cover.
static SmallVector<std::vector<int64_t>>
getSampledElements(func::FuncOp judge, const Evaluation &expected) {
  SmallVector<std::vector<int64_t>> elements;
  for (auto [sampled, value] :
       llvm::zip(getSampledOutputs(judge), expected.outputs))
    elements.push_back(
        getElementsOfRows(sampled, value.array().shape, *expected.rows));
  return elements;
}

static LogicalResult checkSameShape(const Output &output,
                                    const HostBuffer &buffer,
                                    const RuntimeValue &value) {
  SmallVector<int64_t> shape;
  if (value.object)
    llvm::append_range(shape, value.array().shape);
  if (ArrayRef<int64_t>(shape) == ArrayRef<int64_t>(buffer.shape))
    return success();
  return reportError(output.name + " has type " + buffer.getTypeName() +
                     ", but the reference has another shape");
}

LogicalResult Session::writeFiles() {
  for (auto [output, path] : llvm::zip(outputs, options.outputs)) {
    // The evaluator's doubles become the declared type in files.
    HostBuffer &buffer = getBuffer(output);
    HostBuffer written(getInterfaceElementType(output.type), buffer.shape);
    for (int64_t i = 0, e = buffer.getNumElements(); i < e; ++i)
      written.set(i, buffer.get(i));
    if (llvm::Error error = writeNpy(StringRef(path).drop_front(), written))
      return reportError(llvm::toString(std::move(error)));
  }
  if (options.jsonFile.empty())
    return success();
  if (llvm::Error error = writeTextFile(options.jsonFile, report.toJSON()))
    return reportError(llvm::toString(std::move(error)));
  return success();
}

LogicalResult Session::reportOutputs() {
  SmallVector<std::vector<int64_t>> elements;
  if (expected.rows)
    elements = getSampledElements(judge, expected);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    HostBuffer &buffer = getBuffer(output);
    std::string type =
        HostBuffer(getInterfaceElementType(output.type), {}).getTypeName();
    OutputReport &line = report.outputs.emplace_back();
    line.name = output.name;
    for (int64_t size : buffer.shape)
      line.type += std::to_string(size) + "x";
    line.type += type;
    if (!options.verify) {
      if (buffer.getNumElements() <= maxPrinted)
        line.values = buffer.getValuesText();
      continue;
    }
    if (failed(checkSameShape(output, buffer, expected.outputs[i])))
      return failure();
    line.comparison =
        compare(buffer, expected.outputs[i], getBound(i),
                expected.rows ? &elements[i] : nullptr,
                expected.spoiledOutputs.empty() ? nullptr
                                                : &expected.spoiledOutputs[i]);
  }
  return success();
}

LogicalResult Session::drawBlockMap() {
  if (failed(makeInputs()) || failed(makeResults()))
    return failure();
  auto [batch, head] = *options.blockMap;
  auto map = makeBlockMap(running, options.chip.empty() ? "cpu" : options.chip,
                          inputs, results, batch, head);
  if (failed(map))
    return failure();
  llvm::outs() << options.file << " @" << entry.getName() << ", ";
  map->print(llvm::outs());
  if (options.jsonFile.empty())
    return success();
  if (llvm::Error error = writeTextFile(options.jsonFile, map->toJSON()))
    return reportError(llvm::toString(std::move(error)));
  return success();
}

LogicalResult Session::run() {
  if (failed(load()))
    return failure();
  if (options.blockMap)
    return drawBlockMap();
  if (failed(chooseTarget()) || failed(makeInputs()))
    return failure();
  report.file = options.file;
  report.entry = entry.getName();
  report.target = getTargetName(target);
  if (derived)
    report.chip = derived->chip;
  report.seed = options.seed;
  report.asWritten = options.asWritten;
  for (const HostBuffer &buffer : inputs)
    report.arguments.push_back(buffer.getTypeName());
  if (options.coverage) {
    if (failed(proveCoverage()))
      return failure();
  } else if (failed(makeResults()) || failed(runTarget()) ||
             (options.verify && failed(verifyOutputs())) ||
             failed(reportOutputs())) {
    return failure();
  }
  report.print(llvm::outs());
  if (failed(writeFiles()))
    return failure();
  return success(report.passed());
}

LogicalResult fa::runSession(const SessionOptions &options,
                             MLIRContext &context) {
  return Session(options, context).run();
}
