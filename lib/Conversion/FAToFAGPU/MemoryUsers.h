//===- MemoryUsers.h - Users of a memory and of its views -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_MEMORYUSERS_H
#define FA_LIB_CONVERSION_FATOFAGPU_MEMORYUSERS_H

#include "mlir/IR/Value.h"

namespace mlir::fa {

/// The operations that use a memory, or a view of it, however far; the views
/// themselves are left out.
SmallVector<Operation *> findMemoryUsers(Value memory);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_MEMORYUSERS_H
