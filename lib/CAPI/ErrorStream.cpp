//===- ErrorStream.cpp - What LLVM prints to stderr -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorStream.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>

static std::atomic<bool> isPrinted = false;

#ifdef FA_SHARED_LLVM
/// LLVM's own stream, which is the only one.
static llvm::raw_fd_ostream *__real__ZN4llvm4errsEv() { return &llvm::errs(); }
#else
/// LLVM's own stream.
extern "C" llvm::raw_fd_ostream *__real__ZN4llvm4errsEv();
#endif

namespace {
/// A stream of errors that keeps what it is given.
class KeptStream : public llvm::raw_fd_ostream {
public:
  KeptStream()
      : raw_fd_ostream(/*fd=*/-1, /*shouldClose=*/false, /*unbuffered=*/true) {}

  std::string take() { return std::exchange(kept, {}); }

private:
  void write_impl(const char *data, size_t size) override {
    if (kept.size() < most)
      kept.append(data, size);
  }
  uint64_t current_pos() const override { return kept.size(); }

  static constexpr size_t most = 1 << 16;
  std::string kept;
};
} // namespace

static KeptStream &getStream() {
  thread_local KeptStream stream;
  return stream;
}

/// What calls of `llvm::errs()` in libFA.so become by `--wrap`.
extern "C" llvm::raw_fd_ostream *__wrap__ZN4llvm4errsEv() {
  return isPrinted ? __real__ZN4llvm4errsEv() : &getStream();
}

void mlir::fa::printErrorOutput() { isPrinted = true; }

std::string mlir::fa::takeErrorOutput() { return getStream().take(); }
