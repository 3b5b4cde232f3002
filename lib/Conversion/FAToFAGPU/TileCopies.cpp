//===- TileCopies.cpp - Copies and fills of memory in tiles ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns linalg.copy and linalg.fill of the host into parallel loops over
// tiles, which become kernels as attention does. Dimensions are permuted so
// that a tile has contiguous rows. Read `CopyTiler::run`, then `chooseTile`
// and `copyTile`. SumParts.cpp has sums of parts.
//
//===----------------------------------------------------------------------===//

#include "ContiguousDim.h"
#include "HostLoops.h"
#include "QueryBlock.h"
#include "SumParts.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATILECOPIESPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Rows of the tiles, 16 for each warp, and their most columns.
static constexpr unsigned warpsOfTile = 4;
static constexpr int64_t rowsOfTile = 16 * warpsOfTile;
static constexpr int64_t columnsOfTile = 64;

namespace {
/// Makes a parallel loop over tiles of a copy, or of a fill, whose source is
/// one number.
class CopyTiler {
public:
  explicit CopyTiler(linalg::LinalgOp copy)
      : copy(copy), loc(copy.getLoc()), builder(copy),
        source(copy.getDpsInputs().front()),
        destination(copy.getDpsInits().front()) {}

  LogicalResult run();

private:
  bool isFill() { return isa<linalg::FillOp>(copy); }
  SmallVector<Value *> getMemory();
  LogicalResult verify();
  void addDims(int64_t count);
  void makeMatrix();
  void putLast(int64_t dim);
  void chooseTile();
  void copyTile(OpBuilder &at, ValueRange first);
  /// i32: how many elements of a dimension there are.
  Value getSize(OpBuilder &at, int64_t dim);
  MemRefType getType() { return cast<MemRefType>(destination.getType()); }

  linalg::LinalgOp copy;
  Location loc;
  OpBuilder builder;
  Value source, destination;
  /// Columns are of the last dimension; memory whose elements lie beside each
  /// other in none has tiles of rows alone.
  bool hasColumns = true;
  int64_t rowDim = 0, columnDim = 0;
  RankedTensorType tileType;
  /// Bytes that rows start at multiples of; 0 where nothing is known.
  int64_t rowAlignment = 0;
  /// Of the memory that is written; whether that is the device's own.
  SmallVector<OpFoldResult> sizes;
  bool ofDevice = false;
};
} // namespace

SmallVector<Value *> CopyTiler::getMemory() {
  if (isFill())
    return {&destination};
  return {&source, &destination};
}

LogicalResult CopyTiler::verify() {
  MemRefType type = getType();
  Type element = type.getElementType();
  if (!(element.isF16() || element.isBF16() || element.isF32()))
    return copy->emitOpError()
           << (isFill() ? "fills " : "copies ") << type
           << ", expected memory of f16, bf16 or f32 to write it in a kernel";
  Type from = getElementTypeOrSelf(source.getType());
  if (isFill() || from == element || from.isF32()) {
    if (element.isF32() || getContiguousDim(type))
      return success();
    return copy->emitOpError()
           << "writes " << type
           << ", expected a dimension of stride 1, or elements of f32, to "
              "write it in a kernel";
  }
  return copy->emitOpError() << "copies " << source.getType() << " to " << type
                             << ", expected the same elements, or f32";
}

/// Dimensions of size 1 in front.
void CopyTiler::addDims(int64_t count) {
  int64_t rank = getType().getRank();
  SmallVector<ReassociationIndices> groups(rank);
  for (int64_t dim = 0; dim < rank + count; ++dim)
    if (rank)
      groups[std::max<int64_t>(dim - count, 0)].push_back(dim);
  sizes.insert(sizes.begin(), count, builder.getIndexAttr(1));
  for (Value *memory : getMemory()) {
    auto type = cast<MemRefType>(memory->getType());
    SmallVector<int64_t> shape(count, 1);
    llvm::append_range(shape, type.getShape());
    SmallVector<OpFoldResult> all(count, builder.getIndexAttr(1));
    llvm::append_range(all, memref::getMixedSizes(builder, loc, *memory));
    auto expanded =
        memref::ExpandShapeOp::computeExpandedType(type, shape, groups);
    *memory = memref::ExpandShapeOp::create(builder, loc, *expanded, *memory,
                                            groups, all);
  }
}

