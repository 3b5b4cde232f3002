//===- SplitKeys.cpp - Parts of the keys side by side ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Split-K (flash decoding) of whole problems on memrefs, in any form that a
// sequence has: a loop over the parts of the keys and the query blocks, and one
// that adds the parts of a query block. Read `KeySplitter::run`.
//
//===----------------------------------------------------------------------===//

#include "TileSequences.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASPLITKEYS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
class KeySplitter {
public:
  /// Builds where the rewriter stands.
  KeySplitter(RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()), tiler(rewriter, op),
        config(op.getConfigAttr()) {}

  void run();

private:
  void buildParts();
  bool isOnGPU();
  bool fillsDevice();
  OpFoldResult countParts();
  Value createMemory(ArrayRef<OpFoldResult> sizes);
  void createMemory();
  TileResults getResults(Value batch, Value part);
  int64_t getHeadDim();
  int64_t getMergedRows();
  int64_t getMergedColumns();
  Value takeColumns(Value slice, DimsAttr order, Value first, int64_t count);
  void addParts();
  void buildMerge(const TilePlace &place, int64_t block, Value columnBlock);
  Value createState(ArrayRef<int64_t> sizes, float value);

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
  SequenceTiler tiler;
  ConfigAttr config;
  /// As an attribute where it is known.
  OpFoldResult parts;
  /// (batch, part) x queries x heads x value head dim, and (batch, part) x
  /// heads x queries, in f32. Packed queries are one batch.
  Value outputs, lses;
};
} // namespace

bool KeySplitter::isOnGPU() {
  TargetConfigAttrInterface target = config.getTarget();
  return target && target.getTargetName() != "cpu";
}

/// Whether parts may be larger than the configuration says, where the device
/// has no multiprocessors for more of them.
bool KeySplitter::fillsDevice() {
  return isOnGPU() && config.getSplitKeys() && !op.getBatchInvariant() &&
         !op.getQueryStarts();
}

/// At least one, which gives the result of no keys.
OpFoldResult KeySplitter::countParts() {
  int64_t size = config.getSplitKeys();
  if (!size)
    return rewriter.getIndexAttr(config.getKeySplits());
  // Operations that a launcher of kernels has too.
  Value one = tiler.index(1);
  Value parts = rewriter.createOrFold<arith::CeilDivUIOp>(
      loc, tiler.getMostKeys(), tiler.index(size));
  if (fillsDevice()) {
    auto size = [&](DimKind kind) {
      return tiler.toValue(
          getMixedSize(rewriter, loc, op.getQuery(), op.getQueryOrder(), kind));
    };
    Value blocks = rewriter.createOrFold<arith::CeilDivUIOp>(
        loc, size(DimKind::Sequence), tiler.index(tiler.getQueryBlock()));
    Value heads = rewriter.createOrFold<arith::MulIOp>(
        loc, tiler.toValue(tiler.countBatches()), size(DimKind::Heads));
    Value tiles = rewriter.createOrFold<arith::MaxUIOp>(
        loc, rewriter.createOrFold<arith::MulIOp>(loc, heads, blocks), one);
    Value most = fagpu::MultiprocessorsOp::create(rewriter, loc);
    Value fitting = arith::DivUIOp::create(rewriter, loc, most, tiles);
    parts = arith::MinUIOp::create(rewriter, loc, parts, fitting);
  }
  return getAsOpFoldResult(
      rewriter.createOrFold<arith::MaxUIOp>(loc, parts, one));
}

Value KeySplitter::createMemory(ArrayRef<OpFoldResult> sizes) {
  auto [shape, dynamicSizes] = decomposeMixedValues(llvm::to_vector(sizes));
  return memref::AllocOp::create(rewriter, loc,
                                 MemRefType::get(shape, rewriter.getF32Type()),
                                 dynamicSizes, rewriter.getI64IntegerAttr(64));
}

