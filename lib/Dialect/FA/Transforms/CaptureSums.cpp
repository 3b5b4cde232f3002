//===- CaptureSums.cpp - Where gradients of captures are summed -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Read `create`, or `createOrdered` for a GPU: it decides for each capture
// which iterations have elements of their own, and which are given a table of
// their own.
//
//===----------------------------------------------------------------------===//

#include "CaptureSums.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Target/OrderedSums.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::fa;

CaptureSums::Use CaptureSums::findUse(int64_t capture) {
  Block &body = op.getScoreGradient().front();
  llvm::DenseSet<Value> ofQuery = findDependent(body.getArgument(4));
  llvm::DenseSet<Value> ofKey = findDependent(body.getArgument(5));
  // Each pair has a score.
  for (Value value : findDependent(body.getArgument(1))) {
    ofQuery.insert(value);
    ofKey.insert(value);
  }
  Use use;
  bool ofAnyQuery = false, ofAnyKey = false;
  std::array<llvm::SmallBitVector, 3> positions;
  positions.fill(llvm::SmallBitVector(64, true));
  for (ScatterGradientOp scatter : body.getOps<ScatterGradientOp>()) {
    if (scatter.getCapture() != body.getArgument(6 + capture))
      continue;
    unsigned numVarying =
        llvm::count_if(scatter.getIndices(), [&](Value index) {
          return ofQuery.contains(index) || ofKey.contains(index);
        });
    use.numVarying = std::max(use.numVarying, numVarying);
    for (Value index : scatter.getIndices()) {
      ofAnyQuery |= ofQuery.contains(index);
      ofAnyKey |= ofKey.contains(index);
    }
    for (unsigned dim = 0; dim < 3; ++dim) {
      llvm::SmallBitVector own(64);
      for (auto [position, index] : llvm::enumerate(scatter.getIndices()))
        if (index == body.getArgument(2 + dim))
          own.set(position);
      positions[dim] &= own;
    }
  }
  for (unsigned dim = 0; dim < 3; ++dim)
    use.isOwn[dim] = positions[dim].any();
  use.isOfKeys = ofAnyKey && !ofAnyQuery;
  return use;
}

/// f32 memory of the shape of a gradient, behind leading dimensions.
Value CaptureSums::createMemory(Value like, ArrayRef<OpFoldResult> leading) {
  SmallVector<OpFoldResult> sizes(leading);
  llvm::append_range(sizes, memref::getMixedSizes(builder, loc, like));
  return memref::AllocOp::create(builder, loc, sizes, builder.getF32Type());
}

/// Says of a fill or a copy that its rows start where bulk copies do.
static void markAligned(Operation *op, bool hasAlignedRows) {
  constexpr int64_t bytes = 16;
  if (hasAlignedRows)
    op->setAttr(
        alignAttrName,
        IntegerAttr::get(IntegerType::get(op->getContext(), 64), bytes));
}

Value CaptureSums::createZeros(Value memory, bool hasAlignedRows) {
  Value zero = arith::ConstantOp::create(
      builder, loc,
      builder.getZeroAttr(getElementTypeOrSelf(memory.getType())));
  markAligned(linalg::FillOp::create(builder, loc, zero, memory),
              hasAlignedRows);
  return memory;
}

/// Whether an extent is all that an operand has.
static bool isSizeOf(Value extent, Value operand, DimsAttr order) {
  int64_t position = order.positionOf(DimKind::Sequence);
  int64_t size = cast<MemRefType>(operand.getType()).getDimSize(position);
  if (!ShapedType::isDynamic(size))
    return isConstantIntValue(extent, size);
  auto dim = extent.getDefiningOp<memref::DimOp>();
  return dim && dim.getSource() == operand &&
         dim.getConstantIndex() == position;
}

/// Whether blocks of pairs store all pairs of the problem, none being hidden.
static bool storesAllPairs(AttentionGradientOp op) {
  return op.getMask().empty() && !op.isRagged() && !op.getQueryLengths() &&
         !op.getKeyLengths() &&
         llvm::all_of(
             op.getOffsets(),
             [](Value offset) { return isConstantIntValue(offset, 0); }) &&
         isSizeOf(op.getExtents()[0], op.getQuery(), op.getQueryOrder()) &&
         isSizeOf(op.getExtents()[1], op.getKey(), op.getKeyOrder());
}

