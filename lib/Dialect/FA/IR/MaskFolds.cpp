//===- MaskFolds.cpp - Comparisons of a mask in one normal form -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A comparison that is linear in the key, with coefficient 1 or -1, becomes
//   key (sle | sge | eq | ne) [c * query +] (symbols + constant)
// in index type, with slt or sgt where these need no constant. `mask causal` is
// written like this too, so that a causal mask spelled by hand ends as the same
// text.
//
//===----------------------------------------------------------------------===//

#include "Folds.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/MaskExpression.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Writes linear forms as arithmetic, always in the same way.
class FormWriter {
public:
  FormWriter(OpBuilder &builder, Location loc, Value query)
      : builder(builder), loc(loc), query(query) {}

  Value write(const LinearForm &form);

private:
  /// A value to add (or subtract), without its sign.
  Value writeTerm(Value term, int64_t magnitude);
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  /// `sum + sign * value`; a null sum is empty.
  Value accumulate(Value sum, Value value, bool positive);

  OpBuilder &builder;
  Location loc;
  Value query;
};

} // namespace

// Lengths first, then arguments and results in their order.
static std::pair<unsigned, unsigned> getRank(Value term) {
  if (auto argument = dyn_cast<BlockArgument>(term))
    return {2, argument.getArgNumber()};
  Operation *op = term.getDefiningOp();
  if (isa<KeyLengthOp>(op))
    return {0, 0};
  if (isa<QueryLengthOp>(op))
    return {1, 0};
  return {3, 0};
}

static bool isBefore(Value a, Value b) {
  auto rankA = getRank(a), rankB = getRank(b);
  if (rankA != rankB || rankA.first != 3)
    return rankA < rankB;
  return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
}

Value FormWriter::writeTerm(Value term, int64_t magnitude) {
  Type index = builder.getIndexType();
  if (term.getDefiningOp<KeyLengthOp>())
    term = KeyLengthOp::create(builder, loc, index);
  else if (term.getDefiningOp<QueryLengthOp>())
    term = QueryLengthOp::create(builder, loc, index);
  term = createIndexOf(builder, loc, term);
  if (magnitude == 1)
    return term;
  return arith::MulIOp::create(builder, loc, term, constant(magnitude));
}

Value FormWriter::accumulate(Value sum, Value value, bool positive) {
  if (!sum && positive)
    return value;
  if (positive)
    return arith::AddIOp::create(builder, loc, sum, value);
  if (!sum)
    sum = constant(0);
  return arith::SubIOp::create(builder, loc, sum, value);
}

Value FormWriter::write(const LinearForm &form) {
  SmallVector<std::pair<Value, int64_t>> symbols;
  for (auto entry : form.terms)
    if (entry.first != query)
      symbols.push_back(entry);
  llvm::sort(symbols, [](auto &a, auto &b) {
    if ((a.second > 0) != (b.second > 0))
      return a.second > 0;
    return isBefore(a.first, b.first);
  });
  Value sum;
  // What is subtracted from a constant folds to that: it is written so at once,
  // or the two forms would take turns.
  bool isFirst =
      form.constant != 0 && !symbols.empty() && symbols.front().second < 0;
  if (isFirst)
    sum = constant(form.constant);
  for (auto [term, coefficient] : symbols)
    sum = accumulate(sum, writeTerm(term, std::abs(coefficient)),
                     coefficient > 0);
  if (form.constant != 0 && !isFirst)
    sum = accumulate(sum, constant(form.constant), /*positive=*/true);
  int64_t coefficient = form.getCoefficient(query);
  if (coefficient == 0)
    return sum ? sum : constant(0);
  Value scaled = writeTerm(query, std::abs(coefficient));
  if (coefficient < 0)
    return accumulate(sum, scaled, /*positive=*/false);
  return sum ? arith::AddIOp::create(builder, loc, scaled, sum) : scaled;
}

