//===- VectorReductions.cpp - Vector arithmetic in the executor -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles the arithmetic of the vector dialect: reductions, contractions,
// outer products. A `Combine` is the operation of a reduction with the
// policy's rounding; `getCombine` makes it. Read that, then
// `compileReduction`.
//
//===----------------------------------------------------------------------===//

#include "CombiningKinds.h"
#include "KernelHelpers.h"
#include "VectorParts.h"
#include "fa/Executor/ArrayOps.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Combining kinds
//===----------------------------------------------------------------------===//

static Combine getRealCombine(vector::CombiningKind kind) {
  auto real = [](auto fn) {
    return [fn](Slot a, Slot b) { return Slot::ofReal(fn(a.real, b.real)); };
  };
  auto propagate = [](double a, double b, bool takeFirst) {
    return std::isnan(a) || std::isnan(b) ? a + b : takeFirst ? a : b;
  };
  switch (kind) {
  case vector::CombiningKind::ADD:
    return real([](double a, double b) { return a + b; });
  case vector::CombiningKind::MUL:
    return real([](double a, double b) { return a * b; });
  case vector::CombiningKind::MINNUMF:
    return real([](double a, double b) { return std::fmin(a, b); });
  case vector::CombiningKind::MAXNUMF:
    return real([](double a, double b) { return std::fmax(a, b); });
  case vector::CombiningKind::MINIMUMF:
    return real([=](double a, double b) { return propagate(a, b, a < b); });
  case vector::CombiningKind::MAXIMUMF:
    return real([=](double a, double b) { return propagate(a, b, a > b); });
  default:
    llvm_unreachable("an integer kind on floats is rejected by the verifier");
  }
}

static Combine getIntegerCombine(vector::CombiningKind kind, unsigned width) {
  auto wrapping = [width](auto fn) {
    return [fn, width](Slot a, Slot b) {
      uint64_t value = fn(static_cast<uint64_t>(a.integer),
                          static_cast<uint64_t>(b.integer));
      return Slot::ofInteger(wrapInteger(static_cast<int64_t>(value), width));
    };
  };
  auto choose = [width](bool isSigned, bool wantsLess) {
    return [=](Slot a, Slot b) {
      bool isLess =
          isSigned
              ? asSigned(a.integer, width) < asSigned(b.integer, width)
              : asUnsigned(a.integer, width) < asUnsigned(b.integer, width);
      return isLess == wantsLess ? a : b;
    };
  };
  switch (kind) {
  case vector::CombiningKind::ADD:
    return wrapping([](uint64_t a, uint64_t b) { return a + b; });
  case vector::CombiningKind::MUL:
    return wrapping([](uint64_t a, uint64_t b) { return a * b; });
  case vector::CombiningKind::AND:
    return wrapping([](uint64_t a, uint64_t b) { return a & b; });
  case vector::CombiningKind::OR:
    return wrapping([](uint64_t a, uint64_t b) { return a | b; });
  case vector::CombiningKind::XOR:
    return wrapping([](uint64_t a, uint64_t b) { return a ^ b; });
  case vector::CombiningKind::MINSI:
    return choose(/*isSigned=*/true, /*wantsLess=*/true);
  case vector::CombiningKind::MINUI:
    return choose(/*isSigned=*/false, /*wantsLess=*/true);
  case vector::CombiningKind::MAXSI:
    return choose(/*isSigned=*/true, /*wantsLess=*/false);
  case vector::CombiningKind::MAXUI:
    return choose(/*isSigned=*/false, /*wantsLess=*/false);
  default:
    llvm_unreachable("a float kind on integers is rejected by the verifier");
  }
}

static Combine addRounding(Combine combine, Type type,
                           const NumberPolicy &policy) {
  auto real = dyn_cast<FloatType>(type);
  if (!real || !policy.rounds(real))
    return combine;
  return [combine = std::move(combine), real, &policy](Slot a, Slot b) {
    Slot value = combine(a, b);
    policy.round(real, &value, 1);
    return value;
  };
}

Combine executor::getCombine(vector::CombiningKind kind, Type elementType,
                             const NumberPolicy &policy) {
  Combine combine = isa<FloatType>(elementType)
                        ? getRealCombine(kind)
                        : getIntegerCombine(kind, getIntegerWidth(elementType));
  return addRounding(std::move(combine), elementType, policy);
}

Combine executor::getProduct(Type elementType, const NumberPolicy &policy) {
  return getCombine(vector::CombiningKind::MUL, elementType, policy);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static LogicalResult compileReduction(vector::ReductionOp op,
                                      ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getVector());
  unsigned result = builder.getRegister(op.getDest());
  std::optional<unsigned> start;
  if (op.getAcc())
    start = builder.getRegister(op.getAcc());
  Combine combine =
      getCombine(op.getKind(), op.getDest().getType(), builder.getPolicy());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr values = packArray(frame.arrayRef(source));
    const Slot *element = values->data();
    Slot total = *element;
    for (int64_t i = 1; i < values->getNumElements(); ++i)
      total = combine(total, element[i]);
    frame.slot(result) = start ? combine(total, frame.slot(*start)) : total;
    return success();
  });
  return success();
}

