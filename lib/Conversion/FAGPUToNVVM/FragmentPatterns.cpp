//===- FragmentPatterns.cpp - Values as threads hold them -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentOrder.h"
#include "GlobalStores.h"
#include "Patterns.h"

using namespace mlir;
using namespace mlir::fagpu;

void FragmentOrder::storeShared(Emitter &emit, const RoleThreads &threads,
                                Value address, ValueRange registers) const {
  Value first = emit.add(address, emit.multiply(threads.thread, bytesAtOnce));
  for (size_t at = 0; at < registers.size(); at += atOnce) {
    SmallVector<Value> inputs = {first};
    llvm::append_range(inputs, registers.slice(at, atOnce));
    emit.inlinePTX("st.shared.v4.f32 [$0 + " + std::to_string(offsetOf(at)) +
                       "], {$1, $2, $3, $4};",
                   "r,f,f,f,f,~{memory}", inputs, {});
  }
}

namespace {

/// From registers, 16 bytes a thread, or a word; those of 16 bytes are added
/// one by one where the chip adds no vectors.
struct StoreFragmentsPattern : public LoweringPattern<StoreOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(StoreOp op) const override {
    return op.getFragments() && !op.getVia();
  }

  Registers lower(StoreOp op, Adaptor adaptor, Emitter &emit) const override {
    FragmentOrder order(blockType(op.getValue()));
    SmallVector<Value> indices =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    int64_t words = op.getByWords() ? 1 : FragmentOrder::atOnce;
    Value ofThread = emit.multiply(kernel.getThreads(op).thread, words);
    indices.back() = emit.add(indices.back(), ofThread);
    Value address = getAddress(emit.builder, emit.location, kernel,
                               op.getDestination(), indices);
    int64_t bytes = op.getAdd() ? getBytesPerAdd(op) : 4 * words;
    ValueRange values = adaptor.getValue();
    for (size_t at = 0; at < values.size(); at += words)
      storePiece(emit,
                 {address, order.offsetOf(at, words), values.slice(at, words),
                  /*predicate=*/Value(), bytes, op.getAdd()});
    return {};
  }
};

struct LoadFragmentsPattern : public LoweringPattern<LoadOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(LoadOp op) const override { return op.getFragments(); }

  Registers lower(LoadOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getType());
    FragmentOrder order(type);
    Value first = emit.sharedPointer(emit.add(
        adaptor.getView()[0], emit.multiply(kernel.getThreads(op).thread,
                                            FragmentOrder::bytesAtOnce)));
    auto four = VectorType::get({FragmentOrder::atOnce}, type.getElementType());
    SmallVector<Value> results;
    for (int64_t at = 0, e = registersPerThread(type); at < e;
         at += FragmentOrder::atOnce) {
      auto offset = static_cast<int32_t>(order.offsetOf(at));
      Value place = LLVM::GEPOp::create(
          emit.builder, emit.location, first.getType(),
          emit.builder.getI8Type(), first, ArrayRef<LLVM::GEPArg>{offset});
      // The stage changes between two loads, which LLVM cannot see.
      Value words = LLVM::LoadOp::create(
          emit.builder, emit.location, four, place,
          /*alignment=*/FragmentOrder::bytesAtOnce, /*isVolatile=*/true);
      for (int64_t word = 0; word < FragmentOrder::atOnce; ++word)
        results.push_back(LLVM::ExtractElementOp::create(
            emit.builder, emit.location, words, emit.constant(word)));
    }
    return {results};
  }
};

} // namespace

void mlir::fagpu::populateFragmentPatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter,
                                           const KernelContext &kernel) {
  patterns.add<StoreFragmentsPattern, LoadFragmentsPattern>(
      converter, patterns.getContext(), kernel);
}
