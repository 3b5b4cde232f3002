//===- VectorizeLanes.cpp - Linalg operations to register tiles -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linalg operation on memrefs becomes loops around a register tile: some
// rows of some vectors, whose accumulators stay in registers. Read the class
// comment, `chooseLoops` for the loop that becomes the vector lanes, then
// `emit` down to `emitTile`.
//
//===----------------------------------------------------------------------===//

#include "LaneBody.h"
#include "LoopSizes.h"
#include "fa/Conversion/CPU/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAVECTORIZELANES
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// Turns one linalg operation on memrefs into loops over register tiles.
///
/// The iterations of one parallel loop, the lane loop, lie along vectors: in
/// every operand that it indexes, its elements follow each other in memory.
/// A tile holds `vectors` vectors of it for each of `rows` iterations of
/// another parallel loop. What a reduction accumulates stays in registers.
class TileEmitter {
public:
  TileEmitter(RewriterBase &rewriter, linalg::LinalgOp op, CPUConfigAttr tile);
  void emit();

private:
  bool isLaneLoop(unsigned loop);
  bool chooseTransposition(ArrayRef<unsigned> parallel);
  void chooseLoops();
  void prepareOperands();
  void takeInitialFill();

  void emitOuter(unsigned next);
  void emitLanes();
  void emitRows();
  void emitTile();
  void emitReduction(unsigned next, SmallVector<Value> &accumulators);
  void emitBody(SmallVector<Value> &accumulators);
  void emitStrip(unsigned loop, Value begin, Value end, int64_t step,
                 function_ref<void()> body);
  void emitStrips(unsigned loop, ArrayRef<int64_t> steps,
                  function_ref<void(int64_t)> body);
  void emitStaticStrip(unsigned loop, int64_t begin, int64_t end, int64_t step,
                       function_ref<void(int64_t)> body);
  void emitDynamicStrips(unsigned loop, ArrayRef<int64_t> steps,
                         function_ref<void(int64_t)> body);

  bool dependsOn(unsigned operand, unsigned loop) {
    return maps[operand].isFunctionOfDim(loop);
  }
  bool isAccumulator(unsigned operand);
  SmallVector<Value> indicesOf(unsigned operand, int64_t row, int64_t lane);
  ArrayRef<Value> loadSquare(unsigned operand);
  Value load(unsigned operand, int64_t row, int64_t vector);
  void store(Value value, unsigned operand, int64_t row, int64_t vector);
  Value offsetBy(Value index, int64_t offset);
  Value indexOf(unsigned loop, int64_t row, int64_t vector);
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  RewriterBase &rewriter;
  linalg::LinalgOp op;
  Location loc;
  int64_t lanes, maxRows, maxVectors;

  SmallVector<AffineMap> maps;
  /// The loop that runs along each operand's memory, if one does.
  SmallVector<std::optional<unsigned>> contiguous;
  /// Operands as the loops index them: the contiguous dimension is last.
  SmallVector<Value> views;
  SmallVector<int64_t> staticSizes;
  SmallVector<Value> sizes;
  std::optional<unsigned> laneLoop, rowLoop;
  /// Some inputs are contiguous along the row loop and not along the lane loop:
  /// they are loaded in squares, which are transposed in registers.
  bool transposes = false;
  SmallVector<unsigned> outerLoops, reductionLoops;
  /// Where each loop stands, and the shape of the current tile.
  SmallVector<Value> position;
  int64_t rows = 1, vectors = 1, width = 1;
  /// Transposed squares of the current tile, by operand.
  DenseMap<unsigned, SmallVector<Value>> squares;
  /// What the accumulators start from, where that is not memory.
  Value initialValue;
};
} // namespace

/// The loop whose consecutive iterations are consecutive in memory in an
/// operand indexed by `map`, if there is one.
static std::optional<unsigned> findContiguousLoop(Value operand,
                                                  AffineMap map) {
  auto type = dyn_cast<MemRefType>(operand.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type || failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (auto [index, result] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim || strides[index] != 1 || type.getDimSize(index) == 1)
      continue;
    // The loop must not move along another dimension as well.
    if (llvm::count(map.getResults(), result) == 1)
      return dim.getPosition();
  }
  return std::nullopt;
}

