//===- Program.h - Text or bytecode as a module -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_PROGRAM_H
#define FA_DRIVER_PROGRAM_H

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mlir::fa {

/// A module that was read.
struct Program {
  /// The text, and where in it operations are: names of arguments are found so.
  /// Null for bytecode, which has none.
  std::shared_ptr<llvm::SourceMgr> sources;
  std::unique_ptr<AsmParserState> places;
  OwningOpRef<ModuleOp> file;
  /// A file may be one module, or what stands in one.
  ModuleOp module;

  /// As fa::getArgumentNames; empty for bytecode.
  FailureOr<SmallVector<std::string>> getArgumentNames(func::FuncOp function);
};

/// Reads text or bytecode; `name` is that of the file in diagnostics. Fails
/// with one diagnostic, also for bytecode of another MLIR and for brackets that
/// are nested too deeply for a recursive parser.
FailureOr<Program> readProgram(StringRef source, StringRef name,
                               MLIRContext *context);

/// The public function `name`, or, where `name` is empty, the only one. Fails
/// with a diagnostic that lists what there is.
FailureOr<func::FuncOp> findPublicFunction(ModuleOp module, StringRef name);

} // namespace mlir::fa

#endif // FA_DRIVER_PROGRAM_H
