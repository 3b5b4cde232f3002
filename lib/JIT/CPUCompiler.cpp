//===- CPUCompiler.cpp - Compile a module for this CPU --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a module in the LLVM dialect to an object for this CPU, loads it by
// ORC and calls its functions. Each gets a packed wrapper, which takes pointers
// to its arguments. Read `emitObject`, `loadCPUObject`, `addPackedFunctions`.
//
//===----------------------------------------------------------------------===//

#include "fa/JIT/CPUCompiler.h"
#include "NarrowFloats.h"
#include "fa/Pipelines/CPUPipeline.h"
#include "fa/Runtime/ParallelFor.h"
#include "fa/Support/FatalErrors.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include <mutex>

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
  std::string object;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

// What `llvm.emit_c_interface` and we put before the name of a function.
static constexpr StringLiteral interfacePrefix = "_mlir_ciface_";
static constexpr StringLiteral packedPrefix = "_fa_packed_";

CompiledModule::CompiledModule(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}

CompiledModule::~CompiledModule() = default;

StringRef CompiledModule::getObject() const { return implementation->object; }

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
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    // The search for CRCs follows both operands of each of many squarings, as
    // of a power by an integer, and takes twice as long for each.
    llvm::DisableLIRP::HashRecognize = true;
  });
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
  // What ORC's linker takes, and shared libraries too.
  machine->setRelocationModel(llvm::Reloc::PIC_);
  machine->setCodeModel(llvm::CodeModel::Small);
  return machine;
}

llvm::Error mlir::fa::checkCPU(const CPUCompileOptions &options) {
  auto host = describeMachine({});
  if (!host)
    return host.takeError();
  auto machine = host->createTargetMachine();
  if (!machine)
    return machine.takeError();
  const llvm::MCSubtargetInfo &known = *(*machine)->getMCSubtargetInfo();
  if (!options.cpu.empty() && !known.isCPUStringValid(options.cpu))
    return llvm::createStringError(
        "the processor is '" + options.cpu +
        "', expected one that LLVM knows (llc -mcpu=help), such as '" +
        host->getCPU() + "'");
  for (StringRef feature : llvm::split(options.features, ',')) {
    StringRef name = feature;
    bool isSigned = name.consume_front("+") || name.consume_front("-");
    bool isKnown = llvm::any_of(
        known.getAllProcessorFeatures(),
        [&](const llvm::SubtargetFeatureKV &each) { return name == each.Key; });
    if (!options.features.empty() && !(isSigned && isKnown))
      return llvm::createStringError(
          "the processor's feature is '" + feature +
          "', expected one that LLVM knows (llc -mattr=help) behind + or -, "
          "such as '+avx2'");
  }
  return llvm::Error::success();
}

std::string mlir::fa::describeCPU(const CPUCompileOptions &options) {
  auto machine = describeMachine(options);
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return options.cpu + "," + options.features;
  }
  return machine->getCPU() + "," + machine->getFeatures().getString();
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
  auto add = [&](StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  add("fa_parallel_for", &fa_parallel_for);
  add("__truncsfbf2", static_cast<float (*)(float)>(&truncateToBF16));
  add("__truncdfbf2", static_cast<float (*)(double)>(&truncateToBF16));
  return jit.getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols)));
}

namespace {
/// What the back end works on.
struct Emission {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  SmallString<0> object;
  llvm::raw_svector_ostream stream{object};
  llvm::legacy::PassManager passes;
};
} // namespace

/// The object file of what `work` holds.
static llvm::Error emit(Emission &work, const CPUCompileOptions &options) {
  auto description = describeMachine(options);
  if (!description)
    return description.takeError();
  auto machine = description->createTargetMachine();
  if (!machine)
    return machine.takeError();
  work.machine = std::move(*machine);
  work.module->setDataLayout(work.machine->createDataLayout());
  work.module->setTargetTriple(work.machine->getTargetTriple());
  addPackedFunctions(*work.module);
  optimize(*work.module, *work.machine, options.optimizationLevel);
  llvm::MCContext *code = nullptr;
  if (work.machine->addPassesToEmitMC(work.passes, code, work.stream))
    return llvm::createStringError("the back end writes no object files");
  return catchFatalErrors([&] { work.passes.run(*work.module); });
}

/// The object file of a module in the LLVM dialect.
static FailureOr<std::string> emitObject(ModuleOp module,
                                         const CPUCompileOptions &options) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  auto work = std::make_unique<Emission>();
  work->module = translateModuleToLLVMIR(module, work->context);
  if (!work->module)
    return failure();
  if (llvm::Error error = emit(*work, options)) {
    // A fatal error leaves the back end in the middle of its work.
    work.release();
    return module.emitError("no machine code for this CPU: ")
           << llvm::toString(std::move(error));
  }
  return work->object.str().str();
}

llvm::Expected<std::unique_ptr<CompiledModule>>
mlir::fa::loadCPUObject(StringRef object) {
  auto implementation = std::make_unique<CompiledModule::Implementation>();
  implementation->object = object.str();
  auto description = describeMachine({});
  if (!description)
    return description.takeError();
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*description))
                 .create();
  if (!jit)
    return jit.takeError();
  (*jit)->getExecutionSession().setErrorReporter(
      [&problems = implementation->problems](llvm::Error error) {
        if (!problems.empty())
          problems += "; ";
        problems += llvm::toString(std::move(error));
      });
  if (llvm::Error error = defineRuntime(**jit))
    return error;
  // Names that the code generator brings in: memset, half conversions, libm.
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error =
          (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBuffer(
              implementation->object, "", /*RequiresNullTerminator=*/false)))
    return error;
  implementation->jit = std::move(*jit);
  return std::unique_ptr<CompiledModule>(
      new CompiledModule(std::move(implementation)));
}

FailureOr<std::unique_ptr<CompiledModule>>
mlir::fa::compileLLVMDialectToCPU(ModuleOp module,
                                  const CPUCompileOptions &options) {
  FailureOr<std::string> object = emitObject(module, options);
  if (failed(object))
    return failure();
  auto compiled = loadCPUObject(*object);
  if (!compiled)
    return module.emitError("no machine code for this CPU: ")
           << llvm::toString(compiled.takeError());
  return std::move(*compiled);
}

/// A copy of `module` in the LLVM dialect.
static FailureOr<OwningOpRef<ModuleOp>> lowerToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerCPUPipelineInterfaces(registry);
  context->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(context);
  buildFAToCPUPipeline(manager);
  if (failed(manager.run(*copy)))
    return failure();
  return copy;
}

FailureOr<std::unique_ptr<CompiledModule>>
mlir::fa::compileToCPU(ModuleOp module, const CPUCompileOptions &options) {
  auto lowered = lowerToLLVM(module);
  if (failed(lowered))
    return failure();
  return compileLLVMDialectToCPU(**lowered, options);
}

FailureOr<std::string>
mlir::fa::compileToCPUObject(ModuleOp module,
                             const CPUCompileOptions &options) {
  auto lowered = lowerToLLVM(module);
  if (failed(lowered))
    return failure();
  return emitObject(**lowered, options);
}
