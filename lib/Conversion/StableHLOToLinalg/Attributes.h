//===- Attributes.h - Attributes of unregistered operations -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_STABLEHLOTOLINALG_ATTRIBUTES_H
#define FA_LIB_CONVERSION_STABLEHLOTOLINALG_ATTRIBUTES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace mlir::fa::stablehlo {

/// An error that begins with the operation's name.
InFlightDiagnostic refuse(Operation *op);

/// The integers of `array<i64: ...>` or `dense<...> : tensor<Nxi64>`. An error
/// if the attribute is neither.
FailureOr<SmallVector<int64_t>> readIntegers(Operation *op, StringRef name);

/// The integer of an attribute such as `0 : i64`. An error if it is none.
FailureOr<int64_t> readInteger(Operation *op, StringRef name);

/// The value of an enumeration: "GE" of `#stablehlo<comparison_direction GE>`.
/// Empty if there is no such attribute.
StringRef readEnumerator(Operation *op, StringRef name);

/// The fields of an attribute such as `#stablehlo.dot<first = [0, 2], second =
/// bf16>`, which MLIR keeps as text.
class Fields {
public:
  /// No fields if there is no such attribute.
  Fields(Operation *op, StringRef name);

  bool isPresent() const { return present; }
  /// The text after `key =` up to the next comma, without brackets; empty if
  /// there is no such key.
  StringRef get(StringRef key) const;
  /// The integers of a list. StableHLO leaves out lists without any.
  FailureOr<SmallVector<int64_t>> getIntegers(StringRef key) const;

private:
  Operation *op;
  StringRef name;
  bool present = false;
  StringRef text;
};

} // namespace mlir::fa::stablehlo

#endif // FA_LIB_CONVERSION_STABLEHLOTOLINALG_ATTRIBUTES_H
