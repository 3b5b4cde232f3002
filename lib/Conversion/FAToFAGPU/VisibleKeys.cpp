//===- VisibleKeys.cpp - How many keys query blocks see -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates on the host how many keys a query block visits, by cloning the
// arithmetic of its key ranges out of the loop. The order of tiles depends on
// the number, no result does. Read `countVisibleKeys` first, then
// `countKeys`.
//
//===----------------------------------------------------------------------===//

#include "VisibleKeys.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

/// Of the keys, where a table lists the blocks that are visited: one in so
/// many.
static constexpr int64_t listedPart = 8;

/// Beyond every length, and so small that sums of a few do not wrap.
static constexpr int64_t farAway = int64_t(1) << 40;

/// Products with more of it may leave 64 bits.
static constexpr int64_t mostScale = int64_t(1) << 16;

namespace {
/// Computes the bounds of key ranges on the host, for query blocks of any
/// number.
class RangeOnHost {
public:
  RangeOnHost(OpBuilder &builder, scf::ForallOp loop, KeyRangesOp ranges)
      : builder(builder), loop(loop), loc(loop.getLoc()),
        begin(ranges.getBegins().front()), end(ranges.getEnds().back()) {}

  /// Collects what the bounds are computed from in the loop.
  LogicalResult collect();
  bool readsWorkspace() const;
  bool isComputable() const;
  /// From the first to the last key of the ranges of a query block.
  Value countKeys(Value block);

private:
  Value inLoop(OpFoldResult bound) {
    return getValueOrCreateConstantIndexOp(builder, loc, bound);
  }
  Value limit(Value number);

  OpBuilder &builder;
  scf::ForallOp loop;
  Location loc;
  Value begin, end;
  SetVector<Operation *> needed;
};
} // namespace

LogicalResult RangeOnHost::collect() {
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  for (Value bound : {begin, end})
    if (failed(getBackwardSlice(bound, &needed, options)))
      return failure();
  return success();
}

bool RangeOnHost::readsWorkspace() const {
  return llvm::any_of(needed, [](Operation *op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    return load && load.getMemRef().getDefiningOp<fagpu::WorkspaceOp>();
  });
}

/// Arithmetic that a launcher does as the kernel does, for all numbers: not
/// what is unsigned, which it refuses for negative ones, or divides by 0, or
/// leaves 64 bits.
static bool isHostArithmetic(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate() < arith::CmpIPredicate::ult;
  auto isSmall = [&](Value factor) {
    std::optional<int64_t> number = getConstantIntValue(factor);
    return number && *number > 0 && *number <= mostScale;
  };
  if (isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return isSmall(op->getOperand(1));
  if (isa<arith::MulIOp>(op))
    return isSmall(op->getOperand(0)) || isSmall(op->getOperand(1));
  if (auto cast = dyn_cast<arith::IndexCastOp>(op))
    return cast.getIn().getType().isInteger(32) && cast.getType().isIndex();
  return isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MinSIOp,
             arith::MaxSIOp, arith::SelectOp>(op);
}

bool RangeOnHost::isComputable() const {
  return llvm::all_of(needed, [](Operation *op) {
    Type type = op->getResult(0).getType();
    return (type.isIndex() || type.isInteger(1)) && isHostArithmetic(op);
  });
}

/// A number that the caller gives may be any.
Value RangeOnHost::limit(Value number) {
  Operation *source = number.getDefiningOp();
  if (!number.getType().isIndex() ||
      (source && (source->hasTrait<OpTrait::ConstantLike>() ||
                  isa<memref::DimOp>(source))))
    return number;
  Value far = arith::ConstantIndexOp::create(builder, loc, farAway);
  Value farBefore = arith::ConstantIndexOp::create(builder, loc, -farAway);
  number = arith::MinSIOp::create(builder, loc, number, far);
  return arith::MaxSIOp::create(builder, loc, number, farBefore);
}

Value RangeOnHost::countKeys(Value block) {
  IRMapping mapping;
  for (auto [induction, lower] :
       llvm::zip_equal(loop.getInductionVars(), loop.getMixedLowerBound()))
    mapping.map(induction, inLoop(lower));
  Value first = builder.createOrFold<arith::MulIOp>(
      loc, block, inLoop(loop.getMixedStep().back()));
  first = builder.createOrFold<arith::AddIOp>(
      loc, first, inLoop(loop.getMixedLowerBound().back()));
  mapping.map(loop.getInductionVars().back(), first);
  for (Operation *op : needed) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand) &&
          !loop.getRegion().isAncestor(operand.getParentRegion()))
        mapping.map(operand, limit(operand));
    builder.clone(*op, mapping);
  }
  return arith::SubIOp::create(builder, loc, mapping.lookupOrDefault(end),
                               mapping.lookupOrDefault(begin));
}

Value mlir::fa::countVisibleKeys(OpBuilder &builder, scf::ForallOp loop,
                                 AttentionLikeOpInterface step, Value keys,
                                 Value blocks) {
  Location loc = loop.getLoc();
  auto ranges = dyn_cast<KeyRangesOp>(step->getParentOp());
  // Of a gradient's queries the heads of a group may see others.
  if (!ranges || ranges.getNumRanges() == 0 ||
      isa<scf::ForOp>(ranges->getParentOp()))
    return keys;
  RangeOnHost range(builder, loop, ranges);
  if (failed(range.collect()))
    return keys;
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  if (range.readsWorkspace())
    return builder.createOrFold<arith::CeilDivUIOp>(loc, keys,
                                                    constant(listedPart));
  if (matchPattern(ranges.getBegins().front(), m_Zero()) ||
      !range.isComputable())
    return keys;
  Value middle = builder.createOrFold<arith::DivUIOp>(loc, blocks, constant(2));
  Value last = builder.createOrFold<arith::SubIOp>(loc, blocks, constant(1));
  Value most = constant(0);
  for (Value block : {constant(0), middle, last})
    most = arith::MaxSIOp::create(builder, loc, most, range.countKeys(block));
  return most;
}
