//===- PutHeadDimsLast.cpp - Views of which the last dim is contiguous ----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAPUTHEADDIMSLASTPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Gives operations views of their operands in which the head dim is last.
class OperandTransposer {
public:
  void transpose(OpOperand &operand, DimsAttr order,
                 function_ref<void(DimsAttr)> setOrder);
  /// Slices that nothing reads any more.
  void eraseUnused();

private:
  Value getTransposed(Value memory, ArrayRef<int64_t> permutation);
  Value transposeSlice(memref::SubViewOp slice, ArrayRef<int64_t> permutation);

  DenseMap<std::pair<Value, int64_t>, Value> known;
  SmallVector<memref::SubViewOp> replaced;
};
} // namespace

void OperandTransposer::transpose(OpOperand &operand, DimsAttr order,
                                  function_ref<void(DimsAttr)> setOrder) {
  int64_t headDim = order.positionOf(DimKind::HeadDim);
  int64_t rank = order.getOrder().size();
  if (headDim + 1 == rank)
    return;
  SmallVector<int64_t> permutation;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != headDim)
      permutation.push_back(dim);
  permutation.push_back(headDim);
  operand.set(getTransposed(operand.get(), permutation));
  setOrder(DimsAttr::get(order.getContext(),
                         applyPermutation(order.getOrder(), permutation)));
}

/// A transposed slice of the transposed memory, which the host passes as it is.
Value OperandTransposer::transposeSlice(memref::SubViewOp slice,
                                        ArrayRef<int64_t> permutation) {
  OpBuilder builder(slice);
  Value source = getTransposed(slice.getSource(), permutation);
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  for (SmallVector<OpFoldResult> *each : {&offsets, &sizes, &strides})
    *each = applyPermutation(*each, permutation);
  replaced.push_back(slice);
  return memref::SubViewOp::create(builder, slice.getLoc(), source, offsets,
                                   sizes, strides);
}

Value OperandTransposer::getTransposed(Value memory,
                                       ArrayRef<int64_t> permutation) {
  // The last entry tells all of it.
  auto key = std::pair(memory, permutation.back());
  if (Value found = known.lookup(key))
    return found;
  Value transposed;
  auto slice = memory.getDefiningOp<memref::SubViewOp>();
  if (slice && slice.getDroppedDims().none()) {
    transposed = transposeSlice(slice, permutation);
  } else {
    OpBuilder builder(memory.getContext());
    builder.setInsertionPointAfterValue(memory);
    auto map = AffineMapAttr::get(
        AffineMap::getPermutationMap(permutation, memory.getContext()));
    transposed =
        memref::TransposeOp::create(builder, memory.getLoc(), memory, map);
  }
  known[key] = transposed;
  return transposed;
}

void OperandTransposer::eraseUnused() {
  for (memref::SubViewOp slice : replaced)
    if (slice->use_empty())
      slice.erase();
}

namespace {
struct PutHeadDimsLastPass
    : public fa::impl::FAPutHeadDimsLastPassBase<PutHeadDimsLastPass> {
  void runOnOperation() override {
    if (fagpu::isKernel(getOperation()))
      return;
    OperandTransposer transposer;
    auto ofStep = [&](auto op) {
      transposer.transpose(op.getQueryMutable(), op.getQueryOrder(),
                           [&](DimsAttr order) { op.setQueryDimsAttr(order); });
      transposer.transpose(op.getKeyMutable(), op.getKeyOrder(),
                           [&](DimsAttr order) { op.setKeyDimsAttr(order); });
      transposer.transpose(op.getValueMutable(), op.getValueOrder(),
                           [&](DimsAttr order) { op.setValueDimsAttr(order); });
    };
    auto ofGradient = [&](auto op) {
      for (OpOperand &gradient :
           MutableOperandRange(op.getOutputGradientMutable()))
        transposer.transpose(
            gradient, op.getOutputGradientOrder(),
            [&](DimsAttr order) { op.setOutputGradientDimsAttr(order); });
    };
    getOperation().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<OnlineAttentionOp>(ofStep)
          .Case<GradientKeysOp, GradientQueriesOp>([&](auto step) {
            ofStep(step);
            ofGradient(step);
          })
          .Case<PrepareGradientOp>([&](auto prepare) {
            ofGradient(prepare);
            for (OpOperand &output : prepare.getOutputMutable())
              transposer.transpose(
                  output, prepare.getOutputOrder(),
                  [&](DimsAttr order) { prepare.setOutputDimsAttr(order); });
          })
          .Case<FinalizeGradientOp>([&](auto finalize) {
            transposer.transpose(
                finalize.getOutputMutable(), finalize.getOrder(),
                [&](DimsAttr order) { finalize.setDimsAttr(order); });
          });
    });
    getOperation().walk([&](FinalizeOp op) {
      transposer.transpose(
          op.getOutputMutable(), op.getOutputOrder(),
          [&](DimsAttr order) { op.setOutputDimsAttr(order); });
    });
    transposer.eraseUnused();
  }
};
} // namespace
