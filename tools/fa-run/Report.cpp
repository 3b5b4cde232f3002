//===- Report.cpp - What fa-run prints ------------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fa-run says in the end, as text and as JSON: errors of each output
// against the reference, times, work. Read `Report::print`, then `toJSON`;
// `passed` is the verdict on all comparisons.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

bool Report::passed() const {
  if (coverage)
    return coverage->passed();
  return llvm::all_of(outputs, [](const OutputReport &output) {
    return !output.comparison || output.comparison->passed();
  });
}

static StringRef getMeasureName(ErrorMeasure measure) {
  switch (measure) {
  case ErrorMeasure::Relative:
    return "relative";
  case ErrorMeasure::Largest:
    return "largest";
  case ErrorMeasure::Exact:
    return "exact";
  }
  llvm_unreachable("unknown measure");
}

static void printComparison(raw_ostream &stream, const Comparison &result) {
  if (result.bound.measure != ErrorMeasure::Exact)
    stream << "  relative error " << llvm::format("%.2e", result.relative)
           << ", largest " << llvm::format("%.2e", result.largest) << ", bound "
           << llvm::format("%.1e", result.bound.limit) << " ("
           << getMeasureName(result.bound.measure) << ")";
  stream << (result.passed() ? ": ok" : ": FAILED");
  if (result.numFinite < result.numCompared && result.numMismatches == 0)
    stream << ", " << result.numFinite << " of " << result.numCompared
           << " elements are finite numbers";
  stream << '\n';
  if (result.isMeaningless())
    stream << "  the reference is NaN in all " << result.numCompared
           << " elements, so no number was compared\n";
  if (result.numMismatches > 0)
    stream << "  " << result.numMismatches << " of " << result.numCompared
           << " elements differ in kind; the first, element "
           << result.firstMismatch << ", is " << result.mismatch << '\n';
}

void Report::print(raw_ostream &stream) const {
  stream << file << " @" << entry << ", target " << target;
  if (!chip.empty())
    stream << " with a schedule for " << chip;
  stream << ", seed " << seed << '\n';
  if (!fallback.empty())
    stream << "not on the GPU: " << fallback << '\n';
  if (asWritten)
    stream << "as written: stages and orders, shared memory, registers and "
              "barriers were not checked\n";
  if (coverage)
    coverage->print(stream);
  for (const OutputReport &output : outputs) {
    stream << output.name << ": " << output.type;
    if (!output.values.empty())
      stream << " = " << output.values;
    if (output.comparison)
      printComparison(stream, *output.comparison);
    else
      stream << '\n';
  }
  StringRef verb = passed() ? "verified" : "compared";
  if (sampledRows)
    stream << verb << " a sample of " << *sampledRows << " of " << totalRows
           << " rows (work above " << llvm::format("%.1e", sampleThreshold)
           << " operations)\n";
  else if (!outputs.empty() && outputs.front().comparison)
    stream << verb << " all rows\n";
  if (referencePrecision == "declared")
    stream << "reference: every result rounded to its declared type\n";
  if (timing) {
    stream << "median time "
           << llvm::format("%.3f", timing->medianSeconds * 1e3) << " ms of "
           << timing->numRuns << " runs\n";
    if (work)
      stream << "speed "
             << llvm::format("%.1f",
                             work->operations / timing->medianSeconds * 1e-9)
             << " GFLOP/s (" << (work->isEstimate ? "about " : "")
             << llvm::format("%.0f", work->pairs) << " visible pairs)\n";
    if (peakBytes)
      stream << "peak memory " << llvm::format("%.1f", *peakBytes / 1048576.0)
             << " MiB beyond inputs and outputs (growth of VmHWM)\n";
  }
  if (compileSeconds)
    stream << "compiled in " << llvm::format("%.2f", *compileSeconds) << " s\n";
}

static llvm::json::Object toJSONObject(const OutputReport &output) {
  llvm::json::Object object{{"name", output.name}, {"type", output.type}};
  if (!output.comparison)
    return object;
  const Comparison &result = *output.comparison;
  object["relative_error"] = result.relative;
  object["largest_error"] = result.largest;
  object["measure"] = getMeasureName(result.bound.measure);
  object["bound"] = result.bound.limit;
  object["compared"] = result.numCompared;
  object["finite"] = result.numFinite;
  object["mismatches"] = result.numMismatches;
  object["passed"] = result.passed();
  return object;
}

static llvm::json::Object toJSONObject(const Timing &timing,
                                       std::optional<int64_t> peakBytes,
                                       std::optional<AttentionWork> work) {
  llvm::json::Object object{{"median_seconds", timing.medianSeconds},
                            {"runs", timing.numRuns}};
  if (peakBytes)
    object["peak_bytes"] = *peakBytes;
  if (work) {
    object["visible_pairs"] = work->pairs;
    object["visible_pairs_estimated"] = work->isEstimate;
    object["operations"] = work->operations;
    object["gflops_per_second"] =
        work->operations / timing.medianSeconds * 1e-9;
  }
  return object;
}

std::string Report::toJSON() const {
  llvm::json::Array results;
  for (const OutputReport &output : outputs)
    results.push_back(toJSONObject(output));
  // As text: a seed may not fit the integers that readers of JSON have.
  llvm::json::Object object{{"file", file},
                            {"entry", entry},
                            {"target", target},
                            {"seed", std::to_string(seed)},
                            {"arguments", llvm::json::Array(arguments)}};
  if (referencePrecision.empty()) {
    object["results"] = std::move(results);
  } else {
    llvm::json::Object verify{{"passed", passed()},
                              {"reference_precision", referencePrecision},
                              {"results", std::move(results)}};
    if (sampledRows)
      verify["sampled_rows"] = *sampledRows;
    if (totalRows)
      verify["total_rows"] = totalRows;
    object["verify"] = std::move(verify);
  }
  if (coverage)
    object["coverage"] =
        llvm::json::Object{{"passed", coverage->passed()},
                           {"pairs", coverage->numPairs},
                           {"undecided", coverage->numUndecided},
                           {"wrong_queries", coverage->faults.size()}};
  if (!chip.empty())
    object["chip"] = chip;
  if (!fallback.empty())
    object["not_on_gpu"] = fallback;
  if (asWritten)
    object["as_written"] = true;
  if (compileSeconds)
    object["compile_seconds"] = *compileSeconds;
  if (timing)
    object["bench"] = toJSONObject(*timing, peakBytes, work);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", llvm::json::Value(std::move(object)))
         << '\n';
  return text;
}
