//===- StoreOp.cpp - Stores of block values to memory ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifier of fagpu.store: by threads, or via a channel that stages the value
// for a bulk copy. Read `StoreOp::verify` at the end; the checks above it say
// what each way cannot do.
//
//===----------------------------------------------------------------------===//

#include "CopyChecks.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Whether it is still to be decided what stages the value: it has no layout.
static bool isToBeStaged(StoreOp op) {
  auto value = cast<RankedTensorType>(op.getValue().getType());
  return !op.getVia() && !value.getEncoding();
}

/// The hardware compares each coordinate of a tensor map with its dimension.
static LogicalResult verifyPadded(StoreOp op) {
  if (!op.getPadded())
    return success();
  if (op.getRows() || op.getColumns())
    return op.emitOpError()
           << "is padded at all ends of " << op.getDestination().getType()
           << ", expected no rows(...) or columns(...)";
  auto via = op.getVia() ? op.getVia().getDefiningOp<ChannelOp>() : ChannelOp();
  if (isToBeStaged(op) || (via && via.getEngine() == Engine::tma_store))
    return success();
  return op.emitOpError() << "is padded, but threads write all of "
                             "a box below rows(...) and columns(...); expected "
                             "via(...) a channel of the engine 'tma_store'";
}

static LogicalResult verifyAdd(StoreOp op, Type element) {
  if (!op.getAdd())
    return success();
  if (!element.isF32())
    return op.emitOpError()
           << "adds elements of " << element << ", expected f32";
  return verifyOrderOfAdds(op);
}

/// The order in which elements of a matrix lie in memory.
static LogicalResult verifyOrder(StoreOp op, RankedTensorType value) {
  if (op.getTransposed() && (op.getFragments() || value.getRank() != 2))
    return op.emitOpError() << "is transposed and stores " << value
                            << (op.getFragments() ? " in fragments" : "")
                            << ", expected a matrix, not in fragments";
  if (op.getByWords() && (!op.getFragments() || op.getVia()))
    return op.emitOpError()
           << "stores by_words " << (op.getVia() ? "via a channel" : "a tile")
           << ", expected fragments, without via(...)";
  if (!op.getFragments())
    return success();
  Attribute layout = value.getEncoding();
  if (value.getRank() != 2 || !value.getElementType().isF32() ||
      (layout && !isa<AccumulatorLayoutAttr>(layout)))
    return op.emitOpError() << "stores fragments of " << value
                            << ", expected f32 of layout #fagpu.acc";
  if (op.getRows() || op.getPadded())
    return op.emitOpError() << "stores fragments with rows(...) or padded, "
                               "expected none: all of them are stored";
  return verifyPiece(op, "fragments", op.getBox(),
                     cast<MemRefType>(op.getDestination().getType()));
}

/// What the threads of the engine 'threads' cannot do.
static LogicalResult verifyViaEngine(StoreOp op) {
  if (op.getAdd() || op.getTransposed() || op.getFragments())
    return verifyEngine(op, op.getVia(), {Engine::tma_store});
  return verifyEngine(op, op.getVia(), {Engine::tma_store, Engine::threads});
}

LogicalResult StoreOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  auto memory = cast<MemRefType>(getDestination().getType());
  SmallVector<int64_t> tile = getTile();
  if (failed(verifyOffsets(*this, getOffsets(), memory)) ||
      failed(verifyElements(*this, value.getElementType(),
                            memory.getElementType(), "memory")) ||
      failed(verifySizes(*this, getBox(), memory)) ||
      failed(verifyBox(*this, value.getShape(), getBox())) ||
      failed(verifyColumns(*this, getColumns(), tile)) ||
      failed(verifyAlignment(*this, getAlignment(), memory.getElementType(),
                             getVia())) ||
      failed(verifyPadded(*this)) ||
      failed(verifyAdd(*this, value.getElementType())) ||
      failed(verifyOrder(*this, value)) ||
      failed(verifyCache(*this, getCache(), getVia(), Engine::tma_store)))
    return failure();
  if (getCache() && (getAdd() || getFragments()))
    return emitOpError() << "has cache(" << stringifyCachePriority(*getCache())
                         << ") and " << (getAdd() ? "add" : "fragments")
                         << ", expected one of them";
  if (!getVia()) {
    if (getBank())
      return emitOpError() << "names a bank without via(...)";
    return success();
  }
  if (failed(verifyViaEngine(*this)) ||
      failed(verifyBank(*this, getVia(), getBank())))
    return failure();
  ChannelType via = getVia().getType();
  if (via.getShape() == ArrayRef(tile) &&
      via.getElementType() == value.getElementType())
    return success();
  InFlightDiagnostic error = emitOpError()
                             << "stores " << value << " via a channel of "
                             << formatShape(via.getShape()) << " x "
                             << via.getElementType() << ", expected ";
  if (tile == value.getShape())
    return error << "the same";
  return error << formatShape(tile) << " x " << value.getElementType();
}
