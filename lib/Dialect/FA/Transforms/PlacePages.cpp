//===- PlacePages.cpp - The memory of key blocks in pages -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces slices of fa.paged_rows by memory: of the page that they lie in, or
// scratch that their rows are copied to. Read `PagePlacer::run`, which finds
// the slices, then `place` for one of them: `getPage` and `slicePage` take rows
// of one page, `copyRows` gathers those of several.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAPLACEPAGES
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Elements that one step of a copy moves.
static constexpr int64_t copyWidth = 16;

namespace {
/// Finds the memory of the slices of one operation.
class PagePlacer {
public:
  PagePlacer(RewriterBase &rewriter, PagedRowsOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()),
        type(cast<MemRefType>(op.getRows().getType())),
        headDim(type.getDimSize(3)) {}

  LogicalResult run();

private:
  void joinSlices();
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value add(Value a, Value b) {
    return rewriter.createOrFold<arith::AddIOp>(loc, a, b);
  }
  FailureOr<int64_t> getMostRows(memref::SubViewOp slice);
  Value createScratch(int64_t rows);
  Value getPage(Value number);
  bool takesRows(memref::SubViewOp slice);
  Value slicePage(Value page, Value row, Value count);
  void copyRows(Value scratch, Value first, Value count);
  void place(memref::SubViewOp slice, Value scratch);

  RewriterBase &rewriter;
  PagedRowsOp op;
  Location loc;
  MemRefType type;
  int64_t headDim;
  Value pageRows;
};
} // namespace

/// Whether a slice takes whole rows, one after the other.
bool PagePlacer::takesRows(memref::SubViewOp slice) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes();
  return llvm::all_of(slice.getMixedStrides(), isOneInteger) &&
         isZeroInteger(offsets[0]) && isZeroInteger(offsets[2]) &&
         isZeroInteger(offsets[3]) && isOneInteger(sizes[0]) &&
         isOneInteger(sizes[2]) && isConstantIntValue(sizes[3], headDim);
}

/// A bound of the rows that a slice takes.
FailureOr<int64_t> PagePlacer::getMostRows(memref::SubViewOp slice) {
  if (std::optional<int64_t> rows =
          getConstantIntValue(slice.getMixedSizes()[1]))
    return *rows;
  return ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {slice.getResult(), 1},
      /*stopCondition=*/nullptr, /*closedUB=*/true);
}

/// Memory of the outermost parallel loop, or of the function.
Value PagePlacer::createScratch(int64_t rows) {
  Operation *outermost = nullptr;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (isa<scf::ForallOp>(parent) ||
        (!outermost && isa<FunctionOpInterface>(parent)))
      outermost = parent;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&outermost->getRegion(0).front());
  auto memory = MemRefType::get({1, rows, 1, headDim}, type.getElementType());
  return memref::AllocaOp::create(rewriter, loc, memory,
                                  rewriter.getI64IntegerAttr(64));
}

/// Page `number` of the sequence.
Value PagePlacer::getPage(Value number) {
  Value page = memref::LoadOp::create(rewriter, loc, op.getPages(),
                                      ValueRange{op.getBatch(), number});
  return arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(),
                                    page);
}

