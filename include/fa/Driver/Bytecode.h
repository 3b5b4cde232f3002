//===- Bytecode.h - Files that another MLIR wrote ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_BYTECODE_H
#define FA_DRIVER_BYTECODE_H

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mlir::fa {

/// Who wrote a file of bytecode, such as MLIR22.1.8; empty for text. It stands
/// behind the magic number and the version.
inline StringRef getBytecodeProducer(llvm::MemoryBufferRef buffer) {
  if (!isBytecode(buffer))
    return {};
  return buffer.getBuffer().drop_front(5).split('\0').first;
}

/// Whether an MLIR of another major version wrote it.
inline bool isOfAnotherMLIR(StringRef producer) {
  return producer.consume_front("MLIR") &&
         !producer.starts_with(std::to_string(LLVM_VERSION_MAJOR) + ".");
}

} // namespace mlir::fa

#endif // FA_DRIVER_BYTECODE_H
