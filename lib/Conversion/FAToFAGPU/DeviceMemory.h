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

/// Numbers of query rows, which the loops of a gradient share, results of parts
/// of the keys, parts of sums, copies of rows and what threads store become
/// memory of the device.
void allocateOnDevice(func::FuncOp host);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_DEVICEMEMORY_H
