//===- CarryScalars.cpp - Scalars made once in a loop ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/CarryScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

ForOp mlir::fagpu::carryScalars(OpBuilder &builder, ForOp old,
                                ValueRange added) {
  Location loc = old.getLoc();
  builder.setInsertionPoint(old);
  SmallVector<Value> inits(old.getInits());
  llvm::append_range(inits, added);
  auto loop =
      ForOp::create(builder, loc, ValueRange(inits).getTypes(), old.getStart(),
                    old.getBounds(), inits, old.getStepAttr(),
                    old.getOnceAttr(), old.getRolledAttr());
  loop.getBody().takeBody(old.getBody());
  for (Type type : added.getTypes())
    loop.getBody().front().addArgument(type, loc);
  old.replaceAllUsesWith(loop.getResults().drop_back(added.size()));
  old.erase();
  return loop;
}

SmallVector<Value>
mlir::fagpu::carryThrough(OpBuilder &builder, ForOp old, TypeRange added,
                          bool isEarly,
                          function_ref<SmallVector<Value>(OpBuilder &)> make) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = old.getLoc();
  builder.setInsertionPoint(old);
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(builder, loc, number, 32);
  };
  int64_t direction = old.getDirection();
  // The bound is the last index of a loop that falls, and past that of one that
  // rises.
  Value at = old.getBounds().back();
  if (int64_t before = (direction > 0) + isEarly)
    at = arith::SubIOp::create(builder, loc, at, constant(before * direction));
  // The first index is visited in any case.
  if (isEarly || direction > 0)
    at = direction > 0
             ? arith::MaxSIOp::create(builder, loc, at, old.getStart())
                   .getResult()
             : arith::MinSIOp::create(builder, loc, at, old.getStart())
                   .getResult();
  SmallVector<Value> zeros;
  for (Type type : added)
    zeros.push_back(
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type)));
  ForOp loop = carryScalars(builder, old, zeros);
  Block &body = loop.getBody().front();
  ValueRange seen = loop.getIterArguments().take_back(added.size());
  builder.setInsertionPointToStart(&body);
  Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        loop.getIndex(), at);
  auto branch = scf::IfOp::create(builder, loc, added, isThere,
                                  /*withElseRegion=*/true);
  OpBuilder making = branch.getThenBodyBuilder();
  scf::YieldOp::create(making, loc, make(making));
  OpBuilder keeping = branch.getElseBodyBuilder();
  scf::YieldOp::create(keeping, loc, seen);
  if (isEarly)
    branch->moveBefore(body.getTerminator());
  auto yield = cast<fagpu::YieldOp>(body.getTerminator());
  yield.getValuesMutable().append(branch.getResults());
  return llvm::to_vector_of<Value>(loop.getResults().take_back(added.size()));
}
