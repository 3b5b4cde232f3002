//===- DecomposeInterface.h - Operations of fa that decompose -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_DECOMPOSEINTERFACE_H
#define FA_DIALECT_FA_TRANSFORMS_DECOMPOSEINTERFACE_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::fa {

/// Lets steps of attention and of its gradients, what begins and ends them, and
/// `fa.combine` decompose through `linalg::AggregatedOpInterface`, as
/// `fa-decompose-step` does.
void registerDecomposeExternalModels(DialectRegistry &registry);

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_DECOMPOSEINTERFACE_H
