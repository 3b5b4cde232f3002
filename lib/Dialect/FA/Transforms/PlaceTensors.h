//===- PlaceTensors.h - Memory of tensors that control flow returns -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Branches and loops that return tensors get memory outside of them to write
// to, so that what they allocate is freed where it was allocated. Before
// bufferization.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_PLACETENSORS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_PLACETENSORS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {

/// Both branches of each `scf.if` write their tensors into an empty one before
/// it. Fails where the sizes of a tensor are known inside of the branch alone.
LogicalResult placeBranchTensors(RewriterBase &rewriter, func::FuncOp function);

/// Each `scf.for` updates in place what it carries: a tensor of its body that
/// lies in other memory, as the result of an attention, is copied there. Fails
/// where its size may be another one.
LogicalResult placeLoopTensors(RewriterBase &rewriter, func::FuncOp function);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_PLACETENSORS_H
