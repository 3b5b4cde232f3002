//===- Comparison.cpp - Errors of results against the reference -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Comparison.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

ErrorBound fa::getDefaultBound(Type type, bool isLse, Type narrowest,
                               bool keepsSingle) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element))
    return {ErrorMeasure::Exact, 0};
  bool isHalf = narrowest.isF16(), isBrain = narrowest.isBF16();
  if (isLse)
    return {ErrorMeasure::Largest, isHalf || isBrain ? 1e-4 : 1e-5};
  if (keepsSingle && element.isF32())
    return {ErrorMeasure::Relative, 2e-6};
  return {ErrorMeasure::Relative, isBrain ? 6e-3 : isHalf ? 1e-3 : 2e-6};
}

ErrorBound fa::getGradientBound(Type type, Type narrowest) {
  if (!isa<FloatType>(getElementTypeOrSelf(type)))
    return {ErrorMeasure::Exact, 0};
  return {ErrorMeasure::Relative, narrowest.isBF16()  ? 1.2e-2
                                  : narrowest.isF16() ? 2e-3
                                                      : 5e-6};
}

double Comparison::getError() const {
  return bound.measure == ErrorMeasure::Relative ? relative : largest;
}

bool Comparison::isMeaningless() const {
  return numCompared > 0 && numNaN == numCompared;
}

bool Comparison::passed() const {
  return numMismatches == 0 && !isMeaningless() && getError() <= bound.limit;
}

/// Whether both are NaN, the same infinity, or finite.
static bool hasSamePattern(double actual, double expected) {
  if (std::isfinite(expected) || std::isfinite(actual))
    return std::isfinite(expected) && std::isfinite(actual);
  return std::isnan(expected) ? std::isnan(actual) : actual == expected;
}

/// Whether `value` is the infinity that a type rounds `expected` to.
static bool isOverflow(double value, double expected, Type type) {
  if (!std::isinf(value) || !std::isfinite(expected) ||
      std::signbit(value) != std::signbit(expected))
    return false;
  llvm::APFloat rounded(expected);
  bool losesInfo;
  rounded.convert(cast<FloatType>(type).getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.isInfinity();
}

static void addMismatch(Comparison &result, int64_t element,
                        const std::string &text) {
  if (result.numMismatches++ > 0)
    return;
  result.firstMismatch = element;
  result.mismatch = text;
}

static void compareIntegers(const HostBuffer &actual, const Slot *expected,
                            int64_t i, Comparison &result) {
  int64_t value = actual.get(i).integer;
  if (value != expected[i].integer)
    addMismatch(result, i,
                llvm::formatv("{0} where the reference has {1}", value,
                              expected[i].integer));
}

static ArrayRefPtr pack(const RuntimeValue &value) {
  return value.object ? packArray(ArrayRefPtr(&value.array()))
                      : makeFilledArray({}, value.slot);
}

Comparison fa::compare(const HostBuffer &actual, const RuntimeValue &reference,
                       ErrorBound bound, const std::vector<int64_t> *elements,
                       const RuntimeValue *spoiled) {
  Comparison result;
  result.bound = bound;
  ArrayRefPtr packed = pack(reference);
  ArrayRefPtr packedSpoiled = spoiled ? pack(*spoiled) : nullptr;
  const Slot *expected = packed->data();
  result.numCompared = elements ? elements->size() : actual.getNumElements();
  double difference = 0, norm = 0;
  for (int64_t n = 0; n < result.numCompared; ++n) {
    int64_t i = elements ? (*elements)[n] : n;
    if (bound.measure == ErrorMeasure::Exact) {
      compareIntegers(actual, expected, i, result);
      ++result.numFinite;
      continue;
    }
    double value = actual.get(i).real, wanted = expected[i].real;
    if (spoiled && std::isnan(value) &&
        std::isnan(packedSpoiled->data()[i].real))
      wanted = value;
    result.numNaN += std::isnan(wanted);
    if (isOverflow(value, wanted, actual.elementType))
      continue;
    if (!hasSamePattern(value, wanted)) {
      addMismatch(
          result, i,
          llvm::formatv("{0} where the reference has {1}", value, wanted));
      continue;
    }
    if (!std::isfinite(wanted))
      continue;
    ++result.numFinite;
    difference += (value - wanted) * (value - wanted);
    norm += wanted * wanted;
    result.largest = std::max(result.largest, std::fabs(value - wanted));
  }
  result.relative =
      norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
  return result;
}