// Whether two values are computed in the same way.
static bool isSameTree(Value a, Value b) {
  if (a == b)
    return true;
  Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
  if (!opA || !opB)
    return false;
  return OperationEquivalence::isEquivalentTo(
      opA, opB, [](Value x, Value y) { return success(isSameTree(x, y)); },
      /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

namespace {

/// A comparison of the mask, which is `key predicate bound`.
struct KeyComparison {
  Operation *op;
  arith::CmpIPredicate predicate;
  LinearForm bound;
  bool isAlwaysTrue = false;
};

} // namespace

static std::optional<KeyComparison> getComparison(MaskNormalizer &normalizer,
                                                  Operation *comparison) {
  auto difference = normalizer.getDifference(comparison);
  if (!difference)
    return std::nullopt;
  auto [predicate, form] = *difference;
  for (auto [term, coefficient] : form.terms)
    if (normalizer.dependsOnKey(term))
      return std::nullopt;
  // As indices it would not wrap.
  if (!form.mayWrap.empty() || form.overflows ||
      (form.key != 1 && form.key != -1))
    return std::nullopt;
  using Predicate = arith::CmpIPredicate;
  // form < 0 is form + 1 <= 0, and form > 0 is form - 1 >= 0.
  if (predicate == Predicate::slt) {
    predicate = Predicate::sle;
    form.addConstant(1);
  } else if (predicate == Predicate::sgt) {
    predicate = Predicate::sge;
    form.addConstant(-1);
  }
  int64_t sign = form.key;
  form.key = 0;
  LinearForm bound;
  bound.add(form, -sign);
  if (bound.overflows)
    return std::nullopt;
  if (sign < 0 && predicate == Predicate::sle)
    predicate = Predicate::sge;
  else if (sign < 0 && predicate == Predicate::sge)
    predicate = Predicate::sle;
  return KeyComparison{comparison, predicate, bound};
}

// No key is below 0 or at or past the key length.
static bool isAlwaysTrue(MaskNormalizer &normalizer,
                         const KeyComparison &comparison) {
  auto isNeverNegative = [&](const LinearForm &form) {
    return !form.overflows && form.constant >= 0 &&
           llvm::all_of(form.terms, [&](auto &entry) {
             return entry.second > 0 && normalizer.isNonNegative(entry.first);
           });
  };
  LinearForm slack;
  if (comparison.predicate == arith::CmpIPredicate::sge)
    return isNeverNegative(slack.add(comparison.bound, -1));
  if (comparison.predicate != arith::CmpIPredicate::sle)
    return false;
  slack.add(comparison.bound).addConstant(1);
  for (auto [term, coefficient] : comparison.bound.terms)
    if (term.getDefiningOp<KeyLengthOp>())
      return isNeverNegative(slack.add(LinearForm::getTerm(term), -1));
  return false;
}

// A strict comparison where it saves the constant.
static void makeStrict(KeyComparison &comparison) {
  using Predicate = arith::CmpIPredicate;
  int64_t constant = comparison.bound.constant;
  if (comparison.predicate == Predicate::sle && constant == -1) {
    comparison.predicate = Predicate::slt;
    comparison.bound.constant = 0;
  } else if (comparison.predicate == Predicate::sge && constant == 1) {
    comparison.predicate = Predicate::sgt;
    comparison.bound.constant = 0;
  }
}

/// Writes a comparison as one with the key; false where it is one.
static bool normalize(RewriterBase &rewriter, MaskNormalizer &normalizer,
                      KeyComparison &comparison) {
  Location loc = comparison.op->getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(comparison.op);
  if (comparison.isAlwaysTrue) {
    rewriter.replaceOpWithNewOp<arith::ConstantIntOp>(comparison.op, 1,
                                                      /*width=*/1);
    return true;
  }
  makeStrict(comparison);
  auto write = [&](OpBuilder &builder) -> Operation * {
    Value bound =
        FormWriter(builder, loc, normalizer.getQuery()).write(comparison.bound);
    return arith::CmpIOp::create(builder, loc, comparison.predicate,
                                 normalizer.getKey(), bound);
  };
  // Written aside first: what has this form already must stay as it is.
  Block scratch;
  OpBuilder aside(comparison.op->getContext());
  aside.setInsertionPointToEnd(&scratch);
  if (isSameTree(write(aside)->getResult(0), comparison.op->getResult(0)))
    return false;
  rewriter.replaceOp(comparison.op, write(rewriter));
  return true;
}

namespace {

/// Looks at the yield of a mask and not at the attention, which a driver comes
/// back to for each operation in it that folds.
struct NormalizeComparisons : public OpRewritePattern<YieldOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(YieldOp yield,
                                PatternRewriter &rewriter) const override {
    Region *region = yield->getParentRegion();
    auto attention = dyn_cast<AttentionLikeOpInterface>(yield->getParentOp());
    if (!attention || region != &attention.getMask())
      return failure();
    MaskNormalizer normalizer(*region);
    SmallVector<KeyComparison> known;
    for (Operation &nested : region->front())
      if (isa<arith::CmpIOp, index::CmpOp>(nested) &&
          normalizer.dependsOnKey(nested.getResult(0)))
        if (auto found = getComparison(normalizer, &nested)) {
          found->isAlwaysTrue = isAlwaysTrue(normalizer, *found);
          known.push_back(*found);
        }
    // What one replaces is no term of another: terms do not depend on the key.
    bool isChanged = false;
    for (KeyComparison &comparison : known)
      isChanged |= normalize(rewriter, normalizer, comparison);
    return success(isChanged);
  }
};

} // namespace

void mlir::fa::populateMaskFolds(RewritePatternSet &patterns) {
  patterns.add<NormalizeComparisons>(patterns.getContext());
}
