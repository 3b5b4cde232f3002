//===- KernelCompilation.h - From a module to a kernel ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_KERNELCOMPILATION_H
#define FA_DRIVER_KERNELCOMPILATION_H

#include "fa/Export/Compile.h"

namespace mlir::fa {

/// What to compile a kernel to.
struct KernelRequest {
  /// Host function or problem; none needed if there is only one.
  std::string entry;
  /// Names the images in the manifest.
  std::string stem;
  CompileOptions options;
};

struct CompiledKernel {
  CompiledSchedule schedule;
  ManifestNames names;
  /// Whether the schedule was derived from a problem.
  bool isDerived = false;
};

/// Compiles a schedule, or a problem by way of its schedule, to images and a
/// manifest. `getNames` gives the names of a function's arguments. The module
/// stays as it is. Fails with one diagnostic.
FailureOr<CompiledKernel> compileKernel(
    ModuleOp module,
    llvm::function_ref<FailureOr<SmallVector<std::string>>(func::FuncOp)>
        getNames,
    const KernelRequest &request);

} // namespace mlir::fa

#endif // FA_DRIVER_KERNELCOMPILATION_H
