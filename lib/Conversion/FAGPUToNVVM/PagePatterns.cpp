//===- PagePatterns.cpp - Rows in pages to shared memory ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers puts of rows in pages of any size. The warps of the role share the
// rows of a tile. A lane looks up one of each 32 of its warp; then the lanes
// that copy a row by cp.async, 16 bytes each, are told where it is. Read
// `PageCopy`: the table is read before the stage is free.
//
//===----------------------------------------------------------------------===//

#include "BoxCopies.h"
#include "ColumnBound.h"
#include "TilePlace.h"
#include "fa/Dialect/FAGPU/IR/Outside.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

static constexpr int64_t warpSize = 32;

/// The address space of global memory.
static constexpr unsigned globalSpace = 1;

namespace {

/// A row of a table, and where its page is said to be.
struct RowInPage {
  Value key, inPage, page;
};

class PageCopy {
public:
  PageCopy(PutOp put, Emitter &emit, const KernelContext &kernel,
           ArrayRef<Value> offsets)
      : put(put), emit(emit), kernel(kernel),
        type(cast<MemRefType>(put.getSource().getType())),
        pageDim(*put.getPageDim()), rowDim(put.getRowDim()),
        tile(put.getChannel().getType()), panels(tile.getLayout()),
        warps(put->getParentOfType<RoleOp>().getWarps()),
        lane(kernel.getThreads(put).lane), warp(kernel.getThreads(put).warp),
        offsets(offsets) {}

  /// Reads the table.
  void lookUp() {
    Value size =
        emit.narrow(kernel.getSize(emit.builder, put.getSource(), rowDim));
    if (type.isDynamicDim(rowDim))
      size = arith::MaxSIOp::create(emit.builder, emit.location, size,
                                    emit.constant(1));
    Value columns =
        emit.narrow(kernel.getSize(emit.builder, put.getPages(), 1));
    Value last = emit.subtract(columns, emit.constant(1));
    int64_t run = getRun();
    Value runOfLane = emit.shiftRight(lane, llvm::Log2_64(run));
    runOfLane = emit.add(emit.multiply(runOfLane, warps), warp);
    Value first =
        emit.add(emit.multiply(runOfLane, run), emit.bitAnd(lane, run - 1));
    for (int64_t row = 0; row < countRuns() * run; row += warpSize) {
      RowInPage found;
      found.key = emit.add(emit.add(offsets[rowDim], first), row * warps);
      Value number =
          arith::DivUIOp::create(emit.builder, emit.location, found.key, size);
      found.inPage =
          arith::RemUIOp::create(emit.builder, emit.location, found.key, size);
      number =
          arith::MinSIOp::create(emit.builder, emit.location, number, last);
      Value address =
          getAddress(emit.builder, emit.location, kernel, put.getPages(),
                     ValueRange{offsets[pageDim], number});
      found.page = LLVM::LoadOp::create(emit.builder, emit.location,
                                        emit.builder.getI32Type(), address);
      rows.push_back(found);
    }
  }

