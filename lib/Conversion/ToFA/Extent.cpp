//===- Extent.cpp - Sizes as polynomials ----------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic of polynomials, then how sizes are read off the IR. Front ends
// compute the sizes of a reshape with guards for negative numbers, which
// `getCondition` sees through, since sizes are not negative.
//
//===----------------------------------------------------------------------===//

#include "Extent.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::fa;

/// Longer chains of arithmetic are not looked through.
constexpr unsigned maxDepth = 64;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

Extent Extent::getAtom(unsigned atom) {
  Extent extent;
  extent.add({atom}, 1);
  return extent;
}

void Extent::add(const Monomial &monomial, int64_t coefficient) {
  auto [place, isNew] = terms.try_emplace(monomial, 0);
  place->second += coefficient;
  if (place->second == 0)
    terms.erase(place);
}

bool Extent::isStatic() const {
  return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty());
}

int64_t Extent::getStatic() const {
  return terms.empty() ? 0 : terms.begin()->second;
}

std::optional<unsigned> Extent::getOneAtom() const {
  if (terms.size() != 1 || terms.begin()->second != 1 ||
      terms.begin()->first.size() != 1)
    return std::nullopt;
  return terms.begin()->first.front();
}

Extent Extent::operator+(const Extent &other) const {
  Extent sum = *this;
  for (const auto &[monomial, coefficient] : other.terms)
    sum.add(monomial, coefficient);
  return sum;
}

Extent Extent::operator-(const Extent &other) const {
  return *this + other * Extent(-1);
}

Extent Extent::operator*(const Extent &other) const {
  Extent product;
  for (const auto &[left, leftFactor] : terms)
    for (const auto &[right, rightFactor] : other.terms) {
      Monomial monomial = left;
      monomial.insert(monomial.end(), right.begin(), right.end());
      llvm::sort(monomial);
      product.add(monomial, leftFactor * rightFactor);
    }
  return product;
}

std::optional<Extent> Extent::divideExactly(const Extent &divisor) const {
  if (divisor.terms.size() != 1)
    return std::nullopt;
  const auto &[by, factor] = *divisor.terms.begin();
  Extent quotient;
  for (const auto &[monomial, coefficient] : terms) {
    if (coefficient % factor != 0 ||
        !std::includes(monomial.begin(), monomial.end(), by.begin(), by.end()))
      return std::nullopt;
    Monomial rest;
    std::set_difference(monomial.begin(), monomial.end(), by.begin(), by.end(),
                        std::back_inserter(rest));
    quotient.add(rest, coefficient / factor);
  }
  return quotient;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Extent ExtentReader::getAtom(Value value, int64_t dim) {
  auto place = llvm::find(atoms, std::make_pair(value, dim));
  if (place == atoms.end()) {
    atoms.emplace_back(value, dim);
    place = std::prev(atoms.end());
  }
  unsigned atom = std::distance(atoms.begin(), place);
  while (true) {
    auto equal = equals.find(atom);
    if (equal == equals.end())
      return Extent::getAtom(atom);
    std::optional<unsigned> other = equal->second.getOneAtom();
    if (!other)
      return equal->second;
    atom = *other;
  }
}

/// The first tensor that an operation on whole tensors reads, whose shape is
/// that of the result; null for other operations.
static Value getElementwiseTensor(Operation *op) {
  if (!op || !op->hasTrait<OpTrait::Elementwise>())
    return {};
  auto tensor = llvm::find_if(op->getOperands(), [](Value operand) {
    return isa<RankedTensorType>(operand.getType());
  });
  return tensor == op->operand_end() ? Value() : *tensor;
}

/// The one of two equal sizes that stays: of atoms, the one met first.
Extent ExtentReader::setEqual(const Extent &first, const Extent &second) {
  std::optional<unsigned> left = first.getOneAtom(),
                          right = second.getOneAtom();
  if (first == second || (!left && !right))
    return first;
  known.clear();
  bool staysFirst = right && (!left || *left < *right);
  equals[staysFirst ? *right : *left] = staysFirst ? first : second;
  return staysFirst ? first : second;
}

void ExtentReader::takeForEqual(Operation *op) {
  known.clear();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (auto [source, dims] :
         llvm::enumerate(expand.getReassociationIndices())) {
      Extent product = 1;
      for (int64_t dim : dims)
        product = product * getDim(expand.getResult(), dim);
      setEqual(getDim(expand.getSrc(), source), product);
    }
  }
  if (Value first = getElementwiseTensor(op))
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          setEqual(getDim(first, dim), getDim(operand, dim));
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return;
  SmallVector<std::optional<Extent>> loops(linalgOp.getNumLoops());
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] : llvm::enumerate(
             linalgOp.getMatchingIndexingMap(&operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      Extent extent = getDim(operand.get(), dim);
      std::optional<Extent> &size = loops[loop.getPosition()];
      size = size ? setEqual(*size, extent) : extent;
    }
}