/// What no block stores is 0: all that a mask or lengths leave out, or what a
/// gradient has beside the pairs.
void CaptureSums::clearRest(Value gradient, int64_t capture) {
  if (!storesAllPairs(op)) {
    createZeros(gradient, /*hasAlignedRows=*/true);
    return;
  }
  auto sizeOf = [&](Value operand, DimsAttr order, DimKind kind) {
    return getMixedSize(builder, loc, operand, order, kind);
  };
  OpFoldResult ofPairs[] = {
      sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Batch),
      sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Heads),
      sizeOf(op.getQuery(), op.getQueryOrder(), DimKind::Sequence),
      sizeOf(op.getKey(), op.getKeyOrder(), DimKind::Sequence)};
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(builder, loc, gradient);
  Block &body = op.getScoreGradient().front();
  ScatterGradientOp scatter;
  for (auto each : body.getOps<ScatterGradientOp>())
    if (each.getCapture() == body.getArgument(6 + capture))
      scatter = each;
  auto toValue = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(builder, loc, value);
  };
  Value rest = toValue(builder.getIndexAttr(0));
  for (auto [size, index] : llvm::zip_equal(sizes, scatter.getIndices())) {
    OpFoldResult stored = builder.getIndexAttr(1);
    if (auto argument = dyn_cast<BlockArgument>(index))
      stored = ofPairs[argument.getArgNumber() - 2];
    Value isMore = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ne, toValue(size), toValue(stored));
    rest = builder.createOrFold<arith::SelectOp>(loc, isMore,
                                                 toValue(sizes.front()), rest);
  }
  if (isConstantIntValue(rest, 0))
    return;
  sizes.front() = rest;
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0));
  createZeros(createSlice(builder, loc, gradient, offsets, sizes),
              /*hasAlignedRows=*/true);
}

CaptureSum CaptureSums::createSum(std::optional<int64_t> capture,
                                  Value gradient, IterationDims isPrivate,
                                  bool hasAlignedRows) {
  SmallVector<OpFoldResult> leading;
  for (unsigned dim = 0; dim < 3; ++dim)
    if (isPrivate[dim])
      leading.push_back(counts[dim]);
  bool isF32 = getElementTypeOrSelf(gradient.getType()).isF32();
  Value memory = gradient;
  if (!leading.empty() || !isF32) {
    memory = createMemory(gradient, leading);
    separate.push_back({memory, gradient, hasAlignedRows});
  }
  return {capture, createZeros(memory, hasAlignedRows), isPrivate};
}

SmallVector<CaptureGroup> CaptureSums::create() {
  SmallVector<CaptureGroup> groups;
  auto add = [&](std::optional<int64_t> capture, Value gradient,
                 const Use &use) {
    // A table for each batch and head where it is about as large as queries
    // and keys are long, and one for each block where all pairs share elements.
    IterationDims isPrivate, isParallel;
    for (unsigned dim = 0; dim < 3; ++dim) {
      bool isBlock = dim == 2;
      bool isSmall = use.numVarying <= (isBlock ? 0 : 1);
      isPrivate[dim] =
          !use.isOwn[dim] && isSmall && !(isBlock && blocksInOrder);
      isParallel[dim] = use.isOwn[dim] || isPrivate[dim];
    }
    // Blocks of one batch and head come one after the other.
    if (blocksInOrder && isParallel[0] && isParallel[1])
      isParallel[2] = true;
    CaptureSum sum = createSum(capture, gradient, isPrivate);
    for (CaptureGroup &group : groups)
      if (group.isParallel == isParallel)
        return group.sums.push_back(sum);
    groups.push_back({isParallel, {sum}});
  };
  forEachRead(add);
  return groups;
}

