//===- HoistGathers.cpp - Loads ahead of products -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUHOISTGATHERSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// Registers of a thread that products, the operand between them and what is
/// loaded ahead may take; addresses, statistics and counters take the rest.
static constexpr int64_t mostRegisters = 192;

/// 32-bit registers of a thread for the elements of a block of one group.
static int64_t countRegisters(RankedTensorType type, int64_t warps) {
  int64_t words = llvm::divideCeil(
      type.getNumElements() * type.getElementTypeBitWidth(), 32);
  // The rows of a quad of threads share a column's value.
  return type.getRank() == 2 ? words / (32 * warps) : words / 4;
}

/// What is live where the first product of the next block is awaited.
static int64_t countProducts(KeyRangesOp ranges, int64_t warps) {
  int64_t registers = 0;
  for (auto product : ranges.getBodyRegion().front().getOps<ProductOp>()) {
    registers +=
        countRegisters(cast<RankedTensorType>(product.getType()), warps);
    if (product.getAcc())
      registers += countRegisters(
          cast<RankedTensorType>(product.getA().getType()), warps);
  }
  return registers;
}

/// What a gather is computed from in its branch; false where that is a value of
/// the loop's block from behind `position`.
static bool collect(GatherOp gather, Operation *position,
                    SetVector<Operation *> &needed) {
  Block *branch = gather->getBlock();
  BackwardSliceOptions options;
  options.filter = [&](Operation *op) { return op->getBlock() == branch; };
  options.inclusive = true;
  if (failed(getBackwardSlice(gather.getOperation(), &needed, options)))
    return false;
  return llvm::all_of(needed, [&](Operation *op) {
    return op->getNumRegions() == 0 &&
           (op == gather || isMemoryEffectFree(op)) &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation *source = operand.getDefiningOp();
             return !source || source->getBlock() != position->getBlock() ||
                    source->isBeforeInBlock(position);
           });
  });
}

/// Loads what `gather` does in a branch of its own before `position`.
static void hoist(GatherOp gather, const SetVector<Operation *> &needed,
                  Operation *position) {
  OpBuilder builder(position);
  Location loc = gather.getLoc();
  Value isPartial = IsPartialOp::create(builder, loc, builder.getI1Type());
  auto branch =
      scf::IfOp::create(builder, loc, TypeRange{gather.getType()}, isPartial,
                        /*withElseRegion=*/true);
  OpBuilder loading = branch.getThenBodyBuilder();
  IRMapping mapping;
  for (Operation *op : needed)
    loading.clone(*op, mapping);
  scf::YieldOp::create(loading, loc, mapping.lookup(gather.getResult()));
  OpBuilder other = branch.getElseBodyBuilder();
  Value zero = arith::ConstantOp::create(other, loc,
                                         other.getZeroAttr(gather.getType()));
  scf::YieldOp::create(other, loc, zero);
  gather.replaceAllUsesWith(branch.getResult(0));
  gather.erase();
}

/// Gathers of columns in the branches of partial blocks, as far as registers
/// last.
static void hoistInRanges(KeyRangesOp ranges, int64_t warps) {
  Block &body = ranges.getBodyRegion().front();
  auto products = body.getOps<ProductOp>();
  if (products.empty())
    return;
  Operation *position = *products.begin();
  int64_t registers = countProducts(ranges, warps);
  for (auto branch : llvm::make_early_inc_range(body.getOps<scf::IfOp>())) {
    if (!branch.getCondition().getDefiningOp<IsPartialOp>() ||
        branch->isBeforeInBlock(position))
      continue;
    SmallVector<GatherOp> gathers(branch.thenBlock()->getOps<GatherOp>());
    for (GatherOp gather : gathers) {
      auto type = cast<RankedTensorType>(gather.getType());
      int64_t more = countRegisters(type, warps);
      SetVector<Operation *> needed;
      if (type.getRank() != 1 || registers + more > mostRegisters ||
          !collect(gather, position, needed))
        continue;
      registers += more;
      hoist(gather, needed, position);
    }
  }
}

namespace {
struct HoistGathersPass
    : public fa::impl::FAGPUHoistGathersPassBase<HoistGathersPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !hasWarpGroups(kernel) ||
        !getGPUPart(kernel).hasOverlap())
      return;
    SmallVector<KeyRangesOp> all;
    kernel.walk([&](KeyRangesOp ranges) { all.push_back(ranges); });
    for (KeyRangesOp ranges : all)
      hoistInRanges(ranges, ranges->getParentOfType<RoleOp>().getWarps());
  }
};
} // namespace
