//===- DeferPuts.cpp - Copies that wait, behind those that need not -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUDEFERPUTSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

/// The only stage of a bank is free when all have read the tile before.
static bool waitsForLastTile(PutOp put) {
  return cast<ChannelType>(put.getChannel().getType()).getDepth() == 1;
}

/// The first copy of the loop that has a stage to spare.
static PutOp findPutAhead(ForOp loop) {
  for (auto put : loop.getBody().front().getOps<PutOp>())
    if (!waitsForLastTile(put))
      return put;
  return {};
}

/// The last copy of the loop.
static PutOp findLastPut(ForOp loop) {
  PutOp last;
  for (auto put : loop.getBody().front().getOps<PutOp>())
    last = put;
  return last;
}

/// Moves a copy to behind `ahead`, in the iteration where `isFirst` holds.
static void defer(PutOp put, Operation *ahead, Value isFirst) {
  put->moveAfter(ahead);
  OpBuilder builder(put);
  Value condition = isFirst;
  if (Value own = put.getCondition())
    condition = arith::AndIOp::create(builder, put.getLoc(), isFirst, own);
  put.getConditionMutable().assign(condition);
}

static void deferPuts(Block &body) {
  auto loops = body.getOps<ForOp>();
  if (loops.empty())
    return;
  ForOp loop = *loops.begin();
  PutOp ahead = findPutAhead(loop);
  if (!ahead || !loop.getOnce())
    return;
  // The loop's index comes before the flags of its segments.
  Value isFirst = loop.getBody().front().getArgument(1);
  auto puts = llvm::make_filter_range(body.getOps<PutOp>(), [&](PutOp put) {
    return put->isBeforeInBlock(loop);
  });
  // Where the next tile begins while this one ends, what it begins with comes
  // before all that waits.
  bool beginsEarly = !llvm::all_of(puts, waitsForLastTile);
  Operation *last = beginsEarly ? findLastPut(loop) : ahead;
  for (PutOp put : llvm::to_vector(puts)) {
    if (!waitsForLastTile(put))
      continue;
    defer(put, last, isFirst);
    last = put;
  }
}

namespace {
struct DeferPutsPass
    : public fagpu::impl::FAGPUDeferPutsPassBase<DeferPutsPass> {
  void runOnOperation() override {
    for (RoleOp role : getOperation().getOps<RoleOp>())
      if (role.getElect()) {
        Block &body = role.getBody().front();
        deferPuts(body);
        for (auto tile : body.getOps<RepeatOp>())
          deferPuts(tile.getBody().front());
      }
  }
};
} // namespace
