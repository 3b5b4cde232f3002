//===- ElementwisePatterns.cpp - Arithmetic on block values ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers arithmetic on block values: one scalar operation for each element
// that a thread holds, whatever the dialect. 16-bit floats are packed in
// pairs. Read `ElementwisePattern` first; the other patterns are conversions
// and constants, where packing matters.
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

std::pair<Value, Value> mlir::fagpu::testHalves(Emitter &emit, Value halves) {
  Value low = arith::TruncIOp::create(emit.builder, emit.location,
                                      emit.builder.getI1Type(), halves);
  return {low, emit.isLess(halves, emit.constant(0))};
}

/// The word that two conditions test, or one that is made for them.
static Value makeHalves(Emitter &emit, Value low, Value high) {
  auto ofLow = low.getDefiningOp<arith::TruncIOp>();
  auto ofHigh = high.getDefiningOp<arith::CmpIOp>();
  if (ofLow && ofHigh && ofLow.getIn() == ofHigh.getLhs() &&
      ofHigh.getPredicate() == arith::CmpIPredicate::slt)
    return ofLow.getIn();
  auto choose = [&](Value condition, int64_t ones) {
    return emit.select(condition, emit.constant(ones), emit.constant(0));
  };
  return emit.bitOr(choose(low, 0xFFFF), choose(high, 0xFFFF0000));
}

/// The elements of a thread, by rows, in groups that may share a reciprocal:
/// what is no number in a row then spoils no other row. Groups of a row have
/// `fagpu.sharers` elements at most, and sizes that differ by one at most;
/// without it each element is a group. With `fagpu.interleave_rows` groups come
/// in the order of their first registers, else row by row.
static SmallVector<SmallVector<int64_t>> groupElements(Operation *op,
                                                       RankedTensorType type) {
  auto sharers = op->getAttrOfType<IntegerAttr>(FAGPUDialect::sharersAttrName);
  llvm::MapVector<int64_t, SmallVector<int64_t>> rows;
  for (int64_t index = 0, e = registersPerThread(type); index < e; ++index)
    rows[sharers ? getBlockLayout(type)
                       .getElementOffset(type.getShape(), index)
                       .front()
                 : 0]
        .push_back(index);
  SmallVector<SmallVector<int64_t>> groups;
  int64_t most = sharers ? sharers.getInt() : 1;
  for (auto &[row, elements] : rows) {
    ArrayRef<int64_t> left = elements;
    for (size_t count = llvm::divideCeil(left.size(), most); count; --count) {
      size_t size = llvm::divideCeil(left.size(), count);
      groups.emplace_back(left.take_front(size));
      left = left.drop_front(size);
    }
  }
  if (op->hasAttr(FAGPUDialect::interleaveRowsAttrName))
    llvm::sort(groups, [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
      return a.front() < b.front();
    });
  return groups;
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
    SmallVector<Value> results(registersPerThread(type));
    for (ArrayRef<int64_t> group : groupElements(op, type))
      for (int64_t index : group) {
        SmallVector<Value> scalars;
        // A scalar operand, such as the condition of a select, is for all.
        for (auto [operand, values] :
             llvm::zip_equal(op->getOperands(), operands))
          scalars.push_back(getBlockLayout(operand.getType()) ? values[index]
                                                              : values.front());
        OperationState state(op->getLoc(), op->getName(), scalars,
                             {type.getElementType()}, op->getAttrs());
        state.attributes.erase(FAGPUDialect::interleaveRowsAttrName);
        if (state.attributes.erase(FAGPUDialect::sharersAttrName) &&
            group.size() > 1)
          state.addAttribute(FAGPUDialect::sharersAttrName,
                             rewriter.getI64IntegerAttr(group.size()));
        results[index] = rewriter.create(state)->getResult(0);
      }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct TruncatePattern : public LoweringPattern<arith::TruncFOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(arith::TruncFOp op) const override {
    return getBlockLayout(op.getType()) &&
           isPackedElement(blockType(op).getElementType());
  }

  Registers lower(arith::TruncFOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    ValueRange values = adaptor.getIn();
    SmallVector<Value> results;
    for (size_t index = 0; index < values.size(); index += 2)
      results.push_back(pack(emit, values[index], values[index + 1],
                             blockType(op).getElementType()));
    return {results};
  }
};