TileEmitter::TileEmitter(RewriterBase &rewriter, linalg::LinalgOp op,
                         CPUConfigAttr tile)
    : rewriter(rewriter), op(op), loc(op.getLoc()), lanes(tile.getLanes()),
      maxRows(tile.getRegisterRows()), maxVectors(tile.getRegisterVectors()),
      maps(op.getIndexingMapsArray()) {
  for (OpOperand &operand : op->getOpOperands())
    contiguous.push_back(
        findContiguousLoop(operand.get(), maps[operand.getOperandNumber()]));
}

//===----------------------------------------------------------------------===//
// Choice of loops
//===----------------------------------------------------------------------===//

/// Whether `loop` runs along memory in every operand that it indexes.
bool TileEmitter::isLaneLoop(unsigned loop) {
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return !dependsOn(operand.getOperandNumber(), loop) ||
           contiguous[operand.getOperandNumber()] == loop;
  });
}

/// Takes the loop along the outputs as lanes and that along some inputs as
/// rows, where two loops serve all operands.
bool TileEmitter::chooseTransposition(ArrayRef<unsigned> parallel) {
  std::optional<unsigned> along = contiguous[op.getNumDpsInputs()];
  // Squares of a power of two can be transposed by exchanging pairs.
  if (!along || op.getNumDpsInits() != 1 || lanes < 2 ||
      !llvm::isPowerOf2_64(lanes))
    return false;
  std::optional<unsigned> across;
  for (OpOperand *input : op.getDpsInputOperands()) {
    std::optional<unsigned> unit = contiguous[input->getOperandNumber()];
    if (!dependsOn(input->getOperandNumber(), *along) || unit == along)
      continue;
    if (!unit || (across && across != unit))
      return false;
    across = unit;
  }
  if (!across || !llvm::is_contained(parallel, *across))
    return false;
  laneLoop = along;
  rowLoop = across;
  transposes = true;
  return true;
}

void TileEmitter::chooseLoops() {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<unsigned> parallel;
  for (auto [loop, kind] : llvm::enumerate(kinds))
    (kind == utils::IteratorType::parallel ? parallel : reductionLoops)
        .push_back(loop);
  for (unsigned loop : llvm::reverse(parallel))
    if (!laneLoop && isLaneLoop(loop))
      laneLoop = loop;
  if (!laneLoop && reductionLoops.empty())
    chooseTransposition(parallel);
  for (unsigned loop : parallel)
    if (loop != laneLoop && loop != rowLoop)
      outerLoops.push_back(loop);
  // Only a reduction gains from several rows at a time.
  if (laneLoop && !reductionLoops.empty() && !outerLoops.empty())
    rowLoop = outerLoops.pop_back_val();
}

/// Moves the contiguous dimension to the end of every operand.
void TileEmitter::prepareOperands() {
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap &map = maps[operand.getOperandNumber()];
    Value view = operand.get();
    if (std::optional<unsigned> along =
            contiguous[operand.getOperandNumber()]) {
      unsigned at = *map.getResultPosition(
          getAffineDimExpr(*along, rewriter.getContext()));
      SmallVector<int64_t> order;
      for (unsigned index = 0; index < map.getNumResults(); ++index)
        if (index != at)
          order.push_back(index);
      order.push_back(at);
      if (at + 1 != map.getNumResults()) {
        AffineMap permutation =
            AffineMap::getPermutationMap(order, rewriter.getContext());
        view = memref::TransposeOp::create(rewriter, loc, view,
                                           AffineMapAttr::get(permutation));
        map = permutation.compose(map);
      }
    }
    views.push_back(view);
  }
}

bool TileEmitter::isAccumulator(unsigned operand) {
  if (reductionLoops.empty() ||
      operand < static_cast<unsigned>(op.getNumDpsInputs()))
    return false;
  return llvm::none_of(reductionLoops,
                       [&](unsigned loop) { return dependsOn(operand, loop); });
}

