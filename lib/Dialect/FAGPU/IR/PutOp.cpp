//===- PutOp.cpp - Copies from memory to a channel ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifier of fagpu.put: bulk copies, which are padded or promoted to the L2
// cache, rows in pages, vectors and multicast boxes. Read `PutOp::verify` at
// the end; the checks above it stand in its order.
//
//===----------------------------------------------------------------------===//

#include "CopyChecks.h"

using namespace mlir;
using namespace mlir::fagpu;

/// The hardware compares each coordinate of a tensor map with its dimension.
static LogicalResult verifyPadded(PutOp op) {
  if (!op.getPadded())
    return success();
  if (op.getRows() || op.getColumns())
    return op.emitOpError()
           << "is padded at all ends of " << op.getSource().getType()
           << ", expected no rows(...) or columns(...)";
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (!channel || channel.getEngine() == Engine::tma)
    return success();
  return op.emitOpError() << "is padded, but the engine '"
                          << stringifyEngine(channel.getEngine())
                          << "' copies only what is there; the nearest is the "
                             "engine 'tma'";
}

/// Tensor maps alone promote what they fetch.
static LogicalResult verifyPromotion(PutOp op) {
  constexpr int64_t choices[] = {0, 64, 128, 256}, usual = 128;
  int64_t bytes = op.getL2Promotion();
  if (!llvm::is_contained(choices, bytes))
    return op.emitOpError()
           << "has l2_promotion(" << bytes
           << "), expected 0 (none), 64, 128 or 256 bytes; the nearest is "
           << *llvm::min_element(choices, [&](int64_t a, int64_t b) {
                return std::abs(a - bytes) < std::abs(b - bytes);
              });
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (bytes == usual || !channel || channel.getEngine() == Engine::tma)
    return success();
  return op.emitOpError() << "has l2_promotion(" << bytes
                          << "), which the engine '"
                          << stringifyEngine(channel.getEngine())
                          << "' does not do; leave it out, or take the engine "
                             "'tma'";
}

LogicalResult mlir::fagpu::verifyPages(Operation *op, Value pages,
                                       std::optional<int64_t> pageDim,
                                       ArrayRef<int64_t> box, Value rows,
                                       bool isWhole) {
  if (static_cast<bool>(pages) != pageDim.has_value())
    return op->emitOpError() << (pages ? "has a table of pages without pageDim"
                                       : "has pageDim without a table of pages")
                             << ", expected both or neither";
  if (!pages)
    return success();
  auto table = cast<MemRefType>(pages.getType());
  if (table.getRank() != 2 || !table.getElementType().isInteger(32))
    return op->emitOpError() << "finds pages in " << table
                             << ", expected a table of i32 with a row for each "
                                "sequence";
  int64_t last = box.size() - 1, rowDim = getRowDim(box, /*tileRank=*/2);
  if (*pageDim < 0 || *pageDim >= last || *pageDim == rowDim ||
      box[*pageDim] != 1)
    return op->emitOpError()
           << "counts pages in dimension " << *pageDim << " of a box of "
           << formatShape(box) << " with rows in dimension " << rowDim
           << ", expected another one before the last, of size 1";
  for (int64_t dim = 0; dim < last; ++dim)
    if (dim != rowDim && box[dim] != 1)
      return op->emitOpError()
             << "copies " << box[dim] << " of dimension " << dim
             << " from pages, expected 1: rows of one head";
  if (rows && isWhole)
    return success();
  return op->emitOpError() << "copies rows in pages "
                           << (rows ? "padded or to a part of a tile"
                                    : "without an end")
                           << ", expected rows(...) and a whole tile";
}

/// Bulk copies take boxes of whole pages or of one page, of the rows that a
/// swizzle permutes.
static LogicalResult verifyPageBoxes(PutOp op) {
  constexpr int64_t rowsOfSwizzle = 8;
  int64_t rows = op.getSizes()[op.getRowDim()];
  int64_t ofPage =
      cast<MemRefType>(op.getSource().getType()).getDimSize(op.getRowDim());
  bool isWhole = ofPage > 0 && ofPage % rowsOfSwizzle == 0 &&
                 (rows % ofPage == 0 || ofPage % rows == 0);
  if (!ShapedType::isDynamic(ofPage) && isWhole)
    return success();
  InFlightDiagnostic error = op.emitOpError()
                             << "copies " << rows << " rows in pages of ";
  if (ShapedType::isDynamic(ofPage))
    error << "?";
  else
    error << ofPage;
  return error << " rows as boxes, expected a multiple of " << rowsOfSwizzle
               << " rows that divides " << rows
               << " or is a multiple of it; the nearest is the engine 'pages'";
}

