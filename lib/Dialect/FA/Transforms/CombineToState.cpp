//===- CombineToState.cpp - Merges as steps on a state --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa.combine of a tile becomes two fa.add_partial and fa.finalize, and what a
// tile merges of its own result alone is its state. Read `lower`, then
// `forwardState`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/SoleReader.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FACOMBINETOSTATE
#include "fa/Dialect/FA/Transforms/SharedKeyPasses.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Rows of a warp, and the most of a state.
static constexpr int64_t rowUnit = 16, mostRows = 64;

static LogicalResult verify(CombineOp op) {
  for (Value output : {op.getOutputA(), op.getOutputB()})
    if (Type element = getElementTypeOrSelf(output.getType()); !element.isF32())
      return op.emitOpError()
             << "merges a result of " << element << ", expected f32 on a GPU";
  if (op.getQueryLengths())
    return op.emitOpError("has query_lengths, expected none on a GPU; the "
                          "nearest is to merge all rows");
  // The order of dimensions of fa.add_partial.
  if (!op.getOrder().isDefault())
    return op.emitOpError() << "has dims " << op.getOrder() << ", expected "
                            << DimsAttr::getDefault(op.getContext())
                            << " on a GPU; the nearest is to pass transposed "
                               "views";
  return success();
}

static Value createFilled(OpBuilder &builder, Location loc,
                          ArrayRef<int64_t> sizes, float value) {
  Value empty =
      tensor::EmptyOp::create(builder, loc, sizes, builder.getF32Type());
  Value number = arith::ConstantFloatOp::create(
      builder, loc, builder.getF32Type(), APFloat(value));
  return linalg::FillOp::create(builder, loc, number, empty).getResult(0);
}

static LogicalResult lower(RewriterBase &rewriter, CombineOp op) {
  if (failed(verify(op)))
    return failure();
  auto type = cast<ShapedType>(op.getOutput().getType());
  int64_t known = type.getDimSize(op.getOrder().positionOf(DimKind::Sequence));
  int64_t rows = ShapedType::isDynamic(known)
                     ? mostRows
                     : llvm::alignTo(std::max<int64_t>(known, 1), rowUnit);
  if (rows > mostRows)
    return op.emitOpError() << "has " << known << " rows, expected a tile of "
                            << "at most " << mostRows;
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  int64_t columns = type.getDimSize(op.getOrder().positionOf(DimKind::HeadDim));
  SmallVector<Value> state = {
      createFilled(rewriter, loc, {rows, columns}, 0.0f),
      createFilled(rewriter, loc, {rows},
                   -std::numeric_limits<float>::infinity()),
      createFilled(rewriter, loc, {rows}, 0.0f)};
  for (auto [output, lse] : {std::pair(op.getOutputA(), op.getLseA()),
                             std::pair(op.getOutputB(), op.getLseB())})
    state = llvm::to_vector_of<Value>(
        AddPartialOp::create(rewriter, loc, output, lse, ValueRange(state))
            ->getResults());
  FinalizeOp::create(rewriter, loc, TypeRange(), state[0], state[1], state[2],
                     op.getOutput(), op.getLse(), /*rows=*/Value(),
                     /*sink=*/Value(), DimsAttr());
  rewriter.eraseOp(op);
  return success();
}

/// The results of a part that an operation reads what `stored` has just written
/// of, to a state that has nothing else; empty if there are none.
static SmallVector<FinalizeOp> findReaders(FinalizeOp stored) {
  for (Operation *next = stored->getNextNode(); next;
       next = next->getNextNode()) {
    auto partial = dyn_cast<AddPartialOp>(next);
    if (!partial || partial.use_empty()) {
      if (!partial && !isMemoryEffectFree(next) && !isa<memref::LoadOp>(next))
        return {};
      continue;
    }
    if (partial.getOutput() != stored.getOutput() ||
        partial.getLse() != stored.getLse() ||
        !partial.getAccumulator().getDefiningOp<linalg::FillOp>())
      return {};
    llvm::SetVector<FinalizeOp> results;
    for (Operation *user : partial->getUsers()) {
      auto result = dyn_cast<FinalizeOp>(user);
      if (!result || result.getSink() ||
          !llvm::equal(ValueRange{result.getAccumulator(), result.getMaximum(),
                                  result.getSum()},
                       partial->getResults()))
        return {};
      results.insert(result);
    }
    return results.takeVector();
  }
  return {};
}

