//===- NamedAttention.h - Attention operations of others --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tm_tensor.attention` of torch-mlir and `iree_linalg_ext.attention` of IREE,
// which are read as operations of dialects that are not registered.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TOFA_NAMEDATTENTION_H
#define FA_LIB_CONVERSION_TOFA_NAMEDATTENTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace mlir::fa {

/// An attention over loops, each tensor with a map from loops to dimensions.
struct NamedAttention {
  Operation *op;
  Value query, key, value, mask;
  AffineMap queryMap, keyMap, valueMap, maskMap, outputMap;
  /// The factor of scores, f32; else `scaleNumber`.
  Value scale;
  double scaleNumber = 1;
  /// What is done to a scaled score before the mask; null for nothing.
  Region *score = nullptr;
  /// A row that sees no key is 0, else NaN.
  bool isZeroWithoutKeys = false;
};

/// Reads an attention operation of another dialect. Where it is one that cannot
/// be read, `reason` says why.
std::optional<NamedAttention> readNamedAttention(Operation *op,
                                                 std::string &reason);

/// Writes it as two products with a softmax between them; the second product
/// is returned.
linalg::GenericOp decomposeNamedAttention(const NamedAttention &attention,
                                          OpBuilder &builder);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_TOFA_NAMEDATTENTION_H
