//===- IndexWidths.cpp - Which indices fit 32 bits ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which indices of a kernel are computed in 32 bits. Each value has
// one of three widths on either side of zero: short, fits, long
// (IndexWidths.h). Read `compute` and then `computeResult`, the rules for
// each operation.
//
//===----------------------------------------------------------------------===//

#include "IndexWidths.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::fa;

IndexWidths::Bounds IndexWidths::get(Value value) {
  auto add = [&](Value next) {
    Bounds bounds = compute(next);
    Type type = next.getType();
    if (!type.isIndex() && type.isIntOrFloat() &&
        type.getIntOrFloatBitWidth() <= 32) {
      bounds.low = std::max(bounds.low, Width::Fits);
      bounds.high = std::max(bounds.high, Width::Fits);
    }
    known.insert({next, bounds});
  };
  visitOperandsFirst(
      value, [&](Value next) { return known.contains(next); }, add);
  return known.at(value);
}

/// Of a function or of a score or mask region; what loops carry is short.
IndexWidths::Width IndexWidths::getWidth(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  auto function = dyn_cast<FunctionOpInterface>(parent);
  if (function && argument.getType().isInteger(64))
    return Width::Long;
  bool isCaptured =
      function ? static_cast<bool>(function.getArgAttr(
                     argument.getArgNumber(), FADialect::capturedAttrName))
               : isa<FADialect>(parent->getDialect()) &&
                     argument.getType().isInteger();
  return isCaptured ? Width::Fits : Width::Short;
}

IndexWidths::Bounds IndexWidths::compute(Value value) {
  if (APInt constant; matchPattern(value, m_ConstantInt(&constant))) {
    auto widthOf = [](int64_t size) {
      return size <= shortLimit          ? Width::Short
             : size <= llvm::maxIntN(32) ? Width::Fits
                                         : Width::Long;
    };
    int64_t number = constant.getSExtValue();
    // A number of the other sign has no size on this side.
    return {number > -shortLimit ? Width::Short : widthOf(-(number + 1)),
            widthOf(number)};
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Width width = getWidth(argument);
    return {width, width};
  }
  return computeResult(value.getDefiningOp(),
                       cast<OpResult>(value).getResultNumber());
}

Value mlir::fa::multiplyShort(OpBuilder &builder, Location loc, Value a,
                              Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b,
                                             arith::IntegerOverflowFlags::nsw);
}

IndexWidths::Bounds IndexWidths::computeResult(Operation *op, unsigned number) {
  auto of = [&](unsigned operand) { return get(op->getOperand(operand)); };
  auto least = [](Bounds a, Bounds b) -> Bounds {
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  };
  if (isa<memref::LoadOp, fagpu::ExtremesOp>(op)) {
    bool isLong = op->getResult(0).getType().isInteger(64);
    Width width = isLong ? Width::Long : Width::Fits;
    return {width, width};
  }
  if (isa<arith::MaxSIOp>(op))
    return {std::max(of(0).low, of(1).low), std::min(of(0).high, of(1).high)};
  if (isa<arith::MinSIOp>(op))
    return {std::min(of(0).low, of(1).low), std::max(of(0).high, of(1).high)};
  // Of what may be any number, as many bits as the mask has.
  if (APInt mask; isa<arith::AndIOp>(op) &&
                  matchPattern(op->getOperand(1), m_ConstantInt(&mask)) &&
                  !mask.isNegative())
    return of(1);
  if (isa<arith::SelectOp>(op))
    return least(of(1), of(2));
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return least(get(branch.thenYield().getOperand(number)),
                 get(branch.elseYield().getOperand(number)));
  // Read as unsigned, all bits of a number count.
  if (Type from = op->getNumOperands() ? op->getOperand(0).getType() : Type();
      isa<arith::IndexCastUIOp, arith::ExtUIOp>(op) && from.isInteger() &&
      !from.isInteger(64)) {
    unsigned bits = from.getIntOrFloatBitWidth();
    return {Width::Short, bits > 31    ? Width::Long
                          : bits == 31 ? Width::Fits
                                       : Width::Short};
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return of(0);
  // No index is computed so without a reason.
  if (op->getResult(0).getType().isInteger(64))
    return {Width::Long, Width::Long};
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    // A sum with what only just fits need not fit.
    Bounds a = of(0), b = of(1);
    if (isa<arith::SubIOp>(op))
      std::swap(b.low, b.high);
    if (auto product = dyn_cast<arith::MulIOp>(op)) {
      if (!product.hasNoSignedWrap())
        return {Width::Long, Width::Long};
      Bounds all = least(a, b);
      a.low = a.high = b.low = b.high = std::min(all.low, all.high);
    }
    auto add = [](Width x, Width y) {
      return std::min(x, y) == Width::Short ? Width::Short : Width::Long;
    };
    return {add(a.low, b.low), add(a.high, b.high)};
  }
  // Shifts, powers and sizes, of which little is known.
  if (isa<arith::ShLIOp, math::IPowIOp, math::AbsIOp>(op))
    return {Width::Long, Width::Long};
  // What is read as unsigned depends on the number of bits below 0, where sizes
  // and indices are not, and what a region has as 64 bits may be.
  if (isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp, arith::ShRUIOp>(
          op) &&
      (of(0).low != Width::Short || op->getResult(0).getType().isInteger(64)))
    return {Width::Long, Width::Long};
  if (isa<arith::ArithDialect>(op->getDialect())) {
    Bounds all = {Width::Short, Width::Short};
    for (Value operand : op->getOperands())
      if (operand.getType().isIntOrIndex())
        all = least(all, get(operand));
    all.low = all.high = std::min(all.low, all.high);
    return all;
  }
  return {Width::Short, Width::Short};
}
