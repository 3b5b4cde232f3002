//===- ManifestArguments.h - Arguments as a manifest has them ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXPORT_MANIFESTARGUMENTS_H
#define FA_EXPORT_MANIFESTARGUMENTS_H

#include "fa/Export/DimNames.h"
#include "llvm/Support/JSON.h"

namespace mlir::fa {

/// The name of an element type in a manifest; "" where it has none.
StringRef getTypeName(Type type);

/// What a manifest says of argument `number` of a function on memrefs:
/// name, element type, shape and strides. Dynamic dims have the names of
/// `dimNames`, or "?". Fails with a diagnostic for a type that a manifest
/// cannot express.
FailureOr<llvm::json::Object> describeArgument(func::FuncOp function,
                                               unsigned number,
                                               ArrayRef<std::string> names,
                                               const DimNames &dimNames);

} // namespace mlir::fa

#endif // FA_EXPORT_MANIFESTARGUMENTS_H
