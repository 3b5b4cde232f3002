//===- ChannelOps.cpp - Channels and mail ---------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of channels, the multi-stage pipelines in shared memory, and of
// what fills and reads them: put, write, acquire, slice, store. Read
// `ChannelOp::verify`, then `PutOp::verify`; the checks above are shared.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

Value mlir::fagpu::getWholeView(Value view) {
  while (auto slice = view.getDefiningOp<SliceOp>())
    view = slice.getView();
  return view;
}

static bool isLoaded(Value view) {
  return llvm::any_of(view.getUsers(), [](Operation *user) {
    auto slice = dyn_cast<SliceOp>(user);
    return slice ? isLoaded(slice.getResult()) : isa<LoadOp>(user);
  });
}

bool mlir::fagpu::isReadByLoads(Value channel) {
  return llvm::any_of(channel.getUsers(), [](Operation *user) {
    auto acquire = dyn_cast<AcquireOp>(user);
    return acquire && isLoaded(acquire.getView());
  });
}

bool mlir::fagpu::isCopiedByThreads(Value channel) {
  auto made = channel.getDefiningOp<ChannelOp>();
  return made && llvm::is_contained({Engine::cp_async, Engine::loads},
                                    made.getEngine());
}

/// Prints a shape as 64x128.
static std::string formatShape(ArrayRef<int64_t> shape) {
  std::string text;
  for (auto [index, size] : llvm::enumerate(shape))
    text +=
        (index ? "x" : "") +
        (ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size));
  return text;
}

/// A channel with several banks is used by bank, any other one is not.
static LogicalResult verifyBank(Operation *op, Value channel, Value bank) {
  auto made = channel.getDefiningOp<ChannelOp>();
  if (!made || (made.getBanks() > 1) == (bank != nullptr))
    return success();
  if (bank)
    return op->emitOpError() << "names a bank of a channel that has one bank";
  return op->emitOpError() << "names no bank of a channel that has "
                           << made.getBanks();
}

static LogicalResult verifyEngine(Operation *op, Value channel,
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

/// A part of a tile starts at one offset per dimension of the tile.
static LogicalResult verifyPart(Operation *op, ValueRange part,
                                ArrayRef<int64_t> tile) {
  if (part.empty() || part.size() == tile.size())
    return success();
  return op->emitOpError() << "has " << part.size()
                           << " offsets in part(...), expected " << tile.size()
                           << " as the tile is " << formatShape(tile);
}

static LogicalResult verifyOffsets(Operation *op, ValueRange offsets,
                                   MemRefType memory) {
  if (static_cast<int64_t>(offsets.size()) == memory.getRank())
    return success();
  return op->emitOpError() << "has " << offsets.size() << " offsets, expected "
                           << memory.getRank() << " as the memory is "
                           << memory;
}

static LogicalResult verifySizes(Operation *op, ArrayRef<int64_t> sizes,
                                 MemRefType memory) {
  if (static_cast<int64_t>(sizes.size()) == memory.getRank())
    return success();
  return op->emitOpError() << "has " << sizes.size() << " sizes, expected "
                           << memory.getRank() << " as the memory is "
                           << memory;
}

/// A tile goes to a box of as many elements.
static LogicalResult verifyBox(Operation *op, ArrayRef<int64_t> tile,
                               ArrayRef<int64_t> box) {
  if (ShapedType::getNumElements(box) == ShapedType::getNumElements(tile))
    return success();
  return op->emitOpError() << "stores " << formatShape(tile) << " to a box of "
                           << formatShape(box) << ", expected as many elements";
}

static LogicalResult verifyElements(Operation *op, Type element, Type expected,
                                    StringRef what) {
  if (element == expected)
    return success();
  return op->emitOpError() << "copies elements of type " << element << " to "
                           << what << " of type " << expected;
}

/// `columns` bounds the columns of a matrix; a vector ends at `rows`.
static LogicalResult verifyColumns(Operation *op, Value columns,
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

static LogicalResult verifyAlignment(Operation *op, int64_t alignment,
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

/// A box fills the tile, or divides it and says which part it is.
static LogicalResult verifyCovers(Operation *op, ArrayRef<int64_t> box,
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

void ChannelOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "channel");
}

/// Each block of a cluster copies whole groups of the rows that a swizzle
/// permutes.
static LogicalResult verifyMulticast(ChannelOp op) {
  if (!op.getMulticast())
    return success();
  if (op.getEngine() != Engine::tma)
    return op.emitOpError()
           << "is multicast by the engine '" << stringifyEngine(op.getEngine())
           << "', expected 'tma'";
  int64_t blocks = getClusterSize(op->getParentOfType<func::FuncOp>());
  if (blocks == 1)
    return op.emitOpError()
           << "is multicast in a kernel of no clusters, "
              "expected '"
           << FAGPUDialect::clusterAttrName << "' of 2, 4 or 8 on it";
  ArrayRef<int64_t> tile = op.getType().getShape();
  constexpr int64_t rowsPerSwizzle = 8;
  if (tile.size() == 2 && tile.front() % (rowsPerSwizzle * blocks) == 0)
    return success();
  return op.emitOpError() << "is multicast with tiles of " << formatShape(tile)
                          << ", expected rows that are a multiple of "
                          << rowsPerSwizzle * blocks << ", " << rowsPerSwizzle
                          << " for each block of a cluster";
}

LogicalResult ChannelOp::verify() {
  if (int64_t banks = static_cast<int32_t>(getBanks()); banks < 1)
    return emitOpError() << "has " << banks << " banks, expected at least 1";
  if (failed(verifyMulticast(*this)))
    return failure();
  if (!getOver())
    return success();
  auto over = getOver().getDefiningOp<ChannelOp>();
  if (!over)
    return emitOpError() << "shares the memory of a value that is not made by "
                            "'fagpu.channel'";
  // Another block of the cluster fills that memory, and does not wait for the
  // other channel.
  if (getMulticast() || over.getMulticast())
    return emitOpError() << "shares memory " << (getMulticast() ? "as" : "with")
                         << " a channel that all blocks of a cluster fill, "
                            "expected memory of its own";
  int64_t bytes = getNumStages() * getType().getStageBytes();
  int64_t available = over.getNumStages() * over.getType().getStageBytes();
  if (bytes <= available)
    return success();
  return emitOpError() << "takes " << bytes << " bytes over a channel of "
                       << available;
}

void MailOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "mail");
}

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

