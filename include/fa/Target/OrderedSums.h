//===- OrderedSums.h - Gradients of captures in one order -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_ORDEREDSUMS_H
#define FA_TARGET_ORDEREDSUMS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/OrderedSums.h"

namespace mlir::fa {

/// Which values of the block of a region depend on one of its arguments.
llvm::DenseSet<Value> findDependent(BlockArgument argument);

/// What has an element of the gradient of a capture to itself, in all places
/// that add to it, so that its sum has one order on a GPU: a pair, a row of a
/// block of queries or of keys, or a warp with all pairs of a block. None where
/// pairs of a block share elements.
enum class OrderedSum { none, ofPair, ofQuery, ofKey, ofBlock };
OrderedSum getOrderedSum(AttentionGradientOp op, int64_t capture);

} // namespace mlir::fa

#endif // FA_TARGET_ORDEREDSUMS_H
