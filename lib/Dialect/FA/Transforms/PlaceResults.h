//===- PlaceResults.h - Results of a function in its out-parameters -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores of results into out-parameters, from where they are made at the end of
// a function to where they cost nothing. Before bufferization, whose analysis
// does not see a store into memory as a write: an out-parameter may hold a
// result and what becomes it, and nothing that anybody reads later.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_PLACERESULTS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_PLACERESULTS_H

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

using StoreOp = bufferization::MaterializeInDestinationOp;

/// What an `scf.if` returns only to be stored, its branches store. Returns all
/// stores there are then.
SmallVector<StoreOp> sinkIntoBranches(RewriterBase &rewriter,
                                      ArrayRef<StoreOp> stores);

/// Makes memory as a tensor, before the operation that writes to it.
using MakeMemoryFn = llvm::function_ref<Value(Location)>;

/// Makes what becomes `value` lie in some memory from its beginning, if that
/// can be. On the way there is only what the next operation alone uses, so that
/// nothing is lost when that overwrites it.
bool makeIn(RewriterBase &rewriter, Value value, MakeMemoryFn makeMemory);

/// Operations whose result is stored write to the out-parameter, if they can,
/// in place of an empty tensor.
void writeInPlace(RewriterBase &rewriter, ArrayRef<StoreOp> stores);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_PLACERESULTS_H
