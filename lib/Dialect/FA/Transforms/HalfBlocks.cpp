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
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;

ConfigAttr KeySplitter::getHalfBlocks() {
  auto target = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  std::optional<int64_t> queries = getConstantIntValue(getMixedSize(
      rewriter, loc, op.getQuery(), op.getQueryOrder(), DimKind::Sequence));
  int64_t block = config.getQueryBlock();
  // A group that splits operands of f32 alone leaves the tensor cores idle.
  if (!fillsDevice() || op.getKeyPages() || !target || !queries ||
      *queries > block || *queries <= block / 2 ||
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

namespace {
/// When blocks of half the queries are faster: both halves read the same keys
/// at about the same time, one of them from the L2 cache, and what is not
/// merged does not grow with the keys (H200,
/// benchmarks/results/notes/decoding.md).
struct HalvesLimits {
  /// Keys of all heads and sequences, where parts are merged.
  int64_t mostKeys;
  /// Whether steps of narrow heads have to keep the device busy as well.
  bool needsAll;
};
} // namespace

static HalvesLimits getHalvesLimits(int64_t headDim) {
  if (headDim <= 64)
    return {int64_t(1) << 16, /*needsAll=*/true};
  if (headDim <= 128)
    return {int64_t(1) << 18, /*needsAll=*/true};
  return {int64_t(1) << 19, /*needsAll=*/false};
}

/// Sequences whose lengths only the device knows get a list of parts, unless
/// there is one.
Value KeySplitter::isFasterInHalves(ConfigAttr half) {
  auto times = [&](Value a, Value b) -> Value {
    return rewriter.createOrFold<arith::MulIOp>(loc, a, b);
  };
  auto isAtMost = [&](Value a, Value b) -> Value {
    return rewriter.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ule,
                                                a, b);
  };
  Room room = findRoom(half);
  auto query = cast<ShapedType>(op.getQuery().getType());
  HalvesLimits limits = getHalvesLimits(std::max(
      getHeadDim(),
      query.getDimSize(op.getQueryOrder().positionOf(DimKind::HeadDim))));
  Value batches = tiler.toValue(tiler.countBatches()), one = tiler.index(1);
  Value keysOfHeads =
      times(batches,
            times(tiler.getSize(op.getKey(), op.getKeyOrder(), DimKind::Heads),
                  tiler.getMostKeys()));
  // Without parts there is no merge at all.
  Value isFaster = rewriter.createOrFold<arith::OrIOp>(
      loc, isAtMost(keysOfHeads, tiler.index(limits.mostKeys)),
      tiler.both(isAtMost(keysOfHeads, tiler.index(2 * limits.mostKeys)),
                 isAtMost(room.parts, one)));
  isFaster = tiler.both(isFaster, isAtMost(room.blocks, room.places));
  // Five sixths of it, with keys enough.
  if (limits.needsAll)
    isFaster = tiler.both(
        isFaster,
        isAtMost(times(room.places, tiler.index(5)),
                 times(times(room.blocks, room.parts), tiler.index(6))));
  return isRagged() ? tiler.both(isFaster, isAtMost(batches, one)) : isFaster;
}

void KeySplitter::splitHalves(ConfigAttr half) {
  auto branch = scf::IfOp::create(rewriter, loc, isFasterInHalves(half),
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(branch.thenYield());
    auto halved = cast<AttentionOp>(rewriter.clone(*op));
    halved.setConfigAttr(half);
    rewriter.setInsertionPoint(halved);
    KeySplitter(rewriter, halved).split();
  }
  rewriter.moveOpBefore(op, branch.elseYield());
  rewriter.setInsertionPoint(op);
}
