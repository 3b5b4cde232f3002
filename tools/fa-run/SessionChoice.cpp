//===- SessionChoice.cpp - The target of a run, and its schedule ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionState.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Pipelines/DeriveSchedule.h"

using namespace mlir;
using namespace mlir::fa;

/// Turns a problem into what GPU targets run.
LogicalResult Session::deriveSchedule() {
  std::string chip = options.chip;
  if (target == TargetKind::CUDA) {
    FailureOr<StringRef> own = getDeviceChip();
    if (failed(own))
      return failure();
    if (options.chip.empty())
      chip = own->str();
  }
  auto schedule = derive(running, chip, options.peepholes);
  if (failed(schedule))
    return failure();
  derived = std::move(*schedule);
  running = derived->host;
  return success();
}

LogicalResult Session::compileForDevice() {
  if (deviceCode)
    return success();
  FailureOr<CUDATarget> code = CUDATarget::compile(running, options.peepholes);
  if (failed(code))
    return failure();
  deviceCode = std::move(*code);
  return success();
}

/// A problem runs on the device if it can; if not, on the CPU, and the report
/// says why.
LogicalResult Session::preferDevice() {
  func::FuncOp problem = running;
  target = TargetKind::CUDA;
  std::string reason;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (reason.empty())
        reason = diagnostic.str();
      return success();
    });
    if (succeeded(deriveSchedule()) && succeeded(compileForDevice()))
      return success();
  }
  // What the driver refuses has been reported already.
  if (reason.empty())
    return failure();
  derived.reset();
  running = problem;
  target = TargetKind::CPU;
  report.fallback = reason;
  return success();
}

/// Whether an attention has a configuration for another kind of target than the
/// CPU.
static bool isConfiguredForGPU(func::FuncOp function) {
  return function
      .walk([](AttentionOp op) {
        ConfigAttr config = op.getConfigAttr();
        return config && isa_and_present<GPUConfigAttr>(config.getTarget())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Session::chooseTarget() {
  bool launches = fagpu::findLaunch(running) != nullptr,
       solves = isProblem(running);
  bool chooses = target == TargetKind::Auto;
  if (chooses) {
    bool usesDevice = (launches || solves) && hasCUDADevice();
    if (launches && !usesDevice)
      return reportError("'" + running.getName() +
                         "' launches a GPU kernel, and there is no CUDA "
                         "device: use --target=interpret");
    target = usesDevice ? TargetKind::CUDA : TargetKind::CPU;
  }
  if (target == TargetKind::CPU && launches)
    return reportError("'" + running.getName() +
                       "' launches a GPU kernel, but runs on the CPU: use "
                       "--target=interpret, or cuda where there is a device");
  if (target == TargetKind::CPU && isConfiguredForGPU(running))
    return reportError("'" + running.getName() + "' has a configuration for " +
                       (options.strategy.empty()
                            ? "a GPU"
                            : "a GPU, by --strategy=" + options.strategy) +
                       ", but runs on the CPU: use --target=interpret, or "
                       "cuda where there is a device");
  bool onGPU = target == TargetKind::CUDA || target == TargetKind::Interpret;
  bool derives = onGPU && solves && !launches;
  if (!options.chip.empty() && !derives)
    return reportError(
        "--chip=" + options.chip +
        " is for an attention on --target=cuda or interpret, "
        "but '" +
        running.getName() +
        (onGPU ? "' has none" : "' runs on --target=" + getTargetName(target)));
  if (!derives)
    return success();
  return chooses ? preferDevice() : deriveSchedule();
}
