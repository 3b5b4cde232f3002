//===- MachineCode.h - From PTX to a cubin, with gates ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_MACHINECODE_H
#define FA_TARGET_NVPTX_MACHINECODE_H

#include "fa/Target/NVPTX/Assembler.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::fa {

/// What the assembler reports of one kernel; sizes in bytes a thread.
struct KernelResources {
  int64_t registers = 0;
  int64_t stackFrame = 0;
  int64_t spillStores = 0;
  int64_t spillLoads = 0;
};

/// What the assembler says of an image.
struct AssemblyReport {
  llvm::StringMap<KernelResources> kernels;
  /// Lines with a number C75xx: matrix products that it runs one after the
  /// other, requests for registers that it drops.
  SmallVector<std::string> lostPerformance;
};

/// Reads what `ptxas -v` prints.
AssemblyReport parseAssemblyReport(StringRef messages);

/// Machine code of a text.
struct MachineCode {
  AssembledImage image;
  /// Whether the text was assembled without its schedule barriers, over which
  /// `ptxas` waits for products.
  bool dropsScheduleBarriers = false;
};

/// Assembles a text for a chip.
llvm::Expected<MachineCode> assemblePTX(StringRef assembler, StringRef ptx,
                                        StringRef chip);

} // namespace mlir::fa

#endif // FA_TARGET_NVPTX_MACHINECODE_H
