//===- NumberPolicy.h - How the executor rounds -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_NUMBERPOLICY_H
#define FA_EXECUTOR_NUMBERPOLICY_H

#include "fa/Executor/Value.h"

namespace mlir::fa::executor {

/// What happens to the result of an operation whose declared type is a float.
/// Operations compute in double; the policy may round what they return.
class NumberPolicy {
public:
  virtual ~NumberPolicy();
  /// Name for messages.
  virtual StringRef getName() const = 0;
  /// Whether results of this type need `round`.
  virtual bool rounds(FloatType type) const = 0;
  virtual void round(FloatType type, Slot *values, int64_t count) const = 0;
};

/// Every float is a double and nothing is rounded in between: the reference.
const NumberPolicy &getFloat64Policy();

/// Every result is rounded to its declared type. For f32 and narrower types the
/// four basic operations and sqrt are then exactly those of IEEE 754.
const NumberPolicy &getDeclaredPolicy();

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_NUMBERPOLICY_H
