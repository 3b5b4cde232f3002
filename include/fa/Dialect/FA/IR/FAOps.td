//===- FAOps.td - Operations of the fa dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAOPS_TD
#define FA_DIALECT_FA_IR_FAOPS_TD

include "fa/Dialect/FA/IR/FAAttributes.td"
include "fa/Dialect/FA/IR/FADialect.td"
include "fa/Dialect/FA/IR/FAInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

// Captured values: shaped ones are read by loads, scalars are used as they are.
def FA_Capture : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef, AnyFloat,
    AnySignlessIntegerOrIndex], "ranked tensor, strided memref or scalar">;
// A score of all rows of a block, or of each.
def FA_Sink : AnyTypeOf<[F32, FA_Shaped], "f32, or a ranked tensor or memref of f32">;

include "fa/Dialect/FA/IR/FAAttentionOps.td"
include "fa/Dialect/FA/IR/FABlockOps.td"
include "fa/Dialect/FA/IR/FACacheOps.td"
include "fa/Dialect/FA/IR/FAGradientOps.td"
include "fa/Dialect/FA/IR/FAStateOps.td"
include "fa/Dialect/FA/IR/FARegionOps.td"

#endif // FA_DIALECT_FA_IR_FAOPS_TD
