//===- VectorPatterns.cpp - Vectors of one thread -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers vectors that a thread loads, shuffles and stores: pieces of rows in
// global memory. Arithmetic on them is LLVM's.
//
//===----------------------------------------------------------------------===//

#include "GlobalStores.h"
#include "Patterns.h"
#include "ThreadLoops.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Bytes that a thread loads or stores at once.
static constexpr int64_t mostBytes = 16;

int64_t mlir::fagpu::getVectorAlignment(VectorType type) {
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return std::min(bytes, mostBytes);
}

LogicalResult mlir::fagpu::verifyThreadVector(Operation *op, VectorType type) {
  Type element = type.getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return op->emitOpError() << "moves " << type
                             << " in a kernel, expected elements of f16, bf16 "
                                "or f32";
  if (type.getRank() != 1 || type.isScalable() ||
      !llvm::isPowerOf2_64(type.getNumElements()))
    return op->emitOpError()
           << "moves " << type
           << " in a kernel, expected one dimension of a power of two; the "
              "nearest is vector<"
           << llvm::bit_floor<uint64_t>(type.getNumElements()) << "x" << element
           << ">";
  if (op->getParentOfType<scf::ParallelOp>())
    return success();
  return op->emitOpError()
         << "stands outside of scf.parallel, where all threads of a group "
            "would do the same; expected it in one";
}

namespace {
struct VectorLoadPattern : public LoweringPattern<vector::LoadOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(vector::LoadOp op) const override {
    return kernel.getPointer(op.getBase()) != nullptr;
  }

  Registers lower(vector::LoadOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    Value address =
        getAddress(emit.builder, emit.location, kernel, op.getBase(),
                   flatten(SmallVector<ValueRange>(adaptor.getIndices())));
    VectorType type = op.getVectorType();
    return {{LLVM::LoadOp::create(emit.builder, emit.location, type, address,
                                  getVectorAlignment(type))}};
  }
};

struct VectorStorePattern : public LoweringPattern<vector::StoreOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(vector::StoreOp op) const override {
    return kernel.getPointer(op.getBase()) != nullptr;
  }

  Registers lower(vector::StoreOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    Value address =
        getAddress(emit.builder, emit.location, kernel, op.getBase(),
                   flatten(SmallVector<ValueRange>(adaptor.getIndices())));
    LLVM::StoreOp::create(emit.builder, emit.location,
                          adaptor.getValueToStore().front(), address,
                          getVectorAlignment(op.getVectorType()));
    return {};
  }
};

struct ShufflePattern : public LoweringPattern<vector::ShuffleOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(vector::ShuffleOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    SmallVector<int32_t> mask(op.getMask().begin(), op.getMask().end());
    return {{LLVM::ShuffleVectorOp::create(emit.builder, emit.location,
                                           adaptor.getV1().front(),
                                           adaptor.getV2().front(), mask)}};
  }
};
/// Elements of one operand and of the other by turns.
struct InterleavePattern : public LoweringPattern<vector::InterleaveOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(vector::InterleaveOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    auto count = static_cast<int32_t>(op.getSourceVectorType().getDimSize(0));
    SmallVector<int32_t> mask;
    for (int32_t element = 0; element < count; ++element)
      mask.append({element, count + element});
    return {{LLVM::ShuffleVectorOp::create(emit.builder, emit.location,
                                           adaptor.getLhs().front(),
                                           adaptor.getRhs().front(), mask)}};
  }
};
} // namespace

void mlir::fagpu::populateVectorPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelContext &kernel) {
  patterns.add<VectorLoadPattern, VectorStorePattern, ShufflePattern,
               InterleavePattern>(converter, patterns.getContext(), kernel);
}