  /// Copies the rows below `end` to the stage, each column below `columns`
  /// (null: all).
  void copy(Value stage, Value end, Value columns) {
    SmallVector<Value> sources = locateRows(end);
    int64_t chunks = panels.getChunks(), atOnce = warpSize / chunks;
    Value chunk = emit.bitAnd(lane, chunks - 1),
          rowOfLane = emit.shiftRight(lane, panels.getChunkBits());
    Value inRow = emit.extend(emit.shiftLeft(chunk, 4));
    SharedTile target = {stage, tile.getShape()[0], panels};
    int64_t run = getRun(), runs = countRuns();
    // Places are apart by multiples of eight rows.
    Value firstRow = emit.add(emit.multiply(warp, run), rowOfLane);
    SmallVector<TilePlace> places;
    for (int64_t row = 0; row < run; row += atOnce)
      places.emplace_back(
          emit, kernel.getSharedBase(), target,
          TilePlace::getPlace(emit, panels, emit.add(firstRow, row), chunk));
    ColumnBound bound(columns, offsets.back());
    Value nothing = getOutside();
    SmallVector<Value> told;
    auto copyRow = [&](int64_t row, Value source) {
      TilePlace &place = places[row % run / atOnce];
      for (int64_t column = 0; column < tile.getShape()[1];
           column += panels.getColumns()) {
        Value address = emit.add(source, emit.constant64(2 * column));
        if (!bound.holds(column, panels.getColumns()))
          address = emit.select(
              emit.isLess(emit.constant(0),
                          bound.getLeft(emit, emit.add(emit.shiftLeft(chunk, 3),
                                                       column))),
              address, nothing);
        emit.inlinePTX("cp.async.cg.shared.global [$0], [$1], 16;",
                       "l,l,~{memory}",
                       {place.getPointer(row / run * warps * run,
                                         column / Panels::chunkColumns),
                        address},
                       {});
      }
    };
    for (int64_t row = 0; row < runs * run; row += atOnce) {
      // A lane tells of all of its rows at once: each time takes a while.
      if (row % warpSize == 0) {
        told.clear();
        for (int64_t next = 0; next < warpSize; next += atOnce)
          told.push_back(emit.add(
              shuffle(sources[row / warpSize], emit.add(rowOfLane, next)),
              inRow));
      }
      OpBuilder::InsertionGuard guard(emit.builder);
      enterTurn(row / run);
      copyRow(row, told[row % warpSize / atOnce]);
    }
  }

private:
  /// Rows that a warp copies side by side; the next ones are another warp's.
  int64_t getRun() {
    constexpr int64_t rowsOfSwizzle = 8;
    return std::max(rowsOfSwizzle, warpSize / panels.getChunks());
  }

  /// The most runs of a warp.
  int64_t countRuns() {
    return llvm::divideCeil(tile.getShape()[0], warps * getRun());
  }

  /// Goes on inside a branch of the warps that have so many runs before.
  void enterTurn(int64_t turn) {
    int64_t runs = tile.getShape()[0] / getRun();
    if ((turn + 1) * warps <= runs)
      return;
    enter(emit, emit.isBelow(warp, emit.constant(runs - turn * warps)));
  }

  /// Where each row looked up lies in global memory, i64: what is no row of a
  /// page is outside.
  SmallVector<Value> locateRows(Value end) {
    Value base = LLVM::PtrToIntOp::create(emit.builder, emit.location,
                                          emit.builder.getI64Type(),
                                          kernel.getPointer(put.getSource()));
    Value ofAll;
    for (auto [dim, offset] : llvm::enumerate(offsets)) {
      if (dim == pageDim || dim == rowDim)
        continue;
      Value more = emit.multiply(emit.extend(offset), getStride(dim));
      ofAll = ofAll ? emit.add(ofAll, more) : more;
    }
    Value pages =
        emit.narrow(kernel.getSize(emit.builder, put.getSource(), pageDim));
    Value outside = getOutside();
    SmallVector<Value> sources;
    for (const RowInPage &row : rows) {
      Value isThere = emit.logicalAnd(emit.isLess(row.key, end),
                                      emit.isBelow(row.page, pages));
      Value offset =
          emit.add(emit.multiply(emit.extend(row.page), getStride(pageDim)),
                   emit.multiply(emit.extend(row.inPage), getStride(rowDim)));
      offset = emit.add(offset, ofAll);
      // Elements of 16 bits.
      Value source = emit.add(base, emit.add(offset, offset));
      sources.push_back(emit.select(isThere, source, outside));
    }
    return sources;
  }

