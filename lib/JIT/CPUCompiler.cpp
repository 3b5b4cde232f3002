//===- CPUCompiler.cpp - Compile a module for this CPU --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a module in the LLVM dialect by ORC for this CPU, and calls its
// functions. Each gets a packed wrapper, which takes pointers to its
// arguments. Read `compileLLVMDialectToCPU`, then `makeJIT` and
// `addPackedFunctions`.
//
//===----------------------------------------------------------------------===//

#include "fa/JIT/CPUCompiler.h"
#include "fa/Pipelines/CPUPipeline.h"
#include "fa/Runtime/ParallelFor.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ThreadSafeModule.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// MemRefDescriptor
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

MemRefDescriptor::MemRefDescriptor(void *data, ArrayRef<int64_t> shape)
    : MemRefDescriptor(data, shape, rowMajorStrides(shape)) {}

MemRefDescriptor::MemRefDescriptor(void *data, ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> strides) {
  assert(shape.size() == strides.size() && "one stride for each dimension");
  int64_t address = static_cast<int64_t>(reinterpret_cast<intptr_t>(data));
  words = {address, address, /*offset=*/0};
  words.insert(words.end(), shape.begin(), shape.end());
  words.insert(words.end(), strides.begin(), strides.end());
}

//===----------------------------------------------------------------------===//
// CompiledModule
//===----------------------------------------------------------------------===//

struct CompiledModule::Implementation {
  // What the session reports on the side, such as the names of functions that
  // nobody defines. Declared first: the session refers to it.
  std::string problems;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

// What `llvm.emit_c_interface` and we put before the name of a function.
static constexpr StringLiteral interfacePrefix = "_mlir_ciface_";
static constexpr StringLiteral packedPrefix = "_fa_packed_";

CompiledModule::CompiledModule(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

CompiledModule::~CompiledModule() = default;

llvm::Expected<CompiledModule::PackedFunction>
CompiledModule::lookup(StringRef name) const {
  auto symbol = implementation->jit->lookup((packedPrefix + name).str());
  if (symbol)
    return symbol->toPtr<PackedFunction>();
  llvm::Error error = symbol.takeError();
  if (error.isA<llvm::orc::SymbolsNotFound>()) {
    llvm::consumeError(std::move(error));
    return llvm::createStringError("no public function '" + name +
                                   "' in the compiled module");
  }
  std::string reason = llvm::toString(std::move(error));
  if (!implementation->problems.empty())
    reason = implementation->problems;
  return llvm::createStringError("'" + name + "' cannot be loaded: " + reason);
}

llvm::Error CompiledModule::invoke(StringRef name,
                                   ArrayRef<void *> arguments) const {
  llvm::Expected<PackedFunction> function = lookup(name);
  if (!function)
    return function.takeError();
  SmallVector<void *> copy(arguments);
  (*function)(copy.data());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// From the LLVM dialect to machine code
//===----------------------------------------------------------------------===//

/// Adds `void _fa_packed_NAME(void **)`, which calls the C interface of NAME.
/// A pointer argument there is a memref's descriptor and goes on as it is; of
/// any other argument the array holds the address.
static void addPackedFunction(llvm::Function &interface) {
  llvm::LLVMContext &context = interface.getContext();
  StringRef name = interface.getName().drop_front(interfacePrefix.size());
  llvm::IRBuilder<> builder(context);
  llvm::Type *pointer = builder.getPtrTy();
  auto *packed = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer}, false),
      llvm::GlobalValue::ExternalLinkage, packedPrefix + name,
      interface.getParent());
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", packed));
  SmallVector<llvm::Value *> arguments;
  for (auto [index, argument] : llvm::enumerate(interface.args())) {
    llvm::Value *slot =
        builder.CreateConstGEP1_64(pointer, packed->getArg(0), index);
    llvm::Value *value = builder.CreateLoad(pointer, slot);
    if (!argument.getType()->isPointerTy())
      value = builder.CreateLoad(argument.getType(), value);
    arguments.push_back(value);
  }
  builder.CreateCall(&interface, arguments);
  builder.CreateRetVoid();
}

