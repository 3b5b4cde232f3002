//===- Compile.cpp - From a schedule to images and a manifest -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the host function of a GPU schedule and returns PTX, cubin and
// manifest. `compileSchedule` is the whole way: inline, cut out the kernels
// (`isolateKernels`), pipeline them, plan, lower and assemble them
// (`compileKernels`), describe the launches.
// Before it stand the searches for the function to compile, which callers use.
//
//===----------------------------------------------------------------------===//

#include "fa/Export/Compile.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Pipelines/DeriveSchedule.h"
#include "fa/Pipelines/GPUPipeline.h"
#include "fa/Target/NVPTX/PTX.h"
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::fa;

SmallVector<func::FuncOp> mlir::fa::findHostFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (fagpu::findLaunch(function))
      functions.push_back(function);
  return functions;
}

/// Problems that are entries, in their order.
static SmallVector<func::FuncOp> findProblems(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && isProblem(function))
      functions.push_back(function);
  return functions;
}

FailureOr<func::FuncOp> mlir::fa::findCompiledFunction(ModuleOp module,
                                                       StringRef name) {
  SmallVector<func::FuncOp> functions = findHostFunctions(module);
  StringRef kind = "host function", kinds = "host functions";
  if (functions.empty()) {
    functions = findProblems(module);
    kind = "public function with attention";
    kinds = "public functions with attention";
  }
  if (functions.empty()) {
    module.emitError("has nothing to compile, expected a func.func with a "
                     "fagpu.launch, or a public one with attention");
    return failure();
  }
  if (name.empty() && functions.size() == 1)
    return functions.front();
  for (func::FuncOp function : functions)
    if (function.getSymName() == name)
      return function;
  auto names = llvm::map_range(
      functions, [](func::FuncOp function) { return function.getSymName(); });
  module.emitError() << (name.empty() ? "has several " + kinds.str()
                                      : "has no " + kind.str() + " '@" +
                                            name.str() + "'")
                     << ", expected the name of one of "
                     << llvm::join(names, ", ");
  return failure();
}

/// A module with the kernels that `host` launches and what they use: each in a
/// module of its own, which passes and the back end take side by side.
static OwningOpRef<ModuleOp> isolateKernels(func::FuncOp host) {
  llvm::SetVector<StringRef> kernels;
  for (fagpu::LaunchOp launch : fagpu::findLaunches(host))
    kernels.insert(launch.getKernel());
  auto module = host->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> device = ModuleOp::create(module.getLoc());
  // In the order in which they stand.
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernels.contains(kernel.getSymName()))
      continue;
    ModuleOp part = module.clone();
    device->push_back(part);
    for (auto function :
         llvm::make_early_inc_range(part.getOps<func::FuncOp>()))
      if (fagpu::findLaunch(function) ||
          (fagpu::isKernel(function) &&
           function.getSymName() != kernel.getSymName()))
        function.erase();
  }
  return device;
}

/// Runs passes that end at one level, without verifying in between: after each
/// pass on the scalars of a kernel that would take as long as the pass.
static LogicalResult
runVerifiedOnce(ModuleOp device,
                llvm::function_ref<void(OpPassManager &)> build) {
  PassManager manager(device->getContext());
  manager.enableVerifier(false);
  build(manager.nest<ModuleOp>());
  return success(succeeded(manager.run(device)) && succeeded(verify(device)));
}

/// Loads what passes need, which they must not do where others run.
static void loadDialects(const PassManager &manager) {
  DialectRegistry registry;
  manager.getDependentDialects(registry);
  MLIRContext *context = manager.getContext();
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);
}

