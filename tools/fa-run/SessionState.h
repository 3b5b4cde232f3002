//===- SessionState.h - What an invocation of fa-run knows ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_SESSIONSTATE_H
#define FA_TOOLS_FA_RUN_SESSIONSTATE_H

#include "CUDATarget.h"
#include "Coverage.h"
#include "Program.h"
#include "Report.h"
#include "Session.h"
#include "fa/Driver/Derivation.h"

namespace mlir::fa {

/// The state of a run, filled step by step; each step may fail with its own
/// diagnostic.
class Session {
public:
  Session(const SessionOptions &options, MLIRContext &context)
      : options(options), context(context), target(options.target) {}

  LogicalResult run();

private:
  // Preparation.
  LogicalResult load();
  LogicalResult chooseTarget();
  LogicalResult preferDevice();
  LogicalResult deriveSchedule();
  LogicalResult compileForDevice();
  LogicalResult makeInputs();
  LogicalResult makeResults();
  // The run.
  LogicalResult runTarget();
  LogicalResult runReferenceTarget();
  LogicalResult runCPUTarget();
  LogicalResult runCUDATarget();
  LogicalResult runInterpreter();
  LogicalResult countWork();
  LogicalResult drawBlockMap();
  LogicalResult proveCoverage();
  // What came of it.
  LogicalResult verifyOutputs();
  LogicalResult reportOutputs();
  LogicalResult writeFiles();

  /// The buffer of an output after the run.
  HostBuffer &getBuffer(const Output &output) {
    return output.isArgument ? arguments[output.index] : results[output.index];
  }
  FailureOr<Coverage> makeCoverage();
  const executor::NumberPolicy &getPolicy(ModuleOp module);
  ErrorBound getBound(unsigned number);
  Type getNarrowestType();

  const SessionOptions &options;
  MLIRContext &context;
  /// Never Auto once the file is read.
  TargetKind target;
  /// The file as it was read, and the function that runs: another one where a
  /// strategy was applied.
  OwningOpRef<ModuleOp> original, transformed, other;
  func::FuncOp entry, running, judge;
  /// Holds the function that runs where that is a problem on a GPU target.
  std::optional<DerivedSchedule> derived;
  std::optional<CUDATarget> deviceCode;
  SmallVector<Output> outputs;
  /// The values before the run, and those that the run may change.
  SmallVector<HostBuffer> inputs, arguments;
  SmallVector<HostBuffer> results;
  Evaluation expected;
  Report report;
};

/// The attention that writes an output of a function, and the number of its
/// destination; null where another operation does.
std::pair<AttentionOp, unsigned> getAttention(func::FuncOp function,
                                              const Output &output);

/// The value of --target.
StringRef getTargetName(TargetKind target);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_SESSIONSTATE_H
