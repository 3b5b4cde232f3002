//===- PackOperands.cpp - Bring one block into f32 scratch ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockViews.h"
#include "fa/Dialect/FA/Transforms/BlockTransforms.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAPACKOPERANDS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
class OperandPacker {
public:
  explicit OperandPacker(RewriterBase &rewriter) : rewriter(rewriter) {}
  LogicalResult pack(OnlineAttentionOp step);

private:
  Value packQuery(OnlineAttentionOp step);
  Value packBlock(OnlineAttentionOp step, Value operand, DimsAttr order,
                  int64_t keyBlock);
  void transposeAccumulator(OnlineAttentionOp step);

  RewriterBase &rewriter;
  // The steps of several key ranges share one query block; those of versions in
  // other branches do not.
  DenseMap<std::tuple<Value, Value, Block *>, Value> packedQueries;
};
} // namespace

/// The outermost loop around `step` in which none of `values` changes, or
/// `step` itself.
static Operation *getHoistPoint(OnlineAttentionOp step, ValueRange values) {
  Operation *point = step;
  while (auto loop = dyn_cast<scf::ForOp>(point->getParentOp())) {
    if (!llvm::all_of(values, [&](Value value) {
          return !value || loop.isDefinedOutsideOfLoop(value);
        }))
      break;
    point = loop;
  }
  return point;
}

/// A view `[1 x] rows [x 1] x columns` of a columns x rows matrix.
static Value viewTransposed(OpBuilder &builder, Location loc, Value scratch,
                            bool fourDims) {
  auto type = cast<MemRefType>(scratch.getType());
  SmallVector<int64_t> matrixStrides;
  int64_t offset;
  (void)type.getStridesAndOffset(matrixStrides, offset);
  int64_t columns = type.getDimSize(0), rows = type.getDimSize(1);
  int64_t distance = matrixStrides[0];
  SmallVector<int64_t> shape{rows, columns}, strides{1, distance};
  if (fourDims) {
    shape = {1, rows, 1, columns};
    strides = {distance * columns, 1, distance * columns, distance};
  }
  auto viewType =
      MemRefType::get(shape, type.getElementType(),
                      StridedLayoutAttr::get(builder.getContext(), 0, strides));
  return memref::ReinterpretCastOp::create(builder, loc, viewType, scratch,
                                           /*offset=*/0, shape, strides);
}

Value OperandPacker::packQuery(OnlineAttentionOp step) {
  Value query = step.getQuery(), scale = step.getScale();
  Operation *point = getHoistPoint(step, {query, scale});
  Value &packed = packedQueries[{query, scale, point->getBlock()}];
  if (packed)
    return packed;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(point);
  BlockBuilder block(rewriter, step.getLoc(), step.getConfigAttr());
  auto type = cast<MemRefType>(query.getType());
  int64_t headDim =
      type.getDimSize(step.getQueryOrder().positionOf(DimKind::HeadDim));
  int64_t rows =
      cast<MemRefType>(step.getAccumulator().getType()).getDimSize(0);
  Value source = block.matrix(query, step.getQueryOrder());
  Value scratch = block.scratch({headDim, rows});
  OpFoldResult queries =
      memref::getMixedSize(rewriter, step.getLoc(), query,
                           step.getQueryOrder().positionOf(DimKind::Sequence));
  // Padding rows compute on zeros, so that nothing they hold can trap or
  // slow the block down.
  if (getConstantIntValue(queries) != rows)
    block.fill(scratch, 0.0f);
  if (!scale)
    scale = block.constant(1.0f / std::sqrt(static_cast<float>(headDim)));
  packed = viewTransposed(rewriter, step.getLoc(), scratch, true);
  Value target = block.firstRows(
      viewTransposed(rewriter, step.getLoc(), scratch, false), queries);
  block.generic({parallelLoop, parallelLoop}, {{0, 1}, {0, 1}}, source, target,
                [&](OpBuilder &builder, ValueRange scalars) {
                  Value value = extendToF32(builder, step.getLoc(), scalars[0]);
                  value = arith::MulFOp::create(builder, step.getLoc(), value,
                                                scale);
                  return SmallVector<Value>{value};
                });
  return packed;
}

