//===- fa-run.cpp - Runs, verifies and times functions --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line of fa-run: options, and their translation to those of a
// session, which does the work. Read `runMain`, at the end, then
// `getOptions`. The options' texts are in `CommandLine`.
//
//===----------------------------------------------------------------------===//

#include "../ChoiceParser.h"
#include "../ToolMains.h"
#include "Program.h"
#include "Session.h"
#include "fa/InitAll.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/StringSaver.h"
#include <random>

using namespace mlir;
using namespace mlir::fa;
namespace cl = llvm::cl;

namespace {
/// The options, registered when the program starts and not when it is loaded: a
/// program may hold several tools.
struct CommandLine {
  cl::OptionCategory category{"fa-run options"};
  cl::opt<std::string> fileName{cl::Positional, cl::Required, cl::desc("FILE"),
                                cl::cat(category)};
  cl::opt<std::string> entryName{
      "entry",
      cl::desc("Function to run; none needed if only one is "
               "public"),
      cl::value_desc("NAME"), cl::cat(category)};
  cl::opt<TargetKind, false, ChoiceParser<TargetKind>> target{
      "target", cl::desc("Where to run:"), cl::init(TargetKind::Auto),
      cl::values(
          clEnumValN(TargetKind::Auto, "auto",
                     "a CUDA device where there is one, for a function that "
                     "launches a kernel or has an attention; else the CPU"),
          clEnumValN(TargetKind::CPU, "cpu", "machine code for this processor"),
          clEnumValN(TargetKind::CUDA, "cuda", "a CUDA device"),
          clEnumValN(TargetKind::Interpret, "interpret",
                     "the interpreter of GPU schedules"),
          clEnumValN(TargetKind::Reference, "reference",
                     "the float64 evaluator")),
      cl::cat(category)};
  cl::opt<Precision, false, ChoiceParser<Precision>> precision{
      "precision", cl::desc("Numbers of the evaluator:"),
      cl::init(Precision::Auto),
      cl::values(
          clEnumValN(Precision::Auto, "auto",
                     "declared for a file that casts floats to bits, else "
                     "float64"),
          clEnumValN(Precision::Float64, "float64",
                     "every float is a double, nothing is rounded"),
          clEnumValN(Precision::Declared, "declared",
                     "every result is rounded to its type, as bit tricks "
                     "on floats need")),
      cl::cat(category)};
  cl::list<std::string> inputs{
      "input",
      cl::desc("Value of the next argument: 2x512x8x64xbf16 (random), "
               "f32=0.125, 4xi32=[3,5,7,0] or @q.npy. Arguments with "
               "static shapes need none"),
      cl::value_desc("SPEC"), cl::cat(category)};
  cl::list<std::string> outputs{
      "output", cl::desc("Write the next output to a .npy file"),
      cl::value_desc("@FILE.npy"), cl::cat(category)};
  cl::opt<bool> verifyResults{
      "verify",
      cl::desc("Compare every output with a float64 evaluation; "
               "exit with 1 if an error is above its bound"),
      cl::cat(category)};
  cl::opt<bool> coverage{
      "coverage",
      cl::desc("Prove that each query sees each of its keys once, by values "
               "that name them, and name those that are in no part of the "
               "work, or in several; for an attention with a log-sum-exp"),
      cl::cat(category)};
  cl::opt<std::string> against{
      "against", cl::desc("Verify against the evaluation of another file"),
      cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<double> bound{
      "bound",
      cl::desc("Error bound of --verify for all float outputs, in place of "
               "2e-6 for f32, 1e-3 for f16, 6e-3 for bf16 (relative; 2e-6 "
               "for an f32 output on a CPU), and "
               "1e-5 for f32, 1e-4 otherwise for an lse (largest)"),
      cl::value_desc("ERROR"), cl::cat(category)};
  cl::opt<double> verifyWork{
      "verify-work",
      cl::desc("Operations up to which --verify evaluates all rows of "
               "an attention; above, a seeded sample of this work"),
      cl::init(SampleOptions().maxOperations), cl::value_desc("COUNT"),
      cl::cat(category)};
  cl::opt<bool> bench{"bench",
                      cl::desc("Print median time, speed and peak memory"),
                      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed",
                         cl::desc("Seed of random inputs and interleavings; "
                                  "drawn if neither this nor the variable "
                                  "FA_TEST_SEED gives one"),
                         cl::value_desc("N"), cl::cat(category)};
  cl::opt<std::string> grid{
      "grid",
      cl::desc("Blocks of a kernel that --target=interpret runs without a "
               "host function"),
      cl::value_desc("X[,Y[,Z]]"), cl::cat(category)};
  cl::opt<int64_t> multiprocessors{
      "multiprocessors",
      cl::desc("Multiprocessors of the device that --target=interpret is (3)"),
      cl::value_desc("N"), cl::cat(category)};
  cl::opt<bool> asWritten{
      "as-written",
      cl::desc("Interpret a schedule as its text stands, one operation after "
               "the other: fagpu-plan, which checks and pipelines it, does "
               "not run"),
      cl::cat(category)};
  cl::opt<std::string> chip{
      "chip",
      cl::desc(
          "Whose schedule a function with an attention is turned into: the "
          "device's for --target=cuda, sm_80 for --target=interpret if not "
          "given"),
      cl::value_desc("sm_NN"), cl::cat(category)};
  cl::opt<std::string> blockMap{
      "block-map",
      cl::desc("Print which key blocks each query block of this batch and head "
               "visits (0,0 unless given), and run nothing; blocks as --chip "
               "or the CPU has them"),
      cl::value_desc("BATCH,HEAD"), cl::ValueOptional, cl::cat(category)};
  cl::opt<bool> peepholes{
      "peepholes",
      cl::desc("Run passes that only make kernels of a GPU faster"),
      cl::init(true), cl::cat(category)};
  cl::opt<std::string> jsonFile{"json", cl::desc("Write the report as JSON"),
                                cl::value_desc("FILE"), cl::cat(category)};
  cl::opt<std::string> strategy{
      "strategy",
      cl::desc("Apply @__transform_main of this file before lowering"),
      cl::value_desc("FILE"), cl::cat(category)};

  FailureOr<SessionOptions> getOptions() const;

private:
  LogicalResult checkBlockMap() const;
  LogicalResult checkCoverage() const;
  FailureOr<uint64_t> getSeed() const;
};
} // namespace

/// "BATCH,HEAD", both 0 or more; nothing stands for 0,0.
static FailureOr<std::array<int64_t, 2>> parsePlace(StringRef text) {
  std::array<int64_t, 2> place = {0, 0};
  if (text.empty())
    return place;
  auto [batch, head] = text.split(',');
  if (batch.getAsInteger(10, place[0]) || head.getAsInteger(10, place[1]) ||
      place[0] < 0 || place[1] < 0)
    return reportError("--block-map=" + text +
                       " names no batch and head: expected two numbers from 0 "
                       "on, as 0,0");
  return place;
}

/// A block map runs nothing that another option could ask about.
LogicalResult CommandLine::checkBlockMap() const {
  for (auto [name, count] :
       {std::pair("verify", verifyResults.getNumOccurrences()),
        std::pair("against", against.getNumOccurrences()),
        std::pair("bench", bench.getNumOccurrences()),
        std::pair("output", outputs.getNumOccurrences())})
    if (count)
      return reportError(Twine("--") + name +
                         " is for a run, and --block-map runs nothing: leave "
                         "one of them out");
  bool isCPU = target == TargetKind::Auto || target == TargetKind::CPU;
  if (!isCPU && chip.empty())
    return reportError("--block-map draws the blocks of a CPU, expected --chip "
                       "beside --target to draw those of a GPU");
  return success();
}

/// Coverage has values of its own.
LogicalResult CommandLine::checkCoverage() const {
  for (auto [name, count] :
       {std::pair("verify", verifyResults.getNumOccurrences()),
        std::pair("bench", bench.getNumOccurrences()),
        std::pair("output", outputs.getNumOccurrences()),
        std::pair("block-map", blockMap.getNumOccurrences())})
    if (count)
      return reportError(Twine("--") + name +
                         " is for other values than those of --coverage: "
                         "leave one of them out");
  return success();
}

/// The seed that the caller names: by the option, else by the variable of the
/// test suite, so that a suite's numbers are the same on every machine. Draws
/// one where neither does.
FailureOr<uint64_t> CommandLine::getSeed() const {
  if (seed.getNumOccurrences())
    return uint64_t(seed);
  std::optional<std::string> text = llvm::sys::Process::GetEnv("FA_TEST_SEED");
  if (!text || text->empty())
    return uint64_t(std::random_device()());
  uint64_t number = 0;
  if (StringRef(*text).getAsInteger(10, number))
    return reportError("FA_TEST_SEED=" + *text +
                       " is no seed: expected a number from 0 to 2^64 - 1");
  return number;
}

FailureOr<SessionOptions> CommandLine::getOptions() const {
  SessionOptions options;
  FailureOr<uint64_t> chosenSeed = getSeed();
  if (failed(chosenSeed))
    return failure();
  options.seed = *chosenSeed;
  if (blockMap.getNumOccurrences()) {
    auto place = parsePlace(blockMap);
    if (failed(place) || failed(checkBlockMap()))
      return failure();
    options.blockMap = *place;
  }
  if (coverage && failed(checkCoverage()))
    return failure();
  options.coverage = coverage;
  options.file = fileName;
  options.entry = entryName;
  options.target = target;
  options.inputs.assign(inputs.begin(), inputs.end());
  options.outputs.assign(outputs.begin(), outputs.end());
  options.against = against;
  options.verify = verifyResults || !against.empty();
  if (bound.getNumOccurrences())
    options.bound = bound;
  options.verifyWork = verifyWork;
  options.bench = bench;
  options.precision = precision;
  options.jsonFile = jsonFile;
  options.strategy = strategy;
  options.grid = grid;
  options.chip = chip;
  if (multiprocessors.getNumOccurrences())
    options.multiprocessors = multiprocessors;
  options.asWritten = asWritten;
  options.peepholes = peepholes;
  return options;
}

/// The command line with `--input @FILE` and `--output @FILE` as one word each:
/// a word of its own that starts with @ names a file of more options.
static std::vector<const char *> joinFiles(int argc, char **argv,
                                           llvm::StringSaver &saver) {
  std::vector<const char *> words;
  for (int i = 0; i < argc; ++i) {
    StringRef word = argv[i];
    bool takesFile = StringSwitch<bool>(word)
                         .Cases({"-input", "--input"}, true)
                         .Cases({"-output", "--output"}, true)
                         .Default(false);
    if (takesFile && i + 1 < argc && StringRef(argv[i + 1]).starts_with("@")) {
      words.push_back(saver.save(word + "=" + argv[i + 1]).data());
      ++i;
    } else {
      words.push_back(argv[i]);
    }
  }
  return words;
}

int fa::runMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  addVersion();
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  std::vector<const char *> words = joinFiles(argc, argv, saver);
  CommandLine commandLine;
  cl::HideUnrelatedOptions(commandLine.category);
  cl::ParseCommandLineOptions(
      static_cast<int>(words.size()), words.data(),
      "Runs a function of an MLIR file, verifies and times it\n");
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::fa::registerAllDialects(registry);
  MLIRContext context(registry);
  // Shows the line of a diagnostic; it opens the files itself. The operation in
  // its generic form would drown the message.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  FailureOr<SessionOptions> options = commandLine.getOptions();
  return succeeded(options) && succeeded(runSession(*options, context)) ? 0 : 1;
}
