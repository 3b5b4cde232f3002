//===- PairsTile.cpp - One tile of pairs on block values ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the memory behind the slices of a step, and its place in a kernel.
// `resolve` does it for one operand; `fetch` and `store` copy it, and
// `getPlace` says which queries and keys the pairs of a block are.
//
//===----------------------------------------------------------------------===//

#include "PairsTile.h"
#include "KernelConfig.h"
#include "Multiples.h"
#include "fa/Dialect/FA/IR/MissingPages.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;

int64_t mlir::fa::padColumns(int64_t headDim) {
  return llvm::alignTo(headDim, 16);
}

Value mlir::fa::boundColumns(OpBuilder &builder, Location loc, Value first,
                             int64_t headDim, int64_t columns) {
  if (columns == headDim)
    return {};
  Value end = builder.createOrFold<arith::AddIOp>(
      loc, first, arith::ConstantIndexOp::create(builder, loc, headDim));
  return Blocks(builder, loc).cast32(end);
}

int64_t mlir::fa::getAlignment(MemRefType memory, int64_t headDim) {
  int64_t bytes = memory.getElementTypeBitWidth() / 8;
  int64_t common = std::gcd(16, headDim * bytes);
  auto [strides, offset] = memory.getStridesAndOffset();
  if (!ShapedType::isDynamic(offset))
    common = std::gcd(common, offset * bytes);
  for (int64_t stride : strides)
    if (!ShapedType::isDynamic(stride) && stride != 1)
      common = std::gcd(common, stride * bytes);
  return common;
}

/// That of rows from column `first` on.
static int64_t getAlignmentFrom(Value first, MemRefType memory,
                                int64_t headDim) {
  int64_t bytes = memory.getElementTypeBitWidth() / 8;
  int64_t common = getAlignment(memory, headDim);
  while (common > bytes && !isMultipleOf(first, common / bytes))
    common /= 2;
  return common;
}

LogicalResult PairsTile::findRole() {
  role = root->getParentOfType<fagpu::RoleOp>();
  if (role)
    return success();
  return root->emitOpError()
         << "stands outside of the roles of its kernel, expected it in a "
            "'fagpu.role', as fa-outline-kernels makes it";
}

LogicalResult PairsTile::divideRows(int64_t blockRows) {
  warps = static_cast<unsigned>(role.getWarps());
  int64_t groups = role.getGroups();
  if (blockRows % (16 * warps * groups))
    return root->emitOpError()
           << "has a state of " << blockRows << " rows, expected a multiple of "
           << 16 * warps * groups << ", 16 for each of " << warps * groups
           << " warps";
  rows = blockRows / groups;
  MLIRContext *context = root->getContext();
  rowType = RankedTensorType::get({rows}, Float32Type::get(context),
                                  fagpu::RowLayoutAttr::get(context, warps));
  return success();
}

LogicalResult PairsTile::checkOrders(Operation *step,
                                     ArrayRef<DimsAttr> orders) {
  for (DimsAttr order : orders)
    if (order.positionOf(DimKind::HeadDim) != 3)
      return step->emitOpError()
             << "has dimensions in the order " << order
             << ", expected the head dim last on a GPU; the nearest is to pass "
                "a transposed view";
  return success();
}

LogicalResult PairsTile::checkColumns(Operation *step, StringRef what) {
  if (columns % 16)
    return step->emitOpError() << "goes by blocks of " << columns << " " << what
                               << ", expected a multiple of 16; nearest is "
                               << llvm::alignTo(columns, 16);
  scoreType = RankedTensorType::get({rows, columns},
                                    Float32Type::get(step->getContext()));
  return success();
}

/// Without a step nothing is split.
int64_t PairsTile::getColumns(int64_t headDim) {
  return element ? getTileColumns(headDim, element, columns, role.getGroups())
                 : padColumns(headDim);
}

