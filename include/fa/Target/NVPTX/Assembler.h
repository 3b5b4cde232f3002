//===- Assembler.h - PTX to machine code by ptxas --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_ASSEMBLER_H
#define FA_TARGET_NVPTX_ASSEMBLER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace mlir::fa {

/// The assembler of the CUDA toolkit: what FA_PTXAS names, else the one in
/// PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda. "" where there is none, or
/// where FA_PTXAS is "none".
std::string findAssembler();

/// What one level of the assembler made.
struct AssembledCode {
  std::string cubin;
  /// What was printed, with registers and spills.
  std::string messages;
  /// Bytes a thread, all kernels together.
  int64_t spills = 0;
};

/// What the assembler made of a text.
struct AssembledImage {
  AssembledCode highest;
  /// By -O1, where -O3 spills.
  std::optional<AssembledCode> level1;

  /// Of level 3 or 1, or the one that there is.
  AssembledCode &get(unsigned level) {
    return level == 1 && level1 ? *level1 : highest;
  }
};

/// The level of kernels of one text, all of them together or one alone: 1 where
/// they spill at most half as much by it, else 3.
unsigned chooseLevel(const AssembledImage &image, llvm::StringRef kernel = "");

/// Runs `assembler` on PTX for an architecture such as sm_90a. The error holds
/// what it printed. Where the code spills it is assembled again with -O1, which
/// hoists fewer reads past the registers that there are.
llvm::Expected<AssembledImage>
assemble(llvm::StringRef assembler, llvm::StringRef ptx, llvm::StringRef chip);

/// What `assembler --version` prints.
llvm::Expected<std::string> describeAssembler(llvm::StringRef assembler);

} // namespace mlir::fa

#endif // FA_TARGET_NVPTX_ASSEMBLER_H
