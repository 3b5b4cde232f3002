//===- AttentionGradient.h - Exact gradients of one row ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_ATTENTIONGRADIENT_H
#define FA_LIB_EXECUTOR_ATTENTIONGRADIENT_H

#include "AttentionOperands.h"

namespace mlir::fa::executor {

/// What gradients of whole problems and their steps add to AttentionPlan.
struct GradientPlan : AttentionPlan {
  CompiledRegion scoreGradient;
  unsigned outputGradient = 0, lse = 0;
  DimsAttr outputGradientOrder;
  std::optional<unsigned> delta;
  /// Holds a derived region of the score's gradient, whose operations the
  /// compiled one names in errors.
  std::shared_ptr<Operation> derived;
};

LogicalResult compileGradientOperands(GradientLikeOpInterface op,
                                      GradientPlan &plan,
                                      ProgramBuilder &builder);

/// The operands of one row.
struct GradientInputs {
  const double *query;
  const double *outputGradient;
  double lse;
  double delta;
  double scale;
};

/// Evaluates weights and gradients of scores, a row at a time, all in double.
class GradientRow {
public:
  GradientRow(const GradientPlan &plan, Frame &frame)
      : scoreGradient(plan.scoreGradient),
        gradientState(plan.scoreGradient.bind(frame)),
        rows(plan.op, plan.score, plan.mask, frame) {}

  /// Where gradients of the capture `number` are added.
  void setCaptureGradient(unsigned number, const ArrayRefPtr &gradient) {
    if (!scoreGradient.isEmpty())
      scoreGradient.setGradient(gradientState, number, gradient);
  }

  /// Computes a row; adds to gradients of captures.
  LogicalResult run(const RowPosition &position, const HeadData &head,
                    MaskUse use, const GradientInputs &inputs);

  /// Visible keys, relative to the first of the head's, and for each of them
  /// exp(x - lse), the gradient of the scaled product, and the product.
  ArrayRef<int64_t> getVisible() const { return rows.getVisible(); }
  /// The weights of values are exp(x - lse) times their factors.
  ArrayRef<double> getWeights() const { return weights; }
  ArrayRef<double> getGradients() const { return gradients; }
  ArrayRef<double> getProducts() const { return rows.getProducts(); }

private:
  LogicalResult applyScoreGradient(const RowPosition &position,
                                   const HeadData &head, double scale);

  const CompiledRegion &scoreGradient;
  LaneState gradientState;
  RowEvaluator rows;
  std::vector<double> weights, gradients;
};

/// The gradients of the products of a row times what they multiply; targets
/// that are null are left out.
struct GradientTargets {
  /// Head dim numbers of this query.
  double *query = nullptr;
  /// Rows of head dim and of value head dim numbers for the keys.
  double *keys = nullptr;
  double *values = nullptr;
  /// The sum of gradient times product.
  double *scale = nullptr;
};
void addRow(const GradientRow &row, const HeadData &head,
            const GradientInputs &inputs, const GradientTargets &targets);

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_ATTENTIONGRADIENT_H
