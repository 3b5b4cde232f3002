//===- Products.cpp - Matrix products, at once and in flight --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "Machine.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

char InflightValue::ID;

bool ProductOperands::reads(const ViewToken &token) const {
  auto *view = llvm::dyn_cast<ViewValue>(a.get());
  return (view && view->token.get() == &token) || b->token.get() == &token;
}

/// The elements of an operand in f32, transposed on request.
static FailureOr<std::vector<float>> readMatrix(Worker &worker, Operation *op,
                                                Object &operand,
                                                bool transposed,
                                                int64_t numColumns) {
  std::vector<Slot> slots;
  if (auto *view = llvm::dyn_cast<ViewValue>(&operand)) {
    if (failed(view->read(worker, op, slots)))
      return failure();
  } else {
    ArrayRefPtr array = packArray(ArrayRefPtr(static_cast<Array *>(&operand)));
    slots.assign(array->data(), array->data() + array->getNumElements());
  }
  std::vector<float> elements(slots.size());
  int64_t numRows = slots.size() / numColumns;
  for (int64_t row = 0; row < numRows; ++row)
    for (int64_t column = 0; column < numColumns; ++column)
      elements[transposed ? column * numRows + row
                          : row * numColumns + column] =
          slots[row * numColumns + column].real;
  return elements;
}

FailureOr<ArrayRefPtr> interpreter::multiply(Worker &worker, Operation *op,
                                             const ProductOperands &operands) {
  int64_t rows = operands.rows, columns = operands.columns;
  bool transposedA = fagpu::isFirstTransposed(operands.form);
  bool transposedB = fagpu::isSecondTransposed(operands.form);
  int64_t depth =
      transposedB ? operands.b->part.columns : operands.b->part.rows;
  auto a = readMatrix(worker, op, *operands.a, transposedA,
                      transposedA ? rows : depth);
  if (failed(a))
    return failure();
  auto b = readMatrix(worker, op, *operands.b, transposedB,
                      operands.b->part.columns);
  if (failed(b))
    return failure();
  ArrayRefPtr result = makeArray({rows, columns});
  ArrayRefPtr start =
      operands.accumulator ? packArray(operands.accumulator) : nullptr;
  std::vector<float> sums(columns);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column)
      sums[column] = start ? start->data()[row * columns + column].real : 0;
    for (int64_t k = 0; k < depth; ++k) {
      float factor = (*a)[row * depth + k];
      const float *line = b->data() + k * columns;
      for (int64_t column = 0; column < columns; ++column)
        sums[column] += factor * line[column];
    }
    for (int64_t column = 0; column < columns; ++column)
      result->data()[row * columns + column].real = sums[column];
  }
  return result;
}

LogicalResult interpreter::completeOldestProduct(Worker &worker) {
  InflightValue &product = *worker.products.front();
  if (InflightValue *previous = product.operands.previous.get())
    product.operands.accumulator = previous->value;
  auto value = multiply(worker, product.issue, product.operands);
  if (failed(value))
    return failure();
  product.value = *value;
  // The operands are free from here on.
  product.operands.a = nullptr;
  product.operands.b = nullptr;
  product.operands.accumulator = nullptr;
  product.operands.previous = nullptr;
  worker.products.pop_front();
  return success();
}
