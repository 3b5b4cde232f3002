//===- DrainPatterns.cpp - Bulk stores of stages --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// One thread starts the store, or the addition, and waits until the stage is
/// read: it is the thread that releases the stage.
struct DrainPattern : public LoweringPattern<DrainOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(DrainOp op, Adaptor adaptor, Emitter &emit) const override {
    const TensorMap &map = kernel.getTensorMap(op);
    SmallVector<Value> coordinates =
        getCoordinates(emit, kernel, map, op.getDestination(),
                       flatten(SmallVector<ValueRange>(adaptor.getOffsets())),
                       getOptional(adaptor.getRows()));
    Value tile = emit.sharedPointer(adaptor.getView()[0]);
    Value descriptor = kernel.getTensorMapParameter(map);
    OpBuilder::InsertionGuard guard(emit.builder);
    // The addition takes no predicate.
    if (!op->getParentOfType<RoleOp>().getElect()) {
      auto branch =
          scf::IfOp::create(emit.builder, emit.location,
                            kernel.getThreads(op).isGroupLeader, false);
      emit.builder.setInsertionPointToStart(branch.thenBlock());
    }
    if (op.getAdd())
      NVVM::CpAsyncBulkTensorReduceOp::create(
          emit.builder, emit.location, descriptor, tile,
          NVVM::TMAReduxKind::ADD, NVVM::TMAStoreMode::TILE, coordinates,
          /*l2CacheHint=*/Value());
    else
      NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
          emit.builder, emit.location, descriptor, tile, coordinates,
          /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
          /*predicate=*/Value());
    NVVM::CpAsyncBulkCommitGroupOp::create(emit.builder, emit.location);
    NVVM::CpAsyncBulkWaitGroupOp::create(emit.builder, emit.location,
                                         emit.builder.getI32IntegerAttr(0),
                                         emit.builder.getUnitAttr());
    return {};
  }
};

} // namespace

void mlir::fagpu::populateDrainPatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelContext &kernel) {
  patterns.add<DrainPattern>(converter, patterns.getContext(), kernel);
}
