//===- Derivation.h - Problems on GPU targets -------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_DERIVATION_H
#define FA_DRIVER_DERIVATION_H

#include "fa/Driver/HostBuffer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::fa {

/// The schedule that a problem was turned into.
struct DerivedSchedule {
  OwningOpRef<ModuleOp> module;
  /// Takes the problem's arguments, then its results.
  func::FuncOp host;
  std::string chip;
  double seconds = 0;
};

/// The schedule of a problem for `chip`, with or without peepholes; for sm_80,
/// which later ones run too, if `chip` is empty. Fails with one diagnostic.
FailureOr<DerivedSchedule> derive(func::FuncOp problem, StringRef chip,
                                  bool peepholes);

/// Calls `body` with the arguments and results in one row, as a derived host
/// function takes them.
LogicalResult withResultsAsArguments(
    MutableArrayRef<HostBuffer> arguments, MutableArrayRef<HostBuffer> results,
    llvm::function_ref<LogicalResult(MutableArrayRef<HostBuffer>)> body);

} // namespace mlir::fa

#endif // FA_DRIVER_DERIVATION_H