/// Integers to 16-bit floats by way of f32, which is what a truncation of f32
/// was before it was folded into them: above 2^24 they are rounded twice.
template <typename OpTy>
struct FromIntegerPattern : public LoweringPattern<OpTy> {
  using LoweringPattern<OpTy>::LoweringPattern;
  using typename LoweringPattern<OpTy>::Adaptor;

  bool matches(OpTy op) const override {
    return getBlockLayout(op.getType()) &&
           isPackedElement(blockType(op).getElementType());
  }

  Registers lower(OpTy op, Adaptor adaptor, Emitter &emit) const override {
    auto widen = [&](Value integer) -> Value {
      return OpTy::create(emit.builder, emit.location,
                          emit.builder.getF32Type(), integer);
    };
    ValueRange values = adaptor.getIn();
    SmallVector<Value> results;
    for (size_t index = 0; index < values.size(); index += 2)
      results.push_back(pack(emit, widen(values[index]),
                             widen(values[index + 1]),
                             blockType(op).getElementType()));
    return {results};
  }
};

struct ExtendPattern : public LoweringPattern<arith::ExtFOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(arith::ExtFOp op) const override {
    return getBlockLayout(op.getType()) &&
           isPackedElement(blockType(op.getIn()).getElementType());
  }

  Registers lower(arith::ExtFOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    SmallVector<Value> results;
    for (Value packed : adaptor.getIn()) {
      auto [low, high] =
          unpack(emit, packed, blockType(op.getIn()).getElementType());
      results.append({low, high});
    }
    return {results};
  }
};

/// Selections of 16-bit floats, two at once.
struct SelectPattern : public LoweringPattern<arith::SelectOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(arith::SelectOp op) const override {
    return getBlockLayout(op.getType()) &&
           isPackedElement(blockType(op).getElementType());
  }

  Registers lower(arith::SelectOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    SmallVector<Value> results;
    ValueRange conditions = adaptor.getCondition();
    for (auto [index, values] : llvm::enumerate(llvm::zip_equal(
             adaptor.getTrueValue(), adaptor.getFalseValue()))) {
      auto [ifTrue, ifFalse] = values;
      // A condition for all elements.
      if (!getBlockLayout(op.getCondition().getType())) {
        results.push_back(arith::SelectOp::create(
            emit.builder, emit.location, conditions.front(), ifTrue, ifFalse));
        continue;
      }
      Value halves =
          makeHalves(emit, conditions[2 * index], conditions[2 * index + 1]);
      // The bits of one or of the other.
      Value differing = emit.bitXor(ifTrue, ifFalse);
      results.push_back(emit.bitXor(
          ifFalse, arith::AndIOp::create(emit.builder, emit.location, differing,
                                         halves)));
    }
    return {results};
  }
};

struct ConstantPattern : public LoweringPattern<arith::ConstantOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(arith::ConstantOp op) const override {
    return getBlockLayout(op.getType()) != nullptr;
  }

  Registers lower(arith::ConstantOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    auto number =
        cast<SplatElementsAttr>(op.getValue()).getSplatValue<Attribute>();
    Value scalar = isPackedElement(blockType(op).getElementType())
                       ? makePair(cast<FloatAttr>(number), emit)
                       : arith::ConstantOp::create(emit.builder, emit.location,
                                                   cast<TypedAttr>(number))
                             .getResult();
    SmallVector<Value> results(registersPerThread(blockType(op)), scalar);
    return {results};
  }

private:
  /// A 16-bit number twice in a register.
  static Value makePair(FloatAttr number, Emitter &emit) {
    auto bits = static_cast<uint32_t>(
        number.getValue().bitcastToAPInt().getZExtValue());
    return emit.constant(static_cast<int32_t>(bits << 16 | bits));
  }
};

struct SplatPattern : public LoweringPattern<tensor::SplatOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(tensor::SplatOp op) const override {
    return getBlockLayout(op.getType()) != nullptr;
  }

  Registers lower(tensor::SplatOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    SmallVector<Value> results(registersPerThread(blockType(op)),
                               adaptor.getInput().front());
    return {results};
  }
};

} // namespace

void mlir::fagpu::populateElementwisePatterns(RewritePatternSet &patterns,
                                              const TypeConverter &converter,
                                              const KernelContext &kernel) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ElementwisePattern>(converter, context);
  patterns
      .add<TruncatePattern, SelectPattern, FromIntegerPattern<arith::SIToFPOp>,
           FromIntegerPattern<arith::UIToFPOp>, ExtendPattern, ConstantPattern,
           SplatPattern>(converter, context, kernel);
}
