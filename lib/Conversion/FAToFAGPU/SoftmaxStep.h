//===- SoftmaxStep.h - The step of online softmax in a loop -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the rewrites of a step share: they find its operations by structure, and
// say in a remark whether they were applied. `SoftmaxStep` matches the text
// that fa-decompose-to-blocks writes; the free functions match parts of it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_SOFTMAXSTEP_H
#define FA_LIB_CONVERSION_FATOFAGPU_SOFTMAXSTEP_H

#include "Blocks.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// A block that is `rest` times `factor`, the same number in all elements.
struct ScaledBlock {
  arith::MulFOp product;
  Value rest;
  OpFoldResult factor;

  bool mayReorder() const;
  bool isFactorOutside(KeyRangesOp ranges) const;
  /// Whether the factor is known to be no negative number.
  bool isFactorNonNegative() const;
  Value makeFactor(OpBuilder &builder, Location loc) const;
};
std::optional<ScaledBlock> matchScaled(Value block);

/// One step, followed back from what its loop over keys yields: the result, the
/// running maximum and the running sum. Nothing else reads these values.
struct SoftmaxStep {
  static std::optional<SoftmaxStep> match(KeyRangesOp ranges);

  KeyRangesOp ranges;
  fagpu::ProductOp product;
  arith::MulFOp rescaled;
  arith::MaxNumFOp maximum;
  fagpu::ReduceOp blockMaximum, blockSum;
  math::FmaOp sum;
  math::ExpOp weights, alpha;
  /// The maximum, or 0 where it is -inf.
  arith::SelectOp reference;
  /// `scores` before and `hidden` after the mask.
  Value scores, hidden;
  /// Of rows: maximum and logarithm of the sum.
  SmallVector<arith::AddFOp> lse;
  /// Whether other operations behind the loop read the maximum: those of a
  /// sink.
  bool hasSink = false;

  /// A factor of all scores that may leave the maximum and the loop: its
  /// product has a free order, and its sign does not turn the maximum around.
  std::optional<ScaledBlock> matchMovableFactor() const;

private:
  explicit SoftmaxStep(KeyRangesOp ranges) : ranges(ranges) {}
  bool matchState();
  bool matchWeights();
  bool matchScores();
  bool matchLse();
};

/// What a vector of rows is repeated from; null where it is none.
Value getBroadcastRows(Value block);

/// The scores that become `hidden` in branches and by selections of -inf, and
/// by nothing else; null where there are none.
Value findScores(Value hidden);

/// Whether scores are products, perhaps times one number, and of no score
/// function, whose scores may be -inf or of any size.
bool arePlain(Value scores);

/// The maximum of a row, or 0 where that is -inf; null where `reference` is
/// not.
Value findMaximum(arith::SelectOp reference);

bool isReduction(fagpu::ReduceOp reduce, fagpu::ReductionKind kind);

/// A number of f32.
Value makeNumber(OpBuilder &builder, Location loc, double number);

/// What takes scores without a movable factor to exponents of base 2. It is
/// held above 0 where it is not known: 0 times the -inf of a hidden key is no
/// number.
Value makeBase2Factor(OpBuilder &builder, Location loc,
                      const std::optional<ScaledBlock> &movable);

/// Makes lse, and what a sink is compared with, of a maximum that `factor`
/// takes to exponents of base 2.
void takeLseToBase2(const SoftmaxStep &step, Value factor);

/// The same of a maximum of scores, whose exponent to base 2 may be infinite.
void takeLogarithmToBase2(const SoftmaxStep &step);

/// Applies a rewrite to each loop over keys of a kernel that has a product. It
/// returns why it does not apply, which a remark of the pass repeats; empty
/// text where it does.
void rewriteSteps(func::FuncOp kernel, StringRef pass, StringRef done,
                  llvm::function_ref<std::string(KeyRangesOp)> rewrite);

/// Why a rewrite does not apply where the step does not match.
inline constexpr StringLiteral noStep =
    "the loop yields no step with a running maximum";

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_SOFTMAXSTEP_H
