//===- OperandShape.cpp - Tensors as operands of attention ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `compute` finds which digits of a tensor's indices are batch, head, row and
// column; `apply` expands and transposes the tensor to these, `applyInverse`
// goes back.
//
//===----------------------------------------------------------------------===//

#include "OperandShape.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// A dimension of the tensor once it is expanded: a digit, or a one.
struct Item {
  std::optional<unsigned> digit;
  /// The kind of dimension the digit belongs to.
  int64_t kind = -1;
  Extent extent = 1;
};
} // namespace

/// The digits of a form, the highest first, if they follow each other without
/// gaps; `stride` is the factor of the lowest one.
static std::optional<SmallVector<unsigned>>
getDigits(const IndexForm &form, const Variables &variables, int64_t &stride) {
  SmallVector<std::pair<unsigned, int64_t>, 4> terms(form.terms);
  llvm::sort(terms,
             [](const auto &a, const auto &b) { return a.second > b.second; });
  SmallVector<unsigned> digits;
  stride = terms.empty() ? 1 : terms.back().second;
  int64_t expected = stride;
  for (auto [digit, factor] : llvm::reverse(terms)) {
    if (factor != expected || factor <= 0)
      return std::nullopt;
    const Extent &extent = variables.getExtent(digit);
    expected = extent.isStatic() ? expected * extent.getStatic() : -1;
    digits.insert(digits.begin(), digit);
  }
  return digits;
}

