//===- ScatterPatterns.cpp - Additions at indices of their own ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// One addition for each element, by predicates: a branch would make the loop
/// around it divergent.
struct ScatterAddPattern : public LoweringPattern<ScatterAddOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(ScatterAddOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    RankedTensorType type = blockType(op.getValue());
    Value isFirst = isFirstHolder(emit, op, type);
    for (auto [number, value] : llvm::enumerate(adaptor.getValue())) {
      SmallVector<Value> indices;
      for (auto [operand, values] :
           llvm::zip_equal(op.getIndices(), adaptor.getIndices()))
        indices.push_back(getBlockLayout(operand.getType()) ? values[number]
                                                            : values.front());
      Value address = getAddress(emit.builder, emit.location, kernel,
                                 op.getDestination(), indices);
      Value predicate = isFirst;
      if (op.getMask()) {
        Value chosen = adaptor.getMask()[number];
        predicate = predicate ? emit.logicalAnd(predicate, chosen) : chosen;
      }
      if (predicate)
        emit.inlinePTX("@$2 red.global.add.f32 [$0], $1;", "l,f,b,~{memory}",
                       {address, value, predicate}, {});
      else
        emit.inlinePTX("red.global.add.f32 [$0], $1;", "l,f,~{memory}",
                       {address, value}, {});
    }
    return {};
  }

private:
  /// Whether a thread is the first of those that hold the same elements; null
  /// where each element has one thread.
  Value isFirstHolder(Emitter &emit, ScatterAddOp op,
                      RankedTensorType type) const {
    const RoleThreads &threads = kernel.getThreads(op);
    Attribute layout = type.getEncoding();
    if (isa<RowLayoutAttr>(layout))
      return emit.equal(emit.bitAnd(threads.lane, 3), emit.constant(0));
    if (isa<WarpLayoutAttr>(layout))
      return emit.equal(threads.lane, emit.constant(0));
    if (isa<ColumnLayoutAttr>(layout))
      return emit.isBelow(threads.thread, emit.constant(4));
    return {};
  }
};

} // namespace

void mlir::fagpu::populateScatterPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const KernelContext &kernel) {
  patterns.add<ScatterAddPattern>(converter, patterns.getContext(), kernel);
}
