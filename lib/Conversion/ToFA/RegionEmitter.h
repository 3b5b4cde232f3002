//===- RegionEmitter.h - Expressions as operations --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes expressions as the operations of a score or mask region, or, where
// they depend on no index, before the attention.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_REGIONEMITTER_H
#define FA_LIB_CONVERSION_TOFA_REGIONEMITTER_H

#include "ElementReader.h"
#include "OperandShape.h"

namespace mlir::fa {

class RegionEmitter {
public:
  RegionEmitter(ElementReader &reader, const DigitGroups &groups)
      : reader(reader), groups(groups) {}

  /// Whether the region can be written; collects what it captures. `score` is
  /// the expression that the region has as an argument, or null.
  LogicalResult prepare(const Node *node, const Node *score,
                        std::string &reason);
  ArrayRef<Value> getCaptures() const { return captures; }
  /// Fills `region`, which is empty; `key` is the variable of keys.
  void emit(Region &region, const Node *node, const Node *score, Location loc);
  /// An expression without indices, at the insertion point.
  static Value emitUniform(OpBuilder &builder, Location loc, const Node *node,
                           DenseMap<const Node *, Value> &emitted);

private:
  LogicalResult visit(const Node *node, const Node *score, std::string &reason);
  /// The node itself, or the load of a tensor that has its value.
  const Node *choose(const Node *node);
  Value build(OpBuilder &builder, Location loc, const Node *node);
  Value buildForm(OpBuilder &builder, Location loc, const IndexForm &form);
  Value buildDigit(OpBuilder &builder, Location loc, unsigned digit);

  ElementReader &reader;
  const DigitGroups &groups;
  SmallVector<Value> captures;
  DenseMap<const Node *, const Node *> chosen;
  DenseMap<const Node *, Value> built;
  DenseMap<Value, Value> arguments;
  DenseMap<unsigned, Value> digits;
  std::array<Value, 4> indices;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_REGIONEMITTER_H
