//===- SessionTargets.cpp - Runs of a session on its target ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a session that runs the function: by the reference, on the CPU,
// on a CUDA device, or in the interpreter. Read `runTarget`, then the one of
// interest; each leaves its outputs and times in the session.
//
//===----------------------------------------------------------------------===//

#include "CPUTarget.h"
#include "SessionState.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Driver/InterpreterTarget.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

StringRef fa::getTargetName(TargetKind target) {
  switch (target) {
  case TargetKind::Interpret:
    return "interpret";
  case TargetKind::Reference:
    return "reference";
  case TargetKind::CUDA:
    return "cuda";
  default:
    return "cpu";
  }
}

LogicalResult Session::runReferenceTarget() {
  ModuleOp module = running->getParentOfType<ModuleOp>();
  auto values =
      Reference(module, getPolicy(module)).evaluate(running, inputs, results);
  if (failed(values))
    return failure();
  if (values->outputs.size() != outputs.size())
    return reportError("--strategy=" + options.strategy +
                       " changed what the function gives back");
  // In doubles, so that a comparison sees no rounding at the end.
  for (auto [output, value] : llvm::zip_equal(outputs, values->outputs)) {
    HostBuffer &buffer = getBuffer(output);
    if (isa<FloatType>(buffer.elementType))
      buffer = HostBuffer(Float64Type::get(&context), buffer.shape);
    if (value.object)
      buffer.fromRuntime(value);
    else
      buffer.set(0, value.slot);
  }
  return success();
}

LogicalResult Session::runCPUTarget() {
  FailureOr<CPUTarget> code = CPUTarget::compile(running);
  if (failed(code))
    return failure();
  report.compileSeconds = code->getCompileSeconds();
  // Code that reads memory before writing it must not find convenient zeros.
  // Filling would touch pages, and so count as memory of the code.
  if (options.verify && !options.bench)
    poisonAllocations();
  SmallVector<PlacedBuffer> placed = code->place(arguments, results);
  auto peakBytes = measurePeakMemory([&] { return code->call(placed); });
  if (failed(peakBytes))
    return failure();
  for (PlacedBuffer &buffer : placed)
    buffer.copyBack();
  if (!options.bench)
    return success();
  report.peakBytes = *peakBytes;
  // Time on copies, so that outputs stay those of one call.
  SmallVector<HostBuffer> timedArguments = inputs, timedResults = results;
  SmallVector<PlacedBuffer> timed = code->place(timedArguments, timedResults);
  auto timing = measureTime([&] { return code->call(timed); });
  if (failed(timing))
    return failure();
  report.timing = *timing;
  return countWork();
}

LogicalResult Session::runCUDATarget() {
  if (failed(compileForDevice()))
    return failure();
  report.compileSeconds =
      deviceCode->getCompileSeconds() + (derived ? derived->seconds : 0);
  auto launch = [&](MutableArrayRef<HostBuffer> buffers) {
    return deviceCode->run(buffers);
  };
  if (failed(withResultsAsArguments(arguments, results, launch)))
    return failure();
  if (!options.bench)
    return success();
  SmallVector<HostBuffer> timed = inputs;
  timed.append(results);
  auto timing = deviceCode->measure(timed);
  if (failed(timing))
    return failure();
  report.timing = *timing;
  return countWork();
}

/// Reads a grid of one to three sizes: 4 or 4,2.
static FailureOr<std::array<int64_t, 3>> parseGrid(StringRef text) {
  std::array<int64_t, 3> grid = {1, 1, 1};
  SmallVector<StringRef> sizes;
  text.split(sizes, ',');
  bool isValid = sizes.size() <= grid.size();
  for (auto [size, word] : llvm::zip(grid, sizes))
    isValid &= !word.getAsInteger(10, size) && size > 0;
  if (isValid)
    return grid;
  return reportError("--grid=" + text +
                     " is malformed: expected one to three positive sizes "
                     "separated by commas");
}

LogicalResult Session::runInterpreter() {
  std::optional<std::array<int64_t, 3>> grid;
  if (!options.grid.empty()) {
    auto parsed = parseGrid(options.grid);
    if (failed(parsed))
      return failure();
    grid = *parsed;
  }
  bool isKernel = fagpu::isKernel(running);
  if (isKernel && !grid)
    return reportError("'" + running.getName() +
                       "' is a kernel: run a function that launches it, or "
                       "give --grid=SIZES");
  if (grid && !isKernel)
    return reportError("--grid is for kernels, but '" + running.getName() +
                       "' is none");
  func::FuncOp function = running;
  OwningOpRef<ModuleOp> planned;
  if (!options.asWritten) {
    auto schedule = planSchedule(running->getParentOfType<ModuleOp>());
    if (failed(schedule))
      return failure();
    planned = std::move(*schedule);
    function = planned->lookupSymbol<func::FuncOp>(running.getName());
  }
  interpreter::InterpreterOptions device;
  device.seed = options.seed;
  if (options.multiprocessors)
    device.multiprocessors = *options.multiprocessors;
  if (!derived)
    return interpret(function, device, grid, arguments, results);
  return withResultsAsArguments(
      arguments, results, [&](MutableArrayRef<HostBuffer> buffers) {
        return interpret(function, device, grid, buffers, {});
      });
}

LogicalResult Session::runTarget() {
  switch (target) {
  case TargetKind::CUDA:
    return runCUDATarget();
  case TargetKind::Reference:
    return runReferenceTarget();
  case TargetKind::Interpret:
    return runInterpreter();
  default:
    return runCPUTarget();
  }
}

LogicalResult Session::countWork() {
  ModuleOp module = judge->getParentOfType<ModuleOp>();
  auto work = Reference(module).countWork(judge, inputs, results);
  if (failed(work))
    return failure();
  // Below level 2 no operation tells the pairs any more.
  if (work->pairs > 0)
    report.work = *work;
  return success();
}
