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
#include "llvm/ADT/SetVector.h"

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
  /// Numbers in tensors are found where there are more than `numTensors` loads.
  Factors takeFactors(const Node *product, ElementReader &reader,
                      unsigned numTensors);
  LogicalResult groupDigits(Variables &variables);
  LogicalResult chooseSources(Variables &variables);
  void findEscapes();
  LogicalResult checkDead();
  void matchLogSumExps(ElementReader &reader, SoftmaxMatcher &matcher,
                       const SoftmaxMatch &softmax);
  LogicalResult checkOrder(ArrayRef<Value> operands);
  void replaceLogSumExps(OpBuilder &builder, AttentionOp attention);
  void build(ElementReader &reader, const SoftmaxMatch &match,
             RegionEmitter &scoreEmitter, RegionEmitter &maskEmitter);

  Value root;
  /// The variables of a tensor's dimensions; none of one of one element.
  using TensorVariables = SmallVector<std::optional<unsigned>>;
  TensorVariables makeVariables(Value tensor, Variables &variables);
  TensorVariables rootVariables;
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

  /// What depends on the first product and stays without the root.
  llvm::SetVector<Operation *> escapes;
  /// A tensor of them that may be the logarithm of the sums.
  struct Candidate {
    Value tensor;
    TensorVariables variables;
  };
  SmallVector<Candidate> candidates;
  struct LogSumExp {
    Value tensor;
    OperandShape shape;
    /// Of the natural logarithm.
    double factor;
    bool isNaNWithoutKeys;
  };
  SmallVector<LogSumExp, 0> logSumExps;
  /// What reads them and stands before the root, in the block's order.
  SmallVector<Operation *> movedUsers;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_ATTENTIONMATCH_H
