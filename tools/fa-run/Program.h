//===- Program.h - Files, entries and strategies ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_PROGRAM_H
#define FA_TOOLS_FA_RUN_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::fa {

/// Prints "fa-run: error: ..." and fails. For what has no place in the IR.
LogicalResult reportError(const Twine &message);

/// Parses and verifies a file. Fails with a diagnostic.
OwningOpRef<ModuleOp> parseProgram(StringRef path, MLIRContext *context);

/// The function `name`, or, where that is empty, the only public function with
/// a body, or the only one of them that has `fa.implements`. Fails with a
/// diagnostic that lists what there is.
FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name,
                                  StringRef path);

/// Applies the named sequence `@__transform_main` of a file to the module.
LogicalResult applyStrategy(ModuleOp module, StringRef path);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_PROGRAM_H
