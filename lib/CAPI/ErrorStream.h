//===- ErrorStream.h - What LLVM prints to stderr ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CAPI_ERRORSTREAM_H
#define FA_LIB_CAPI_ERRORSTREAM_H

#include <string>

namespace mlir::fa {

/// What LLVM printed to its error stream in this thread since the last call.
/// libFA.so is linked with `--wrap`, so that nothing comes to stderr; under
/// sanitizers, where LLVM is shared, this is empty.
std::string takeErrorOutput();

/// From here on LLVM prints to stderr, as tools do.
void printErrorOutput();

} // namespace mlir::fa

#endif // FA_LIB_CAPI_ERRORSTREAM_H
