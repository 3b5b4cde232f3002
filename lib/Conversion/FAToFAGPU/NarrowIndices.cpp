//===- NarrowIndices.cpp - 32-bit indices in kernels ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndexWidths.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FANARROWINDICESPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Whether the operation takes and makes integers of any width, and none that
/// may need more than 32 bits; what asks for an index keeps it.
static bool isNarrowed(Operation *op, IndexWidths &widths) {
  if (!isa<arith::ArithDialect, scf::SCFDialect>(op->getDialect()))
    return isa<fagpu::RoleOp, fagpu::ForOp, fagpu::RepeatOp, fagpu::YieldOp>(
        op);
  // It counts in indices.
  if (isa<scf::ParallelOp>(op))
    return false;
  // The two ends of a branch have one type.
  Operation *whole = isa<scf::YieldOp>(op) ? op->getParentOp() : op;
  auto fits = [&](Value value) {
    return !value.getType().isIndex() || widths.fits(value);
  };
  return llvm::all_of(whole->getResults(), fits) &&
         llvm::all_of(op->getOperands(), fits);
}

/// Regions of the fa dialect have indices for arguments, of what becomes block
/// values later.
static bool isInRegionOfAttention(Operation *op) {
  while ((op = op->getParentOp()))
    if (isa<FADialect>(op->getDialect()))
      return true;
  return false;
}

static void narrowResults(Operation *op) {
  Type i32 = IntegerType::get(op->getContext(), 32);
  auto narrow = [&](Value value) {
    if (value.getType().isIndex())
      value.setType(i32);
  };
  llvm::for_each(op->getResults(), narrow);
  for (Region &region : op->getRegions())
    llvm::for_each(region.getArguments(), narrow);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue());
        number && number.getType().isIndex())
      constant.setValueAttr(IntegerAttr::get(i32, number.getInt()));
}

/// A cast from or to an index has become one between integers.
static void replaceCast(Operation *op) {
  if (!isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return;
  Value in = op->getOperand(0), out = op->getResult(0);
  if (in.getType().isIndex() || out.getType().isIndex())
    return;
  OpBuilder builder(op);
  Value replacement = in;
  unsigned from = in.getType().getIntOrFloatBitWidth(),
           to = out.getType().getIntOrFloatBitWidth();
  if (from > to)
    replacement =
        arith::TruncIOp::create(builder, op->getLoc(), out.getType(), in);
  // What has become an i32 was an index, which keeps its sign.
  else if (from < std::min(to, 32u) && isa<arith::IndexCastUIOp>(op))
    replacement =
        arith::ExtUIOp::create(builder, op->getLoc(), out.getType(), in);
  else if (from < to)
    replacement =
        arith::ExtSIOp::create(builder, op->getLoc(), out.getType(), in);
  out.replaceAllUsesWith(replacement);
  op->erase();
}

namespace {
struct NarrowIndicesPass
    : public fa::impl::FANarrowIndicesPassBase<NarrowIndicesPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!fagpu::isKernel(kernel))
      return;
    OpBuilder builder(&getContext());
    SmallVector<Operation *> narrowed, kept;
    IndexWidths widths;
    kernel.getBody().walk([&](Operation *op) {
      bool narrows = !isInRegionOfAttention(op) && isNarrowed(op, widths);
      (narrows ? narrowed : kept).push_back(op);
    });
    SmallVector<OpOperand *> indices;
    for (Operation *op : kept)
      for (OpOperand &operand : op->getOpOperands())
        if (operand.get().getType().isIndex())
          indices.push_back(&operand);
    auto narrowUses = [&](Value value) {
      if (!value.getType().isIndex() || !widths.fits(value))
        return;
      builder.setInsertionPointAfterValue(value);
      auto cast = arith::IndexCastOp::create(builder, value.getLoc(),
                                             builder.getI32Type(), value);
      value.replaceAllUsesExcept(cast.getResult(), cast);
    };
    for (Operation *op : kept) {
      llvm::for_each(op->getResults(), narrowUses);
      // A loop whose end is wide may count numbers that are not.
      if (isa<scf::ForOp, scf::ParallelOp>(op))
        llvm::for_each(op->getRegion(0).getArguments(), narrowUses);
    }
    llvm::for_each(narrowed, narrowResults);
    for (OpOperand *operand : indices)
      if (!operand->get().getType().isIndex()) {
        builder.setInsertionPoint(operand->getOwner());
        operand->set(
            arith::IndexCastOp::create(builder, operand->getOwner()->getLoc(),
                                       builder.getIndexType(), operand->get()));
      }
    llvm::for_each(narrowed, replaceCast);
    for (unsigned number : llvm::seq(kernel.getNumArguments()))
      kernel.removeArgAttr(number, FADialect::capturedAttrName);
  }
};
} // namespace
