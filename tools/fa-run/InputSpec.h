//===- InputSpec.h - Values of arguments from the command line --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_INPUTSPEC_H
#define FA_TOOLS_FA_RUN_INPUTSPEC_H

#include "fa/Driver/HostBuffer.h"
#include "llvm/Support/Error.h"

namespace mlir::fa {

/// Makes the value of an argument of type `type` (a tensor, memref or scalar)
/// from a specification:
///   2x512x8x64xbf16           random: normal, or integers from 0 to 15
///   2x512x8x64xbf16=random    the same
///   f32=0.125                 one value
///   4x8xf32=0.5               the same value everywhere
///   4xi32=[3,5,7,0]           all values, row-major; brackets may nest
///   @q.npy                    a file
/// The error names the specification and what was expected.
llvm::Expected<HostBuffer> makeInput(StringRef spec, Type type, uint64_t seed);

/// The value of an argument for which nothing was specified: random. An error
/// if the type has dynamic sizes.
llvm::Expected<HostBuffer> makeDefaultInput(Type type, uint64_t seed);

/// Fails if a value of this shape would not fit the memory of the machine. The
/// error is a phrase to follow the name of the value.
llvm::Error checkMemory(Type elementType, ArrayRef<int64_t> shape);

/// The element type and the shape of an argument type; a scalar is its own
/// element type, with no dimensions.
Type getInterfaceElementType(Type type);
ArrayRef<int64_t> getInterfaceShape(Type type);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_INPUTSPEC_H
