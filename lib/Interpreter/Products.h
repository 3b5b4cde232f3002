//===- Products.h - Matrix products, at once and in flight ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_PRODUCTS_H
#define FA_LIB_INTERPRETER_PRODUCTS_H

#include "Channels.h"

namespace mlir::fa::interpreter {

struct InflightValue;

/// What a product reads: a view or a block value as first operand, a view as
/// second one, and what is added, null for zero.
struct ProductOperands {
  llvm::IntrusiveRefCntPtr<executor::Object> a;
  ViewRef b;
  executor::ArrayRefPtr accumulator;
  /// Instead, a product in flight, which completes before.
  llvm::IntrusiveRefCntPtr<InflightValue> previous;
  /// How the operands are stored.
  fagpu::MatrixForm form;
  /// Sizes of the result.
  int64_t rows, columns;

  /// Whether the product reads this stage.
  bool reads(const ViewToken &token) const;
};

/// Computes a product in f32, which holds products of 16-bit floats exactly.
FailureOr<executor::ArrayRefPtr> multiply(Worker &worker, Operation *op,
                                          const ProductOperands &operands);

/// A product that has been issued. Its operands are read when it completes, and
/// not before: what replaces them until then would be seen.
struct InflightValue : llvm::RTTIExtends<InflightValue, executor::Object> {
  static char ID;

  Operation *issue = nullptr;
  ProductOperands operands;
  /// Null until the product is complete.
  executor::ArrayRefPtr value;
};

/// Completes the oldest product in flight of a worker.
LogicalResult completeOldestProduct(Worker &worker);

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_PRODUCTS_H