  /// A row of what is read outside of the memory: zeros or NaN.
  Value getOutside() {
    if (outsideRow)
      return outsideRow;
    bool isNaN = fillsNaN(put);
    Type element = type.getElementType();
    auto module = put->getParentOfType<ModuleOp>();
    int64_t columns = tile.getShape()[1];
    std::string name = ("fagpu_outside_" + Twine(columns)).str();
    APInt bits(16, 0);
    if (isNaN) {
      name += element.isBF16() ? "_bf16_nan" : "_f16_nan";
      bits = APFloat::getNaN(cast<FloatType>(element).getFloatSemantics())
                 .bitcastToAPInt();
    }
    auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
    if (!global) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      Type word = builder.getIntegerType(16);
      auto words =
          DenseElementsAttr::get(RankedTensorType::get({columns}, word), bits);
      global = LLVM::GlobalOp::create(
          builder, put.getLoc(), LLVM::LLVMArrayType::get(word, columns),
          /*isConstant=*/true, LLVM::Linkage::Internal, name, words,
          /*alignment=*/16, globalSpace);
    }
    Value pointer =
        LLVM::AddressOfOp::create(emit.builder, emit.location, global);
    outsideRow = LLVM::PtrToIntOp::create(emit.builder, emit.location,
                                          emit.builder.getI64Type(), pointer);
    return outsideRow;
  }

  /// The 64 bits that lane `from` has.
  Value shuffle(Value value, Value from) {
    Type i32 = emit.builder.getI32Type(), i64 = emit.builder.getI64Type();
    auto move = [&](Value word) -> Value {
      return NVVM::ShflOp::create(
          emit.builder, emit.location, i32, emit.constant(-1), word, from,
          emit.constant(warpSize - 1), NVVM::ShflKind::idx, UnitAttr());
    };
    Value half = emit.constant64(32);
    Value high =
        arith::ShRUIOp::create(emit.builder, emit.location, value, half);
    Value low = move(emit.narrow(value));
    high = move(emit.narrow(high));
    auto widen = [&](Value word) -> Value {
      return arith::ExtUIOp::create(emit.builder, emit.location, i64, word);
    };
    high =
        arith::ShLIOp::create(emit.builder, emit.location, widen(high), half);
    return arith::OrIOp::create(emit.builder, emit.location, high, widen(low));
  }

  Value getStride(unsigned dim) {
    return kernel.getStride(emit.builder, put.getSource(), dim);
  }

  PutOp put;
  Emitter &emit;
  const KernelContext &kernel;
  MemRefType type;
  unsigned pageDim, rowDim;
  ChannelType tile;
  Panels panels;
  int64_t warps;
  Value lane, warp;
  SmallVector<Value> offsets;
  SmallVector<RowInPage> rows;
  Value outsideRow;
};

struct PutPagesPattern : public KernelPattern<PutOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(PutOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getChannel().getDefiningOp<ChannelOp>().getEngine() != Engine::pages)
      return rewriter.notifyMatchFailure(op, "no rows one by one");
    Emitter emit(rewriter, op.getLoc());
    OpBuilder::InsertionGuard guard(rewriter);
    if (Value condition = getOptional(adaptor.getCondition()))
      enter(emit, condition);
    PageCopy pages(op, emit, kernel,
                   flatten(SmallVector<ValueRange>(adaptor.getOffsets())));
    pages.lookUp();
    StageAddress stage = addressStage(emit, kernel, op.getChannel(),
                                      getOptional(adaptor.getStage()),
                                      getOptional(adaptor.getBank()));
    emit.waitPhase(stage.empty, getOptional(adaptor.getPhase()));
    pages.copy(stage.data, getOptional(adaptor.getRows()),
               getOptional(adaptor.getColumns()));
    NVVM::CpAsyncMBarrierArriveOp::create(rewriter, op.getLoc(),
                                          emit.sharedPointer(stage.full),
                                          /*noinc=*/true);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mlir::fagpu::populatePagePatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelContext &kernel) {
  patterns.add<PutPagesPattern>(converter, patterns.getContext(), kernel);
  populatePageBoxPatterns(patterns, converter, kernel);
}
