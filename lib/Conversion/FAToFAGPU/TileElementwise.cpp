//===- TileElementwise.cpp - Elementwise operations in tiles --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes parallel loops over tiles of what linalg operations of the host
// compute for each element, as fa-tile-copies does of copies. The body becomes
// that of an fa.apply on the elements of a tile, which loads its operands.
// Read `ElementwiseTiler::run`, then `makeRegion`.
//
//===----------------------------------------------------------------------===//

#include "ContiguousDim.h"
#include "IndexWidths.h"
#include "QueryBlock.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATILEELEMENTWISEPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Rows of the tiles, 16 for each warp, and their most columns. Elements of one
/// dimension are a row.
static constexpr int64_t rowsOfTile = 64, rowsOfVector = 16, columnsOfTile = 64;
/// A place has a batch, a head, a query and a key.
static constexpr unsigned mostLoops = 4;
/// Positions are of 32 bits, and comparisons of two of them.
static constexpr int64_t mostElements = IndexWidths::shortLimit;

namespace {
class ElementwiseTiler {
public:
  explicit ElementwiseTiler(linalg::GenericOp op)
      : op(op), loc(op.getLoc()), builder(op) {}

  LogicalResult run();

private:
  LogicalResult verify();
  void chooseTile();
  void makeRegion(Region &region, unsigned result,
                  SmallVectorImpl<Value> &captures);
  Value makeTile(OpBuilder &at, ValueRange first, unsigned result);
  void store(OpBuilder &at, ValueRange first, Value tile, Value destination);
  MemRefType getType(unsigned result) {
    return cast<MemRefType>(op.getDpsInits()[result].getType());
  }

  linalg::GenericOp op;
  Location loc;
  OpBuilder builder;
  SmallVector<OpFoldResult> sizes;
  /// Which loops a place's batch, head, query and key are of; none, of the
  /// first ones, where there are fewer.
  std::array<std::optional<unsigned>, mostLoops> loops;
  int64_t rows = 0, columns = 0;
};
} // namespace

/// Operations that compute an element of each result from elements of the
/// operands; copies and fills have a pass of their own.
static bool isOfElements(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInits() != 0 &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         !isa<linalg::CopyOp, linalg::FillOp>(op);
}

/// Whether threads hold values of a type.
static bool isHeld(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return type.isIndex() || isa<MemRefType>(type) || type.isF16() ||
         type.isBF16() || type.isF32() || type.isF64() ||
         (integer && llvm::is_contained({1, 8, 32, 64}, integer.getWidth()));
}

static LogicalResult verifyInBody(Operation *op) {
  StringRef name = op->getParentOp()->getName().getStringRef();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !(isa<memref::LoadOp>(op) || isMemoryEffectFree(op)))
    return op->emitOpError()
           << "is in the body of '" << name
           << "', expected operations of one result and without effects, and "
              "loads, to compute it in a kernel";
  // What lies behind the ends of a tile is divided by too.
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp>(op) &&
      !getConstantIntValue(op->getOperand(1)))
    return op->emitOpError()
           << "divides by a number known at run time in the body of '" << name
           << "', expected a constant to compute it in a kernel; the nearest "
              "is "
              "'arith.floordivsi'";
  auto isShort = [](Type type) { return type.isF16() || type.isBF16(); };
  Type from = op->getNumOperands() ? op->getOperand(0).getType() : Type();
  Type to = op->getResult(0).getType();
  if (isa<arith::BitcastOp>(op) && (isShort(from) || isShort(to)))
    return op->emitOpError()
           << "casts " << from << " to " << to << " in the body of '" << name
           << "', expected 32 bits in a kernel";
  if (isa<arith::TruncFOp>(op) && from.isF64() && isShort(to))
    return op->emitOpError()
           << "rounds " << from << " to " << to << " in the body of '" << name
           << "', expected f32 in a kernel";
  for (Type type :
       llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (!isHeld(type))
      return op->emitOpError()
             << "computes with " << type << " in the body of '" << name
             << "', expected index, i1, i8, i32, i64, f16, bf16, f32 or f64 in "
                "a kernel";
  return success();
}

