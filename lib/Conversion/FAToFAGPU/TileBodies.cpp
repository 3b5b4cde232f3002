//===- TileBodies.cpp - What loops over tiles compute themselves ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations beside attention on block values become loops of one iteration, so
// that they are kernels too; sizes move out of loops, and scalars into them.
// Read `TileWrapper::run` first.
//
//===----------------------------------------------------------------------===//

#include "TileBodies.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/MemoryWrites.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::fa;

/// What an operation, or one in it, uses from outside, be it in scope or not.
static SetVector<Value> getUsed(Operation *op) {
  SetVector<Value> used;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
        used.insert(operand);
  });
  return used;
}

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
  return llvm::any_of(getUsed(op), isMade);
}

/// Whether `writer`, which may write memory, may write what `reader` reads.
/// Arguments of a function are memory of their own where one is written.
static bool mayChange(Operation *writer, Operation *reader) {
  auto getMemory = [](Operation *op) {
    SetVector<Value> memory;
    for (Value value : getUsed(op))
      if (auto viewed = dyn_cast<MemrefValue>(value))
        memory.insert(memref::skipViewLikeOps(viewed));
    return memory;
  };
  if (!isa<MemoryEffectOpInterface>(writer) &&
      !writer->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return true;
  SetVector<Value> written = getMemory(writer);
  return llvm::any_of(getMemory(reader),
                      [&](Value value) { return written.contains(value); });
}

namespace {
/// Collects what is of a tile, up to what writes its results: host and kernels
/// see memory in the order of the function.
class TileWrapper {
public:
  explicit TileWrapper(Block &body) : body(body) {}
  LogicalResult run();

private:
  void add(Operation *op);
  LogicalResult end(Operation *next);
  LogicalResult repeat(Operation *source, Operation *user);
  LogicalResult verifyUnchanged(Operation *op);
  LogicalResult verifyOfHost(Operation *op);

  Block &body;
  /// Of the tile that has not ended, and of all.
  SmallVector<Operation *> current;
  DenseSet<Operation *> ofTile;
  /// What may write memory, and how much of it comes before an operation.
  SmallVector<Operation *> writers;
  DenseMap<Operation *, size_t> numWritersBefore;
};
} // namespace

void TileWrapper::add(Operation *op) {
  ofTile.insert(op);
  numWritersBefore[op] = writers.size();
  current.push_back(op);
}

static LogicalResult emitLeavesTile(Operation *source) {
  return source->emitOpError()
         << "has a result of type " << source->getResult(0).getType()
         << " that leaves its tile, expected one that is stored in it";
}

/// What a tile before has computed or loaded is computed or loaded again.
LogicalResult TileWrapper::repeat(Operation *source, Operation *user) {
  if (!isMemoryEffectFree(source) && !isa<memref::LoadOp>(source))
    return emitLeavesTile(source);
  Block *tile = user->getBlock();
  OpBuilder builder(user);
  Operation *copy = builder.clone(*source);
  ofTile.insert(copy);
  numWritersBefore[copy] = numWritersBefore.lookup(source);
  source->replaceUsesWithIf(copy->getResults(), [&](OpOperand &use) {
    return tile->findAncestorOpInBlock(*use.getOwner());
  });
  current.push_back(copy);
  return success();
}

/// The host, and other loops over tiles, get nothing of a tile.
LogicalResult TileWrapper::verifyOfHost(Operation *op) {
  for (Value value : getUsed(op))
    if (Operation *source = value.getDefiningOp();
        source && ofTile.contains(source))
      return emitLeavesTile(source);
  return success();
}

/// A tile runs where it ends, and reads there.
LogicalResult TileWrapper::verifyUnchanged(Operation *op) {
  for (Operation *writer :
       ArrayRef(writers).drop_front(numWritersBefore.lookup(op)))
    if (writer->getBlock() != op->getBlock() && !isMemoryEffectFree(op) &&
        mayChange(writer, op))
      return op->emitOpError()
             << "reads memory that '" << writer->getName()
             << "' may write before the kernel that it is part of, expected it "
                "behind that";
  return success();
}

/// Makes a loop of one iteration of what is collected, before `next`.
LogicalResult TileWrapper::end(Operation *next) {
  OpBuilder builder(next);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto loop = scf::ForallOp::create(builder, body.getParentOp()->getLoc(),
                                    ArrayRef(zero), ArrayRef(one),
                                    ArrayRef(one), ValueRange(), std::nullopt);
  for (Operation *op : current)
    op->moveBefore(loop.getBody()->getTerminator());
  // What is repeated joins the end.
  for (size_t i = 0; i < current.size(); ++i) {
    if (failed(verifyUnchanged(current[i])))
      return failure();
    for (Value value : getUsed(current[i]))
      if (Operation *source = value.getDefiningOp();
          source && ofTile.contains(source) &&
          source->getBlock() != loop.getBody() &&
          failed(repeat(source, current[i])))
        return failure();
  }
  current.clear();
  return success();
}

LogicalResult TileWrapper::run() {
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    bool isPart =
        !op.hasTrait<OpTrait::ConstantLike>() && isOfTile(&op, ofTile);
    if (isPart)
      add(&op);
    else if (failed(verifyOfHost(&op)))
      return failure();
    if (!mayWriteMemory(&op))
      continue;
    writers.push_back(&op);
    if (isPart && failed(end(op.getNextNode())))
      return failure();
  }
  Operation *terminator = body.getTerminator();
  if (!current.empty() && failed(end(terminator)))
    return failure();
  return verifyOfHost(terminator);
}

LogicalResult mlir::fa::wrapSingleTile(Block &body) {
  if (body.getOps<FinalizeOp>().empty() && body.getOps<KeyRangesOp>().empty())
    return success();
  return TileWrapper(body).run();
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
