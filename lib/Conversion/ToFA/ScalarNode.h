//===- ScalarNode.h - Elements of tensors as expressions --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an element of a tensor is as a function of its indices: a graph of
// scalar operations, elements that are read, and reductions. Equal expressions
// are one node. `NodeGraph` makes nodes and simplifies them while it does;
// simplifications are in NodeFolds.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_SCALARNODE_H
#define FA_LIB_CONVERSION_TOFA_SCALARNODE_H

#include "IndexForm.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/FoldingSet.h"
#include <deque>

namespace mlir::fa {

enum class NodeKind {
  Constant,    // a number
  Index,       // a linear form of variables
  Load,        // an element of a tensor; operands are its indices
  Scalar,      // a value that is no tensor
  Op,          // an operation of arith or math
  Reduce,      // operands: initial value, and what is combined
  Accumulator, // what a reduction has so far, in its body only
};

/// How a reduction combines; `Other` equals nothing.
enum class Combiner { Add, Multiply, Maximum, MaximumNumber, And, Or, Other };

struct Node : public llvm::FoldingSetNode {
  NodeKind kind;
  Type type;
  /// A constant's value; the predicate of a comparison.
  Attribute attribute;
  std::optional<OperationName> name;
  IndexForm form;
  /// The tensor of a load, the value of a scalar.
  Value value;
  SmallVector<const Node *, 3> operands;
  Combiner combiner = Combiner::Other;
  /// The variables that a reduction binds.
  SmallVector<unsigned, 1> bound;

  /// In order of making, which settles the order of commuting operands.
  unsigned number = 0;
  /// The value, where it does not depend on anything.
  Attribute folded;
  /// Sorted.
  SmallVector<unsigned, 6> freeVariables;
  /// An operation of the source that computes this.
  Operation *source = nullptr;
  /// Whether a reduction, an element of `NodeGraph::matrix`, or an accumulator
  /// is in this.
  bool hasReduction = false, hasMatrix = false, hasAccumulator = false;
  /// Whether f16 or bf16 hold this number of f32 exactly.
  bool fitsF16 = false, fitsBF16 = false;

  void Profile(llvm::FoldingSetNodeID &id) const;
  bool isOp(StringRef opName) const;
  template <typename OpTy> bool isa() const {
    return isOp(OpTy::getOperationName());
  }
  const Node *operand(unsigned position) const { return operands[position]; }
  bool fits(Type narrow) const { return narrow.isF16() ? fitsF16 : fitsBF16; }
  bool dependsOn(ArrayRef<unsigned> variables) const;
};

class NodeGraph {
public:
  NodeGraph(MLIRContext *context, Variables &variables, bool excessPrecision);

  const Node *getConstant(TypedAttr value);
  const Node *getReal(double value, Type type);
  const Node *getBool(bool value);
  const Node *getIndex(const IndexForm &form);
  const Node *getLoad(Value tensor, ArrayRef<const Node *> indices,
                      Operation *source);
  const Node *getScalar(Value value);
  const Node *getAccumulator(Type type);
  /// `type` is the one of the source, in which it rounds its sums.
  const Node *getReduce(Combiner combiner, ArrayRef<unsigned> bound,
                        const Node *initial, const Node *body, Type type,
                        Operation *source);
  /// Simplified. `predicate` is that of a comparison.
  const Node *getOp(OperationName name, ArrayRef<const Node *> operands,
                    Type type, Operation *source, Attribute predicate = {});
  template <typename OpTy>
  const Node *get(ArrayRef<const Node *> operands, Type type,
                  Operation *source = nullptr, Attribute predicate = {}) {
    return getOp(OperationName(OpTy::getOperationName(), context), operands,
                 type, source, predicate);
  }
  const Node *getNot(const Node *condition);
  const Node *getSelect(const Node *condition, const Node *yes, const Node *no);

  Variables &getVariables() { return variables; }
  MLIRContext *getContext() const { return context; }
  bool hasExcessPrecision() const { return excessPrecision; }
  /// f16 and bf16 are computed as f32 where roundings are dropped. Those of
  /// what does not depend on scores, such as positions, stay as casts.
  Type getComputedType(Type type) const;
  /// The number before it was rounded, where roundings of it may be dropped.
  const Node *withoutRounding(const Node *node) const;

  /// The result of the first product: loads of it are scores.
  Value matrix;

private:
  const Node *intern(Node &&node);
  /// An operation whose result is of f16 or bf16 and stays rounded.
  const Node *getRounded(OperationName name, ArrayRef<const Node *> operands,
                         Type type, Operation *source);
  /// Simplified; results of f16 and bf16 are what `type` says.
  const Node *make(OperationName name, ArrayRef<const Node *> operands,
                   Type type, Operation *source, Attribute predicate);
  const Node *fold(OperationName name, SmallVector<const Node *> &operands,
                   Type type, Operation *source, Attribute predicate);
  const Node *foldSelect(ArrayRef<const Node *> operands, Type type);
  const Node *foldBoolean(OperationName name, const Node *left,
                          const Node *right);
  const Node *foldFloat(OperationName name, ArrayRef<const Node *> operands,
                        Type type, Operation *source);
  const Node *foldCast(OperationName name, const Node *operand, Type type,
                       Operation *source);
  const Node *distribute(OperationName name, ArrayRef<const Node *> operands,
                         Type type, Operation *source, Attribute predicate);

  MLIRContext *context;
  Variables &variables;
  bool excessPrecision;
  llvm::FoldingSet<Node> nodes;
  std::deque<Node> storage;
};

/// The value of a constant expression.
std::optional<APFloat> getFloat(const Node *node);
std::optional<double> getDouble(const Node *node);
std::optional<APInt> getInteger(const Node *node);
bool isNegativeInfinity(const Node *node);
bool isReal(const Node *node, double value);

/// Evaluates an operation on constants; null where it is not known.
Attribute foldConstants(OperationName name, ArrayRef<Attribute> operands,
                        Type type, Attribute predicate);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_SCALARNODE_H
