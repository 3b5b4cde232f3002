//===- HostViews.cpp - Views of arguments of host functions ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Views of arguments in a host function become an offset and strides, as
// values of a manifest; the launcher checks what is not known here, as that a
// slice lies in its memory. Read `addView`, then `addSubView`.
//
//===----------------------------------------------------------------------===//

#include "HostValues.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

Operand HostValues::add(Operand left, Operand right) {
  std::optional<int64_t> a = left.getAsInteger(), b = right.getAsInteger();
  if (a && b)
    return *a + *b;
  if (a == 0)
    return right;
  return b == 0 ? left : emit("add", {left, right});
}

Operand HostValues::multiply(Operand left, Operand right) {
  std::optional<int64_t> a = left.getAsInteger(), b = right.getAsInteger();
  if (a && b)
    return *a * *b;
  if (a == 0 || b == 0)
    return 0;
  if (a == 1)
    return right;
  return b == 1 ? left : emit("mul", {left, right});
}

Operand HostValues::getOperand(OpFoldResult value) const {
  if (auto constant = dyn_cast<Attribute>(value))
    return cast<IntegerAttr>(constant).getInt();
  return get(cast<Value>(value));
}

/// What is not known when it is compiled is required to lie in the memory.
LogicalResult HostValues::addSubView(memref::SubViewOp op, HostMemRef &view) {
  HostMemRef source = std::move(view);
  view = makeView(source);
  llvm::SmallBitVector dropped = op.getDroppedDims();
  for (unsigned dim = 0; dim < source.sizes.size(); ++dim) {
    Operand offset = getOperand(op.getMixedOffsets()[dim]),
            size = getOperand(op.getMixedSizes()[dim]),
            step = getOperand(op.getMixedStrides()[dim]);
    view.offset = add(view.offset, multiply(offset, source.strides[dim]));
    if (!dropped[dim]) {
      view.sizes.push_back(size);
      view.strides.push_back(multiply(step, source.strides[dim]));
    }
    bool isKnown = llvm::all_of(
        ArrayRef{offset, size, step, source.sizes[dim]},
        [](const Operand &operand) { return operand.getAsInteger(); });
    if (isKnown || (offset == 0 && size == source.sizes[dim] && step == 1))
      continue;
    Operand last = add(offset, multiply(add(size, -1), step));
    Operand isInside = emit("select", {emit("less", {last, source.sizes[dim]}),
                                       emit("less_equal", {0, offset}),
                                       emit("equal", {size, 0})});
    addRequirement(isInside,
                   "a slice of " + getName(source) + " is outside of it");
  }
  return success();
}

/// Strides of the dims that one becomes, from the last one.
LogicalResult HostValues::addExpansion(memref::ExpandShapeOp op,
                                       HostMemRef &view) {
  HostMemRef source = std::move(view);
  view = makeView(source);
  for (OpFoldResult size : op.getMixedOutputShape())
    view.sizes.push_back(getOperand(size));
  view.strides.assign(view.sizes.size(), nullptr);
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    Operand elements = 1;
    for (int64_t part : llvm::reverse(group)) {
      view.strides[part] = multiply(elements, source.strides[dim]);
      elements = multiply(elements, view.sizes[part]);
    }
    if (elements != source.sizes[dim])
      addRequirement(emit("equal", {elements, source.sizes[dim]}),
                     getName(source) +
                         " does not have the size that it is expanded from");
  }
  return success();
}

/// Dims that become one lie behind each other.
void HostValues::requireContiguous(const HostMemRef &source,
                                   ArrayRef<int64_t> group) {
  for (auto [outer, inner] : llvm::zip(group, group.drop_front())) {
    Operand outerSize = source.sizes[outer], innerSize = source.sizes[inner];
    if (outerSize == 1 || innerSize == 1)
      continue;
    Operand next = multiply(innerSize, source.strides[inner]);
    if (next == source.strides[outer])
      continue;
    Operand follows = emit("equal", {source.strides[outer], next});
    for (Operand size : {outerSize, innerSize})
      follows = emit("select", {emit("equal", {size, 1}), 1, follows});
    addRequirement(follows, "dims " + std::to_string(outer) + " and " +
                                std::to_string(inner) + " of a view of " +
                                getName(source) +
                                " become one, but do not follow each other");
  }
}