/// What loads a float between two operations of a block; null where nothing
/// does. It may be of the partial result that the first one stores, where that
/// is moved behind.
static memref::LoadOp findLoadOfFloat(Operation *first, Operation *last) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (auto load = dyn_cast<memref::LoadOp>(op))
      if (isa<FloatType>(load.getType()))
        return load;
  return {};
}

/// Stores no partial result where `result`, its only reader, has rows.
static void storeEither(RewriterBase &rewriter, FinalizeOp stored,
                        FinalizeOp result) {
  Location loc = stored.getLoc();
  auto countRows = [&](FinalizeOp op) -> Value {
    int64_t dim = op.getOutputOrder().positionOf(DimKind::Sequence);
    Value at = arith::ConstantIndexOp::create(rewriter, loc, dim);
    return rewriter.createOrFold<memref::DimOp>(loc, op.getOutput(), at);
  };
  rewriter.setInsertionPoint(result);
  Value none = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value isStored = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::ne, countRows(result), none);
  Value rows =
      arith::SelectOp::create(rewriter, loc, isStored, none, countRows(stored));
  // Its rows are known where those of the result are.
  rewriter.moveOpBefore(stored, result);
  rewriter.modifyOpInPlace(stored,
                           [&] { stored.getRowsMutable().assign(rows); });
}

/// What a tile has just stored of its state is not read again: the state is
/// that of the one part. `result` may itself be stored and read.
static void forwardState(RewriterBase &rewriter, FinalizeOp stored,
                         FinalizeOp result) {
  Operation *partial = result.getAccumulator().getDefiningOp();
  rewriter.modifyOpInPlace(result, [&] {
    result.getAccumulatorMutable().assign(stored.getAccumulator());
    result.getMaximumMutable().assign(stored.getMaximum());
    result.getSumMutable().assign(stored.getSum());
    if (Value sink = stored.getSink())
      result.getSinkMutable().assign(sink);
  });
  if (partial->use_empty())
    rewriter.eraseOp(partial);
  if (!result->removeAttr(soleReaderAttrName))
    return;
  memref::LoadOp load = findLoadOfFloat(stored, result);
  if (!load)
    return storeEither(rewriter, stored, result);
  remark::missed(load.getLoc(), remark::RemarkOpts::name("Store").category(
                                    "fa-combine-to-state"))
      << "the partial result is stored beside the result: this load between "
         "the two may read it";
}

namespace {
struct CombineToStatePass
    : public mlir::fa::impl::FACombineToStateBase<CombineToStatePass> {
  void runOnOperation() override {
    SmallVector<CombineOp> merges;
    getOperation()->walk([&](CombineOp op) {
      if (isa<MemRefType>(op.getOutput().getType()))
        merges.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (CombineOp op : merges)
      if (failed(lower(rewriter, op)))
        return signalPassFailure();
    SmallVector<std::pair<FinalizeOp, FinalizeOp>> read;
    getOperation()->walk([&](FinalizeOp stored) {
      bool isWhole = stored.getLse() && !stored.getRows() &&
                     isa<MemRefType>(stored.getOutput().getType());
      if (isWhole)
        for (FinalizeOp result : findReaders(stored))
          read.push_back({stored, result});
    });
    for (auto [stored, result] : read)
      forwardState(rewriter, stored, result);
  }
};
} // namespace
