//===- PackHeads.cpp - Heads that share keys as rows of one block ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The query heads that share a key head become its queries: their keys are read
// once, and a block has as many rows. With one query each, operands are viewed
// differently; the rows of several queries are copied. Regions compute head and
// query from the row. Read `HeadPacker::pack`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Dropout.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
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
  HeadPacker(RewriterBase &rewriter, AttentionOp op, int64_t group,
             int64_t queries)
      : rewriter(rewriter), op(op), loc(op.getLoc()), group(group),
        queries(queries) {}

  /// Views, of one query, or copies.
  void pack();

private:
  Value split(Value memory, int64_t heads, int64_t queries,
              SmallVectorImpl<int64_t> &kept);
  DimsAttr splitOperand(OpOperand &operand, DimsAttr order);
  void splitNumbers(OpOperand &operand);
  void moveHeads(Region &region, unsigned firstIndex);
  void packViews();
  Value arrange(Value memory, ArrayRef<int64_t> position);
  void packCopies();

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
  int64_t group, queries;
};
} // namespace

/// A view in which dimension `heads` is split into key heads and the group, and
/// dimension `queries`, of size 1, is dropped. `kept` says of each dimension of
/// the view which one it was; -1 is the group.
Value HeadPacker::split(Value memory, int64_t heads, int64_t queries,
                        SmallVectorImpl<int64_t> &kept) {
  auto type = cast<MemRefType>(memory.getType());
  // First the queries, while no other dimension but the batch may be of one.
  SmallVector<OpFoldResult> whole,
      one(type.getRank(), rewriter.getIndexAttr(1)),
      zero(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<int64_t> left;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    whole.push_back(memref::getMixedSize(rewriter, loc, memory, dim));
    if (dim != queries)
      left.push_back(type.getDimSize(dim));
  }
  MemRefType rows = memref::SubViewOp::inferRankReducedResultType(
      left, type, zero, whole, one);
  Value view =
      memref::SubViewOp::create(rewriter, loc, rows, memory, zero, whole, one);
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (dim == queries)
      continue;
    ReassociationIndices &parts = groups.emplace_back();
    auto add = [&](int64_t size, OpFoldResult mixed, int64_t from) {
      parts.push_back(shape.size());
      shape.push_back(size);
      sizes.push_back(mixed);
      kept.push_back(from);
    };
    if (dim != heads) {
      add(type.getDimSize(dim), whole[dim], dim);
      continue;
    }
    int64_t keyHeads = type.getDimSize(dim) / group;
    add(keyHeads, rewriter.getIndexAttr(keyHeads), dim);
    add(group, rewriter.getIndexAttr(group), -1);
  }
  return memref::ExpandShapeOp::create(rewriter, loc, shape, view, groups,
                                       sizes);
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

/// Lets a region, which is given (key head, row), see the head and the query.
void HeadPacker::moveHeads(Region &region, unsigned firstIndex) {
  if (region.empty())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&region.front());
  BlockArgument head = region.getArgument(firstIndex + 1);
  BlockArgument row = region.getArgument(firstIndex + 2);
  SmallVector<Operation *> own;
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value).getResult();
  };
  auto note = [&](Value value) {
    own.push_back(value.getDefiningOp());
    return value;
  };
  auto replace = [&](Value argument, Value moved) {
    argument.replaceUsesWithIf(moved, [&](OpOperand &use) {
      return !llvm::is_contained(own, use.getOwner());
    });
  };
  bool usesHead = !head.use_empty(), usesRow = !row.use_empty();
  bool hasSeveral = queries != 1;
  Value size = usesHead || (usesRow && hasSeveral) ? constant(group) : Value();
  Value query = constant(0), member = row;
  if (usesRow && hasSeveral)
    query = note(arith::DivUIOp::create(rewriter, loc, row, size));
  if (usesHead && hasSeveral)
    member = note(arith::RemUIOp::create(rewriter, loc, row, size));
  if (usesHead) {
    Value first = note(arith::MulIOp::create(rewriter, loc, head, size));
    Value moved = note(arith::AddIOp::create(rewriter, loc, first, member));
    replace(head, moved);
  }
  replace(row, query);
  for (QueryLengthOp length :
       llvm::make_early_inc_range(region.getOps<QueryLengthOp>())) {
    rewriter.setInsertionPoint(length);
    if (!ShapedType::isDynamic(queries)) {
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(length, queries);
      continue;
    }
    // It says how many rows there are now.
    rewriter.setInsertionPointAfter(length);
    auto ofOne = arith::DivUIOp::create(rewriter, loc, length, constant(group));
    rewriter.replaceAllUsesExcept(length, ofOne, ofOne);
  }
}

