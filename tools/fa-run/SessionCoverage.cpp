//===- SessionCoverage.cpp - Runs that prove which keys rows see ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionState.h"

using namespace mlir;
using namespace mlir::fa;

/// Of a function with one attention, whose outputs it gives back as they are
/// and whose values are an argument of their own.
FailureOr<Coverage> Session::makeCoverage() {
  auto refuse = [&](const Twine &problem) {
    return reportError("--coverage: '" + judge.getName() + "' " + problem);
  };
  SmallVector<AttentionOp> all;
  judge.walk([&](AttentionOp op) { all.push_back(op); });
  if (all.size() != 1)
    return refuse("has " + Twine(all.size()) +
                  " operations fa.attention, expected one; of a schedule, name "
                  "the file of its problem by --against");
  AttentionOp op = all.front();
  auto values = dyn_cast<BlockArgument>(op.getValue());
  if (!values || values.getOwner() != &judge.front() || !values.hasOneUse())
    return refuse("has values that are no argument of their own, expected one "
                  "that nothing else reads");
  std::optional<unsigned> output, lse;
  for (auto [number, candidate] : llvm::enumerate(getOutputs(judge))) {
    auto [writer, destination] = getAttention(judge, candidate);
    if (writer == op)
      (destination == 0 ? output : lse) = static_cast<unsigned>(number);
  }
  if (!output || !lse)
    return refuse("does not give back the output and the log-sum-exp of its "
                  "attention, expected both as they are");
  unsigned number = values.getArgNumber();
  return Coverage(op, number, *output, *lse, inputs[number].shape);
}

LogicalResult Session::proveCoverage() {
  FailureOr<Coverage> coverage = makeCoverage();
  if (failed(coverage))
    return failure();
  ModuleOp module = judge->getParentOfType<ModuleOp>();
  Reference reference(module, getPolicy(module));
  for (int64_t run = 0; run < coverage->countRuns(); ++run) {
    coverage->setInputs(inputs, run);
    arguments = inputs;
    results.clear();
    if (failed(makeResults()))
      return failure();
    SmallVector<HostBuffer> before(results);
    if (failed(runTarget()))
      return failure();
    FailureOr<Evaluation> evaluation =
        reference.evaluate(judge, inputs, before);
    if (failed(evaluation))
      return failure();
    SmallVector<const HostBuffer *> found;
    for (const Output &output : outputs)
      found.push_back(&getBuffer(output));
    coverage->compare(run, found, *evaluation);
  }
  report.coverage.emplace(std::move(*coverage));
  return success();
}
