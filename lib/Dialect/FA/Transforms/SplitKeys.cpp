//===- SplitKeys.cpp - Parts of the keys side by side ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Split-K (flash decoding) of whole problems on memrefs, in any form that a
// sequence has: a loop over the parts of the keys and the query blocks, and one
// that adds the parts of a query block (MergeParts.cpp). Where only the device
// knows lengths, it lists parts that these have. Read `KeySplitter::run`, then
// `buildListed`.
//
//===----------------------------------------------------------------------===//

#include "KeySplitter.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

namespace mlir::fa {
#define GEN_PASS_DEF_FASPLITKEYS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

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

/// Whether sequences have lengths of their own that parts are listed for, by
/// blocks of threads that take one after the other. Not with lengths of
/// queries: a whole sequence would not find the state that it has just written.
bool KeySplitter::isRagged() {
  auto target = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  return fillsDevice() && target && target.getPart().hasGroups() &&
         (op.getKeyLengths() || op.getKeyStarts()) && !op.getQueryLengths();
}

KeySplitter::Room KeySplitter::findRoom(ConfigAttr config) {
  auto size = [&](DimKind kind) {
    return tiler.toValue(
        getMixedSize(rewriter, loc, op.getQuery(), op.getQueryOrder(), kind));
  };
  Value ofHead = rewriter.createOrFold<arith::CeilDivUIOp>(
      loc, size(DimKind::Sequence), tiler.index(config.getQueryBlock()));
  Value heads = rewriter.createOrFold<arith::MulIOp>(
      loc, tiler.toValue(tiler.countBatches()), size(DimKind::Heads));
  Room room;
  room.blocks = rewriter.createOrFold<arith::MulIOp>(loc, heads, ofHead);
  room.places = fagpu::MultiprocessorsOp::create(rewriter, loc);
  auto target = dyn_cast<GPUConfigAttr>(config.getTarget());
  if (int64_t each = target ? target.getPart().blocksPerSM : 1; each > 1)
    room.places =
        arith::MulIOp::create(rewriter, loc, room.places, tiler.index(each));
  room.parts = arith::DivUIOp::create(
      rewriter, loc, room.places,
      rewriter.createOrFold<arith::MaxUIOp>(loc, room.blocks, tiler.index(1)));
  return room;
}

/// At least one, which gives the result of no keys.
OpFoldResult KeySplitter::countParts() {
  int64_t size = config.getSplitKeys();
  if (!size)
    return rewriter.getIndexAttr(config.getKeySplits());
  // Operations that a launcher of kernels has too.
  Value parts = rewriter.createOrFold<arith::CeilDivUIOp>(
      loc, tiler.getMostKeys(), tiler.index(size));
  if (fillsDevice())
    parts =
        arith::MinUIOp::create(rewriter, loc, parts, findRoom(config).parts);
  return getAsOpFoldResult(
      rewriter.createOrFold<arith::MaxUIOp>(loc, parts, tiler.index(1)));
}

Value KeySplitter::createMemory(ArrayRef<OpFoldResult> sizes) {
  auto [shape, dynamicSizes] = decomposeMixedValues(llvm::to_vector(sizes));
  return memref::AllocOp::create(rewriter, loc,
                                 MemRefType::get(shape, rewriter.getF32Type()),
                                 dynamicSizes, rewriter.getI64IntegerAttr(64));
}

/// Those of each sequence, one behind the other. Packed queries are one.
OpFoldResult KeySplitter::countSlots() {
  if (op.getQueryStarts())
    return parts;
  OpFoldResult batches = getMixedSize(rewriter, loc, op.getQuery(),
                                      op.getQueryOrder(), DimKind::Batch);
  if (std::optional<int64_t> known = getConstantIntValue(parts))
    return affine::makeComposedFoldedAffineApply(
        rewriter, loc, rewriter.getAffineSymbolExpr(0) * *known, {batches});
  return arith::MulIOp::create(rewriter, loc, tiler.toValue(batches),
                               tiler.toValue(parts),
                               arith::IntegerOverflowFlags::nsw)
      .getResult();
}

void KeySplitter::createMemory(OpFoldResult slots) {
  auto size = [&](DimKind kind) {
    return getMixedSize(rewriter, loc, op.getQuery(), op.getQueryOrder(), kind);
  };
  OpFoldResult headDim = getMixedSize(rewriter, loc, op.getValue(),
                                      op.getValueOrder(), DimKind::HeadDim);
  outputs = createMemory(
      {slots, size(DimKind::Sequence), size(DimKind::Heads), headDim});
  lses = createMemory({slots, size(DimKind::Heads), size(DimKind::Sequence)});
}

TileResults KeySplitter::getResults(Value slot) {
  return {{outputs, DimsAttr::getDefault(op.getContext())}, lses, slot};
}

TileResults KeySplitter::getResults(Value batch, Value part) {
  if (op.getQueryStarts())
    return getResults(part);
  Value first =
      arith::MulIOp::create(rewriter, loc, batch, tiler.toValue(parts),
                            arith::IntegerOverflowFlags::nsw);
  return getResults(arith::AddIOp::create(rewriter, loc, first, part,
                                          arith::IntegerOverflowFlags::nsw)
                        .getResult());
}

int64_t KeySplitter::getHeadDim() {
  return cast<ShapedType>(op.getValue().getType())
      .getDimSize(op.getValueOrder().positionOf(DimKind::HeadDim));
}

PartsPlan KeySplitter::makePlan() {
  PartsPlan::Sizes sizes;
  sizes.unit = std::lcm(config.getKeyBlock(), tiler.getPartUnit());
  sizes.least = config.getSplitKeys();
  sizes.queryBlock = tiler.getQueryBlock();
  PartsPlan made(rewriter, loc, sizes);
  auto size = [&](DimKind kind) {
    return tiler.getSize(op.getQuery(), op.getQueryOrder(), kind);
  };
  made.measure(tiler.toValue(tiler.countBatches()), size(DimKind::Heads),
               size(DimKind::Sequence), tiler.getMostKeys());
  return made;
}

/// Sequences of lengths of their own get parts by these; one alone is as even
/// without.
void KeySplitter::run() {
  tiler.checkPages();
  if (ConfigAttr half = getHalfBlocks())
    splitHalves(half);
  if (!isRagged()) {
    split();
    return;
  }
  PartsPlan listed = makePlan();
  Value isEven = listed.isNeedless();
  if (matchPattern(isEven, m_One())) {
    split();
    return;
  }
  remark::passed(loc,
                 remark::RemarkOpts::name("Plan").category("fa-split-keys"))
      << llvm::formatv("a list of parts of at least {0} keys of sequences of "
                       "any lengths",
                       config.getSplitKeys())
             .str();
  auto branch = scf::IfOp::create(rewriter, loc, isEven,
                                  /*withElseRegion=*/true);
  rewriter.setInsertionPoint(branch.elseYield());
  plan = &listed;
  buildListed();
  plan = nullptr;
  rewriter.setInsertionPoint(branch.thenYield());
  split();
}

/// Splits, or leaves the problem whole where the host sees that there is one
/// part only: its kernel stores results, and nothing is added.
void KeySplitter::split() {
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

/// Numbers of an item's sequence come with the item, so that what it copies
/// first waits for one load less.
void KeySplitter::listNumbers(scf::ForallOp loop, Value sequence) {
  SmallVector<memref::LoadOp> loads;
  loop->walk([&](memref::LoadOp load) {
    if (load.getType().isInteger(32) && load.getIndices().size() == 1 &&
        load.getIndices().front() == sequence &&
        !loop.getRegion().isAncestor(load.getMemRef().getParentRegion()))
      loads.push_back(load);
  });
  OpBuilder::InsertionGuard guard(rewriter);
  for (memref::LoadOp load : loads) {
    if (!plan->addNumber(load.getMemRef()))
      continue;
    rewriter.setInsertionPoint(load);
    rewriter.replaceOp(
        load, plan->getNumber(loop.getInductionVar(0), load.getMemRef()));
  }
}

void KeySplitter::buildListed() {
  createMemory(getAsOpFoldResult(plan->countSlots()));
  plan->allocate();
  scf::ForallOp loop = plan->createLoop();
  {
    OpBuilder::InsertionGuard inside(rewriter);
    rewriter.setInsertionPoint(loop.getTerminator());
    PartsPlan::Item item = plan->getItem(loop.getInductionVar(0));
    // The first part begins with the first key.
    KeyPart part{item.firstKey, OpFoldResult(), 0, item.firstKey, item.keys};
    tiler.buildTile({item.sequence, item.head, item.query, /*isListed=*/true},
                    tiler.getQueryBlock(), part, getResults(item.slot));
    storeWhole(item);
    listNumbers(loop, item.sequence);
  }
  plan->list([&](Value sequence) { return tiler.findKeys(sequence).count; });
  addParts();
  freeMemory();
}

void KeySplitter::freeMemory() {
  for (Value memory : {outputs, lses})
    memref::DeallocOp::create(rewriter, loc, memory);
}

void KeySplitter::buildParts() {
  createMemory(countSlots());
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
  freeMemory();
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
