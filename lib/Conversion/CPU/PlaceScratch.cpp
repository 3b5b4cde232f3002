//===- PlaceScratch.cpp - Order and place of the memory of a block --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors lie along what is contiguous, so the order of scratch decides the
// lanes. Rows of a block lie along vectors, so that what is computed of a row
// never crosses lanes: matrices have their rows contiguous, by columns, but
// for the right operand of a product, which is read one number at a time.
// Read `runOnOperation`, then `placeMatrix`.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/CPU/Passes.h"
#include "mlir/Dialect/Affine/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAPLACESCRATCH
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using linalg::GenericOp;

// A cache line in bytes and in f32, which no vector is wider than.
static constexpr int64_t lineBytes = 64, lineElements = 16;

/// Whether a product reads the memory, or a part of it, as its right operand.
static bool isRightOperand(Value memory) {
  return llvm::any_of(memory.getUses(), [](OpOperand &use) {
    if (isa<ViewLikeOpInterface>(use.getOwner()))
      return isRightOperand(use.getOwner()->getResult(0));
    auto generic = dyn_cast<GenericOp>(use.getOwner());
    return generic && generic->hasAttr(registerTileName) &&
           generic.getNumLoops() == 3 && use.getOperandNumber() == 1;
  });
}

/// Whether the memory stays with loops and linalg operations, and nobody frees
/// it.
static bool isKept(Value memory) {
  return llvm::all_of(memory.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<scf::ForOp>(user))
      return isKept(loop.getTiedLoopRegionIterArg(&use)) &&
             isKept(loop.getTiedLoopResult(&use));
    if (isa<memref::SubViewOp, memref::TransposeOp, memref::CastOp>(user))
      return isKept(user->getResult(0));
    return isa<linalg::LinalgOp, memref::CopyOp, memref::DimOp, memref::LoadOp>(
               user) ||
           (isa<scf::YieldOp>(user) && isa<scf::ForOp>(user->getParentOp()));
  });
}

/// Memory of a block that bufferization made: a matrix or a row, in a parallel
/// loop or, for a problem of one block, without one.
static bool isScratch(memref::AllocOp alloc) {
  int64_t rank = alloc.getType().getRank();
  return !alloc->hasAttr(programMemoryName) && (rank == 1 || rank == 2) &&
         isKept(alloc.getMemref());
}

/// Asks what a transposed view is of for its sizes, whose bounds are known.
static void lookThroughTranspose(memref::DimOp dim) {
  auto transpose = dim.getSource().getDefiningOp<memref::TransposeOp>();
  std::optional<int64_t> index = dim.getConstantIndex();
  if (!transpose || !index)
    return;
  OpBuilder builder(dim);
  Value place = arith::ConstantIndexOp::create(
      builder, dim.getLoc(),
      cast<AffineDimExpr>(transpose.getPermutation().getResult(*index))
          .getPosition());
  dim.getSourceMutable().assign(transpose.getIn());
  dim.getIndexMutable().assign(place);
}

/// The size of a dimension, or the most that it can be.
static FailureOr<int64_t> getBound(memref::AllocOp alloc, int64_t dim) {
  if (!alloc.getType().isDynamicDim(dim))
    return alloc.getType().getDimSize(dim);
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {alloc.getMemref(), dim},
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  if (failed(bound))
    return alloc.emitOpError() << "has a size " << dim
                               << " without a constant bound, expected a "
                                  "block: scratch is allocated for it";
  return bound;
}

