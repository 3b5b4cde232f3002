//===- MaskParts.h - What parts of the normal form share --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_IR_MASKPARTS_H
#define FA_LIB_DIALECT_FA_IR_MASKPARTS_H

#include "mlir/IR/Matchers.h"
#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace mlir::fa {

inline constexpr char tooComplex[] = "the mask is too complex to analyse";

/// Names the operation in a remark.
inline std::string quote(Operation *op) {
  return "'" + op->getName().getStringRef().str() + "'";
}

/// Of at most 64 bits.
inline std::optional<int64_t> getIntegerConstant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getSignificantBits() <= 64)
    return constant.getSExtValue();
  return std::nullopt;
}

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_IR_MASKPARTS_H
