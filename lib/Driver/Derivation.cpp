//===- Derivation.cpp - Problems on GPU targets ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/Derivation.h"
#include "fa/Pipelines/DeriveSchedule.h"
#include <chrono>

using namespace mlir;
using namespace mlir::fa;

FailureOr<DerivedSchedule> fa::derive(func::FuncOp problem, StringRef chip,
                                      bool peepholes) {
  auto start = std::chrono::steady_clock::now();
  DerivedSchedule derived;
  derived.chip = chip.empty() ? "sm_80" : chip.str();
  auto module = deriveSchedule(problem, derived.chip, peepholes);
  if (failed(module))
    return failure();
  derived.module = std::move(*module);
  derived.host = derived.module->lookupSymbol<func::FuncOp>(problem.getName());
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  derived.seconds = elapsed.count();
  return derived;
}

LogicalResult fa::withResultsAsArguments(
    MutableArrayRef<HostBuffer> arguments, MutableArrayRef<HostBuffer> results,
    llvm::function_ref<LogicalResult(MutableArrayRef<HostBuffer>)> body) {
  SmallVector<HostBuffer> all;
  auto takeAll = [&](MutableArrayRef<HostBuffer> buffers) {
    all.append(std::make_move_iterator(buffers.begin()),
               std::make_move_iterator(buffers.end()));
  };
  takeAll(arguments);
  takeAll(results);
  LogicalResult done = body(all);
  auto next = std::make_move_iterator(all.begin());
  std::copy_n(next, arguments.size(), arguments.begin());
  std::copy_n(next + arguments.size(), results.size(), results.begin());
  return done;
}
