//===- TilePlace.h - A thread's place in a tile -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_TILEPLACE_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_TILEPLACE_H

#include "SharedTile.h"

namespace mlir::fagpu {

/// A thread's place in a tile, see SharedTile: one chunk of 16 bytes, from
/// which it reaches others by immediates and an xor of the chunk.
class TilePlace {
public:
  /// Offset of a thread's place from the start of the tile, in bytes.
  static Value getPlace(Emitter &emit, const Panels &panels, Value row,
                        Value chunk) {
    Value swizzled = emit.bitXor(chunk, panels.getPhase(emit, row));
    return emit.add(emit.shiftLeft(row, panels.getRowBits()),
                    emit.shiftLeft(swizzled, 4));
  }

  /// A place in a tile, in the shared memory from `base` on.
  TilePlace(Emitter &emit, Value base, const SharedTile &tile, Value place)
      : emit(emit), base(base), inMemory(emit.subtract(tile.address, base)),
        place(place), rows(tile.rows), panels(tile.panels) {}

  /// The place `row` rows and `chunk` chunks on. `row` is a multiple of 8, and
  /// `chunk` has no bit in common with the chunks of the threads' places.
  Value getPointer(int64_t row, int64_t chunk) {
    int64_t inPanel = chunk % panels.getChunks();
    if (!ofChunk[inPanel])
      ofChunk[inPanel] = advance(getPlaceOfChunk(inPanel), inMemory);
    int64_t bytes = (row + chunk / panels.getChunks() * rows) * panels.rowBytes;
    return advance(ofChunk[inPanel], static_cast<int32_t>(bytes));
  }

  /// Stores the registers of an accumulator of 16-bit elements, a pair at a
  /// time, on any target. The lanes of a warp meet no bank twice.
  static void storeWords(Emitter &emit, Value base, const SharedTile &target,
                         const RoleThreads &threads, RankedTensorType type,
                         ValueRange values) {
    Value row = emit.add(emit.shiftLeft(threads.warp, 4),
                         emit.shiftRight(threads.lane, 2));
    Value inChunk = emit.shiftLeft(emit.bitAnd(threads.lane, 3), 2);
    Value place =
        emit.add(getPlace(emit, target.panels, row, emit.constant(0)), inChunk);
    TilePlace tile(emit, base, target, place);
    LayoutInterface layout = getBlockLayout(type);
    for (auto [pair, value] : llvm::enumerate(values)) {
      SmallVector<int64_t> at =
          layout.getElementOffset(type.getShape(), 2 * pair);
      LLVM::StoreOp::create(
          emit.builder, emit.location, value,
          tile.getPointer(at[0], at[1] / Panels::chunkColumns));
    }
  }

private:
  /// All tiles share the places of a thread, so these are in few registers;
  /// what is added to a pointer and constant is an immediate of the access.
  Value getPlaceOfChunk(int64_t chunk) {
    Value ofThread =
        chunk ? emit.bitXor(place, emit.constant(chunk << 4)) : place;
    return emit.sharedPointer(emit.add(base, ofThread));
  }

  Value advance(Value pointer, LLVM::GEPArg bytes) {
    return LLVM::GEPOp::create(emit.builder, emit.location, pointer.getType(),
                               emit.builder.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes});
  }

  Emitter &emit;
  Value base, inMemory, place;
  int64_t rows;
  Panels panels;
  /// Where the chunks of the same row are.
  std::array<Value, 8> ofChunk;
};

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_TILEPLACE_H
