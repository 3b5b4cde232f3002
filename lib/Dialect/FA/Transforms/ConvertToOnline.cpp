//===- ConvertToOnline.cpp - From attention to a state and its result ----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces a tile of attention by online softmax: an initial state, one
// fa.online_attention step over all keys, fa.finalize. Lengths of the batch
// item become the number of valid rows and keys. Read
// `OnlineConverter::convert` first.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "ComputedRows.h"
#include "Lengths.h"
#include "Sinks.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FACONVERTTOONLINE
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static LogicalResult checkIsOneBlock(AttentionOp op) {
  if (op.isRagged())
    return op.emitOpError("has packed sequences or pages, expected one "
                          "sequence: tile it first, with fa-tile");
  DimsAttr order = op.getQueryOrder();
  auto type = cast<ShapedType>(op.getQuery().getType());
  std::pair<StringRef, DimKind> kinds[] = {{"batches", DimKind::Batch},
                                           {"heads", DimKind::Heads}};
  for (auto [what, kind] : kinds) {
    int64_t size = type.getDimSize(order.positionOf(kind));
    if (size != 1)
      return op.emitOpError()
             << "query has "
             << (ShapedType::isDynamic(size) ? std::string("?")
                                             : std::to_string(size))
             << ' ' << what << ", expected 1: tile it first, with fa-tile";
  }
  ConfigAttr config = op.getConfigAttr();
  if (!config)
    return success();
  if (failed(verifyIsNotSplit(op)))
    return failure();
  if (!isQueryBlockTile(op))
    return op.emitOpError() << "query may have more rows than the query_block "
                            << config.getQueryBlock()
                            << " of its config: tile it first, with fa-tile";
  return success();
}

namespace {

/// Builds the replacement of one operation.
class OnlineConverter {
public:
  OnlineConverter(RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()) {}

  FinalizeOp convert();

private:
  OpFoldResult getValidSize(Value operand, DimsAttr order, Value validLength,
                            Value offset, Value extent);
  Value getEndOfKeys(Value validLength);
  Value createState(ArrayRef<OpFoldResult> sizes, float value);
  Value toValue(OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, size);
  }

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
};

} // namespace

// How much of the sequence of `operand`, a tile that begins at `offset` of a
// sequence of `extent`, is valid.
OpFoldResult OnlineConverter::getValidSize(Value operand, DimsAttr order,
                                           Value validLength, Value offset,
                                           Value extent) {
  if (isConstantIntValue(getAsOpFoldResult(offset), 0) &&
      isProvenEqual(operand, order.positionOf(DimKind::Sequence), extent))
    return getAsOpFoldResult(validLength);
  OpFoldResult size =
      getMixedSize(rewriter, loc, operand, order, DimKind::Sequence);
  AffineExpr s0, s1, s2;
  bindSymbols(rewriter.getContext(), s0, s1, s2);
  OpFoldResult within = affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 3, {s0, s1 - s2}, rewriter.getContext()),
      {size, getAsOpFoldResult(validLength), getAsOpFoldResult(offset)});
  return affine::makeComposedFoldedAffineMax(
      rewriter, loc,
      AffineMap::get(0, 1, {s0, rewriter.getAffineConstantExpr(0)},
                     rewriter.getContext()),
      {within});
}

// Where valid keys end: with their number, or earlier where the operand holds a
// piece of them.
Value OnlineConverter::getEndOfKeys(Value validLength) {
  Value offset = op.getOffsets()[3];
  DimsAttr order = op.getKeyOrder();
  if (isConstantIntValue(getAsOpFoldResult(offset), 0) &&
      isProvenEqual(op.getKey(), order.positionOf(DimKind::Sequence),
                    op.getExtents()[1]))
    return validLength;
  AffineExpr s0, s1, s2;
  bindSymbols(rewriter.getContext(), s0, s1, s2);
  return toValue(affine::makeComposedFoldedAffineMin(
      rewriter, loc, AffineMap::get(0, 3, {s0 + s1, s2}, rewriter.getContext()),
      {getMixedSize(rewriter, loc, op.getKey(), order, DimKind::Sequence),
       getAsOpFoldResult(offset), getAsOpFoldResult(validLength)}));
}

/// Regions see `length` as a captured number where they ask for the number of
/// keys.
static void captureKeyLength(RewriterBase &rewriter, OnlineAttentionOp op,
                             Value length) {
  auto capture = [&](Region &region, MutableOperandRange captures) {
    SmallVector<KeyLengthOp> reads(region.getOps<KeyLengthOp>());
    if (reads.empty())
      return;
    rewriter.modifyOpInPlace(op, [&] { captures.append(length); });
    Value argument = region.addArgument(length.getType(), op.getLoc());
    for (KeyLengthOp read : reads)
      rewriter.replaceOp(read, argument);
  };
  capture(op.getScore(), op.getScoreCapturesMutable());
  capture(op.getMask(), op.getMaskCapturesMutable());
}

