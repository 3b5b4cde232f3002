//===- FADialect.h - The fa dialect --------------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FADIALECT_H
#define FA_DIALECT_FA_IR_FADIALECT_H

#include "mlir/IR/Dialect.h"

#include "fa/Dialect/FA/IR/FADialect.h.inc"

#endif // FA_DIALECT_FA_IR_FADIALECT_H
