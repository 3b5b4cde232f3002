//===- RegionWork.cpp - What score and mask regions hold ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates what the score and mask regions of an attention cost a GPU: loads
// a pair, live values, functions (RegionWork in Target.h). It follows what
// each value varies with: query, key or neither. Read `readRegion`, then
// `readOperation`.
//
//===----------------------------------------------------------------------===//

#include "TargetConfigs.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// What a value of a region varies with, and whether a value of pairs comes
/// from a score or from memory.
struct Varies {
  bool query = false, key = false, isHeld = false;

  bool byPair() const { return query && key; }
  void operator|=(Varies other) {
    query |= other.query;
    key |= other.key;
    isHeld |= other.isHeld && other.byPair();
  }
};

/// Goes through the regions of one attention.
class RegionReader {
public:
  RegionWork read(AttentionOp op);
  RegionWork readMask(Region &mask);
  RegionWork readScore(Region &score, ValueRange captured);
  RegionWork readScoreGradient(Region &gradient);

private:
  void readRegion(Region &region, unsigned firstIndex);
  void readOperation(Operation *op);
  bool isProduct(Operation *op);
  bool isCappedByConstant(math::TanhOp tanh);
  bool takesRegisters(Value value);
  int64_t countLive(Block &block);
  int64_t countAlong(Block &block);
  void readTile(memref::LoadOp op);

  DenseMap<Value, Varies> varies;
  RegionWork work;
  /// Arguments of the region.
  Value batch, head, query, key;
  /// What the score function's arguments stand for, from a number on.
  DenseMap<Value, Value> captures;
  int64_t firstCapture = 0;
};
} // namespace

/// Whether the target has an instruction for what the flags allow.
static bool isApproximate(Operation *op) {
  return isa<math::TanhOp, math::Exp2Op, math::Log2Op>(op) &&
         bitEnumContainsAll(cast<arith::ArithFastMathInterface>(op)
                                .getFastMathFlagsAttr()
                                .getValue(),
                            arith::FastMathFlags::afn);
}

static constexpr int64_t bulkAlignment = 16;

LogicalResult mlir::fa::verifyAlignments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    Attribute attribute = function.getArgAttr(number, alignAttrName);
    if (!attribute)
      continue;
    auto bytes = dyn_cast<IntegerAttr>(attribute);
    if (!bytes || bytes.getInt() < 1 ||
        !llvm::isPowerOf2_64(bytes.getValue().getZExtValue()))
      return function.emitOpError()
             << "has " << alignAttrName << " = " << attribute << " on argument "
             << number << ", expected bytes, a power of two";
    if (!isa<MemRefType>(argument.getType()))
      return function.emitOpError()
             << "has " << alignAttrName << " on argument " << number
             << " of type " << argument.getType() << ", expected a memref";
  }
  return success();
}

/// Whether the rows start at multiples of what a bulk copy takes.
static bool hasAlignedRows(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (succeeded(type.getStridesAndOffset(strides, offset)) &&
      llvm::none_of(ArrayRef(strides).drop_back(), ShapedType::isDynamic))
    return true;
  auto argument = dyn_cast<BlockArgument>(memory);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  if (!function)
    return false;
  auto bytes = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                      alignAttrName);
  return bytes && bytes.getInt() % bulkAlignment == 0;
}

bool mlir::fa::isSmallConstant(Value index) {
  std::optional<int64_t> number = getConstantIntValue(index);
  return number && *number >= 0 &&
         *number <= std::numeric_limits<int32_t>::max();
}

/// What `findTileRows` finds, wherever rows start.
static std::optional<unsigned> findPairRows(Type memory,
                                            ArrayRef<CapturedIndex> indices) {
  auto type = dyn_cast<MemRefType>(memory);
  if (!type || indices.size() < 2 || indices.back() != CapturedIndex::key ||
      llvm::count(indices, CapturedIndex::query) != 1 ||
      llvm::count(indices, CapturedIndex::key) != 1 ||
      llvm::is_contained(indices, CapturedIndex::other))
    return std::nullopt;
  if (!type.getElementType().isF16() && !type.getElementType().isBF16())
    return std::nullopt;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return std::nullopt;
  return llvm::find(indices, CapturedIndex::query) - indices.begin();
}

