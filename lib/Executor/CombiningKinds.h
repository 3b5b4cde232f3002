//===- CombiningKinds.h - vector.kind in the executor -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_COMBININGKINDS_H
#define FA_LIB_EXECUTOR_COMBININGKINDS_H

#include "fa/Executor/NumberPolicy.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <functional>

namespace mlir::fa::executor {

/// A binary function on elements of one type.
using Combine = std::function<Slot(Slot, Slot)>;

/// What a combining kind does on this element type, rounded by the policy.
Combine getCombine(vector::CombiningKind kind, Type elementType,
                   const NumberPolicy &policy);
/// The product of a contraction on this element type, rounded by the policy.
Combine getProduct(Type elementType, const NumberPolicy &policy);

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_COMBININGKINDS_H
