//===- StorePatterns.cpp - Stores of matrices by threads ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the store of a matrix by threads: each warp stages its rows in
// swizzled shared memory, then writes them out, 16 bytes a thread.
// `RowsInMemory` knows addresses and limits of rows; read
// `StoreByThreadsPattern::lower` first.
//
//===----------------------------------------------------------------------===//

#include "GlobalStores.h"
#include "Patterns.h"
#include "TilePlace.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// Addresses and limits of the rows of a matrix in global memory.
class RowsInMemory {
public:
  RowsInMemory(StoreOp op, Emitter &emit, const KernelContext &kernel,
               ValueRange offsets, Value rows)
      : emit(emit), kernel(kernel), op(op),
        type(cast<MemRefType>(op.getDestination().getType())), offsets(offsets),
        rows(rows) {}

  /// The address of a row of the value and a column of it, and whether the row
  /// is to be written.
  std::pair<Value, Value> get(Value row, Value column) {
    Value pointer = kernel.getPointer(op.getDestination());
    SmallVector<Value> indices(offsets);
    Value bounded = addRow(emit, op, indices, row);
    Value offset;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value index = indices[dim];
      if (dim + 1 == type.getRank())
        index = emit.add(index, column);
      Value part = emit.multiply(
          emit.extend(index),
          kernel.getStride(emit.builder, op.getDestination(), dim));
      offset = offset ? emit.add(offset, part) : part;
    }
    Value address = LLVM::GEPOp::create(
        emit.builder, emit.location, pointer.getType(), type.getElementType(),
        pointer, ArrayRef<LLVM::GEPArg>{offset});
    if (!rows)
      return {address, Value()};
    return {address, emit.isLess(bounded, rows)};
  }

private:
  Emitter &emit;
  const KernelContext &kernel;
  StoreOp op;
  MemRefType type;
  ValueRange offsets;
  Value rows;
};

} // namespace

namespace {

/// Stages a matrix in swizzled shared memory, from where its rows leave by 16
/// bytes a thread. A warp stages and stores its own rows, so no other has to
/// wait for it.
struct StoreByThreadsPattern : public LoweringPattern<StoreOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(StoreOp op) const override {
    return isStagedBy(op, Engine::threads);
  }

  Registers lower(StoreOp op, Adaptor adaptor, Emitter &emit) const override {
    auto via = op.getVia().getDefiningOp<ChannelOp>();
    auto type = cast<RankedTensorType>(op.getValue().getType());
    Value address = emit.add(kernel.getSharedBase(), *via.getOffset());
    if (Value bank = getOptional(adaptor.getBank()))
      address =
          emit.add(address, emit.multiply(bank, via.getType().getStageBytes()));
    SmallVector<Value> offsets =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    RowsInMemory memory(op, emit, kernel, offsets,
                        getOptional(adaptor.getRows()));
    // What the warp has stored before is read.
    NVVM::SyncWarpOp::create(emit.builder, emit.location, emit.constant(-1));
    RoleThreads threads = kernel.readThreads(emit, op);
    SharedTile tile = {address, type.getDimSize(0),
                       Panels(via.getType().getLayout())};
    TilePlace::storeWords(emit, kernel.getSharedBase(), tile, threads, type,
                          adaptor.getValue());
    NVVM::SyncWarpOp::create(emit.builder, emit.location, emit.constant(-1));
    leave(emit, op, tile, memory,
          ColumnBound(getOptional(adaptor.getColumns()), offsets.back()),
          threads);
    return {};
  }

private:
  /// Lanes take the chunks of a row of a panel, so a warp takes 4, 8 or 16 rows
  /// at once. Chunks lie elsewhere in the second four of eight rows than in the
  /// first.
  void leave(Emitter &emit, StoreOp op, const SharedTile &source,
             RowsInMemory &memory, const ColumnBound &bound,
             const RoleThreads &threads) const {
    auto type = cast<RankedTensorType>(op.getValue().getType());
    const Panels &panels = source.panels;
    Value chunk = emit.bitAnd(threads.lane, panels.getChunks() - 1);
    Value column = emit.multiply(chunk, Panels::chunkColumns);
    int64_t rowsOfWarps = 16 * getBlockLayout(type).getWarps();
    int64_t rowsAtOnce = 32 / panels.getChunks();
    for (int64_t upper = 0; upper < 8; upper += rowsAtOnce) {
      Value row = emit.add(
          emit.add(emit.shiftLeft(threads.warp, 4),
                   emit.shiftRight(threads.lane, panels.getChunkBits())),
          upper);
      TilePlace tile(emit, kernel.getSharedBase(), source,
                     TilePlace::getPlace(emit, panels, row, chunk));
      for (int64_t block = 0; block < source.rows; block += rowsOfWarps)
        for (int64_t more = 0; more < 16;
             more += std::max<int64_t>(8, rowsAtOnce)) {
          auto [target, isWritten] =
              memory.get(emit.add(row, block + more), column);
          for (int64_t first = 0; first < type.getDimSize(1);
               first += panels.getColumns()) {
            if (bound.excludes(first))
              continue;
            SmallVector<Value> words =
                loadChunk(emit, tile.getPointer(block + more,
                                                first / Panels::chunkColumns));
            storePiece(emit,
                       {target, 2 * first, words, isWritten,
                        static_cast<int64_t>(op.getAlignment())},
                       bound, first, panels.getColumns(), column);
          }
        }
    }
  }

  static SmallVector<Value> loadChunk(Emitter &emit, Value pointer) {
    auto vector = VectorType::get({4}, emit.builder.getI32Type());
    Value chunk = LLVM::LoadOp::create(emit.builder, emit.location, vector,
                                       pointer, Panels::chunkBytes);
    SmallVector<Value> words;
    for (int64_t word = 0; word < 4; ++word)
      words.push_back(LLVM::ExtractElementOp::create(
          emit.builder, emit.location, chunk, emit.constant(word)));
    return words;
  }
};

} // namespace

void mlir::fagpu::populateStorePatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelContext &kernel) {
  patterns.add<StoreByThreadsPattern>(converter, patterns.getContext(), kernel);
}