/// Starts the accumulators at the value that a fill just before this operation
/// writes into all of one output, and removes the fill.
void TileEmitter::takeInitialFill() {
  auto fill = dyn_cast_or_null<linalg::FillOp>(op->getPrevNode());
  if (!fill || reductionLoops.empty())
    return;
  unsigned accumulators = 0;
  bool filled = false;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (!isAccumulator(init.getOperandNumber()))
      continue;
    ++accumulators;
    filled |= init.get() == fill.getOutputs()[0];
  }
  if (accumulators != 1 || !filled)
    return;
  initialValue = fill.getInputs()[0];
  rewriter.eraseOp(fill);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void TileEmitter::emit() {
  rewriter.setInsertionPoint(op);
  chooseLoops();
  takeInitialFill();
  staticSizes = op.getStaticLoopRanges();
  for (Range range : op.createLoopRanges(rewriter, loc))
    sizes.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, range.size));
  prepareOperands();
  position.assign(sizes.size(), Value());
  emitOuter(0);
  rewriter.eraseOp(op);
}

/// A loop over [begin, end) by `step`, a multiple of which the length is.
void TileEmitter::emitStrip(unsigned loop, Value begin, Value end, int64_t step,
                            function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto strip = scf::ForOp::create(rewriter, loc, begin, end, constant(step));
  rewriter.setInsertionPointToStart(strip.getBody());
  position[loop] = strip.getInductionVar();
  body();
}

void TileEmitter::emitOuter(unsigned next) {
  if (next == outerLoops.size())
    return emitLanes();
  unsigned loop = outerLoops[next];
  emitStrip(loop, constant(0), sizes[loop], 1, [&] { emitOuter(next + 1); });
}

/// Tiles of `step` over [begin, end) of a loop; none where that is empty.
void TileEmitter::emitStaticStrip(unsigned loop, int64_t begin, int64_t end,
                                  int64_t step,
                                  function_ref<void(int64_t)> body) {
  if (begin < end)
    emitStrip(loop, constant(begin), constant(end), step, [&] { body(step); });
}

/// Covers a loop by strips of each step in turn, as far as whole steps go. What
/// the last step leaves over of a loop of known size is one narrower tile.
void TileEmitter::emitStrips(unsigned loop, ArrayRef<int64_t> steps,
                             function_ref<void(int64_t)> body) {
  if (ShapedType::isDynamic(staticSizes[loop]))
    return emitDynamicStrips(loop, steps, body);
  int64_t begin = 0, size = staticSizes[loop];
  for (int64_t step : steps) {
    int64_t end = begin + (size - begin) / step * step;
    emitStaticStrip(loop, begin, end, step, body);
    begin = end;
  }
  emitStaticStrip(loop, begin, size, size - begin, body);
}

void TileEmitter::emitDynamicStrips(unsigned loop, ArrayRef<int64_t> steps,
                                    function_ref<void(int64_t)> body) {
  Value begin = constant(0);
  for (int64_t step : steps) {
    Value end = sizes[loop];
    if (step != 1) {
      Value stepValue = constant(step);
      Value left = arith::SubIOp::create(rewriter, loc, sizes[loop], begin);
      Value count = arith::DivUIOp::create(rewriter, loc, left, stepValue);
      Value length = arith::MulIOp::create(rewriter, loc, count, stepValue);
      end = arith::AddIOp::create(rewriter, loc, begin, length);
    }
    emitStrip(loop, begin, end, step, [&] { body(step); });
    begin = end;
  }
}

