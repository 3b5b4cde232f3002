//===- fa-grid.cpp - Runs many problems in one process --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The native half of test/Integration/CPU/numeric_grid.py. It compiles the
// function `main` of a module once and then runs it on one problem after the
// other, on the target and in the float64 evaluator. Requests arrive on
// standard input and answers leave on standard output, a JSON object a line:
//
//   {"module": FILE, "compiled": FILE}
//       compiles; the problems that follow belong to it. "compiled" may name
//       another module for the target, to try out faults.
//   {"data": FILE, "reference": FILE,
//    "arguments": [VIEW or {"value": number}...], "results": [VIEW...]}
//
//   {"launches": N, "problems": [requests like the former, ...]}
//       launches on a device, on one problem after the other in random order
//       and without a wait between.
//
//   VIEW: {"offset": bytes, "shape": [...], "strides": [...]}
//
// `data` holds the bytes of all arrays. It is mapped and updated in place, so
// that the caller sees everything that was written. `reference` receives the
// evaluator's results, row-major, 8 bytes an element; the evaluator does not
// run where it is absent. An answer is {"seconds": ...} or {"error": text}.
//
//===----------------------------------------------------------------------===//

#include "../ToolMains.h"
#include "Server.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include <iostream>

using namespace mlir;
using namespace mlir::fa;
namespace cl = llvm::cl;

namespace {
enum class GridTarget { CPU, Interpret, CUDA, None };

struct CommandLine {
  cl::opt<GridTarget> target{
      "target", cl::desc("What problems run on"), cl::init(GridTarget::CPU),
      cl::values(clEnumValN(GridTarget::CPU, "cpu", "machine code"),
                 clEnumValN(GridTarget::Interpret, "interpret",
                            "a schedule for --chip in the interpreter"),
                 clEnumValN(GridTarget::CUDA, "cuda",
                            "a schedule for --chip on the first CUDA device"),
                 clEnumValN(GridTarget::None, "none",
                            "nothing besides the evaluator"))};
  cl::opt<std::string> chip{"chip", cl::desc("Whose schedules to derive"),
                            cl::value_desc("sm_NN"), cl::init("sm_80")};
  cl::opt<bool> peepholes{"peepholes",
                          cl::desc("Run passes that only make kernels faster"),
                          cl::init(true)};
  cl::opt<bool> listChips{
      "list-chips",
      cl::desc("Print the chips to derive for on the first CUDA device, one "
               "for each form of schedules, and end")};

  std::unique_ptr<Backend> makeBackend() const;
};
} // namespace

std::unique_ptr<Backend> CommandLine::makeBackend() const {
  switch (target) {
  case GridTarget::CPU:
    return createCPUBackend();
  case GridTarget::Interpret:
    return createInterpreterBackend(chip, peepholes);
  case GridTarget::CUDA:
    return createCUDABackend(chip, peepholes);
  case GridTarget::None:
    return nullptr;
  }
  llvm_unreachable("a target without a backend");
}

static int printChips() {
  auto chips = findCUDAChips();
  if (!chips) {
    llvm::WithColor::error(llvm::errs(), "fa-grid")
        << llvm::toString(chips.takeError()) << '\n';
    return 1;
  }
  for (StringRef chip : *chips)
    llvm::outs() << chip << '\n';
  return 0;
}

int fa::gridMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  addVersion();
  CommandLine commandLine;
  cl::ParseCommandLineOptions(
      argc, argv, "Runs problems of the numeric grid, a request a line\n");
  if (commandLine.listChips)
    return printChips();
  Server server([&] { return commandLine.makeBackend(); });
  std::string line;
  while (std::getline(std::cin, line)) {
    llvm::outs() << llvm::json::Value(server.answer(line)) << '\n';
    llvm::outs().flush();
  }
  return 0;
}
