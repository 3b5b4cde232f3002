//===- LaneBody.h - Scalar code on vectors of lanes -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_CPU_LANEBODY_H
#define FA_LIB_CONVERSION_CPU_LANEBODY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::fa {

/// Copies scalar operations for the lanes of a vector. A value that is the
/// same in every lane stays a scalar, so that what does not depend on the lane
/// is computed once.
class LaneBodyBuilder {
public:
  /// `width` lanes.
  LaneBodyBuilder(OpBuilder &builder, Location loc, int64_t width)
      : builder(builder), loc(loc), width(width) {}

  /// Copies `block` without its terminator for `arguments`, each a scalar or a
  /// vector, and returns what the terminator yields. `indexOf` gives the value
  /// of a `linalg.index` operation.
  SmallVector<Value> inlineBlock(Block &block, ValueRange arguments,
                                 function_ref<Value(unsigned loop)> indexOf);

  /// `value` in every lane, if it is a scalar.
  Value broadcast(Value value);

private:
  void cloneUniform(Operation &op);
  void cloneElementwise(Operation &op);
  void cloneByLane(Operation &op);

  OpBuilder &builder;
  Location loc;
  int64_t width;
  IRMapping mapping;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_CPU_LANEBODY_H