/// Copies a block of keys or values, which is read once for every few
/// queries, to where its rows follow each other: heads that alternate in
/// memory put the rows of one head on few sets of a cache.
Value OperandPacker::packBlock(OnlineAttentionOp step, Value operand,
                               DimsAttr order, int64_t keyBlock) {
  BlockBuilder block(rewriter, step.getLoc(), step.getConfigAttr());
  Value source = block.matrix(operand, order);
  auto type = cast<MemRefType>(source.getType());
  // Of the operand, since no bound of the size of a transposed view is known.
  OpFoldResult keys = memref::getMixedSize(rewriter, step.getLoc(), operand,
                                           order.positionOf(DimKind::Sequence));
  Value scratch = block.scratch({1, keyBlock, 1, type.getDimSize(1)});
  SmallVector<OpFoldResult> offsets(4, rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(4, rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes(4, rewriter.getIndexAttr(1));
  sizes[1] = keys;
  sizes[3] = rewriter.getIndexAttr(type.getDimSize(1));
  Value view = memref::SubViewOp::create(rewriter, step.getLoc(), scratch,
                                         offsets, sizes, strides);
  DimsAttr plain = DimsAttr::getDefault(rewriter.getContext());
  block.generic({parallelLoop, parallelLoop}, {{0, 1}, {0, 1}}, source,
                block.matrix(view, plain),
                [&](OpBuilder &builder, ValueRange scalars) {
                  return SmallVector<Value>{
                      extendToF32(builder, step.getLoc(), scalars[0])};
                });
  return view;
}

/// Lets the queries of the accumulator follow each other in memory, where it
/// is memory of this function alone.
void OperandPacker::transposeAccumulator(OnlineAttentionOp step) {
  Operation *source = step.getAccumulator().getDefiningOp();
  if (!isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(source))
    return;
  auto type = cast<MemRefType>(step.getAccumulator().getType());
  if (!type.getLayout().isIdentity() || !type.hasStaticShape())
    return;
  auto follows = [](Operation *user) {
    return isa<OnlineAttentionOp, FinalizeOp, linalg::FillOp,
               memref::DeallocOp>(user);
  };
  if (!llvm::all_of(source->getUsers(), follows))
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(source);
  BlockBuilder block(rewriter, source->getLoc(), step.getConfigAttr());
  Value scratch = block.scratch({type.getDimSize(1), type.getDimSize(0)});
  Value view = viewTransposed(rewriter, source->getLoc(), scratch, false);
  for (Operation *user : llvm::make_early_inc_range(source->getUsers()))
    if (isa<memref::DeallocOp>(user))
      rewriter.eraseOp(user);
  rewriter.replaceAllUsesWith(source->getResult(0), view);
  rewriter.eraseOp(source);
}

LogicalResult OperandPacker::pack(OnlineAttentionOp step) {
  if (!isa<MemRefType>(step.getQuery().getType()) ||
      !isa<MemRefType>(step.getAccumulator().getType()))
    return step.emitOpError("has tensor operands, expected memrefs: bufferize "
                            "before packing");
  auto state = cast<MemRefType>(step.getAccumulator().getType());
  if (!state.hasStaticShape())
    return step.emitOpError("has a state with a dynamic number of rows, "
                            "expected a static one");
  FailureOr<int64_t> keyBlock = getKeyBound(step);
  if (failed(keyBlock))
    return failure();
  transposeAccumulator(step);
  Value query = packQuery(step);
  rewriter.setInsertionPoint(step);
  Value key = packBlock(step, step.getKey(), step.getKeyOrder(), *keyBlock);
  Value value =
      packBlock(step, step.getValue(), step.getValueOrder(), *keyBlock);
  Value one = arith::ConstantOp::create(rewriter, step.getLoc(),
                                        rewriter.getF32FloatAttr(1.0f));
  rewriter.modifyOpInPlace(step, [&] {
    step.getQueryMutable().assign(query);
    step.getKeyMutable().assign(key);
    step.getValueMutable().assign(value);
    step.getScaleMutable().assign(one);
    step.removeQueryDimsAttr();
    step.removeKeyDimsAttr();
    step.removeValueDimsAttr();
  });
  return success();
}

namespace {
struct PackOperandsPass
    : public fa::impl::FAPackOperandsBase<PackOperandsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    OperandPacker packer(rewriter);
    WalkResult result = getOperation()->walk(
        [&](OnlineAttentionOp step) { return WalkResult(packer.pack(step)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
