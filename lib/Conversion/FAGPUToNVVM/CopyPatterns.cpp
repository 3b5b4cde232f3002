//===- CopyPatterns.cpp - Channels that threads copy to -------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// The address of a stage; null without a plan.
static Value addressStage(Emitter &emit, const KernelContext &kernel,
                          ChannelOp channel, Value stage) {
  if (!channel.getOffset() || !stage)
    return {};
  Value offset =
      emit.add(emit.multiply(stage, channel.getType().getStageBytes()),
               *channel.getOffset());
  return emit.add(offset, kernel.getSharedBase());
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
        rowDim(put.getRowDim()), tile(put.getChannel().getType().getShape()),
        panels(put.getChannel().getType().getLayout()),
        rowsAtOnce(getRowsAtOnce(put)),
        isLoading(put.getChannel().getDefiningOp<ChannelOp>().getEngine() ==
                  Engine::loads) {}

  void run(Value stage, ValueRange offsets, Value rows, Value columns,
           Value condition) {
    emitThreadPart();
    ColumnBound bound(columns, offsets.back());
    SmallVector<Value> bytes = countBytes(bound);
    int64_t granule = getGranule(bound);
    TilePlace target(emit, kernel.getSharedBase(), {stage, tile[0], panels},
                     placeInTile);
    Value source = getSource(offsets);
    // How many rows are left for this thread.
    Value left = emit.subtract(emit.subtract(rows, rowInTile), offsets[rowDim]);
    for (int64_t row = 0; row < tile[0]; row += rowsAtOnce) {
      Value isPast = arith::CmpIOp::create(emit.builder, emit.location,
                                           arith::CmpIPredicate::sle, left,
                                           emit.constant(row));
      SmallVector<ChunkCopy> chunks;
      for (auto [panel, size] : llvm::enumerate(bytes)) {
        int64_t column = panel * panels.getColumns();
        chunks.push_back({target.getPointer(row, column / Panels::chunkColumns),
                          advance(source, column), isPast, size, condition});
      }
      copy(chunks, granule);
      if (row + rowsAtOnce < tile[0])
        source = advance(source, stepInMemory);
    }
  }

private:
  /// What does not change in loops, at the kernel's entry.
  void emitThreadPart() {
    OpBuilder::InsertionGuard guard(emit.builder);
    const RoleThreads &threads = kernel.getThreads(put);
    emit.builder.setInsertionPointAfter(threads.isWarpLeader.getDefiningOp());
    Value chunk = emit.bitAnd(threads.thread, panels.getChunks() - 1);
    rowInTile = emit.shiftRight(threads.thread, panels.getChunkBits());
    placeInTile = TilePlace::getPlace(emit, panels, rowInTile, chunk);
    columnInPanel = emit.multiply(chunk, Panels::chunkColumns);
    Value stride = getStride(rowDim);
    offsetInMemory =
        add(multiply(extend(rowInTile), stride), extend(columnInPanel));
    stepInMemory = multiply(stride, emit.constant64(rowsAtOnce));
  }

  /// The dimension of the rows comes last: it is the one that loops change.
  Value getSource(ValueRange offsets) {
    Value offset = offsetInMemory;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != rowDim)
        offset = add(offset, multiply(extend(offsets[dim]), getStride(dim)));
    Value source = advance(kernel.getPointer(put.getSource()), offset);
    return advance(source,
                   multiply(extend(offsets[rowDim]), getStride(rowDim)));
  }

  /// How many bytes of its chunk of each panel a thread finds in memory; null
  /// where all are there. The rest is filled with zeros.
  SmallVector<Value> countBytes(const ColumnBound &bound) {
    SmallVector<Value> bytes;
    for (int64_t first = 0; first < tile[1]; first += panels.getColumns()) {
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

  Value getStride(unsigned dim) {
    return kernel.getStride(emit.builder, put.getSource(), dim);
  }
  Value extend(Value value) {
    return arith::ExtSIOp::create(emit.builder, emit.location,
                                  emit.builder.getI64Type(), value);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(emit.builder, emit.location, a, b);
  }
  Value multiply(Value a, Value b) {
    return arith::MulIOp::create(emit.builder, emit.location, a, b);
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
  ArrayRef<int64_t> tile;
  Panels panels;
  int64_t rowsAtOnce;
  /// Whether copies go through registers.
  bool isLoading;
  Value rowInTile, columnInPanel, placeInTile, offsetInMemory, stepInMemory;
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
        addressStage(emit, kernel, channel, getOptional(adaptor.getStage()));
    if (!stage)
      return rewriter.notifyMatchFailure(op, "no stage or no plan");
    TileCopy(op, emit, kernel)
        .run(stage, flatten(SmallVector<ValueRange>(adaptor.getOffsets())),
             adaptor.getRows().front(), getOptional(adaptor.getColumns()),
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
        addressStage(emit, kernel, channel, getOptional(adaptor.getStage()));
    if (!stage)
      return rewriter.notifyMatchFailure(op, "no stage or no plan");
    NVVM::CpAsyncWaitGroupOp::create(rewriter, op.getLoc(), *op.getPending());
    // Null: no barrier frees the stage, a `fagpu.sync` stands where one is
    // needed.
    rewriter.replaceOpWithMultiple(
        op, {SmallVector<Value>{stage, emit.constant(0)}});
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
    if (role.getBarrier())
      NVVM::BarrierOp::create(rewriter, op.getLoc(), TypeRange{},
                              emit.add(role.getGroup(), *role.getBarrier()),
                              emit.constant(role.getThreadsPerGroup()),
                              NVVM::BarrierReductionAttr(), Value());
    else
      NVVM::Barrier0Op::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

LogicalResult mlir::fagpu::verifyCopiedTile(PutOp op) {
  ArrayRef<int64_t> box = op.getSizes();
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
  unsigned rowDim = op.getRowDim();
  for (auto [dim, size] : llvm::enumerate(box.drop_back()))
    if (size > 1 && dim != rowDim)
      return op.emitOpError()
             << "copies " << box[rowDim] << " of dimension " << rowDim
             << " and " << size << " of dimension " << dim
             << " by threads, expected rows in one dimension";
  int64_t rowsAtOnce = getRowsAtOnce(op);
  if (rowsAtOnce % 8 || box[rowDim] % rowsAtOnce)
    return op.emitOpError()
           << "copies " << box[rowDim] << " rows, " << rowsAtOnce
           << " at once by "
           << op->getParentOfType<RoleOp>().getThreadsPerGroup()
           << " threads; expected 8, 16, 32, ... at once and a multiple of it";
  if (!op.getRows())
    return op.emitOpError()
           << "copies by threads without rows(...), so where the memory ends "
              "is not known";
  return success();
}

void mlir::fagpu::populateCopyPatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter,
                                       const KernelContext &kernel) {
  patterns.add<PutCopyPattern, AcquireCopyPattern, SyncPattern>(
      converter, patterns.getContext(), kernel);
}
