//===- SelectProducts.cpp - Instructions for matrix products --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Target/GPUTarget.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSELECTPRODUCTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// Rows and warps of an asynchronous product, and the most columns that it has.
static constexpr int64_t asyncRows = 64, asyncWarps = 4, asyncColumns = 256;

static LogicalResult verifyAsync(ProductOp product) {
  auto kernel = product->getParentOfType<func::FuncOp>();
  auto role = product->getParentOfType<RoleOp>();
  StringRef chip =
      kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName)
          .getValue();
  const GPUTarget *target = lookupGPUTarget(chip);
  if (!target || !target->hasAsyncMatrix)
    return product.emitOpError()
           << "is to be issued by a group of warps, but " << chip
           << " has no asynchronous products; expected warps or sm_90a";
  if (role.getWarps() != asyncWarps)
    return product.emitOpError()
           << "is to be issued by a group of " << role.getWarps()
           << " warps, expected " << asyncWarps;
  auto type = cast<RankedTensorType>(product.getType());
  if (type.getDimSize(0) != asyncRows)
    return product.emitOpError()
           << "makes " << type.getDimSize(0)
           << " rows, but a group of warps computes " << asyncRows;
  if (int64_t columns = type.getDimSize(1);
      columns % 8 || columns > asyncColumns)
    return product.emitOpError()
           << "makes " << columns << " columns, expected a multiple of 8 up to "
           << asyncColumns << "; nearest is "
           << std::clamp<int64_t>(llvm::alignTo(columns, 8), 8, asyncColumns);
  return success();
}

/// A view as the second operand is what both instructions take.
static LogicalResult verifyOperand(ProductOp product) {
  if (isa<ViewType>(product.getB().getType()))
    return success();
  return product.emitOpError()
         << "has a second operand in registers, expected a view; run "
            "fagpu-form-channels before";
}

/// What the product adds to: a sum in flight is not awaited in between.
static Value getSum(ProductOp product) {
  Value acc = product.getAcc();
  auto wait = acc ? acc.getDefiningOp<WaitOp>() : WaitOp();
  if (!wait || !acc.hasOneUse() || wait->getBlock() != product->getBlock())
    return acc;
  return wait.getInflight();
}

static Value select(ProductOp product, bool isAsync) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  auto b = cast<TypedValue<ViewType>>(product.getB());
  if (!isAsync)
    return MmaOp::create(builder, loc, product.getType(), product.getForm(),
                         product.getA(), b, product.getAcc());
  Value sum = getSum(product);
  SmallVector<RankedTensorType> kept;
  if (sum)
    if (auto before = dyn_cast<InflightType>(sum.getType()))
      llvm::append_range(kept, before.getKeeps());
  if (auto registers = dyn_cast<RankedTensorType>(product.getA().getType()))
    kept.push_back(registers);
  auto type = InflightType::get(
      builder.getContext(), cast<RankedTensorType>(product.getType()), kept);
  Value issued = MmaAsyncOp::create(builder, loc, type, product.getForm(),
                                    product.getA(), b, sum);
  return WaitOp::create(builder, loc, product.getType(), issued, IntegerAttr());
}

/// A view is released when the last of the products that add to one sum, and so
/// the one that reads it, is complete.
static void deferReleases(func::FuncOp kernel) {
  SmallVector<MmaAsyncOp> products;
  kernel.walk([&](MmaAsyncOp op) { products.push_back(op); });
  for (MmaAsyncOp product : products) {
    WaitOp wait = product.getWait();
    for (Value operand : product->getOperands().take_front(2))
      for (Operation *user : getWholeView(operand).getUsers())
        if (isa<ReleaseOp>(user) && user->getBlock() == wait->getBlock() &&
            user->isBeforeInBlock(wait))
          user->moveAfter(wait);
  }
}

namespace {
struct SelectProductsPass
    : public fa::impl::FAGPUSelectProductsPassBase<SelectProductsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel))
      return;
    bool isAsync = hasWarpGroups(kernel);
    SmallVector<ProductOp> products;
    kernel.walk([&](ProductOp op) { products.push_back(op); });
    for (ProductOp product : products) {
      if (failed(verifyOperand(product)) ||
          (isAsync && failed(verifyAsync(product))))
        return signalPassFailure();
      Value sum = product.getAcc();
      product.replaceAllUsesWith(select(product, isAsync));
      product.erase();
      // A product in flight that another one added to has no wait of its own.
      if (sum && sum.use_empty() &&
          isa_and_nonnull<WaitOp>(sum.getDefiningOp()))
        sum.getDefiningOp()->erase();
    }
    deferReleases(kernel);
  }
};
} // namespace
