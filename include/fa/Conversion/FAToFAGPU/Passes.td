//===- Passes.td - From tiled attention to GPU schedules -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The passes by what they decide, each part a file of its own.

#ifndef FA_CONVERSION_FATOFAGPU_PASSES_TD
#define FA_CONVERSION_FATOFAGPU_PASSES_TD

include "fa/Conversion/FAToFAGPU/BlockValuePasses.td"
include "fa/Conversion/FAToFAGPU/KernelPasses.td"
include "fa/Conversion/FAToFAGPU/ProductPasses.td"
include "fa/Conversion/FAToFAGPU/RolePasses.td"
include "fa/Conversion/FAToFAGPU/ScalarPasses.td"

#endif // FA_CONVERSION_FATOFAGPU_PASSES_TD
