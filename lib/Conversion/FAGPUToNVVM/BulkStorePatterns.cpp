//===- BulkStorePatterns.cpp - Stores of block values in bulk -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block value is staged in shared memory, from where the leader of the group
// starts a bulk store, or an addition. Read `StoreStagedPattern::lower`; what
// leaves is a box of a tensor map, or one piece where it is in fragments.
//
//===----------------------------------------------------------------------===//

#include "ColumnBound.h"
#include "FragmentOrder.h"
#include "Patterns.h"
#include "SharedTile.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fagpu;

static void synchronize(Emitter &emit, RoleOp role) {
  NVVM::BarrierOp::create(emit.builder, emit.location, TypeRange{},
                          emit.add(role.getGroup(), *role.getBarrier()),
                          emit.constant(role.getThreadsPerGroup()),
                          NVVM::BarrierReductionAttr(), Value());
}

namespace {

struct StoreStagedPattern : public LoweringPattern<StoreOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(StoreOp op) const override {
    return isStagedBy(op, Engine::tma_store);
  }

  Registers lower(StoreOp op, Adaptor adaptor, Emitter &emit) const override {
    auto role = op->getParentOfType<RoleOp>();
    auto via = op.getVia().getDefiningOp<ChannelOp>();
    Value tile = emit.add(kernel.getSharedBase(), *via.getOffset());
    if (!adaptor.getBank().empty())
      tile = emit.add(tile, emit.multiply(adaptor.getBank().front(),
                                          via.getType().getStageBytes()));
    // The store before has read the stage, as its leader knows.
    NVVM::CpAsyncBulkWaitGroupOp::create(emit.builder, emit.location,
                                         emit.builder.getI32IntegerAttr(0),
                                         emit.builder.getUnitAttr());
    synchronize(emit, role);
    stage(op, adaptor, emit, via.getType(), tile);
    emit.fenceAsynchronousProxy();
    synchronize(emit, role);
    if (op.getFragments())
      leaveAsPiece(op, adaptor, emit, tile);
    else
      leaveAsBox(op, adaptor, emit, tile);
    NVVM::CpAsyncBulkCommitGroupOp::create(emit.builder, emit.location);
    return {};
  }

private:
  void stage(StoreOp op, Adaptor adaptor, Emitter &emit, ChannelType via,
             Value tile) const {
    RankedTensorType type = blockType(op.getValue());
    const RoleThreads &threads = kernel.getThreads(op);
    if (op.getFragments())
      return FragmentOrder(type).storeShared(emit, threads, tile,
                                             adaptor.getValue());
    bool isFloat = type.getElementType().isF32();
    SharedTile shared{tile, via.getShape()[0],
                      Panels(via.getLayout(), isFloat ? 4 : 2)};
    if (isFloat)
      shared.storeFloats(emit, threads, type, adaptor.getValue());
    else
      shared.store(emit, threads, type, adaptor.getValue(), op.getTransposed());
  }

  void leaveAsPiece(StoreOp op, Adaptor adaptor, Emitter &emit,
                    Value tile) const {
    Value address =
        getAddress(emit.builder, emit.location, kernel, op.getDestination(),
                   flatten(SmallVector<ValueRange>(adaptor.getOffsets())));
    int64_t bytes = blockType(op.getValue()).getNumElements() * 4;
    StringRef text =
        op.getAdd() ? "@$3 cp.reduce.async.bulk.global.shared::cta.bulk_group."
                      "add.f32 [$0], [$1], $2;"
                    : "@$3 cp.async.bulk.global.shared::cta.bulk_group [$0], "
                      "[$1], $2;";
    emit.inlinePTX(text, "l,r,r,b,~{memory}",
                   {address, tile, emit.constant(bytes),
                    kernel.getThreads(op).isGroupLeader},
                   {});
  }

  void leaveAsBox(StoreOp op, Adaptor adaptor, Emitter &emit,
                  Value tile) const {
    const TensorMap &map = kernel.getTensorMap(op);
    Value rows = getOptional(adaptor.getRows());
    SmallVector<Value> offsets =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    ColumnBound bound(getOptional(adaptor.getColumns()), offsets.back());
    int64_t panelBytes = op.getVia().getType().getShape()[0] * map.swizzle;
    for (int64_t copy = 0; copy < map.copies; ++copy) {
      if (bound.excludes(copy * map.columns))
        continue;
      SmallVector<Value> at(offsets);
      if (copy)
        at.back() = emit.add(at.back(), copy * map.columns);
      SmallVector<Value> coordinates =
          getCoordinates(emit, kernel, map, op.getDestination(), at, rows);
      Value panel = emit.add(tile, copy * panelBytes);
      if (op.getAdd() || op.getCache())
        leaveAsPanel(op, emit, map, panel, coordinates);
      else
        NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
            emit.builder, emit.location, kernel.getTensorMapParameter(map),
            emit.sharedPointer(panel), coordinates,
            /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
            kernel.getThreads(op).isGroupLeader);
    }
  }

  /// The operations of NVVM for sums, and with a cache policy, take no
  /// predicate, and a branch would make the loop around them divergent.
  void leaveAsPanel(StoreOp op, Emitter &emit, const TensorMap &map,
                    Value panel, ValueRange coordinates) const {
    SmallVector<Value> inputs = {
        LLVM::PtrToIntOp::create(emit.builder, emit.location,
                                 emit.builder.getI64Type(),
                                 kernel.getTensorMapParameter(map)),
        panel, kernel.getThreads(op).isGroupLeader};
    std::string list, constraints = "l,r,b";
    for (Value coordinate : coordinates) {
      list += (list.empty() ? "$" : ", $") + std::to_string(inputs.size());
      inputs.push_back(coordinate);
      constraints += ",r";
    }
    std::string policy, hint;
    if (Value cache = emit.createCachePolicy(op.getCache())) {
      policy = ", $" + std::to_string(inputs.size());
      hint = ".L2::cache_hint";
      inputs.push_back(cache);
      constraints += ",l";
    }
    std::string text = (Twine("@$2 cp.") + (op.getAdd() ? "reduce." : "") +
                        "async.bulk.tensor." + Twine(coordinates.size()) +
                        "d.global.shared::cta." + (op.getAdd() ? "add." : "") +
                        "tile.bulk_group" + hint + " [$0, {" + list +
                        "}], [$1]" + policy + ";")
                           .str();
    emit.inlinePTX(text, constraints + ",~{memory}", inputs, {});
  }
};

} // namespace

void mlir::fagpu::populateBulkStorePatterns(RewritePatternSet &patterns,
                                            const TypeConverter &converter,
                                            const KernelContext &kernel) {
  patterns.add<StoreStagedPattern>(converter, patterns.getContext(), kernel);
}
