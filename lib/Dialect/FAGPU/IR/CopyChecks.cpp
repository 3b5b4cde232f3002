//===- CopyChecks.cpp - What copies of tiles have in common ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of offsets, sizes, banks, engines and alignments that operations on
// channels share. The header lists them; each stands by itself, so begin with
// the one whose error you look for.
//
//===----------------------------------------------------------------------===//

#include "CopyChecks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

std::string mlir::fagpu::formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  for (auto [index, size] : llvm::enumerate(shape))
    text +=
        (index ? "x" : "") +
        (ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size));
  return text;
}

LogicalResult mlir::fagpu::verifyBank(Operation *op, Value channel,
                                      Value bank) {
  auto made = channel.getDefiningOp<ChannelOp>();
  if (!made || (made.getBanks() > 1) == (bank != nullptr))
    return success();
  if (bank)
    return op->emitOpError() << "names a bank of a channel that has one bank";
  return op->emitOpError() << "names no bank of a channel that has "
                           << made.getBanks();
}

LogicalResult mlir::fagpu::verifyEngine(Operation *op, Value channel,
                                        ArrayRef<Engine> engines) {
  auto made = channel.getDefiningOp<ChannelOp>();
  if (!made || llvm::is_contained(engines, made.getEngine()))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError() << "uses a channel of the engine '"
                        << stringifyEngine(made.getEngine()) << "', expected ";
  llvm::interleave(
      engines,
      [&](Engine engine) {
        diagnostic << "'" << stringifyEngine(engine) << "'";
      },
      [&] { diagnostic << " or "; });
  return diagnostic;
}

LogicalResult mlir::fagpu::verifyPart(Operation *op, ValueRange part,
                                      ArrayRef<int64_t> tile) {
  if (part.empty() || part.size() == tile.size())
    return success();
  return op->emitOpError() << "has " << part.size()
                           << " offsets in part(...), expected " << tile.size()
                           << " as the tile is " << formatShape(tile);
}

LogicalResult mlir::fagpu::verifyOffsets(Operation *op, ValueRange offsets,
                                         MemRefType memory) {
  if (static_cast<int64_t>(offsets.size()) == memory.getRank())
    return success();
  return op->emitOpError() << "has " << offsets.size() << " offsets, expected "
                           << memory.getRank() << " as the memory is "
                           << memory;
}

LogicalResult mlir::fagpu::verifySizes(Operation *op, ArrayRef<int64_t> sizes,
                                       MemRefType memory) {
  if (static_cast<int64_t>(sizes.size()) == memory.getRank())
    return success();
  return op->emitOpError() << "has " << sizes.size() << " sizes, expected "
                           << memory.getRank() << " as the memory is "
                           << memory;
}

LogicalResult mlir::fagpu::verifyBox(Operation *op, ArrayRef<int64_t> tile,
                                     ArrayRef<int64_t> box) {
  if (ShapedType::getNumElements(box) == ShapedType::getNumElements(tile))
    return success();
  return op->emitOpError() << "stores " << formatShape(tile) << " to a box of "
                           << formatShape(box) << ", expected as many elements";
}

LogicalResult mlir::fagpu::verifyElements(Operation *op, Type element,
                                          Type expected, StringRef what) {
  if (element == expected)
    return success();
  return op->emitOpError() << "copies elements of type " << element << " to "
                           << what << " of type " << expected;
}

LogicalResult mlir::fagpu::verifyColumns(Operation *op, Value columns,
                                         ArrayRef<int64_t> tile) {
  if (!columns || tile.size() == 2)
    return success();
  return op->emitOpError() << "has columns(...) of a vector of "
                           << formatShape(tile)
                           << ", expected a matrix; rows(...) "
                              "bounds a vector";
}

/// Bytes that the engine of a channel copies at once at least; the channel may
/// be null.
static int64_t getLeastAlignment(Value channel) {
  auto made = channel ? channel.getDefiningOp<ChannelOp>() : ChannelOp();
  if (!made)
    return 1;
  if (llvm::is_contained({Engine::tma, Engine::tma_store, Engine::pages},
                         made.getEngine()))
    return 16;
  return made.getEngine() == Engine::cp_async ? 4 : 1;
}

LogicalResult mlir::fagpu::verifyAlignment(Operation *op, int64_t alignment,
                                           Type element, Value channel) {
  int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  if (alignment < elementBytes || alignment > 16 ||
      !llvm::isPowerOf2_64(alignment))
    return op->emitOpError() << "is aligned to " << alignment
                             << " bytes, expected a power of two from "
                             << elementBytes << ", an element, to 16";
  int64_t least = getLeastAlignment(channel);
  if (alignment >= least)
    return success();
  StringRef nearest = isa<StoreOp>(op)               ? "threads"
                      : least == 16 && alignment > 2 ? "cp_async"
                                                     : "loads";
  return op->emitOpError()
         << "is aligned to " << alignment << " bytes, but the engine '"
         << stringifyEngine(channel.getDefiningOp<ChannelOp>().getEngine())
         << "' copies at least " << least
         << " at once; the nearest is the engine '" << nearest << "'";
}

LogicalResult mlir::fagpu::verifyCovers(Operation *op, ArrayRef<int64_t> box,
                                        ArrayRef<int64_t> tile, bool hasPart) {
  if (box == tile && !hasPart)
    return success();
  bool divides = box.size() == tile.size();
  for (auto [size, whole] : llvm::zip(box, tile))
    divides &= size > 0 && whole % size == 0;
  if (!divides)
    return op->emitOpError()
           << "copies " << formatShape(box) << " into a tile of "
           << formatShape(tile) << ", expected sizes that divide the tile";
  if (hasPart)
    return success();
  return op->emitOpError() << "copies " << formatShape(box)
                           << " into a tile of " << formatShape(tile)
                           << " without saying which part(...)";
}

LogicalResult mlir::fagpu::verifyCache(Operation *op,
                                       std::optional<CachePriority> cache,
                                       TypedValue<ChannelType> channel,
                                       Engine wanted) {
  if (!cache)
    return success();
  auto by = channel ? channel.getDefiningOp<ChannelOp>() : ChannelOp();
  if (channel && (!by || by.getEngine() == wanted))
    return success();
  return op->emitOpError() << "has cache(" << stringifyCachePriority(*cache)
                           << "), which "
                           << (by ? "the engine '" +
                                        stringifyEngine(by.getEngine()).str() +
                                        "' does"
                                  : "threads do")
                           << " not do; leave it out, or take the engine '"
                           << stringifyEngine(wanted) << "'";
}

LogicalResult mlir::fagpu::verifyPiece(Operation *op, StringRef what,
                                       ArrayRef<int64_t> box,
                                       MemRefType memory) {
  int64_t count = box.back();
  if (ShapedType::getNumElements(box) != count)
    return op->emitOpError() << "moves " << what << " of " << formatShape(box)
                             << ", expected one piece of the last dimension";
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memory.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return op->emitOpError() << "moves " << what << " in " << memory
                             << ", expected elements of the last dimension "
                                "beside each other";
  int64_t bits = memory.getElementTypeBitWidth(), least = 128 / bits;
  if (count % least)
    return op->emitOpError()
           << "moves " << what << " of " << count * bits / 8
           << " bytes, expected a multiple of 16; the nearest is "
           << std::max<int64_t>((count + least / 2) / least, 1) * least
           << " elements";
  int64_t size = memory.getShape().back();
  if (!ShapedType::isDynamic(size) && size % count)
    return op->emitOpError()
           << "moves " << what << " of " << count
           << " elements in a last dimension of " << size
           << ", expected a multiple of them, as they are moved whole";
  return success();
}
