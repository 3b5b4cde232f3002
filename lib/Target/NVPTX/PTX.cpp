//===- PTX.cpp - From the LLVM dialect to PTX -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates kernels in the LLVM dialect to PTX by LLVM's back end, in a
// version that chip and ptxas both know. Read `translateToPTX`, at the end,
// then `choosePTXVersion`. Errors of the back end become diagnostics.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/PTX.h"
#include "fa/Support/FatalErrors.h"
#include "fa/Target/GPUTarget.h"
#include "fa/Target/NVPTX/Assembler.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;
using namespace mlir::fa;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

//===----------------------------------------------------------------------===//
// PTX versions
//===----------------------------------------------------------------------===//

/// The highest version that LLVM 22 writes.
static constexpr unsigned highestOfLLVM = 90;

/// The first version that knows a chip (PTX ISA, release notes).
static unsigned firstPTXVersion(StringRef chip) {
  if (chip.starts_with("sm_12"))
    return 87;
  if (chip.starts_with("sm_10"))
    return 86;
  if (chip == "sm_90a")
    return 80;
  if (chip == "sm_90" || chip == "sm_89")
    return 78;
  return chip == "sm_86" ? 71 : 70;
}

/// The version of PTX that came with a release of CUDA.
static unsigned versionOfToolkit(unsigned major, unsigned minor) {
  struct Release {
    unsigned major, minor, version;
  };
  // From 13.0 on the numbers are the toolkit's, less 4.
  static constexpr Release releases[] = {
      {12, 9, 88}, {12, 8, 87}, {12, 7, 86}, {12, 5, 85}, {12, 4, 84},
      {12, 3, 83}, {12, 2, 82}, {12, 1, 81}, {12, 0, 80}, {11, 8, 78}};
  if (major >= 13)
    return 10 * (major - 4) + minor;
  for (const Release &release : releases)
    if (std::pair(major, minor) >= std::pair(release.major, release.minor))
      return release.version;
  return 77;
}

static llvm::Expected<unsigned> highestOfAssembler(StringRef assembler) {
  auto text = describeAssembler(assembler);
  if (!text)
    return text.takeError();
  StringRef rest = StringRef(*text).split("release ").second;
  unsigned major, minor;
  if (rest.consumeInteger(10, major) || !rest.consume_front(".") ||
      rest.consumeInteger(10, minor))
    return llvm::createStringError("'" + assembler +
                                   " --version' names no release of CUDA");
  return versionOfToolkit(major, minor);
}

llvm::Expected<unsigned> mlir::fa::choosePTXVersion(StringRef chip,
                                                    StringRef assembler,
                                                    unsigned requested) {
  const GPUTarget *target = lookupGPUTarget(chip);
  if (!target)
    return llvm::createStringError("chip is '" + chip + "', expected one of " +
                                   listGPUTargets());
  unsigned version = requested;
  if (!version &&
      StringRef(target->ptxFeatures).substr(4).getAsInteger(10, version))
    llvm_unreachable("features of a target are +ptxNN");
  unsigned first = firstPTXVersion(chip);
  unsigned last = highestOfLLVM;
  if (!assembler.empty()) {
    auto highest = highestOfAssembler(assembler);
    if (!highest)
      return highest.takeError();
    last = std::min(last, *highest);
    if (last < first)
      return llvm::createStringError("'" + assembler + "' takes PTX up to " +
                                     Twine(last) + ", but " + chip + " needs " +
                                     Twine(first));
  }
  if (!requested)
    return std::clamp(version, first, last);
  if (version < first || version > last)
    return llvm::createStringError("PTX version is " + Twine(version) +
                                   ", expected " + Twine(first) + " to " +
                                   Twine(last) + " for " + chip);
  return version;
}

//===----------------------------------------------------------------------===//
// Code generation
//===----------------------------------------------------------------------===//

void mlir::fa::registerPTXTranslation(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(StringRef chip, unsigned ptxVersion) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip, ("+ptx" + Twine(ptxVersion)).str(), llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

namespace {
/// Turns what the back end complains of into errors on an operation.
class ErrorHandler : public llvm::DiagnosticHandler {
public:
  ErrorHandler(Operation *op, bool &failed) : op(op), failed(failed) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    if (!failed)
      op->emitError("no PTX: ") << text;
    failed = true;
    return true;
  }

private:
  Operation *op;
  bool &failed;
};
} // namespace

