//===- OrderedSums.cpp - Gradients of captures in one order ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/OrderedSums.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::fa;

llvm::DenseSet<Value> mlir::fa::findDependent(BlockArgument argument) {
  llvm::DenseSet<Value> dependent = {argument};
  for (Operation &nested : *argument.getOwner())
    if (llvm::any_of(nested.getOperands(), [&](Value operand) {
          return dependent.contains(operand);
        }))
      dependent.insert(nested.result_begin(), nested.result_end());
  return dependent;
}

/// Of the additions of one place.
static OrderedSum getOrderedSum(ScatterGradientOp scatter) {
  Block &body = *scatter->getBlock();
  auto indices = scatter.getIndices();
  auto varies = [&](unsigned number) {
    llvm::DenseSet<Value> dependent = findDependent(body.getArgument(number));
    return llvm::any_of(indices,
                        [&](Value index) { return dependent.contains(index); });
  };
  auto isOwn = [&](unsigned number) {
    return llvm::is_contained(indices, body.getArgument(number));
  };
  // What the numbers of a pair say is another element for each.
  if (varies(0) || varies(1))
    return OrderedSum::none;
  bool ofQuery = varies(4), ofKey = varies(5);
  if (!ofQuery && !ofKey)
    return OrderedSum::ofBlock;
  if (ofQuery && ofKey)
    return isOwn(2) && isOwn(3) && isOwn(4) && isOwn(5) ? OrderedSum::ofPair
                                                        : OrderedSum::none;
  if (ofQuery)
    return isOwn(4) ? OrderedSum::ofQuery : OrderedSum::none;
  return isOwn(5) ? OrderedSum::ofKey : OrderedSum::none;
}

/// Which indices are the query, or the key, of a pair.
static llvm::SmallBitVector findPositions(ScatterGradientOp scatter,
                                          OrderedSum sum) {
  Block &body = *scatter->getBlock();
  llvm::SmallBitVector positions(scatter.getIndices().size());
  for (auto [position, index] : llvm::enumerate(scatter.getIndices()))
    if (index == body.getArgument(sum == OrderedSum::ofQuery ? 4 : 5))
      positions.set(position);
  return positions;
}

OrderedSum mlir::fa::getOrderedSum(AttentionGradientOp op, int64_t capture) {
  if (op.getScoreGradient().empty())
    return OrderedSum::ofBlock;
  std::optional<OrderedSum> found;
  llvm::SmallBitVector positions;
  Block &body = op.getScoreGradient().front();
  for (auto scatter : body.getOps<ScatterGradientOp>()) {
    if (scatter.getCapture() != body.getArgument(6 + capture))
      continue;
    OrderedSum sum = ::getOrderedSum(scatter);
    llvm::SmallBitVector here = findPositions(scatter, sum);
    // Several pairs share an element of two places, and several rows one where
    // these are indexed elsewhere.
    bool isApart = sum == OrderedSum::ofPair ||
                   (sum != OrderedSum::ofBlock && !here.anyCommon(positions));
    if (found && (*found != sum || isApart))
      return OrderedSum::none;
    found = sum;
    positions = positions.empty() ? here : positions &= here;
  }
  // Blocks of keys add to rows of keys where they are visited.
  bool hasKeys = op.getKeyGradient() || op.getValueGradient();
  if (found == OrderedSum::ofKey && !hasKeys)
    return OrderedSum::none;
  return found.value_or(OrderedSum::ofBlock);
}
