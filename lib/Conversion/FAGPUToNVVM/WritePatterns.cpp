//===- WritePatterns.cpp - Block values into channels ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "SharedTile.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// Each warp stores its rows and arrives when products may read them.
struct WritePattern : public KernelPattern<WriteOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(WriteOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto channel = op.getChannel().getDefiningOp<ChannelOp>();
    auto type = cast<RankedTensorType>(op.getValue().getType());
    if (!op.getStage() || !channel.getOffset())
      return rewriter.notifyMatchFailure(op, "no stage or no plan");
    if (!SharedTile::isSupported(type.getElementType(),
                                 channel.getType().getLayout()) ||
        !isa<AccumulatorLayoutAttr>(type.getEncoding()))
      return rewriter.notifyMatchFailure(
          op, "expected 16-bit elements of #fagpu.acc, into a swizzled tile");
    Panels panels(channel.getType().getLayout());
    if (op.getTransposed() &&
        16 * getBlockLayout(type).getWarps() > panels.getColumns())
      return rewriter.notifyMatchFailure(
          op, "the rows of the warps are in several panels");
    Emitter emit(rewriter, op.getLoc());
    Value bank = getOptional(adaptor.getBank());
    StageAddress stage = addressStage(emit, kernel, op.getChannel(),
                                      adaptor.getStage()[0], bank);
    if (channel.getBarriers())
      emit.waitPhase(stage.empty, adaptor.getPhase()[0]);
    SharedTile tile = {stage.data, channel.getType().getShape()[0], panels};
    if (!op.getPart().empty()) {
      SmallVector<Value> part =
          flatten(SmallVector<ValueRange>(adaptor.getPart()));
      tile = tile.at(emit, part[0], part[1]);
    }
    const RoleThreads &threads = kernel.getThreads(op);
    tile.store(emit, threads, type, adaptor.getValue(), op.getTransposed());
    // Products read by the asynchronous proxy.
    NVVM::FenceProxyOp::create(
        rewriter, op.getLoc(), NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(rewriter.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    NVVM::SyncWarpOp::create(rewriter, op.getLoc(), emit.constant(-1));
    if (channel.getBarriers())
      emit.arrive(stage.full, threads.isWarpLeader);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mlir::fagpu::populateWritePatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelContext &kernel) {
  patterns.add<WritePattern>(converter, patterns.getContext(), kernel);
}