/// Memory of static size, and a view of it in the shape of `alloc`.
static FailureOr<Value> placeMatrix(RewriterBase &rewriter,
                                    memref::AllocOp alloc) {
  Location loc = alloc.getLoc();
  MemRefType type = alloc.getType();
  FailureOr<int64_t> rows = getBound(alloc, 0), columns = getBound(alloc, 1);
  if (failed(rows) || failed(columns))
    return failure();
  bool byRows = isRightOperand(alloc.getMemref());
  int64_t outer = byRows ? *rows : *columns;
  int64_t inner = byRows ? *columns : *rows;
  // A column of a matrix whose rows are a power of two apart would fall on few
  // sets of a cache and evict itself.
  int64_t padded =
      inner % (2 * lineElements) == 0 ? inner + lineElements : inner;
  Value memory = memref::AllocaOp::create(
      rewriter, loc, MemRefType::get({outer, padded}, type.getElementType()),
      rewriter.getI64IntegerAttr(lineBytes));
  SmallVector<int64_t> strides{1, padded};
  if (byRows)
    std::swap(strides[0], strides[1]);
  SmallVector<OpFoldResult> sizes =
      getMixedValues(type.getShape(), alloc.getDynamicSizes(), rewriter);
  auto viewType = MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(rewriter.getContext(), 0, strides));
  return memref::ReinterpretCastOp::create(
             rewriter, loc, viewType, memory, rewriter.getIndexAttr(0), sizes,
             getAsIndexOpFoldResult(rewriter.getContext(), strides))
      .getResult();
}

static FailureOr<Value> placeRow(RewriterBase &rewriter,
                                 memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  FailureOr<int64_t> bound = getBound(alloc, 0);
  if (failed(bound))
    return failure();
  Value memory = memref::AllocaOp::create(
      rewriter, alloc.getLoc(), MemRefType::get(*bound, type.getElementType()),
      rewriter.getI64IntegerAttr(lineBytes));
  if (type.hasStaticShape())
    return memory;
  SmallVector<OpFoldResult> offsets{rewriter.getIndexAttr(0)};
  SmallVector<OpFoldResult> strides{rewriter.getIndexAttr(1)};
  SmallVector<OpFoldResult> sizes{alloc.getDynamicSizes()[0]};
  return memref::ReinterpretCastOp::create(rewriter, alloc.getLoc(), type,
                                           memory, offsets[0], sizes, strides)
      .getResult();
}

static MemRefType withLayout(ArrayRef<int64_t> shape, MemRefType source,
                             int64_t offset, ArrayRef<int64_t> strides) {
  return MemRefType::get(
      shape, source.getElementType(),
      StridedLayoutAttr::get(source.getContext(), offset, strides),
      source.getMemorySpace());
}

static MemRefType inferTransposed(memref::TransposeOp op) {
  auto source = cast<MemRefType>(op.getIn().getType());
  auto [strides, offset] = source.getStridesAndOffset();
  return withLayout(
      applyPermutationMap<int64_t>(op.getPermutation(), source.getShape()),
      source, offset,
      applyPermutationMap<int64_t>(op.getPermutation(), strides));
}

/// A cast that forgets strides may still do so.
static Type inferCast(memref::CastOp op) {
  Type type = op.getType();
  if (memref::CastOp::areCastCompatible(op.getSource().getType(), type))
    return type;
  auto source = cast<MemRefType>(op.getSource().getType());
  auto [strides, offset] = source.getStridesAndOffset();
  return withLayout(cast<MemRefType>(type).getShape(), source, offset, strides);
}

/// Views and loops take the strides of what they view and carry.
static void inferTypes(Value memory) {
  for (OpOperand &use : memory.getUses()) {
    Operation *user = use.getOwner();
    Value result;
    Type type;
    if (auto view = dyn_cast<memref::SubViewOp>(user)) {
      result = view.getResult();
      type = memref::SubViewOp::inferRankReducedResultType(
          view.getType().getShape(), view.getSourceType(),
          view.getMixedOffsets(), view.getMixedSizes(), view.getMixedStrides());
    } else if (auto transpose = dyn_cast<memref::TransposeOp>(user)) {
      result = transpose.getResult();
      type = inferTransposed(transpose);
    } else if (auto cast = dyn_cast<memref::CastOp>(user)) {
      result = cast.getResult();
      type = inferCast(cast);
    } else if (auto loop = dyn_cast<scf::ForOp>(user)) {
      BlockArgument carried = loop.getTiedLoopRegionIterArg(&use);
      if (carried.getType() == memory.getType())
        continue;
      carried.setType(memory.getType());
      loop.getTiedLoopResult(&use).setType(memory.getType());
      inferTypes(carried);
      inferTypes(loop.getTiedLoopResult(&use));
      continue;
    }
    if (!result || result.getType() == type)
      continue;
    result.setType(type);
    inferTypes(result);
  }
}