Extent ExtentReader::getDim(Value tensor, int64_t dim) {
  int64_t size = cast<ShapedType>(tensor.getType()).getDimSize(dim);
  if (ShapedType::isStatic(size))
    return size;
  auto getMixed = [&](OpFoldResult size) -> Extent {
    if (auto value = dyn_cast<Value>(size))
      return getValue(value);
    return *getConstantIntValue(size);
  };
  Operation *op = tensor.getDefiningOp();
  if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(op))
    return getMixed(empty.getMixedSizes()[dim]);
  if (auto styled = dyn_cast_or_null<DestinationStyleOpInterface>(op))
    return getDim(styled.getTiedOpOperand(cast<OpResult>(tensor))->get(), dim);
  if (auto cast = dyn_cast_or_null<tensor::CastOp>(op))
    return getDim(cast.getSource(), dim);
  if (Value operand = getElementwiseTensor(op))
    return getDim(operand, dim);
  if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op))
    return getMixed(expand.getMixedOutputShape()[dim]);
  if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
    Extent product = 1;
    // Named: a loop over an element does not keep the temporary around it.
    ReassociationIndices sources = collapse.getReassociationIndices()[dim];
    for (int64_t source : sources)
      product = product * getDim(collapse.getSrc(), source);
    return product;
  }
  if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t position = 0;
    for (auto [source, size] : llvm::enumerate(slice.getMixedSizes()))
      if (!dropped.test(source) && position++ == dim)
        return getMixed(size);
  }
  if (auto reshape = dyn_cast_or_null<tensor::ReshapeOp>(op))
    if (auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>())
      return getValue(shape.getElements()[dim]);
  return getAtom(tensor, dim);
}

void ExtentReader::setReadElement(ReadElement function) {
  readElement = std::move(function);
  known.clear();
}

Extent ExtentReader::getValue(Value value, unsigned depth) {
  auto place = known.find(value);
  if (place != known.end())
    return place->second;
  Extent extent = computeValue(value, depth);
  known[value] = extent;
  return extent;
}

Extent ExtentReader::computeValue(Value value, unsigned depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxDepth)
    return getAtom(value, -1);
  auto getOperand = [&](unsigned position) {
    return getValue(op->getOperand(position), depth + 1);
  };
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    if (std::optional<int64_t> position = dim.getConstantIndex())
      return getDim(dim.getSource(), *position);
  } else if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp>(
                 op)) {
    if (!op->getOperand(0).getType().isInteger(1))
      return getOperand(0);
  } else if (isa<arith::AddIOp>(op)) {
    return getOperand(0) + getOperand(1);
  } else if (isa<arith::SubIOp>(op)) {
    return getOperand(0) - getOperand(1);
  } else if (isa<arith::MulIOp>(op)) {
    return getOperand(0) * getOperand(1);
  } else if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op)) {
    if (auto quotient = getOperand(0).divideExactly(getOperand(1)))
      return *quotient;
  } else if (isa<arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp,
                 arith::MinUIOp>(op)) {
    Extent left = getOperand(0);
    if (left == getOperand(1))
      return left;
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (auto known = getCondition(select.getCondition(), depth + 1))
      return getOperand(*known ? 1 : 2);
  } else if (isa<arith::ExtUIOp>(op)) {
    if (!op->getOperand(0).getType().isInteger(1))
      return getOperand(0);
    if (auto known = getCondition(op->getOperand(0), depth + 1))
      return *known;
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    auto elements = extract.getTensor().getDefiningOp<tensor::FromElementsOp>();
    if (elements && extract.getIndices().size() == 1)
      if (auto index = getConstantIntValue(extract.getIndices().front()))
        return getValue(elements.getElements()[*index], depth + 1);
    SmallVector<int64_t> indices;
    for (Value index : extract.getIndices())
      if (auto constant = getConstantIntValue(index))
        indices.push_back(*constant);
    if (readElement && indices.size() == extract.getIndices().size())
      if (auto number = readElement(extract.getTensor(), indices))
        return *number;
  }
  return getAtom(value, -1);
}

