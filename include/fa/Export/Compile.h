//===- Compile.h - From a schedule to images and a manifest ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXPORT_COMPILE_H
#define FA_EXPORT_COMPILE_H

#include "fa/Export/Manifest.h"
#include "mlir/AsmParser/AsmParserState.h"

namespace mlir::fa {

struct CompileOptions {
  /// "" for the kernel's own.
  std::string chip;
  /// Machine code by ptxas besides PTX; an error where there is no ptxas.
  bool machineCode = false;
  bool failOnSpill = false;
  /// Passes that only make kernels faster.
  bool peepholes = true;
};

/// A kernel with its host function, ready for the launcher.
struct CompiledSchedule {
  /// Of all kernels.
  std::string ptx;
  /// Empty where none was asked for. One for each kernel, as each is assembled
  /// by itself.
  SmallVector<CubinImage> cubins;
  llvm::json::Object manifest;
};

/// The functions of a module that launch kernels, in their order.
SmallVector<func::FuncOp> findHostFunctions(ModuleOp module);

/// The function that a launcher's host function is made of: the function
/// `name`, or, where `name` is empty, the only host function or else the only
/// public function with attention (level 0 to 2). Fails with a diagnostic that
/// lists what there is.
FailureOr<func::FuncOp> findCompiledFunction(ModuleOp module, StringRef name);

/// The names that the arguments of a function have in its text, with '_' for
/// what a manifest's names cannot hold; empty where there is no text. Fails
/// with a diagnostic where two become one or where a manifest reserves one.
FailureOr<SmallVector<std::string>>
getArgumentNames(func::FuncOp function, const AsmParserState &state);

/// The names of a derived host function's arguments: those of the problem, then
/// one for each result: `output` and `lse` for those of an attention, else
/// `result0`, ...
SmallVector<std::string> addResultNames(func::FuncOp problem,
                                        SmallVector<std::string> arguments);

/// Compiles the kernel that `host` launches. The module is not changed. `names`
/// are those of the arguments, and of the files that the manifest refers to.
/// Fails with a diagnostic.
FailureOr<CompiledSchedule> compileSchedule(func::FuncOp host,
                                            const ManifestNames &names,
                                            const CompileOptions &options);

} // namespace mlir::fa

#endif // FA_EXPORT_COMPILE_H
