//===- Transforms.h - Transformations of the fa dialect ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The free functions behind the passes. Each fails without changing the IR,
// after one diagnostic, unless its comment says otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_TRANSFORMS_H
#define FA_DIALECT_FA_TRANSFORMS_TRANSFORMS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::fa {} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_TRANSFORMS_H
