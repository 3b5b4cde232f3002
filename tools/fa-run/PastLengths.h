//===- PastLengths.h - Lengths of an attention among the inputs -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_PASTLENGTHS_H
#define FA_TOOLS_FA_RUN_PASTLENGTHS_H

#include "fa/Driver/HostBuffer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// Sets to NaN the rows of queries, keys and values that lie past a length of
/// their batch, since no result may depend on them: in arguments of `function`
/// that one fa.attention uses and nothing else, where `mayChange` allows it.
void poisonPastLengths(func::FuncOp function,
                       MutableArrayRef<HostBuffer> arguments,
                       llvm::function_ref<bool(unsigned)> mayChange);

/// Checks the lengths of each fa.attention that are arguments of `function`
/// against the sizes of its queries and keys. Lengths that `mayChange` allows
/// to are brought into range; of others the first out of range is an error.
llvm::Error boundLengths(func::FuncOp function,
                         MutableArrayRef<HostBuffer> arguments,
                         llvm::function_ref<bool(unsigned)> mayChange);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_PASTLENGTHS_H
