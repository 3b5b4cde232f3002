//===- ElementwisePatterns.cpp - Arithmetic on block values ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Packs two floats into 32 bits, the first one in the lower half.
static Value pack(Emitter &emit, Value low, Value high, Type element) {
  MLIRContext *context = element.getContext();
  auto type = VectorType::get({2}, element);
  auto rounding =
      NVVM::FPRoundingModeAttr::get(context, NVVM::FPRoundingMode::RN);
  Value packed;
  if (element.isBF16())
    packed = NVVM::ConvertF32x2ToBF16x2Op::create(
        emit.builder, emit.location, type, high, low, Value(), rounding,
        NVVM::SaturationModeAttr(), BoolAttr());
  else
    packed = NVVM::ConvertF32x2ToF16x2Op::create(
        emit.builder, emit.location, type, high, low, Value(), rounding,
        NVVM::SaturationModeAttr(), BoolAttr());
  return LLVM::BitcastOp::create(emit.builder, emit.location,
                                 emit.builder.getI32Type(), packed);
}

/// The two floats of a packed register, extended.
static std::pair<Value, Value> unpack(Emitter &emit, Value packed,
                                      Type element) {
  auto type = VectorType::get({2}, element);
  Value both =
      LLVM::BitcastOp::create(emit.builder, emit.location, type, packed);
  auto part = [&](int64_t index) -> Value {
    Value half = LLVM::ExtractElementOp::create(emit.builder, emit.location,
                                                both, emit.constant(index));
    return arith::ExtFOp::create(emit.builder, emit.location,
                                 emit.builder.getF32Type(), half);
  };
  return {part(0), part(1)};
}

namespace {

/// Any elementwise operation of any dialect, once for each scalar.
struct ElementwisePattern : public ConversionPattern {
  ElementwisePattern(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !getBlockLayout(op->getResultTypes()[0]) ||
        !OpTrait::hasElementwiseMappableTraits(op))
      return failure();
    RankedTensorType type = blockType(op->getResult(0));
    if (isPackedElement(type.getElementType()) ||
        llvm::any_of(op->getOperandTypes(), [](Type operand) {
          return isPackedElement(getElementTypeOrSelf(operand));
        }))
      return rewriter.notifyMatchFailure(op, "16-bit floats are packed");
    SmallVector<Value> results;
    for (int64_t index = 0, e = registersPerThread(type); index < e; ++index) {
      SmallVector<Value> scalars;
      // A scalar operand, such as the condition of a select, is for all.
      for (auto [operand, values] :
           llvm::zip_equal(op->getOperands(), operands))
        scalars.push_back(getBlockLayout(operand.getType()) ? values[index]
                                                            : values.front());
      OperationState state(op->getLoc(), op->getName(), scalars,
                           {type.getElementType()}, op->getAttrs());
      results.push_back(rewriter.create(state)->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct TruncatePattern : public KernelPattern<arith::TruncFOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(arith::TruncFOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!getBlockLayout(op.getType()) ||
        !isPackedElement(blockType(op).getElementType()))
      return failure();
    Emitter emit(rewriter, op.getLoc());
    ValueRange values = adaptor.getIn();
    SmallVector<Value> results;
    for (size_t index = 0; index < values.size(); index += 2)
      results.push_back(pack(emit, values[index], values[index + 1],
                             blockType(op).getElementType()));
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ExtendPattern : public KernelPattern<arith::ExtFOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(arith::ExtFOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!getBlockLayout(op.getType()) ||
        !isPackedElement(blockType(op.getIn()).getElementType()))
      return failure();
    Emitter emit(rewriter, op.getLoc());
    SmallVector<Value> results;
    for (Value packed : adaptor.getIn()) {
      auto [low, high] =
          unpack(emit, packed, blockType(op.getIn()).getElementType());
      results.append({low, high});
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ConstantPattern : public KernelPattern<arith::ConstantOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!getBlockLayout(op.getType()) || !splat ||
        isPackedElement(splat.getElementType()))
      return rewriter.notifyMatchFailure(op, "not a splat of 32-bit elements");
    Value scalar = arith::ConstantOp::create(
        rewriter, op.getLoc(),
        cast<TypedAttr>(splat.getSplatValue<Attribute>()));
    SmallVector<Value> results(registersPerThread(blockType(op)), scalar);
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct SplatPattern : public KernelPattern<tensor::SplatOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(tensor::SplatOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!getBlockLayout(op.getType()) ||
        isPackedElement(blockType(op).getElementType()))
      return failure();
    SmallVector<Value> results(registersPerThread(blockType(op)),
                               adaptor.getInput().front());
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

} // namespace

void mlir::fagpu::populateElementwisePatterns(RewritePatternSet &patterns,
                                              const TypeConverter &converter,
                                              const KernelContext &kernel) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ElementwisePattern>(converter, context);
  patterns.add<TruncatePattern, ExtendPattern, ConstantPattern, SplatPattern>(
      converter, context, kernel);
}