void CaptureSums::forEachRead(
    function_ref<void(std::optional<int64_t>, Value, const Use &)> add) {
  for (auto [number, gradient] :
       llvm::zip_equal(op.getDifferentiated(), op.getCaptureGradients())) {
    // The score reads none of its captures.
    if (op.getScoreGradient().empty())
      createSum(number, gradient, {false, false, false});
    else
      add(number, gradient, findUse(number));
  }
  if (op.getScaleGradient())
    add(std::nullopt, op.getScaleGradient(), Use());
}

/// Threads that copy for themselves have no bulk stores.
bool CaptureSums::copiesInBulk() {
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(op.getConfigAttr().getTarget());
  return gpu && gpu.getPart().hasGroups();
}

CaptureSums::SharedSums CaptureSums::createShared(bool hasQueries,
                                                  bool hasKeys) {
  SharedSums sums;
  forEachRead([&](std::optional<int64_t> capture, Value gradient,
                  const Use &use) {
    IterationDims none = {false, false, false};
    CaptureSum sum = {capture, gradient, none};
    sum.inBoxes = capture && copiesInBulk() && isStoredInBoxes(op, *capture);
    if (sum.inBoxes) {
      clearRest(gradient, *capture);
    } else {
      // Sums are dense.
      bool hasAlignedRows =
          capture && hasAlignedPairs(op, *capture) &&
          cast<MemRefType>(gradient.getType()).getLayout().isIdentity();
      sum = createSum(capture, gradient, none, hasAlignedRows);
      sum.inBoxes = hasAlignedRows && copiesInBulk();
    }
    // Rows of a block are summed up before they are added.
    bool isOfKeys = hasKeys && (!hasQueries || use.isOfKeys);
    (isOfKeys ? sums.ofKeys : sums.ofQueries).sums.push_back(sum);
  });
  return sums;
}

/// Memory of parts, or the gradient where there is one part.
CaptureSum CaptureSums::createParts(std::optional<int64_t> capture,
                                    Value gradient, IterationDims isPrivate,
                                    const BlockLoop &loop, bool ofWarps) {
  SmallVector<OpFoldResult> leading;
  if (ofWarps)
    leading.push_back(builder.getIndexAttr(loop.warps));
  for (unsigned dim = 0; dim < 3; ++dim)
    if (isPrivate[dim])
      leading.push_back(loop.counts[dim]);
  if (leading.empty())
    return createSum(capture, gradient, isPrivate);
  Value memory = createMemory(gradient, leading);
  separate.push_back({memory, gradient, /*hasAlignedRows=*/false});
  CaptureSum sum = {capture, createZeros(memory), isPrivate};
  sum.ofWarps = ofWarps;
  return sum;
}

CaptureSums::SharedSums CaptureSums::createOrdered(bool hasQueries,
                                                   bool hasKeys,
                                                   const BlockLoop &ofQueries,
                                                   const BlockLoop &ofKeys) {
  SharedSums sums;
  sums.ofQueries.isOrdered = sums.ofKeys.isOrdered = true;
  forEachRead([&](std::optional<int64_t> capture, Value gradient,
                  const Use &use) {
    OrderedSum form =
        capture ? getOrderedSum(op, *capture) : OrderedSum::ofBlock;
    bool isOfKeys = form == OrderedSum::ofKey ||
                    (form != OrderedSum::ofQuery && hasKeys && !hasQueries);
    CaptureSum sum = {capture, gradient, {false, false, false}};
    sum.inBoxes = capture && copiesInBulk() && isStoredInBoxes(op, *capture);
    if (sum.inBoxes) {
      clearRest(gradient, *capture);
    } else {
      const BlockLoop &loop = isOfKeys ? ofKeys : ofQueries;
      bool ofPair = form == OrderedSum::ofPair,
           ofBlock = form == OrderedSum::ofBlock;
      IterationDims isPrivate = {!ofPair && !use.isOwn[0] &&
                                     !(ofBlock && loop.ofSlots),
                                 !ofPair && !use.isOwn[1], ofBlock};
      sum = createParts(capture, gradient, isPrivate, loop, ofBlock);
    }
    (isOfKeys ? sums.ofKeys : sums.ofQueries).sums.push_back(sum);
  });
  return sums;
}

