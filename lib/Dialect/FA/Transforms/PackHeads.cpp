//===- PackHeads.cpp - Heads that share keys as rows of one block ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With one query each, the query heads that share a key head become its
// queries: their keys are read once, and a block has as many rows. Operands are
// viewed differently and regions compute the head from the row. Read
// `HeadPacker::pack`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAPACKHEADS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
class HeadPacker {
public:
  HeadPacker(RewriterBase &rewriter, AttentionOp op, int64_t group)
      : rewriter(rewriter), op(op), loc(op.getLoc()), group(group) {}

  void pack();

private:
  Value split(Value memory, int64_t heads, int64_t queries,
              SmallVectorImpl<int64_t> &kept);
  DimsAttr splitOperand(OpOperand &operand, DimsAttr order);
  void splitNumbers(OpOperand &operand);
  void moveHeads(Region &region, unsigned firstIndex);

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
  int64_t group;
};
} // namespace

/// A view in which dimension `heads` is split into key heads and the group, and
/// dimension `queries`, of size 1, is dropped. `kept` says of each dimension of
/// the view which one it was; -1 is the group.
Value HeadPacker::split(Value memory, int64_t heads, int64_t queries,
                        SmallVectorImpl<int64_t> &kept) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> shape, of;
  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    ReassociationIndices &parts = groups.emplace_back();
    auto add = [&](int64_t size, OpFoldResult mixed, int64_t from) {
      parts.push_back(shape.size());
      shape.push_back(size);
      sizes.push_back(mixed);
      of.push_back(from);
    };
    if (dim != heads) {
      add(type.getDimSize(dim),
          memref::getMixedSize(rewriter, loc, memory, dim), dim);
      continue;
    }
    int64_t keyHeads = type.getDimSize(dim) / group;
    add(keyHeads, rewriter.getIndexAttr(keyHeads), dim);
    add(group, rewriter.getIndexAttr(group), -1);
  }
  Value expanded = memref::ExpandShapeOp::create(rewriter, loc, shape, memory,
                                                 groups, sizes);
  SmallVector<OpFoldResult> offsets(shape.size(), rewriter.getIndexAttr(0)),
      strides(shape.size(), rewriter.getIndexAttr(1));
  SmallVector<int64_t> reduced;
  for (auto [position, from] : llvm::enumerate(of)) {
    if (from == queries)
      continue;
    reduced.push_back(shape[position]);
    kept.push_back(from);
  }
  MemRefType result = memref::SubViewOp::inferRankReducedResultType(
      reduced, cast<MemRefType>(expanded.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(rewriter, loc, result, expanded, offsets,
                                   sizes, strides);
}

/// The order of an operand in which the group stands for the queries.
DimsAttr HeadPacker::splitOperand(OpOperand &operand, DimsAttr order) {
  SmallVector<int64_t> kept, kinds;
  Value view = split(operand.get(), order.positionOf(DimKind::Heads),
                     order.positionOf(DimKind::Sequence), kept);
  for (int64_t dim : kept)
    kinds.push_back(dim < 0 ? static_cast<int64_t>(DimKind::Sequence)
                            : order.getOrder()[dim]);
  rewriter.modifyOpInPlace(op, [&] { operand.set(view); });
  auto split = DimsAttr::get(op.getContext(), kinds);
  return split.isDefault() ? DimsAttr() : split;
}

/// batch x heads x 1 as batch x key heads x group.
void HeadPacker::splitNumbers(OpOperand &operand) {
  SmallVector<int64_t> kept;
  Value view = split(operand.get(), /*heads=*/1, /*queries=*/2, kept);
  rewriter.modifyOpInPlace(op, [&] { operand.set(view); });
}

/// Lets a region, which is given (key head, number in the group), see the head
/// and query 0 of 1.
void HeadPacker::moveHeads(Region &region, unsigned firstIndex) {
  if (region.empty())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&region.front());
  BlockArgument head = region.getArgument(firstIndex + 1);
  BlockArgument query = region.getArgument(firstIndex + 2);
  if (!head.use_empty()) {
    Value size = arith::ConstantIndexOp::create(rewriter, loc, group);
    auto first = arith::MulIOp::create(rewriter, loc, head, size);
    auto moved = arith::AddIOp::create(rewriter, loc, first, query);
    Operation *own[] = {first, moved};
    head.replaceUsesWithIf(moved, [&](OpOperand &use) {
      return !llvm::is_contained(own, use.getOwner());
    });
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    query.replaceUsesWithIf(zero, [&](OpOperand &use) {
      return !llvm::is_contained(own, use.getOwner());
    });
  } else if (!query.use_empty()) {
    query.replaceAllUsesWith(arith::ConstantIndexOp::create(rewriter, loc, 0));
  }
  for (QueryLengthOp length :
       llvm::make_early_inc_range(region.getOps<QueryLengthOp>())) {
    rewriter.setInsertionPoint(length);
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(length, 1);
  }
}

void HeadPacker::pack() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  DimsAttr query = splitOperand(op.getQueryMutable(), op.getQueryOrder());
  DimsAttr output = splitOperand(op.getOutputMutable(), op.getOutputOrder());
  op.setQueryDimsAttr(query);
  op.setOutputDimsAttr(output);
  for (OpOperand &lse : op.getLseMutable())
    splitNumbers(lse);
  moveHeads(op.getScore(), /*firstIndex=*/1);
  moveHeads(op.getMask(), /*firstIndex=*/0);
  moveHeads(op.getSink(), /*firstIndex=*/0);
}

/// How many query heads share a key head, where they can be packed.
static int64_t getPackedGroup(AttentionOp op, bool withSinks) {
  auto query = dyn_cast<MemRefType>(op.getQuery().getType());
  if (!query || op.getQueryStarts() || op.getQueryLengths() ||
      !op.getOffsets().empty() || !op.getExtents().empty() ||
      (!withSinks && !op.getSink().empty()))
    return 1;
  int64_t queries =
      query.getDimSize(op.getQueryOrder().positionOf(DimKind::Sequence));
  int64_t heads =
      query.getDimSize(op.getQueryOrder().positionOf(DimKind::Heads));
  int64_t keyHeads =
      cast<MemRefType>(op.getKey().getType())
          .getDimSize(op.getKeyOrder().positionOf(DimKind::Heads));
  if (queries != 1 || ShapedType::isDynamic(heads) ||
      ShapedType::isDynamic(keyHeads) || keyHeads == 0 || heads == 0)
    return 1;
  // All memory of results has the static sizes that are split.
  auto output = cast<MemRefType>(op.getOutput().getType());
  if (output.getDimSize(op.getOutputOrder().positionOf(DimKind::Heads)) !=
          heads ||
      output.getDimSize(op.getOutputOrder().positionOf(DimKind::Sequence)) != 1)
    return 1;
  if (op.getLse()) {
    auto lse = cast<MemRefType>(op.getLse().getType());
    if (lse.getDimSize(1) != heads || lse.getDimSize(2) != 1)
      return 1;
  }
  return heads / keyHeads;
}

namespace {
struct PackHeadsPass : public mlir::fa::impl::FAPackHeadsBase<PackHeadsPass> {
  using FAPackHeadsBase::FAPackHeadsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](AttentionOp op) {
      int64_t group = getPackedGroup(op, sinks);
      if (group > 1)
        HeadPacker(rewriter, op, group).pack();
    });
  }
};
} // namespace
