//===- TileBodies.cpp - What loops over tiles compute themselves ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBodies.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::fa;

/// Whether an operation is of a tile: it makes block values, reads memory, or
/// needs what such an operation makes. Sizes and views are of the host.
static bool isOfTile(Operation *op, const DenseSet<Operation *> &ofTile) {
  if (isa<scf::ForallOp>(op))
    return false;
  if (isa<FADialect>(op->getDialect()) || isa<memref::LoadOp>(op) ||
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    return true;
  auto isMade = [&](Value value) {
    return ofTile.contains(value.getDefiningOp());
  };
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  return llvm::any_of(used, isMade);
}

LogicalResult mlir::fa::wrapSingleTile(Block &body) {
  if (body.getOps<FinalizeOp>().empty() && body.getOps<KeyRangesOp>().empty())
    return success();
  Operation *end = body.getTerminator();
  OpBuilder builder(end);
  Location loc = body.getParentOp()->getLoc();
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto loop = scf::ForallOp::create(builder, loc, ArrayRef(zero), ArrayRef(one),
                                    ArrayRef(one), ValueRange(), std::nullopt);
  SmallVector<Operation *> moved;
  DenseSet<Operation *> ofTile;
  for (Operation &op : body)
    if (&op != loop && &op != end && !op.hasTrait<OpTrait::ConstantLike>() &&
        isOfTile(&op, ofTile)) {
      moved.push_back(&op);
      ofTile.insert(&op);
    }
  for (Value operand : end->getOperands())
    if (ofTile.contains(operand.getDefiningOp()))
      return operand.getDefiningOp()->emitOpError()
             << "has a result of type " << operand.getType()
             << " that leaves its tile, expected one that is stored in it";
  for (Operation *op : moved)
    op->moveBefore(loop.getBody()->getTerminator());
  return success();
}

void mlir::fa::hoistSizes(scf::ForallOp loop) {
  OpBuilder builder(loop);
  SmallVector<memref::DimOp> sizes;
  loop.walk([&](memref::DimOp dim) {
    if (dim.getConstantIndex() &&
        !loop.getRegion().isAncestor(dim.getSource().getParentRegion()))
      sizes.push_back(dim);
  });
  for (memref::DimOp dim : sizes) {
    dim.replaceAllUsesWith(memref::DimOp::create(builder, loop.getLoc(),
                                                 dim.getSource(),
                                                 *dim.getConstantIndex())
                               .getResult());
    dim.erase();
  }
}

/// What computes a real scalar and nothing else; null for other values.
static Operation *getRealSource(Value value) {
  Operation *source = value.getDefiningOp();
  bool isReal = source && isa<FloatType>(value.getType()) &&
                !source->hasTrait<OpTrait::ConstantLike>() &&
                source->getNumRegions() == 0 && isMemoryEffectFree(source);
  return isReal ? source : nullptr;
}

void mlir::fa::sinkReals(scf::ForallOp loop) {
  SetVector<Value> outside;
  getUsedValuesDefinedAbove(loop.getRegion(), outside);
  SetVector<Operation *> sources;
  for (size_t i = 0; i < outside.size(); ++i)
    if (Operation *source = getRealSource(outside[i])) {
      sources.insert(source);
      outside.insert(source->operand_begin(), source->operand_end());
    }
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  IRMapping copies;
  for (Operation *source : topologicalSort(sources)) {
    Operation *copy = builder.clone(*source, copies);
    source->replaceUsesWithIf(copy->getResults(), [&](OpOperand &use) {
      return loop.getRegion().isAncestor(use.getOwner()->getParentRegion());
    });
  }
}
