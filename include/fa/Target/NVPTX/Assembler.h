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

/// What the assembler made, and how.
struct AssembledImage {
  std::string cubin;
  /// What was printed, with registers and spills.
  std::string messages;
  /// The level that was taken: 3, or 1.
  unsigned level = 3;
  /// Bytes a thread that -O3 spills, and -O1 where that was tried, all kernels
  /// together.
  int64_t spills = 0;
  std::optional<int64_t> spillsAtLevel1;
};

/// Runs `assembler` on PTX for an architecture such as sm_90a. The error holds
/// what it printed. Where the code spills it is assembled again with -O1, which
/// hoists fewer reads past the registers that there are, and what spills less
/// is taken.
llvm::Expected<AssembledImage>
assemble(llvm::StringRef assembler, llvm::StringRef ptx, llvm::StringRef chip);

/// What `assembler --version` prints.
llvm::Expected<std::string> describeAssembler(llvm::StringRef assembler);

} // namespace mlir::fa

#endif // FA_TARGET_NVPTX_ASSEMBLER_H
