//===- Compile.cpp - From a schedule to images and a manifest -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Export/Compile.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Pipelines/GPUPipeline.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fa;

static fagpu::LaunchOp findLaunch(func::FuncOp function) {
  fagpu::LaunchOp found;
  function.walk([&](fagpu::LaunchOp launch) {
    found = launch;
    return WalkResult::interrupt();
  });
  return found;
}

SmallVector<func::FuncOp> mlir::fa::findHostFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (findLaunch(function))
      functions.push_back(function);
  return functions;
}

FailureOr<func::FuncOp> mlir::fa::findHostFunction(ModuleOp module,
                                                   StringRef name) {
  SmallVector<func::FuncOp> functions = findHostFunctions(module);
  if (functions.empty()) {
    module.emitError("has no host function, expected a func.func with a "
                     "fagpu.launch");
    return failure();
  }
  if (name.empty() && functions.size() == 1)
    return functions.front();
  for (func::FuncOp function : functions)
    if (function.getSymName() == name)
      return function;
  auto names = llvm::map_range(
      functions, [](func::FuncOp function) { return function.getSymName(); });
  module.emitError() << (name.empty()
                             ? "has several host functions"
                             : "has no host function '@" + name.str() + "'")
                     << ", expected the name of one of "
                     << llvm::join(names, ", ");
  return failure();
}

/// A name of a manifest has letters, digits and '_', and no digit first.
static std::string makeManifestName(StringRef text) {
  std::string name = text.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name = "arg" + name;
  return name;
}

static std::string findFreeName(StringRef name, ArrayRef<std::string> taken) {
  for (unsigned number = 2;; ++number) {
    std::string free = (name + "_" + Twine(number)).str();
    if (!llvm::is_contained(taken, free))
      return free;
  }
}

/// The launcher refuses a manifest where a name stands for two things.
static LogicalResult checkNames(func::FuncOp function,
                                ArrayRef<StringRef> texts,
                                ArrayRef<std::string> names) {
  for (auto [number, name] : llvm::enumerate(names)) {
    unsigned first = llvm::find(names, name) - names.begin();
    if (name != "multiprocessors" && first == number)
      continue;
    InFlightDiagnostic error = emitError(function.getArgument(number).getLoc())
                               << "argument '%" << texts[number] << "' of '@"
                               << function.getSymName() << "' is '" << name
                               << "' in the manifest, ";
    if (first == number)
      error << "which holds the number of the device's multiprocessors";
    else
      error << "as is '%" << texts[first] << "'";
    return error << "; expected another name, such as '%"
                 << findFreeName(name, names) << "'";
  }
  return success();
}

FailureOr<SmallVector<std::string>>
mlir::fa::getArgumentNames(func::FuncOp function, const AsmParserState &state) {
  SmallVector<StringRef> texts;
  SmallVector<std::string> names;
  const AsmParserState::BlockDefinition *block =
      function.isExternal() ? nullptr
                            : state.getBlockDef(&function.getBody().front());
  if (!block)
    return names;
  for (const AsmParserState::SMDefinition &argument : block->arguments) {
    const char *start = argument.loc.Start.getPointer();
    StringRef text(start, argument.loc.End.getPointer() - start);
    text.consume_front("%");
    texts.push_back(text);
    names.push_back(makeManifestName(text));
  }
  if (failed(checkNames(function, texts, names)))
    return failure();
  return names;
}

/// A module with the kernel that `launch` runs and what it uses.
static OwningOpRef<ModuleOp> isolateKernel(fagpu::LaunchOp launch) {
  StringRef kernel = launch.getKernel();
  OwningOpRef<ModuleOp> device = launch->getParentOfType<ModuleOp>().clone();
  for (auto function :
       llvm::make_early_inc_range(device->getOps<func::FuncOp>()))
    if (findLaunch(function) ||
        (fagpu::isKernel(function) && function.getSymName() != kernel))
      function.erase();
  return device;
}

/// The object of a format in the binary that the pipeline leaves; null where
/// there is none.
static gpu::ObjectAttr findObject(ModuleOp module,
                                  gpu::CompilationTarget format) {
  for (auto binary : module.getOps<gpu::BinaryOp>())
    for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>())
      if (object.getFormat() == format)
        return object;
  return nullptr;
}

FailureOr<CompiledSchedule>
mlir::fa::compileSchedule(func::FuncOp host, const ManifestNames &names,
                          const CompileOptions &options) {
  // Helper functions become part of host function and kernel.
  OwningOpRef<ModuleOp> module = host->getParentOfType<ModuleOp>().clone();
  PassManager inlining(module->getContext());
  inlining.addPass(createInlinerPass());
  if (failed(inlining.run(*module)))
    return failure();
  host = module->lookupSymbol<func::FuncOp>(host.getSymName());
  OwningOpRef<ModuleOp> device = isolateKernel(findLaunch(host));

  GPUCompileOptions pipeline;
  pipeline.chip = options.chip;
  pipeline.format =
      options.machineCode ? KernelFormat::Both : KernelFormat::ISA;
  pipeline.failOnSpill = options.failOnSpill;
  PassManager manager(device->getContext());
  buildFAGPUToPTXPipeline(manager, pipeline);
  if (failed(manager.run(*device)))
    return failure();

  gpu::ObjectAttr cubin = findObject(*device, gpu::CompilationTarget::Binary);
  gpu::ObjectAttr ptx = findObject(*device, gpu::CompilationTarget::Assembly);
  FailureOr<llvm::json::Object> manifest =
      buildManifest(host, cubin ? cubin : ptx, names);
  if (failed(manifest))
    return failure();
  CompiledSchedule result;
  result.ptx = ptx.getObject().str();
  if (cubin)
    result.cubin = cubin.getObject().str();
  result.manifest = std::move(*manifest);
  return result;
}
