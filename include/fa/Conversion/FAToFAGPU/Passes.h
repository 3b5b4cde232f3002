//===- Passes.h - From tiled attention to GPU schedules ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FATOFAGPU_PASSES_H
#define FA_CONVERSION_FATOFAGPU_PASSES_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fa {

#define GEN_PASS_DECL
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"

} // namespace mlir::fa

#endif // FA_CONVERSION_FATOFAGPU_PASSES_H
