//===- CPUPipeline.cpp - From attention to the LLVM dialect ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/CPUPipeline.h"
#include "fa/Pipelines/RegisterPipeline.h"

#include "fa/Conversion/CPU/Passes.h"
#include "fa/Dialect/FA/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Pipelines/Level2Pipeline.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Arithmetic on bf16, of which hosts only have conversions, by way of f32.
static void addArithmeticOfBF16(OpPassManager &manager) {
  math::MathExtendToSupportedTypesOptions functions;
  functions.extraTypeStrs = {"f16"};
  manager.addPass(math::createMathExtendToSupportedTypes(functions));
  arith::ArithEmulateUnsupportedFloatsOptions arithmetic;
  arithmetic.sourceTypeStrs = {"bf16"};
  manager.addPass(arith::createArithEmulateUnsupportedFloats(arithmetic));
}

void fa::buildLowerToLLVMPipeline(OpPassManager &manager) {
  addArithmeticOfBF16(manager);
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  manager.addPass(arith::createArithExpandOpsPass(expand));
  manager.addPass(createFAUnpackVectors());
  manager.addPass(createConvertVectorToSCFPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createFAMarkEntries());
  manager.addPass(createConvertMathToLLVMPass());
  // Takes vectors apart, by operations of the vector dialect.
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertIndexToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createFAVerifyLowered());
}

void fa::buildBlocksToVectorsPipeline(OpPassManager &manager) {
  manager.addPass(createFAExpandKeyRanges());
  // Sizes of slices become static where they can, which decides which of their
  // dimensions are left out.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createFAPlacePages());
  manager.addPass(createFADecomposeStep());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createFAPackProducts());
  manager.addPass(createFAApplyToLinalg());
  manager.addPass(createCanonicalizerPass());
  // From here to memory no pass may join fills: each is written over.
  manager.addPass(createFAFuseBlocks());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  manager.addPass(bufferization::createOneShotBufferizePass(bufferize));
  manager.addPass(createFAScatterToLoops());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createFAPlaceScratch());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createFAVectorizeLanes());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createFAExpandMath());
  manager.addPass(createFAOutlineParallel());
}

void fa::buildFAToCPUPipeline(OpPassManager &manager) {
  manager.addPass(createFAVerifyLevel());
  buildFAToLevel2Pipeline(manager);
  buildBlocksToVectorsPipeline(manager);
  buildLowerToLLVMPipeline(manager);
}

void fa::registerCPUPipelines() {
  registerFACPUConversionPasses();
  registerPipeline(
      "fa-lower-to-llvm",
      "From scf, vector, memref, arith and math to the LLVM dialect",
      buildLowerToLLVMPipeline);
  registerPipeline(
      "fa-blocks-to-vectors",
      "From tiled attention (level 2) to vectors and parallel calls (3C)",
      buildBlocksToVectorsPipeline);
  registerPipeline("fa-to-cpu", "From any level (0 to 3C) to the LLVM dialect",
                   buildFAToCPUPipeline);
}

void fa::registerCPUPipelineInterfaces(DialectRegistry &registry) {
  registerBufferizableOpInterfaceExternalModels(registry);
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  linalg::registerTilingInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  affine::registerValueBoundsOpInterfaceExternalModels(registry);
  arith::registerValueBoundsOpInterfaceExternalModels(registry);
  memref::registerValueBoundsOpInterfaceExternalModels(registry);
  scf::registerValueBoundsOpInterfaceExternalModels(registry);
}
