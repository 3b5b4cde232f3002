//===- CopyPatterns.cpp - Channels that threads copy to -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the channels that threads fill themselves, by cp.async or by loads
// and stores, 16 bytes a thread. `TileCopy` computes the addresses and the
// bounds of a box; `PutCopyPattern` uses it. Read these two first; the rest
// is waits and barriers.
//
//===----------------------------------------------------------------------===//

#include "ChunkCopies.h"
#include "ColumnBound.h"
#include "Patterns.h"
#include "TilePlace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fagpu;

static ChannelOp getCopiedChannel(Value channel) {
  return isCopiedByThreads(channel) ? channel.getDefiningOp<ChannelOp>()
                                    : ChannelOp();
}

/// Threads take the chunks of a row of a panel, and as many rows as there are.
static int64_t getRowsAtOnce(PutOp put) {
  return put->getParentOfType<RoleOp>().getThreadsPerGroup() /
         Panels(put.getChannel().getType().getLayout()).getChunks();
}

namespace {

/// A thread copies 16 bytes of some rows, the same chunk in every panel. Rows
/// past the limit are filled with zeros by the instruction, without an access.
class TileCopy {
public:
  TileCopy(PutOp put, Emitter &emit, const KernelContext &kernel)
      : put(put), emit(emit), kernel(kernel),
        type(cast<MemRefType>(put.getSource().getType())),
        rowDim(put.getRowDim()), box(put.getSizes()),
        numRows(ShapedType::getNumElements(box.drop_back())),
        panels(put.getChannel().getType().getLayout()),
        rowsAtOnce(getRowsAtOnce(put)),
        isLoading(put.getChannel().getDefiningOp<ChannelOp>().getEngine() ==
                  Engine::loads) {}

  /// Copies to `tile`, up to `rows` and `columns` where they are not null.
  void run(const SharedTile &tile, ValueRange offsets, Value rows,
           Value columns, Value condition) {
    emitThreadPart();
    ColumnBound bound(columns, offsets.back());
    SmallVector<Value> bytes = countBytes(bound);
    int64_t granule = getGranule(bound);
    TilePlace target(emit, kernel.getSharedBase(), tile, placeInTile);
    Value start = getStart(offsets);
    Value left = emit.subtract(rows ? rows : getEnd(), offsets[rowDim]);
    for (int64_t row = 0; row < numRows; row += rowsAtOnce) {
      auto [source, isPast] = getRow(start, row, left);
      // Threads of rows that the box does not have copy nothing.
      if (numRows - row < rowsAtOnce)
        condition = both(condition, compare(arith::CmpIPredicate::slt, rowInBox,
                                            emit.constant(numRows - row)));
      SmallVector<ChunkCopy> chunks;
      for (auto [panel, size] : llvm::enumerate(bytes)) {
        int64_t column = panel * panels.getColumns();
        chunks.push_back({target.getPointer(row, column / Panels::chunkColumns),
                          advance(source, column), isPast, size, condition});
      }
      copy(chunks, granule);
    }
  }

private:
  /// What does not change in loops, at the kernel's entry.
  void emitThreadPart() {
    OpBuilder::InsertionGuard guard(emit.builder);
    const RoleThreads &threads = kernel.getThreads(put);
    emit.builder.setInsertionPointAfter(threads.isWarpLeader.getDefiningOp());
    Value chunk = emit.bitAnd(threads.thread, panels.getChunks() - 1);
    rowInBox = emit.shiftRight(threads.thread, panels.getChunkBits());
    placeInTile = TilePlace::getPlace(emit, panels, rowInBox, chunk);
    columnInPanel = emit.multiply(chunk, Panels::chunkColumns);
    if (getInnerRows() > 1)
      return;
    Value stride = getStride(rowDim);
    offsetInMemory = emit.add(emit.multiply(emit.extend(rowInBox), stride),
                              emit.extend(columnInPanel));
    stepInMemory = emit.multiply(stride, emit.constant64(rowsAtOnce));
  }

  /// Rows of the box at each index of the bounded dimension.
  int64_t getInnerRows() const { return numRows / box[rowDim]; }

  /// Where the box starts; the dimension of the rows comes last: it is the one
  /// that loops change.
  Value getStart(ValueRange offsets) {
    Value offset = offsetInMemory ? offsetInMemory : emit.extend(columnInPanel);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != rowDim)
        offset = emit.add(
            offset, emit.multiply(emit.extend(offsets[dim]), getStride(dim)));
    Value source = advance(kernel.getPointer(put.getSource()), offset);
    return advance(
        source, emit.multiply(emit.extend(offsets[rowDim]), getStride(rowDim)));
  }