CaptureDestinations CaptureSums::getDestinations(OpBuilder &builder,
                                                 Location loc,
                                                 const CaptureGroup &group,
                                                 std::array<Value, 3> at) {
  CaptureDestinations destinations;
  for (const CaptureSum &sum : group.sums) {
    Value memory = sum.memory;
    if (sum.ofWarps)
      memory =
          createLeadingSlice(builder, loc, memory, builder.getIndexAttr(0));
    for (unsigned dim = 0; dim < 3; ++dim)
      if (sum.isPrivate[dim])
        memory = createLeadingSlice(builder, loc, memory,
                                    getAsOpFoldResult(at[dim]));
    if (!sum.capture) {
      destinations.scale = memory;
      continue;
    }
    if (sum.inBoxes)
      destinations.inBoxes.push_back(*sum.capture);
    destinations.numbers.push_back(*sum.capture);
    destinations.memory.push_back(memory);
  }
  return destinations;
}

void CaptureSums::mark(Operation *step, const CaptureGroup &group,
                       const CaptureDestinations &destinations) {
  MLIRContext *context = step->getContext();
  if (group.isOrdered && (destinations.scale || !destinations.memory.empty()))
    step->setAttr(orderedSumsAttrName, UnitAttr::get(context));
  if (!destinations.inBoxes.empty())
    step->setAttr(captureBoxesAttrName,
                  DenseI64ArrayAttr::get(context, destinations.inBoxes));
}

/// sums[i] += the parts along leading dimensions, in their order.
static void addParts(OpBuilder &builder, Location loc, Value parts,
                     Value sums) {
  int64_t rank = cast<MemRefType>(parts.getType()).getRank();
  int64_t leading = rank - cast<MemRefType>(sums.getType()).getRank();
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps = {
      all, leading == rank ? AffineMap::get(rank, 0, builder.getContext())
                           : all.getMinorSubMap(rank - leading)};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  std::fill_n(loops.begin(), leading, utils::IteratorType::reduction);
  linalg::GenericOp::create(
      builder, loc, parts, sums, maps, loops,
      [&](OpBuilder &nested, Location at, ValueRange scalars) {
        Value sum = arith::AddFOp::create(nested, at, scalars[1], scalars[0]);
        linalg::YieldOp::create(nested, at, sum);
      });
}

static void storeConverted(OpBuilder &builder, Location loc, Value sums,
                           Value gradient) {
  auto type = cast<MemRefType>(gradient.getType());
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, loc, sums, gradient, maps, loops,
      [&](OpBuilder &nested, Location at, ValueRange scalars) {
        linalg::YieldOp::create(nested, at,
                                convertScalarToDtype(nested, at, scalars[0],
                                                     type.getElementType(),
                                                     /*isUnsignedCast=*/false));
      });
}

void CaptureSums::store(bool byCopies) {
  for (auto [memory, gradient, hasAlignedRows] : separate) {
    auto type = cast<MemRefType>(gradient.getType());
    bool hasParts =
        cast<MemRefType>(memory.getType()).getRank() != type.getRank();
    if (byCopies) {
      Value sums = memory;
      if (hasParts) {
        sums = createZeros(createMemory(gradient, {}));
        addParts(builder, loc, memory, sums);
      }
      markAligned(linalg::CopyOp::create(builder, loc, sums, gradient),
                  hasAlignedRows);
      memref::DeallocOp::create(builder, loc, memory);
      if (hasParts)
        memref::DeallocOp::create(builder, loc, sums);
      continue;
    }
    bool isF32 = type.getElementType().isF32();
    Value sums = memory;
    if (hasParts) {
      sums = createZeros(isF32 ? gradient : createMemory(gradient, {}));
      addParts(builder, loc, memory, sums);
    }
    if (!isF32)
      storeConverted(builder, loc, sums, gradient);
    memref::DeallocOp::create(builder, loc, memory);
    if (hasParts && !isF32)
      memref::DeallocOp::create(builder, loc, sums);
  }
}
