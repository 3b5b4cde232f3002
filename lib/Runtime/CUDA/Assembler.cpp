//===- Assembler.cpp - PTX to machine code by ptxas -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Assembler.h"

#include "fa/Runtime/CUDA/Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstdlib>
#include <unistd.h>

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

std::string mlir::fa::runtime::findAssembler() {
  if (const char *chosen = std::getenv("FA_PTXAS"))
    return StringRef(chosen) == "none" ? "" : chosen;
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char *root = std::getenv(variable);
    if (!root)
      continue;
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  StringRef usual = "/usr/local/cuda/bin/ptxas";
  return llvm::sys::fs::can_execute(usual) ? usual.str() : "";
}

namespace {
/// A temporary file that is removed with this object.
class ScratchFile {
public:
  /// By mkstemps: LLVM's own function would bring in a random source that needs
  /// a later C library than anything else here.
  Error create(StringRef suffix) {
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
    llvm::sys::path::append(path, "fa-XXXXXX." + suffix);
    int descriptor =
        mkstemps(const_cast<char *>(path.c_str()), suffix.size() + 1);
    if (descriptor < 0)
      return makeError(FA_INVALID_IMAGE,
                       "cannot make a temporary file '" + Twine(path) +
                           "' for ptxas: " + llvm::sys::StrError());
    close(descriptor);
    remover.setFile(path, /*deleteIt=*/true);
    return Error::success();
  }
  StringRef getPath() const { return path; }

  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

  Error write(StringRef contents) const {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    if (!code) {
      stream << contents;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    if (!code)
      return Error::success();
    return makeError(FA_INVALID_IMAGE,
                     "cannot write '" + Twine(path) + "': " + code.message());
  }

private:
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
};
} // namespace

/// Runs the assembler; `messages` is what it prints. The error says only why.
static Error runAssembler(StringRef assembler,
                          llvm::ArrayRef<StringRef> options,
                          const ScratchFile &messages) {
  llvm::SmallVector<StringRef> arguments = {assembler};
  llvm::append_range(arguments, options);
  std::optional<StringRef> redirects[] = {StringRef(""), messages.getPath(),
                                          messages.getPath()};
  std::string reason;
  int status = llvm::sys::ExecuteAndWait(assembler, arguments, std::nullopt,
                                         redirects, /*SecondsToWait=*/0,
                                         /*MemoryLimit=*/0, &reason);
  if (status == 0)
    return Error::success();
  return makeError(FA_INVALID_IMAGE, reason.empty() ? messages.read() : reason);
}

/// Machine code, and what the assembler printed.
static Expected<std::pair<std::string, std::string>>
assembleAtLevel(StringRef assembler, StringRef input, StringRef chip,
                StringRef level) {
  ScratchFile output, printed;
  if (Error error = output.create("cubin"))
    return std::move(error);
  if (Error error = printed.create("txt"))
    return std::move(error);
  std::string architecture = ("-arch=" + chip).str();
  llvm::SmallVector<StringRef> options = {architecture,     input, "-o",
                                          output.getPath(), level, "-v"};
  // Kernels of one text at the same time, to the same code.
  options.push_back("-split-compile=0");
  Error error = runAssembler(assembler, options, printed);
  if (error && StringRef(printed.read()).contains("-split-compile")) {
    // CUDA 11 does not know it.
    llvm::consumeError(std::move(error));
    options.pop_back();
    error = runAssembler(assembler, options, printed);
  }
  if (error)
    return makeError(FA_INVALID_IMAGE,
                     "'" + assembler + "' failed for " + chip + ": " +
                         llvm::toString(std::move(error)) +
                         "; FA_PTXAS=none leaves PTX to the driver");
  std::string cubin = output.read();
  if (cubin.empty())
    return makeError(FA_INVALID_IMAGE,
                     "'" + assembler + "' wrote no machine code for " + chip);
  return std::pair(std::move(cubin), printed.read());
}

/// Bytes that the kernels spill, as ptxas -v reports them.
static int64_t countSpills(StringRef messages) {
  int64_t sum = 0;
  for (StringRef line : llvm::split(messages, '\n')) {
    StringRef list = line.trim();
    for (StringRef part : llvm::split(list, ", ")) {
      int64_t bytes = 0;
      if (part.contains(" bytes spill ") && !part.consumeInteger(10, bytes))
        sum += bytes;
    }
  }
  return sum;
}

Expected<AssembledImage> mlir::fa::runtime::assemble(StringRef assembler,
                                                     StringRef ptx,
                                                     StringRef chip) {
  ScratchFile input;
  if (Error error = input.create("ptx"))
    return std::move(error);
  if (Error error = input.write(ptx))
    return std::move(error);
  AssembledImage image;
  auto take = [&](std::pair<std::string, std::string> &made, unsigned level) {
    image.cubin = std::move(made.first);
    image.messages = std::move(made.second);
    image.level = level;
  };
  auto made = assembleAtLevel(assembler, input.getPath(), chip, "-O3");
  if (!made)
    return made.takeError();
  image.spills = countSpills(made->second);
  take(*made, 3);
  if (!image.spills)
    return image;
  auto other = assembleAtLevel(assembler, input.getPath(), chip, "-O1");
  if (!other)
    return other.takeError();
  image.spillsAtLevel1 = countSpills(other->second);
  if (*image.spillsAtLevel1 < image.spills)
    take(*other, 1);
  return image;
}

Expected<std::string>
mlir::fa::runtime::describeAssembler(StringRef assembler) {
  ScratchFile printed;
  if (Error error = printed.create("txt"))
    return std::move(error);
  if (Error error = runAssembler(assembler, {"--version"}, printed))
    return makeError(FA_INVALID_IMAGE, "'" + assembler + "' does not run: " +
                                           llvm::toString(std::move(error)));
  return printed.read();
}
