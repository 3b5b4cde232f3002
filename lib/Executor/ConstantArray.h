//===- ConstantArray.h - Arrays of constant attributes ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_CONSTANTARRAY_H
#define FA_LIB_EXECUTOR_CONSTANTARRAY_H

#include "fa/Executor/Value.h"
#include "mlir/IR/Operation.h"

namespace mlir::fa::executor {

/// The numbers of `value`, a `dense` or `dense_resource` attribute whose
/// elements are of a slot type. Fails after one error at `op`.
FailureOr<ArrayRefPtr> makeConstantArray(Operation *op, Attribute value);

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_CONSTANTARRAY_H
