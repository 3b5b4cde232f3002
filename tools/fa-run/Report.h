//===- Report.h - What fa-run prints ----------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_REPORT_H
#define FA_TOOLS_FA_RUN_REPORT_H

#include "Benchmark.h"
#include "Comparison.h"
#include "Coverage.h"
#include "Reference.h"

namespace mlir::fa {

struct OutputReport {
  std::string name;
  std::string type;
  /// The elements, if they are few.
  std::string values;
  std::optional<Comparison> comparison;
};

/// Everything that one run found out.
struct Report {
  std::string file, entry, target;
  /// Whose schedule was derived; empty if none was.
  std::string chip;
  /// Why a GPU was there and not used; empty otherwise.
  std::string fallback;
  uint64_t seed = 0;
  /// Whether a schedule was interpreted without its plan.
  bool asWritten = false;
  /// Types of the arguments with their sizes.
  std::vector<std::string> arguments;
  std::vector<OutputReport> outputs;
  /// Name of the number policy of the reference.
  std::string referencePrecision;
  /// Rows compared, if a sample was.
  std::optional<int64_t> sampledRows;
  int64_t totalRows = 0;
  double sampleThreshold = 0;
  std::optional<Timing> timing;
  /// Bytes beyond inputs and outputs.
  std::optional<int64_t> peakBytes;
  std::optional<executor::AttentionWork> work;
  std::optional<double> compileSeconds;
  std::optional<Coverage> coverage;

  bool passed() const;
  void print(raw_ostream &stream) const;
  /// The same as one JSON object.
  std::string toJSON() const;
};

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_REPORT_H