/// Whether memory or arithmetic of an operation has elements of bf16.
static bool hasBF16(linalg::LinalgOp op) {
  auto isBF16 = [](Type type) { return getElementTypeOrSelf(type).isBF16(); };
  return llvm::any_of(op->getOperandTypes(), isBF16) ||
         op.getBlock()
             ->walk([&](Operation *inner) {
               return llvm::any_of(inner->getResultTypes(), isBF16)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

void TileEmitter::emitLanes() {
  if (!laneLoop)
    return emitRows();
  SmallVector<int64_t> steps;
  if (maxVectors > 1 && !transposes)
    steps.push_back(lanes * maxVectors);
  steps.push_back(lanes);
  bool isDynamic = ShapedType::isDynamic(staticSizes[*laneLoop]);
  if (lanes > 1 && (isDynamic || transposes))
    steps.push_back(1);
  // LLVM 22 has no code for vectors of 8n + 1 elements of bf16 on processors
  // that compute with it: the last one of them stands alone.
  int64_t rest = isDynamic ? 0 : staticSizes[*laneLoop] % lanes;
  if (rest > 1 && rest % 8 == 1 && hasBF16(op))
    steps.push_back(rest - 1);
  // What a known number of steps covers leaves none over for narrower tiles.
  if (isDynamic && !transposes) {
    int64_t divisor = getDivisor(sizes[*laneLoop]);
    while (steps.size() > 1 && divisor % steps[steps.size() - 2] == 0)
      steps.pop_back();
  }
  emitStrips(*laneLoop, steps, [&](int64_t step) {
    vectors = step > lanes ? maxVectors : 1;
    width = std::min(step, lanes);
    emitRows();
  });
}

void TileEmitter::emitRows() {
  rows = 1;
  if (!rowLoop)
    return emitTile();
  auto body = [&](int64_t step) {
    rows = step;
    emitTile();
  };
  // A transposed tile is square; beside it there are single elements.
  if (transposes)
    return width == 1 ? emitStrips(*rowLoop, 1, body)
                      : emitStrips(*rowLoop, {width, 1}, body);
  int64_t size = staticSizes[*rowLoop];
  if (ShapedType::isDynamic(size)) {
    SmallVector<int64_t> steps;
    for (int64_t step : {maxRows, std::min<int64_t>(maxRows, 2), int64_t(1)})
      if (steps.empty() || step < steps.back())
        steps.push_back(step);
    return emitStrips(*rowLoop, steps, body);
  }
  if (!size)
    return;
  // Tiles that differ by one row at most, rather than a small last one that
  // could not hide the latency of its arithmetic.
  int64_t tiles = llvm::divideCeil(size, maxRows);
  int64_t few = size / tiles, larger = size % tiles;
  int64_t middle = larger * (few + 1);
  emitStaticStrip(*rowLoop, 0, middle, few + 1, body);
  emitStaticStrip(*rowLoop, middle, size, few, body);
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

void TileEmitter::emitTile() {
  SmallVector<Value> accumulators;
  auto forEachAccumulator =
      [&](function_ref<void(unsigned, int64_t, int64_t)> visit) {
        for (OpOperand &init : op.getDpsInitsMutable())
          if (isAccumulator(init.getOperandNumber()))
            for (int64_t row = 0; row < rows; ++row)
              for (int64_t vector = 0; vector < vectors; ++vector)
                visit(init.getOperandNumber(), row, vector);
      };
  LaneBodyBuilder splat(rewriter, loc, width);
  forEachAccumulator([&](unsigned operand, int64_t row, int64_t vector) {
    if (!initialValue)
      accumulators.push_back(load(operand, row, vector));
    else
      accumulators.push_back(laneLoop ? splat.broadcast(initialValue)
                                      : initialValue);
  });
  emitReduction(0, accumulators);
  unsigned next = 0;
  forEachAccumulator([&](unsigned operand, int64_t row, int64_t vector) {
    store(accumulators[next++], operand, row, vector);
  });
}

void TileEmitter::emitReduction(unsigned next,
                                SmallVector<Value> &accumulators) {
  if (next == reductionLoops.size())
    return emitBody(accumulators);
  unsigned loop = reductionLoops[next];
  OpBuilder::InsertionGuard guard(rewriter);
  auto reduction = scf::ForOp::create(rewriter, loc, constant(0), sizes[loop],
                                      constant(1), accumulators);
  Block *body = reduction.getBody();
  if (!body->empty())
    rewriter.eraseOp(body->getTerminator());
  rewriter.setInsertionPointToEnd(body);
  position[loop] = reduction.getInductionVar();
  SmallVector<Value> carried(reduction.getRegionIterArgs());
  emitReduction(next + 1, carried);
  scf::YieldOp::create(rewriter, loc, carried);
  accumulators.assign(reduction.getResults().begin(),
                      reduction.getResults().end());
}

void TileEmitter::emitBody(SmallVector<Value> &accumulators) {
  squares.clear();
  // An operand that does not depend on the row or the vector is loaded once.
  DenseMap<std::tuple<unsigned, int64_t, int64_t>, Value> loaded;
  auto loadOnce = [&](unsigned operand, int64_t row, int64_t vector) {
    if (!rowLoop || !dependsOn(operand, *rowLoop))
      row = 0;
    if (!laneLoop || !dependsOn(operand, *laneLoop))
      vector = 0;
    Value &value = loaded[{operand, row, vector}];
    if (!value)
      value = load(operand, row, vector);
    return value;
  };
  unsigned tileSize = rows * vectors;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t vector = 0; vector < vectors; ++vector) {
      unsigned slot = row * vectors + vector;
      SmallVector<Value> arguments;
      SmallVector<Value *> slots;
      unsigned accumulator = 0;
      for (OpOperand &operand : op->getOpOperands()) {
        unsigned number = operand.getOperandNumber();
        if (isAccumulator(number)) {
          slots.push_back(&accumulators[accumulator++ * tileSize + slot]);
          arguments.push_back(*slots.back());
          continue;
        }
        if (op.isDpsInit(&operand))
          slots.push_back(nullptr);
        bool used = op.payloadUsesValueFromOperand(&operand);
        arguments.push_back(used ? loadOnce(number, row, vector) : Value());
      }
      LaneBodyBuilder lane(rewriter, loc, width);
      SmallVector<Value> results =
          lane.inlineBlock(*op.getBlock(), arguments, [&](unsigned loop) {
            return indexOf(loop, row, vector);
          });
      for (auto [index, result] : llvm::enumerate(results)) {
        if (laneLoop)
          result = lane.broadcast(result);
        if (slots[index])
          *slots[index] = result;
        else
          store(result, op.getNumDpsInputs() + index, row, vector);
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value TileEmitter::offsetBy(Value index, int64_t offset) {
  if (!offset)
    return index;
  return arith::AddIOp::create(rewriter, loc, index, constant(offset));
}

/// The indices of the element that is `row` rows and `lane` lanes from where
/// the loops stand.
SmallVector<Value> TileEmitter::indicesOf(unsigned operand, int64_t row,
                                          int64_t lane) {
  SmallVector<Value> indices;
  for (AffineExpr expression : maps[operand].getResults()) {
    if (auto number = dyn_cast<AffineConstantExpr>(expression)) {
      indices.push_back(constant(number.getValue()));
      continue;
    }
    unsigned loop = cast<AffineDimExpr>(expression).getPosition();
    int64_t offset = 0;
    if (loop == laneLoop)
      offset = lane;
    else if (loop == rowLoop)
      offset = row;
    indices.push_back(offsetBy(position[loop], offset));
  }
  return indices;
}

/// The square of an operand that is contiguous along the rows: one vector of
/// lanes for each row. Exchanging the halves of an interleaved list once for
/// each bit of the width transposes it.
ArrayRef<Value> TileEmitter::loadSquare(unsigned operand) {
  SmallVector<Value> &square = squares[operand];
  if (!square.empty())
    return square;
  Type element = cast<MemRefType>(views[operand].getType()).getElementType();
  auto type = VectorType::get(width, element);
  for (int64_t lane = 0; lane < width; ++lane)
    square.push_back(vector::LoadOp::create(rewriter, loc, type, views[operand],
                                            indicesOf(operand, 0, lane)));
  SmallVector<int64_t> low, high;
  for (int64_t index = 0; index < width / 2; ++index) {
    low.append({index, width + index});
    high.append({width / 2 + index, width + width / 2 + index});
  }
  for (int64_t round = 1; round < width; round *= 2) {
    SmallVector<Value> next;
    for (int64_t index = 0; index < width / 2; ++index)
      for (ArrayRef<int64_t> mask : {ArrayRef(low), ArrayRef(high)})
        next.push_back(vector::ShuffleOp::create(
            rewriter, loc, square[index], square[index + width / 2], mask));
    square = next;
  }
  return square;
}

Value TileEmitter::load(unsigned operand, int64_t row, int64_t vector) {
  Value view = views[operand];
  auto type = dyn_cast<MemRefType>(view.getType());
  if (!type)
    return view;
  bool hasLanes = laneLoop && dependsOn(operand, *laneLoop);
  SmallVector<Value> indices = indicesOf(operand, row, vector * width);
  if (!hasLanes)
    return memref::LoadOp::create(rewriter, loc, view, indices);
  auto vectorType = VectorType::get(width, type.getElementType());
  if (contiguous[operand] == laneLoop)
    return vector::LoadOp::create(rewriter, loc, vectorType, view, indices);
  if (rows == width && width > 1)
    return loadSquare(operand)[row];
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < width; ++lane)
    elements.push_back(memref::LoadOp::create(rewriter, loc, view,
                                              indicesOf(operand, row, lane)));
  return vector::FromElementsOp::create(rewriter, loc, vectorType, elements);
}

void TileEmitter::store(Value value, unsigned operand, int64_t row,
                        int64_t vector) {
  SmallVector<Value> indices = indicesOf(operand, row, vector * width);
  if (laneLoop && dependsOn(operand, *laneLoop))
    vector::StoreOp::create(rewriter, loc, value, views[operand], indices);
  else
    memref::StoreOp::create(rewriter, loc, value, views[operand], indices);
}

Value TileEmitter::indexOf(unsigned loop, int64_t row, int64_t vector) {
  if (loop == rowLoop)
    return offsetBy(position[loop], row);
  if (loop != laneLoop)
    return position[loop];
  SmallVector<int64_t> steps;
  for (int64_t lane = 0; lane < width; ++lane)
    steps.push_back(vector * width + lane);
  auto type = VectorType::get(width, rewriter.getIndexType());
  Value offsets = arith::ConstantOp::create(
      rewriter, loc, DenseElementsAttr::get(type, [&] {
        SmallVector<Attribute> attributes;
        for (int64_t step : steps)
          attributes.push_back(rewriter.getIndexAttr(step));
        return attributes;
      }()));
  Value first =
      vector::BroadcastOp::create(rewriter, loc, type, position[loop]);
  return arith::AddIOp::create(rewriter, loc, first, offsets);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Only loops and constants may index an operand.
static LogicalResult verifyMaps(linalg::LinalgOp op) {
  for (AffineMap map : op.getIndexingMapsArray())
    for (AffineExpr expression : map.getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(expression))
        return op->emitOpError("is indexed by ")
               << AffineMapAttr::get(map)
               << ", expected loops and constants alone";
  return success();
}

LogicalResult mlir::fa::vectorizeLanes(RewriterBase &rewriter,
                                       linalg::LinalgOp op,
                                       CPUConfigAttr defaultTile) {
  if (!op.hasPureBufferSemantics())
    return op->emitOpError("has tensor operands, expected memrefs: bufferize "
                           "before vectorizing");
  if (failed(verifyMaps(op)))
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  auto tile = op->getAttrOfType<CPUConfigAttr>(registerTileName);
  TileEmitter(rewriter, op, tile ? tile : defaultTile).emit();
  return success();
}

namespace {
/// Remembers what has been erased.
struct ErasedOperations : public RewriterBase::Listener {
  void notifyOperationErased(Operation *op) override { erased.insert(op); }
  DenseSet<Operation *> erased;
};

struct VectorizeLanesPass
    : public fa::impl::FAVectorizeLanesBase<VectorizeLanesPass> {
  using FAVectorizeLanesBase::FAVectorizeLanesBase;

  void runOnOperation() override {
    if (lanes < 1 || registerRows < 1 || registerVectors < 1) {
      getOperation()->emitError(
          "lanes, register-rows and register-vectors are ")
          << lanes.getValue() << ", " << registerRows.getValue() << " and "
          << registerVectors.getValue() << ", expected at least 1";
      return signalPassFailure();
    }
    auto tile =
        CPUConfigAttr::get(&getContext(), lanes, registerRows, registerVectors);
    ErasedOperations listener;
    IRRewriter rewriter(&getContext(), &listener);
    SmallVector<Operation *> all;
    getOperation()->walk([&](linalg::LinalgOp op) { all.push_back(op); });
    // From the last to the first: an operation may remove a fill before it.
    for (Operation *op : llvm::reverse(all))
      if (!listener.erased.contains(op) &&
          failed(vectorizeLanes(rewriter, cast<linalg::LinalgOp>(op), tile)))
        return signalPassFailure();
  }
};
} // namespace
