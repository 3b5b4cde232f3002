//===- UnpackVectors.cpp - Vectors of odd widths in whole bytes -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An array of LLVM holds an i1 in a byte, and so does the memory of a caller; a
// vector of LLVM packs eight into one.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAUNPACKVECTORS
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

/// The integer that fills the memory of an `element`, if that has more bits.
static IntegerType getStorage(Type element) {
  if (!element.isIntOrFloat())
    return {};
  unsigned width = element.getIntOrFloatBitWidth();
  unsigned bits = llvm::PowerOf2Ceil(std::max(width, 8u));
  return bits == width || bits > 64
             ? IntegerType()
             : IntegerType::get(element.getContext(), bits);
}

static Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.clone(element) : element;
}

/// `value` as integers of the width of its elements.
static Value asIntegers(OpBuilder &builder, Value value) {
  Type element = getElementTypeOrSelf(value);
  if (isa<IntegerType>(element))
    return value;
  Type bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
  return arith::BitcastOp::create(builder, value.getLoc(),
                                  withElement(value.getType(), bits), value);
}

static Value extend(OpBuilder &builder, Value value, Type storage) {
  return arith::ExtUIOp::create(builder, value.getLoc(),
                                withElement(value.getType(), storage),
                                asIntegers(builder, value));
}

static Value truncate(OpBuilder &builder, Value value, Type type) {
  Type element = getElementTypeOrSelf(type);
  Type bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
  Location loc = value.getLoc();
  value = arith::TruncIOp::create(builder, loc, withElement(type, bits), value);
  return value.getType() == type
             ? value
             : arith::BitcastOp::create(builder, loc, type, value);
}

/// The operand that is memory, and one that is elements of it.
struct Access {
  OpOperand *memory = nullptr, *elements = nullptr;
};

static Access getAccess(Operation *op) {
  return TypeSwitch<Operation *, Access>(op)
      .Case([](vector::LoadOp op) { return Access{&op.getBaseMutable()}; })
      .Case<vector::StoreOp, vector::TransferWriteOp, vector::MaskedStoreOp,
            vector::ScatterOp, vector::CompressStoreOp>([](auto op) {
        return Access{&op.getBaseMutable(), &op.getValueToStoreMutable()};
      })
      .Case([](vector::TransferReadOp op) {
        return Access{&op.getBaseMutable(), &op.getPaddingMutable()};
      })
      .Case<vector::MaskedLoadOp, vector::GatherOp, vector::ExpandLoadOp>(
          [](auto op) {
            return Access{&op.getBaseMutable(), &op.getPassThruMutable()};
          })
      .Default([](Operation *) { return Access(); });
}

/// Replaces an access to elements of an odd width by one to whole bytes.
static void unpack(Operation *op) {
  Access access = getAccess(op);
  auto memory = access.memory
                    ? dyn_cast<MemRefType>(access.memory->get().getType())
                    : MemRefType();
  IntegerType storage =
      memory ? getStorage(memory.getElementType()) : IntegerType();
  if (!storage)
    return;
  OpBuilder builder(op);
  auto bytes = UnrealizedConversionCastOp::create(builder, op->getLoc(),
                                                  withElement(memory, storage),
                                                  access.memory->get());
  access.memory->set(bytes.getResult(0));
  if (access.elements)
    access.elements->set(extend(builder, access.elements->get(), storage));
  if (op->getNumResults() == 0)
    return;
  Type type = op->getResult(0).getType();
  Operation *wide = builder.clone(*op);
  wide->getResult(0).setType(withElement(type, storage));
  op->getResult(0).replaceAllUsesWith(
      truncate(builder, wide->getResult(0), type));
  op->erase();
}

namespace {
struct UnpackVectorsPass
    : public fa::impl::FAUnpackVectorsBase<UnpackVectorsPass> {
  void runOnOperation() override { getOperation()->walk(unpack); }
};
} // namespace
