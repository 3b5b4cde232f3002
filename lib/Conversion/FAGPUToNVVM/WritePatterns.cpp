//===- WritePatterns.cpp - Block values into channels ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "SharedTile.h"
#include "TilePlace.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// Each warp stores its rows and arrives when products may read them.
struct WritePattern : public LoweringPattern<WriteOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(WriteOp op, Adaptor adaptor, Emitter &emit) const override {
    auto channel = op.getChannel().getDefiningOp<ChannelOp>();
    auto type = cast<RankedTensorType>(op.getValue().getType());
    bool isFloat = type.getElementType().isF32();
    Panels panels(channel.getType().getLayout(), isFloat ? 4 : 2);
    Value bank = getOptional(adaptor.getBank());
    StageAddress stage = addressStage(emit, kernel, op.getChannel(),
                                      adaptor.getStage()[0], bank);
    if (channel.getBarriers() && !op.getContinues())
      emit.waitPhase(stage.empty, adaptor.getPhase()[0]);
    SharedTile tile = {stage.data, channel.getType().getShape()[0], panels};
    if (!op.getPart().empty()) {
      SmallVector<Value> part =
          flatten(SmallVector<ValueRange>(adaptor.getPart()));
      tile = tile.at(emit, part[0], part[1]);
    }
    const RoleThreads &threads = kernel.getThreads(op);
    bool isCopied = channel.getEngine() == Engine::cp_async;
    if (isFloat)
      tile.storeFloats(emit, threads, type, adaptor.getValue());
    else if (isCopied)
      TilePlace::storeWords(emit, kernel.getSharedBase(), tile, threads, type,
                            adaptor.getValue());
    else
      tile.store(emit, threads, type, adaptor.getValue(), op.getTransposed());
    if (isCopied) {
      // It counts as a copy; a `fagpu.sync` shows it to the other warps.
      NVVM::CpAsyncCommitGroupOp::create(emit.builder, emit.location);
      return {};
    }
    if (op.getUnfinished())
      return {};
    // Products and bulk stores read by the asynchronous proxy.
    emit.fenceAsynchronousProxy();
    NVVM::SyncWarpOp::create(emit.builder, emit.location, emit.constant(-1));
    if (channel.getBarriers())
      emit.arrive(stage.full, threads.isWarpLeader);
    return {};
  }
};

} // namespace

void mlir::fagpu::populateWritePatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelContext &kernel) {
  patterns.add<WritePattern>(converter, patterns.getContext(), kernel);
}
