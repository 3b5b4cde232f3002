//===- InterpreterTarget.h - Runs GPU schedules on the CPU ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_INTERPRETERTARGET_H
#define FA_DRIVER_INTERPRETERTARGET_H

#include "fa/Driver/HostBuffer.h"
#include "fa/Interpreter/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <array>

namespace mlir::fa {

/// A copy of the module of a schedule as a device would run it: checked,
/// pipelined, with stages and resources by `fagpu-plan`, unless all kernels are
/// planned. Fails with one diagnostic for what the plan refuses.
FailureOr<OwningOpRef<ModuleOp>> planSchedule(ModuleOp module);

/// Runs a kernel on `grid`, or, without one, a host function with the kernels
/// that it launches. Every result is rounded to its declared type. Memrefs
/// among the arguments are updated. Layouts that the text leaves out are put
/// into the module. Fails with one diagnostic.
LogicalResult interpret(func::FuncOp function,
                        const interpreter::InterpreterOptions &options,
                        std::optional<std::array<int64_t, 3>> grid,
                        MutableArrayRef<HostBuffer> arguments,
                        MutableArrayRef<HostBuffer> results);

/// The same on values of the executor; arrays may be strided views.
LogicalResult interpret(func::FuncOp function,
                        const interpreter::InterpreterOptions &options,
                        std::optional<std::array<int64_t, 3>> grid,
                        SmallVector<executor::RuntimeValue> &arguments,
                        SmallVector<executor::RuntimeValue> &results);

} // namespace mlir::fa

#endif // FA_DRIVER_INTERPRETERTARGET_H