/// Copies to or from the memory and parts of it.
static void collectCopies(Value memory, SetVector<memref::CopyOp> &copies) {
  for (OpOperand &use : memory.getUses()) {
    Operation *user = use.getOwner();
    if (auto copy = dyn_cast<memref::CopyOp>(user)) {
      copies.insert(copy);
    } else if (auto loop = dyn_cast<scf::ForOp>(user)) {
      collectCopies(loop.getTiedLoopRegionIterArg(&use), copies);
      collectCopies(loop.getTiedLoopResult(&use), copies);
    } else if (isa<ViewLikeOpInterface>(user)) {
      collectCopies(user->getResult(0), copies);
    }
  }
}

/// Whether a copy becomes a call of a library that compiled code does not have:
/// memory of one side has strides.
static bool isStrided(memref::CopyOp copy) {
  return llvm::any_of(copy->getOperandTypes(), [](Type type) {
    auto memory = dyn_cast<MemRefType>(type);
    return memory && !memory.getLayout().isIdentity();
  });
}

/// Copies run in vectors, as loops of their own.
static void copyByLoops(RewriterBase &rewriter, memref::CopyOp copy) {
  rewriter.setInsertionPoint(copy);
  if (copy.getSource() != copy.getTarget())
    linalg::CopyOp::create(rewriter, copy.getLoc(), copy.getSource(),
                           copy.getTarget());
  rewriter.eraseOp(copy);
}

/// The register tile of the products around or beside each operation.
static void annotate(Operation *root) {
  DenseMap<Region *, Attribute> tiles;
  root->walk([&](linalg::LinalgOp op) {
    Attribute tile = op->getAttr(registerTileName);
    for (Region *region = op->getParentRegion(); tile && region;
         region = region->getParentRegion()) {
      tiles.try_emplace(region, tile);
      if (isa<scf::ForallOp>(region->getParentOp()))
        break;
    }
  });
  root->walk([&](linalg::LinalgOp op) {
    for (Region *region = op->getParentRegion();
         region && !op->hasAttr(registerTileName);
         region = region->getParentRegion())
      if (Attribute tile = tiles.lookup(region))
        op->setAttr(registerTileName, tile);
  });
}

namespace {
struct PlaceScratchPass
    : public fa::impl::FAPlaceScratchBase<PlaceScratchPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FAPlaceScratchBase::getDependentDialects(registry);
    affine::registerValueBoundsOpInterfaceExternalModels(registry);
    arith::registerValueBoundsOpInterfaceExternalModels(registry);
    memref::registerValueBoundsOpInterfaceExternalModels(registry);
    scf::registerValueBoundsOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<memref::AllocOp> allocs;
    SetVector<memref::CopyOp> copies;
    getOperation()->walk(lookThroughTranspose);
    getOperation()->walk([&](memref::AllocOp alloc) {
      if (!isScratch(alloc))
        return;
      allocs.push_back(alloc);
      collectCopies(alloc.getMemref(), copies);
    });
    getOperation()->walk([&](memref::CopyOp copy) {
      if (isStrided(copy))
        copies.insert(copy);
    });
    for (memref::AllocOp alloc : allocs) {
      rewriter.setInsertionPoint(alloc);
      FailureOr<Value> place = alloc.getType().getRank() == 2
                                   ? placeMatrix(rewriter, alloc)
                                   : placeRow(rewriter, alloc);
      if (failed(place))
        return signalPassFailure();
      rewriter.replaceAllUsesWith(alloc.getMemref(), *place);
      rewriter.eraseOp(alloc);
      inferTypes(*place);
    }
    for (memref::CopyOp copy : copies)
      copyByLoops(rewriter, copy);
    annotate(getOperation());
  }
};
} // namespace
