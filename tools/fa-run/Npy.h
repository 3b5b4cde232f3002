//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The .npy format, version 1.0 and 2.0: numpy.lib.format in NumPy's
// documentation. bf16 has no type there; like ml_dtypes we write it as '<V2',
// and read '<V2' and '|V2' where bf16 is expected.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_NPY_H
#define FA_TOOLS_FA_RUN_NPY_H

#include "fa/Driver/HostBuffer.h"
#include "llvm/Support/Error.h"

namespace mlir::fa {

/// Reads a file whose elements must be of `elementType`. The error is a phrase
/// to follow the file's name.
llvm::Expected<HostBuffer> readNpy(StringRef path, Type elementType);

/// Writes a file: first beside it, then moved into place, so that a failure
/// leaves nothing half written.
llvm::Error writeNpy(StringRef path, const HostBuffer &buffer);

/// Writes text the same way.
llvm::Error writeTextFile(StringRef path, StringRef text);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_NPY_H
