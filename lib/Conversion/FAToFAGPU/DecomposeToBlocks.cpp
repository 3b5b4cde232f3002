//===- DecomposeToBlocks.cpp - Online softmax on block values -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "RegionOnBlocks.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace mlir::fa {
#define GEN_PASS_DEF_FADECOMPOSETOBLOCKSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr float infinity = std::numeric_limits<float>::infinity();

namespace {

/// A slice of a kernel's argument.
struct Tile {
  Value memory;
  /// Of the slice in the memory, and its sizes, by dimension.
  SmallVector<Value> offsets;
  SmallVector<OpFoldResult> sizes;
};

/// Creates operations on block values.
class Blocks {
public:
  Blocks(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value splat(Value scalar, Type like) {
    return tensor::SplatOp::create(
        builder, loc, scalar,
        cast<RankedTensorType>(like).clone(scalar.getType()));
  }
  Value constant(float number, Type like) {
    auto type = cast<RankedTensorType>(like);
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, builder.getF32FloatAttr(number)));
  }
  Value broadcast(Value value, Type type) {
    return fagpu::BroadcastOp::create(builder, loc, type, value);
  }
  Value exp2(Value value) {
    return math::Exp2Op::create(builder, loc, value, arith::FastMathFlags::afn);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value isEqual(Value value, float number) {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value,
                                 constant(number, value.getType()));
  }
  Value truncate(Value value, Type element) {
    if (element.isF32())
      return value;
    auto type = cast<RankedTensorType>(value.getType()).clone(element);
    return arith::TruncFOp::create(builder, loc, type, value);
  }
  Value cast32(Value index) {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      index);
  }

  OpBuilder &builder;
  Location loc;
};

/// Decomposes the state, the key ranges and the result of one query block.
class QueryBlock {
public:
  QueryBlock(FinalizeOp finalize) : finalize(finalize) {}
  LogicalResult run();

private:
  LogicalResult match();
  LogicalResult readProblem();
  LogicalResult rebuildRanges();
  void cloneBody(OpBuilder &outside, OpBuilder &inside, IRMapping &mapping);
  LogicalResult emitStep(OpBuilder &outside, OpBuilder &inside,
                         const IRMapping &mapping);
  FailureOr<Value> emitScores(OpBuilder &outside, OpBuilder &inside,
                              const PairBlock &place, const IRMapping &mapping,
                              Value end, Value k);
  FailureOr<Value> hide(OpBuilder &outside, OpBuilder &inside,
                        const PairBlock &place, const IRMapping &mapping,
                        Value end, Value scores);
  Value getReference(OpBuilder &builder, Value maximum);
  void emitResult();
  FailureOr<Tile> resolve(OpBuilder &builder, Operation *user, Value memory);
  FailureOr<Value> fetch(OpBuilder &builder, Value memory, DimsAttr order,
                         int64_t rows, Value limit, Value shiftBy = {});
  void findGroupRow(OpBuilder &builder);
  void shift(OpBuilder &builder, Value &offset, Value by);
  Value getEnd(OpBuilder &builder, const Tile &tile, int64_t dim);

  FinalizeOp finalize;
  KeyRangesOp ranges, newRanges;
  OnlineAttentionOp step;
  /// Rows are those of one group of warps.
  int64_t rows, keys, headDim, valueDim;
  unsigned warps;
  fagpu::RoleOp role;
  /// Where the group's rows begin in the block; null for one group.
  Value groupRow;
  Type element;
  RankedTensorType scoreType, accType, rowType, partType;
  /// The factor of a score in the exponent of base 2.
  Value exponentScale;
  bool scaleFolded = false;
  Value query;
};

} // namespace

LogicalResult QueryBlock::match() {
  ranges = finalize.getAccumulator().getDefiningOp<KeyRangesOp>();
  if (!ranges || finalize.getMaximum().getDefiningOp() != ranges ||
      finalize.getSum().getDefiningOp() != ranges)
    return finalize.emitOpError()
           << "has a state that no 'fa.key_ranges' makes; run "
              "fa-specialize-mask before";
  auto steps = ranges.getBodyRegion().getOps<OnlineAttentionOp>();
  if (!llvm::hasSingleElement(steps) || ranges.getNumResults() != 3)
    return ranges.emitOpError()
           << "holds " << std::distance(steps.begin(), steps.end())
           << " steps and " << ranges.getNumResults()
           << " values, expected one 'fa.online_attention' and its state";
  step = *steps.begin();
  return success();
}