  /// Where the dimension of the rows ends.
  Value getEnd() {
    Value size = arith::MinSIOp::create(
        emit.builder, emit.location,
        kernel.getSize(emit.builder, put.getSource(), rowDim),
        emit.constant64(std::numeric_limits<int32_t>::max()));
    return emit.narrow(size);
  }

  /// Where a thread's row lies, `row` rows on from its first one, and whether
  /// the bounded dimension ends before it. Rows in one dimension are reached
  /// step by step.
  std::pair<Value, Value> getRow(Value &start, int64_t row, Value left) {
    if (getInnerRows() == 1) {
      if (!leftOfThread)
        leftOfThread = emit.subtract(left, rowInBox);
      else
        start = advance(start, stepInMemory);
      return {start, compare(arith::CmpIPredicate::sle, leftOfThread,
                             emit.constant(row))};
    }
    // Later dimensions change first.
    Value rest = emit.add(rowInBox, row), offset, index;
    for (int64_t dim = box.size() - 2; dim >= static_cast<int64_t>(rowDim);
         --dim) {
      if (box[dim] == 1)
        continue;
      Value size = emit.constant(box[dim]);
      index = rest;
      if (dim != rowDim) {
        index = arith::RemUIOp::create(emit.builder, emit.location, rest, size);
        rest = arith::DivUIOp::create(emit.builder, emit.location, rest, size);
      }
      Value more = emit.multiply(emit.extend(index), getStride(dim));
      offset = offset ? emit.add(offset, more) : more;
    }
    return {advance(start, offset),
            compare(arith::CmpIPredicate::sge, index, left)};
  }

  /// How many bytes of its chunk of each panel a thread finds in memory; null
  /// where all are there. The rest is filled with zeros.
  SmallVector<Value> countBytes(const ColumnBound &bound) {
    SmallVector<Value> bytes;
    for (int64_t first = 0; first < box.back(); first += panels.getColumns()) {
      bytes.emplace_back();
      if (bound.holds(first, panels.getColumns()))
        continue;
      Value left = bound.getLeft(emit, emit.add(columnInPanel, first));
      left = arith::MaxSIOp::create(emit.builder, emit.location, left,
                                    emit.constant(0));
      left = arith::MinSIOp::create(emit.builder, emit.location, left,
                                    emit.constant(Panels::chunkColumns));
      bytes.back() = emit.shiftLeft(left, 1);
    }
    return bytes;
  }

  /// Bytes that are copied at once. Loads do not end inside of one.
  int64_t getGranule(const ColumnBound &bound) {
    int64_t granule = put.getAlignment();
    while (isLoading && granule > 2 && !bound.isMultipleOf(granule / 2))
      granule /= 2;
    return granule;
  }

  /// A thread's chunks of one row: what is loaded is stored when all of it is
  /// there.
  void copy(ArrayRef<ChunkCopy> chunks, int64_t granule) {
    SmallVector<SmallVector<Value>> loaded;
    for (const ChunkCopy &chunk : chunks) {
      if (isLoading)
        loaded.push_back(chunk.load(emit, granule));
      else
        chunk.start(emit, granule);
    }
    for (auto [chunk, words] : llvm::zip(chunks, loaded))
      chunk.store(emit, words);
  }

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(emit.builder, emit.location, predicate, a, b);
  }
  Value both(Value a, Value b) { return a ? emit.logicalAnd(a, b) : b; }
  Value getStride(unsigned dim) {
    return kernel.getStride(emit.builder, put.getSource(), dim);
  }
  Value advance(Value pointer, LLVM::GEPArg elements) {
    return LLVM::GEPOp::create(emit.builder, emit.location, pointer.getType(),
                               type.getElementType(), pointer,
                               ArrayRef<LLVM::GEPArg>{elements});
  }

  PutOp put;
  Emitter &emit;
  const KernelContext &kernel;
  MemRefType type;
  unsigned rowDim;
  ArrayRef<int64_t> box;
  int64_t numRows;
  Panels panels;
  int64_t rowsAtOnce;
  /// Whether copies go through registers.
  bool isLoading;
  Value rowInBox, columnInPanel, placeInTile, offsetInMemory, stepInMemory;
  /// Rows from the thread's first one to where they end.
  Value leftOfThread;
};

