//===- PlacedBuffer.h - Arguments where code expects them -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_PLACEDBUFFER_H
#define FA_TOOLS_FA_RUN_PLACEDBUFFER_H

#include "fa/Driver/HostBuffer.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::fa {

/// The dimensions of an argument from the outermost to the innermost one: in
/// their order, but that the one of stride 1 comes last.
SmallVector<int64_t> getPlacement(Type type);

/// A buffer as code of this argument type takes it, which need not be
/// row-major.
class PlacedBuffer {
public:
  /// Copies the elements where row-major memory is not what the type says; the
  /// buffer stays as it is until `copyBack`.
  PlacedBuffer(HostBuffer &buffer, Type type);

  std::vector<char> &getBytes() { return isCopied ? bytes : buffer->bytes; }
  ArrayRef<int64_t> getShape() const { return buffer->shape; }
  /// In elements.
  ArrayRef<int64_t> getStrides() const { return strides; }

  /// Puts the elements back into the buffer.
  void copyBack();

private:
  /// Calls `copy` with the places of each element, in bytes, of the buffer and
  /// here.
  void forEach(llvm::function_ref<void(size_t, size_t)> copy);

  HostBuffer *buffer;
  SmallVector<int64_t> strides;
  bool isCopied;
  std::vector<char> bytes;
};

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_PLACEDBUFFER_H