/// Products take 16 columns at once; those beyond a head dim are zeros.
static int64_t padColumns(int64_t headDim) {
  return llvm::alignTo(headDim, 16);
}

/// Where the head dim ends in a row of a tile; null where it fills the row.
static Value boundColumns(OpBuilder &builder, Location loc, int64_t headDim) {
  if (padColumns(headDim) == headDim)
    return {};
  return arith::ConstantIntOp::create(builder, loc, headDim, 32);
}

/// Bytes, at most 16, that rows of a head dim start at multiples of where they
/// are packed one after the other, and by what else is known of the memory.
static int64_t getAlignment(MemRefType memory, int64_t headDim) {
  int64_t bytes = memory.getElementTypeBitWidth() / 8;
  int64_t common = std::gcd(16, headDim * bytes);
  for (int64_t stride : memory.getStridesAndOffset().first)
    if (!ShapedType::isDynamic(stride) && stride != 1)
      common = std::gcd(common, stride * bytes);
  return common;
}

LogicalResult QueryBlock::readProblem() {
  auto state = cast<RankedTensorType>(finalize.getAccumulator().getType());
  auto queryType = cast<MemRefType>(step.getQuery().getType());
  rows = state.getDimSize(0);
  valueDim = state.getDimSize(1);
  keys = ranges.getStep();
  headDim =
      queryType.getDimSize(step.getQueryOrder().positionOf(DimKind::HeadDim));
  element = queryType.getElementType();
  role = finalize->getParentOfType<fagpu::RoleOp>();
  warps = static_cast<unsigned>(role.getWarps());
  int64_t groups = role.getGroups();
  for (DimsAttr order : {step.getQueryOrder(), step.getKeyOrder(),
                         step.getValueOrder(), finalize.getOutputOrder()})
    if (order.positionOf(DimKind::HeadDim) != 3)
      return step.emitOpError()
             << "has dimensions in the order " << order
             << ", expected the head dim last on a GPU; the nearest is to pass "
                "a transposed view";
  if (ShapedType::isDynamic(rows) || rows % (16 * warps * groups))
    return finalize.emitOpError()
           << "has a state of " << rows << " rows, expected a multiple of "
           << 16 * warps * groups << ", 16 for each of " << warps * groups
           << " warps";
  rows /= groups;
  if (keys % 16)
    return step.emitOpError() << "goes by blocks of " << keys
                              << " keys, expected a multiple of 16; nearest is "
                              << llvm::alignTo(keys, 16);
  MLIRContext *context = step.getContext();
  Type f32 = Float32Type::get(context);
  scoreType = RankedTensorType::get({rows, keys}, f32);
  accType = RankedTensorType::get({rows, padColumns(valueDim)}, f32);
  rowType = RankedTensorType::get({rows}, f32,
                                  fagpu::RowLayoutAttr::get(context, warps));
  partType = RankedTensorType::get({rows, 4}, f32);
  return success();
}

