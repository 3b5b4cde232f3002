//===- Tile.cpp - One query block of one head for each iteration ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes attention, and merges of partial results, parallel loops over batch,
// head and query block. Upstream's tiling does the work; what is here chooses
// the tile and keeps merges in place. Read `tileAttention`, then `tileRows`.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "TileSequences.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATILE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

bool mlir::fa::isQueryBlockTile(AttentionOp op) {
  DimsAttr order = op.getQueryOrder();
  auto type = cast<ShapedType>(op.getQuery().getType());
  return !op.isRagged() &&
         type.getDimSize(order.positionOf(DimKind::Batch)) == 1 &&
         type.getDimSize(order.positionOf(DimKind::Heads)) == 1 &&
         isProvenAtMost(op.getQuery(), order.positionOf(DimKind::Sequence),
                        op.getConfigAttr().getQueryBlock());
}

/// Tiles (batch, head, query) of an operation by one batch, one head and `rows`
/// queries. `shaped` has as many queries as it has loop iterations.
static FailureOr<scf::ForallOp> tileRows(RewriterBase &rewriter,
                                         TilingInterface op, Value shaped,
                                         DimsAttr order, int64_t rows) {
  // Fewer queries than a block make one block with a static size.
  int64_t queries = cast<ShapedType>(shaped.getType())
                        .getDimSize(order.positionOf(DimKind::Sequence));
  if (!ShapedType::isDynamic(queries))
    rows = std::clamp<int64_t>(queries, 1, rows);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  OpFoldResult one = rewriter.getIndexAttr(1);
  scf::SCFTilingOptions options;
  options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp)
      .setTileSizes({one, one, rewriter.getIndexAttr(rows)});
  FailureOr<scf::SCFTilingResult> tiled =
      scf::tileUsingSCF(rewriter, op, options);
  if (failed(tiled))
    return failure();
  rewriter.replaceOp(op, tiled->replacements);
  return cast<scf::ForallOp>(tiled->loops.front());
}

FailureOr<scf::ForallOp> mlir::fa::tileAttention(RewriterBase &rewriter,
                                                 AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config)
    return op.emitOpError() << "has no config, expected one that gives the "
                               "query block; fa-select-config sets it";
  if (failed(verifyIsNotSplit(op)))
    return failure();
  if (failed(verifyForAnyKeys(op)))
    return failure();
  if (op.isRagged())
    return tileSequences(rewriter, op);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  // Outside of the loop, so that its body does not compute them again.
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });
  return tileRows(rewriter, cast<TilingInterface>(op.getOperation()),
                  op.getQuery(), op.getQueryOrder(), config.getQueryBlock());
}

FailureOr<scf::ForallOp> mlir::fa::tileCombine(RewriterBase &rewriter,
                                               CombineOp op, int64_t rows) {
  SmallVector<Value> destinations(op.getDpsInits());
  FailureOr<scf::ForallOp> loop =
      tileRows(rewriter, cast<TilingInterface>(op.getOperation()),
               op.getOutputA(), op.getOrder(), rows);
  if (failed(loop))
    return failure();
  // A merge in place, on tensors, reads what no other iteration writes. Read
  // from the loop's own value, it stays in place.
  for (auto [argument, init] :
       llvm::zip(loop->getRegionIterArgs(), destinations))
    rewriter.replaceUsesWithIf(init, argument, [&](OpOperand &use) {
      return (*loop)->isProperAncestor(use.getOwner());
    });
  return loop;
}

/// Takes dimension `dim` of an operand for one of another size.
static void castDim(OpOperand &operand, int64_t dim, int64_t size) {
  auto type = cast<ShapedType>(operand.get().getType());
  if (type.getDimSize(dim) == size)
    return;
  OpBuilder builder(operand.getOwner());
  Location loc = operand.getOwner()->getLoc();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  type = type.clone(shape);
  if (isa<MemRefType>(type))
    operand.set(memref::CastOp::create(builder, loc, type, operand.get()));
  else
    operand.set(tensor::CastOp::create(builder, loc, type, operand.get()));
}

/// Takes a sequence of no keys for one of a size that types do not say: no
/// slice of what is known to have no elements has a place.
static void forgetNoKeys(AttentionOp op) {
  std::pair<OpOperand *, int64_t> sequences[] = {
      {&op.getKeyMutable(), op.getKeyOrder().positionOf(DimKind::Sequence)},
      {&op.getValueMutable(),
       op.getValueOrder().positionOf(DimKind::Sequence)}};
  bool hasNone = llvm::any_of(sequences, [](auto &sequence) {
    auto [operand, dim] = sequence;
    return cast<ShapedType>(operand->get().getType()).getDimSize(dim) == 0;
  });
  if (!hasNone)
    return;
  op.getKeyLengthsMutable().clear();
  for (auto [operand, dim] : sequences)
    for (int64_t size : {int64_t(0), ShapedType::kDynamic})
      castDim(*operand, dim, size);
}

namespace {
struct TilePass : public mlir::fa::impl::FATileBase<TilePass> {
  using FATileBase::FATileBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    FATileBase::getDependentDialects(registry);
    registry.insert<cf::ControlFlowDialect>();
    registerBoundsDependencies(registry);
  }

  /// No slice of memory without an element has a place: attention on such is
  /// gone before.
  void foldEmpty() {
    SmallVector<Operation *> empty;
    getOperation()->walk([&](AttentionOp op) {
      if (llvm::any_of(op->getOperandTypes(), [](Type type) {
            auto shaped = dyn_cast<ShapedType>(type);
            return shaped && llvm::is_contained(shaped.getShape(), 0);
          }))
        empty.push_back(op);
    });
    RewritePatternSet patterns(&getContext());
    AttentionOp::getCanonicalizationPatterns(patterns, &getContext());
    (void)applyOpPatternsGreedily(empty, std::move(patterns));
    // Of rows up to lengths those are left that have no keys.
    getOperation()->walk(forgetNoKeys);
  }

  void runOnOperation() override {
    if (combineRows < 1) {
      getOperation()->emitError("combine-rows is ")
          << combineRows.getValue() << ", expected at least 1";
      return signalPassFailure();
    }
    foldEmpty();
    SmallVector<AttentionOp> attentions;
    SmallVector<CombineOp> merges;
    getOperation()->walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        attentions.push_back(attention);
      else if (auto merge = dyn_cast<CombineOp>(op))
        merges.push_back(merge);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions) {
      // A tile of an earlier run stays as it is.
      if (op.getConfigAttr() && op->getParentOfType<scf::ForallOp>() &&
          isQueryBlockTile(op))
        continue;
      if (failed(tileAttention(rewriter, op)))
        return signalPassFailure();
    }
    // A merge in a parallel loop is a tile, or one of many side by side.
    for (CombineOp op : merges)
      if (!op->getParentOfType<scf::ForallOp>() &&
          failed(tileCombine(rewriter, op, combineRows)))
        return signalPassFailure();
  }
};
} // namespace
