//===- Compilation.cpp - Code from modules of the C API -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CPU functions, object files and kernels from a module. Each call checks its
// options, compiles while the context is locked, and hands the result out as
// bytes or as a function that is called, saved and loaded. Read `readOptions`
// of the CPU and `faModuleCompileFunction`; `faModuleCompileKernel` is the same
// for GPUs.
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include "fa/Driver/KernelCompilation.h"
#include "fa/JIT/CPUCompiler.h"
#include "fa/Target/GPUTarget.h"
#include "fa/Target/NVPTX/Assembler.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::capi;

//===----------------------------------------------------------------------===//
// CPUs
//===----------------------------------------------------------------------===//

static FaStatus readOptions(const FaCPUOptions *options,
                            CPUCompileOptions &read) {
  if (!options)
    return FA_SUCCESS;
  if (options->size != sizeof(FaCPUOptions))
    return fail(FA_INVALID_ARGUMENT, "the options' size is " +
                                         Twine(options->size) +
                                         ", expected sizeof(FaCPUOptions), " +
                                         Twine(sizeof(FaCPUOptions)));
  if (options->optimization_level < 0 || options->optimization_level > 3)
    return fail(FA_INVALID_ARGUMENT, "the options' optimization_level is " +
                                         Twine(options->optimization_level) +
                                         ", expected 0 to 3");
  read.optimizationLevel = options->optimization_level;
  read.cpu = options->cpu ? options->cpu : "";
  read.features = options->features ? options->features : "";
  if (llvm::Error error = checkCPU(read))
    return fail(FA_INVALID_ARGUMENT, std::move(error));
  return FA_SUCCESS;
}

FaStatus faModuleCompileObject(FaModule module, const FaCPUOptions *options,
                               FaBytes *object) {
  if (!module || !object)
    return failNull(module ? "object" : "module");
  ModuleState &state = unwrap(module);
  CPUCompileOptions read;
  if (FaStatus status = readOptions(options, read))
    return status;
  std::string bytes;
  FaStatus status = runInContext(*state.context, FA_COMPILATION_FAILED, [&] {
    auto compiled = compileToCPUObject(state.program.module, read);
    if (failed(compiled))
      return failure();
    bytes = std::move(*compiled);
    return success();
  });
  if (status == FA_SUCCESS)
    *object = makeBytes(std::move(bytes));
  return status;
}

FaStatus faModuleCompileFunction(FaModule module, const char *entry,
                                 const FaCPUOptions *options,
                                 FaFunction *function) {
  if (!module || !function)
    return failNull(module ? "function" : "module");
  ModuleState &state = unwrap(module);
  CPUCompileOptions read;
  if (FaStatus status = readOptions(options, read))
    return status;
  if (!read.cpu.empty() || !read.features.empty())
    return fail(FA_INVALID_ARGUMENT,
                "the options name a processor, expected none: a function is "
                "compiled for this machine");
  std::unique_ptr<CPUFunction> compiled;
  FaStatus status = runInContext(*state.context, FA_COMPILATION_FAILED, [&] {
    auto found = findPublicFunction(state.program.module, entry ? entry : "");
    if (failed(found))
      return failure();
    auto names = state.getNames(*found);
    if (failed(names))
      return failure();
    auto made = CPUFunction::compile(*found, *names, read);
    if (failed(made))
      return failure();
    compiled = std::move(*made);
    return success();
  });
  if (status == FA_SUCCESS)
    *function = reinterpret_cast<FaFunction>(compiled.release());
  return status;
}

void faFunctionDestroy(FaFunction function) {
  if (function)
    delete &unwrap(function);
}

const char *faFunctionGetInterface(FaFunction function) {
  return function ? unwrap(function).getInterface().data() : "";
}

FaStatus faFunctionCall(FaFunction function, const FaArgument *arguments,
                        size_t argument_count) {
  if (!function || (!arguments && argument_count))
    return failNull(function ? "arguments" : "function");
  if (llvm::Error error = unwrap(function).call({arguments, argument_count}))
    return fail(FA_INVALID_ARGUMENT, std::move(error));
  return FA_SUCCESS;
}

