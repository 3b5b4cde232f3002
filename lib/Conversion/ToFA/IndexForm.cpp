//===- IndexForm.cpp - Indices as linear forms ----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices as sums of variables times numbers: first the sums, then the
// variables with their bounds. Division is the hard part: `Variables::divide`
// takes out multiples of the divisor. Where the rest may reach it, it notes a
// variable that `split` then makes two digits of.
//
//===----------------------------------------------------------------------===//

#include "IndexForm.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// IndexForm
//===----------------------------------------------------------------------===//

std::optional<unsigned> IndexForm::getVariable() const {
  if (constant != 0 || terms.size() != 1 || terms.front().second != 1)
    return std::nullopt;
  return terms.front().first;
}

int64_t IndexForm::getFactor(unsigned variable) const {
  for (auto [candidate, factor] : terms)
    if (candidate == variable)
      return factor;
  return 0;
}

bool IndexForm::contains(unsigned variable) const {
  return getFactor(variable) != 0;
}

IndexForm IndexForm::operator+(const IndexForm &other) const {
  IndexForm sum(constant + other.constant);
  auto left = terms.begin(), right = other.terms.begin();
  while (left != terms.end() || right != other.terms.end()) {
    bool takeLeft = right == other.terms.end() ||
                    (left != terms.end() && left->first <= right->first);
    bool takeRight = left == terms.end() || (right != other.terms.end() &&
                                             right->first <= left->first);
    unsigned variable = takeLeft ? left->first : right->first;
    int64_t factor =
        (takeLeft ? left->second : 0) + (takeRight ? right->second : 0);
    if (factor != 0)
      sum.terms.emplace_back(variable, factor);
    left += takeLeft;
    right += takeRight;
  }
  return sum;
}

IndexForm IndexForm::operator*(int64_t factor) const {
  if (factor == 0)
    return 0;
  IndexForm product(*this);
  product.constant *= factor;
  for (auto &term : product.terms)
    term.second *= factor;
  return product;
}

IndexForm IndexForm::replace(unsigned variable, const IndexForm &by) const {
  int64_t factor = getFactor(variable);
  if (factor == 0)
    return *this;
  IndexForm rest(*this);
  llvm::erase_if(rest.terms,
                 [&](const auto &term) { return term.first == variable; });
  return rest + by * factor;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

unsigned Variables::make(const Extent &extent) {
  entries.push_back({extent, std::nullopt});
  return entries.size() - 1;
}

unsigned Variables::getBound(const Extent &extent,
                             ArrayRef<IndexForm> outside) {
  for (unsigned variable : bound) {
    if (!(entries[variable].extent == extent))
      continue;
    bool isTaken = llvm::any_of(getDigits(variable), [&](unsigned digit) {
      return llvm::any_of(
          outside, [&](const IndexForm &form) { return form.contains(digit); });
    });
    if (!isTaken)
      return variable;
  }
  bound.push_back(make(extent));
  return bound.back();
}

SmallVector<unsigned> Variables::getDigits(unsigned variable) const {
  if (!entries[variable].digits)
    return {variable};
  SmallVector<unsigned> digits = getDigits(entries[variable].digits->first);
  llvm::append_range(digits, getDigits(entries[variable].digits->second));
  return digits;
}

IndexForm Variables::getForm(unsigned variable) const {
  if (!entries[variable].digits) {
    IndexForm form;
    form.terms.emplace_back(variable, 1);
    return form;
  }
  auto [high, low] = *entries[variable].digits;
  return getForm(high) * entries[low].extent.getStatic() + getForm(low);
}

std::optional<std::pair<int64_t, int64_t>>
Variables::getRange(const IndexForm &form) const {
  int64_t low = form.constant, high = form.constant;
  for (auto [variable, factor] : form.terms) {
    const Extent &extent = entries[variable].extent;
    if (!extent.isStatic() || extent.getStatic() > (int64_t(1) << 40))
      return std::nullopt;
    (factor < 0 ? low : high) += factor * (extent.getStatic() - 1);
  }
  return std::make_pair(low, high);
}

std::optional<IndexForm> Variables::divide(const IndexForm &form,
                                           int64_t divisor) {
  IndexForm quotient(llvm::divideFloorSigned(form.constant, divisor));
  IndexForm rest(llvm::mod(form.constant, divisor));
  for (auto [variable, factor] : form.terms) {
    if (factor % divisor == 0)
      quotient.terms.emplace_back(variable, factor / divisor);
    else
      rest.terms.emplace_back(variable, factor);
  }
  auto range = getRange(rest);
  if (range && range->first >= 0 && range->second < divisor)
    return quotient;
  for (auto [variable, factor] : rest.terms) {
    if (factor <= 0 || divisor % factor != 0 || pending)
      continue;
    int64_t low = divisor / factor;
    const Extent &extent = entries[variable].extent;
    if (!extent.is(low) && extent.divideExactly(low))
      pending = {variable, low};
  }
  return std::nullopt;
}

bool Variables::split() {
  if (!pending)
    return false;
  auto [variable, low] = *pending;
  pending.reset();
  unsigned high = make(*entries[variable].extent.divideExactly(low));
  unsigned rest = make(low);
  entries[variable].digits = {high, rest};
  return true;
}
