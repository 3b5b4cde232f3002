//===- ViewPatterns.cpp - Slices and loads of views -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "SharedTile.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// A slice is an address; its panels are as far apart as those of the whole.
struct SlicePattern : public KernelPattern<SliceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(SliceOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ViewType type = op.getType();
    if (type.getShape().size() != 2 ||
        !SharedTile::isSupported(type.getElementType(), type.getLayout()))
      return rewriter.notifyMatchFailure(
          op, "expected 16-bit elements of a swizzled tile");
    // Who reads a slice looks up the whole by its operations.
    if (!llvm::all_of(op->getUsers(), [](Operation *user) {
          return isa<MmaAsyncOp, MmaOp, LoadOp, SliceOp>(user);
        }))
      return rewriter.notifyMatchFailure(op, "carried by control flow");
    Emitter emit(rewriter, op.getLoc());
    SmallVector<Value> offsets =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    ValueRange view = adaptor.getView();
    SharedTile part =
        getTile(op.getView(), view[0]).at(emit, offsets[0], offsets[1]);
    rewriter.replaceOpWithMultiple(op,
                                   {SmallVector<Value>{part.address, view[1]}});
    return success();
  }
};

/// The view of a load is acquired and released in its own block, where the plan
/// has seen that every warp has to free the stage.
static bool isReleasedBeside(Value view) {
  Value whole = getWholeView(view);
  return whole.getDefiningOp<AcquireOp>() &&
         llvm::any_of(whole.getUsers(),
                      [](Operation *user) { return isa<ReleaseOp>(user); });
}

struct LoadMatrixPattern : public KernelPattern<LoadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    ViewType view = op.getView().getType();
    if (!SharedTile::isSupported(type.getElementType(), view.getLayout()) ||
        !isa<AccumulatorLayoutAttr, OperandLayoutAttr>(type.getEncoding()) ||
        type.getDimSize(1) % 16 || !isReleasedBeside(op.getView()))
      return rewriter.notifyMatchFailure(op, "not a matrix in swizzled memory");
    Emitter emit(rewriter, op.getLoc());
    rewriter.replaceOpWithMultiple(
        op, {getTile(op.getView(), adaptor.getView()[0])
                 .load(emit, kernel.getThreads(op), type)});
    return success();
  }
};

/// Values of rows or of columns, which lie one after the other.
struct LoadVectorPattern : public KernelPattern<LoadOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(LoadOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    ViewType view = op.getView().getType();
    if (type.getRank() != 1 || view.getLayout().getSwizzle() ||
        type.getElementType().getIntOrFloatBitWidth() != 32 ||
        !isReleasedBeside(op.getView()))
      return rewriter.notifyMatchFailure(op, "not a vector of 32-bit elements");
    Emitter emit(rewriter, op.getLoc());
    LayoutInterface layout = getBlockLayout(type);
    Value ofThread = expandIndex(emit, layout.getThreadMap().getResult(0),
                                 kernel.getThreads(op).thread);
    Value first = emit.sharedPointer(
        emit.add(adaptor.getView()[0], emit.multiply(ofThread, 4)));
    SmallVector<Value> results;
    for (int64_t i = 0, e = layout.perThread(type.getShape()); i < e; ++i) {
      auto offset = static_cast<int32_t>(
          4 * layout.getElementOffset(type.getShape(), i)[0]);
      Value element = LLVM::GEPOp::create(
          rewriter, op.getLoc(), first.getType(), rewriter.getI8Type(), first,
          ArrayRef<LLVM::GEPArg>{offset});
      // The stage changes between two loads, which LLVM cannot see.
      results.push_back(LLVM::LoadOp::create(
          rewriter, op.getLoc(), type.getElementType(), element,
          /*alignment=*/4, /*isVolatile=*/true));
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

} // namespace

void mlir::fagpu::populateViewPatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelContext &kernel) {
  patterns.add<SlicePattern, LoadMatrixPattern, LoadVectorPattern>(
      converter, patterns.getContext(), kernel);
}
