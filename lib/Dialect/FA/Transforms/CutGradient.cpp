//===- CutGradient.cpp - Gradients of packed sequences --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a CPU the gradient of packed sequences is one of each sequence, on views
// of its rows. Gradients of captures and of the scale are sums over all of
// them. Read `GradientCutter::cut`.
//
//===----------------------------------------------------------------------===//

#include "CutGradient.h"
#include "SequenceViews.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// A gradient that all sequences add to, the sum in f32, and the part of one.
struct CommonGradient {
  OpOperand *operand;
  Value sum, part;
  bool isOfSink;
};

class GradientCutter : SequenceViews {
public:
  GradientCutter(RewriterBase &rewriter, AttentionGradientOp op)
      : SequenceViews(rewriter, op.getLoc()), op(op) {}

  AttentionGradientOp cut();

private:
  void fill(Value memory, const APFloat &number);
  void add(Value from, Value to, bool isSum);
  void openCommon();
  void closeCommon();
  void take(OpOperand &operand, DimsAttr order,
            function_ref<void(DimsAttr)> setOrder, const SequenceRows &rows,
            Value batch);
  void takeNumbers(OpOperand &operand, const SequenceRows &rows, Value batch);

  AttentionGradientOp op, part;
  SmallVector<CommonGradient> common;
};
} // namespace

void GradientCutter::fill(Value memory, const APFloat &number) {
  auto type = cast<FloatType>(getElementTypeOrSelf(memory.getType()));
  APFloat converted = number;
  bool isInexact;
  converted.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &isInexact);
  Value constant =
      arith::ConstantFloatOp::create(rewriter, loc, type, converted);
  linalg::FillOp::create(rewriter, loc, constant, memory);
}