FailureOr<Tile> QueryBlock::resolve(OpBuilder &builder, Operation *user,
                                    Value memory) {
  Location loc = user->getLoc();
  Tile tile;
  Value at = memory;
  while (auto view = at.getDefiningOp<memref::SubViewOp>()) {
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

/// Where the slice ends in the memory.
Value QueryBlock::getEnd(OpBuilder &builder, const Tile &tile, int64_t dim) {
  Location loc = finalize.getLoc();
  Value size = getValueOrCreateConstantIndexOp(builder, loc, tile.sizes[dim]);
  return builder.createOrFold<arith::AddIOp>(loc, tile.offsets[dim], size);
}

/// Groups take equal parts of the rows, one after the other.
void QueryBlock::findGroupRow(OpBuilder &builder) {
  if (role.getGroups() == 1)
    return;
  Location loc = finalize.getLoc();
  Value group = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           role.getGroup());
  groupRow = arith::MulIOp::create(
      builder, loc, group, arith::ConstantIndexOp::create(builder, loc, rows));
}

void QueryBlock::shift(OpBuilder &builder, Value &offset, Value by) {
  if (by)
    offset = builder.createOrFold<arith::AddIOp>(finalize.getLoc(), offset, by);
}

/// `rows` of a slice of one batch and one head, from row `shiftBy` on (null:
/// the first one); null `limit`: up to the end of the slice.
FailureOr<Value> QueryBlock::fetch(OpBuilder &builder, Value memory,
                                   DimsAttr order, int64_t rows, Value limit,
                                   Value shiftBy) {
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  FailureOr<Tile> tile = resolve(builder, step, memory);
  if (failed(tile))
    return failure();
  auto type = cast<MemRefType>(tile->memory.getType());
  int64_t sequence = order.positionOf(DimKind::Sequence);
  int64_t headDim = type.getDimSize(order.positionOf(DimKind::HeadDim));
  int64_t columns = padColumns(headDim);
  if (!limit)
    limit = getEnd(builder, *tile, sequence);
  shift(builder, tile->offsets[sequence], shiftBy);
  SmallVector<int64_t> sizes(type.getRank(), 1);
  sizes[sequence] = rows;
  sizes[order.positionOf(DimKind::HeadDim)] = columns;
  SmallVector<Value> offsets;
  for (Value offset : tile->offsets)
    offsets.push_back(blocks.cast32(offset));
  return fagpu::FetchOp::create(
             builder, loc,
             RankedTensorType::get({rows, columns}, type.getElementType()),
             tile->memory, offsets, sizes, blocks.cast32(limit),
             boundColumns(builder, loc, headDim), getAlignment(type, headDim))
      .getResult();
}

/// Copies the body but the step; what does not depend on the block goes
/// outside.
void QueryBlock::cloneBody(OpBuilder &outside, OpBuilder &inside,
                           IRMapping &mapping) {
  Region &body = newRanges.getBodyRegion();
  for (Operation &op : ranges.getBodyRegion().front().without_terminator()) {
    if (&op == step)
      continue;
    bool varies = llvm::any_of(op.getOperands(), [&](Value operand) {
      Value mapped = mapping.lookupOrDefault(operand);
      return body.isAncestor(mapped.getParentRegion());
    });
    (varies || !isMemoryEffectFree(&op) ? inside : outside).clone(op, mapping);
  }
}

FailureOr<Value> QueryBlock::hide(OpBuilder &outside, OpBuilder &inside,
                                  const PairBlock &place,
                                  const IRMapping &mapping, Value end,
                                  Value scores) {
  Location loc = step.getLoc();
  Value partial =
      IsPartialOp::create(inside, loc, inside.getI1Type()).getResult();
  auto branch = scf::IfOp::create(inside, loc, TypeRange{scoreType}, partial,
                                  /*withElseRegion=*/true);
  OpBuilder masked = branch.getThenBodyBuilder();
  RegionOnBlocks region(outside, masked, loc, place);
  Value visible = region.isBelow(end);
  if (!step.getMask().empty()) {
    SmallVector<Value> captures;
    for (Value capture : step.getMaskCaptures())
      captures.push_back(mapping.lookupOrDefault(capture));
    FailureOr<Value> allowed = region.apply(step.getMask(), Value(), captures);
    if (failed(allowed))
      return failure();
    visible = arith::AndIOp::create(masked, loc, visible, *allowed);
  }
  Blocks blocks(masked, loc);
  Value hidden =
      blocks.select(visible, scores, blocks.constant(-infinity, scoreType));
  scf::YieldOp::create(masked, loc, hidden);
  OpBuilder unmasked = branch.getElseBodyBuilder();
  scf::YieldOp::create(unmasked, loc, scores);
  return branch.getResult(0);
}

FailureOr<Value> QueryBlock::emitScores(OpBuilder &outside, OpBuilder &inside,
                                        const PairBlock &place,
                                        const IRMapping &mapping, Value end,
                                        Value k) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  Value scores =
      fagpu::ProductOp::create(inside, loc, scoreType, fagpu::MatrixForm::nt,
                               query, k, Value())
          .getResult();
  if (!scaleFolded) {
    Value scale = step.getScale();
    if (!scale)
      scale = arith::ConstantOp::create(
          outside, loc,
          outside.getF32FloatAttr(1.0f /
                                  std::sqrt(static_cast<float>(headDim))));
    scores = arith::MulFOp::create(
        inside, loc, scores,
        blocks.splat(mapping.lookupOrDefault(scale), scoreType));
  }
  if (!step.getScore().empty()) {
    RegionOnBlocks region(outside, inside, loc, place);
    SmallVector<Value> captures;
    for (Value capture : step.getScoreCaptures())
      captures.push_back(mapping.lookupOrDefault(capture));
    FailureOr<Value> changed = region.apply(step.getScore(), scores, captures);
    if (failed(changed))
      return failure();
    scores = *changed;
  }
  return hide(outside, inside, place, mapping, end, scores);
}