LogicalResult ElementwiseTiler::verify() {
  unsigned count = op.getNumLoops();
  if (count == 0 || count > mostLoops)
    return op.emitOpError()
           << "computes elements of " << count << " dimensions, expected 1 to "
           << mostLoops << " to compute them in a kernel; the nearest is "
           << (count ? "to collapse two" : "a tensor of one element");
  for (int64_t size : getType(0).getShape())
    if (size > mostElements)
      return op.emitOpError()
             << "computes " << getType(0) << ", expected at "
             << "most " << mostElements << " elements of a dimension";
  std::optional<int64_t> contiguous;
  for (unsigned result = 0; result < op.getNumDpsInits(); ++result) {
    MemRefType type = getType(result);
    Type element = type.getElementType();
    auto refuse = [&]() {
      return op.emitOpError() << "computes " << type << ", expected ";
    };
    if (!op.getMatchingIndexingMap(op.getDpsInitOperand(result)).isIdentity())
      return refuse() << "an element for each iteration, in their order, to "
                         "compute it in a kernel";
    if (!(element.isF16() || element.isBF16() || element.isF32()))
      return refuse() << "f16, bf16 or f32 to compute it in a kernel";
    std::optional<int64_t> dim = getContiguousDim(type);
    if (!dim || (contiguous && *contiguous != *dim))
      return refuse() << "a dimension of stride 1, of all results the same, to "
                         "compute it in a kernel; the nearest has the last one";
    contiguous = dim;
  }
  for (Operation &nested : op.getBody()->without_terminator())
    if (failed(verifyInBody(&nested)))
      return failure();
  for (OpOperand *operand : op.getDpsInputOperands())
    if (Type element = getElementTypeOrSelf(operand->get().getType());
        !isHeld(element))
      return op.emitOpError()
             << "reads operand " << operand->getOperandNumber() << " of "
             << element << ", expected i1, i8, i32, i64, f16, bf16, f32 or f64 "
             << "to read it in a kernel";
  for (OpOperand *operand : op.getDpsInputOperands())
    for (AffineExpr index : op.getMatchingIndexingMap(operand).getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(index))
        return op.emitOpError()
               << "reads operand " << operand->getOperandNumber() << " at "
               << llvm::formatv("{0}", index).str()
               << ", expected dimensions alone to read it in a kernel";
  return success();
}

/// Columns lie beside each other; rows are of the longest of the others, as far
/// as it is known.
void ElementwiseTiler::chooseTile() {
  MemRefType type = getType(0);
  unsigned column = *getContiguousDim(type);
  auto getLength = [&](unsigned dim) {
    return type.isDynamicDim(dim) ? std::numeric_limits<int64_t>::max()
                                  : type.getDimSize(dim);
  };
  std::optional<unsigned> row;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (dim != column && (!row || getLength(dim) > getLength(*row)))
      row = dim;
  loops[2] = row;
  loops[3] = column;
  unsigned place = 0;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (dim != column && dim != row)
      loops[place++] = dim;
  rows = row ? rowsOfTile : rowsOfVector;
  columns = columnsOfTile;
  if (!type.isDynamicDim(column))
    columns = std::clamp<int64_t>(padColumns(type.getDimSize(column)), 16,
                                  columnsOfTile);
}

/// A float of 16 bits as one of 32: threads hold the former in pairs, so that
/// vectors of them are not broadcast.
static Value widen(OpBuilder &builder, Location loc, Value value) {
  auto type = dyn_cast<FloatType>(value.getType());
  if (!type || type.getWidth() != 16)
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
}

/// Copies an operation with floats of 32 bits for those of 16, which it rounds
/// to these.
static void cloneWide(OpBuilder &builder, Operation &op, IRMapping &mapping) {
  Location loc = op.getLoc();
  Value result = op.getResult(0);
  auto type = dyn_cast<FloatType>(result.getType());
  bool isShort = type && type.getWidth() == 16;
  if (auto extension = dyn_cast<arith::ExtFOp>(op)) {
    Value known = mapping.lookupOrDefault(extension.getIn());
    if (known.getType() == result.getType())
      return mapping.map(result, known);
  }
  Operation *copy = builder.clone(op, mapping);
  bool isExact = isa<arith::SelectOp>(op);
  if (isShort && !isa<arith::ConstantOp, arith::TruncFOp, memref::LoadOp>(op))
    copy->getResult(0).setType(builder.getF32Type());
  Value value = copy->getResult(0);
  if (isShort && !isExact && value.getType().isF32())
    value = arith::TruncFOp::create(builder, loc, type, value);
  mapping.map(result, widen(builder, loc, value));
}

