//===- DeviceMemory.h - Allocations that are the device's -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_DEVICEMEMORY_H
#define FA_LIB_CONVERSION_FATOFAGPU_DEVICEMEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// The first operation that reads or writes a memory, or a view of it, and is
/// no kernel, nor becomes one as a loop over tiles, a single tile, and fills,
/// copies and sums of parts do. Null where there is none.
Operation *findHostUser(Value memory);

/// What kernels alone write and read becomes memory of the device: results of
/// one attention that another reads, numbers of query rows, results of parts of
/// the keys, parts of sums, copies of rows and what threads store.
void allocateOnDevice(func::FuncOp host);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_DEVICEMEMORY_H