static void addPackedFunctions(llvm::Module &module) {
  SmallVector<llvm::Function *> interfaces;
  for (llvm::Function &function : module)
    if (!function.isDeclaration() &&
        function.getName().starts_with(interfacePrefix))
      interfaces.push_back(&function);
  for (llvm::Function *interface : interfaces)
    addPackedFunction(*interface);
}

static llvm::Expected<llvm::orc::JITTargetMachineBuilder>
describeMachine(const CPUCompileOptions &options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  if (!options.cpu.empty() || !options.features.empty()) {
    machine->setCPU(options.cpu);
    machine->getFeatures() = llvm::SubtargetFeatures(options.features);
  }
  machine->setCodeGenOptLevel(options.optimizationLevel >= 3
                                  ? llvm::CodeGenOptLevel::Aggressive
                                  : llvm::CodeGenOptLevel::Default);
  return machine;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned level) {
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::PipelineTuningOptions tuning;
  // The code is in register tiles already: LLVM's own vectorisers would only
  // rearrange the remainders, and unrolling loops around tiles multiplies the
  // time to compile.
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::ModulePassManager passes =
      chosen == llvm::OptimizationLevel::O0
          ? builder.buildO0DefaultPipeline(chosen)
          : builder.buildPerModuleDefaultPipeline(chosen);
  passes.run(module, modules);
}

/// The functions of the runtime that compiled code may call.
static llvm::Error defineRuntime(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  symbols[jit.mangleAndIntern("fa_parallel_for")] = {
      llvm::orc::ExecutorAddr::fromPtr(&fa_parallel_for),
      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  return jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols)));
}

/// Machine code for `module`, which lives in `context`.
static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
makeJIT(std::unique_ptr<llvm::Module> module,
        std::unique_ptr<llvm::LLVMContext> context,
        const CPUCompileOptions &options) {
  auto description = describeMachine(options);
  if (!description)
    return description.takeError();
  auto machine = description->createTargetMachine();
  if (!machine)
    return machine.takeError();
  module->setDataLayout((*machine)->createDataLayout());
  module->setTargetTriple((*machine)->getTargetTriple());
  addPackedFunctions(*module);
  optimize(*module, **machine, options.optimizationLevel);

  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*description))
                 .create();
  if (!jit)
    return jit.takeError();
  if (llvm::Error error = defineRuntime(**jit))
    return error;
  // Names that the code generator brings in: memset, half conversions, libm.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = (*jit)->addIRModule(
          llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
    return error;
  return jit;
}

FailureOr<std::unique_ptr<CompiledModule>>
mlir::fa::compileLLVMDialectToCPU(ModuleOp module,
                                  const CPUCompileOptions &options) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, *context);
  if (!llvmModule)
    return failure();
  auto jit = makeJIT(std::move(llvmModule), std::move(context), options);
  if (!jit)
    return module.emitError("no machine code for this CPU: ")
           << llvm::toString(jit.takeError());
  auto implementation = std::make_unique<CompiledModule::Implementation>();
  implementation->jit = std::move(*jit);
  implementation->jit->getExecutionSession().setErrorReporter(
      [&problems = implementation->problems](llvm::Error error) {
        if (!problems.empty())
          problems += "; ";
        problems += llvm::toString(std::move(error));
      });
  return std::unique_ptr<CompiledModule>(
      new CompiledModule(std::move(implementation)));
}

FailureOr<std::unique_ptr<CompiledModule>>
mlir::fa::compileToCPU(ModuleOp module, const CPUCompileOptions &options) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerCPUPipelineInterfaces(registry);
  context->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(context);
  buildFAToCPUPipeline(manager);
  if (failed(manager.run(*copy)))
    return failure();
  return compileLLVMDialectToCPU(*copy, options);
}