namespace {
/// The passes of the back end. Straight-line strength reduction compares every
/// address with those before it and takes seconds on a large kernel (5 of 5.3 s
/// with 28,000 instructions); ptxas shares such terms itself, so that it is
/// left out there.
class BackEndPasses : public llvm::legacy::PassManager {
public:
  explicit BackEndPasses(const llvm::Module &module) {
    for (const llvm::Function &function : module)
      isLarge |= function.getInstructionCount() > largeKernel;
  }
  void add(llvm::Pass *pass) override {
    if (isLarge && pass->getPassName() == "Straight line strength reduction")
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }

private:
  static constexpr unsigned largeKernel = 16384;
  bool isLarge = false;
};
} // namespace

namespace {
/// What the back end works on.
struct Translation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
  SmallString<0> ptx;
  llvm::raw_svector_ostream stream{ptx};
  std::unique_ptr<BackEndPasses> passes;
};
} // namespace

FailureOr<std::string> mlir::fa::translateToPTX(ModuleOp module, StringRef chip,
                                                unsigned ptxVersion) {
  auto work = std::make_unique<Translation>();
  if (llvm::Error error = catchFatalErrors([&] {
        work->module = translateModuleToLLVMIR(module, work->context);
      })) {
    work.release();
    return module.emitError("no PTX: ") << llvm::toString(std::move(error));
  }
  if (!work->module)
    return failure();
  work->machine = makeTargetMachine(chip, ptxVersion);
  if (!work->machine)
    return module.emitError("no PTX: this LLVM has no NVPTX back end");
  work->module->setDataLayout(work->machine->createDataLayout());
  work->module->setTargetTriple(work->machine->getTargetTriple());

  bool failed = false;
  work->context.setDiagnosticHandler(
      std::make_unique<ErrorHandler>(module, failed));
  work->passes = std::make_unique<BackEndPasses>(*work->module);
  if (work->machine->addPassesToEmitFile(*work->passes, work->stream, nullptr,
                                         llvm::CodeGenFileType::AssemblyFile))
    return module.emitError("no PTX: the back end writes no assembly");
  if (llvm::Error error =
          catchFatalErrors([&] { work->passes->run(*work->module); })) {
    // What the back end cannot select leaves it in the middle of its work.
    work.release();
    return module.emitError("no PTX: ") << llvm::toString(std::move(error));
  }
  if (failed)
    return failure();
  // The back end ends the text with a NUL character.
  return StringRef(work->ptx).rtrim('\0').str();
}

static constexpr StringLiteral entryDirective = ".visible .entry ";

/// The declarations and definitions of a text, each with all of its lines, and
/// its directives and comments.
static SmallVector<StringRef> splitUnits(StringRef text) {
  SmallVector<StringRef> units;
  bool isComplete = true;
  int64_t depth = 0;
  for (StringRef line : llvm::split(text, '\n')) {
    StringRef words = line.trim();
    if (words.empty())
      continue;
    bool isComment = words.starts_with("//");
    bool isDirective = words.starts_with(".version") ||
                       words.starts_with(".target") ||
                       words.starts_with(".address_size");
    if (isComplete && depth == 0)
      units.push_back(line);
    else
      units.back() =
          StringRef(units.back().begin(), line.end() - units.back().begin());
    if (isComment)
      continue;
    depth += line.count('{') + line.count('(');
    depth -= line.count('}') + line.count(')');
    isComplete = isDirective || words.ends_with(";") || words.ends_with("}");
  }
  return units;
}

std::string mlir::fa::joinPTX(llvm::ArrayRef<std::string> texts) {
  std::string joined = texts.front();
  llvm::StringSet<> known;
  for (StringRef unit : splitUnits(joined))
    known.insert(unit);
  for (auto [index, text] : llvm::enumerate(texts.drop_front())) {
    // Labels are local to a kernel, and have its number.
    std::string label = ("$L__BB" + Twine(index + 1) + "_").str();
    for (StringRef unit : splitUnits(text)) {
      if (!known.insert(unit).second)
        continue;
      if (!unit.starts_with(entryDirective)) {
        joined += (unit + "\n").str();
        continue;
      }
      SmallVector<StringRef> pieces;
      unit.split(pieces, "$L__BB0_");
      joined += llvm::join(pieces, label) + "\n";
    }
  }
  return joined;
}
