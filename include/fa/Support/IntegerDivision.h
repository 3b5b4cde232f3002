//===- IntegerDivision.h - Operations that divide integers ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_INTEGERDIVISION_H
#define FA_SUPPORT_INTEGERDIVISION_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {

/// Whether an operation divides integers.
inline bool isDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
             arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
             arith::RemUIOp>(op);
}

} // namespace mlir::fa

#endif // FA_SUPPORT_INTEGERDIVISION_H
