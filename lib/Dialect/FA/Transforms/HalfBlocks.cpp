//===- HalfBlocks.cpp - Parts of the keys for half the queries each -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of one group of warps in place of two, which leave the device half as
// many parts of the keys, or none to merge. Read `splitHalves`.
//
//===----------------------------------------------------------------------===//

#include "KeySplitter.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

ConfigAttr KeySplitter::getHalfBlocks() {
  auto target = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  std::optional<int64_t> rows = getConstantIntValue(getMixedSize(
      rewriter, loc, op.getQuery(), op.getQueryOrder(), DimKind::Sequence));
  int64_t block = config.getQueryBlock();
  // A group that splits operands of f32 alone leaves the tensor cores idle.
  if (!fillsDevice() || op.getKeyPages() || !target || !rows || *rows > block ||
      *rows <= block / 2 ||
      getElementTypeOrSelf(op.getQuery().getType()).isF32())
    return {};
  GPUPart part = target.getPart();
  if (!part.hasGroups() || part.groups != 2)
    return {};
  part.groups = 1;
  part.turns = false;
  return config.withBlocks(block / 2, config.getKeyBlock())
      .withTarget(GPUConfigAttr::get(op.getContext(), part));
}

/// Up to which keys of all heads and sequences blocks of half the queries are
/// faster: the L2 cache gives the keys to both halves, and what they save does
/// not grow with the keys. Steps of narrow heads have to fill the device as
/// well (H200, benchmarks/results/notes/decoding.md).
static std::pair<int64_t, bool> getHalvesLimits(int64_t headDim) {
  return {int64_t(1) << (headDim <= 64    ? 16
                         : headDim <= 128 ? 18
                                          : 19),
          /*fillsDevice=*/headDim <= 128};
}

/// Whether half blocks find a multiprocessor each, and few keys. Sequences
/// whose lengths only the device knows get a list of parts, unless there is
/// one.
Value KeySplitter::isFasterInHalves() {
  auto times = [&](Value a, Value b) -> Value {
    return rewriter.createOrFold<arith::MulIOp>(loc, a, b);
  };
  auto isAtMost = [&](Value a, Value b) -> Value {
    return rewriter.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ule,
                                                a, b);
  };
  Value batches = tiler.toValue(tiler.countBatches()), one = tiler.index(1);
  Value all = fagpu::MultiprocessorsOp::create(rewriter, loc);
  Value blocks =
      times(times(batches, tiler.getSize(op.getQuery(), op.getQueryOrder(),
                                         DimKind::Heads)),
            tiler.index(2));
  // None are no blocks.
  Value parts = arith::DivUIOp::create(
      rewriter, loc, all,
      rewriter.createOrFold<arith::MaxUIOp>(loc, blocks, one));
  auto query = cast<ShapedType>(op.getQuery().getType());
  auto [most, fills] = getHalvesLimits(std::max(
      getHeadDim(),
      query.getDimSize(op.getQueryOrder().positionOf(DimKind::HeadDim))));
  Value rows =
      times(batches,
            times(tiler.getSize(op.getKey(), op.getKeyOrder(), DimKind::Heads),
                  tiler.getMostKeys()));
  // Without parts there is no merge at all.
  Value isFaster = rewriter.createOrFold<arith::OrIOp>(
      loc, isAtMost(rows, tiler.index(most)),
      tiler.both(isAtMost(rows, tiler.index(2 * most)), isAtMost(parts, one)));
  isFaster = tiler.both(isFaster, isAtMost(blocks, all));
  if (fills)
    isFaster = tiler.both(
        isFaster, isAtMost(times(all, tiler.index(5)),
                           times(times(blocks, parts), tiler.index(6))));
  return isRagged() ? tiler.both(isFaster, isAtMost(batches, one)) : isFaster;
}

void KeySplitter::splitHalves(ConfigAttr half) {
  auto branch = scf::IfOp::create(rewriter, loc, isFasterInHalves(),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(branch.thenYield());
    auto few = cast<AttentionOp>(rewriter.clone(*op));
    few.setConfigAttr(half);
    rewriter.setInsertionPoint(few);
    KeySplitter(rewriter, few).split();
  }
  rewriter.moveOpBefore(op, branch.elseYield());
  rewriter.setInsertionPoint(op);
}
