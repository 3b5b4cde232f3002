//===- Bounds.h - Proven bounds of dynamic sizes -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_BOUNDS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_BOUNDS_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

/// Whether the dimension at `position` of `shaped` is proven to be at most
/// `bound`; a dynamic size is followed through slices and affine minima.
bool isProvenAtMost(Value shaped, int64_t position, int64_t bound);

/// Whether the dimension at `position` of `shaped` is proven to be `size`.
bool isProvenEqual(Value shaped, int64_t position, Value size);

/// Adds what these functions read: a pass that calls them calls this
/// from `getDependentDialects`.
void registerBoundsDependencies(DialectRegistry &registry);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_BOUNDS_H
