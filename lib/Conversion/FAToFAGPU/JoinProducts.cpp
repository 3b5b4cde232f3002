//===- JoinProducts.cpp - Products that share their operands --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUJOINPRODUCTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// Whether an operation, or one in its loops and branches, fills a stage or
/// waits until one is full.
static bool usesChannel(Operation *op) {
  auto isUse = [](Operation *nested) {
    auto store = dyn_cast<StoreOp>(nested);
    return isa<WriteOp, PutOp, AcquireOp>(nested) || (store && store.getVia());
  };
  return op
      ->walk([&](Operation *nested) {
        return isUse(nested) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether what an operation computes may be computed at `place`, further down
/// its block, and what it reads released behind that: no stage in between is
/// filled again.
static bool mayMoveTo(Operation *op, Operation *place) {
  for (op = op->getNextNode(); op != place; op = op->getNextNode())
    if (usesChannel(op))
      return false;
  return true;
}

/// Whether the product may follow the one that it adds to in one sum.
static bool follows(MmaOp product, MmaOp before) {
  return before && before->hasOneUse() &&
         before->getBlock() == product->getBlock() &&
         before.getForm() == product.getForm() &&
         before.getA().getType() == product.getA().getType() &&
         before.getB().getType() == product.getB().getType() &&
         !getSlot(before) && !getSlot(product) && mayMoveTo(before, product);
}

static MmaOp getBefore(MmaOp product) {
  MmaOp before =
      product.getAcc() ? product.getAcc().getDefiningOp<MmaOp>() : MmaOp();
  return follows(product, before) ? before : MmaOp();
}

/// The products of the sum that ends with this one, from the first one on.
static SmallVector<MmaOp> getChain(MmaOp last) {
  SmallVector<MmaOp> chain;
  for (MmaOp product = last; product; product = getBefore(product))
    chain.push_back(product);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

/// The number of an operand among those of one side.
static int32_t getNumber(llvm::SmallSetVector<Value, 4> &operands,
                         Value operand) {
  operands.insert(operand);
  return llvm::find(operands, operand) - operands.begin();
}

/// Views that the products read are released behind the sum.
static void deferReleases(MmaSumOp sum) {
  for (Value operand : sum->getOperands())
    for (Operation *user : llvm::to_vector(operand.getUsers()))
      if (isa<ReleaseOp>(user) && user->getBlock() == sum->getBlock() &&
          user->isBeforeInBlock(sum))
        user->moveAfter(sum);
}

/// A value that the sum is added to, and nothing else.
static void joinAddition(MmaSumOp sum) {
  auto addition = sum->hasOneUse() ? dyn_cast<arith::AddFOp>(*sum->user_begin())
                                   : arith::AddFOp();
  if (sum.getAcc() || !addition || addition->getBlock() != sum->getBlock())
    return;
  Value acc = addition.getLhs() == sum.getResult() ? addition.getRhs()
                                                   : addition.getLhs();
  Operation *source = acc.getDefiningOp();
  bool isBefore = !source || source->getBlock() != sum->getBlock() ||
                  source->isBeforeInBlock(sum);
  if (!isBefore && !mayMoveTo(sum, addition))
    return;
  if (!isBefore)
    sum->moveBefore(addition);
  sum.getAccMutable().assign(acc);
  addition.replaceAllUsesWith(sum.getResult());
  addition.erase();
}

/// Joins products of which two or more have an operand in common.
static void join(ArrayRef<MmaOp> chain) {
  llvm::SmallSetVector<Value, 4> a, b;
  SmallVector<int32_t> left, right;
  for (MmaOp product : chain) {
    left.push_back(getNumber(a, product.getA()));
    right.push_back(getNumber(b, product.getB()));
  }
  if (a.size() == chain.size() && b.size() == chain.size())
    return;
  MmaOp last = chain.back();
  OpBuilder builder(last);
  auto sum = MmaSumOp::create(builder, last.getLoc(), last.getType(),
                              last.getForm(), a.getArrayRef(), b.getArrayRef(),
                              MmaOp(chain.front()).getAcc(), left, right);
  last.replaceAllUsesWith(sum.getResult());
  for (MmaOp product : llvm::reverse(chain))
    product.erase();
  joinAddition(sum);
  deferReleases(sum);
}

namespace {
struct JoinProductsPass
    : public fa::impl::FAGPUJoinProductsPassBase<JoinProductsPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    SmallVector<MmaOp> lasts;
    getOperation().walk([&](MmaOp product) {
      auto next = product->hasOneUse() ? dyn_cast<MmaOp>(*product->user_begin())
                                       : MmaOp();
      if (!next || getBefore(next) != product)
        lasts.push_back(product);
    });
    for (MmaOp last : lasts)
      join(getChain(last));
  }
};
} // namespace
