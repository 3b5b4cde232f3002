//===- Multiples.cpp - Indices that are multiples -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Multiples.h"
#include "fa/Dialect/FA/Transforms/Dropout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

/// The first index of a block, where ranges begin at multiples of their step.
static bool isOfRanges(BlockArgument argument, int64_t factor) {
  auto ranges =
      dyn_cast<BlockRangesOpInterface>(argument.getOwner()->getParentOp());
  if (!ranges || argument.getArgNumber() != 0 || ranges.getStep() % factor)
    return false;
  return ranges->hasAttr(alignedRangesAttrName) ||
         llvm::all_of(ranges.getBegins(),
                      [&](Value begin) { return isMultipleOf(begin, factor); });
}

bool mlir::fa::isMultipleOf(Value value, int64_t factor) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % factor == 0;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isOfRanges(argument, factor);
  Operation *op = value.getDefiningOp();
  auto check = [&](Value operand) { return isMultipleOf(operand, factor); };
  // A mask without low bits leaves a multiple, too.
  if (isa<arith::MulIOp>(op) ||
      (isa<arith::AndIOp>(op) && llvm::isPowerOf2_64(factor)))
    return llvm::any_of(op->getOperands(), check);
  // `x - x mod n`
  if (auto difference = dyn_cast<arith::SubIOp>(op))
    if (auto rest = difference.getRhs().getDefiningOp<arith::RemUIOp>();
        rest && rest.getLhs() == difference.getLhs() && check(rest.getRhs()))
      return true;
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::IndexCastOp>(op) &&
         llvm::all_of(op->getOperands(), check);
}