std::optional<OperandShape> OperandShape::compute(Value tensor,
                                                  ArrayRef<IndexForm> forms,
                                                  const DigitGroups &groups,
                                                  const Variables &variables,
                                                  ExtentReader &extents) {
  OperandShape shape;
  SmallVector<Item> items;
  unsigned numDigits = 0;
  for (auto [dim, form] : llvm::enumerate(forms)) {
    int64_t stride;
    auto digits = getDigits(form, variables, stride);
    if (!digits)
      return std::nullopt;
    Extent covered = 1, size = extents.getDim(tensor, dim);
    ReassociationIndices &group = shape.toItems.emplace_back();
    for (unsigned digit : *digits) {
      covered = covered * variables.getExtent(digit);
      group.push_back(items.size());
      Item &item = items.emplace_back();
      item.digit = digit;
      item.extent = variables.getExtent(digit);
      for (int64_t kind = 0; kind < 4; ++kind)
        if (llvm::is_contained(groups[kind], digit))
          item.kind = kind;
      // A digit of another operand.
      if (item.kind < 0)
        return std::nullopt;
      ++numDigits;
    }
    if (digits->empty()) {
      group.push_back(items.size());
      items.emplace_back();
    }
    if (form.constant < 0)
      return std::nullopt;
    bool isWhole = form.constant == 0 && stride == 1 && covered == size;
    if (!isWhole && covered.isStatic() && size.isStatic() &&
        form.constant + stride * (covered.getStatic() - 1) >= size.getStatic())
      return std::nullopt;
    shape.isSliced |= !isWhole;
    shape.offsets.push_back(form.constant);
    shape.strides.push_back(stride);
    shape.sliceShape.push_back(covered);
  }
  unsigned expected = 0;
  for (const auto &group : groups)
    expected += group.size();
  if (numDigits != expected)
    return std::nullopt;
  SmallVector<unsigned> seen;
  for (const Item &item : items) {
    if (item.digit && llvm::is_contained(seen, *item.digit))
      return std::nullopt;
    if (item.digit)
      seen.push_back(*item.digit);
    shape.itemShape.push_back(item.extent);
  }

  // Digits of one dimension are to follow each other.
  bool isInOrder = true;
  SmallVector<int64_t> kinds;
  SmallVector<unsigned> next(4, 0);
  for (const Item &item : items) {
    if (!item.digit)
      continue;
    const auto &group = groups[item.kind];
    isInOrder &=
        next[item.kind] < group.size() && group[next[item.kind]] == *item.digit;
    if (kinds.empty() || kinds.back() != item.kind) {
      isInOrder &= !llvm::is_contained(kinds, item.kind);
      kinds.push_back(item.kind);
    }
    ++next[item.kind];
  }
  // The head dim comes last: it is to be contiguous in memory.
  constexpr int64_t headDim = int64_t(DimKind::HeadDim);
  if (isInOrder && llvm::is_contained(kinds, headDim) &&
      kinds.back() != headDim) {
    llvm::erase(kinds, headDim);
    kinds.push_back(headDim);
    isInOrder = false;
  } else if (!isInOrder) {
    kinds = {0, 1, 2, 3};
  }
  if (!isInOrder) {
    SmallVector<Item> moved;
    auto move = [&](unsigned position) {
      shape.permutation.push_back(position);
      moved.push_back(items[position]);
    };
    for (auto [position, item] : llvm::enumerate(items))
      if (!item.digit)
        move(position);
    for (int64_t kind : kinds)
      for (unsigned digit : groups[kind])
        for (auto [position, item] : llvm::enumerate(items))
          if (item.digit == digit)
            move(position);
    items = moved;
  }
  for (const Item &item : items)
    shape.movedShape.push_back(item.extent);

  // Ones stand for dimensions without digits, or join their neighbours.
  SmallVector<int64_t> absent;
  for (int64_t kind : {0, 2, 1, 3})
    if (groups[kind].empty())
      absent.push_back(kind);
  SmallVector<int64_t> runKinds;
  SmallVector<unsigned> leadingOnes;
  auto partsDigits = [&](unsigned one) {
    const Item *next =
        llvm::find_if(ArrayRef(items).drop_front(one),
                      [](const Item &item) { return item.digit.has_value(); });
    return next != items.end() && !runKinds.empty() &&
           runKinds.back() == next->kind;
  };
  for (auto [position, item] : llvm::enumerate(items)) {
    bool starts =
        item.digit && (runKinds.empty() || runKinds.back() != item.kind);
    if (!item.digit && !absent.empty() && !partsDigits(position)) {
      runKinds.push_back(absent.front());
      absent.erase(absent.begin());
      starts = true;
    } else if (item.digit && starts) {
      runKinds.push_back(item.kind);
    }
    if (!item.digit && !starts && shape.toRuns.empty()) {
      leadingOnes.push_back(position);
      continue;
    }
    if (starts) {
      // A one between two digits of a dimension cannot stand for another one.
      ReassociationIndices &run = shape.toRuns.emplace_back();
      run.append(leadingOnes.begin(), leadingOnes.end());
      leadingOnes.clear();
      shape.runShape.push_back(1);
    }
    shape.toRuns.back().push_back(position);
    shape.runShape.back() = shape.runShape.back() * item.extent;
  }
  if (runKinds.empty())
    return std::nullopt;

  // Digits that are a dimension before and after need no expansion.
  if (shape.permutation.empty() && shape.toItems == shape.toRuns) {
    shape.itemShape = shape.movedShape = shape.runShape;
    for (auto [position, item] : llvm::enumerate(shape.toItems))
      item.assign(1, position);
    shape.toRuns = shape.toItems;
  }

  // The dimensions that are missing are in front.
  SmallVector<int64_t> first;
  for (int64_t kind : absent) {
    shape.finalShape.push_back(1);
    first.push_back(shape.order.size());
    shape.order.push_back(kind);
  }
  for (auto [position, kind] : llvm::enumerate(runKinds)) {
    ReassociationIndices &group = shape.toFinal.emplace_back();
    if (position == 0)
      group.append(first.begin(), first.end());
    group.push_back(shape.order.size());
    shape.order.push_back(kind);
    shape.finalShape.push_back(shape.runShape[position]);
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static RankedTensorType getTensorType(Value like, ArrayRef<Extent> shape) {
  SmallVector<int64_t> sizes;
  for (const Extent &extent : shape)
    sizes.push_back(extent.isStatic() ? extent.getStatic()
                                      : ShapedType::kDynamic);
  return RankedTensorType::get(
      sizes, cast<ShapedType>(like.getType()).getElementType());
}

static SmallVector<OpFoldResult> getSizes(OpBuilder &builder, Location loc,
                                          ArrayRef<Extent> shape,
                                          ExtentReader &extents) {
  SmallVector<OpFoldResult> sizes;
  for (const Extent &extent : shape)
    sizes.push_back(extents.materializeMixed(builder, loc, extent));
  return sizes;
}

static Value expand(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<Extent> shape,
                    ArrayRef<ReassociationIndices> groups,
                    ExtentReader &extents) {
  if (shape.size() == groups.size())
    return value;
  return tensor::ExpandShapeOp::create(
      builder, loc, getTensorType(value, shape), value, groups,
      getSizes(builder, loc, shape, extents));
}

static Value collapse(OpBuilder &builder, Location loc, Value value,
                      ArrayRef<Extent> shape,
                      ArrayRef<ReassociationIndices> groups) {
  if (size_t(cast<ShapedType>(value.getType()).getRank()) == groups.size())
    return value;
  return tensor::CollapseShapeOp::create(
      builder, loc, getTensorType(value, shape), value, groups);
}

static Value transpose(OpBuilder &builder, Location loc, Value value,
                       ArrayRef<Extent> shape, ArrayRef<int64_t> permutation,
                       ExtentReader &extents) {
  Value init = tensor::EmptyOp::create(builder, loc,
                                       getSizes(builder, loc, shape, extents),
                                       getElementTypeOrSelf(value.getType()));
  return linalg::TransposeOp::create(builder, loc, value, init, permutation)
      ->getResult(0);
}

/// Sizes that are equal at run time may be static in one type only.
static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(builder, loc, type, value);
}

Value OperandShape::apply(OpBuilder &builder, Location loc, Value tensor,
                          ExtentReader &extents) const {
  Value value = tensor;
  if (isSliced) {
    SmallVector<OpFoldResult> starts, steps;
    for (int64_t offset : offsets)
      starts.push_back(builder.getIndexAttr(offset));
    for (int64_t stride : strides)
      steps.push_back(builder.getIndexAttr(stride));
    value = tensor::ExtractSliceOp::create(
        builder, loc, value, starts,
        getSizes(builder, loc, sliceShape, extents), steps);
  }
  value = castTo(builder, loc, value, getTensorType(value, sliceShape));
  value = expand(builder, loc, value, itemShape, toItems, extents);
  if (!permutation.empty())
    value = transpose(builder, loc, value, movedShape, permutation, extents);
  value = collapse(builder, loc, value, runShape, toRuns);
  return expand(builder, loc, value, finalShape, toFinal, extents);
}

Value OperandShape::applyInverse(OpBuilder &builder, Location loc,
                                 Value operand, Type tensorType,
                                 ExtentReader &extents) const {
  Value value = collapse(builder, loc, operand, runShape, toFinal);
  value = expand(builder, loc, value, movedShape, toRuns, extents);
  if (!permutation.empty())
    value = transpose(builder, loc, value, itemShape,
                      invertPermutationVector(permutation), extents);
  value = collapse(builder, loc, value, sliceShape, toItems);
  return castTo(builder, loc, value, tensorType);
}