/// The maximum that exponents are taken from: 0 in a row that has seen no key,
/// to avoid the difference of infinities. Where scores are products alone, each
/// row of a full block has one.
Value QueryBlock::getReference(OpBuilder &builder, Value maximum) {
  Location loc = step.getLoc();
  auto choose = [&](OpBuilder &builder) -> Value {
    Blocks blocks(builder, loc);
    return blocks.select(blocks.isEqual(maximum, -infinity),
                         blocks.constant(0.0f, rowType), maximum);
  };
  if (!step.getScore().empty())
    return choose(builder);
  Value partial =
      IsPartialOp::create(builder, loc, builder.getI1Type()).getResult();
  auto branch = scf::IfOp::create(builder, loc, TypeRange{rowType}, partial,
                                  /*withElseRegion=*/true);
  OpBuilder masked = branch.getThenBodyBuilder();
  scf::YieldOp::create(masked, loc, choose(masked));
  OpBuilder unmasked = branch.getElseBodyBuilder();
  scf::YieldOp::create(unmasked, loc, maximum);
  return branch.getResult(0);
}

/// One key block: Milakov and Gimelshein 2018, in base 2.
LogicalResult QueryBlock::emitStep(OpBuilder &outside, OpBuilder &inside,
                                   const IRMapping &mapping) {
  Location loc = step.getLoc();
  Blocks blocks(inside, loc);
  auto mapped = [&](Value value) { return mapping.lookupOrDefault(value); };
  Value key = newRanges.getKey();
  Value end =
      inside.createOrFold<arith::AddIOp>(loc, key, newRanges.getCount());
  PairBlock place;
  place.rows = rows;
  place.columns = keys;
  place.warps = warps;
  Value zero = arith::ConstantIndexOp::create(outside, loc, 0);
  if (step.getOffsets().empty()) {
    place.batch = place.head = place.query = zero;
    place.key = key;
  } else {
    place.batch = mapped(step.getOffsets()[0]);
    place.head = mapped(step.getOffsets()[1]);
    place.query = mapped(step.getOffsets()[2]);
    place.key = mapped(step.getOffsets()[3]);
  }
  shift(outside, place.query, groupRow);
  Value loadLimit;
  if (step.getExtents().empty())
    return step.emitOpError() << "has no extents, expected the valid queries "
                                 "and keys of its batch";
  place.queries = mapped(step.getExtents()[0]);
  place.keys = mapped(step.getExtents()[1]);
  loadLimit = place.keys;

  FailureOr<Value> k =
      fetch(inside, mapped(step.getKey()), step.getKeyOrder(), keys, loadLimit);
  if (failed(k))
    return failure();
  FailureOr<Value> s = emitScores(outside, inside, place, mapping, end, *k);
  if (failed(s))
    return failure();

  auto state = newRanges.getRegionIterArgs();
  Value acc = state[0], maximum = state[1], sum = state[2];
  Value blockMaximum = fagpu::ReduceOp::create(inside, loc, rowType,
                                               fagpu::ReductionKind::max, *s);
  Value newMaximum =
      arith::MaxNumFOp::create(inside, loc, maximum, blockMaximum);
  Value reference = getReference(inside, newMaximum);
  Value rowScale = blocks.splat(exponentScale, rowType);
  Value shifted = arith::MulFOp::create(inside, loc, reference, rowScale);
  Value exponent = math::FmaOp::create(
      inside, loc, *s, blocks.splat(exponentScale, scoreType),
      blocks.broadcast(arith::NegFOp::create(inside, loc, shifted), scoreType));
  Value p = blocks.exp2(exponent);
  // Rounded as above, so that an unchanged maximum gives exactly 1.
  Value before = arith::MulFOp::create(inside, loc, maximum, rowScale);
  Value alpha =
      blocks.exp2(arith::SubFOp::create(inside, loc, before, shifted));
  // Two chains for a row take as many registers again as the sums; of the 255
  // of a thread, what else is live needs about 90.
  int64_t registers = rows * (keys + padColumns(valueDim)) / (32 * warps);
  Value blockSum = fagpu::ReduceOp::create(
      inside, loc, partType, fagpu::ReductionKind::add, p,
      /*chains=*/registers > 255 - 90 ? 1 : 2);
  // The first block has nothing to rescale.
  Value first = IsFirstOp::create(inside, loc, inside.getI1Type()).getResult();
  Value longSum = math::FmaOp::create(
      inside, loc, sum, blocks.broadcast(alpha, partType), blockSum);
  Value newSum = blocks.select(first, blockSum, longSum);
  Value rescaled =
      arith::MulFOp::create(inside, loc, acc, blocks.broadcast(alpha, accType));
  // Before its product the step is the older one, which may be the first.
  bool isAfter =
      getGPUConfig(role->getParentOfType<func::FuncOp>()).getRescale() ==
      RescalePlace::after_product;
  Value scaled = isAfter ? blocks.select(first, acc, rescaled) : rescaled;
  FailureOr<Value> v = fetch(inside, mapped(step.getValue()),
                             step.getValueOrder(), keys, loadLimit);
  if (failed(v))
    return failure();
  Value newAcc =
      fagpu::ProductOp::create(inside, loc, accType, fagpu::MatrixForm::nn,
                               blocks.truncate(p, element), *v, scaled);
  YieldOp::create(inside, loc, ValueRange{newAcc, newMaximum, newSum});
  return success();
}