/// Rows of a page, in the order (page, row, head, head dim).
Value PagePlacer::slicePage(Value page, Value row, Value count) {
  DimsAttr order = op.getDims();
  SmallVector<OpFoldResult> offsets(4), sizes(4),
      strides(4, rewriter.getIndexAttr(1));
  OpFoldResult one = rewriter.getIndexAttr(1);
  std::tuple<DimKind, OpFoldResult, OpFoldResult> dims[] = {
      {DimKind::Page, page, one},
      {DimKind::Sequence, row, count},
      {DimKind::Heads, op.getHead(), one},
      {DimKind::HeadDim, rewriter.getIndexAttr(0),
       rewriter.getIndexAttr(headDim)}};
  for (auto [kind, offset, size] : dims) {
    offsets[order.positionOf(kind)] = offset;
    sizes[order.positionOf(kind)] = size;
  }
  Value slice = memref::SubViewOp::create(rewriter, loc, op.getPool(), offsets,
                                          sizes, strides);
  DimKind kinds[] = {DimKind::Page, DimKind::Sequence, DimKind::Heads,
                     DimKind::HeadDim};
  SmallVector<AffineExpr> permutation;
  for (DimKind kind : kinds)
    permutation.push_back(rewriter.getAffineDimExpr(order.positionOf(kind)));
  auto map = AffineMap::get(4, 0, permutation, rewriter.getContext());
  if (!map.isIdentity())
    slice = memref::TransposeOp::create(rewriter, loc, slice,
                                        AffineMapAttr::get(map));
  return memref::CastOp::create(rewriter, loc, type, slice);
}

/// Copies rows of the sequence to scratch memory, page by page.
void PagePlacer::copyRows(Value scratch, Value first, Value count) {
  Value zero = index(0), one = index(1);
  Value end = add(first, count);
  Value firstPage = arith::DivUIOp::create(rewriter, loc, first, pageRows);
  Value endPage = arith::CeilDivUIOp::create(rewriter, loc, end, pageRows);
  auto pages = scf::ForOp::create(rewriter, loc, firstPage, endPage, one);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(pages.getBody());
  Value number = pages.getInductionVar();
  Value begin = arith::MulIOp::create(rewriter, loc, number, pageRows);
  Value from = arith::MaxUIOp::create(rewriter, loc, begin, first);
  Value to = arith::MinUIOp::create(rewriter, loc, add(begin, pageRows), end);
  Value run = arith::SubIOp::create(rewriter, loc, to, from);
  Value row = arith::SubIOp::create(rewriter, loc, from, begin);
  Value target = arith::SubIOp::create(rewriter, loc, from, first);
  Value source = slicePage(getPage(number), row, run);
  auto rows = scf::ForOp::create(rewriter, loc, zero, run, one);
  rewriter.setInsertionPointToStart(rows.getBody());
  Value at = rows.getInductionVar();
  Value targetRow = add(target, at);
  for (int64_t column = 0; column < headDim; column += copyWidth) {
    auto vector = VectorType::get({std::min(copyWidth, headDim - column)},
                                  type.getElementType());
    Value place = index(column);
    Value part = vector::LoadOp::create(rewriter, loc, vector, source,
                                        ValueRange{zero, at, zero, place});
    vector::StoreOp::create(rewriter, loc, part, scratch,
                            ValueRange{zero, targetRow, zero, place});
  }
}

void PagePlacer::place(memref::SubViewOp slice, Value scratch) {
  rewriter.setInsertionPoint(slice);
  auto toValue = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, value);
  };
  Value first = toValue(slice.getMixedOffsets()[1]);
  OpFoldResult rows = slice.getMixedSizes()[1];
  Value count = toValue(rows);
  Value row = arith::RemUIOp::create(rewriter, loc, first, pageRows);
  Value isInOnePage = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::ule, add(row, count), pageRows);
  // A block without rows has no page.
  Value isSome = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                       count, index(0));
  isInOnePage = arith::AndIOp::create(rewriter, loc, isInOnePage, isSome);
  auto memory = scf::IfOp::create(rewriter, loc, type, isInOnePage,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(memory.thenBlock());
    Value number = arith::DivUIOp::create(rewriter, loc, first, pageRows);
    Value found = slicePage(getPage(number), row, count);
    scf::YieldOp::create(rewriter, loc, found);
    rewriter.setInsertionPointToStart(memory.elseBlock());
    copyRows(scratch, first, count);
    Value all = memref::CastOp::create(rewriter, loc, type, scratch);
    scf::YieldOp::create(rewriter, loc, all);
  }
  OpFoldResult zero = rewriter.getIndexAttr(0);
  SmallVector<OpFoldResult> offsets(4, zero),
      strides(4, rewriter.getIndexAttr(1));
  Value found = memref::SubViewOp::create(rewriter, loc, slice.getType(),
                                          memory.getResult(0), offsets,
                                          slice.getMixedSizes(), strides);
  rewriter.replaceOp(slice, found);
}

