//===- PlaceResults.cpp - Results of a function in its out-parameters -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlaceResults.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// `op` without its result `number`, which has no use.
static void eraseResult(RewriterBase &rewriter, scf::IfOp op, unsigned number) {
  for (scf::YieldOp yield : {op.thenYield(), op.elseYield()})
    rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperand(number); });
  SmallVector<Type> types(op.getResultTypes());
  SmallVector<Value> kept(op.getResults());
  types.erase(types.begin() + number);
  kept.erase(kept.begin() + number);
  rewriter.setInsertionPoint(op);
  auto smaller = scf::IfOp::create(rewriter, op.getLoc(), types,
                                   op.getCondition(), /*withElseRegion=*/true);
  smaller->setAttrs(op->getAttrDictionary());
  smaller.getThenRegion().takeBody(op.getThenRegion());
  smaller.getElseRegion().takeBody(op.getElseRegion());
  for (auto [old, result] : llvm::zip_equal(kept, smaller.getResults()))
    rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(op);
}

SmallVector<StoreOp> fa::sinkIntoBranches(RewriterBase &rewriter,
                                          ArrayRef<StoreOp> stores) {
  SmallVector<StoreOp> sunk, remaining(llvm::reverse(stores));
  while (!remaining.empty()) {
    StoreOp store = remaining.pop_back_val();
    auto op = store.getSource().getDefiningOp<scf::IfOp>();
    if (!op || !store.getSource().hasOneUse() ||
        op->getBlock() != store->getBlock()) {
      sunk.push_back(store);
      continue;
    }
    unsigned number = cast<OpResult>(store.getSource()).getResultNumber();
    for (scf::YieldOp yield : {op.thenYield(), op.elseYield()}) {
      rewriter.setInsertionPoint(yield);
      auto inner = cast<StoreOp>(rewriter.clone(*store));
      rewriter.modifyOpInPlace(inner, [&] {
        inner.getSourceMutable().assign(yield.getOperand(number));
      });
      remaining.push_back(inner);
    }
    rewriter.eraseOp(store);
    eraseResult(rewriter, op, number);
  }
  return sunk;
}

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

/// The operand in whose memory the operation that makes `value` can put it.
static OpOperand *getDestination(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nullptr;
  Operation *op = result.getOwner();
  if (auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op))
    return destinationStyle.getTiedOpOperand(result);
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return loop.getTiedOpOperand(result);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getTiedLoopInit(result);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return &cast.getSourceMutable();
  return nullptr;
}

static bool isOverwritten(OpOperand &destination) {
  // A loop of no iterations hands on what it was given.
  if (!isa<DestinationStyleOpInterface>(destination.getOwner()))
    return false;
  bufferization::BufferizationOptions options;
  return !bufferization::AnalysisState(options).bufferizesToMemoryRead(
      destination);
}

bool fa::makeIn(RewriterBase &rewriter, Value value, MakeMemoryFn makeMemory) {
  OpOperand *destination = getDestination(value);
  if (!destination)
    return false;
  Operation *op = destination->getOwner();
  Value init = destination->get();
  bool isEmpty = init.getDefiningOp<tensor::EmptyOp>() != nullptr;
  bool isOfOp = llvm::all_of(init.getUsers(),
                             [&](Operation *user) { return user == op; });
  // Element by element an operation can update what it reads.
  bool updates = isOfOp && (init.hasOneUse() || isa<linalg::LinalgOp>(op)) &&
                 init.getParentBlock() == op->getBlock();
  if (!isEmpty && updates && makeIn(rewriter, init, makeMemory))
    return true;
  if (!isEmpty && !isOverwritten(*destination))
    return false;
  rewriter.setInsertionPoint(op);
  Value memory = makeMemory(op->getLoc());
  if (memory.getType() != init.getType())
    memory =
        tensor::CastOp::create(rewriter, op->getLoc(), init.getType(), memory);
  rewriter.modifyOpInPlace(op, [&] { destination->set(memory); });
  return true;
}

void fa::writeInPlace(RewriterBase &rewriter, ArrayRef<StoreOp> stores) {
  DenseSet<Value> placed;
  for (StoreOp store : stores) {
    Value value = store.getSource(), memory = store.getDest();
    auto readMemory = [&](Location loc) -> Value {
      return bufferization::ToTensorOp::create(
          rewriter, loc, memref::getTensorTypeFromMemRefType(memory.getType()),
          memory, /*restrict=*/true, /*writable=*/true);
    };
    // What is made before a branch is not always what the branch stores.
    if (value.getParentBlock() == store->getBlock() &&
        !placed.contains(value) && makeIn(rewriter, value, readMemory))
      placed.insert(value);
  }
}