/// Rows in pages are copied one by one by an engine of their own, or as boxes.
static LogicalResult verifyEngineOfPages(PutOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (!channel)
    return success();
  Engine engine = channel.getEngine();
  if (op.getPages() && engine == Engine::tma)
    return verifyPageBoxes(op);
  if ((engine == Engine::pages) == static_cast<bool>(op.getPages()))
    return success();
  return op.emitOpError()
         << (op.getPages() ? "has pages(...)" : "has no pages(...)")
         << ", but the engine '" << stringifyEngine(engine)
         << (op.getPages() ? "' copies boxes of one place; the nearest is the "
                             "engine 'pages'"
                           : "' copies rows in pages; the nearest is the "
                             "engine 'tma'");
}

/// A vector is copied in bulk without a tensor map, so nothing bounds it.
static LogicalResult verifyVector(PutOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (op.getChannel().getType().getShape().size() != 1 || !channel ||
      channel.getEngine() != Engine::tma)
    return success();
  constexpr int64_t usualPromotion = 128;
  if (op.getRows() || op.getPadded() || !op.getPart().empty() ||
      op.getL2Promotion() != usualPromotion)
    return op.emitOpError()
           << "copies a vector in bulk with rows(...), padded, part(...) or "
              "l2_promotion(...), expected none of them: all of it is copied, "
              "from memory that is padded to whole vectors";
  return verifyPiece(op, "a vector", op.getSizes(),
                     cast<MemRefType>(op.getSource().getType()));
}

/// The rows of a multicast box are shared out among the blocks of a cluster.
static LogicalResult verifyMulticast(PutOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  if (!channel || !channel.getMulticast())
    return success();
  if (!op.getPart().empty())
    return op.emitOpError() << "puts a part of a tile that all blocks of a "
                               "cluster fill, expected a whole tile";
  int64_t rows = op.getSizes()[op.getRowDim()];
  int64_t tileRows = op.getChannel().getType().getShape().front();
  if (rows == tileRows)
    return success();
  return op.emitOpError() << "puts " << rows << " of dimension "
                          << op.getRowDim() << " to all blocks of a cluster, "
                          << "expected the " << tileRows
                          << " rows of the tile in one dimension";
}

LogicalResult PutOp::verify() {
  auto memory = cast<MemRefType>(getSource().getType());
  ArrayRef<int64_t> tile = getChannel().getType().getShape();
  if (failed(verifyEngine(
          *this, getChannel(),
          {Engine::tma, Engine::cp_async, Engine::loads, Engine::pages})) ||
      failed(verifyBank(*this, getChannel(), getBank())) ||
      failed(verifyPart(*this, getPart(), tile)) ||
      failed(verifyOffsets(*this, getOffsets(), memory)) ||
      failed(verifyElements(*this, memory.getElementType(),
                            getChannel().getType().getElementType(),
                            "a channel")) ||
      failed(verifySizes(*this, getSizes(), memory)) ||
      failed(verifyColumns(*this, getColumns(), tile)) ||
      failed(verifyAlignment(*this, getAlignment(), memory.getElementType(),
                             getChannel())) ||
      failed(verifyPadded(*this)) || failed(verifyPromotion(*this)) ||
      failed(verifyPages(*this, getPages(), getPageDim(), getSizes(), getRows(),
                         getPart().empty() && !getPadded())) ||
      failed(verifyEngineOfPages(*this)) ||
      failed(verifyCache(*this, getCache(), getChannel(), Engine::tma)))
    return failure();
  SmallVector<int64_t> box;
  if (tile.size() == 2)
    box = {ShapedType::getNumElements(getSizes().drop_back()),
           getSizes().back()};
  else
    box = {ShapedType::getNumElements(getSizes())};
  if (failed(verifyVector(*this)) ||
      failed(verifyCovers(*this, box, tile, !getPart().empty())))
    return failure();
  return verifyMulticast(*this);
}
