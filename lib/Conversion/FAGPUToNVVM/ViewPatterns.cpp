//===- ViewPatterns.cpp - Slices and loads of views -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "SharedTile.h"
#include "fa/Dialect/FAGPU/IR/TransposedReads.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// A slice is an address; its panels are as far apart as those of the whole.
struct SlicePattern : public LoweringPattern<SliceOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(SliceOp op, Adaptor adaptor, Emitter &emit) const override {
    SmallVector<Value> offsets =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    ValueRange view = adaptor.getView();
    SharedTile part =
        getTile(op.getView(), view[0]).at(emit, offsets[0], offsets[1]);
    return {SmallVector<Value>{part.address, view[1]}};
  }
};

struct LoadMatrixPattern : public LoweringPattern<LoadOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(LoadOp op) const override {
    return cast<RankedTensorType>(op.getType()).getRank() != 1 &&
           !op.getFragments();
  }

  Registers lower(LoadOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getType());
    return {getTile(op.getView(), adaptor.getView()[0])
                .load(emit, kernel.getThreads(op), type, isTransposed(op))};
  }
};

/// Values of rows or of columns, which lie one after the other.
struct LoadVectorPattern : public LoweringPattern<LoadOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(LoadOp op) const override {
    return cast<RankedTensorType>(op.getType()).getRank() == 1;
  }

  Registers lower(LoadOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getType());
    LayoutInterface layout = getBlockLayout(type);
    Value ofThread = expandIndex(emit, layout.getThreadMap().getResult(0),
                                 kernel.getThreads(op).thread);
    Value first = emit.sharedPointer(
        emit.add(adaptor.getView()[0], emit.multiply(ofThread, 4)));
    // Columns are held in pairs, which are beside each other.
    int64_t atOnce = isa<ColumnLayoutAttr>(type.getEncoding()) ? 2 : 1;
    Type loaded = type.getElementType();
    if (atOnce > 1)
      loaded = VectorType::get({atOnce}, loaded);
    SmallVector<Value> results;
    for (int64_t i = 0, e = layout.perThread(type.getShape()); i < e;
         i += atOnce) {
      auto offset = static_cast<int32_t>(
          4 * layout.getElementOffset(type.getShape(), i)[0]);
      Value place = LLVM::GEPOp::create(
          emit.builder, emit.location, first.getType(),
          emit.builder.getI8Type(), first, ArrayRef<LLVM::GEPArg>{offset});
      // The stage changes between two loads, which LLVM cannot see.
      Value words = LLVM::LoadOp::create(emit.builder, emit.location, loaded,
                                         place, /*alignment=*/4 * atOnce,
                                         /*isVolatile=*/true);
      if (atOnce == 1)
        results.push_back(words);
      for (int64_t word = 0; atOnce > 1 && word < atOnce; ++word)
        results.push_back(LLVM::ExtractElementOp::create(
            emit.builder, emit.location, words, emit.constant(word)));
    }
    return {results};
  }
};

} // namespace

void mlir::fagpu::populateViewPatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelContext &kernel) {
  patterns.add<SlicePattern, LoadMatrixPattern, LoadVectorPattern>(
      converter, patterns.getContext(), kernel);
}
