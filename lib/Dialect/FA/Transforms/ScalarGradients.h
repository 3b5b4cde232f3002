//===- ScalarGradients.h - Reverse mode over scalar blocks ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What differentiation of score regions and of bodies of linalg.generic share.
// A gradient has type f32 where its value is narrower, so that small ones are
// not lost, else the value's own type.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SCALARGRADIENTS_H
#define FA_DIALECT_FA_TRANSFORMS_SCALARGRADIENTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::fa {

/// The type of gradients of floats of this type: f32 for narrower ones.
Type getGradientType(Type type);

/// A float extended or truncated to a float type.
Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type);

/// Copies what a block computes; gradients are derived, so what stops them is
/// its operand.
void cloneValues(OpBuilder &builder, Block &block, IRMapping &copies);

/// Derives gradients through one straight-line block of scalar operations,
/// whose copy stands where the builder inserts.
class ScalarGradients {
public:
  /// `copies` maps values of the block to their copies.
  ScalarGradients(OpBuilder &builder, const IRMapping &copies)
      : builder(builder), copies(copies) {}

  /// Declares that gradients of `value` are wanted.
  void want(Value value) { active.insert(value); }
  /// Declares that this argument of the copy is one number for all runs of the
  /// block.
  void share(Value argument) { shared.insert(argument); }
  /// Finds what depends on wanted values. Fails with one diagnostic, at the
  /// operation, where that has no gradient and reaches `results`.
  LogicalResult analyze(Block &block, ValueRange results);
  /// Adds to the gradient of a value of the block, before `run`.
  void add(Value value, Value gradient);
  /// Goes back through the block.
  void run(Block &block);
  /// The sum so far, or null.
  Value get(Value value) const { return gradients.lookup(value); }

  // What the rules of operations use; values are those of the block.

  OpBuilder &getBuilder() { return builder; }
  bool isActive(Value value) const { return active.contains(value); }
  /// The copy of a value, as wide as its gradient.
  Value getCopy(Location loc, Value value);
  Value getIntegerCopy(Value value) { return copies.lookupOrDefault(value); }
  /// Adds `gradient * factor`, where `factor` may be infinite or NaN: a
  /// gradient of 0, as that of what a select leaves out, stays 0.
  void addProduct(Location loc, Value value, Value gradient, Value factor,
                  arith::FastMathFlags flags);
  void addQuotient(Location loc, Value value, Value gradient, Value divisor,
                   arith::FastMathFlags flags);

private:
  LogicalResult checkOperation(Operation *op);
  bool isShared(Value value) const;
  Value keepZero(Location loc, Value gradient, Value result, Value zero);

  OpBuilder &builder;
  const IRMapping &copies;
  DenseSet<Value> active, shared;
  /// Integers cast from active floats, and where.
  DenseMap<Value, Operation *> casts;
  DenseMap<Value, Value> gradients;
  /// Whether a gradient may be 0 because something else was chosen.
  bool chooses = false;
};

/// Whether an operation on floats has a rule.
bool hasGradientRule(Operation *op);
/// Adds the gradients of the operands of `op`, whose result number `result` has
/// `gradient`.
void addOperandGradients(Operation *op, unsigned result, Value gradient,
                         ScalarGradients &gradients);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_SCALARGRADIENTS_H