void PairsTile::findPage(OpBuilder &builder, PagedRowsOp rows, Tile &tile) {
  Location loc = root->getLoc();
  DimsAttr order = rows.getDims();
  int64_t size = cast<MemRefType>(rows.getPool().getType())
                     .getDimSize(order.positionOf(DimKind::Sequence));
  Value key = tile.offsets[1], column = tile.offsets[3];
  Value pageRows = arith::ConstantIndexOp::create(builder, loc, size);
  Value number = arith::DivUIOp::create(builder, loc, key, pageRows);
  Value row = arith::RemUIOp::create(builder, loc, key, pageRows);
  // The first block may be copied before it is known that there is none. A
  // table has a column (fa-tile asks for one), and past the last key nothing is
  // copied.
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value columns = memref::DimOp::create(builder, loc, rows.getPages(), 1);
  Value last = arith::SubIOp::create(builder, loc, columns, one);
  number = arith::MinSIOp::create(builder, loc, number, last);
  Value entry = memref::LoadOp::create(builder, loc, rows.getPages(),
                                       ValueRange{rows.getBatch(), number});
  Value page =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), entry);
  // What is no page is not read.
  Value pages = memref::DimOp::create(builder, loc, rows.getPool(),
                                      order.positionOf(DimKind::Page));
  tile.isPage = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                      page, pages);
  page =
      arith::SelectOp::create(builder, loc, tile.isPage, page,
                              arith::ConstantIndexOp::create(builder, loc, 0));
  OpFoldResult single = builder.getIndexAttr(1);
  OpFoldResult count = tile.sizes[1], headDims = tile.sizes[3];
  tile.order = order;
  tile.offsets.assign(4, Value());
  tile.sizes.assign(4, single);
  std::tuple<DimKind, Value, OpFoldResult> dims[] = {
      {DimKind::Page, page, single},
      {DimKind::Sequence, row, count},
      {DimKind::Heads, rows.getHead(), single},
      {DimKind::HeadDim, column, headDims}};
  for (auto [kind, offset, extent] : dims) {
    tile.offsets[order.positionOf(kind)] = offset;
    tile.sizes[order.positionOf(kind)] = extent;
  }
}

/// The sequence in the place of a page.
static void findSequence(OpBuilder &builder, PagedRowsOp rows, Tile &tile) {
  DimsAttr order = rows.getDims();
  SmallVector<Value> offsets(4);
  SmallVector<OpFoldResult> sizes(4);
  std::tuple<DimKind, Value, OpFoldResult> dims[] = {
      {DimKind::Page, rows.getBatch(), tile.sizes[0]},
      {DimKind::Sequence, tile.offsets[1], tile.sizes[1]},
      {DimKind::Heads, rows.getHead(), tile.sizes[2]},
      {DimKind::HeadDim, tile.offsets[3], tile.sizes[3]}};
  for (auto [kind, offset, extent] : dims) {
    offsets[order.positionOf(kind)] = offset;
    sizes[order.positionOf(kind)] = extent;
  }
  tile.order = order;
  tile.offsets = offsets;
  tile.sizes = sizes;
  tile.pages = rows.getPages();
}

FailureOr<Tile> PairsTile::resolve(OpBuilder &builder, Operation *user,
                                   Value memory, bool isInPage) {
  Location loc = user->getLoc();
  Tile tile;
  Value at = memory;
  while (Operation *source = at.getDefiningOp()) {
    // What is known of a size at one place need not be at another.
    if (auto cast = dyn_cast<memref::CastOp>(source)) {
      at = cast.getSource();
      continue;
    }
    if (auto rows = dyn_cast<PagedRowsOp>(source);
        rows && !tile.sizes.empty()) {
      if (isInPage)
        findPage(builder, rows, tile);
      else
        findSequence(builder, rows, tile);
      at = rows.getPool();
      continue;
    }
    auto view = dyn_cast<memref::SubViewOp>(source);
    if (!view)
      break;
    if (!view.hasUnitStride() || view.getDroppedDims().any())
      return view.emitOpError()
             << "is a slice with steps or dropped dimensions, expected a "
                "dense one";
    if (tile.sizes.empty()) {
      tile.sizes = view.getMixedSizes();
      tile.offsets =
          getValueOrCreateConstantIndexOp(builder, loc, view.getMixedOffsets());
    } else {
      for (auto [sum, offset] :
           llvm::zip_equal(tile.offsets, view.getMixedOffsets())) {
        Value more = getValueOrCreateConstantIndexOp(builder, loc, offset);
        sum = builder.createOrFold<arith::AddIOp>(loc, sum, more);
      }
    }
    at = view.getSource();
  }
  if (!isa<BlockArgument>(at))
    return user->emitOpError()
           << "has memory that is no argument of the kernel";
  tile.memory = at;
  auto type = cast<MemRefType>(at.getType());
  if (tile.sizes.empty())
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      tile.offsets.push_back(arith::ConstantIndexOp::create(builder, loc, 0));
      tile.sizes.push_back(memref::getMixedSize(builder, loc, at, dim));
    }
  return tile;
}