/// A distance of rows that a bulk copy does not take, with its dimension, or
/// such an offset, without one.
static std::optional<std::pair<std::optional<int64_t>, int64_t>>
findUnaligned(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  auto isUnaligned = [&](int64_t elements) {
    return !ShapedType::isDynamic(elements) && elements * bytes % bulkAlignment;
  };
  // From the rows on, of which the others are multiples.
  for (int64_t dim = type.getRank() - 2; dim >= 0; --dim)
    if (isUnaligned(strides[dim]))
      return {{dim, strides[dim]}};
  if (isUnaligned(offset))
    return {{std::nullopt, offset}};
  return std::nullopt;
}

std::optional<unsigned>
mlir::fa::findTileRows(Type memory, ArrayRef<CapturedIndex> indices) {
  std::optional<unsigned> rows = findPairRows(memory, indices);
  return rows && !findUnaligned(cast<MemRefType>(memory)) ? rows : std::nullopt;
}

/// The only place where a score adds to the gradient of a capture; null where
/// there are others, or none.
static ScatterGradientOp findScatter(AttentionGradientOp op, int64_t capture) {
  if (op.getScoreGradient().empty())
    return {};
  ScatterGradientOp scatter;
  for (auto each : op.getScoreGradient().front().getOps<ScatterGradientOp>()) {
    if (each.getCaptureNumber() != capture)
      continue;
    if (scatter)
      return {};
    scatter = each;
  }
  return scatter;
}

bool mlir::fa::hasAlignedPairs(AttentionGradientOp op, int64_t capture) {
  const auto *found = llvm::find(op.getDifferentiated(), capture);
  ScatterGradientOp scatter = findScatter(op, capture);
  if (!scatter || found == op.getDifferentiated().end())
    return false;
  Value gradient =
      op.getCaptureGradients()[found - op.getDifferentiated().begin()];
  Block &body = op.getScoreGradient().front();
  auto classify = [&](Value index) {
    if (index == body.getArgument(4) || index == body.getArgument(5))
      return index == body.getArgument(4) ? CapturedIndex::query
                                          : CapturedIndex::key;
    return index == body.getArgument(2) || index == body.getArgument(3) ||
                   isSmallConstant(index)
               ? CapturedIndex::sameForAll
               : CapturedIndex::other;
  };
  return isa<BlockArgument>(gradient) && isa<MemRefType>(gradient.getType()) &&
         findTileRows(gradient.getType(),
                      llvm::map_to_vector(scatter.getIndices(), classify)) &&
         hasAlignedRows(gradient);
}

bool mlir::fa::isStoredInBoxes(AttentionGradientOp op, int64_t capture) {
  if (!hasAlignedPairs(op, capture))
    return false;
  // A pair is a batch item, a head, a query and a key.
  OperandRange indices = findScatter(op, capture).getIndices();
  Block &body = op.getScoreGradient().front();
  return llvm::is_contained(indices, body.getArgument(2)) &&
         llvm::is_contained(indices, body.getArgument(3));
}

void RegionReader::readTile(memref::LoadOp op) {
  auto classify = [&](Value index) {
    if (index == query || index == key)
      return index == query ? CapturedIndex::query : CapturedIndex::key;
    return index == batch || index == head || isSmallConstant(index)
               ? CapturedIndex::sameForAll
               : CapturedIndex::other;
  };
  auto argument = dyn_cast<BlockArgument>(op.getMemRef());
  Value memory = captures.lookup(argument);
  // A view of an argument has no tensor map.
  if (!isa_and_nonnull<BlockArgument>(memory) ||
      !findPairRows(op.getMemRefType(),
                    llvm::map_to_vector(op.getIndices(), classify)))
    return;
  if (auto unaligned = findUnaligned(op.getMemRefType())) {
    if (!work.unaligned)
      work.unaligned = {argument.getArgNumber() - firstCapture,
                        unaligned->first, unaligned->second};
    return;
  }
  ++work.tileLoads;
  work.areTilesAligned &= hasAlignedRows(memory);
}

