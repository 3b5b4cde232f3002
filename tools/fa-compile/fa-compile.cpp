//===- fa-compile.cpp - Compiles GPU schedules ahead of time --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command-line tool that writes images and a manifest of a schedule or a
// problem. The library compiles (CompiledSchedule); here are options and
// files. Read `compileMain`, at the end, then `compileFile`.
//
//===----------------------------------------------------------------------===//

#include "../ChoiceParser.h"
#include "../ToolMains.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Driver/Bytecode.h"
#include "fa/Driver/KernelCompilation.h"
#include "fa/Driver/Program.h"
#include "fa/InitAll.h"
#include "fa/Pipelines/DeriveSchedule.h"
#include "fa/Target/NVPTX/Assembler.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::fa;
namespace cl = llvm::cl;

namespace {
enum class Images { Auto, PTX, Both };
} // namespace

namespace {
/// The options, registered when the program starts and not when it is loaded: a
/// program may hold several tools.
struct CommandLine {
  cl::OptionCategory category{"fa-compile options"};
  cl::opt<std::string> fileName{cl::Positional, cl::Required, cl::desc("FILE"),
                                cl::cat(category)};
  cl::opt<std::string> chip{
      "chip",
      cl::desc("Chip to compile for; if not given, the kernel's own, and sm_80 "
               "for a function with attention"),
      cl::value_desc("NAME"), cl::cat(category)};
  cl::opt<std::string> directory{
      "o", cl::desc("Folder to write to, which is made if need be"),
      cl::init("."), cl::value_desc("DIR"), cl::cat(category)};
  cl::opt<std::string> entryName{
      "entry",
      cl::desc("Host function, or function with attention; none needed if "
               "there is only one"),
      cl::value_desc("NAME"), cl::cat(category)};
  cl::opt<std::string> outputName{
      "name", cl::desc("Name of the files; that of FILE if not given"),
      cl::value_desc("NAME"), cl::cat(category)};
  cl::opt<Images, false, ChoiceParser<Images>> images{
      "images", cl::desc("What to compile to:"), cl::init(Images::Auto),
      cl::values(clEnumValN(Images::Auto, "auto", "a cubin too where ptxas is"),
                 clEnumValN(Images::PTX, "ptx", "PTX alone"),
                 clEnumValN(Images::Both, "both", "PTX and a cubin, by ptxas")),
      cl::cat(category)};
  cl::opt<bool> peepholes{"peepholes",
                          cl::desc("Run passes that only make kernels faster"),
                          cl::init(true), cl::cat(category)};
  cl::opt<bool> failOnSpill{
      "fail-on-spill",
      cl::desc("A spill or a product that ptxas serialises is an error"),
      cl::cat(category)};

  LogicalResult compileFile(MLIRContext &context) const;

private:
  LogicalResult writeFile(StringRef name, StringRef contents) const;
  std::string describeChip(const CompiledSchedule &compiled,
                           bool isDerived) const;
  LogicalResult writeFiles(CompiledSchedule compiled,
                           const ManifestNames &names, StringRef stem,
                           bool isDerived) const;
};
} // namespace

static LogicalResult reportError(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa-compile") << message << "\n";
  return failure();
}

/// Writes a file as a whole or not at all.
LogicalResult CommandLine::writeFile(StringRef name, StringRef contents) const {
  SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
    stream << contents;
    return llvm::Error::success();
  });
  if (error)
    return reportError("cannot write '" + Twine(path) +
                       "': " + llvm::toString(std::move(error)));
  return success();
}

/// The chip that the kernel is for and who chose it, unless it was given.
std::string CommandLine::describeChip(const CompiledSchedule &compiled,
                                      bool isDerived) const {
  if (!chip.empty())
    return "";
  return llvm::formatv(" for {0}, {1}",
                       compiled.manifest.getString("chip").value_or(""),
                       isDerived ? "the default for attention (--chip=NAME "
                                   "chooses another)"
                                 : "the kernel's own chip");
}

/// The manifest comes last: it names files that are there.
LogicalResult CommandLine::writeFiles(CompiledSchedule compiled,
                                      const ManifestNames &names,
                                      StringRef stem, bool isDerived) const {
  std::string chosen = describeChip(compiled, isDerived);
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return reportError("cannot make the folder '" + directory +
                       "': " + code.message());
  if (failed(writeFile(names.ptx, compiled.ptx)))
    return failure();
  SmallVector<std::string> files = {(stem + ".json").str(), names.ptx};
  for (const CubinImage &image : compiled.cubins) {
    if (failed(writeFile(image.file, image.bytes)))
      return failure();
    files.push_back(image.file);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}\n",
                          llvm::json::Value(std::move(compiled.manifest)));
  if (failed(writeFile(files.front(), text)))
    return failure();
  llvm::outs() << "wrote ";
  llvm::interleaveComma(files, llvm::outs());
  llvm::outs() << " to " << directory << chosen << "\n";
  return success();
}

LogicalResult CommandLine::compileFile(MLIRContext &context) const {
  std::string message;
  auto buffer = openInputFile(fileName, &message);
  if (!buffer)
    return reportError(message);
  if (StringRef producer = getBytecodeProducer(*buffer); !producer.empty())
    return reportError("'" + fileName + "' is bytecode of " + producer +
                       ", which has no names of arguments; expected text, as "
                       "fa-opt prints it");
  // Diagnostics show the line of the file.
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  FailureOr<Program> program =
      readProgram(buffer->getBuffer(), buffer->getBufferIdentifier(), &context);
  if (failed(program))
    return failure();
  ModuleOp module = program->module;
  KernelRequest request;
  request.entry = entryName;
  if (failed(findCompiledFunction(module, entryName))) {
    bool hasChoice =
        llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
          return fagpu::findLaunch(function) || isProblem(function);
        });
    if (hasChoice)
      llvm::WithColor::note(llvm::errs(), "fa-compile")
          << "-entry=NAME chooses a function\n";
    return failure();
  }
  request.stem = outputName.empty() ? llvm::sys::path::stem(fileName).str()
                                    : outputName.getValue();
  request.options.chip = chip;
  request.options.machineCode =
      images == Images::Both ||
      (images == Images::Auto && !findAssembler().empty());
  request.options.failOnSpill = failOnSpill;
  request.options.peepholes = peepholes;
  auto getNames = [&](func::FuncOp function) {
    return program->getArgumentNames(function);
  };
  auto compiled = compileKernel(module, getNames, request);
  if (failed(compiled))
    return failure();
  return writeFiles(std::move(compiled->schedule), compiled->names,
                    request.stem, compiled->isDerived);
}

int fa::compileMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  addVersion();
  CommandLine commandLine;
  cl::HideUnrelatedOptions(commandLine.category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compiles the kernel of a GPU schedule to PTX and machine code, and its "
      "host function to the manifest of a launcher; a function with attention "
      "is turned into a schedule first\n");
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::fa::registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  return succeeded(commandLine.compileFile(context)) ? 0 : 1;
}