/// What is left of a total from `first` on, or a block of at least so many
/// rows: the total.
static Value getTotal(OpFoldResult size, Value first, int64_t blockRows) {
  auto value = dyn_cast<Value>(size);
  auto least = value ? value.getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
  if (!least)
    return {};
  for (auto [a, b] : {std::pair(least.getLhs(), least.getRhs()),
                      std::pair(least.getRhs(), least.getLhs())})
    if (auto left = a.getDefiningOp<arith::SubIOp>();
        left && left.getRhs() == first &&
        getConstantIntValue(b).value_or(0) >= blockRows)
      return left.getLhs();
  return {};
}

/// Where the slice ends in the memory; of the only block of a kernel, where all
/// blocks end: a scalar less in the loop.
Value PairsTile::getEnd(OpBuilder &builder, const Tile &tile, int64_t dim) {
  Location loc = root->getLoc();
  if (auto kernel = role->getParentOfType<func::FuncOp>();
      hasWarpGroups(kernel) && !isPersistent(kernel))
    if (Value total = getTotal(tile.sizes[dim], tile.offsets[dim],
                               rows * role.getGroups()))
      return total;
  Value size = getValueOrCreateConstantIndexOp(builder, loc, tile.sizes[dim]);
  return builder.createOrFold<arith::AddIOp>(loc, tile.offsets[dim], size);
}

FailureOr<Value> PairsTile::getRowEnd(OpBuilder &builder, Operation *user,
                                      Value memory, DimsAttr order, Value first,
                                      Value extent) {
  FailureOr<Tile> tile = resolve(builder, user, memory);
  if (failed(tile))
    return failure();
  int64_t sequence =
      (tile->order ? tile->order : order).positionOf(DimKind::Sequence);
  OpFoldResult size = tile->sizes[sequence];
  Value at = tile->offsets[sequence];
  // Rows of the whole sequence count from its beginning, and end with it.
  int64_t all = cast<MemRefType>(tile->memory.getType()).getDimSize(sequence);
  bool endsWithMemory =
      getTotal(size, at, rows * role.getGroups()) == extent ||
      (!ShapedType::isDynamic(all) && getConstantIntValue(extent) == all);
  if (endsWithMemory && isEqualConstantIntOrValue(at, first))
    return extent;
  Location loc = root->getLoc();
  Value end = builder.createOrFold<arith::AddIOp>(
      loc, first, getValueOrCreateConstantIndexOp(builder, loc, size));
  return builder.createOrFold<arith::MinSIOp>(loc, extent, end);
}

/// Groups take equal parts of the rows, one after the other.
void PairsTile::findGroupRow(OpBuilder &builder) {
  if (role.getGroups() == 1)
    return;
  Location loc = root->getLoc();
  Value group = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           role.getGroup());
  groupRow = multiplyShort(builder, loc, group,
                           arith::ConstantIndexOp::create(builder, loc, rows));
}

void PairsTile::shift(OpBuilder &builder, Value &offset, Value by) {
  if (by)
    offset = builder.createOrFold<arith::AddIOp>(root->getLoc(), offset, by);
}

