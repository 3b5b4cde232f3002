//===- ChannelOps.cpp - Channels and mail ---------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of channels, the multi-stage pipelines in shared memory, and of
// views of their stages: acquire, slice, write, drain. Read
// `ChannelOp::verify`; puts and stores have files of their own.
//
//===----------------------------------------------------------------------===//

#include "CopyChecks.h"

using namespace mlir;
using namespace mlir::fagpu;

Value mlir::fagpu::getWholeView(Value view) {
  while (auto slice = view.getDefiningOp<SliceOp>())
    view = slice.getView();
  return view;
}

static bool isLoaded(Value view) {
  return llvm::any_of(view.getUsers(), [](Operation *user) {
    auto slice = dyn_cast<SliceOp>(user);
    return slice ? isLoaded(slice.getResult()) : isa<LoadOp>(user);
  });
}

bool mlir::fagpu::isReadByLoads(Value channel) {
  return llvm::any_of(channel.getUsers(), [](Operation *user) {
    auto acquire = dyn_cast<AcquireOp>(user);
    return acquire && isLoaded(acquire.getView());
  });
}

bool mlir::fagpu::isCopiedByThreads(Value channel) {
  auto made = channel.getDefiningOp<ChannelOp>();
  return made && llvm::is_contained({Engine::cp_async, Engine::loads},
                                    made.getEngine());
}

void ChannelOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "channel");
}

/// Each block of a cluster copies whole groups of the rows that a swizzle
/// permutes.
static LogicalResult verifyMulticast(ChannelOp op) {
  if (!op.getMulticast())
    return success();
  if (op.getEngine() != Engine::tma)
    return op.emitOpError()
           << "is multicast by the engine '" << stringifyEngine(op.getEngine())
           << "', expected 'tma'";
  int64_t blocks = getClusterSize(op->getParentOfType<func::FuncOp>());
  if (blocks == 1)
    return op.emitOpError()
           << "is multicast in a kernel of no clusters, "
              "expected '"
           << FAGPUDialect::clusterAttrName << "' of 2, 4 or 8 on it";
  ArrayRef<int64_t> tile = op.getType().getShape();
  constexpr int64_t rowsPerSwizzle = 8;
  if (tile.size() == 2 && tile.front() % (rowsPerSwizzle * blocks) == 0)
    return success();
  return op.emitOpError() << "is multicast with tiles of " << formatShape(tile)
                          << ", expected rows that are a multiple of "
                          << rowsPerSwizzle * blocks << ", " << rowsPerSwizzle
                          << " for each block of a cluster";
}

LogicalResult ChannelOp::verify() {
  if (int64_t banks = static_cast<int32_t>(getBanks()); banks < 1)
    return emitOpError() << "has " << banks << " banks, expected at least 1";
  if (failed(verifyMulticast(*this)))
    return failure();
  if (!getOver())
    return success();
  auto over = getOver().getDefiningOp<ChannelOp>();
  if (!over)
    return emitOpError() << "shares the memory of a value that is not made by "
                            "'fagpu.channel'";
  // Another block of the cluster fills that memory, and does not wait for the
  // other channel.
  if (getMulticast() || over.getMulticast())
    return emitOpError() << "shares memory " << (getMulticast() ? "as" : "with")
                         << " a channel that all blocks of a cluster fill, "
                            "expected memory of its own";
  int64_t bytes = getNumStages() * getType().getStageBytes();
  int64_t available = over.getNumStages() * over.getType().getStageBytes();
  if (bytes <= available)
    return success();
  return emitOpError() << "takes " << bytes << " bytes over a channel of "
                       << available;
}

void MailOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "mail");
}

void AcquireOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getView(), "view");
}

LogicalResult AcquireOp::verify() {
  return verifyBank(*this, getChannel(), getBank());
}

void SliceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "slice");
}

LogicalResult SliceOp::verify() {
  ViewType source = getView().getType(), result = getType();
  if (getOffsets().size() != source.getShape().size())
    return emitOpError() << "has " << getOffsets().size()
                         << " offsets, expected " << source.getShape().size();
  if (source.getElementType() != result.getElementType() ||
      source.getLayout() != result.getLayout() ||
      source.getShape().size() != result.getShape().size())
    return emitOpError() << "makes " << result << " of " << source
                         << ", expected the same rank, elements and layout";
  for (auto [part, whole] :
       llvm::zip_equal(result.getShape(), source.getShape()))
    if (part > whole)
      return emitOpError() << "takes " << formatShape(result.getShape())
                           << " of a view of "
                           << formatShape(source.getShape());
  return success();
}

LogicalResult WriteOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  ArrayRef<int64_t> tile = getChannel().getType().getShape();
  if (failed(verifyEngine(*this, getChannel(),
                          {Engine::threads, Engine::cp_async})) ||
      failed(verifyBank(*this, getChannel(), getBank())) ||
      failed(verifyPart(*this, getPart(), tile)) ||
      failed(verifyElements(*this, value.getElementType(),
                            getChannel().getType().getElementType(),
                            "a channel")))
    return failure();
  SmallVector<int64_t> box(value.getShape());
  if (getTransposed())
    std::reverse(box.begin(), box.end());
  return verifyCovers(*this, box, tile, !getPart().empty());
}

LogicalResult DrainOp::verify() {
  auto memory = cast<MemRefType>(getDestination().getType());
  if (failed(verifyOffsets(*this, getOffsets(), memory)) ||
      failed(verifyElements(*this, getView().getType().getElementType(),
                            memory.getElementType(), "memory")) ||
      failed(verifySizes(*this, getBox(), memory)) ||
      (getAdd() && failed(verifyOrderOfAdds(*this))))
    return failure();
  return verifyBox(*this, getView().getType().getShape(), getBox());
}

void RecvOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults())
    setName(getResult(0), "work");
}
