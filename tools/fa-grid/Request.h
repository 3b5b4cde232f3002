//===- Request.h - Problems as they arrive ----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_GRID_REQUEST_H
#define FA_TOOLS_FA_GRID_REQUEST_H

#include "fa/Executor/Value.h"
#include "llvm/Support/JSON.h"

namespace mlir::fa {

/// A strided view of bytes within the data of a request.
struct View {
  int64_t offset = 0; // bytes
  SmallVector<int64_t> shape, strides;
};

/// An argument or a result: a view of the data, or a number.
struct Operand {
  Type elementType;
  bool isShaped = false;
  View view;
  executor::Slot number;
};

/// What one run needs besides the bytes of the data.
struct Problem {
  SmallVector<Operand> arguments, results;

  /// Arguments and then results, which compiled functions take alike.
  SmallVector<Operand> getAll() const;
};

/// Reads "arguments" and "results" of a request for a function of this type.
/// Nothing where they do not match it.
std::optional<Problem> readProblem(const llvm::json::Object &request,
                                   FunctionType type);

/// Bytes of one element.
int64_t getElementSize(Type type);

/// An array with the elements that a view has in `data`, in storage that also
/// holds what lies between them.
executor::ArrayRefPtr loadArray(const char *data, const Operand &operand);

/// Writes the elements of `array`, which are from `loadArray`, and of its gaps
/// back where they differ from `data`.
void storeChanges(char *data, const Operand &operand,
                  const executor::Array &array);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_GRID_REQUEST_H
