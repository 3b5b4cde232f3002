//===- FAGPUOps.td - Operations of the fagpu dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUOPS_TD
#define FA_DIALECT_FAGPU_IR_FAGPUOPS_TD

include "fa/Dialect/FAGPU/IR/FAGPUTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

include "fa/Dialect/FAGPU/IR/FAGPUControlOps.td"
include "fa/Dialect/FAGPU/IR/FAGPUChannelOps.td"
include "fa/Dialect/FAGPU/IR/FAGPUMatrixOps.td"
include "fa/Dialect/FAGPU/IR/FAGPUBlockOps.td"
include "fa/Dialect/FAGPU/IR/FAGPUScalarOps.td"
include "fa/Dialect/FAGPU/IR/FAGPUHostOps.td"

#endif // FA_DIALECT_FAGPU_IR_FAGPUOPS_TD
