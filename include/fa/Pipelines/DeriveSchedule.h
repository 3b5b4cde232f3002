//===- DeriveSchedule.h - The schedule of one function ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PIPELINES_DERIVESCHEDULE_H
#define FA_PIPELINES_DERIVESCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::fa {

/// Whether a function holds attention (level 0 to 2): something that
/// `fa-to-schedule` makes a kernel of.
bool isProblem(func::FuncOp function);

/// Runs `fa-to-schedule` for `chip` (sm_80, ...), with or without peepholes,
/// over a copy of a function at level 0 to 2 and of what it calls. The module
/// that comes back holds
///
///   - the kernel, at level 4;
///   - the host function, of the same name. Its arguments are those of
///     `problem`, tensors as strided memrefs, then one memref for each result;
///   - the problem on these arguments, which the host function's attribute
///     `fa.implements` names.
///
/// Fails with one diagnostic for a problem that has no schedule, for a result
/// that is no tensor and for an unknown chip. The module of `problem` stays as
/// it is.
FailureOr<OwningOpRef<ModuleOp>>
deriveSchedule(func::FuncOp problem, StringRef chip, bool peepholes = true);

} // namespace mlir::fa

#endif // FA_PIPELINES_DERIVESCHEDULE_H
