//===- FormChannels.cpp - Operands of products through shared memory ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUFORMCHANNELSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fagpu;

namespace {
class ChannelFormer {
public:
  explicit ChannelFormer(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()) {}
  LogicalResult run();

private:
  LogicalResult formChannel(FetchOp fetch);
  void release(FetchOp fetch, Value view);
  void selectProduct(ProductOp product);
  void stageStore(StoreOp store);
  ChannelOp makeChannel(Location loc, RankedTensorType tile, Engine engine,
                        Value over);

  func::FuncOp kernel;
  OpBuilder builder;
};
} // namespace

/// The widest panels that fill the rows of a tile: the fewer, the longer the
/// pieces of a row in memory that threads copy together.
static unsigned chooseSwizzle(RankedTensorType tile) {
  int64_t rowBytes = tile.getShape().back() *
                     tile.getElementType().getIntOrFloatBitWidth() / 8;
  for (unsigned swizzle : {128, 64, 32})
    if (rowBytes % swizzle == 0)
      return swizzle;
  return 0;
}

ChannelOp ChannelFormer::makeChannel(Location loc, RankedTensorType tile,
                                     Engine engine, Value over) {
  MLIRContext *context = builder.getContext();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*kernel.getOps<RoleOp>().begin());
  auto type =
      ChannelType::get(context, tile.getShape(), tile.getElementType(),
                       SharedLayoutAttr::get(context, chooseSwizzle(tile)), 1);
  return ChannelOp::create(builder, loc, type, engine, 1, over, IntegerAttr(),
                           IntegerAttr(), DenseI32ArrayAttr());
}

/// Behind the last operation, in the block of the fetch, that reads it.
void ChannelFormer::release(FetchOp fetch, Value view) {
  Operation *last = nullptr;
  for (Operation *user : view.getUsers()) {
    Operation *ancestor = fetch->getBlock()->findAncestorOpInBlock(*user);
    if (!last || last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  builder.setInsertionPointAfter(last);
  ReleaseOp::create(builder, fetch.getLoc(), view);
}

LogicalResult ChannelFormer::formChannel(FetchOp fetch) {
  for (Operation *user : fetch->getUsers())
    if (!isa<ProductOp>(user))
      return fetch.emitOpError() << "is read by '" << user->getName()
                                 << "', expected only 'fagpu.product'";
  RankedTensorType tile = fetch.getType();
  ChannelOp channel =
      makeChannel(fetch.getLoc(), tile, Engine::cp_async, Value());
  builder.setInsertionPoint(fetch);
  PutOp::create(builder, fetch.getLoc(), channel, Value(), ValueRange(),
                fetch.getSource(), fetch.getOffsets(), fetch.getSizes(),
                fetch.getRows(), Value(), Value(), Value());
  Value view =
      AcquireOp::create(builder, fetch.getLoc(), channel.getType().getView(),
                        channel, Value(), Value(), Value(), IntegerAttr());
  fetch.replaceAllUsesWith(view);
  release(fetch, view);
  fetch.erase();
  return success();
}

void ChannelFormer::selectProduct(ProductOp product) {
  builder.setInsertionPoint(product);
  Value result = MmaOp::create(builder, product.getLoc(), product.getType(),
                               product.getForm(), product.getA(),
                               cast<TypedValue<ViewType>>(product.getB()),
                               product.getAcc());
  product.replaceAllUsesWith(result);
  product.erase();
}

/// The memory of a channel that is released before, if its tile is the same.
void ChannelFormer::stageStore(StoreOp store) {
  auto type = cast<RankedTensorType>(store.getValue().getType());
  if (type.getRank() != 2 || store.getVia() ||
      !isPackedElement(type.getElementType()))
    return;
  for (ChannelOp channel : llvm::to_vector(kernel.getOps<ChannelOp>())) {
    bool isFree = channel.getType().getShape() == type.getShape() &&
                  channel.getType().getElementType() == type.getElementType();
    for (Operation *user : channel->getUsers())
      isFree &= user->getBlock() == store->getBlock() &&
                user->isBeforeInBlock(store) && isa<PutOp, AcquireOp>(user);
    if (!isFree)
      continue;
    ChannelOp via = makeChannel(store.getLoc(), type, Engine::threads, channel);
    store.getViaMutable().assign(via);
    return;
  }
}

LogicalResult ChannelFormer::run() {
  SmallVector<FetchOp> fetches;
  SmallVector<ProductOp> products;
  SmallVector<StoreOp> stores;
  kernel.walk([&](Operation *op) {
    if (auto fetch = dyn_cast<FetchOp>(op))
      fetches.push_back(fetch);
    else if (auto product = dyn_cast<ProductOp>(op))
      products.push_back(product);
    else if (auto store = dyn_cast<StoreOp>(op))
      stores.push_back(store);
  });
  for (FetchOp fetch : fetches)
    if (failed(formChannel(fetch)))
      return failure();
  llvm::for_each(products, [&](ProductOp op) { selectProduct(op); });
  llvm::for_each(stores, [&](StoreOp op) { stageStore(op); });
  return success();
}

namespace {
struct FormChannelsPass
    : public fa::impl::FAGPUFormChannelsPassBase<FormChannelsPass> {
  void runOnOperation() override {
    if (isKernel(getOperation()) && failed(ChannelFormer(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
