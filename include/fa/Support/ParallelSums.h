//===- ParallelSums.h - Sums of numbers side by side ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_PARALLELSUMS_H
#define FA_SUPPORT_PARALLELSUMS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

/// A `scf.parallel` from `begin` to `end` that adds up `count` numbers of i32,
/// which `getTerms` makes in its body for each index. The sums come back.
inline ResultRange createParallelSums(
    OpBuilder &builder, Location loc, Value begin, Value end, unsigned count,
    function_ref<SmallVector<Value>(OpBuilder &, Value)> getTerms) {
  auto body = [&](OpBuilder &inside, Location, ValueRange indices, ValueRange) {
    auto reduce =
        scf::ReduceOp::create(inside, loc, getTerms(inside, indices.front()));
    for (Region &region : reduce.getReductions()) {
      Block &block = region.front();
      OpBuilder adding = OpBuilder::atBlockEnd(&block);
      Value sum = arith::AddIOp::create(adding, loc, block.getArgument(0),
                                        block.getArgument(1));
      scf::ReduceReturnOp::create(adding, loc, sum);
    }
  };
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
  return scf::ParallelOp::create(builder, loc, begin, end, one,
                                 SmallVector<Value>(count, zero), body)
      .getResults();
}

} // namespace mlir::fa

#endif // FA_SUPPORT_PARALLELSUMS_H
