//===- AttentionMatch.h - One softmax(Q K) V to raise -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_ATTENTIONMATCH_H
#define FA_LIB_CONVERSION_TOFA_ATTENTIONMATCH_H

#include "RegionEmitter.h"
#include "SoftmaxMatch.h"

namespace mlir::fa {

/// An operand as a chain of tensors that hold its elements, each nearer to
/// where they come from, with what multiplies them.
struct OperandSource {
  Value tensor;
  SmallVector<IndexForm> forms;
  SmallVector<const Node *> factors, divisors;
};

/// Matches `root` as the result of an attention with these two products, and
/// replaces it.
class AttentionMatch {
public:
  AttentionMatch(Value root, linalg::LinalgOp first, linalg::LinalgOp second,
                 const RaiseAttentionOptions &options, ExtentReader &extents,
                 Refusal &refusal)
      : root(root), first(first), second(second), options(options),
        extents(extents), refusal(refusal) {}

  /// Replaces the uses of the root; the rest stays, dead.
  LogicalResult raise();

private:
  struct Factors;
  LogicalResult refuse(Operation *op, const Twine &reason, unsigned progress);
  /// Builds the attention only if no split of variables could show more, or
  /// `isFinal`. Succeeds if it could.
  LogicalResult attempt(Variables &variables, bool isFinal);
  SmallVector<OperandSource> follow(const Node *load, ElementReader &reader);
  FailureOr<Factors> takeFactors(const Node *product, ElementReader &reader,
                                 Operation *op);
  LogicalResult groupDigits(Variables &variables);
  LogicalResult chooseSources(Variables &variables);
  LogicalResult checkDead();
  void build(ElementReader &reader, const SoftmaxMatch &match,
             RegionEmitter &scoreEmitter, RegionEmitter &maskEmitter);

  Value root;
  /// The variables of its dimensions; none of a dimension of one element.
  SmallVector<std::optional<unsigned>> rootVariables;
  linalg::LinalgOp first, second;
  const RaiseAttentionOptions &options;
  ExtentReader &extents;
  Refusal &refusal;

  SmallVector<IndexForm> rootForms;
  SmallVector<OperandSource> queries, keys, values;
  OperandSource *query = nullptr, *key = nullptr, *value = nullptr;
  SmallVector<const Node *> factors, divisors;
  /// By `DimKind`; those of heads for queries and for keys.
  SmallVector<unsigned> keyDigits, headDimDigits, valueDimDigits, batchDigits,
      queryDigits, sharedHeads, groupHeads;
  std::optional<OperandShape> queryShape, keyShape, valueShape, rootShape;
  DigitGroups regionGroups;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_ATTENTIONMATCH_H
