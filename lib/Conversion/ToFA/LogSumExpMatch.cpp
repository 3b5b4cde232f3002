//===- LogSumExpMatch.cpp - Logarithms of denominators --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A source may return the logarithm of a softmax's sums, in a base of its own:
// a log(sum(exp(x - m))) + b m, with log and exp of base e or 2 and numbers a
// and b. It is ln(sum(exp(score))) times a number where a and b fit each other
// to the rounding of float64: ln(2) as a number of f32 does not fit.
//
//===----------------------------------------------------------------------===//

#include "SoftmaxMatch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {
/// A number times a logarithm, and a number times what is added to it.
struct LogAndShift {
  const Node *logarithm = nullptr, *shift = nullptr;
  double ofLogarithm = 0, ofShift = 0;
};
} // namespace

static bool isLogarithm(const Node *node) {
  return node->isa<math::LogOp>() || node->isa<math::Log2Op>();
}

/// Adds `factor` times `node` to `terms`; false if there are others.
static bool collect(const Node *node, double factor, LogAndShift &terms) {
  if (node->isa<arith::AddFOp>())
    return collect(node->operand(0), factor, terms) &&
           collect(node->operand(1), factor, terms);
  if (node->isa<arith::NegFOp>())
    return collect(node->operand(0), -factor, terms);
  bool divides = node->isa<arith::DivFOp>();
  if (divides || node->isa<arith::MulFOp>())
    for (unsigned side : {1, 0}) {
      std::optional<double> number = getDouble(node->operand(side));
      if (!number || !std::isfinite(*number) || *number == 0 ||
          (divides && side == 0))
        continue;
      return collect(node->operand(1 - side),
                     divides ? factor / *number : factor * *number, terms);
    }
  bool isLog = isLogarithm(node);
  const Node *&place = isLog ? terms.logarithm : terms.shift;
  if (place)
    return false;
  place = node;
  (isLog ? terms.ofLogarithm : terms.ofShift) = factor;
  return true;
}

std::optional<SoftmaxMatcher::LogSumExp>
SoftmaxMatcher::matchLogSumExp(const Node *node) {
  // Into a narrower type at the end.
  if (node->isa<arith::TruncFOp>())
    node = node->operand(0);
  LogAndShift terms;
  if (!collect(node, 1, terms) || !terms.logarithm)
    return std::nullopt;
  const Node *sum = terms.logarithm->operand(0);
  if (sum->isa<math::AbsFOp>())
    sum = sum->operand(0);
  if (!isRowReduction(sum, Combiner::Add) || !isReal(sum->operand(0), 0))
    return std::nullopt;
  // Of weights that are set to 0 only their own sum is known.
  const Node *term = sum->operand(1);
  if (hidesWeights && (sum != denominator || mayBeEmpty(score)))
    return std::nullopt;
  if (hidesWeights)
    term = weight;
  bool isBinary = weight->isa<math::Exp2Op>();
  if (isBinary ? !term->isa<math::Exp2Op>() : !term->isa<math::ExpOp>())
    return std::nullopt;

  LogSumExp result;
  result.factor = terms.ofLogarithm;
  if (terms.logarithm->isa<math::Log2Op>())
    result.factor /= llvm::numbers::ln2;
  if (!terms.shift)
    return term->operand(0) == written && !writtenFactor ? std::optional(result)
                                                         : std::nullopt;
  if (!isRowMaximum(terms.shift, written))
    return std::nullopt;
  const Node *exponent =
      graph.get<arith::SubFOp>({written, terms.shift}, written->type);
  // What one unit of the shift is in the natural logarithm.
  double unit = isBinary ? llvm::numbers::ln2 : 1;
  if (writtenFactor) {
    exponent =
        graph.get<arith::MulFOp>({exponent, writtenFactor}, written->type);
    unit *= *getDouble(writtenFactor);
  }
  if (term->operand(0) != exponent)
    return std::nullopt;
  // Some roundings of float64, here and where constants were multiplied.
  double wanted = result.factor * unit;
  constexpr double rounding = 0x1p-50;
  if (std::abs(terms.ofShift - wanted) > rounding * std::abs(wanted)) {
    std::string reason;
    llvm::raw_string_ostream(reason)
        << "the maximum's factor in this logarithm of sums is "
        << llvm::format("%.17g", terms.ofShift) << ", expected "
        << llvm::format("%.17g", wanted);
    (void)refuse(node, reason, 10);
    return std::nullopt;
  }
  // The difference of -inf and -inf.
  if (terms.shift->kind == NodeKind::Reduce)
    result.isNaNWithoutKeys = hasEmptyScores && !hidesWeights &&
                              !getFloat(terms.shift->operand(0))->isFinite();
  return result;
}
