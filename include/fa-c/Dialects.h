//===- Dialects.h - The dialects for programs on MLIR's C API ------*- C
//-*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For programs that hold an MLIR 22 of their own and speak to it by its C API
// (mlir-c/*.h). Such a program links FA::FACAPIDialects, libMLIR.so, and of the
// packages' libMLIRCAPI*.a what it calls. Others use fa-c/Compiler.h, which
// needs no MLIR.
//
// Errors are diagnostics of the context and a null attribute, as in mlir-c.
//
//===----------------------------------------------------------------------===//

#ifndef FA_C_DIALECTS_H
#define FA_C_DIALECTS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(FA, fa);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(FAGPU, fagpu);

/// Adds both dialects, and what the pipelines of the project need of interfaces
/// of upstream dialects.
MLIR_CAPI_EXPORTED void
faDialectRegistryInsertAll(MlirDialectRegistry registry);

/// Registers all passes and pipelines of the project, for
/// mlirParsePassPipeline and mlirOpPassManagerAddPipeline. Once in a process;
/// later calls do nothing.
MLIR_CAPI_EXPORTED void faRegisterPasses(void);

//===----------------------------------------------------------------------===//
// #fa.dims
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool faAttributeIsADims(MlirAttribute attribute);

/// The order of the four dims of an operand: 'b' batch, 's' sequence, 'h' heads
/// and 'd' head dim, as in "bhsd".
MLIR_CAPI_EXPORTED MlirAttribute faDimsAttrGet(MlirContext context,
                                               MlirStringRef order);

/// The position of the dim 'b', 's', 'h' or 'd', -1 for another letter.
MLIR_CAPI_EXPORTED intptr_t faDimsAttrGetPosition(MlirAttribute dims,
                                                  char kind);

//===----------------------------------------------------------------------===//
// #fa.config
//===----------------------------------------------------------------------===//

MLIR_CAPI_EXPORTED bool faAttributeIsAConfig(MlirAttribute attribute);

/// `target` is a target's part, such as #fa.cpu<...> parsed by
/// mlirAttributeParseGet, or null for none.
MLIR_CAPI_EXPORTED MlirAttribute
faConfigAttrGet(MlirContext context, int64_t query_block, int64_t key_block,
                int64_t key_splits, bool deterministic, MlirAttribute target);

MLIR_CAPI_EXPORTED int64_t faConfigAttrGetQueryBlock(MlirAttribute config);
MLIR_CAPI_EXPORTED int64_t faConfigAttrGetKeyBlock(MlirAttribute config);
MLIR_CAPI_EXPORTED int64_t faConfigAttrGetKeySplits(MlirAttribute config);
MLIR_CAPI_EXPORTED bool faConfigAttrIsDeterministic(MlirAttribute config);
/// Null where there is none.
MLIR_CAPI_EXPORTED MlirAttribute faConfigAttrGetTarget(MlirAttribute config);

#ifdef __cplusplus
}
#endif

#endif // FA_C_DIALECTS_H