void KeySplitter::createMemory() {
  auto size = [&](DimKind kind) {
    return getMixedSize(rewriter, loc, op.getQuery(), op.getQueryOrder(), kind);
  };
  OpFoldResult slots = parts;
  if (!op.getQueryStarts()) {
    AffineExpr s0, s1;
    bindSymbols(rewriter.getContext(), s0, s1);
    OpFoldResult batches = size(DimKind::Batch);
    std::optional<int64_t> known = getConstantIntValue(parts);
    slots =
        known ? affine::makeComposedFoldedAffineApply(rewriter, loc,
                                                      s0 * *known, {batches})
              : OpFoldResult(
                    arith::MulIOp::create(rewriter, loc, tiler.toValue(batches),
                                          tiler.toValue(parts),
                                          arith::IntegerOverflowFlags::nsw)
                        .getResult());
  }
  OpFoldResult headDim = getMixedSize(rewriter, loc, op.getValue(),
                                      op.getValueOrder(), DimKind::HeadDim);
  outputs = createMemory(
      {slots, size(DimKind::Sequence), size(DimKind::Heads), headDim});
  lses = createMemory({slots, size(DimKind::Heads), size(DimKind::Sequence)});
}

TileResults KeySplitter::getResults(Value batch, Value part) {
  Value slot = part;
  if (!op.getQueryStarts()) {
    Value first =
        arith::MulIOp::create(rewriter, loc, batch, tiler.toValue(parts),
                              arith::IntegerOverflowFlags::nsw);
    slot = arith::AddIOp::create(rewriter, loc, first, part,
                                 arith::IntegerOverflowFlags::nsw);
  }
  return {{outputs, DimsAttr::getDefault(op.getContext())}, lses, slot};
}

Value KeySplitter::createState(ArrayRef<int64_t> sizes, float value) {
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, rewriter.getF32Type());
  Value constant = arith::ConstantFloatOp::create(
      rewriter, loc, rewriter.getF32Type(), APFloat(value));
  return linalg::FillOp::create(rewriter, loc, constant, empty).getResult(0);
}

/// Rows of a merged block. On a GPU it has no products, and small blocks keep
/// more of it busy; a warp has 16 rows.
int64_t KeySplitter::getMergedRows() {
  if (!isOnGPU())
    return config.getQueryBlock();
  return tiler.getQueryBlock() <= 16 ? 16 : 64;
}

int64_t KeySplitter::getHeadDim() {
  return cast<ShapedType>(op.getValue().getType())
      .getDimSize(op.getValueOrder().positionOf(DimKind::HeadDim));
}

/// Columns of a merged block: so few on a GPU that a warp reads several parts
/// at once, and that few rows keep more of it busy.
int64_t KeySplitter::getMergedColumns() {
  constexpr int64_t few = 32;
  int64_t headDim = getHeadDim();
  return isOnGPU() && headDim % few == 0 ? few : headDim;
}

/// `count` columns of a slice.
Value KeySplitter::takeColumns(Value slice, DimsAttr order, Value first,
                               int64_t count) {
  return createSliceOf(rewriter, loc, slice, order, DimKind::HeadDim, first,
                       rewriter.getIndexAttr(count));
}

/// All columns where `columnBlock` is null.
void KeySplitter::buildMerge(const TilePlace &place, int64_t block,
                             Value columnBlock) {
  Value batch = place.batch, head = place.head;
  SequenceTiler::Rows rows = tiler.findTileRows(place, block);
  int64_t stateRows = getMergedRows(), headDim = getMergedColumns();
  Value column;
  auto take = [&](Value slice, DimsAttr order) {
    return column ? takeColumns(slice, order, column, headDim) : slice;
  };
  float infinity = std::numeric_limits<float>::infinity();
  SmallVector<Value> state = {createState({stateRows, headDim}, 0.0f),
                              createState({stateRows}, -infinity),
                              createState({stateRows}, 0.0f)};
  TileResults results = tiler.getResults(batch);
  if (columnBlock)
    column =
        arith::MulIOp::create(rewriter, loc, columnBlock, tiler.index(headDim),
                              arith::IntegerOverflowFlags::nsw);
  DimsAttr order = results.output.order;
  Value output = take(tiler.sliceOutput(results, rows, head), order);
  // One block of columns writes what rows have once.
  SequenceTiler::Rows ofRows = rows;
  if (columnBlock && op.getLse()) {
    Value isFirst = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, columnBlock, tiler.index(0));
    ofRows.count =
        arith::SelectOp::create(rewriter, loc, isFirst,
                                tiler.toValue(rows.count), tiler.index(0))
            .getResult();
  }
  Value lse = tiler.sliceLse(results, ofRows, head);
  auto loop = scf::ForOp::create(rewriter, loc, tiler.index(0),
                                 tiler.toValue(parts), tiler.index(1), state);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(loop.getBody());
    TileResults partial = getResults(batch, loop.getInductionVar());
    auto added = AddPartialOp::create(
        rewriter, loc,
        take(tiler.sliceOutput(partial, rows, head), partial.output.order),
        tiler.sliceLse(partial, rows, head), loop.getRegionIterArgs());
    scf::YieldOp::create(rewriter, loc, added->getResults());
  }
  FinalizeOp::create(rewriter, loc, TypeRange(), loop.getResult(0),
                     loop.getResult(1), loop.getResult(2), output, lse,
                     /*rows=*/Value(), /*sink=*/Value(),
                     order.isDefault() ? DimsAttr() : order);
}