/// See RegionWork::sixteenthsOnTheWay.
static int64_t getSixteenths(Operation *op) {
  if (isApproximate(op))
    return 0;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemFOp,
          arith::RemSIOp, arith::RemUIOp>(op))
    return 8;
  if (isa<arith::SIToFPOp, arith::UIToFPOp, math::AbsFOp, math::FmaOp>(op))
    return 3;
  bool isExpanded = isa<math::MathDialect>(op->getDialect()) ||
                    isa<arith::DivFOp, fa::DropoutOp>(op);
  return isExpanded ? 4 : 0;
}

/// Whether the result of a tanh is multiplied by a constant, captured or not.
bool RegionReader::isCappedByConstant(math::TanhOp tanh) {
  return llvm::any_of(tanh->getUsers(), [&](Operation *user) {
    return isa<arith::MulFOp>(user) &&
           llvm::any_of(user->getOperands(), [&](Value operand) {
             Value captured = captures.lookup(operand);
             return matchPattern(captured ? captured : operand, m_Constant());
           });
  });
}

void RegionReader::readOperation(Operation *op) {
  Varies result;
  for (Value operand : op->getOperands())
    result |= varies.lookup(operand);
  if (isa<tensor::ExtractOp, memref::LoadOp>(op))
    result.isHeld = true;
  for (Value value : op->getResults())
    varies[value] = result;
  if (isa<arith::CmpIOp>(op) && result.key)
    ++work.comparisons;
  if (isa<tensor::ExtractOp, memref::LoadOp>(op)) {
    // Elements of 64 bits take two registers.
    Type element = op->getResult(0).getType();
    int64_t count = element.isF64() || element.isInteger(64) ? 2 : 1;
    if (result.byPair())
      work.pairLoads += count;
    else if (result.key)
      work.keyLoads += count;
    if (auto load = dyn_cast<memref::LoadOp>(op))
      readTile(load);
  } else if (result.byPair() && !isProduct(op)) {
    work.sixteenthsOnTheWay =
        std::max(work.sixteenthsOnTheWay, getSixteenths(op));
    work.hasFunctions |= isa<math::MathDialect>(op->getDialect()) &&
                         !isa<math::FmaOp, math::AbsFOp>(op);
    if (auto tanh = dyn_cast<math::TanhOp>(op)) {
      work.hasTanh = true;
      work.hasApproximateTanh |= isApproximate(op);
      work.hasConstantCap |= isCappedByConstant(tanh);
    }
  }
}

/// Whether a division is by a reciprocal that is taken apart from the pairs.
bool RegionReader::isProduct(Operation *op) {
  auto division = dyn_cast<arith::DivFOp>(op);
  return division &&
         bitEnumContainsAll(division.getFastmath(),
                            arith::FastMathFlags::arcp) &&
         !varies.lookup(division.getRhs()).byPair();
}

/// Whether each thread holds the value of its pairs.
bool RegionReader::takesRegisters(Value value) {
  Varies of = varies.lookup(value);
  return of.byPair() && of.isHeld && !value.getType().isInteger(1);
}

/// The most values of pairs that are live behind an operation. What is added to
/// gradients is added behind the block.
int64_t RegionReader::countLive(Block &block) {
  llvm::SmallDenseSet<Value> live;
  for (auto scatter : block.getOps<ScatterGradientOp>())
    if (takesRegisters(scatter.getValue()))
      live.insert(scatter.getValue());
  int64_t most = 0;
  for (Operation &op : llvm::reverse(block)) {
    most = std::max(most, static_cast<int64_t>(live.size()));
    for (Value result : op.getResults())
      live.erase(result);
    for (Value operand : op.getOperands())
      if (takesRegisters(operand))
        live.insert(operand);
  }
  return std::max(most, static_cast<int64_t>(live.size()));
}