void HeadPacker::packViews() {
  DimsAttr query = splitOperand(op.getQueryMutable(), op.getQueryOrder());
  DimsAttr output = splitOperand(op.getOutputMutable(), op.getOutputOrder());
  op.setQueryDimsAttr(query);
  op.setOutputDimsAttr(output);
  for (OpOperand &lse : op.getLseMutable())
    splitNumbers(lse);
}

/// batch x key heads x queries x group (x head dim), a view of memory whose
/// batch, heads, queries (and head dim) stand at `position`.
Value HeadPacker::arrange(Value memory, ArrayRef<int64_t> position) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  SmallVector<OpFoldResult> sizes;
  // Where each dimension begins in the view.
  SmallVector<unsigned> begins;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    ReassociationIndices &parts = groups.emplace_back();
    begins.push_back(shape.size());
    auto add = [&](int64_t size, OpFoldResult mixed) {
      parts.push_back(shape.size());
      shape.push_back(size);
      sizes.push_back(mixed);
    };
    if (dim == position[1]) {
      int64_t keyHeads = type.getDimSize(dim) / group;
      add(keyHeads, rewriter.getIndexAttr(keyHeads));
      add(group, rewriter.getIndexAttr(group));
    } else {
      add(type.getDimSize(dim),
          memref::getMixedSize(rewriter, loc, memory, dim));
    }
  }
  Value split = memref::ExpandShapeOp::create(rewriter, loc, shape, memory,
                                              groups, sizes);
  SmallVector<unsigned> order = {begins[position[0]], begins[position[1]],
                                 begins[position[2]], begins[position[1]] + 1};
  for (int64_t dim : position.drop_front(3))
    order.push_back(begins[dim]);
  auto map = AffineMap::getPermutationMap(order, rewriter.getContext());
  return memref::TransposeOp::create(rewriter, loc, split,
                                     AffineMapAttr::get(map));
}

/// Rows are queries x group: they lie one behind the other in copies of query,
/// output and lse.
void HeadPacker::packCopies() {
  SmallVector<Value> copies;
  auto getPosition = [](DimsAttr order) {
    return SmallVector<int64_t>{order.positionOf(DimKind::Batch),
                                order.positionOf(DimKind::Heads),
                                order.positionOf(DimKind::Sequence),
                                order.positionOf(DimKind::HeadDim)};
  };
  // The copy, and what stands for its part in the memory of the whole.
  auto copy = [&](OpOperand &operand, ArrayRef<int64_t> position, bool isRead) {
    auto type = cast<MemRefType>(operand.get().getType());
    Value whole = arrange(operand.get(), position);
    auto [shape, sizes] =
        decomposeMixedValues(memref::getMixedSizes(rewriter, loc, whole));
    Value memory = memref::AllocOp::create(
        rewriter, loc, MemRefType::get(shape, type.getElementType()), sizes,
        rewriter.getI64IntegerAttr(64));
    copies.push_back(memory);
    SmallVector<ReassociationIndices> rows = {{0}, {1}, {2, 3}};
    if (position.size() == 4)
      rows.push_back({4});
    Value packed = memref::CollapseShapeOp::create(rewriter, loc, memory, rows);
    rewriter.modifyOpInPlace(op, [&] { operand.set(packed); });
    if (isRead) {
      linalg::CopyOp::create(rewriter, loc, whole, memory);
      return;
    }
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointAfter(op);
    linalg::CopyOp::create(rewriter, loc, memory, whole);
  };
  copy(op.getQueryMutable(), getPosition(op.getQueryOrder()), /*isRead=*/true);
  copy(op.getOutputMutable(), getPosition(op.getOutputOrder()),
       /*isRead=*/false);
  for (OpOperand &lse : op.getLseMutable())
    copy(lse, {0, 1, 2}, /*isRead=*/false);
  auto order =
      DimsAttr::get(op.getContext(), {static_cast<int64_t>(DimKind::Batch),
                                      static_cast<int64_t>(DimKind::Heads),
                                      static_cast<int64_t>(DimKind::Sequence),
                                      static_cast<int64_t>(DimKind::HeadDim)});
  op.setQueryDimsAttr(order);
  op.setOutputDimsAttr(order);
  Operation *last = op;
  while (isa_and_present<linalg::CopyOp>(last->getNextNode()) &&
         llvm::is_contained(copies, last->getNextNode()->getOperand(0)))
    last = last->getNextNode();
  rewriter.setInsertionPointAfter(last);
  for (Value memory : copies)
    memref::DeallocOp::create(rewriter, loc, memory);
}

