//===- MaskExpression.h - Normal form of a mask region -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A mask region as a boolean combination of conditions, each one a linear
// form in the key that must not be positive. What a linear form adds to its
// multiple of the key are symbols, values that depend on batch and head at
// most, and values that are monotonic in the query. Whatever is neither is
// unknown, with the operation that is to blame.
//
// Conditions are rearranged, so arithmetic of indices in a mask region must not
// leave 64 bits, and what is compared with a key stays within 2^62. Where a
// divisor multiplies a side, one number that may be as large as that is held
// closer. Arithmetic of fewer bits may wrap: a form of what is not known to fit
// its type names it, and holds where it fits.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_MASKEXPRESSION_H
#define FA_DIALECT_FA_IR_MASKEXPRESSION_H

#include "fa/Dialect/FA/IR/IntegerRanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::fa {

/// The index that is visited, block by block, for a block of the other one.
enum class VisitedIndex { Key, Query };

/// How a value changes while the query grows, for a fixed batch, head and key.
enum class Direction { Constant, Increasing, Decreasing, Unknown };

/// `key * (the key) + sum of coefficient * term + constant`. The terms are
/// values inside the region, of integer or index type.
struct LinearForm {
  int64_t key = 0;
  int64_t constant = 0;
  SmallVector<std::pair<Value, int64_t>, 4> terms;
  /// Values of fewer than 64 bits. Where the form of each, as a sum without
  /// bounds, fits its type, this form is what the region computes.
  SmallVector<Value, 1> mayWrap;
  /// A constant or coefficient left 64 bits: the form says nothing.
  bool overflows = false;
  /// A divisor multiplies a part, so that a sum may leave 64 bits though no sum
  /// of the region does.
  bool isScaled = false;
  /// Of a condition: a term whose product is far from all else where it reaches
  /// 2^61, and is held to that. Null where there is none.
  Value saturated;

  static LinearForm getConstant(int64_t value) {
    LinearForm form;
    form.constant = value;
    return form;
  }
  static LinearForm getTerm(Value term) {
    LinearForm form;
    form.terms.push_back({term, 1});
    return form;
  }
  /// Whether it is `constant`, whatever wraps.
  bool isConstant() const {
    return key == 0 && terms.empty() && mayWrap.empty() && !overflows;
  }
  int64_t getCoefficient(Value term) const;
  /// Adds `factor * other`. Terms that cancel disappear.
  LinearForm &add(const LinearForm &other, int64_t factor = 1);
  LinearForm &addConstant(int64_t value) { return add(getConstant(value)); }
};

/// A node of the normal form. Negation is pushed into the leaves.
struct MaskExpression {
  enum class Kind {
    True,
    False,
    /// `form <= 0`.
    NonPositive,
    /// `condition`, an i1 that depends on batch and head at most.
    Condition,
    /// Nothing is known.
    Unknown,
    And,
    Or
  };

  Kind kind;
  LinearForm form;
  Value condition;
  bool negated = false;
  // Not a SmallVector: the type is still incomplete here.
  std::vector<MaskExpression> operands;

  explicit MaskExpression(Kind kind) : kind(kind) {}
  MaskExpression(const MaskExpression &) = default;
  // A vector that grows copies what may throw, and all that is in it.
  MaskExpression(MaskExpression &&) noexcept = default;
  MaskExpression &operator=(MaskExpression &&) noexcept = default;
};

/// An operation of the mask that the analysis cannot see through, and why.
struct MaskObstacle {
  Operation *operation;
  std::string reason;
};

/// The index that is equal to an integer of at most 64 bits. An index cast to
/// fewer bits and back folds to the index: it is cut by a truncation here.
Value createIndexOf(OpBuilder &builder, Location loc, Value integer);

