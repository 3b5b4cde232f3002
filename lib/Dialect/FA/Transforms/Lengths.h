//===- Lengths.h - Valid lengths of batch items -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_LENGTHS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_LENGTHS_H

#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// The entry of `lengths` (i32) for a batch, as an index.
Value loadLength(OpBuilder &builder, Location loc, Value lengths, Value batch);

/// The entry of `lengths` (i32, may be null) for a batch, within [0, extent];
/// `extent` without lengths.
Value getValidLength(OpBuilder &builder, Location loc, Value lengths,
                     Value batch, Value extent);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_LENGTHS_H
