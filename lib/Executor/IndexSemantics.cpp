//===- IndexSemantics.cpp - The index dialect in the executor -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerKernels.h"
#include "fa/Dialect/FA/IR/ComparisonPredicate.h"
#include "fa/Executor/ProgramBuilder.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

template <typename OpT> static void addConstant(Semantics &semantics) {
  semantics.add<OpT>([](OpT op, ProgramBuilder &builder) {
    unsigned result = builder.getRegister(op.getResult());
    Slot value = getSlot(cast<TypedAttr>(op.getValueAttr()));
    builder.emit([result, value](Frame &frame) {
      frame.slot(result) = value;
      return success();
    });
    return success();
  });
  semantics.addLanes<OpT>([](OpT op, LaneBuilder &builder) {
    builder.setConstant(op.getResult(),
                        getSlot(cast<TypedAttr>(op.getValueAttr())));
    return success();
  });
}

static void addArithmetic(Semantics &semantics) {
  using U = uint64_t;
  addWrapping<index::AddOp>(semantics, [](U a, U b) { return a + b; });
  addWrapping<index::SubOp>(semantics, [](U a, U b) { return a - b; });
  addWrapping<index::MulOp>(semantics, [](U a, U b) { return a * b; });
  addWrapping<index::AndOp>(semantics, [](U a, U b) { return a & b; });
  addWrapping<index::OrOp>(semantics, [](U a, U b) { return a | b; });
  addWrapping<index::XOrOp>(semantics, [](U a, U b) { return a ^ b; });
  using I = int64_t;
  addSigned<index::MaxSOp>(semantics, [](I a, I b) { return std::max(a, b); });
  addSigned<index::MinSOp>(semantics, [](I a, I b) { return std::min(a, b); });
  addUnsigned<index::MaxUOp>(semantics,
                             [](U a, U b) { return std::max(a, b); });
  addUnsigned<index::MinUOp>(semantics,
                             [](U a, U b) { return std::min(a, b); });
  addSignedDivision<index::DivSOp>(semantics, divideSigned);
  addSignedDivision<index::RemSOp>(semantics, remainderSigned);
  addSignedDivision<index::FloorDivSOp>(semantics, floorDivide);
  addSignedDivision<index::CeilDivSOp>(semantics, ceilDivide);
  addUnsignedDivision<index::DivUOp>(semantics, [](U a, U b) { return a / b; });
  addUnsignedDivision<index::RemUOp>(semantics, [](U a, U b) { return a % b; });
  addUnsignedDivision<index::CeilDivUOp>(semantics, ceilDivideUnsigned);
  addLeftShift<index::ShlOp>(semantics);
  addRightShifts<index::ShrUOp, index::ShrSOp>(semantics);
}

void executor::addIndexSemantics(Semantics &semantics) {
  addConstant<index::ConstantOp>(semantics);
  addConstant<index::BoolConstantOp>(semantics);
  addArithmetic(semantics);
  addComparison<index::CmpOp>(
      semantics, [](index::CmpOp op) { return fa::getPredicate(op); });
  addIntegerCast<index::CastSOp>(semantics, /*isSigned=*/true);
  addIntegerCast<index::CastUOp>(semantics, /*isSigned=*/false);
}
