//===- ShareReciprocals.cpp - One reciprocal for several numbers ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUSHARERECIPROCALSPASS
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

/// How many quotients share a reciprocal with this one; 1 if it has its own.
static int64_t getSharers(arith::DivFOp op) {
  auto sharers = op->getAttrOfType<IntegerAttr>(FAGPUDialect::sharersAttrName);
  return sharers && op.getType().isF32() ? sharers.getInt() : 1;
}

/// Reciprocals of `divisors` from that of their product: a tree of products up,
/// and of reciprocals down. The last of an odd number goes up by itself.
static SmallVector<Value> share(OpBuilder &builder, arith::DivFOp one,
                                ArrayRef<Value> divisors) {
  Location loc = one.getLoc();
  auto multiply = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(builder, loc, a, b);
  };
  SmallVector<SmallVector<Value>> products = {SmallVector<Value>(divisors)};
  while (products.back().size() > 1) {
    SmallVector<Value> next;
    ArrayRef<Value> left = products.back();
    for (; left.size() > 1; left = left.drop_front(2))
      next.push_back(multiply(left[0], left[1]));
    llvm::append_range(next, left);
    products.push_back(std::move(next));
  }
  SmallVector<Value> reciprocals = {arith::DivFOp::create(
      builder, loc,
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1.0f)),
      products.back().front(), one.getFastmath())};
  for (ArrayRef<Value> level : llvm::drop_begin(llvm::reverse(products))) {
    SmallVector<Value> next;
    for (; level.size() > 1; level = level.drop_front(2)) {
      Value ofBoth = reciprocals[next.size() / 2];
      next.push_back(multiply(ofBoth, level[1]));
      next.push_back(multiply(ofBoth, level[0]));
    }
    if (!level.empty())
      next.push_back(reciprocals.back());
    reciprocals = std::move(next);
  }
  return reciprocals;
}

/// Replaces quotients, all of whose divisors are known at the last one and
/// none of which is read before.
static void shareAmong(ArrayRef<arith::DivFOp> quotients) {
  OpBuilder builder(quotients.back());
  SmallVector<Value> divisors;
  for (arith::DivFOp quotient : quotients)
    divisors.push_back(quotient.getRhs());
  SmallVector<Value> reciprocals = share(builder, quotients.front(), divisors);
  for (auto [op, reciprocal] : llvm::zip_equal(quotients, reciprocals)) {
    arith::DivFOp quotient = op;
    Value result = builder.createOrFold<arith::MulFOp>(
        quotient.getLoc(), quotient.getLhs(), reciprocal);
    quotient.replaceAllUsesWith(result);
    quotient.erase();
  }
}

/// Whether anything from `first` on and before `last` reads a quotient.
static bool isReadBefore(arith::DivFOp first, Operation *last) {
  return llvm::any_of(first->getUsers(), [&](Operation *user) {
    Operation *inBlock = last->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && inBlock->isBeforeInBlock(last);
  });
}

namespace {
struct ShareReciprocalsPass
    : public fagpu::impl::FAGPUShareReciprocalsPassBase<ShareReciprocalsPass> {
  void runOnOperation() override {
    getOperation()->walk([](Block *block) {
      SmallVector<arith::DivFOp> waiting;
      for (auto op :
           llvm::make_early_inc_range(block->getOps<arith::DivFOp>())) {
        int64_t sharers = getSharers(op);
        if (sharers == 1)
          continue;
        if (llvm::any_of(waiting, [&](arith::DivFOp other) {
              return getSharers(other) != sharers || isReadBefore(other, op);
            }))
          waiting.clear();
        waiting.push_back(op);
        if (static_cast<int64_t>(waiting.size()) < sharers)
          continue;
        shareAmong(waiting);
        waiting.clear();
      }
    });
  }
};
} // namespace
