//===- ElementReader.cpp - Tensors as functions of indices ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an element of a tensor as a graph of the elements that it is made of.
// Begin with `readUncached`, which has a case for each kind of operation, then
// `readLinalg` for those of linalg (bodies: LinalgBody.cpp). `step` follows
// elements that are only moved, with `reshape` for changes of shape; `read`
// keeps what was read.
//
//===----------------------------------------------------------------------===//

#include "ElementReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

/// Longer chains of operations are cut by a load.
constexpr unsigned maxReadingDepth = 400;

ElementReader::ElementReader(NodeGraph &graph, ExtentReader &extents)
    : graph(graph), extents(extents) {
  extents.setReadElement(
      [this](Value tensor,
             ArrayRef<int64_t> indices) -> std::optional<int64_t> {
        SmallVector<IndexForm> forms(indices.begin(), indices.end());
        if (std::optional<APInt> number = getInteger(read(tensor, forms)))
          return number->getSExtValue();
        return std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// Operations of linalg
//===----------------------------------------------------------------------===//

const Node *ElementReader::readLinalg(linalg::LinalgOp op, OpResult result,
                                      ArrayRef<IndexForm> indices) {
  if (isProduct(op)) {
    // A first value that is not 0 is a term of its own.
    const Node *initial = read(op.getDpsInits()[0], indices);
    const Node *product = load(result, indices);
    if (!initial)
      return product;
    Type type = getElementTypeOrSelf(result.getType());
    return graph.get<arith::AddFOp>({product, initial}, type, op);
  }
  std::optional<Body> body = readBody(op, result.getResultNumber(), indices,
                                      [](Value) { return true; });
  if (!body)
    return nullptr;
  if (op.getNumReductionLoops() == 0)
    return body->node;
  const Node *initial =
      read(op.getDpsInits()[result.getResultNumber()], indices);
  if (!initial)
    return nullptr;
  // No number of f16 is below its least one, so that any start below will do.
  if (body->combiner == Combiner::Maximum ||
      body->combiner == Combiner::MaximumNumber)
    if (getElementTypeOrSelf(result.getType()).isF16() &&
        initial->type.isF32() && isReal(initial, -65504))
      initial =
          graph.getReal(std::numeric_limits<float>::lowest(), initial->type);
  if (body->bound.empty()) {
    // Loops over one element.
    static const StringRef names[] = {"arith.addf",     "arith.mulf",
                                      "arith.maximumf", "arith.maxnumf",
                                      "arith.andi",     "arith.ori"};
    if (body->combiner == Combiner::Other)
      return nullptr;
    return graph.getOp(
        OperationName(names[unsigned(body->combiner)], graph.getContext()),
        {initial, body->node}, getElementTypeOrSelf(result.getType()), op);
  }
  return graph.getReduce(body->combiner, body->bound, initial, body->node,
                         getElementTypeOrSelf(result.getType()), op);
}

//===----------------------------------------------------------------------===//
// Other operations
//===----------------------------------------------------------------------===//

const Node *ElementReader::load(Value tensor, ArrayRef<IndexForm> indices) {
  SmallVector<const Node *> nodes;
  for (const IndexForm &index : indices)
    nodes.push_back(graph.getIndex(index));
  return graph.getLoad(tensor, nodes, tensor.getDefiningOp());
}

const Node *ElementReader::readElementwise(Operation *op,
                                           ArrayRef<IndexForm> indices) {
  SmallVector<const Node *> operands;
  for (Value operand : op->getOperands()) {
    const Node *node = isa<ShapedType>(operand.getType())
                           ? read(operand, indices)
                           : readScalar(operand);
    if (!node)
      return nullptr;
    operands.push_back(node);
  }
  Attribute predicate;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    predicate = compare.getPredicateAttr();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    predicate = compare.getPredicateAttr();
  return graph.getOp(op->getName(), operands,
                     getElementTypeOrSelf(op->getResult(0).getType()), op,
                     predicate);
}

const Node *ElementReader::readSoftmax(linalg::SoftmaxOp op,
                                       ArrayRef<IndexForm> indices) {
  Extent extent = extents.getDim(op.getInput(), op.getDimension());
  if (extent.is(0) || extent.is(1))
    return nullptr;
  SmallVector<IndexForm> others(indices);
  others[op.getDimension()] = 0;
  Variables &variables = graph.getVariables();
  unsigned variable = variables.getBound(extent, others);
  SmallVector<IndexForm> row(others);
  row[op.getDimension()] = variables.getForm(variable);
  const Node *inRow = read(op.getInput(), row);
  const Node *here = read(op.getInput(), indices);
  if (!inRow || !here)
    return nullptr;
  Type type = here->type;
  // In a narrow type it rounds each step, which may be dropped of scores only.
  if (!here->hasMatrix && type != op.getInputOperandType().getElementType())
    return nullptr;
  const Node *greatest = graph.getReduce(
      Combiner::Maximum, variable,
      graph.getReal(-std::numeric_limits<double>::infinity(), type), inRow,
      type, op);
  auto getWeight = [&](const Node *score) {
    const Node *below = graph.get<arith::SubFOp>({score, greatest}, type, op);
    return graph.get<math::ExpOp>({below}, type, op);
  };
  const Node *sum =
      graph.getReduce(Combiner::Add, variable, graph.getReal(0, type),
                      getWeight(inRow), type, op);
  return graph.get<arith::DivFOp>({getWeight(here), sum}, type, op);
}

const Node *ElementReader::readConstant(Value tensor,
                                        ArrayRef<IndexForm> indices) {
  DenseElementsAttr constant;
  if (!matchPattern(tensor, m_Constant(&constant)))
    return nullptr;
  if (constant.isSplat())
    return graph.getConstant(
        cast<TypedAttr>(constant.getSplatValue<Attribute>()));
  // One element, or a row of numbers with equal distances.
  int64_t stride = 1, size = constant.getNumElements();
  IndexForm place;
  for (int64_t dim = constant.getType().getRank() - 1; dim >= 0; --dim) {
    place = place + indices[dim] * stride;
    stride *= constant.getType().getDimSize(dim);
  }
  if (place.isConstant() && place.constant >= 0 && place.constant < size)
    return graph.getConstant(cast<TypedAttr>(
        *(constant.getValues<Attribute>().begin() + place.constant)));
  Type type = constant.getElementType();
  if (!isa<IntegerType, IndexType>(type) || type.isInteger(1))
    return load(tensor, indices);
  auto values = constant.getValues<APInt>();
  auto at = [&](int64_t i) { return (*(values.begin() + i)).getSExtValue(); };
  int64_t first = at(0), distance = at(1) - first;
  for (int64_t i = 0; i < size; ++i)
    if (at(i) != first + i * distance)
      return load(tensor, indices);
  const Node *number = graph.getIndex(place * distance + IndexForm(first));
  if (type.isIndex())
    return number;
  return graph.get<arith::IndexCastOp>({number}, type, tensor.getDefiningOp());
}

std::optional<SmallVector<IndexForm>>
ElementReader::reshape(ArrayRef<IndexForm> indices, ArrayRef<Extent> from,
                       ArrayRef<Extent> to) {
  // From the shape that indices are of to the other one, in groups of
  // dimensions with equal products.
  SmallVector<IndexForm> result;
  unsigned i = 0, k = 0;
  while (i < from.size() || k < to.size()) {
    Extent left = 1, right = 1;
    unsigned firstFrom = i, firstTo = k;
    if (i < from.size())
      left = from[i++];
    if (k < to.size())
      right = to[k++];
    while (!(left == right)) {
      // The side that is a factor of the other one grows.
      bool growsLeft = left.isStatic() && right.isStatic()
                           ? left.getStatic() < right.getStatic()
                           : right.divideExactly(left).has_value();
      if (growsLeft && i < from.size())
        left = left * from[i++];
      else if (!growsLeft && k < to.size())
        right = right * to[k++];
      else
        return std::nullopt;
    }
    // Ones at the end belong to the last group.
    if (i < from.size() || k < to.size()) {
      while (i == from.size() && k < to.size() && to[k].is(1))
        ++k;
      while (k == to.size() && i < from.size() && from[i].is(1))
        ++i;
    }
    if (i - firstFrom == 1 && k - firstTo == 1) {
      result.push_back(indices[firstFrom]);
      continue;
    }
    IndexForm linear;
    int64_t stride = 1;
    for (unsigned dim = i; dim-- > firstFrom;) {
      if (from[dim].is(1))
        continue;
      if (stride == 0)
        return std::nullopt;
      linear = linear + indices[dim] * stride;
      stride = from[dim].isStatic() ? stride * from[dim].getStatic() : 0;
    }
    // The lowest dimension takes the remainder.
    SmallVector<IndexForm> digits;
    bool isLeading = false;
    for (unsigned dim = k; dim-- > firstTo;) {
      if (to[dim].is(1)) {
        digits.push_back(0);
        continue;
      }
      if (isLeading)
        return std::nullopt;
      bool isLast = llvm::all_of(to.slice(firstTo, dim - firstTo),
                                 [](const Extent &size) { return size.is(1); });
      if (isLast) {
        digits.push_back(linear);
        isLeading = true;
        continue;
      }
      if (!to[dim].isStatic())
        return std::nullopt;
      int64_t size = to[dim].getStatic();
      auto quotient = graph.getVariables().divide(linear, size);
      if (!quotient)
        return std::nullopt;
      digits.push_back(linear + *quotient * -size);
      linear = *quotient;
    }
    result.append(digits.rbegin(), digits.rend());
  }
  return result;
}

std::optional<std::pair<Value, SmallVector<IndexForm>>>
ElementReader::step(Value tensor, ArrayRef<IndexForm> indices) {
  Operation *op = tensor.getDefiningOp();
  using Place = std::pair<Value, SmallVector<IndexForm>>;
  if (auto cast = dyn_cast_or_null<tensor::CastOp>(op)) {
    if (!isa<RankedTensorType>(cast.getSource().getType()))
      return std::nullopt;
    return Place(cast.getSource(), indices);
  }
  if (op &&
      isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ReshapeOp>(
          op)) {
    Value source = op->getOperand(0);
    if (!isa<RankedTensorType>(source.getType()))
      return std::nullopt;
    auto getShape = [&](Value value) {
      SmallVector<Extent> shape;
      for (int64_t dim = 0;
           dim < cast<RankedTensorType>(value.getType()).getRank(); ++dim)
        shape.push_back(extents.getDim(value, dim));
      return shape;
    };
    SmallVector<Extent> from = getShape(tensor), to = getShape(source);
    if (isa<tensor::ReshapeOp>(op)) {
      auto moved = reshape(indices, from, to);
      return moved ? std::optional(Place(source, *moved)) : std::nullopt;
    }
    bool expands = isa<tensor::ExpandShapeOp>(op);
    auto groups =
        expands ? cast<tensor::ExpandShapeOp>(op).getReassociationIndices()
                : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
    if (groups.empty()) {
      auto moved = reshape(indices, from, to);
      return moved ? std::optional(Place(source, *moved)) : std::nullopt;
    }
    SmallVector<IndexForm> moved;
    for (auto [single, group] : llvm::enumerate(groups)) {
      SmallVector<Extent> sizes;
      SmallVector<IndexForm> here;
      for (int64_t dim : group)
        sizes.push_back(expands ? from[dim] : to[dim]);
      if (expands)
        for (int64_t dim : group)
          here.push_back(indices[dim]);
      else
        here.push_back(indices[single]);
      // The sizes of a group have the size of the dimension for a product.
      Extent product = 1;
      for (const Extent &size : sizes)
        product = product * size;
      auto part = expands ? reshape(here, sizes, product)
                          : reshape(here, product, sizes);
      if (!part)
        return std::nullopt;
      llvm::append_range(moved, *part);
    }
    return Place(source, moved);
  }
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    SmallVector<IndexForm> moved;
    unsigned position = 0;
    for (auto [dim, offset, stride] :
         llvm::enumerate(slice.getMixedOffsets(), slice.getMixedStrides())) {
      std::optional<int64_t> first = getConstantIntValue(offset),
                             distance = getConstantIntValue(stride);
      if (!first || !distance)
        return std::nullopt;
      IndexForm index = dropped.test(dim) ? IndexForm(0) : indices[position++];
      moved.push_back(index * *distance + IndexForm(*first));
    }
    return Place(slice.getSource(), moved);
  }
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumReductionLoops() != 0)
    return std::nullopt;
  std::optional<Body> body =
      readBody(linalgOp, cast<OpResult>(tensor).getResultNumber(), indices,
               [](Value) { return false; });
  if (!body)
    return std::nullopt;
  const Node *node = body->node;
  // A copy of a narrow number that is computed with in f32.
  if (node->isa<arith::ExtFOp>() && node->operand(0)->kind == NodeKind::Load &&
      getElementTypeOrSelf(tensor.getType()) == node->operand(0)->type)
    node = node->operand(0);
  if (node->kind != NodeKind::Load ||
      getElementTypeOrSelf(tensor.getType()) != node->type)
    return std::nullopt;
  SmallVector<IndexForm> moved;
  for (const Node *index : node->operands) {
    if (index->kind != NodeKind::Index)
      return std::nullopt;
    moved.push_back(index->form);
  }
  return Place(node->value, moved);
}

const Node *ElementReader::readConcat(Operation *op,
                                      ArrayRef<IndexForm> indices) {
  auto concat = cast<tensor::ConcatOp>(op);
  int64_t dim = concat.getDim(), first = 0;
  auto range = graph.getVariables().getRange(indices[dim]);
  for (Value input : concat.getInputs()) {
    Extent extent = extents.getDim(input, dim);
    if (!extent.isStatic() || !range)
      return nullptr;
    int64_t end = first + extent.getStatic();
    if (range->first >= first && range->second < end) {
      SmallVector<IndexForm> moved(indices);
      moved[dim] = moved[dim] + IndexForm(-first);
      return read(input, moved);
    }
    first = end;
  }
  return nullptr;
}

const Node *ElementReader::readUncached(Value tensor,
                                        ArrayRef<IndexForm> indices) {
  if (const Node *constant = readConstant(tensor, indices))
    return constant;
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return nullptr;
  if (isProduct(op))
    return readLinalg(cast<linalg::LinalgOp>(op), cast<OpResult>(tensor),
                      indices);
  if (auto moved = step(tensor, indices))
    return read(moved->first, moved->second);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return readLinalg(linalgOp, cast<OpResult>(tensor), indices);
  if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op))
    return readSoftmax(softmax, indices);
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return readScalar(splat.getInput());
  if (isa<tensor::ConcatOp>(op))
    return readConcat(op, indices);
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    auto type = cast<RankedTensorType>(tensor.getType());
    int64_t place = 0;
    for (auto [dim, index] : llvm::enumerate(indices)) {
      if (!index.isConstant())
        return nullptr;
      place = place * type.getDimSize(dim) + index.constant;
    }
    return readScalar(elements.getElements()[place]);
  }
  StringRef dialect = op->getName().getDialectNamespace();
  if ((dialect == "arith" || dialect == "math") && isPure(op) &&
      op->getNumResults() == 1 && op->hasTrait<OpTrait::Elementwise>() &&
      !isa<arith::BitcastOp>(op))
    return readElementwise(op, indices);
  return nullptr;
}