/// Makes dimension `dim` of both the last one, by views.
void CopyTiler::putLast(int64_t dim) {
  SmallVector<unsigned> order;
  for (int64_t each = 0; each < getType().getRank(); ++each)
    if (each != dim)
      order.push_back(each);
  order.push_back(dim);
  sizes = llvm::map_to_vector(
      order, [&](unsigned from) -> OpFoldResult { return sizes[from]; });
  auto map = AffineMapAttr::get(
      AffineMap::getPermutationMap(order, builder.getContext()));
  for (Value *memory : getMemory())
    *memory = memref::TransposeOp::create(builder, loc, *memory, map);
}

/// Views with rows and columns, of which those of a row lie beside each other.
void CopyTiler::makeMatrix() {
  if (getType().getRank() == 0)
    return addDims(2);
  int64_t last = getType().getRank() - 1;
  std::optional<int64_t> contiguous = getContiguousDim(getType());
  hasColumns = contiguous.has_value();
  if (!hasColumns)
    return;
  if (last == 0) {
    addDims(1);
  } else if (*contiguous != last) {
    putLast(*contiguous);
  }
}

/// Rows are of the longest dimension, as far as it is known.
void CopyTiler::chooseTile() {
  MemRefType type = getType();
  columnDim = type.getRank() - 1;
  auto getLength = [&](int64_t dim) {
    return type.isDynamicDim(dim) ? std::numeric_limits<int64_t>::max()
                                  : type.getDimSize(dim);
  };
  // Of (batch, sequence, heads, head dim) the second one. What is of pairs has
  // no dimension that is known as the last one.
  int64_t numRowDims = hasColumns ? columnDim : columnDim + 1;
  rowDim =
      type.getRank() == 4 && !type.isDynamicDim(columnDim) ? 1 : numRowDims - 1;
  for (int64_t dim = 0; dim < numRowDims; ++dim)
    if (getLength(dim) > getLength(rowDim))
      rowDim = dim;
  MLIRContext *context = builder.getContext();
  if (!hasColumns) {
    // Where a vector is stored.
    if (rowDim != columnDim)
      putLast(rowDim);
    rowDim = columnDim;
    tileType =
        RankedTensorType::get({rowsOfTile}, type.getElementType(),
                              fagpu::RowLayoutAttr::get(context, warpsOfTile));
    return;
  }
  int64_t columns = columnsOfTile;
  if (!type.isDynamicDim(columnDim))
    columns = std::clamp<int64_t>(padColumns(type.getDimSize(columnDim)), 16,
                                  columnsOfTile);
  tileType = RankedTensorType::get(
      {rowsOfTile, columns}, type.getElementType(),
      fagpu::AccumulatorLayoutAttr::get(context, warpsOfTile));
}

Value CopyTiler::getSize(OpBuilder &at, int64_t dim) {
  Value size = ofDevice ? getValueOrCreateConstantIndexOp(at, loc, sizes[dim])
                        : at.createOrFold<memref::DimOp>(loc, destination, dim);
  return Blocks(at, loc).cast32(size);
}

