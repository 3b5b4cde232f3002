//===- Blocks.h - Creates operations on block values ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_BLOCKS_H
#define FA_LIB_CONVERSION_FATOFAGPU_BLOCKS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// Creates operations on block values.
class Blocks {
public:
  Blocks(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value splat(Value scalar, Type like) {
    return tensor::SplatOp::create(
        builder, loc, scalar,
        cast<RankedTensorType>(like).clone(scalar.getType()));
  }
  Value constant(float number, Type like) {
    auto type = cast<RankedTensorType>(like);
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, builder.getF32FloatAttr(number)));
  }
  Value broadcast(Value value, Type type) {
    return fagpu::BroadcastOp::create(builder, loc, type, value);
  }
  Value reduce(fagpu::ReductionKind kind, Value block, Type type) {
    return fagpu::ReduceOp::create(builder, loc, type, kind, block);
  }
  Value exp(Value value) {
    return math::ExpOp::create(builder, loc, value, arith::FastMathFlags::afn);
  }
  Value exp2(Value value) {
    return math::Exp2Op::create(builder, loc, value, arith::FastMathFlags::afn);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value isEqual(Value value, float number) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value,
                                 constant(number, value.getType()));
  }
  Value truncate(Value value, Type element) {
    if (element.isF32())
      return value;
    auto type = cast<RankedTensorType>(value.getType()).clone(element);
    return arith::TruncFOp::create(builder, loc, type, value);
  }
  Value cast32(Value index) {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      index);
  }

  OpBuilder &builder;
  Location loc;
};

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_BLOCKS_H
