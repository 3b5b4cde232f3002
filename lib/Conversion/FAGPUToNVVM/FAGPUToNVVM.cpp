//===- FAGPUToNVVM.cpp - The conversion of kernels to NVVM ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "ThreadLoops.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_CONVERTFAGPUTONVVMPASS
#include "fa/Conversion/FAGPUToNVVM/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

static LogicalResult convertKernel(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  KernelContext kernel(function);
  if (failed(kernel.prepare()))
    return failure();

  TypeConverter converter;
  populateRegisterTypes(converter);
  RewritePatternSet patterns(context);
  populateBetweenPatterns(patterns, converter, kernel);
  populateBlockPatterns(patterns, converter, kernel);
  populateChannelPatterns(patterns, converter, kernel);
  populateCopyPatterns(patterns, converter, kernel);
  populateDrainPatterns(patterns, converter, kernel);
  populateDropoutPatterns(patterns, converter, kernel);
  populateElementwisePatterns(patterns, converter, kernel);
  populateBulkStorePatterns(patterns, converter, kernel);
  populateFragmentPatterns(patterns, converter, kernel);
  populateGatherPatterns(patterns, converter, kernel);
  populateScatterPatterns(patterns, converter, kernel);
  populateMatrixPatterns(patterns, converter, kernel);
  populateMatrixStorePatterns(patterns, converter, kernel);
  populateMemoryPatterns(patterns, converter, kernel);
  populateMmaPatterns(patterns, converter, kernel);
  populatePagePatterns(patterns, converter, kernel);
  populateStorePatterns(patterns, converter, kernel);
  populateThreadLoopPatterns(patterns, converter, kernel);
  populateVectorPatterns(patterns, converter, kernel);
  populateViewPatterns(patterns, converter, kernel);
  populateWritePatterns(patterns, converter, kernel);

  ConversionTarget target(*context);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addIllegalDialect<FAGPUDialect>();
  // Roles are lowered later; what the plan is attached to is erased at the end.
  target.addLegalOp<RoleOp, ChannelOp, MailOp, TurnsOp,
                    UnrealizedConversionCastOp>();
  target.addIllegalOp<gpu::BlockIdOp, gpu::GridDimOp, scf::ParallelOp,
                      vector::ShuffleOp, vector::InterleaveOp>();
  target.addDynamicallyLegalOp<memref::LoadOp>(
      [&](memref::LoadOp op) { return !kernel.getPointer(op.getMemRef()); });
  target.addDynamicallyLegalOp<memref::StoreOp>(
      [&](memref::StoreOp op) { return !kernel.getPointer(op.getMemRef()); });
  target.addDynamicallyLegalOp<vector::LoadOp>(
      [&](vector::LoadOp op) { return !kernel.getPointer(op.getBase()); });
  target.addDynamicallyLegalOp<vector::StoreOp>(
      [&](vector::StoreOp op) { return !kernel.getPointer(op.getBase()); });
  target.addDynamicallyLegalOp<memref::DimOp>(
      [&](memref::DimOp op) { return !kernel.isParameter(op.getSource()); });
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
  if (failed(applyPartialConversion(function, target, std::move(patterns))))
    return failure();
  sinkBitTests(function);
  kernel.finish();
  return success();
}

namespace {
struct ConvertFAGPUToNVVMPass
    : public fagpu::impl::ConvertFAGPUToNVVMPassBase<ConvertFAGPUToNVVMPass> {
  void runOnOperation() override {
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (isKernel(function) && failed(convertKernel(function)))
        return signalPassFailure();
  }
};
} // namespace