struct PutCopyPattern : public KernelPattern<PutOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(PutOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ChannelOp channel = getCopiedChannel(op.getChannel());
    if (!channel)
      return rewriter.notifyMatchFailure(op,
                                         "not a channel that threads copy to");
    Emitter emit(rewriter, op.getLoc());
    Value stage =
        addressStage(emit, kernel, channel, getOptional(adaptor.getStage()),
                     getOptional(adaptor.getBank()))
            .data;
    SharedTile tile = {stage, channel.getType().getShape()[0],
                       Panels(channel.getType().getLayout())};
    SmallVector<Value> part =
        flatten(SmallVector<ValueRange>(adaptor.getPart()));
    if (!part.empty())
      tile = tile.at(emit, part[0], part[1]);
    TileCopy(op, emit, kernel)
        .run(tile, flatten(SmallVector<ValueRange>(adaptor.getOffsets())),
             getOptional(adaptor.getRows()), getOptional(adaptor.getColumns()),
             getOptional(adaptor.getCondition()));
    // Empty where threads load: the acquires count all copies alike.
    NVVM::CpAsyncCommitGroupOp::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

struct AcquireCopyPattern : public KernelPattern<AcquireOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(AcquireOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ChannelOp channel = getCopiedChannel(op.getChannel());
    if (!channel || !op.getPending())
      return rewriter.notifyMatchFailure(op, "no count of pending copies");
    Emitter emit(rewriter, op.getLoc());
    Value stage =
        addressStage(emit, kernel, channel, getOptional(adaptor.getStage()),
                     getOptional(adaptor.getBank()))
            .data;
    NVVM::CpAsyncWaitGroupOp::create(rewriter, op.getLoc(), *op.getPending());
    // Null: no barrier frees the stage, a `fagpu.sync` stands where one is
    // needed.
    rewriter.replaceOpWithMultiple(
        op, {SmallVector<Value>{stage, emit.constant(0)}});
    return success();
  }
};

struct ScheduleBarrierPattern : public KernelPattern<ScheduleBarrierOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(ScheduleBarrierOp op, Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter(rewriter, op.getLoc()).endBasicBlock();
    rewriter.eraseOp(op);
    return success();
  }
};

struct SyncPattern : public KernelPattern<SyncOp> {
  using KernelPattern::KernelPattern;

  LogicalResult
  matchAndRewrite(SyncOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter emit(rewriter, op.getLoc());
    auto role = op->getParentOfType<RoleOp>();
    int64_t groups = role.getGroups();
    auto kernel = role->getParentOfType<func::FuncOp>();
    auto wait = [&](Value barrier) {
      NVVM::BarrierOp::create(rewriter, op.getLoc(), TypeRange{}, barrier,
                              emit.constant(groups * role.getThreadsPerGroup()),
                              NVVM::BarrierReductionAttr(), Value());
    };
    // That of all groups is behind those of each.
    if (groups == 1 && role.getBarrier())
      wait(emit.add(role.getGroup(), *role.getBarrier()));
    else if (!llvm::hasSingleElement(kernel.getOps<RoleOp>()))
      wait(emit.constant(*role.getBarrier() + groups));
    else
      NVVM::Barrier0Op::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

LogicalResult mlir::fagpu::verifyCopiedTile(PutOp op) {
  ViewType tile = op.getChannel().getType().getView();
  auto argument = dyn_cast<BlockArgument>(op.getSource());
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return op.emitOpError() << "copies memory that is no argument of the "
                               "kernel, so its address is not known";
  if (!SharedTile::isSupported(tile.getElementType(), tile.getLayout()))
    return op.emitOpError() << "copies by threads to a tile " << tile
                            << ", expected f16 or bf16 and a swizzle of 32, 64 "
                               "or 128 bytes";
  auto memory = cast<MemRefType>(op.getSource().getType());
  if (memory.getStridesAndOffset().first.back() != 1)
    return op.emitOpError() << "copies by threads from " << memory
                            << ", whose columns are not side by side; expected "
                               "a stride of 1 in the last dimension";
  int64_t rows = ShapedType::getNumElements(op.getSizes().drop_back());
  int64_t rowsAtOnce = getRowsAtOnce(op);
  if (rowsAtOnce % 8)
    return op.emitOpError()
           << "copies by " << op->getParentOfType<RoleOp>().getThreadsPerGroup()
           << " threads, " << rowsAtOnce
           << " rows at once; expected a multiple of 8, as by "
           << 8 * Panels(tile.getLayout()).getChunks() << " threads";
  if (rows % 8)
    return op.emitOpError()
           << "copies " << rows << " rows by threads, expected "
           << "a multiple of 8, such as " << llvm::alignTo(rows, 8);
  int64_t columns = Panels(tile.getLayout()).getColumns();
  if (op.getSizes().back() % columns)
    return op.emitOpError() << "copies " << op.getSizes().back()
                            << " columns by threads, expected a multiple of "
                            << columns << ", those of a panel";
  return success();
}

void mlir::fagpu::populateCopyPatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelContext &kernel) {
  patterns.add<PutCopyPattern, AcquireCopyPattern, SyncPattern,
               ScheduleBarrierPattern>(converter, patterns.getContext(),
                                       kernel);
}