/// From pipelined kernels to binaries in their place. How their roles wait for
/// each other is checked on a copy, beside the assembler.
static LogicalResult
compileKernels(ModuleOp device, const GPULoweringOptions &lowering,
               const FAKernelsToBinaryPassOptions &options) {
  OwningOpRef<ModuleOp> copy = device.clone();
  if (failed(runVerifiedOnce(device, buildFAGPUResourcesPipeline)) ||
      failed(runVerifiedOnce(device, [&](OpPassManager &manager) {
        buildPlannedFAGPUToLLVMPipeline(manager, lowering);
      })))
    return failure();
  MLIRContext *context = device->getContext();
  PassManager check(context), binary(context);
  check.enableVerifier(false);
  buildFAGPUCheckPipeline(check.nest<ModuleOp>());
  binary.addPass(createFAKernelsToBinaryPass(options));
  loadDialects(check);
  loadDialects(binary);
  std::pair<PassManager *, ModuleOp> beside[] = {{&check, *copy},
                                                 {&binary, device}};
  return failableParallelForEach(
      context, beside, [](auto &work) { return work.first->run(work.second); });
}

/// The objects of a format in the binaries that the pipeline leaves.
static SmallVector<gpu::ObjectAttr> findObjects(ModuleOp module,
                                                gpu::CompilationTarget format) {
  SmallVector<gpu::ObjectAttr> objects;
  for (auto binary : module.getOps<gpu::BinaryOp>())
    for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>())
      if (object.getFormat() == format)
        objects.push_back(object);
  return objects;
}

/// Images with the names of their files.
static SmallVector<CubinImage> nameImages(ArrayRef<gpu::ObjectAttr> objects,
                                          StringRef file) {
  if (objects.size() == 1)
    return {{"", file.str(), objects.front().getObject().str()}};
  SmallVector<CubinImage> images;
  for (gpu::ObjectAttr object : objects) {
    CubinImage &image = images.emplace_back();
    image.kernel = object.getKernels().begin()->getName().str();
    if (!file.empty())
      image.file = (llvm::sys::path::stem(file) + "." + image.kernel +
                    llvm::sys::path::extension(file))
                       .str();
    image.bytes = object.getObject().str();
  }
  return images;
}

static std::string joinTexts(ArrayRef<gpu::ObjectAttr> objects) {
  return joinPTX(llvm::map_to_vector(objects, [](gpu::ObjectAttr object) {
    return object.getObject().str();
  }));
}

FailureOr<CompiledSchedule>
mlir::fa::compileSchedule(func::FuncOp host, const ManifestNames &names,
                          const CompileOptions &options) {
  // Helper functions become part of host function and kernel, and branches
  // conditions.
  OwningOpRef<ModuleOp> module = host->getParentOfType<ModuleOp>().clone();
  PassManager inlining(module->getContext());
  inlining.addPass(createInlinerPass());
  inlining.addNestedPass<func::FuncOp>(
      fagpu::createFAGPUPredicateLaunchesPass());
  if (failed(inlining.run(*module)))
    return failure();
  host = module->lookupSymbol<func::FuncOp>(host.getSymName());
  OwningOpRef<ModuleOp> device = isolateKernels(host);

  GPULoweringOptions lowering;
  lowering.peepholes = options.peepholes;
  FAKernelsToBinaryPassOptions binary;
  binary.chip = options.chip;
  binary.format = options.machineCode ? KernelFormat::Both : KernelFormat::ISA;
  binary.failOnSpill = options.failOnSpill;
  auto pipeline = [](OpPassManager &manager) {
    manager.addPass(fagpu::createFAGPUIsolateKernelsPass());
    buildFAGPUPipelinePipeline(manager);
  };
  if (failed(runVerifiedOnce(*device, pipeline)) ||
      failed(compileKernels(*device, lowering, binary)))
    return failure();

  CompiledSchedule result;
  auto texts = findObjects(*device, gpu::CompilationTarget::Assembly);
  auto images = findObjects(*device, gpu::CompilationTarget::Binary);
  result.ptx = joinTexts(texts);
  result.cubins = nameImages(images, names.cubin);
  FailureOr<llvm::json::Object> manifest = buildManifest(
      host, images.empty() ? texts : images, result.cubins, names);
  if (failed(manifest))
    return failure();
  result.manifest = std::move(*manifest);
  return result;
}
