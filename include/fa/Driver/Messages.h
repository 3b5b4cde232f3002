//===- Messages.h - What the compiler says ----------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_MESSAGES_H
#define FA_DRIVER_MESSAGES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mlir::fa {

/// A diagnostic, a note on it, or a remark of a pass (mlir/IR/Remarks.h).
struct Message {
  enum Outcome { None, Passed, Missed, Failed, Analysis };

  DiagnosticSeverity severity = DiagnosticSeverity::Error;
  /// Of a remark: what it says of the transformation, the pass, and the
  /// remark's name.
  Outcome outcome = None;
  std::string pass, name;
  /// Where; empty and 0 if unknown.
  std::string file;
  unsigned line = 0, column = 0;
  std::string text;

  /// "attention.mlir:3:8: error: ..."
  std::string format() const;
};

/// All that is said in a context, in order. It must outlive the context, of
/// which it is the only handler: nothing is printed.
class MessageLog {
public:
  void attach(MLIRContext &context);

  /// Passes of several threads say things at the same time.
  void add(Message message) {
    std::lock_guard<std::mutex> lock(mutex);
    messages.push_back(std::move(message));
  }
  void clear() { messages.clear(); }
  ArrayRef<Message> getMessages() const { return messages; }
  /// The first error with its notes, one a line; nothing where there is none.
  std::optional<std::string> getError() const;

private:
  std::mutex mutex;
  std::vector<Message> messages;
};

} // namespace mlir::fa

#endif // FA_DRIVER_MESSAGES_H
