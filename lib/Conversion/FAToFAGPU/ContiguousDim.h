//===- ContiguousDim.h - Elements that lie beside each other ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_CONTIGUOUSDIM_H
#define FA_LIB_CONVERSION_FATOFAGPU_CONTIGUOUSDIM_H

#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace mlir::fa {

/// The last dimension whose elements are known to lie beside each other.
std::optional<int64_t> getContiguousDim(MemRefType type);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_CONTIGUOUSDIM_H