void KeySplitter::addParts() {
  int64_t block = std::min(tiler.getQueryBlock(), getMergedRows());
  int64_t columnBlocks = getHeadDim() / getMergedColumns();
  bool cuts = columnBlocks > 1;
  SmallVector<OpFoldResult> before;
  if (cuts)
    before.push_back(rewriter.getIndexAttr(columnBlocks));
  scf::ForallOp loop = tiler.createLoop(before, block);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop.getTerminator());
  SmallVector<Value> indices = loop.getInductionVars();
  buildMerge(tiler.findPlace(ValueRange(indices).drop_front(cuts), block),
             block, cuts ? indices.front() : Value());
}

/// Splits, or leaves the problem whole where the host sees that there is one
/// part only: its kernel stores results, and nothing is added.
void KeySplitter::run() {
  tiler.checkPages();
  parts = countParts();
  auto counted = dyn_cast<Value>(parts);
  if (!counted || !fillsDevice()) {
    buildParts();
    rewriter.eraseOp(op);
    return;
  }
  Value isWhole = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::ule, counted, tiler.index(1));
  auto branch = scf::IfOp::create(rewriter, loc, isWhole,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(branch.elseYield());
    buildParts();
  }
  op.setConfigAttr(config.withoutKeySplits());
  rewriter.moveOpBefore(op, branch.thenYield());
}

void KeySplitter::buildParts() {
  createMemory();
  int64_t block = tiler.getQueryBlock();
  scf::ForallOp loop = tiler.createLoop(parts, block);
  {
    OpBuilder::InsertionGuard inside(rewriter);
    rewriter.setInsertionPoint(loop.getTerminator());
    SmallVector<Value> indices = loop.getInductionVars();
    Value number = indices.front();
    TilePlace place = tiler.findPlace(ValueRange(indices).drop_front(), block);
    tiler.buildTile(place, block,
                    {number, parts, fillsDevice() ? 0 : config.getSplitKeys()},
                    getResults(place.batch, number));
  }
  addParts();
  for (Value memory : {outputs, lses})
    memref::DeallocOp::create(rewriter, loc, memory);
}

LogicalResult mlir::fa::verifyIsNotSplit(AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config.splitsKeys())
    return success();
  if (int64_t keys = config.getSplitKeys())
    return op.emitOpError() << "config has split_keys = " << keys
                            << ", expected none: split the keys first, with "
                               "fa-split-keys, which takes whole problems on "
                               "memrefs";
  return op.emitOpError() << "config has key_splits " << config.getKeySplits()
                          << ", expected 1: split the keys first, with "
                             "fa-split-kv";
}

/// Whether a problem is split as it is tiled.
static bool isSplit(AttentionOp op) {
  return isa<MemRefType>(op.getQuery().getType()) && op.getConfigAttr() &&
         op.getConfigAttr().splitsKeys() && op.getOffsets().empty() &&
         op.getExtents().empty();
}

namespace {
struct SplitKeysPass : public mlir::fa::impl::FASplitKeysBase<SplitKeysPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FASplitKeysBase::getDependentDialects(registry);
    registry.insert<cf::ControlFlowDialect, fagpu::FAGPUDialect>();
  }

  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) {
      if (isSplit(op))
        attentions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions) {
      if (failed(verifyForAnyKeys(op)))
        return signalPassFailure();
      rewriter.setInsertionPoint(op);
      KeySplitter(rewriter, op).run();
    }
  }
};
} // namespace
