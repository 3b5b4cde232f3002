//===- Assembler.cpp - PTX to machine code by ptxas -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds ptxas and runs it in a process of its own. Code that spills registers
// at -O3 is assembled at -O1 too; where -O3 has much to do both run side by
// side. Read `assemble`, near the end, then `Assembly`, one run.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/Assembler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir::fa;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

std::string mlir::fa::findAssembler() {
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
      return makeError("cannot make a temporary file '" + Twine(path) +
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
    return makeError("cannot write '" + Twine(path) + "': " + code.message());
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
  return makeError(reason.empty() ? messages.read() : reason);
}

/// Bytes that the kernels spill, or one alone, as ptxas -v reports them.
static int64_t countSpills(StringRef messages, StringRef kernel = "") {
  int64_t sum = 0;
  StringRef current;
  for (StringRef line : llvm::split(messages, '\n')) {
    StringRef list = line.trim(), after = list.split("entry function '").second;
    if (!after.empty())
      current = after.take_until([](char c) { return c == '\''; });
    if (!kernel.empty() && !current.empty() && current != kernel)
      continue;
    for (StringRef part : llvm::split(list, ", ")) {
      int64_t bytes = 0;
      if (part.contains(" bytes spill ") && !part.consumeInteger(10, bytes))
        sum += bytes;
    }
  }
  return sum;
}

namespace {
/// The assembler at work in a process of its own, which ends with this object.
class Assembly {
public:
  Assembly(StringRef assembler, StringRef input, StringRef chip,
           StringRef level)
      : assembler(assembler), input(input), chip(chip), level(level) {}
  ~Assembly() {
    if (!process.Pid)
      return;
    kill(process.Pid, SIGKILL);
    llvm::sys::Wait(process, /*SecondsToWait=*/std::nullopt);
  }

  Error start();
  /// Whether it ends within a time of a processor, all of its threads together.
  bool endsIn(std::chrono::milliseconds time) const;
  Expected<AssembledCode> finish();

private:
  Error execute(bool splits);
  Error wait();
  std::chrono::nanoseconds getProcessorTime() const;

  std::string assembler, input, chip, level;
  ScratchFile output, printed;
  llvm::sys::ProcessInfo process;
};
} // namespace

Error Assembly::execute(bool splits) {
  std::string architecture = "-arch=" + chip;
  llvm::SmallVector<StringRef> arguments = {
      assembler, architecture, input, "-o", output.getPath(), level, "-v"};
  // Kernels of one text at the same time, to the same code.
  if (splits)
    arguments.push_back("-split-compile=0");
  std::optional<StringRef> redirects[] = {StringRef(""), printed.getPath(),
                                          printed.getPath()};
  std::string reason;
  process = llvm::sys::ExecuteNoWait(assembler, arguments, std::nullopt,
                                     redirects, /*MemoryLimit=*/0, &reason);
  if (process.Pid)
    return Error::success();
  return makeError("'" + Twine(assembler) + "' failed for " + chip + ": " +
                   reason);
}

Error Assembly::start() {
  if (Error error = output.create("cubin"))
    return error;
  if (Error error = printed.create("txt"))
    return error;
  return execute(/*splits=*/true);
}

/// The greatest where the system does not say.
std::chrono::nanoseconds Assembly::getProcessorTime() const {
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(process.Pid, &clock) || clock_gettime(clock, &time))
    return std::chrono::nanoseconds::max();
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

bool Assembly::endsIn(std::chrono::milliseconds time) const {
  siginfo_t ended = {};
  while (waitid(P_PID, process.Pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         !ended.si_pid) {
    if (getProcessorTime() >= time)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

Error Assembly::wait() {
  std::string reason;
  int status = llvm::sys::Wait(process, /*SecondsToWait=*/std::nullopt, &reason)
                   .ReturnCode;
  process = {};
  if (status == 0)
    return Error::success();
  return makeError("'" + Twine(assembler) + "' failed for " + chip + ": " +
                   (reason.empty() ? printed.read() : reason) +
                   "; FA_PTXAS=none leaves PTX to the driver");
}

Expected<AssembledCode> Assembly::finish() {
  Error error = wait();
  if (error && StringRef(printed.read()).contains("-split-compile")) {
    // CUDA 11 does not know it.
    llvm::consumeError(std::move(error));
    error = execute(/*splits=*/false);
    if (!error)
      error = wait();
  }
  if (error)
    return std::move(error);
  std::string cubin = output.read();
  if (cubin.empty())
    return makeError("'" + Twine(assembler) + "' wrote no machine code for " +
                     chip);
  std::string messages = printed.read();
  int64_t spills = countSpills(messages);
  return AssembledCode{std::move(cubin), std::move(messages), spills};
}

/// How much of a processor -O3 takes by itself. Most code does not spill, and
/// -O1 beside it would slow it down: the more so where other processes compile,
/// so that this is no time of a clock.
static constexpr std::chrono::milliseconds timeAlone(2500);

Expected<AssembledImage> mlir::fa::assemble(StringRef assembler, StringRef ptx,
                                            StringRef chip) {
  ScratchFile input;
  if (Error error = input.create("ptx"))
    return std::move(error);
  if (Error error = input.write(ptx))
    return std::move(error);
  Assembly highest(assembler, input.getPath(), chip, "-O3"),
      other(assembler, input.getPath(), chip, "-O1");
  if (Error error = highest.start())
    return std::move(error);
  bool areBeside = !highest.endsIn(timeAlone);
  if (areBeside)
    if (Error error = other.start())
      return std::move(error);
  auto made = highest.finish();
  if (!made)
    return made.takeError();
  AssembledImage image = {std::move(*made), std::nullopt};
  if (!image.highest.spills)
    return image;
  if (!areBeside)
    if (Error error = other.start())
      return std::move(error);
  made = other.finish();
  if (!made)
    return made.takeError();
  image.level1 = std::move(*made);
  return image;
}

unsigned mlir::fa::chooseLevel(const AssembledImage &image, StringRef kernel) {
  // Code of -O1 is slower by more than a few bytes: with 104 for 116 a gradient
  // of head dim 64 has 0.97 of the speed on an H200.
  constexpr int64_t leastRatio = 2;
  return image.level1 &&
                 leastRatio * countSpills(image.level1->messages, kernel) <=
                     countSpills(image.highest.messages, kernel)
             ? 1
             : 3;
}

Expected<std::string> mlir::fa::describeAssembler(StringRef assembler) {
  ScratchFile printed;
  if (Error error = printed.create("txt"))
    return std::move(error);
  if (Error error = runAssembler(assembler, {"--version"}, printed))
    return makeError("ptxas '" + assembler +
                     "', which FA_PTXAS may name, does not run: " +
                     llvm::toString(std::move(error)));
  return printed.read();
}
