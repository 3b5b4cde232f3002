//===- PTX.h - From the LLVM dialect to PTX --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_PTX_H
#define FA_TARGET_NVPTX_PTX_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace mlir::fa {

/// The PTX version to compile for a chip, as 10 * major + minor: the one of its
/// target, or the highest that `assembler` takes where that is lower. Without
/// an assembler ("") the target's. A version asked for (not 0) is checked
/// against the chip, LLVM and the assembler.
llvm::Expected<unsigned> choosePTXVersion(StringRef chip, StringRef assembler,
                                          unsigned requested = 0);

/// PTX of a module in the LLVM dialect, by LLVM's NVPTX back end at its highest
/// level and nothing before it: what `llc -O3 -asm-verbose=0` makes of the
/// translated module. Emits errors on the module.
FailureOr<std::string> translateToPTX(ModuleOp module, StringRef chip,
                                      unsigned ptxVersion);

/// One text of several that were translated for the same chip: the head and the
/// declarations once, with labels that count kernels as in one translation.
std::string joinPTX(llvm::ArrayRef<std::string> texts);

/// The dialect interfaces that `translateToPTX` needs.
void registerPTXTranslation(DialectRegistry &registry);

} // namespace mlir::fa

#endif // FA_TARGET_NVPTX_PTX_H