/// to += from, or to = from in another type.
void GradientCutter::add(Value from, Value to, bool isSum) {
  auto type = cast<MemRefType>(to.getType());
  SmallVector<AffineMap> maps(2,
                              rewriter.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  linalg::GenericOp::create(
      rewriter, loc, from, to, maps, loops,
      [&](OpBuilder &nested, Location at, ValueRange x) {
        Value result =
            isSum
                ? arith::AddFOp::create(nested, at, x[0], x[1]).getResult()
                : convertScalarToDtype(nested, at, x[0], type.getElementType(),
                                       /*isUnsignedCast=*/false);
        linalg::YieldOp::create(nested, at, result);
      });
}

/// Memory for what all sequences add to.
void GradientCutter::openCommon() {
  SmallVector<OpOperand *> operands;
  for (OpOperand &operand :
       MutableArrayRef<OpOperand>(op.getCaptureGradientsMutable()))
    operands.push_back(&operand);
  for (OpOperand &operand : op.getScaleGradientMutable())
    operands.push_back(&operand);
  size_t ofPairs = operands.size();
  for (OpOperand &operand :
       MutableArrayRef<OpOperand>(op.getSinkCaptureGradientsMutable()))
    operands.push_back(&operand);
  for (auto [number, operand] : llvm::enumerate(operands)) {
    SmallVector<OpFoldResult> sizes =
        memref::getMixedSizes(rewriter, loc, operand->get());
    auto allocate = [&] {
      return memref::AllocOp::create(rewriter, loc, sizes,
                                     rewriter.getF32Type())
          .getResult();
    };
    bool isSingle = getElementTypeOrSelf(operand->get().getType()).isF32();
    CommonGradient gradient{operand, isSingle ? operand->get() : allocate(),
                            allocate(), number >= ofPairs};
    fill(gradient.sum, APFloat(0.0f));
    common.push_back(gradient);
  }
}

void GradientCutter::closeCommon() {
  for (const CommonGradient &gradient : common) {
    memref::DeallocOp::create(rewriter, loc, gradient.part);
    if (gradient.sum == gradient.operand->get())
      continue;
    add(gradient.sum, gradient.operand->get(), /*isSum=*/false);
    memref::DeallocOp::create(rewriter, loc, gradient.sum);
  }
}

/// Gives the part the rows of a sequence of an operand.
void GradientCutter::take(OpOperand &operand, DimsAttr order,
                          function_ref<void(DimsAttr)> setOrder,
                          const SequenceRows &rows, Value batch) {
  RowView whole = view(operand.get(), order);
  OpFoldResult zero = rewriter.getIndexAttr(0);
  OpFoldResult heads = getSize(whole.memory, whole.order, DimKind::Heads);
  Value slice = SequenceViews::slice(
      whole, batch, rows, zero, getAsOpFoldResult(rows.count), zero, heads);
  part->setOperand(operand.getOperandNumber(), slice);
  setOrder(whole.order.isDefault() ? DimsAttr() : whole.order);
}

void GradientCutter::takeNumbers(OpOperand &operand, const SequenceRows &rows,
                                 Value batch) {
  bool isPacked = static_cast<bool>(op.getQueryStarts());
  Value numbers = isPacked ? addBatch(operand.get()) : operand.get();
  OpFoldResult zero = rewriter.getIndexAttr(0);
  OpFoldResult heads = memref::getMixedSize(rewriter, loc, numbers, 1);
  Value slice = sliceNumbers(numbers, isPacked ? Value() : batch, rows, zero,
                             getAsOpFoldResult(rows.count), zero, heads);
  part->setOperand(operand.getOperandNumber(), slice);
}

AttentionGradientOp GradientCutter::cut() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  // Rows of no sequence, and those past a length, have the gradient 0.
  for (Value gradient :
       {op.getQueryGradient(), op.getKeyGradient(), op.getValueGradient()})
    if (gradient)
      fill(gradient, APFloat(0.0f));
  openCommon();
  Value batches = toValue(
      countSequences(op.getQueryStarts(), op.getQuery(), op.getQueryOrder()));
  auto loop = scf::ForOp::create(rewriter, loc, index(0), batches, index(1));
  rewriter.setInsertionPointAfter(loop);
  closeCommon();

  rewriter.setInsertionPoint(loop.getBody()->getTerminator());
  Value batch = loop.getInductionVar();
  SequenceRows queries = findRows(
      op.getQueryStarts(), op.getQueryLengths(),
      getSize(op.getQuery(), op.getQueryOrder(), DimKind::Sequence), batch,
      /*keepRows=*/true);
  SequenceRows keys =
      findRows(op.getKeyStarts(), op.getKeyLengths(),
               getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence), batch,
               /*keepRows=*/false);
  Value isValid = keys.isValid;
  if (queries.isValid)
    isValid = isValid ? both(isValid, queries.isValid) : queries.isValid;
  keys.count = select(isValid, keys.count, index(0));

  part = cast<AttentionGradientOp>(rewriter.clone(*op));
  rewriter.setInsertionPoint(part);
  auto takeOf = [&](MutableOperandRange operands, DimsAttr order,
                    const SequenceRows &rows, auto setOrder) {
    for (OpOperand &operand : operands)
      take(operand, order, setOrder, rows, batch);
  };
  MutableOperandRange query(op.getQueryMutable()), key(op.getKeyMutable()),
      value(op.getValueMutable()),
      outputGradient(op.getOutputGradientMutable());
  takeOf(query, op.getQueryOrder(), queries,
         [&](DimsAttr order) { part.setQueryDimsAttr(order); });
  takeOf(key, op.getKeyOrder(), keys,
         [&](DimsAttr order) { part.setKeyDimsAttr(order); });
  takeOf(value, op.getValueOrder(), keys,
         [&](DimsAttr order) { part.setValueDimsAttr(order); });
  takeOf(op.getOutputMutable(), op.getOutputOrder(), queries,
         [&](DimsAttr order) { part.setOutputDimsAttr(order); });
  takeOf(outputGradient, op.getOutputGradientOrder(), queries,
         [&](DimsAttr order) { part.setOutputGradientDimsAttr(order); });
  takeOf(op.getQueryGradientMutable(), op.getQueryGradientOrder(), queries,
         [&](DimsAttr order) { part.setQueryGradientDimsAttr(order); });
  takeOf(op.getKeyGradientMutable(), op.getKeyGradientOrder(), keys,
         [&](DimsAttr order) { part.setKeyGradientDimsAttr(order); });
  takeOf(op.getValueGradientMutable(), op.getValueGradientOrder(), keys,
         [&](DimsAttr order) { part.setValueGradientDimsAttr(order); });
  takeNumbers(op.getLseMutable(), queries, batch);
  for (OpOperand &operand : op.getDeltaMutable())
    takeNumbers(operand, queries, batch);
  for (OpOperand &operand : op.getLseGradientMutable())
    takeNumbers(operand, queries, batch);
  for (const CommonGradient &gradient : common)
    part->setOperand(gradient.operand->getOperandNumber(), gradient.part);
  Value zero = index(0);
  Value ofQueries = part.getQueryGradient();
  part.getExtentsMutable().assign(ValueRange{queries.count, keys.count});
  part.getOffsetsMutable().assign(ValueRange{batch, zero, zero, zero});
  part.getKeyStartsMutable().clear();
  part.getQueryStartsMutable().clear();
  part.getKeyLengthsMutable().clear();
  part.getQueryLengthsMutable().clear();

  rewriter.setInsertionPointAfter(part);
  for (const CommonGradient &gradient : common) {
    OpBuilder::InsertionGuard inside(rewriter);
    // A broken sequence has no pairs, but its rows have an lse of NaN.
    if (gradient.isOfSink) {
      auto branch = scf::IfOp::create(rewriter, loc, isValid);
      rewriter.setInsertionPointToStart(branch.thenBlock());
    }
    add(gradient.part, gradient.sum, /*isSum=*/true);
  }
  if (ofQueries) {
    Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    Value isBroken = arith::XOrIOp::create(rewriter, loc, isValid, isTrue);
    auto branch = scf::IfOp::create(rewriter, loc, isBroken);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    fill(ofQueries, APFloat::getQNaN(APFloat::IEEEsingle()));
  }
  rewriter.eraseOp(op);
  return part;
}

AttentionGradientOp mlir::fa::cutGradient(RewriterBase &rewriter,
                                          AttentionGradientOp op) {
  return GradientCutter(rewriter, op).cut();
}