FailureOr<Value> PairsTile::fetch(OpBuilder &builder, Operation *user,
                                  Value memory, DimsAttr order, int64_t rows,
                                  std::optional<EndOfSequence> end,
                                  Value shiftBy) {
  FailureOr<Tile> tile = resolve(builder, user, memory);
  if (failed(tile))
    return failure();
  return fetchTile(builder, *tile, order, rows, end, shiftBy);
}

/// The operation that finds the pages of a slice; null where there are none.
static PagedRowsOp getPagedRows(Value memory) {
  while (Operation *view = memory.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::CastOp>(view))
      break;
    memory = view->getOperand(0);
  }
  return memory.getDefiningOp<PagedRowsOp>();
}

bool mlir::fa::isPaged(Value memory) { return getPagedRows(memory) != nullptr; }

/// The rows of a page, of those that a block of keys in pages has.
static std::optional<int64_t> getPageRows(Value memory) {
  PagedRowsOp rows = getPagedRows(memory);
  if (!rows)
    return std::nullopt;
  return cast<MemRefType>(rows.getPool().getType())
      .getDimSize(rows.getDims().positionOf(DimKind::Sequence));
}

FailureOr<Value> PairsTile::fetchKeys(OpBuilder &builder, Operation *user,
                                      Value memory, DimsAttr order,
                                      int64_t rows, EndOfSequence end) {
  int64_t pageRows = getPageRows(memory).value_or(rows);
  if (!findsRows(pageRows, rows) && pageRows >= rows)
    return fetch(builder, user, memory, order, rows, end);
  // The copy finds the pages.
  FailureOr<Tile> tile = resolve(builder, user, memory, /*isInPage=*/false);
  if (failed(tile))
    return failure();
  return fetchTile(builder, *tile, order, rows, end, /*shiftBy=*/Value());
}

FailureOr<Value> PairsTile::fetchTile(OpBuilder &builder, Tile &found,
                                      DimsAttr order, int64_t rows,
                                      std::optional<EndOfSequence> end,
                                      Value shiftBy) {
  Location loc = root->getLoc();
  Blocks blocks(builder, loc);
  Tile *tile = &found;
  if (tile->order)
    order = tile->order;
  auto type = cast<MemRefType>(tile->memory.getType());
  int64_t sequence = order.positionOf(DimKind::Sequence);
  // A slice may have some of the columns.
  int64_t columnDim = order.positionOf(DimKind::HeadDim);
  int64_t headDim = getConstantIntValue(tile->sizes[columnDim])
                        .value_or(type.getDimSize(columnDim));
  int64_t columns = getColumns(headDim);
  Value firstColumn = tile->offsets[columnDim];
  Value at = tile->offsets[sequence];
  Value limit = end ? end->end : getEnd(builder, *tile, sequence);
  // Memory of a piece of the keys counts from elsewhere.
  if (end && end->place != at) {
    limit = builder.createOrFold<arith::AddIOp>(
        loc, at, builder.createOrFold<arith::SubIOp>(loc, limit, end->place));
    if (end->mayExceedMemory)
      limit = builder.createOrFold<arith::MinSIOp>(
          loc, limit,
          builder.createOrFold<memref::DimOp>(loc, tile->memory, sequence));
  }
  // A piece whose extents say more than its memory has.
  if (int64_t size = type.getDimSize(sequence);
      end && end->mayExceedMemory && !ShapedType::isDynamic(size) &&
      getConstantIntValue(limit) != size)
    limit = builder.createOrFold<arith::MinSIOp>(
        loc, limit, arith::ConstantIndexOp::create(builder, loc, size));
  if (tile->isPage)
    limit = arith::SelectOp::create(
        builder, loc, tile->isPage, limit,
        arith::ConstantIndexOp::create(builder, loc, 0));
  shift(builder, tile->offsets[sequence], shiftBy);
  SmallVector<int64_t> sizes(type.getRank(), 1);
  sizes[sequence] = rows;
  sizes[columnDim] = columns;
  SmallVector<Value> offsets;
  for (Value offset : tile->offsets)
    offsets.push_back(blocks.cast32(offset));
  return fagpu::FetchOp::create(
             builder, loc,
             RankedTensorType::get({rows, columns}, type.getElementType()),
             tile->memory, offsets, sizes, blocks.cast32(limit),
             boundColumns(builder, loc, firstColumn, headDim, columns),
             getAlignmentFrom(firstColumn, type, headDim),
             /*padded=*/false, /*fragments=*/false, tile->pages,
             tile->pages
                 ? builder.getI64IntegerAttr(order.positionOf(DimKind::Page))
                 : IntegerAttr())
      .getResult();
}