/// The body of the operation for one of its results, as a function of a place.
/// What it takes from outside is captured, but for constants. Floats have at
/// least 32 bits.
void ElementwiseTiler::makeRegion(Region &region, unsigned result,
                                  SmallVectorImpl<Value> &captures) {
  Block &body = region.emplaceBlock();
  Type index = builder.getIndexType();
  SmallVector<Value> positions(op.getNumLoops());
  for (std::optional<unsigned> loop : loops) {
    BlockArgument argument = body.addArgument(index, loc);
    if (loop)
      positions[*loop] = argument;
  }
  IRMapping mapping;
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  auto capture = [&](Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Value inRegion;
    Operation *source = value.getDefiningOp();
    if (source && source->hasTrait<OpTrait::ConstantLike>() &&
        !isa<MemRefType>(value.getType())) {
      inRegion = inside.clone(*source)->getResult(0);
    } else {
      captures.push_back(value);
      inRegion = body.addArgument(value.getType(), loc);
    }
    inRegion = widen(inside, loc, inRegion);
    mapping.map(value, inRegion);
    return inRegion;
  };
  SetVector<Value> outside;
  getUsedValuesDefinedAbove(op.getRegion(), outside);
  llvm::for_each(outside, capture);
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument element = op.getMatchingBlockArgument(&operand);
    if (element.use_empty())
      continue;
    Value source = capture(operand.get());
    if (!isa<MemRefType>(source.getType())) {
      mapping.map(element, source);
      continue;
    }
    SmallVector<Value> at;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
      at.push_back(
          isa<AffineDimExpr>(expr)
              ? positions[cast<AffineDimExpr>(expr).getPosition()]
              : arith::ConstantIndexOp::create(
                    inside, loc, cast<AffineConstantExpr>(expr).getValue())
                    .getResult());
    Value loaded = memref::LoadOp::create(inside, loc, source, at);
    mapping.map(element, widen(inside, loc, loaded));
  }
  for (Operation &nested : op.getBody()->without_terminator()) {
    if (auto position = dyn_cast<linalg::IndexOp>(nested))
      mapping.map(position.getResult(), positions[position.getDim()]);
    else
      cloneWide(inside, nested, mapping);
  }
  Value element = op.getBody()->getTerminator()->getOperand(result);
  YieldOp::create(inside, loc, mapping.lookupOrDefault(element));
}

/// The elements of a tile, in registers.
Value ElementwiseTiler::makeTile(OpBuilder &at, ValueRange first,
                                 unsigned result) {
  Type element = getType(result).getElementType();
  auto type = RankedTensorType::get({rows, columns}, at.getF32Type());
  Value zero = arith::ConstantIndexOp::create(at, loc, 0);
  Value one = arith::ConstantIndexOp::create(at, loc, 1);
  SmallVector<Value> offsets, extents;
  for (std::optional<unsigned> loop : loops)
    offsets.push_back(loop ? first[*loop] : zero);
  for (std::optional<unsigned> loop : ArrayRef(loops).take_back(2))
    extents.push_back(
        loop ? getValueOrCreateConstantIndexOp(at, loc, sizes[*loop]) : one);
  auto apply =
      ApplyOp::create(at, loc, TypeRange{type}, ValueRange(), ValueRange(),
                      offsets, extents, /*captures=*/ValueRange(),
                      /*rows_are_keys=*/UnitAttr());
  SmallVector<Value> captures;
  makeRegion(apply.getBody(), result, captures);
  apply.getCapturesMutable().assign(captures);
  if (element.isF32())
    return apply.getResult(0);
  return Blocks(at, loc).truncate(apply.getResult(0), element);
}