/// See RegionWork::registersAlong.
int64_t RegionReader::countAlong(Block &block) {
  llvm::SmallDenseSet<Value> ofMemory, counted;
  int64_t ofQueries = 0, ofKeys = 0;
  block.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<tensor::ExtractOp, memref::LoadOp>(op) ||
        llvm::any_of(op->getOperands(),
                     [&](Value value) { return ofMemory.contains(value); }))
      ofMemory.insert_range(op->getResults());
    if (llvm::none_of(op->getResults(), [&](Value result) {
          return varies.lookup(result).byPair();
        }))
      return;
    for (Value operand : op->getOperands()) {
      Varies of = varies.lookup(operand);
      if (of.query == of.key || !ofMemory.contains(operand) ||
          !counted.insert(operand).second)
        continue;
      Type type = operand.getType();
      (of.query ? ofQueries : ofKeys) +=
          type.isIndex() || type.isInteger(64) || type.isF64() ? 2 : 1;
    }
  });
  return std::max(ofQueries, ofKeys);
}

/// `firstIndex` is the argument of the batch, which head, query and key follow.
void RegionReader::readRegion(Region &region, unsigned firstIndex) {
  if (region.empty())
    return;
  Block &block = region.front();
  for (unsigned i = 0; i < firstIndex; ++i)
    varies[block.getArgument(i)] = {true, true, true};
  batch = block.getArgument(firstIndex);
  head = block.getArgument(firstIndex + 1);
  query = block.getArgument(firstIndex + 2);
  key = block.getArgument(firstIndex + 3);
  varies[query].query = true;
  varies[key].key = true;
  int64_t before = work.pairLoads;
  block.walk<WalkOrder::PreOrder>([&](Operation *op) { readOperation(op); });
  work.pairLoadsOfRegion =
      std::max(work.pairLoadsOfRegion, work.pairLoads - before);
  // A mask is computed beside the scores that it hides.
  bool isMask = firstIndex == 0;
  work.pairsBeside =
      std::max(work.pairsBeside, countLive(block) - (isMask ? 0 : 1));
  if (isMask)
    work.registersAlong = countAlong(block);
}

RegionWork RegionReader::readMask(Region &mask) {
  readRegion(mask, /*firstIndex=*/0);
  return work;
}

/// Its first two arguments are the gradient of the score and the score.
RegionWork RegionReader::readScoreGradient(Region &gradient) {
  readRegion(gradient, /*firstIndex=*/2);
  return work;
}

/// Its first argument is the scaled score.
RegionWork RegionReader::readScore(Region &score, ValueRange captured) {
  if (!score.empty()) {
    firstCapture = score.getNumArguments() - captured.size();
    for (auto [argument, capture] : llvm::zip_equal(
             score.getArguments().drop_front(firstCapture), captured))
      captures[argument] = capture;
  }
  readRegion(score, /*firstIndex=*/1);
  return work;
}

RegionWork RegionReader::read(AttentionOp op) {
  readScore(op.getScore(), op.getScoreCaptures());
  readRegion(op.getMask(), /*firstIndex=*/0);
  return work;
}

RegionWork RegionWork::getOfMask(Region &mask) {
  return RegionReader().readMask(mask);
}

RegionWork RegionWork::getOfScoreGradient(Region &gradient) {
  return RegionReader().readScoreGradient(gradient);
}

RegionWork RegionWork::get(AttentionOp op) { return RegionReader().read(op); }

RegionWork mlir::fa::getWorkOfScore(AttentionGradientOp op) {
  return RegionReader().readScore(op.getScore(), op.getScoreCaptures());
}