void HeadPacker::pack() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  if (queries == 1)
    packViews();
  else
    packCopies();
  moveHeads(op.getScore(), /*firstIndex=*/1);
  moveHeads(op.getMask(), /*firstIndex=*/0);
  moveHeads(op.getSink(), /*firstIndex=*/0);
}

static int64_t countQueries(AttentionOp op) {
  return cast<ShapedType>(op.getQuery().getType())
      .getDimSize(op.getQueryOrder().positionOf(DimKind::Sequence));
}

/// How many query heads share a key head, where they can be packed.
static int64_t getPackedGroup(AttentionOp op, bool withSinks,
                              int64_t mostQueries) {
  auto query = dyn_cast<MemRefType>(op.getQuery().getType());
  if (!query || op.getQueryStarts() || op.getQueryLengths() ||
      !op.getOffsets().empty() || !op.getExtents().empty() ||
      (!withSinks && !op.getSink().empty()) || drawsDropout(op.getScore()))
    return 1;
  int64_t queries = countQueries(op);
  int64_t heads =
      query.getDimSize(op.getQueryOrder().positionOf(DimKind::Heads));
  int64_t keyHeads =
      cast<MemRefType>(op.getKey().getType())
          .getDimSize(op.getKeyOrder().positionOf(DimKind::Heads));
  // Rows of sequences that share keys are many, and few keys are read for them.
  bool isShort = op->hasAttr(sharedKeysAttrName) ||
                 (queries >= 1 && queries <= mostQueries);
  if (!isShort || queries == 0 || ShapedType::isDynamic(heads) ||
      ShapedType::isDynamic(keyHeads) || keyHeads == 0 || heads == 0)
    return 1;
  // All memory of results has the static sizes that are split.
  auto output = cast<MemRefType>(op.getOutput().getType());
  if (output.getDimSize(op.getOutputOrder().positionOf(DimKind::Heads)) !=
          heads ||
      output.getDimSize(op.getOutputOrder().positionOf(DimKind::Sequence)) !=
          queries)
    return 1;
  if (op.getLse()) {
    auto lse = cast<MemRefType>(op.getLse().getType());
    if (lse.getDimSize(1) != heads || lse.getDimSize(2) != queries)
      return 1;
  }
  return heads / keyHeads;
}

/// A merge of one query each has heads for rows: all of a batch are one block.
static void packMerge(RewriterBase &rewriter, CombineOp op) {
  auto type = dyn_cast<MemRefType>(op.getOutput().getType());
  DimsAttr order = op.getOrder();
  if (!type || op.getQueryLengths() || !order.isDefault() ||
      type.getDimSize(order.positionOf(DimKind::Sequence)) != 1)
    return;
  rewriter.setInsertionPoint(op);
  // A merge in place has one view for what it reads and writes.
  llvm::SmallDenseMap<Value, Value> views;
  auto exchange = [&](OpOperand &operand, ArrayRef<unsigned> dims) {
    Value &view = views[operand.get()];
    if (!view) {
      auto map = AffineMap::getPermutationMap(dims, rewriter.getContext());
      view = memref::TransposeOp::create(rewriter, op.getLoc(), operand.get(),
                                         AffineMapAttr::get(map));
    }
    rewriter.modifyOpInPlace(op, [&] { operand.set(view); });
  };
  for (OpOperand *output : {&op.getOutputAMutable(), &op.getOutputBMutable(),
                            &op.getOutputMutable()})
    exchange(*output, {0, 2, 1, 3});
  exchange(op.getLseAMutable(), {0, 2, 1});
  exchange(op.getLseBMutable(), {0, 2, 1});
  for (OpOperand &lse : op.getLseMutable())
    exchange(lse, {0, 2, 1});
}

namespace {
struct PackHeadsPass : public mlir::fa::impl::FAPackHeadsBase<PackHeadsPass> {
  using FAPackHeadsBase::FAPackHeadsBase;

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](CombineOp op) { packMerge(rewriter, op); });
    getOperation()->walk([&](AttentionOp op) {
      int64_t group = getPackedGroup(op, sinks, queries);
      if (group > 1)
        HeadPacker(rewriter, op, group, countQueries(op)).pack();
    });
  }
};
} // namespace