LogicalResult QueryBlock::rebuildRanges() {
  Location loc = ranges.getLoc();
  OpBuilder outside(ranges);
  Blocks blocks(outside, loc);
  // Folding the scale reorders it with the maximum, which needs its sign.
  FloatAttr constant;
  bool isPositive = !step.getScale() ||
                    (matchPattern(step.getScale(), m_Constant(&constant)) &&
                     constant.getValueAsDouble() > 0.0);
  scaleFolded = isPositive && step.getScore().empty();
  double factor = llvm::numbers::log2e;
  if (scaleFolded)
    factor *= constant ? constant.getValueAsDouble()
                       : 1.0 / std::sqrt(static_cast<double>(headDim));
  exponentScale = arith::ConstantOp::create(
      outside, loc, outside.getF32FloatAttr(static_cast<float>(factor)));
  findGroupRow(outside);
  FailureOr<Value> q = fetch(outside, step.getQuery(), step.getQueryOrder(),
                             rows, Value(), groupRow);
  if (failed(q))
    return failure();
  query = *q;
  SmallVector<Value> inits = {blocks.constant(0.0f, accType),
                              blocks.constant(-infinity, rowType),
                              blocks.constant(0.0f, partType)};
  newRanges =
      KeyRangesOp::create(outside, loc, ranges.getBegins(), ranges.getEnds(),
                          ranges.getFull(), ranges.getStep(), inits, nullptr);
  outside.setInsertionPoint(newRanges);
  Block &body = newRanges.getBodyRegion().front();
  body.clear();
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  IRMapping mapping;
  mapping.map(ranges.getKey(), newRanges.getKey());
  mapping.map(ranges.getCount(), newRanges.getCount());
  cloneBody(outside, inside, mapping);
  return emitStep(outside, inside, mapping);
}