void PairsTile::store(OpBuilder &builder, Value value, const Tile &tile,
                      int64_t rowDim, int64_t headDim, Value valid) {
  Location loc = root->getLoc();
  Blocks blocks(builder, loc);
  auto memory = cast<MemRefType>(tile.memory.getType());
  Value limit = valid ? builder.createOrFold<arith::AddIOp>(
                            loc, tile.offsets[rowDim], valid)
                      : getEnd(builder, tile, rowDim);
  SmallVector<Value> places(tile.offsets);
  shift(builder, places[rowDim], groupRow);
  SmallVector<Value> offsets;
  for (Value offset : places)
    offsets.push_back(blocks.cast32(offset));
  bool isVector = cast<ShapedType>(value.getType()).getRank() == 1;
  DenseI64ArrayAttr sizes;
  Value bound;
  if (!isVector) {
    SmallVector<int64_t> box(memory.getRank(), 1);
    box.back() = getColumns(headDim);
    box[rowDim] = rows;
    sizes = builder.getDenseI64ArrayAttr(box);
  }
  Value end = blocks.cast32(limit);
  if (!isVector)
    bound = boundColumns(builder, loc, tile.offsets.back(), headDim,
                         getColumns(headDim));
  fagpu::StoreOp::create(
      builder, loc, value, tile.memory, offsets, sizes, end, bound, Value(),
      Value(),
      isVector ? 16 : getAlignmentFrom(tile.offsets.back(), memory, headDim),
      /*padded=*/false, /*add=*/false, /*transposed=*/false,
      /*fragments=*/false, fagpu::CachePriorityAttr());
}

Value PairsTile::countKeys(AttentionLikeOpInterface step,
                           const IRMapping &mapping, Value ofRange) {
  auto slice = step.getKey().getDefiningOp<memref::SubViewOp>();
  if (!slice)
    return ofRange;
  int64_t sequence = step.getKeyOrder().positionOf(DimKind::Sequence);
  auto size = dyn_cast<Value>(slice.getMixedSizes()[sequence]);
  return size ? mapping.lookupOrDefault(size) : ofRange;
}

FailureOr<PairBlock> PairsTile::getPlace(OpBuilder &outside,
                                         AttentionLikeOpInterface step,
                                         const IRMapping &mapping,
                                         Value visited, bool rowsAreKeys) {
  PairBlock place;
  place.rows = rows;
  place.columns = columns;
  place.warps = warps;
  place.rowsAreKeys = rowsAreKeys;
  GPUPart config = getGPUPart(role->getParentOfType<func::FuncOp>());
  place.hasTiles = config.captures == Captures::tiles;
  auto mapped = [&](Value value) { return mapping.lookupOrDefault(value); };
  Value zero = arith::ConstantIndexOp::create(outside, step.getLoc(), 0);
  if (step.getOffsets().empty()) {
    place.batch = place.head = place.query = place.key = zero;
    (rowsAreKeys ? place.query : place.key) = visited;
  } else {
    place.batch = mapped(step.getOffsets()[0]);
    place.head = mapped(step.getOffsets()[1]);
    place.query = mapped(step.getOffsets()[2]);
    place.key = mapped(step.getOffsets()[3]);
  }
  shift(outside, rowsAreKeys ? place.key : place.query, groupRow);
  if (step.getExtents().empty())
    return step.emitOpError() << "has no extents, expected the valid queries "
                                 "and keys of its batch";
  place.queries = mapped(step.getExtents()[0]);
  place.keys = mapped(step.getExtents()[1]);
  return place;
}
