//===- SeparateFactors.cpp - Producers that a product computes itself -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion puts what makes queries, keys or values, such as a rotary embedding or
// a bias, into the body of the product that reads them. Here each such factor
// becomes a tensor of its own again, so that the product is one of two tensors.
//
//===----------------------------------------------------------------------===//

#include "SeparateFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// What a body computes a value from: its operations in order, and arguments.
struct Computation {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> arguments;
};
} // namespace

static bool collect(Value value, Block *body, Computation &computation) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == body)
      computation.arguments.insert(argument);
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != body || computation.ops.contains(op))
    return true;
  if (op->getNumRegions() != 0 || !isPure(op) || isa<linalg::IndexOp>(op))
    return false;
  for (Value operand : op->getOperands())
    if (!collect(operand, body, computation))
      return false;
  computation.ops.insert(op);
  return true;
}

/// The factor as a tensor over the loops that it depends on, and the map to
/// them; null where it is none to separate.
static linalg::GenericOp separate(linalg::GenericOp product, Value factor,
                                  OpBuilder &builder, AffineMap &place) {
  Computation computation;
  Block *body = product.getBody();
  if (isa<BlockArgument>(factor) || !collect(factor, body, computation))
    return {};
  SmallVector<int64_t> ranges = product.getStaticLoopRanges();
  llvm::SmallBitVector isUsed(ranges.size());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (Value argument : computation.arguments) {
    OpOperand *operand =
        product.getMatchingOpOperand(cast<BlockArgument>(argument));
    if (product.isDpsInit(operand))
      return {};
    AffineMap map = product.getMatchingIndexingMap(operand);
    for (unsigned loop = 0; loop < ranges.size(); ++loop)
      if (map.isFunctionOfDim(loop))
        isUsed.set(loop);
    inputs.push_back(operand->get());
    maps.push_back(map);
  }
  // Over all loops there is no other tensor that it is multiplied by.
  if (isUsed.all() || isUsed.none())
    return {};
  // In the order of an input that has them all, else of the product.
  SmallVector<unsigned> order(isUsed.set_bits());
  for (AffineMap map : maps)
    if (map.isProjectedPermutation() && map.getNumResults() == order.size()) {
      for (auto [position, result] : llvm::enumerate(map.getResults()))
        order[position] = cast<AffineDimExpr>(result).getPosition();
      break;
    }
  Location loc = product.getLoc();
  SmallVector<OpFoldResult> shape;
  SmallVector<AffineExpr> loops;
  for (unsigned loop : order) {
    loops.push_back(builder.getAffineDimExpr(loop));
    if (!ShapedType::isDynamic(ranges[loop])) {
      shape.push_back(builder.getIndexAttr(ranges[loop]));
      continue;
    }
    // Of the first operand that has this loop for a dimension.
    for (OpOperand &operand : product->getOpOperands()) {
      auto dim = product.getMatchingIndexingMap(&operand).getResultPosition(
          loops.back());
      if (!dim)
        continue;
      Value size = tensor::DimOp::create(builder, loc, operand.get(), *dim);
      shape.push_back(size);
      break;
    }
    if (shape.size() != loops.size())
      return {};
  }
  place = AffineMap::get(ranges.size(), 0, loops, builder.getContext());
  maps.push_back(place);
  llvm::SmallBitVector unused = isUsed;
  unused.flip();
  SmallVector<AffineMap> own;
  for (AffineMap map : maps)
    own.push_back(projectDims(map, unused, /*compressDims=*/true));
  Value empty = tensor::EmptyOp::create(builder, loc, shape, factor.getType());
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
      builder, loc, empty.getType(), inputs, empty, own, iterators,
      [&](OpBuilder &nested, Location at, ValueRange values) {
        IRMapping mapping;
        for (auto [argument, value] :
             llvm::zip_first(computation.arguments, values))
          mapping.map(argument, value);
        for (Operation *op : computation.ops)
          nested.clone(*op, mapping);
        linalg::YieldOp::create(nested, at, mapping.lookup(factor));
      });
}

linalg::GenericOp mlir::fa::separateFactors(linalg::LinalgOp op) {
  auto product = dyn_cast<linalg::GenericOp>(op.getOperation());
  if (!product || product.getNumDpsInputs() < 3)
    return {};
  Block *body = product.getBody();
  auto sum =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return {};
  Value output = product.getRegionOutputArgs().front();
  Value term = sum.getLhs() == output ? sum.getRhs() : sum.getLhs();
  auto multiply = term.getDefiningOp<arith::MulFOp>();
  if (!multiply || (sum.getLhs() != output && sum.getRhs() != output))
    return {};
  OpBuilder builder(product);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  bool isSeparated = false;
  for (Value factor : multiply->getOperands()) {
    Computation computation;
    isSeparated |=
        collect(factor, body, computation) && computation.arguments.size() > 1;
  }
  // Of one tensor and numbers each factor is understood as it is.
  if (!isSeparated)
    return {};
  for (Value factor : multiply->getOperands()) {
    AffineMap place;
    auto made = separate(product, factor, builder, place);
    if (made) {
      inputs.push_back(made.getResult(0));
      maps.push_back(place);
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(factor);
    if (!argument || argument.getOwner() != body)
      break;
    OpOperand *operand = product.getMatchingOpOperand(argument);
    inputs.push_back(operand->get());
    maps.push_back(product.getMatchingIndexingMap(operand));
  }
  if (inputs.size() != 2) {
    for (Value input : inputs)
      if (auto made = input.getDefiningOp<linalg::GenericOp>())
        if (made->use_empty())
          made->erase();
    return {};
  }
  maps.push_back(product.getIndexingMapsArray().back());
  return linalg::GenericOp::create(
      builder, product.getLoc(), product.getResultTypes(), inputs,
      product.getOutputs(), maps, product.getIteratorTypesArray(),
      [](OpBuilder &nested, Location at, ValueRange values) {
        Value factor = arith::MulFOp::create(nested, at, values[0], values[1]);
        Value sum = arith::AddFOp::create(nested, at, values[2], factor);
        linalg::YieldOp::create(nested, at, sum);
      });
}
