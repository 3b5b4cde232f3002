//===- SummarizeMask.cpp - Votes of a mask on block values ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SummarizeMask.h"
#include "RegionOnBlocks.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult mlir::fa::decomposeSummary(SummarizeMaskOp op) {
  Location loc = op.getLoc();
  auto role = op->getParentOfType<fagpu::RoleOp>();
  if (!role)
    return op.emitOpError() << "stands outside of the roles of a kernel";
  int64_t rows = static_cast<int64_t>(op.getQueries());
  int64_t warps = role.getWarps();
  if (role.getGroups() != 1 || rows % (16 * warps))
    return op.emitOpError()
           << "takes " << rows << " queries, expected a multiple of "
           << 16 * warps * role.getGroups() << ", 16 for each of "
           << warps * role.getGroups() << " warps of one group";
  if (op.getKeys() % 16)
    return op.emitOpError()
           << "takes " << op.getKeys() << " keys, expected a multiple of 16";
  // What does not depend on the key is computed once for all key blocks.
  Operation *first = op;
  while (isa<KeyRangesOp>(first->getParentOp()))
    first = first->getParentOp();
  OpBuilder outside(first), inside(op);
  PairBlock place;
  place.batch = op.getOffsets()[0];
  place.head = op.getOffsets()[1];
  place.query = op.getOffsets()[2];
  place.key = op.getOffsets()[3];
  place.queries = op.getExtents()[0];
  place.keys = op.getExtents()[1];
  place.rows = rows;
  place.columns = static_cast<int64_t>(op.getKeys());
  place.warps = static_cast<unsigned>(warps);
  RegionOnBlocks region(outside, inside, loc, place);
  FailureOr<Value> visible =
      region.apply(op.getMask(), Value(), op.getCaptures());
  if (failed(visible))
    return failure();
  auto type = cast<RankedTensorType>(visible->getType());
  auto invert = [&](Value value, TypedAttr yes) -> Value {
    return arith::XOrIOp::create(inside, loc, value,
                                 arith::ConstantOp::create(inside, loc, yes));
  };
  Value some = fagpu::AnyOp::create(inside, loc, *visible);
  Value hidden = fagpu::AnyOp::create(
      inside, loc, invert(*visible, DenseElementsAttr::get(type, true)));
  Value every = invert(hidden, inside.getBoolAttr(true));
  op.replaceAllUsesWith(ValueRange{some, every});
  op.erase();
  return success();
}