/// Bulk copies alone tell the L2 cache what to keep.
static LogicalResult verifyCache(Operation *op,
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

/// One piece of memory, which is copied whole: nothing bounds it, and the
/// hardware moves 16 bytes at a time.
static LogicalResult verifyPiece(Operation *op, StringRef what,
                                 ArrayRef<int64_t> box, MemRefType memory) {
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

void AcquireOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getView(), "view");
}

LogicalResult AcquireOp::verify() {
  return verifyBank(*this, getChannel(), getBank());
}

void SliceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "slice");
}

LogicalResult SliceOp::verify() {
  ViewType source = getView().getType(), result = getType();
  if (getOffsets().size() != source.getShape().size())
    return emitOpError() << "has " << getOffsets().size()
                         << " offsets, expected " << source.getShape().size();
  if (source.getElementType() != result.getElementType() ||
      source.getLayout() != result.getLayout() ||
      source.getShape().size() != result.getShape().size())
    return emitOpError() << "makes " << result << " of " << source
                         << ", expected the same rank, elements and layout";
  for (auto [part, whole] :
       llvm::zip_equal(result.getShape(), source.getShape()))
    if (part > whole)
      return emitOpError() << "takes " << formatShape(result.getShape())
                           << " of a view of "
                           << formatShape(source.getShape());
  return success();
}

LogicalResult WriteOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  ArrayRef<int64_t> tile = getChannel().getType().getShape();
  if (failed(verifyEngine(*this, getChannel(),
                          {Engine::threads, Engine::cp_async})) ||
      failed(verifyBank(*this, getChannel(), getBank())) ||
      failed(verifyPart(*this, getPart(), tile)) ||
      failed(verifyElements(*this, value.getElementType(),
                            getChannel().getType().getElementType(),
                            "a channel")))
    return failure();
  SmallVector<int64_t> box(value.getShape());
  if (getTransposed())
    std::reverse(box.begin(), box.end());
  return verifyCovers(*this, box, tile, !getPart().empty());
}

LogicalResult DrainOp::verify() {
  auto memory = cast<MemRefType>(getDestination().getType());
  if (failed(verifyOffsets(*this, getOffsets(), memory)) ||
      failed(verifyElements(*this, getView().getType().getElementType(),
                            memory.getElementType(), "memory")) ||
      failed(verifySizes(*this, getBox(), memory)) ||
      (getAdd() && failed(verifyOrderOfAdds(*this))))
    return failure();
  return verifyBox(*this, getView().getType().getShape(), getBox());
}

void RecvOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults())
    setName(getResult(0), "work");
}

//===----------------------------------------------------------------------===//
// Store of a block value
//===----------------------------------------------------------------------===//

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
