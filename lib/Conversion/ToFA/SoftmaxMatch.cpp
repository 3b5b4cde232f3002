//===- SoftmaxMatch.cpp - Softmax between two products --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the outside in, as `match` calls it: factors of the weights, the
// exponent with what is subtracted in it, the denominator, conditions that set
// rows to 0 (EmptyRowMatch.cpp), then the score itself. A weight is divided by
// the sum of the same weights, so that what does not depend on the key cancels.
//
//===----------------------------------------------------------------------===//

#include "SoftmaxMatch.h"
#include "PositiveFactors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::fa;

/// Lower numbers in f32 stand for -inf: no score comes near them.
constexpr double hidingNumber = -1e30;
/// The same where `masks=assume-visible` promises it.
constexpr double promisedNumber = -1e4;

LogicalResult SoftmaxMatcher::refuse(const Node *node, const Twine &reason,
                                     unsigned progress) {
  if (progress >= refusal.progress)
    refusal = {node ? node->source : nullptr, reason.str(), progress};
  return failure();
}

bool SoftmaxMatcher::dependsOnKey(const Node *node) const {
  return node->dependsOn(digits);
}

bool SoftmaxMatcher::isRowReduction(const Node *node, Combiner combiner) const {
  return node->kind == NodeKind::Reduce && node->combiner == combiner &&
         ArrayRef<unsigned>(node->bound) == ArrayRef<unsigned>(keys);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// A number that is 0 under a condition, else what it was: `select(c, x, 0)`,
/// or x times one that is 1 or 0. Where it stays, and x.
static std::optional<std::pair<const Node *, const Node *>>
getKept(NodeGraph &graph, const Node *node) {
  if (node->isa<arith::MulFOp>())
    for (unsigned side : {1, 0}) {
      const Node *choice = node->operand(side);
      if (!choice->isa<arith::SelectOp>())
        continue;
      auto inner = getKept(graph, choice);
      if (inner && isReal(inner->second, 1))
        return std::make_pair(inner->first, node->operand(1 - side));
    }
  if (!node->isa<arith::SelectOp>())
    return std::nullopt;
  const Node *condition = node->operand(0);
  if (isReal(node->operand(1), 0))
    return std::make_pair(graph.getNot(condition), node->operand(2));
  if (isReal(node->operand(2), 0))
    return std::make_pair(condition, node->operand(1));
  return std::nullopt;
}

LogicalResult SoftmaxMatcher::collectFactors(const Node *node) {
  if (isReal(node, 1))
    return success();
  if (auto selected = getKept(graph, node)) {
    auto [condition, inner] = *selected;
    size_t firstKept = kept.size(), before = divisors.size();
    bool isInner = !weight, isOfPair = dependsOnKey(condition);
    SmallVector<Condition> &conditions = isOfPair ? kept : guards;
    size_t place = conditions.size();
    conditions.push_back({isOfPair ? condition : graph.getNot(condition)});
    if (failed(collectFactors(inner)))
      return failure();
    conditions[place].isOfQuotient = divisors.size() > before;
    // What is a form of the weight holds it, not yet divided.
    if (isInner && weight && divisors.size() == before) {
      WeightForm &form = weightForms.emplace_back(WeightForm{node, {}});
      for (const Condition &each : ArrayRef(kept).drop_front(firstKept))
        form.kept.push_back(each.node);
    }
    return success();
  }
  if (node->isa<arith::MulFOp>())
    return success(succeeded(collectFactors(node->operand(0))) &&
                   succeeded(collectFactors(node->operand(1))));
  if (node->isa<arith::DivFOp>()) {
    divisors.push_back(node->operand(1));
    return collectFactors(node->operand(0));
  }
  if (node->isa<math::ExpOp>() || node->isa<math::Exp2Op>()) {
    if (weight)
      return refuse(node, "weights are a product of two exponentials", 2);
    weight = node;
    weightForms.push_back({node, {}});
    return success();
  }
  bool isWider =
      node->isa<arith::ExtFOp>() && node->operand(0)->isa<arith::TruncFOp>();
  if (isWider || node->isa<arith::TruncFOp>())
    return refuse(isWider ? node->operand(0) : node,
                  "the softmax is rounded, and 'excess-precision' is false", 3);
  return refuse(node, "the softmax is changed before it multiplies values", 2);
}

const SoftmaxMatcher::WeightForm *
SoftmaxMatcher::findWeightForm(const Node *node) const {
  auto form = llvm::find_if(weightForms, [&](const WeightForm &candidate) {
    return candidate.node == node;
  });
  return form == weightForms.end() ? nullptr : &*form;
}

bool SoftmaxMatcher::isRowMaximum(const Node *node, const Node *of) const {
  // A maximum that is not finite is often replaced.
  if (node->isa<arith::SelectOp>()) {
    if (isReal(node->operand(2), 0))
      return isRowMaximum(node->operand(1), of);
    return isReal(node->operand(1), 0) && isRowMaximum(node->operand(2), of);
  }
  bool ignoresNaN = isRowReduction(node, Combiner::MaximumNumber);
  if (!ignoresNaN && !isRowReduction(node, Combiner::Maximum))
    return false;
  std::optional<APFloat> first = getFloat(node->operand(0));
  if (!first || node->operand(1) != of)
    return false;
  if (first->isNaN())
    return ignoresNaN;
  // -inf, or the least number of f32 or bf16, which the reader makes of f16's.
  return first->isNegative() &&
         (first->isInfinity() || first->convertToDouble() < -3.38e38);
}

/// A sum over the key of exponentials, as for a logarithm.
LogicalResult SoftmaxMatcher::matchShift(const Node *shift, const Node *inner) {
  if (isRowMaximum(shift, inner)) {
    subtractsMaximum |= shift->kind == NodeKind::Reduce;
    return success();
  }
  if (shift->isa<math::LogOp>()) {
    const Node *sum = shift->operand(0);
    if (isRowReduction(sum, Combiner::Add) && isReal(sum->operand(0), 0)) {
      const Node *term = sum->operand(1);
      // A factor of the exponent would be a power of the softmax.
      if (term->isa<math::ExpOp>() && weight->isa<math::ExpOp>() &&
          !writtenFactor && term->operand(0) == inner) {
        // Divided already: exp(x - log(sum)).
        divisors.push_back(nullptr);
        return success();
      }
    }
    return refuse(shift, "the logarithm is not of the sum of the weights", 3);
  }
  if (shift->kind == NodeKind::Reduce)
    return refuse(shift,
                  "what is subtracted from the scores is not their "
                  "maximum over the keys, started from -inf",
                  3);
  return refuse(
      shift, "something other than their maximum is subtracted from scores", 3);
}

LogicalResult SoftmaxMatcher::matchExponent() {
  const Node *exponent = weight->operand(0);
  if (!exponent->type.isF32())
    return refuse(weight, "the softmax is not computed in f32", 3);
  SmallVector<const Node *> outer;
  // exp2((x - m) * c): the factor belongs to the score.
  if (exponent->isa<arith::MulFOp>())
    for (unsigned side : {0, 1}) {
      const Node *difference = exponent->operand(1 - side);
      if (exponent->operand(side)->folded && difference->isa<arith::SubFOp>() &&
          difference->operand(1)->hasReduction) {
        writtenFactor = exponent->operand(side);
        exponent = difference;
        break;
      }
    }
  // exp(x - (m + log(sum))).
  SmallVector<const Node *> shifts;
  const Node *inner = exponent;
  constexpr unsigned maxShifts = 8;
  std::function<void(const Node *)> split = [&](const Node *sum) {
    if (sum->isa<arith::AddFOp>() && shifts.size() < maxShifts) {
      // The logarithm is the outer one.
      bool logFirst = sum->operand(0)->isa<math::LogOp>();
      split(sum->operand(logFirst ? 0 : 1));
      split(sum->operand(logFirst ? 1 : 0));
      return;
    }
    shifts.push_back(sum);
  };
  while (inner->isa<arith::SubFOp>() && !dependsOnKey(inner->operand(1)) &&
         inner->operand(1)->hasReduction) {
    split(inner->operand(1));
    inner = inner->operand(0);
  }
  subtractsAnything = !shifts.empty();
  // From the innermost: each is proved against what is left of it.
  const Node *left = inner;
  for (const Node *shift : llvm::reverse(shifts)) {
    if (failed(matchShift(shift, left)))
      return failure();
    left = graph.get<arith::SubFOp>({left, shift}, left->type);
  }
  if (!dependsOnKey(inner))
    return refuse(weight, "the softmax is not over the keys", 2);
  // What is subtracted besides cancels, but only if it is no reduction.
  score = written = inner;
  if (writtenFactor)
    score = graph.get<arith::MulFOp>({score, writtenFactor}, score->type);
  if (weight->isa<math::Exp2Op>()) {
    const Node *ln2 = graph.get<arith::TruncFOp>(
        {graph.getReal(0.693147180559945309417,
                       Float64Type::get(graph.getContext()))},
        score->type);
    score = graph.get<arith::MulFOp>({score, ln2}, score->type);
  }
  return success();
}

LogicalResult SoftmaxMatcher::matchDivisor(const Node *divisor) {
  // A sum of 0 is replaced where a row sees no key.
  if (divisor->isa<arith::SelectOp>()) {
    const Node *condition = divisor->operand(0);
    for (unsigned side : {1, 2}) {
      const Node *sum = divisor->operand(side);
      std::optional<double> other = getDouble(divisor->operand(3 - side));
      if (!isRowReduction(sum, Combiner::Add) || !other || *other == 0)
        continue;
      if (condition->isa<arith::CmpFOp>() && condition->operand(0) == sum &&
          isReal(condition->operand(1), 0)) {
        using Predicate = arith::CmpFPredicate;
        auto predicate =
            cast<arith::CmpFPredicateAttr>(condition->attribute).getValue();
        bool isEqual =
            predicate == Predicate::OEQ || predicate == Predicate::UEQ;
        bool isOther = predicate == Predicate::ONE ||
                       predicate == Predicate::UNE ||
                       predicate == Predicate::OGT;
        if ((isEqual && side == 2) || (isOther && side == 1)) {
          isSumGuarded = true;
          return matchDivisor(sum);
        }
      }
    }
  }
  if (!isRowReduction(divisor, Combiner::Add)) {
    bool isOtherSum =
        divisor->kind == NodeKind::Reduce && divisor->combiner == Combiner::Add;
    return refuse(divisor,
                  isOtherSum
                      ? Twine("the denominator is not a sum over the keys "
                              "that multiply values")
                      : Twine("the denominator is not the sum of the weights"),
                  4);
  }
  if (!isReal(divisor->operand(0), 0))
    return refuse(divisor, "the sum of the weights does not start at 0", 4);
  const Node *term = divisor->operand(1);
  // Weights of hidden keys are 0, and may be named so.
  if (term->isa<arith::SelectOp>() && !findWeightForm(term)) {
    const Node *condition = term->operand(0), *empty = getEmptiness(score);
    if (isReal(term->operand(2), 0) && graph.getNot(condition) == empty)
      term = term->operand(1);
    else if (isReal(term->operand(1), 0) && condition == empty)
      term = term->operand(2);
  }
  const WeightForm *form = findWeightForm(term);
  if (!form)
    return refuse(divisor,
                  "the denominator is a sum of something else than "
                  "the weights",
                  4);
  denominator = divisor;
  // Weights that are 0 in numerator and denominator hide their keys.
  if (term != weight) {
    hidesWeights = true;
    llvm::append_range(maskConditions, form->kept);
    llvm::erase_if(kept, [&](const Condition &condition) {
      return !condition.isOfQuotient &&
             llvm::is_contained(form->kept, condition.node);
    });
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The score
//===----------------------------------------------------------------------===//

/// Whether each row provably sees a key: the first, the last, or the one that
/// stands where the query does.
bool SoftmaxMatcher::seesKey(const Node *mask) {
  // A key of several indices has no place in a row.
  if (digits.size() != 1)
    return false;
  Variables &variables = graph.getVariables();
  unsigned key = digits.front();
  const Extent &extent = variables.getExtent(key);
  SmallVector<IndexForm> witnesses{0};
  if (extent.isStatic())
    witnesses.push_back(extent.getStatic() - 1);
  for (unsigned variable : mask->freeVariables) {
    Extent others = extent - variables.getExtent(variable);
    if (variable == key || !extents.isNonNegative(others))
      continue;
    IndexForm same = variables.getForm(variable);
    witnesses.push_back(same);
    if (others.isStatic())
      witnesses.push_back(same + IndexForm(others.getStatic()));
  }
  return llvm::any_of(witnesses, [&](const IndexForm &witness) {
    return evaluateCondition(graph, mask, key, witness).value_or(false);
  });
}

/// Whether what fills hidden places is multiplied by less than half. Constants
/// such as log2(e) and ln(2) leave it a number that hides.
static bool isScaledDown(const Node *score) {
  double factor = 1;
  while (std::optional<Scaling> scaling = getScaling(score)) {
    factor *= scaling->factor;
    score = score->operand(scaling->side);
  }
  return factor < 0.5;
}

LogicalResult SoftmaxMatcher::takeApart(SoftmaxMatch &match) {
  bool assumes = options.masks == RaisedMasks::AssumeVisible;
  // What hides keys: (condition to be visible, whether by a finite number).
  const Node *rest = score;
  struct Hiding {
    const Node *visible;
    std::optional<double> number;
  };
  auto look = [&](const Node *node, const Node *&inner,
                  bool adds) -> std::optional<Hiding> {
    if (!node->isa<arith::SelectOp>())
      return std::nullopt;
    for (unsigned side : {2, 1}) {
      std::optional<double> number = getDouble(node->operand(side));
      inner = node->operand(3 - side);
      if (!number || (adds && !isReal(inner, 0)))
        continue;
      const Node *condition = node->operand(0);
      if (condition->hasMatrix)
        continue;
      const Node *visible = side == 2 ? condition : graph.getNot(condition);
      if (std::isinf(*number) && *number < 0)
        return Hiding{visible, std::nullopt};
      // The exponential of such a number is 0.
      if (!subtractsAnything && *number <= promisedNumber)
        return Hiding{visible, std::nullopt};
      if (*number <= (assumes ? promisedNumber : hidingNumber))
        return Hiding{visible, number};
    }
    return std::nullopt;
  };
  SmallVector<const Node *> visible;
  bool hidesByInfinity = false, hidesByNumber = false;
  auto collect = [&](bool allowsNumbers) {
    rest = score;
    visible = maskConditions;
    hidesByInfinity = !visible.empty();
    hidesByNumber = false;
    while (true) {
      const Node *inner = nullptr;
      const Node *fill = isScaledDown(rest) ? rest : withoutFactors(rest);
      std::optional<Hiding> hiding = look(fill, inner, /*adds=*/false);
      if (!hiding && fill->isa<arith::AddFOp>())
        for (unsigned side : {0, 1}) {
          const Node *unused;
          hiding = look(fill->operand(side), unused, /*adds=*/true);
          inner = fill->operand(1 - side);
          if (hiding)
            break;
        }
      if (!hiding || (hiding->number && !allowsNumbers))
        return;
      hidesByInfinity |= !hiding->number;
      hidesByNumber |= hiding->number.has_value();
      visible.push_back(hiding->visible);
      rest = fill == rest ? inner : replaceScaled(graph, rest, inner);
    }
  };
  auto join = [&] {
    match.mask = nullptr;
    for (const Node *condition : visible)
      match.mask = match.mask ? graph.get<arith::AndIOp>(
                                    {match.mask, condition}, condition->type)
                              : condition;
    return !match.mask || seesKey(match.mask);
  };
  // A finite number hides a key only beside one that is visible.
  collect(/*allowsNumbers=*/true);
  bool isVisible = join();
  if (hidesByNumber && !assumes && !isVisible) {
    collect(/*allowsNumbers=*/false);
    isVisible = join();
  }
  match.score = rest;
  if (match.mask && match.mask->hasMatrix)
    return refuse(match.mask, "a mask depends on the scores", 6);
  hasEmptyScores =
      !assumes && ((hidesByInfinity && !isVisible) || mayBeEmpty(match.score));
  match.isNaNWithoutKeys = hasEmptyScores && !isGuarded;
  if (!match.score->hasMatrix)
    return refuse(match.score, "the softmax is not of a matrix product", 6);
  return success();
}

/// Takes multiplications of the product by numbers out of the score.
void SoftmaxMatcher::takeScale(SoftmaxMatch &match) {
  // The users of each node in the score.
  DenseMap<const Node *, SmallVector<const Node *>> users;
  llvm::SmallPtrSet<const Node *, 32> seen;
  std::function<void(const Node *)> visit = [&](const Node *node) {
    if (!seen.insert(node).second)
      return;
    for (const Node *operand : node->operands) {
      users[operand].push_back(node);
      visit(operand);
    }
  };
  visit(match.score);
  const Node *scaled = match.product;
  while (scaled != match.score && users[scaled].size() == 1) {
    const Node *user = users[scaled].front();
    bool multiplies = user->isa<arith::MulFOp>();
    if (!multiplies && !user->isa<arith::DivFOp>())
      break;
    unsigned side = user->operand(0) == scaled ? 1 : 0;
    const Node *number = user->operand(side);
    if ((!multiplies && side == 0) || !number->freeVariables.empty() ||
        number->hasReduction || number->hasMatrix || !number->type.isF32())
      break;
    (multiplies ? match.factors : match.divisors).push_back(number);
    scaled = user;
  }
  match.scaled = scaled;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

FailureOr<SoftmaxMatch> SoftmaxMatcher::match(ArrayRef<const Node *> weights,
                                              const Node *divisor) {
  // As the product that they are, which may be what is added up, too.
  const Node *factors = nullptr;
  for (const Node *factor : weights)
    factors = factors ? graph.get<arith::MulFOp>({factors, factor},
                                                 factors->type, factor->source)
                      : factor;
  if (factors && failed(collectFactors(factors)))
    return failure();
  if (!weight) {
    (void)refuse(weights.empty() ? nullptr : weights.front(),
                 "the weights are no exponentials", 1);
    return failure();
  }
  if (divisor)
    divisors.push_back(divisor);
  if (failed(matchExponent()))
    return failure();
  if (divisors.size() != 1) {
    (void)refuse(weight,
                 divisors.empty()
                     ? Twine("the weights are not divided by their sum")
                     : Twine("the weights are divided more than once"),
                 divisors.empty() ? 3 : 4);
    return failure();
  }
  if (divisors.front() && failed(matchDivisor(divisors.front())))
    return failure();
  if (failed(matchGuards()))
    return failure();

  SoftmaxMatch match;
  if (failed(takeApart(match)))
    return failure();
  // All elements of the product in the score are one.
  llvm::SmallPtrSet<const Node *, 32> seen;
  bool isOne = true, isPair = true;
  std::function<void(const Node *)> visit = [&](const Node *node) {
    if (!node->hasMatrix || !seen.insert(node).second)
      return;
    if (node->kind == NodeKind::Load && node->value == graph.matrix) {
      isOne &= !match.product || match.product == node;
      match.product = node;
    }
    isPair &= node->kind != NodeKind::Reduce;
    llvm::for_each(node->operands, visit);
  };
  visit(match.score);
  if (!isOne || !isPair) {
    (void)refuse(match.score, "a score depends on other pairs' products", 6);
    return failure();
  }
  takeScale(match);
  return match;
}
