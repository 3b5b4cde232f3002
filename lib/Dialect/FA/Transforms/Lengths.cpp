//===- Lengths.cpp - Valid lengths of batch items -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lengths.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

Value fa::loadLength(OpBuilder &builder, Location loc, Value lengths,
                     Value batch) {
  Value length =
      isa<MemRefType>(lengths.getType())
          ? memref::LoadOp::create(builder, loc, lengths, batch).getResult()
          : tensor::ExtractOp::create(builder, loc, lengths, batch).getResult();
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    length);
}

Value fa::getValidLength(OpBuilder &builder, Location loc, Value lengths,
                         Value batch, Value extent) {
  if (!lengths)
    return extent;
  Value length = loadLength(builder, loc, lengths, batch);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value positive = arith::MaxSIOp::create(builder, loc, length, zero);
  return arith::MinSIOp::create(builder, loc, positive, extent);
}
