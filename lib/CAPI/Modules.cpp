//===- Modules.cpp - Modules of the C API ---------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of the C API on an FaModule. First the ways to make one
// (`createModule`: text, bytecode or the description of a problem), then
// pipelines and raising, which change it (`faModuleRunPipeline`), and last what
// only reads it: printing and counting.
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include "fa/Driver/PipelineText.h"
#include "fa/Driver/Problem.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::capi;

static FaStatus createModule(FaContext context, StringRef source,
                             StringRef name, FaModule *module) {
  std::shared_ptr<ContextState> &state = unwrap(context);
  auto created = std::make_unique<ModuleState>();
  FaStatus status = runInContext(*state, FA_INVALID_MODULE, [&] {
    auto program = readProgram(source, name, &state->context);
    if (failed(program) || failed(verify(program->module)))
      return failure();
    created->program = std::move(*program);
    return success();
  });
  if (status != FA_SUCCESS)
    return status;
  created->context = state;
  *module = reinterpret_cast<FaModule>(created.release());
  return FA_SUCCESS;
}

FaStatus faModuleCreateFromText(FaContext context, const char *text,
                                size_t size, const char *name,
                                FaModule *module) {
  if (!context || !text || !module)
    return failNull(!context ? "context" : !text ? "text" : "module");
  return createModule(context, StringRef(text, size), name ? name : "module",
                      module);
}

FaStatus faModuleCreateFromProblem(FaContext context, const FaProblem *problem,
                                   FaModule *module) {
  if (!context || !problem || !module)
    return failNull(!context ? "context" : !problem ? "problem" : "module");
  auto text = writeProblem(*problem);
  if (!text)
    return fail(FA_INVALID_ARGUMENT, text.takeError());
  return createModule(context, *text, "problem", module);
}

void faModuleDestroy(FaModule module) {
  if (!module)
    return;
  // The last module of a destroyed context takes the context with it, after
  // what lives there.
  std::shared_ptr<ContextState> context = unwrap(module).context;
  std::lock_guard<std::mutex> lock(context->mutex);
  delete &unwrap(module);
}

/// Keeps the names that the text gives, which is about to be left.
static void keepNames(ModuleState &state) {
  if (!state.program.places)
    return;
  // Names that a manifest cannot have are refused when one is asked for.
  ScopedDiagnosticHandler quiet(&state.context->context,
                                [](Diagnostic &) { return success(); });
  state.program.module.walk([&](func::FuncOp function) {
    auto names = state.program.getArgumentNames(function);
    if (succeeded(names))
      state.names[function.getName()] = std::move(*names);
  });
  state.program.places.reset();
  state.program.sources.reset();
}

FaStatus faModuleRunPipeline(FaModule module, const char *pipeline) {
  if (!module || !pipeline)
    return failNull(module ? "pipeline" : "module");
  ModuleState &state = unwrap(module);
  MLIRContext *context = &state.context->context;
  auto manager =
      std::make_unique<PassManager>(context, ModuleOp::getOperationName());
  FaStatus status = runInContext(*state.context, FA_INVALID_PIPELINE, [&] {
    if (llvm::Error error = addPipeline(*manager, pipeline)) {
      emitError(UnknownLoc::get(context)) << llvm::toString(std::move(error));
      return failure();
    }
    return success();
  });
  if (status != FA_SUCCESS)
    return status;
  return runInContext(*state.context, FA_COMPILATION_FAILED, [&] {
    OwningOpRef<ModuleOp> copy = state.program.module.clone();
    if (failed(manager->run(*copy)))
      return failure();
    keepNames(state);
    state.program.file = std::move(copy);
    state.program.module = *state.program.file;
    return success();
  });
}

FaStatus faModuleRaiseAttention(FaModule module, const char *options,
                                size_t *raised, size_t *refused) {
  if (!module || !raised || !refused)
    return failNull(!module ? "module" : !raised ? "raised" : "refused");
  size_t before = 0, after = 0;
  if (FaStatus status =
          faModuleCountOperations(module, "fa.attention", &before))
    return status;
  std::string pipeline = "fa-raise-attention";
  if (options)
    pipeline += "{" + std::string(options) + "}";
  if (FaStatus status = faModuleRunPipeline(module, pipeline.c_str()))
    return status;
  if (FaStatus status = faModuleCountOperations(module, "fa.attention", &after))
    return status;
  *raised = after - before;
  ContextState &context = *unwrap(module).context;
  return readInContext(context, [&] {
    *refused =
        llvm::count_if(context.log.getMessages(), [](const Message &message) {
          return message.severity == DiagnosticSeverity::Remark;
        });
  });
}

FaStatus faModulePrint(FaModule module, int32_t form, FaBytes *printed) {
  if (!module || !printed)
    return failNull(module ? "printed" : "module");
  if (form < FA_FORM_TEXT || form > FA_FORM_BYTECODE)
    return fail(FA_INVALID_ARGUMENT,
                "the form is " + Twine(form) + ", expected an FaForm, 0 to 2");
  ModuleState &state = unwrap(module);
  std::string text;
  FaStatus status = readInContext(*state.context, [&] {
    llvm::raw_string_ostream stream(text);
    // It fails for versions of bytecode that are asked for alone.
    if (form == FA_FORM_BYTECODE)
      return (void)writeBytecodeToFile(state.program.module, stream);
    OpPrintingFlags flags;
    if (form == FA_FORM_GENERIC)
      flags.printGenericOpForm();
    state.program.module.print(stream, flags);
    stream << '\n';
  });
  if (status == FA_SUCCESS)
    *printed = makeBytes(std::move(text));
  return status;
}

FaStatus faModuleCountOperations(FaModule module, const char *name,
                                 size_t *count) {
  if (!module || !name || !count)
    return failNull(!module ? "module" : !name ? "name" : "count");
  ModuleState &state = unwrap(module);
  return readInContext(*state.context, [&] {
    *count = 0;
    state.program.module.walk(
        [&](Operation *op) { *count += op->getName().getStringRef() == name; });
  });
}
