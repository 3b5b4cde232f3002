//===- ContiguousHeadDims.cpp - Head dims contiguous in memory ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bufferization puts a tensor into memory in the order of its dimensions, the
// last one contiguous. An operation that reads it in an order with the head dim
// elsewhere then reads a transposed copy.
//
//===----------------------------------------------------------------------===//

#include "ContiguousHeadDims.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// A tensor that an operation reads or writes. The attribute `<name>_dims` has
/// its order.
struct Ordered {
  StringRef name;
  OpOperand *operand;
  DimsAttr order;
};
} // namespace

static SmallVector<Ordered> getInputs(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return {{"query", &attention.getQueryMutable(), attention.getQueryOrder()},
            {"key", &attention.getKeyMutable(), attention.getKeyOrder()},
            {"value", &attention.getValueMutable(), attention.getValueOrder()}};
  if (auto append = dyn_cast<AppendOp>(op))
    return {{"key", &append.getKeyMutable(), append.getKeyOrder()},
            {"value", &append.getValueMutable(), append.getValueOrder()}};
  auto gradient = dyn_cast<AttentionGradientOp>(op);
  if (!gradient)
    return {};
  SmallVector<Ordered> inputs{
      {"query", &gradient.getQueryMutable(), gradient.getQueryOrder()},
      {"key", &gradient.getKeyMutable(), gradient.getKeyOrder()},
      {"value", &gradient.getValueMutable(), gradient.getValueOrder()},
      {"output_gradient", &gradient.getOutputGradientMutable(),
       gradient.getOutputGradientOrder()}};
  if (gradient.getOutput())
    inputs.push_back({"output", &*gradient.getOutputMutable().begin(),
                      gradient.getOutputOrder()});
  return inputs;
}

static SmallVector<Ordered> getOutputs(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return {
        {"output", &attention.getOutputMutable(), attention.getOutputOrder()}};
  if (auto append = dyn_cast<AppendOp>(op))
    return {
        {"key_cache", &append.getKeyCacheMutable(), append.getKeyCacheOrder()},
        {"value_cache", &append.getValueCacheMutable(),
         append.getValueCacheOrder()}};
  auto gradient = dyn_cast<AttentionGradientOp>(op);
  if (!gradient)
    return {};
  SmallVector<Ordered> outputs;
  auto add = [&](StringRef name, MutableOperandRange range, DimsAttr order) {
    for (OpOperand &operand : range)
      outputs.push_back({name, &operand, order});
  };
  add("query_gradient", gradient.getQueryGradientMutable(),
      gradient.getQueryGradientOrder());
  add("key_gradient", gradient.getKeyGradientMutable(),
      gradient.getKeyGradientOrder());
  add("value_gradient", gradient.getValueGradientMutable(),
      gradient.getValueGradientOrder());
  return outputs;
}

static bool isUnitStride(Type type, int64_t position) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  return memref && succeeded(memref.getStridesAndOffset(strides, offset)) &&
         strides[position] == 1;
}

/// Whether the head dim of what is read will be contiguous.
static bool isReadContiguous(Value value, int64_t position) {
  if (auto read = value.getDefiningOp<bufferization::ToTensorOp>())
    return isUnitStride(read.getBuffer().getType(), position);
  return position == cast<RankedTensorType>(value.getType()).getRank() - 1;
}

/// Whether that of a result will be: it lies where it is stored. What branches
/// and loops hand on is in the order of their own results.
static bool isMadeContiguous(Value result, int64_t position) {
  if (position == cast<RankedTensorType>(result.getType()).getRank() - 1)
    return true;
  return llvm::any_of(result.getUsers(), [&](Operation *user) {
    if (auto store = dyn_cast<bufferization::MaterializeInDestinationOp>(user))
      return isUnitStride(store.getDest().getType(), position);
    return isa<scf::YieldOp>(user);
  });
}

template <typename T>
static SmallVector<T> permute(ArrayRef<T> values, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t from) { return values[from]; });
}

static Value transpose(RewriterBase &rewriter, Location loc, Value value,
                       ArrayRef<int64_t> permutation) {
  SmallVector<OpFoldResult> sizes = permute<OpFoldResult>(
      tensor::getMixedSizes(rewriter, loc, value), permutation);
  auto type = cast<RankedTensorType>(value.getType());
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  // Sizes that a constant has are not static in the type of a cast.
  auto wanted = RankedTensorType::get(permute(type.getShape(), permutation),
                                      type.getElementType());
  if (empty.getType() != wanted)
    empty = tensor::CastOp::create(rewriter, loc, wanted, empty);
  // Rows of a destination that nothing has written stay so.
  if (value.getDefiningOp<tensor::EmptyOp>())
    return empty;
  return linalg::TransposeOp::create(rewriter, loc, value, empty, permutation)
      ->getResult(0);
}

void fa::makeHeadDimsContiguous(RewriterBase &rewriter, func::FuncOp function) {
  // The head dim goes to the end.
  auto getPermutation = [](DimsAttr order) {
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, order.getRank()));
    int64_t position = order.positionOf(DimKind::HeadDim);
    permutation.erase(permutation.begin() + position);
    permutation.push_back(position);
    return permutation;
  };
  auto needsCopy = [](const Ordered &each) {
    auto type = dyn_cast<RankedTensorType>(each.operand->get().getType());
    return type &&
           type.getDimSize(each.order.positionOf(DimKind::HeadDim)) != 1;
  };
  auto set = [](Operation *op, const Ordered &each, Value value,
                ArrayRef<int64_t> permutation) {
    each.operand->set(value);
    op->setAttr((each.name + "_dims").str(),
                DimsAttr::get(op->getContext(),
                              permute(each.order.getOrder(), permutation)));
  };
  function.walk([&](Operation *op) {
    for (const Ordered &input : getInputs(op)) {
      if (!needsCopy(input) ||
          isReadContiguous(input.operand->get(),
                           input.order.positionOf(DimKind::HeadDim)))
        continue;
      rewriter.setInsertionPoint(op);
      SmallVector<int64_t> permutation = getPermutation(input.order);
      Value copy =
          transpose(rewriter, op->getLoc(), input.operand->get(), permutation);
      rewriter.modifyOpInPlace(op, [&] { set(op, input, copy, permutation); });
    }
    for (const Ordered &output : getOutputs(op)) {
      if (!needsCopy(output))
        continue;
      OpResult result =
          cast<DestinationStyleOpInterface>(op).getTiedOpResult(output.operand);
      if (isMadeContiguous(result, output.order.positionOf(DimKind::HeadDim)))
        continue;
      rewriter.setInsertionPoint(op);
      SmallVector<int64_t> permutation = getPermutation(output.order);
      Value destination =
          transpose(rewriter, op->getLoc(), output.operand->get(), permutation);
      rewriter.modifyOpInPlace(op, [&] {
        set(op, output, destination, permutation);
        result.setType(destination.getType());
      });
      auto uses = llvm::map_to_vector(result.getUses(),
                                      [](OpOperand &use) { return &use; });
      rewriter.setInsertionPointAfter(op);
      Value back = transpose(rewriter, op->getLoc(), result,
                             invertPermutationVector(permutation));
      for (OpOperand *use : uses)
        rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(back); });
    }
  });
}
