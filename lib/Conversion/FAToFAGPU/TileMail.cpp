//===- TileMail.cpp - What roles are told of a tile -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileMail.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

static constexpr unsigned wordBits = 32;

FailureOr<TileMail> TileMail::create(func::FuncOp kernel, Operation *position,
                                     ArrayRef<Value> values) {
  OpBuilder builder(position);
  Type i32 = builder.getI32Type();
  TileMail made;
  SmallVector<Type> words = {i32};
  for (Value value : values) {
    made.types.push_back(value.getType());
    if (value.getType().isIndex())
      words.append(2, i32);
    else
      words.push_back(value.getType());
  }
  // A type that is made unchecked would be found by the lowering alone.
  auto type =
      MailType::getChecked([&] { return kernel.emitOpError(); },
                           builder.getContext(), 2u, ArrayRef<Type>(words));
  if (!type)
    return failure();
  made.mail = MailOp::create(builder, kernel.getLoc(), type, IntegerAttr(),
                             IntegerAttr(), DenseI32ArrayAttr());
  return made;
}

void TileMail::send(OpBuilder &builder, Location loc, Value tile,
                    ValueRange values) const {
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  SmallVector<Value> sent = {tile};
  for (Value value : values) {
    if (!value.getType().isIndex()) {
      sent.push_back(value);
      continue;
    }
    Value whole = arith::IndexCastOp::create(builder, loc, i64, value);
    Value bits = arith::ConstantIntOp::create(builder, loc, wordBits, 64);
    Value upper = arith::ShRUIOp::create(builder, loc, whole, bits);
    for (Value half : {whole, upper})
      sent.push_back(arith::TruncIOp::create(builder, loc, i32, half));
  }
  SendOp::create(builder, loc, mail, sent, Value(), Value());
}

SmallVector<Value> TileMail::receive(OpBuilder &builder, Location loc) const {
  Type i64 = builder.getI64Type();
  auto words = cast<MailType>(mail.getType()).getTypes();
  auto received =
      RecvOp::create(builder, loc, words, mail, Value(), Value()).getValues();
  SmallVector<Value> values = {received.front()};
  auto next = std::next(received.begin());
  for (Type type : types) {
    if (!type.isIndex()) {
      values.push_back(*next++);
      continue;
    }
    Value lower = arith::ExtUIOp::create(builder, loc, i64, *next++);
    Value upper = arith::ExtUIOp::create(builder, loc, i64, *next++);
    Value bits = arith::ConstantIntOp::create(builder, loc, wordBits, 64);
    upper = arith::ShLIOp::create(builder, loc, upper, bits);
    Value whole = arith::OrIOp::create(builder, loc, lower, upper);
    values.push_back(arith::IndexCastOp::create(builder, loc,
                                                builder.getIndexType(), whole));
  }
  return values;
}