/// Divides by the sum of each row; a row without a visible key gives 0 and
/// -inf.
void QueryBlock::emitResult() {
  Location loc = finalize.getLoc();
  OpBuilder builder(finalize);
  Blocks blocks(builder, loc);
  Value acc = newRanges.getResult(0), maximum = newRanges.getResult(1);
  Value sum = fagpu::ReduceOp::create(
      builder, loc, rowType, fagpu::ReductionKind::add, newRanges.getResult(2));
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(),
                                             arith::FastMathFlags::arcp |
                                                 arith::FastMathFlags::afn);
  Value reciprocal = arith::DivFOp::create(
      builder, loc, blocks.constant(1.0f, rowType), sum, flags);
  Value inverse = blocks.select(blocks.isEqual(sum, 0.0f),
                                blocks.constant(0.0f, rowType), reciprocal);
  auto store = [&](Value value, Tile tile, int64_t rowDim,
                   DenseI64ArrayAttr sizes, Value columns, int64_t alignment) {
    Value limit = getEnd(builder, tile, rowDim);
    if (finalize.getRows())
      limit = builder.createOrFold<arith::AddIOp>(loc, tile.offsets[rowDim],
                                                  finalize.getRows());
    shift(builder, tile.offsets[rowDim], groupRow);
    SmallVector<Value> offsets;
    for (Value offset : tile.offsets)
      offsets.push_back(blocks.cast32(offset));
    fagpu::StoreOp::create(builder, loc, value, tile.memory, offsets, sizes,
                           blocks.cast32(limit), columns, Value(), Value(),
                           alignment);
  };
  if (finalize.getLse()) {
    Tile tile = *resolve(builder, finalize, finalize.getLse());
    Value logarithm =
        math::Log2Op::create(builder, loc, sum, arith::FastMathFlags::afn);
    Value base2 = math::FmaOp::create(
        builder, loc, maximum, blocks.splat(exponentScale, rowType), logarithm);
    store(arith::MulFOp::create(builder, loc, base2,
                                blocks.constant(llvm::numbers::ln2f, rowType)),
          tile, 2, DenseI64ArrayAttr(), Value(), /*alignment=*/16);
  }
  Value normalised = arith::MulFOp::create(builder, loc, acc,
                                           blocks.broadcast(inverse, accType));
  Tile tile = *resolve(builder, finalize, finalize.getOutput());
  Type type = cast<MemRefType>(tile.memory.getType()).getElementType();
  int64_t sequence = finalize.getOutputOrder().positionOf(DimKind::Sequence);
  // Without sizes the rows go to the second dimension.
  DenseI64ArrayAttr sizes;
  if (sequence != 1) {
    SmallVector<int64_t> box = {1, 1, 1, padColumns(valueDim)};
    box[sequence] = rows;
    sizes = builder.getDenseI64ArrayAttr(box);
  }
  store(blocks.truncate(normalised, type), tile, sequence, sizes,
        boundColumns(builder, loc, valueDim),
        getAlignment(cast<MemRefType>(tile.memory.getType()), valueDim));
}

LogicalResult QueryBlock::run() {
  if (failed(match()) || failed(readProblem()))
    return failure();
  // Outputs are resolved again when the state is there.
  {
    OpBuilder builder(finalize);
    for (Value memory : {finalize.getOutput(), finalize.getLse()})
      if (memory && failed(resolve(builder, finalize, memory)))
        return failure();
  }
  if (failed(rebuildRanges()))
    return failure();
  emitResult();
  finalize.erase();
  ranges.erase();
  return success();
}

namespace {
struct DecomposeToBlocksPass
    : public fa::impl::FADecomposeToBlocksPassBase<DecomposeToBlocksPass> {
  void runOnOperation() override {
    if (!fagpu::isKernel(getOperation()))
      return;
    SmallVector<FinalizeOp> results;
    getOperation().walk([&](FinalizeOp op) { results.push_back(op); });
    for (FinalizeOp op : results)
      if (failed(QueryBlock(op).run()))
        return signalPassFailure();
  }
};
} // namespace