/// Brings a mask region into normal form. The region's arguments are
/// (batch, head, query, key, captures...); an empty region is always true.
/// Only reads the IR. Where queries are visited, query and key change places:
/// what is said of the key, here and in the normal form, holds of the query.
class MaskNormalizer {
public:
  explicit MaskNormalizer(Region &region,
                          VisitedIndex visited = VisitedIndex::Key);

  const MaskExpression &getExpression() const { return expression; }
  /// One entry for each operation that made a part of the mask unknown.
  ArrayRef<MaskObstacle> getObstacles() const { return obstacles; }

  Value getBatch() const { return region.getArgument(0); }
  Value getHead() const { return region.getArgument(1); }
  Value getQuery() const {
    return region.getArgument(visited == VisitedIndex::Key ? 2 : 3);
  }
  Value getKey() const {
    return region.getArgument(visited == VisitedIndex::Key ? 3 : 2);
  }

  /// The linear form of an integer value of the region, or nothing where its
  /// dependence on the key is not understood. Such values become terms.
  LinearForm getForm(Value value);
  /// The predicate and `left - right` of a comparison in the region; nothing
  /// where it is unsigned and a side may be negative.
  std::optional<std::pair<arith::CmpIPredicate, LinearForm>>
  getDifference(Operation *comparison);
  /// Whether a value is known not to be negative.
  bool isNonNegative(Value value) { return ranges.get(value).isNonNegative(); }
  bool dependsOnKey(Value value) { return getDependence(value) & keyBit; }
  bool dependsOnQuery(Value value) { return getDependence(value) & queryBit; }
  /// Direction of a value that does not depend on the key, and of a form where
  /// it holds.
  Direction getDirection(Value value);
  Direction getDirection(const LinearForm &form);

private:
  static constexpr unsigned keyBit = 1;
  static constexpr unsigned queryBit = 2;

  unsigned getDependence(Value value);
  std::optional<LinearForm> getForm(AffineExpr expr, ValueRange dims,
                                    ValueRange symbols);
  /// `floor(value / divisor)` with a positive constant divisor.
  std::optional<std::pair<Value, int64_t>> getFloorDiv(Value value);

  MaskExpression build(Value value, bool negated);
  MaskExpression buildComparison(Operation *op, bool negated);
  MaskExpression buildJunction(MaskExpression::Kind kind, MaskExpression lhs,
                               MaskExpression rhs);
  /// `form <= 0`, with terms that depend on the key expanded.
  MaskExpression buildNonPositive(LinearForm form, Operation *source);
  std::optional<MaskExpression> expandTerm(Value term, int64_t coefficient,
                                           const LinearForm &rest,
                                           Operation *source);
  MaskExpression buildFloorDivision(Value dividend, int64_t divisor,
                                    int64_t coefficient, const LinearForm &rest,
                                    Operation *source);
  /// A condition whose terms are all monotonic.
  MaskExpression buildCondition(LinearForm form, Operation *source);
  /// Holds the one part of a condition that may leave 64 bits; false where
  /// there are several.
  bool saturate(LinearForm &form);
  MaskExpression buildUnknown(Operation *op, const std::string &reason);

  LinearForm computeForm(Value value);
  LinearForm keepToType(Value value, LinearForm form);
  IntegerRange getRange(const LinearForm &form);
  Direction computeDirection(Value value);
  std::string getReason(Value term);

  Region &region;
  VisitedIndex visited;
  // What is known of each value; values may be used many times.
  DenseMap<Value, unsigned> dependence;
  DenseMap<Value, LinearForm> forms;
  DenseMap<Value, Direction> directions;
  IntegerRanges ranges{/*firstPosition=*/0};
  /// Values whose forms cannot be told from what wraps.
  DenseSet<Value> wrapping;
  /// The value that stands for every fa.query_length and fa.key_length.
  Value queryLength, keyLength;
  SmallVector<MaskObstacle> obstacles;
  /// Expansion of max, min, select and xor doubles conditions: it stops here.
  unsigned remainingSteps = 512;
  MaskExpression expression;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_IR_MASKEXPRESSION_H