const Node *ElementReader::read(Value tensor, ArrayRef<IndexForm> indices) {
  SmallVector<const Node *> nodes;
  Place place{tensor.getAsOpaquePointer()};
  for (const IndexForm &index : indices) {
    nodes.push_back(graph.getIndex(index));
    place.push_back(nodes.back());
  }
  if (const Node *node = known.try_emplace(place, nullptr).first->second)
    return node;
  const Node *node = nullptr;
  if (depthOfReading < maxReadingDepth) {
    ++depthOfReading;
    node = readUncached(tensor, indices);
    --depthOfReading;
  }
  if (!node)
    node = load(tensor, indices);
  known[place] = node;
  origins.try_emplace(node, Origin{tensor, nodes});
  return node;
}

const Node *ElementReader::read(Value tensor, ArrayRef<const Node *> indices) {
  SmallVector<IndexForm> forms;
  for (const Node *index : indices) {
    if (index->kind != NodeKind::Index)
      return graph.getLoad(tensor, indices, tensor.getDefiningOp());
    forms.push_back(index->form);
  }
  return read(tensor, forms);
}

const Node *ElementReader::readScalar(Value value) {
  Environment environment;
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return isa<FloatAttr, IntegerAttr>(constant) ? graph.getConstant(constant)
                                                 : nullptr;
  if (isa<ShapedType>(value.getType()))
    return nullptr;
  if (value.getType().isIntOrIndex()) {
    Extent extent = extents.getValue(value);
    if (extent.isStatic())
      return graph.getConstant(
          IntegerAttr::get(value.getType(), extent.getStatic()));
  }
  Operation *op = value.getDefiningOp();
  if (!op || depthOfReading >= maxReadingDepth)
    return graph.getScalar(value);
  StringRef dialect = op->getName().getDialectNamespace();
  bool isArithmetic = (dialect == "arith" || dialect == "math") && isPure(op);
  if (!isArithmetic && !isa<tensor::ExtractOp>(op))
    return graph.getScalar(value);
  ++depthOfReading;
  const Node *node = evaluate(value, environment, {}, op->getBlock(),
                              [](Value) { return true; });
  --depthOfReading;
  return node ? node : graph.getScalar(value);
}
