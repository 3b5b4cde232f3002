//===- FunctionGradients.h - Gradients in one function ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_FUNCTIONGRADIENTS_H
#define FA_DIALECT_FA_TRANSFORMS_FUNCTIONGRADIENTS_H

#include "ScalarGradients.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::fa {

/// Whether gradients of values of this type exist.
bool hasFloats(Type type);

/// Gradients of the values of a function: tensors of the value's own type, and
/// scalars as ScalarGradients has them.
class FunctionGradients {
public:
  explicit FunctionGradients(OpBuilder &builder)
      : builder(builder), scalars(builder, none) {}

  OpBuilder &getBuilder() { return builder; }
  ScalarGradients &getScalars() { return scalars; }
  void activate(Value value);
  bool isActive(Value value) const { return active.contains(value); }
  /// Adds to the gradient of a value, if it is active.
  void add(Value value, Value gradient);
  /// The sum so far, or null.
  Value get(Value value) const;

  /// Tensors of the shape of `like`.
  Value makeEmpty(Location loc, Value like, Type element);
  Value makeZeros(Location loc, Value like, Type element);

private:
  OpBuilder &builder;
  IRMapping none;
  ScalarGradients scalars;
  DenseSet<Value> active;
  DenseMap<Value, Value> tensors;
};

/// Adds the gradients of the inputs of an operation, each by another one over
/// the same loops.
LogicalResult differentiateGeneric(linalg::GenericOp op,
                                   FunctionGradients &gradients);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_FUNCTIONGRADIENTS_H
