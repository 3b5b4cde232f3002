//===- Sinks.cpp - Scores that count as one more key ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sinks.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::fa;

/// A copy of the region's body for one query; loads out of bounds read 0.
static Value inlineSink(OpBuilder &builder, AttentionOp op, Value query,
                        ValueRange lengths) {
  Block &body = op.getSink().front();
  SmallVector<Value> arguments = {op.getOffsets()[0], op.getOffsets()[1],
                                  query};
  llvm::append_range(arguments, op.getSinkCaptures());
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &nested : body.without_terminator()) {
    if (isa<QueryLengthOp, KeyLengthOp>(nested)) {
      mapping.map(nested.getResult(0), lengths[isa<KeyLengthOp>(nested)]);
    } else if (isa<memref::LoadOp, tensor::ExtractOp>(nested)) {
      SmallVector<Value> operands =
          llvm::map_to_vector(nested.getOperands(), [&](Value value) {
            return mapping.lookupOrDefault(value);
          });
      mapping.map(nested.getResult(0),
                  buildGuardedLoad(builder, nested.getLoc(), operands.front(),
                                   ArrayRef(operands).drop_front()));
    } else {
      builder.clone(nested, mapping);
    }
  }
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

Value mlir::fa::buildSink(OpBuilder &builder, AttentionOp op, OpFoldResult rows,
                          ValueRange lengths) {
  if (op.getSink().empty())
    return {};
  Location loc = op.getLoc();
  Value first = op.getOffsets()[2];
  if (op.getSink().getArgument(2).use_empty())
    return inlineSink(builder, op, first, lengths);
  Value empty =
      tensor::EmptyOp::create(builder, loc, rows, builder.getF32Type());
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), ValueRange(), empty,
             builder.getMultiDimIdentityMap(1), utils::IteratorType::parallel,
             [&](OpBuilder &nested, Location at, ValueRange) {
               Value row = linalg::IndexOp::create(nested, at, 0);
               Value query = arith::AddIOp::create(nested, at, first, row);
               linalg::YieldOp::create(nested, at,
                                       inlineSink(nested, op, query, lengths));
             })
      .getResult(0);
}