/// The elements of dims that become one are as far apart as those of the last
/// dim that has more than one.
void HostValues::addCollapse(memref::CollapseShapeOp op, HostMemRef &view) {
  HostMemRef source = std::move(view);
  view = makeView(source);
  SmallVector<int64_t> known = op.getResultType().getStridesAndOffset().first;
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    Operand size = 1, stride = 1;
    if (!op.getSrcType().getLayout().isIdentity())
      requireContiguous(source, group);
    for (int64_t part : group) {
      bool isOne = source.sizes[part] == 1;
      bool mayBeOne = !source.sizes[part].getAsInteger();
      size = multiply(size, source.sizes[part]);
      if (mayBeOne && part != group.front())
        stride = emit("select", {emit("equal", {source.sizes[part], 1}), stride,
                                 source.strides[part]});
      else if (!isOne || part == group.front())
        stride = source.strides[part];
    }
    if (!ShapedType::isDynamic(known[dim]))
      stride = known[dim];
    view.sizes.push_back(size);
    view.strides.push_back(stride);
  }
}

void HostValues::addTranspose(memref::TransposeOp op, HostMemRef &view) {
  HostMemRef source = std::move(view);
  view = makeView(source);
  for (AffineExpr dim : op.getPermutation().getResults()) {
    unsigned position = cast<AffineDimExpr>(dim).getPosition();
    view.sizes.push_back(source.sizes[position]);
    view.strides.push_back(source.strides[position]);
  }
}

HostMemRef HostValues::describe(fagpu::WorkspaceOp op) {
  auto type = cast<MemRefType>(op.getType());
  HostMemRef memref{0, 0, {}, {}, getWorkspace(op.getMemory()).str()};
  for (OpFoldResult size :
       getMixedValues(type.getShape(), op.getSizes(), op.getContext()))
    memref.sizes.push_back(getOperand(size));
  memref.strides.assign(memref.sizes.size(), 1);
  for (unsigned dim = memref.sizes.size(); dim-- > 1;)
    memref.strides[dim - 1] = multiply(memref.strides[dim], memref.sizes[dim]);
  return memref;
}

LogicalResult HostValues::addView(Operation *op) {
  const HostMemRef *source = getMemRef(op->getOperand(0));
  if (!source)
    source = getWorkspaceView(op->getOperand(0));
  HostMemRef ofWorkspace;
  if (auto made = op->getOperand(0).getDefiningOp<fagpu::WorkspaceOp>()) {
    ofWorkspace = describe(made);
    source = &ofWorkspace;
  }
  auto type = dyn_cast<MemRefType>(op->getResult(0).getType());
  if (!source || !type || !type.isStrided())
    return op->emitOpError(
        "is not of an argument, so a manifest cannot express it; expected a "
        "ranked view of one");
  HostMemRef view = *source;
  // What a caller passes as the stride of a dim of one element means nothing.
  auto from = cast<MemRefType>(op->getOperand(0).getType());
  for (auto [stride, known] :
       llvm::zip_equal(view.strides, from.getStridesAndOffset().first))
    if (!ShapedType::isDynamic(known))
      stride = known;
  LogicalResult result = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                             .Case([&](memref::SubViewOp slice) {
                               return addSubView(slice, view);
                             })
                             .Case([&](memref::ExpandShapeOp expand) {
                               return addExpansion(expand, view);
                             })
                             .Case([&](memref::CollapseShapeOp collapse) {
                               addCollapse(collapse, view);
                               return success();
                             })
                             .Case([&](memref::TransposeOp transpose) {
                               addTranspose(transpose, view);
                               return success();
                             })
                             .Default([](Operation *) { return success(); });
  if (!view.workspace.empty()) {
    if (view.offset != 0)
      return op->emitOpError("is a part of a workspace, so a manifest cannot "
                             "express it; expected one from its beginning on");
    workspaceNames[op->getResult(0)] = view.workspace;
  }
  memrefs[op->getResult(0)] = std::move(view);
  return result;
}
