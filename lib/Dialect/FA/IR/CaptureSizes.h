//===- CaptureSizes.h - Sizes of what short spellings capture -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A load out of bounds reads 0, so a table of the wrong size is legal in a
// region of one's own. Behind a short spelling it can only be a mistake.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_IR_CAPTURESIZES_H
#define FA_LIB_DIALECT_FA_IR_CAPTURESIZES_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::fa {

/// What indexes a dimension of a captured table.
enum class CaptureDim { Batch, Heads, Queries, Keys, Positions };

/// Collects the tables of an operation while it is parsed and checks their
/// static sizes once the operands and their orders are known.
class CaptureSizes {
public:
  /// `isBroadcast`: a size of 1 serves every index.
  void add(SMLoc loc, StringRef name, Type type, ArrayRef<CaptureDim> dims,
           bool isBroadcast = false) {
    tables.push_back(
        {loc, name, type, SmallVector<CaptureDim>(dims), isBroadcast});
  }

  ParseResult check(OpAsmParser &parser, Type query, DimsAttr queryOrder,
                    Type key, DimsAttr keyOrder) const;

private:
  struct Table {
    SMLoc loc;
    StringRef name;
    Type type;
    SmallVector<CaptureDim> dims;
    bool isBroadcast;
  };
  SmallVector<Table> tables;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_IR_CAPTURESIZES_H