/// Slices of slices of the rows, as of the keys of a part, as slices of them.
void PagePlacer::joinSlices() {
  SmallVector<memref::SubViewOp> slices;
  for (Operation *user : op->getUsers())
    if (auto slice = dyn_cast<memref::SubViewOp>(user);
        slice && takesRows(slice))
      slices.push_back(slice);
  AffineExpr s0, s1;
  bindSymbols(rewriter.getContext(), s0, s1);
  for (memref::SubViewOp outer : slices) {
    for (Operation *user : llvm::make_early_inc_range(outer->getUsers())) {
      if (auto dim = dyn_cast<memref::DimOp>(user);
          dim && dim.getConstantIndex() == 1) {
        rewriter.setInsertionPoint(dim);
        rewriter.replaceOp(dim, getValueOrCreateConstantIndexOp(
                                    rewriter, loc, outer.getMixedSizes()[1]));
        continue;
      }
      auto inner = dyn_cast<memref::SubViewOp>(user);
      if (!inner || !takesRows(inner))
        continue;
      rewriter.setInsertionPoint(inner);
      SmallVector<OpFoldResult> offsets(inner.getMixedOffsets());
      offsets[1] = affine::makeComposedFoldedAffineApply(
          rewriter, loc, s0 + s1, {outer.getMixedOffsets()[1], offsets[1]});
      rewriter.replaceOpWithNewOp<memref::SubViewOp>(
          inner, inner.getType(), op.getRows(), offsets, inner.getMixedSizes(),
          inner.getMixedStrides());
    }
    if (outer->use_empty())
      rewriter.eraseOp(outer);
  }
}

LogicalResult PagePlacer::run() {
  if (!op->getParentOfType<FunctionOpInterface>())
    return op.emitOpError("stands in no function, which holds its scratch "
                          "memory");
  joinSlices();
  SmallVector<memref::SubViewOp> slices;
  int64_t mostRows = 0;
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    if (auto dim = dyn_cast<memref::DimOp>(user)) {
      if (dim.getConstantIndex() == 1) {
        rewriter.replaceOp(dim, op.getCount());
        continue;
      }
    }
    auto slice = dyn_cast<memref::SubViewOp>(user);
    FailureOr<int64_t> rows = slice && takesRows(slice)
                                  ? getMostRows(slice)
                                  : FailureOr<int64_t>(failure());
    if (failed(rows))
      return op.emitOpError() << "is read by '" << user->getName()
                              << "', expected slices of a bounded number of "
                                 "whole rows, as fa-specialize-mask makes them";
    mostRows = std::max(mostRows, *rows);
    slices.push_back(slice);
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  // Pages without rows are never read, but rows are divided by their size.
  pageRows = rewriter.createOrFold<arith::MaxSIOp>(
      loc,
      getValueOrCreateConstantIndexOp(rewriter, loc,
                                      getMixedSize(rewriter, loc, op.getPool(),
                                                   op.getDims(),
                                                   DimKind::Sequence)),
      index(1));
  if (!slices.empty()) {
    Value scratch = createScratch(mostRows);
    for (memref::SubViewOp slice : slices)
      place(slice, scratch);
  }
  rewriter.eraseOp(op);
  return success();
}

namespace {
struct PlacePagesPass
    : public mlir::fa::impl::FAPlacePagesBase<PlacePagesPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FAPlacePagesBase::getDependentDialects(registry);
    registerBoundsDependencies(registry);
  }

  void runOnOperation() override {
    SmallVector<PagedRowsOp> all;
    getOperation()->walk([&](PagedRowsOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (PagedRowsOp op : all)
      if (failed(PagePlacer(rewriter, op).run()))
        return signalPassFailure();
  }
};
} // namespace
