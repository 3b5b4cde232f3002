//===- SplitKV.cpp - Parts of the keys in parallel ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Split-K (flash decoding): attention on parts of the keys in parallel, into
// temporary f32 memory; then the partial results are merged by their lse.
// Read `KeySplitter::split`, then `createPart`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/PartialResults.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASPLITKV
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Builds the replacement of one operation.
class KeySplitter {
public:
  KeySplitter(RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()),
        config(op.getConfigAttr()),
        onTensors(isa<RankedTensorType>(op.getQuery().getType())) {}

  scf::ForallOp split();

private:
  Value createTemporary(ArrayRef<OpFoldResult> sizes);
  OpFoldResult getPartSize(OpFoldResult keys);
  OpFoldResult getPartBegin(OpFoldResult number, OpFoldResult partSize);
  AffineExpr symbol(unsigned position) {
    return rewriter.getAffineSymbolExpr(position);
  }
  void createPart(scf::ForallOp loop, OpFoldResult keys, OpFoldResult partSize,
                  PartialResults destinations);
  OpFoldResult affineMin(ArrayRef<AffineExpr> results,
                         ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineMin(
        rewriter, loc,
        AffineMap::get(0, operands.size(), results, rewriter.getContext()),
        operands);
  }

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
  ConfigAttr config;
  bool onTensors;
};

} // namespace

// f32 memory for the results of all parts.
Value KeySplitter::createTemporary(ArrayRef<OpFoldResult> sizes) {
  Type f32 = rewriter.getF32Type();
  if (onTensors)
    return tensor::EmptyOp::create(rewriter, loc, sizes, f32);
  auto [shape, dynamicSizes] = decomposeMixedValues(llvm::to_vector(sizes));
  return memref::AllocOp::create(rewriter, loc, MemRefType::get(shape, f32),
                                 dynamicSizes, rewriter.getI64IntegerAttr(64));
}

// Keys of a part: a multiple of the key block, so that parts share no block.
OpFoldResult KeySplitter::getPartSize(OpFoldResult keys) {
  int64_t block = config.getKeyBlock();
  return affine::makeComposedFoldedAffineApply(
      rewriter, loc,
      symbol(0).ceilDiv(config.getKeySplits()).ceilDiv(block) * block, {keys});
}

// number * part size, affine where the part size is static.
OpFoldResult KeySplitter::getPartBegin(OpFoldResult number,
                                       OpFoldResult partSize) {
  if (std::optional<int64_t> size = getConstantIntValue(partSize))
    return affine::makeComposedFoldedAffineApply(rewriter, loc,
                                                 symbol(0) * *size, {number});
  return arith::MulIOp::create(rewriter, loc, cast<Value>(number),
                               cast<Value>(partSize),
                               arith::IntegerOverflowFlags::nsw)
      .getResult();
}

void KeySplitter::createPart(scf::ForallOp loop, OpFoldResult keys,
                             OpFoldResult partSize,
                             PartialResults destinations) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop.getTerminator());
  OpFoldResult number = loop.getInductionVar(0);
  // The last parts may be short or, of few keys, empty.
  OpFoldResult begin =
      affineMin({symbol(0), symbol(1)}, {getPartBegin(number, partSize), keys});
  OpFoldResult size =
      affineMin({symbol(0), symbol(1) - symbol(2)}, {partSize, keys, begin});
  Value output =
      createLeadingSlice(rewriter, loc, destinations.outputs, number);
  Value lse = createLeadingSlice(rewriter, loc, destinations.lses, number);
  AttentionOp part =
      createPartialAttention(rewriter, op, begin, size, number, output, lse);
  part.setConfigAttr(config.withoutKeySplits());
  if (!onTensors)
    return;
  auto [outputSizes, lseSizes] =
      getPartialResultSizes(rewriter, op, rewriter.getIndexAttr(1));
  rewriter.setInsertionPointToEnd(loop.getTerminator().getBody());
  SmallVector<OpFoldResult> allSizes[] = {outputSizes, lseSizes};
  for (auto [result, destination, sizes] : llvm::zip_equal(
           part->getResults(), loop.getRegionIterArgs(), allSizes)) {
    SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    offsets[0] = number;
    tensor::ParallelInsertSliceOp::create(rewriter, loc, result, destination,
                                          offsets, sizes, strides);
  }
}

scf::ForallOp KeySplitter::split() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });
  OpFoldResult parts = rewriter.getIndexAttr(config.getKeySplits());
  OpFoldResult keys = getMixedSize(rewriter, loc, op.getKey(), op.getKeyOrder(),
                                   DimKind::Sequence);
  OpFoldResult partSize = getPartSize(keys);
  auto [outputSizes, lseSizes] = getPartialResultSizes(rewriter, op, parts);
  PartialResults temporaries{createTemporary(outputSizes),
                             createTemporary(lseSizes)};
  SmallVector<Value> shared;
  if (onTensors)
    shared = {temporaries.outputs, temporaries.lses};
  auto loop = scf::ForallOp::create(rewriter, loc, parts, shared,
                                    /*mapping=*/std::nullopt);
  PartialResults destinations = temporaries, results = temporaries;
  if (onTensors) {
    destinations = {loop.getRegionIterArgs()[0], loop.getRegionIterArgs()[1]};
    results = {loop.getResult(0), loop.getResult(1)};
  }
  createPart(loop, keys, partSize, destinations);
  CombineOp combine =
      combinePartialResults(rewriter, op, results, config.getKeySplits());
  if (!onTensors)
    for (Value temporary : {temporaries.outputs, temporaries.lses})
      memref::DeallocOp::create(rewriter, loc, temporary);
  rewriter.replaceOp(op, combine->getResults());
  return loop;
}

FailureOr<scf::ForallOp> mlir::fa::splitKeys(RewriterBase &rewriter,
                                             AttentionOp op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config || config.getKeySplits() < 2)
    return op.emitOpError()
           << "has no config with key_splits of at least 2, expected one to "
              "split the keys by";
  if (failed(verifyForAnyKeys(op)))
    return failure();
  if (op.isRagged())
    return op.emitOpError()
           << "has packed sequences or pages and key_splits = "
           << config.getKeySplits()
           << ", expected 1 before it is tiled: fa-split-keys splits these as "
              "it tiles them";
  int64_t headDim = op.getOutputOrder().positionOf(DimKind::HeadDim);
  if (isa<MemRefType>(op.getOutput().getType()) && headDim != 3)
    return op.emitOpError() << "output has its head dim at position " << headDim
                            << ", expected 3 to split the keys on memrefs: "
                               "partial results are contiguous";
  return KeySplitter(rewriter, op).split();
}

namespace {
struct SplitKVPass : public mlir::fa::impl::FASplitKVBase<SplitKVPass> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) {
      if (op.getConfigAttr() && op.getConfigAttr().getKeySplits() > 1)
        attentions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      if (failed(splitKeys(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