FaStatus faFunctionSave(FaFunction function, FaBytes *bytes) {
  if (!function || !bytes)
    return failNull(function ? "bytes" : "function");
  *bytes = makeBytes(unwrap(function).save());
  return FA_SUCCESS;
}

FaStatus faFunctionLoad(const void *data, size_t size, FaFunction *function) {
  if (!data || !function)
    return failNull(data ? "function" : "data");
  bool isOfOther = false;
  auto loaded =
      CPUFunction::load({static_cast<const char *>(data), size}, isOfOther);
  if (!loaded)
    return fail(isOfOther ? FA_WRONG_ARCHITECTURE : FA_INVALID_IMAGE,
                loaded.takeError());
  *function = reinterpret_cast<FaFunction>(loaded->release());
  return FA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

static FaStatus readOptions(const FaKernelOptions *options,
                            CompileOptions &read) {
  FaImages images = FA_IMAGES_AUTO;
  if (options) {
    if (options->size != sizeof(FaKernelOptions))
      return fail(FA_INVALID_ARGUMENT,
                  "the options' size is " + Twine(options->size) +
                      ", expected sizeof(FaKernelOptions), " +
                      Twine(sizeof(FaKernelOptions)));
    if (options->images < FA_IMAGES_AUTO || options->images > FA_IMAGES_BOTH)
      return fail(FA_INVALID_ARGUMENT, "the options' images are " +
                                           Twine(options->images) +
                                           ", expected an FaImages, 0 to 2");
    images = static_cast<FaImages>(options->images);
    read.chip = options->chip ? options->chip : "";
    if (!read.chip.empty() && !lookupGPUTarget(read.chip))
      return fail(FA_INVALID_ARGUMENT, "the options' chip is '" + read.chip +
                                           "', expected one of " +
                                           listGPUTargets());
    read.peepholes = !options->no_peepholes;
    read.failOnSpill = options->fail_on_spill;
  }
  bool hasAssembler = !findAssembler().empty();
  if (images == FA_IMAGES_BOTH && !hasAssembler)
    return fail(FA_INVALID_ARGUMENT,
                "a cubin needs ptxas: expected FA_PTXAS to name it, or images "
                "of FA_IMAGES_PTX");
  read.machineCode =
      images == FA_IMAGES_BOTH || (images == FA_IMAGES_AUTO && hasAssembler);
  return FA_SUCCESS;
}

FaStatus faModuleCompileKernel(FaModule module, const char *entry,
                               const FaKernelOptions *options,
                               FaBytes *manifest, FaBytes *ptx,
                               FaBytes *cubin) {
  if (!module || !manifest || !ptx || !cubin)
    return failNull(!module     ? "module"
                    : !manifest ? "manifest"
                    : !ptx      ? "ptx"
                                : "cubin");
  ModuleState &state = unwrap(module);
  KernelRequest request;
  if (FaStatus status = readOptions(options, request.options))
    return status;
  request.entry = entry ? entry : "";
  request.stem = "kernel";
  CompiledSchedule schedule;
  FaStatus status = runWithThreads(*state.context, FA_COMPILATION_FAILED, [&] {
    auto getNames = [&](func::FuncOp function) {
      return state.getNames(function);
    };
    auto compiled = compileKernel(state.program.module, getNames, request);
    if (failed(compiled))
      return failure();
    schedule = std::move(compiled->schedule);
    return success();
  });
  if (status != FA_SUCCESS)
    return status;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv(
      "{0:2}\n", llvm::json::Value(std::move(schedule.manifest)));
  *manifest = makeBytes(std::move(text));
  *ptx = makeBytes(std::move(schedule.ptx));
  std::string images;
  for (const CubinImage &image : schedule.cubins)
    images += image.bytes;
  *cubin = images.empty() ? nullptr : makeBytes(std::move(images));
  return FA_SUCCESS;
}
