//===- CPUPipeline.cpp - From attention to the LLVM dialect ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/CPUPipeline.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void fa::buildLowerToLLVMPipeline(OpPassManager &manager) {
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(createConvertVectorToSCFPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

void fa::buildFAToCPUPipeline(OpPassManager &manager) {
  buildLowerToLLVMPipeline(manager);
}

void fa::registerCPUPipelines() {
  PassPipelineRegistration<>(
      "fa-lower-to-llvm",
      "From scf, vector, memref, arith and math to the LLVM dialect",
      buildLowerToLLVMPipeline);
  PassPipelineRegistration<>("fa-to-cpu",
                             "From any level (0 to 3C) to the LLVM dialect",
                             buildFAToCPUPipeline);
}

void fa::registerCPUPipelineInterfaces(DialectRegistry &registry) {}