/// Whether a number is the size of a tensor, as it is or cast.
static bool isUsedAsSize(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<arith::IndexCastOp>(user))
      return user->getResult(0).getType().isIndex() &&
             isUsedAsSize(user->getResult(0));
    return isa<tensor::EmptyOp, tensor::ExpandShapeOp>(user);
  });
}

bool ExtentReader::isNonNegative(const Extent &extent) const {
  return llvm::all_of(extent.getTerms(), [&](const auto &term) {
    return term.second >= 0 && llvm::all_of(term.first, [&](unsigned atom) {
             auto [value, dim] = atoms[atom];
             return dim >= 0 || isUsedAsSize(value);
           });
  });
}

std::optional<bool> ExtentReader::getCondition(Value value, unsigned depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return !constant.isZero();
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare || depth > maxDepth)
    return std::nullopt;
  Extent left = getValue(compare.getLhs(), depth + 1),
         right = getValue(compare.getRhs(), depth + 1);
  using Predicate = arith::CmpIPredicate;
  auto isAtLeast = [&](const Extent &a,
                       const Extent &b) -> std::optional<bool> {
    if (isNonNegative(a - b))
      return true;
    if (isNonNegative(b - a - 1))
      return false;
    return std::nullopt;
  };
  auto negate = [](std::optional<bool> known) {
    return known ? std::optional(!*known) : known;
  };
  switch (compare.getPredicate()) {
  case Predicate::eq:
  case Predicate::ne: {
    Extent difference = left - right;
    if (!difference.isStatic())
      return std::nullopt;
    return difference.is(0) == (compare.getPredicate() == Predicate::eq);
  }
  case Predicate::sge:
    return isAtLeast(left, right);
  case Predicate::sle:
    return isAtLeast(right, left);
  case Predicate::slt:
    return negate(isAtLeast(left, right));
  case Predicate::sgt:
    return negate(isAtLeast(right, left));
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value ExtentReader::materialize(OpBuilder &builder, Location loc,
                                const Extent &extent) {
  if (extent.isStatic())
    return arith::ConstantIndexOp::create(builder, loc, extent.getStatic());
  Value sum;
  for (const auto &[monomial, coefficient] : extent.getTerms()) {
    Value product;
    auto multiply = [&](Value factor) {
      product = product ? arith::MulIOp::create(builder, loc, product, factor)
                        : factor;
    };
    for (unsigned atom : monomial) {
      auto [value, dim] = atoms[atom];
      if (dim >= 0)
        value = tensor::DimOp::create(builder, loc, value, dim);
      else if (!value.getType().isIndex())
        value = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           value);
      multiply(value);
    }
    if (coefficient != 1 || !product)
      multiply(arith::ConstantIndexOp::create(builder, loc, coefficient));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, product) : product;
  }
  return sum;
}

OpFoldResult ExtentReader::materializeMixed(OpBuilder &builder, Location loc,
                                            const Extent &extent) {
  if (extent.isStatic())
    return builder.getIndexAttr(extent.getStatic());
  return materialize(builder, loc, extent);
}
