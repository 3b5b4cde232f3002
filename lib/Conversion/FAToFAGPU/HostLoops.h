//===- HostLoops.h - Memory in loops of the host ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_HOSTLOOPS_H
#define FA_LIB_CONVERSION_FATOFAGPU_HOSTLOOPS_H

#include "mlir/IR/Value.h"

namespace mlir::fa {

/// Whether a loop of the host carries a memory, or a part of it, or has a user
/// of it in its body. Launches stand outside of such loops, so this memory is
/// none that kernels could share.
bool isInHostLoop(Value memory);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_HOSTLOOPS_H