/// Reads a tile, or makes one, and stores it, up to the ends of rows and
/// columns.
void CopyTiler::copyTile(OpBuilder &at, ValueRange first) {
  Blocks blocks(at, loc);
  SmallVector<Value> offsets = llvm::map_to_vector(
      first, [&](Value index) { return blocks.cast32(index); });
  SmallVector<Value> indices(offsets);
  Value isInside, ends[2];
  for (int32_t dim = 0; dim < tileType.getRank(); ++dim) {
    int64_t inMemory = dim ? columnDim : rowDim;
    Type numbers = tileType.clone(at.getI32Type());
    Value number =
        fagpu::IotaOp::create(at, loc, numbers, dim, fagpu::IndexPart::all);
    indices[inMemory] = arith::AddIOp::create(
        at, loc, number, blocks.splat(offsets[inMemory], numbers));
    int64_t size = getType().getDimSize(inMemory);
    if (!ShapedType::isDynamic(size) && size % tileType.getDimSize(dim) == 0)
      continue;
    ends[dim] = getSize(at, inMemory);
    Value isBelow = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::slt,
                                          indices[inMemory],
                                          blocks.splat(ends[dim], numbers));
    isInside =
        isInside ? arith::AndIOp::create(at, loc, isInside, isBelow).getResult()
                 : isBelow;
  }
  Type from = getElementTypeOrSelf(source.getType());
  Value tile = isFill() ? blocks.splat(source, tileType)
                        : fagpu::GatherOp::create(at, loc, tileType.clone(from),
                                                  source, indices, isInside,
                                                  /*pairs=*/rowAlignment >= 8,
                                                  /*in_order=*/false)
                              .getResult();
  if (from != tileType.getElementType())
    tile = blocks.truncate(tile, tileType.getElementType());
  DenseI64ArrayAttr box;
  int64_t align = 16;
  if (hasColumns) {
    SmallVector<int64_t> sizes(offsets.size(), 1);
    sizes[rowDim] = tileType.getDimSize(0);
    sizes[columnDim] = tileType.getDimSize(1);
    box = at.getDenseI64ArrayAttr(sizes);
    align = rowAlignment ? rowAlignment : tileType.getElementTypeBitWidth() / 8;
  }
  fagpu::StoreOp::create(at, loc, tile, destination, offsets, box, ends[0],
                         ends[1], /*via=*/Value(), /*bank=*/Value(), align,
                         /*padded=*/false, /*add=*/false, /*transposed=*/false,
                         /*fragments=*/false, fagpu::CachePriorityAttr());
}

LogicalResult CopyTiler::run() {
  if (failed(verify()))
    return failure();
  remark::passed(loc,
                 remark::RemarkOpts::name("Copy").category("fa-tile-copies"))
      << std::string("a kernel of its own ") +
             (isFill() ? "fills " : "copies ") +
             llvm::formatv("{0}", getType()).str();
  if (auto bytes = copy->getAttrOfType<IntegerAttr>(alignAttrName))
    rowAlignment = bytes.getInt();
  sizes = memref::getMixedSizes(builder, loc, destination);
  ofDevice = destination.getDefiningOp<fagpu::WorkspaceOp>() != nullptr;
  makeMatrix();
  chooseTile();
  SmallVector<OpFoldResult> lower, upper, steps;
  for (int64_t dim = 0; dim <= columnDim; ++dim) {
    lower.push_back(builder.getIndexAttr(0));
    upper.push_back(sizes[dim]);
    steps.push_back(builder.getIndexAttr(dim == rowDim ? tileType.getDimSize(0)
                                         : hasColumns && dim == columnDim
                                             ? tileType.getDimSize(1)
                                             : 1));
  }
  auto loop = scf::ForallOp::create(builder, loc, lower, upper, steps,
                                    ValueRange(), std::nullopt);
  OpBuilder body(loop.getBody()->getTerminator());
  copyTile(body, loop.getInductionVars());
  copy->erase();
  return success();
}

/// A copy from or to memory that the function allocates for kernels:
/// fa-forward-copies may find that none needs it.
static bool isOfAllocation(linalg::LinalgOp copy) {
  return llvm::any_of(copy->getOperands(), [](Value memory) {
    return memory.getDefiningOp<memref::AllocOp>() && !isInHostLoop(memory);
  });
}

namespace {
struct TileCopiesPass : public fa::impl::FATileCopiesPassBase<TileCopiesPass> {
  void runOnOperation() override {
    if (fagpu::isKernel(getOperation()) || getOperation().isDeclaration())
      return;
    Block &body = getOperation().getBody().front();
    for (auto sum : llvm::to_vector(body.getOps<linalg::GenericOp>()))
      if (isSumOfParts(sum) && !isOfAllocation(sum) &&
          failed(tileSumOfParts(sum)))
        return signalPassFailure();
    for (auto copy : llvm::to_vector(body.getOps<linalg::LinalgOp>()))
      if (isa<linalg::CopyOp, linalg::FillOp>(copy) &&
          copy->getNumResults() == 0 && !isOfAllocation(copy) &&
          failed(CopyTiler(copy).run()))
        return signalPassFailure();
  }
};
} // namespace
