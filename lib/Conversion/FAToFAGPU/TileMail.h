//===- TileMail.h - What roles are told of a tile ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_TILEMAIL_H
#define FA_LIB_CONVERSION_FATOFAGPU_TILEMAIL_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// The mail by which the role that takes tiles tells the others the number of
/// one, and the values of it that they read. A mail holds 32 bits a word: an
/// index goes in two, the lower one first.
class TileMail {
public:
  /// Made before `position`. Fails after one error where the values are none
  /// that a mail holds.
  static FailureOr<TileMail> create(func::FuncOp kernel, Operation *position,
                                    ArrayRef<Value> values);

  void send(OpBuilder &builder, Location loc, Value tile,
            ValueRange values) const;
  /// The number of a tile, and its values in the same order.
  SmallVector<Value> receive(OpBuilder &builder, Location loc) const;

private:
  Value mail;
  SmallVector<Type> types;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_TILEMAIL_H