Value OnlineConverter::createState(ArrayRef<OpFoldResult> sizes, float value) {
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, rewriter.getF32Type());
  Value constant = arith::ConstantFloatOp::create(
      rewriter, loc, rewriter.getF32Type(), APFloat(value));
  return linalg::FillOp::create(rewriter, loc, constant, empty).getResult(0);
}

FinalizeOp OnlineConverter::convert() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.modifyOpInPlace(op, [&] { materializePlace(rewriter, op); });
  Value batch = op.getOffsets()[0];
  Value extents[] = {getValidLength(rewriter, loc, op.getQueryLengths(), batch,
                                    op.getExtents()[0]),
                     getValidLength(rewriter, loc, op.getKeyLengths(), batch,
                                    op.getExtents()[1])};

  // The state holds a row for each row of the tile, valid or not.
  OpFoldResult stateRows = getMixedSize(rewriter, loc, op.getQuery(),
                                        op.getQueryOrder(), DimKind::Sequence);
  if (ConfigAttr config = op.getConfigAttr())
    stateRows = countComputedRows(rewriter, loc, config, config.getQueryBlock(),
                                  stateRows);
  OpFoldResult headDim = getMixedSize(rewriter, loc, op.getValue(),
                                      op.getValueOrder(), DimKind::HeadDim);
  Value query = op.getQuery(), key = op.getKey(), value = op.getValue();
  OpFoldResult zero = rewriter.getIndexAttr(0);
  Value rows, endOfKeys = getEndOfKeys(extents[1]);
  if (op.getQueryLengths()) {
    OpFoldResult valid = getValidSize(query, op.getQueryOrder(), extents[0],
                                      op.getOffsets()[2], op.getExtents()[0]);
    rows = toValue(valid);
    query = createSliceOf(rewriter, loc, query, op.getQueryOrder(),
                          DimKind::Sequence, zero, valid);
  }
  if (op.getKeyLengths()) {
    OpFoldResult valid = getValidSize(key, op.getKeyOrder(), extents[1],
                                      op.getOffsets()[3], op.getExtents()[1]);
    key = createSliceOf(rewriter, loc, key, op.getKeyOrder(), DimKind::Sequence,
                        zero, valid);
    value = createSliceOf(rewriter, loc, value, op.getValueOrder(),
                          DimKind::Sequence, zero, valid);
  }

  float infinity = std::numeric_limits<float>::infinity();
  Value accumulator = createState({stateRows, headDim}, 0.0f);
  Value maximum = createState({stateRows}, -infinity);
  Value sum = createState({stateRows}, 0.0f);
  auto online = OnlineAttentionOp::create(
      rewriter, loc,
      TypeRange{accumulator.getType(), maximum.getType(), sum.getType()}, query,
      key, value, op.getScale(), op.getOffsets(),
      ValueRange{extents[0], endOfKeys}, op.getScoreCaptures(),
      op.getMaskCaptures(), accumulator, maximum, sum, op.getQueryDimsAttr(),
      op.getKeyDimsAttr(), op.getValueDimsAttr(), op.getConfigAttr());
  rewriter.inlineRegionBefore(op.getScore(), online.getScore(),
                              online.getScore().end());
  rewriter.inlineRegionBefore(op.getMask(), online.getMask(),
                              online.getMask().end());
  if (endOfKeys != extents[1])
    captureKeyLength(rewriter, online, extents[1]);
  Value sink = buildSink(rewriter, op, stateRows, extents);
  auto finalize = FinalizeOp::create(
      rewriter, loc, op.getResultTypes(), online.getResult(0),
      online.getResult(1), online.getResult(2), op.getOutput(), op.getLse(),
      rows, sink, op.getOutputDimsAttr());
  rewriter.replaceOp(op, finalize);
  return finalize;
}

FailureOr<FinalizeOp> mlir::fa::convertToOnline(RewriterBase &rewriter,
                                                AttentionOp op) {
  if (failed(checkIsOneBlock(op)))
    return failure();
  return OnlineConverter(rewriter, op).convert();
}

namespace {
struct ConvertToOnlinePass
    : public mlir::fa::impl::FAConvertToOnlineBase<ConvertToOnlinePass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FAConvertToOnlineBase::getDependentDialects(registry);
    registerBoundsDependencies(registry);
  }

  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) { attentions.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      if (failed(convertToOnline(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
