//===- WriteLog.h - Who wrote which global memory ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing in the language orders what groups do to global memory within a
// launch: an element has one group that writes it, or any number that add to
// it, and is not copied into a channel. What is owned has one element of a
// value that adds to it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_WRITELOG_H
#define FA_LIB_INTERPRETER_WRITELOG_H

#include "fa/Executor/Value.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace mlir::fa::interpreter {

class Worker;

enum class Access { Read, Write, Add, AddOwned };

/// The writes of one launch.
class WriteLog {
public:
  /// Notes an access to `count` elements of a storage from `first` on, at
  /// distances of `stride`. Fails with a diagnostic if it is not ordered with
  /// an earlier one. What adds to an owned element says which `holder` it is
  /// among the elements of its value.
  LogicalResult note(Worker &worker, Operation *op, executor::Storage &storage,
                     int64_t first, int64_t count, int64_t stride,
                     Access access, int64_t holder = 0);

private:
  /// An operation of a group that has written.
  struct Writer {
    int64_t worker;
    Operation *op;
    Access access;
    int64_t holder;
    /// The group, as messages name it.
    std::string name;
  };

  int32_t getNumber(Worker &worker, Operation *op, Access access,
                    int64_t holder);

  std::vector<Writer> writers;
  /// Keyed by the serial number of a worker.
  DenseMap<std::tuple<int64_t, Operation *, int64_t>, int32_t> numbers;
  /// For each element, 1 + the number of its writer, or 0.
  DenseMap<executor::Storage *, std::vector<int32_t>> elements;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_WRITELOG_H