/// Stores a tile up to the ends of rows and columns.
void ElementwiseTiler::store(OpBuilder &at, ValueRange first, Value tile,
                             Value destination) {
  Blocks blocks(at, loc);
  SmallVector<Value> offsets = llvm::map_to_vector(
      first, [&](Value index) { return blocks.cast32(index); });
  SmallVector<int64_t> box(offsets.size(), 1);
  auto getEnd = [&](unsigned dim) -> Value {
    return blocks.cast32(getValueOrCreateConstantIndexOp(at, loc, sizes[dim]));
  };
  Value ends[2];
  if (loops[2]) {
    box[*loops[2]] = rows;
    ends[0] = getEnd(*loops[2]);
  } else {
    // A vector is the one row of a matrix.
    auto type = cast<MemRefType>(destination.getType());
    ReassociationIndices all = {0, 1};
    SmallVector<int64_t> shape = {1, type.getDimSize(0)};
    auto expanded = memref::ExpandShapeOp::computeExpandedType(
        type, shape, ArrayRef<ReassociationIndices>{all});
    destination = memref::ExpandShapeOp::create(
        builder, loc, *expanded, destination,
        ArrayRef<ReassociationIndices>{all},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1), sizes[0]});
    offsets.insert(offsets.begin(),
                   arith::ConstantIntOp::create(at, loc, 0, 32));
    box.insert(box.begin(), rows);
    ends[0] = arith::ConstantIntOp::create(at, loc, 1, 32);
  }
  box[loops[2] ? *loops[3] : 1] = columns;
  ends[1] = getEnd(*loops[3]);
  auto element = cast<RankedTensorType>(tile.getType()).getElementType();
  fagpu::StoreOp::create(at, loc, tile, destination, offsets,
                         at.getDenseI64ArrayAttr(box), ends[0], ends[1],
                         /*via=*/Value(), /*bank=*/Value(),
                         element.getIntOrFloatBitWidth() / 8,
                         /*padded=*/false, /*add=*/false, /*transposed=*/false,
                         /*fragments=*/false, fagpu::CachePriorityAttr());
}

LogicalResult ElementwiseTiler::run() {
  if (failed(verify()))
    return failure();
  remark::passed(
      loc, remark::RemarkOpts::name("Elements").category("fa-tile-elementwise"))
      << std::string("a kernel of its own computes ") +
             llvm::formatv("{0}", getType(0)).str();
  sizes = memref::getMixedSizes(builder, loc, op.getDpsInits().front());
  chooseTile();
  for (OpFoldResult size : sizes)
    if (auto length = dyn_cast<Value>(size)) {
      Value fits = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sle, length,
          arith::ConstantIndexOp::create(builder, loc, mostElements));
      cf::AssertOp::create(builder, loc, fits,
                           "a dimension of what is computed for each element "
                           "has more than 1073741824 elements");
    }
  SmallVector<OpFoldResult> lower(sizes.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> steps(sizes.size(), builder.getIndexAttr(1));
  if (loops[2])
    steps[*loops[2]] = builder.getIndexAttr(rows);
  steps[*loops[3]] = builder.getIndexAttr(columns);
  auto tiles = scf::ForallOp::create(builder, loc, lower, sizes, steps,
                                     ValueRange(), std::nullopt);
  OpBuilder body(tiles.getBody()->getTerminator());
  builder.setInsertionPoint(tiles);
  SmallVector<Value> first = tiles.getInductionVars();
  // A result may lie in the memory of an operand.
  SmallVector<Value> computed;
  for (unsigned result = 0; result < op.getNumDpsInits(); ++result)
    computed.push_back(makeTile(body, first, result));
  for (auto [tile, destination] : llvm::zip_equal(computed, op.getDpsInits()))
    store(body, first, tile, destination);
  op.erase();
  return success();
}

namespace {
struct TileElementwisePass
    : public fa::impl::FATileElementwisePassBase<TileElementwisePass> {
  void runOnOperation() override {
    // Other functions have no kernels that elements would be computed beside.
    bool hasTiles =
        getOperation()
            .walk([](Operation *op) {
              return isa<scf::ForallOp>(op) || isa<FADialect>(op->getDialect())
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted();
    if (fagpu::isKernel(getOperation()) || !hasTiles)
      return;
    SmallVector<linalg::LinalgOp> all;
    getOperation().walk([&](linalg::LinalgOp op) {
      // In loops of the host there are no launches.
      Operation *around = op->getParentOp();
      while (isa<scf::IfOp>(around))
        around = around->getParentOp();
      if (isOfElements(op) && isa<func::FuncOp>(around))
        all.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : all) {
      rewriter.setInsertionPoint(op);
      FailureOr<linalg::GenericOp> generic =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(generic))
        generic = cast<linalg::GenericOp>(op.getOperation());
      if (failed(ElementwiseTiler(*generic).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
