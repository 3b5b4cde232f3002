//===- Session.h - One invocation of fa-run ---------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_SESSION_H
#define FA_TOOLS_FA_RUN_SESSION_H

#include "Reference.h"

namespace mlir::fa {

enum class TargetKind { Auto, CPU, CUDA, Interpret, Reference };

/// Numbers of the evaluator. Auto rounds where a file casts floats to bits, as
/// expanded math does: there the declared precision is part of the meaning.
enum class Precision { Auto, Float64, Declared };

/// The command line.
struct SessionOptions {
  std::string file, entry, against, jsonFile, strategy, grid, chip;
  /// Batch and head whose block map is drawn instead of a run.
  std::optional<std::array<int64_t, 2>> blockMap;
  TargetKind target = TargetKind::Auto;
  std::vector<std::string> inputs, outputs;
  bool verify = false;
  /// Instead of a run on the inputs.
  bool coverage = false;
  bool bench = false;
  /// The interpreter executes the text, and not what fagpu-plan makes of it.
  bool asWritten = false;
  /// Of the device that the interpreter is.
  std::optional<int64_t> multiprocessors;
  bool peepholes = true;
  Precision precision = Precision::Auto;
  std::optional<double> bound;
  double verifyWork = 0;
  uint64_t seed = 0;
};

/// Runs, verifies, times and reports. Fails, after one diagnostic, for bad
/// input; fails too if an error is above its bound.
LogicalResult runSession(const SessionOptions &options, MLIRContext &context);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_SESSION_H
