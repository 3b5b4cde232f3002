//===- SoftmaxMatch.h - Softmax between two products ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proves that factors of a sum over keys are a softmax of scores, and takes
// the score apart: a product, a scale, a score function, a mask.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_SOFTMAXMATCH_H
#define FA_LIB_CONVERSION_TOFA_SOFTMAXMATCH_H

#include "ElementReader.h"
#include "fa/Conversion/ToFA/Passes.h"

namespace mlir::fa {

/// Why something is no attention, and where that shows.
struct Refusal {
  Operation *op = nullptr;
  std::string reason;
  /// How far the proof came: the furthest refusal is told.
  unsigned progress = 0;
};

struct SoftmaxMatch {
  /// The element of the first product.
  const Node *product = nullptr;
  /// Numbers that multiply the product, and that divide it.
  SmallVector<const Node *> factors, divisors;
  /// What the factors have made of the product; part of `score`.
  const Node *scaled = nullptr;
  /// The score, in natural-logarithm units.
  const Node *score = nullptr;
  /// Where a key is visible; null for everywhere.
  const Node *mask = nullptr;
  /// A row that sees no key is NaN.
  bool isNaNWithoutKeys = false;
};

class SoftmaxMatcher {
public:
  SoftmaxMatcher(ElementReader &reader, const RaiseAttentionOptions &options,
                 ArrayRef<unsigned> keys, Refusal &refusal)
      : graph(reader.getGraph()), extents(reader.getExtents()),
        options(options), keys(keys), refusal(refusal) {
    for (unsigned key : keys)
      llvm::append_range(digits, graph.getVariables().getDigits(key));
  }

  /// `weights` multiply an element of the values in the sum over the keys;
  /// `divisor`, if there is one, divides the sum.
  FailureOr<SoftmaxMatch> match(ArrayRef<const Node *> weights,
                                const Node *divisor);

  /// Whether `node` is the logarithm of the sum of the exponentials of the
  /// scores that `match` found, in units of `factor`: 1 for natural ones, 1 /
  /// ln(2) for those of base 2. A row that sees no key gives -inf, or NaN.
  struct LogSumExp {
    double factor = 1;
    bool isNaNWithoutKeys = false;
  };
  std::optional<LogSumExp> matchLogSumExp(const Node *node);

private:
  LogicalResult refuse(const Node *node, const Twine &reason,
                       unsigned progress);
  bool dependsOnKey(const Node *node) const;
  bool isRowReduction(const Node *node, Combiner combiner) const;
  LogicalResult collectFactors(const Node *node);
  LogicalResult matchExponent();
  LogicalResult matchShift(const Node *shift, const Node *inner);
  bool isRowMaximum(const Node *node, const Node *of) const;
  LogicalResult matchDivisor(const Node *divisor);
  LogicalResult matchGuards();
  bool isEmptyRow(const Node *condition);
  /// Where an element is -inf.
  const Node *getEmptiness(const Node *node);
  const Node *getEmptinessOf(const Node *node);
  LogicalResult takeApart(SoftmaxMatch &match);
  bool seesKey(const Node *mask);
  void takeScale(SoftmaxMatch &match);
  bool mayBeEmpty(const Node *node);

  NodeGraph &graph;
  const ExtentReader &extents;
  const RaiseAttentionOptions &options;
  /// The variables of the key, sorted, and what they are divided into.
  SmallVector<unsigned> keys, digits;
  Refusal &refusal;

  /// exp(...), and the same with what sets elements of it to 0: conditions on a
  /// pair under which it stays.
  const Node *weight = nullptr;
  struct WeightForm {
    const Node *node;
    SmallVector<const Node *> kept;
  };
  SmallVector<WeightForm> weightForms;
  const WeightForm *findWeightForm(const Node *node) const;
  /// A condition, and whether what it selects is divided already.
  struct Condition {
    const Node *node;
    bool isOfQuotient = false;
  };
  /// Those on a pair under which its weight stays.
  SmallVector<Condition> kept;
  /// Those on a row under which it is 0.
  SmallVector<Condition> guards;
  SmallVector<const Node *> divisors;
  bool isGuarded = false;
  /// A sum of 0 is replaced before it divides.
  bool isSumGuarded = false;
  /// There is something subtracted from scores that depends on the row.
  bool subtractsAnything = false;
  /// The maximum is subtracted even where it is -inf.
  bool subtractsMaximum = false;
  const Node *score = nullptr;
  /// The score as the source has it: what a maximum is subtracted from, and a
  /// number that multiplies the difference, if any.
  const Node *written = nullptr, *writtenFactor = nullptr;
  /// The sum of the weights, and whether weights in it are set to 0.
  const Node *denominator = nullptr;
  bool hidesWeights = false;
  /// A row of scores may be -inf everywhere.
  bool hasEmptyScores = false;
  SmallVector<const Node *> maskConditions;
  DenseMap<const Node *, const Node *> emptiness;
};

/// Whether a condition holds with a form in place of a variable, whatever the
/// other variables are; nothing where that is not known.
std::optional<bool> evaluateCondition(NodeGraph &graph, const Node *condition,
                                      unsigned variable, const IndexForm &by,
                                      unsigned depth = 0);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_SOFTMAXMATCH_H