/// Offset in a row-major result of an element of the source, reduced dims
/// dropped.
static SmallVector<int64_t> getKeptStrides(vector::MultiDimReductionOp op) {
  SmallVector<bool> reduced = op.getReductionMask();
  ArrayRef<int64_t> shape = op.getSourceVectorType().getShape();
  SmallVector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    if (reduced[dim])
      continue;
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

static LogicalResult compileMultiReduction(vector::MultiDimReductionOp op,
                                           ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getDest());
  Use start = builder.getUse(op.getAccMutable());
  SmallVector<int64_t> shape(op.getSourceVectorType().getShape());
  SmallVector<int64_t> strides = getKeptStrides(op);
  bool isScalar = !isa<VectorType>(op.getDest().getType());
  Combine combine =
      getCombine(op.getKind(), getElementTypeOrSelf(op.getDest().getType()),
                 builder.getPolicy());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr values = packArray(frame.arrayRef(source));
    ArrayRefPtr totals = isScalar ? makeFilledArray({}, frame.slot(start.index))
                                  : packArray(takeForUpdate(frame, start));
    const Slot *element = values->data();
    forEachIndex(shape, [&](ArrayRef<int64_t> index) {
      Slot &total = totals->data()[getLinearOffset(index, strides)];
      total = combine(total, *element++);
    });
    if (isScalar)
      frame.slot(result) = *totals->data();
    else
      frame[result] = totals;
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Strides of an operand over the loops of a contraction.
static SmallVector<int64_t> getLoopStrides(AffineMap map, VectorType type) {
  SmallVector<int64_t> strides(map.getNumDims(), 0);
  if (!type)
    return strides;
  auto memory = getRowMajorStrides(type.getShape());
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    strides[cast<AffineDimExpr>(expr).getPosition()] = memory[dim];
  return strides;
}

static SmallVector<int64_t> getLoopSizes(vector::ContractionOp op) {
  SmallVector<int64_t> sizes(op.getIteratorTypes().size(), 1);
  auto maps = op.getIndexingMapsArray();
  for (auto [map, type] : {std::pair(maps[0], op.getLhsType()),
                           std::pair(maps[1], op.getRhsType())})
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      sizes[cast<AffineDimExpr>(expr).getPosition()] = type.getDimSize(dim);
  return sizes;
}

static LogicalResult compileContraction(vector::ContractionOp op,
                                        ProgramBuilder &builder) {
  unsigned lhs = builder.getRegister(op.getLhs());
  unsigned rhs = builder.getRegister(op.getRhs());
  unsigned result = builder.getRegister(op.getResult());
  Use start = builder.getUse(op.getAccMutable());
  auto resultType = dyn_cast<VectorType>(op.getResult().getType());
  Type elementType = getElementTypeOrSelf(op.getResult().getType());
  auto maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes = getLoopSizes(op);
  auto lhsStrides = getLoopStrides(maps[0], op.getLhsType());
  auto rhsStrides = getLoopStrides(maps[1], op.getRhsType());
  auto resultStrides = getLoopStrides(maps[2], resultType);
  Combine combine = getCombine(op.getKind(), elementType, builder.getPolicy());
  Combine product = getProduct(elementType, builder.getPolicy());
  bool isPlain = isa<FloatType>(elementType) &&
                 op.getKind() == vector::CombiningKind::ADD &&
                 !builder.getPolicy().rounds(cast<FloatType>(elementType));
  builder.emit([=](Frame &frame) {
    ArrayRefPtr a = packArray(frame.arrayRef(lhs));
    ArrayRefPtr b = packArray(frame.arrayRef(rhs));
    ArrayRefPtr totals = resultType
                             ? packArray(takeForUpdate(frame, start))
                             : makeFilledArray({}, frame.slot(start.index));
    forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
      Slot x = a->data()[getLinearOffset(index, lhsStrides)];
      Slot y = b->data()[getLinearOffset(index, rhsStrides)];
      Slot &total = totals->data()[getLinearOffset(index, resultStrides)];
      if (isPlain)
        total.real += x.real * y.real;
      else
        total = combine(total, product(x, y));
    });
    if (resultType)
      frame[result] = totals;
    else
      frame.slot(result) = *totals->data();
    return success();
  });
  return success();
}

static LogicalResult compileOuterProduct(vector::OuterProductOp op,
                                         ProgramBuilder &builder) {
  unsigned lhs = builder.getRegister(op.getLhs());
  unsigned rhs = builder.getRegister(op.getRhs());
  unsigned result = builder.getRegister(op.getResult());
  std::optional<unsigned> start;
  if (op.getAcc())
    start = builder.getRegister(op.getAcc());
  bool isAxpy = !isa<VectorType>(op.getRhs().getType());
  SmallVector<int64_t> shape(op.getResultVectorType().getShape());
  Type elementType = op.getResultVectorType().getElementType();
  Combine combine = getCombine(op.getKind(), elementType, builder.getPolicy());
  Combine product = getProduct(elementType, builder.getPolicy());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr a = packArray(frame.arrayRef(lhs));
    ArrayRefPtr b = isAxpy ? makeFilledArray({1}, frame.slot(rhs))
                           : packArray(frame.arrayRef(rhs));
    ArrayRefPtr previous = start ? packArray(frame.arrayRef(*start)) : nullptr;
    Array &target = getResultArray(frame, result, shape);
    int64_t columns = b->getNumElements();
    for (int64_t i = 0; i < target.getNumElements(); ++i) {
      Slot value = product(a->data()[i / columns], b->data()[i % columns]);
      target.data()[i] = previous ? combine(previous->data()[i], value) : value;
    }
    return success();
  });
  return success();
}

static FailureOr<Kernel> makeFma(vector::FMAOp op) {
  return makeFusedMultiplyAdd(getElementTypeOrSelf(op.getType()));
}

void executor::addVectorArithmetic(Semantics &semantics) {
  semantics.add<vector::ReductionOp>(compileReduction);
  semantics.add<vector::MultiDimReductionOp>(compileMultiReduction);
  semantics.add<vector::ContractionOp>(compileContraction);
  semantics.add<vector::OuterProductOp>(compileOuterProduct);
  semantics.addElementwise<vector::FMAOp>(makeFma);
}
