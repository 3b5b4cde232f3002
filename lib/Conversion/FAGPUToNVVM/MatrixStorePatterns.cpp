//===- MatrixStorePatterns.cpp - Matrices from registers to memory --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalStores.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Words of the four lanes of a quad as a 4x4 matrix, lanes by words,
/// transposed: what each lane held of four chunks of columns becomes one chunk
/// a lane.
static void transposeQuad(Emitter &emit, Value lane,
                          MutableArrayRef<Value> words) {
  for (int64_t distance : {2, 1}) {
    Value isUpper = emit.equal(
        emit.bitAnd(emit.shiftRight(lane, distance - 1), 1), emit.constant(1));
    auto select = [&](Value upper, Value lower) -> Value {
      return arith::SelectOp::create(emit.builder, emit.location, isUpper,
                                     upper, lower);
    };
    for (int64_t first = 0; first < 4; ++first) {
      if (first & distance)
        continue;
      Value &low = words[first], &high = words[first + distance];
      Value other = emit.shuffleButterfly(select(low, high), distance);
      Value newLow = select(other, low);
      high = select(high, other);
      low = newLow;
    }
  }
}

namespace {

/// A matrix of accumulator order, stored by the threads that hold it, by
/// predicates, since a branch would make the loop around it divergent. Quads
/// exchange 16-bit elements, so that each lane stores 16 bytes at once.
struct StoreMatrixPattern : public LoweringPattern<StoreOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(StoreOp op) const override {
    return !op.getVia() && !op.getFragments() &&
           isa<AccumulatorLayoutAttr>(blockType(op.getValue()).getEncoding());
  }

  Registers lower(StoreOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getValue().getType());
    bool isPacked = isPackedElement(type.getElementType());
    ValueRange values = adaptor.getValue();
    int64_t registersPerColumns = isPacked ? 1 : 2;
    int64_t numColumns = type.getDimSize(1);
    int64_t rowsAtOnce = 16 * getBlockLayout(type).getWarps();
    for (int64_t first = 0; first < type.getDimSize(0); first += rowsAtOnce) {
      for (int64_t half : {0, 1}) {
        // Registers of this row: those of each block of 8 columns in turn.
        SmallVector<Value> ofRow;
        for (int64_t block = 0; block < numColumns / 8; ++block)
          llvm::append_range(
              ofRow, values.slice((2 * block + half) * registersPerColumns,
                                  registersPerColumns));
        storeRow(emit, op, adaptor, first + 8 * half, ofRow, isPacked);
      }
      values = values.drop_front(numColumns / 4 * registersPerColumns);
    }
    return {};
  }

private:
  void storeRow(Emitter &emit, StoreOp op, Adaptor adaptor, int64_t rowOffset,
                MutableArrayRef<Value> values, bool isPacked) const {
    const RoleThreads &threads = kernel.getThreads(op);
    SmallVector<Value> indices =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    Value ofThread = emit.add(emit.shiftLeft(threads.warp, 4),
                              emit.shiftRight(threads.lane, 2));
    Value row = addRow(emit, op, indices, emit.add(ofThread, rowOffset));
    Value isStored;
    if (!adaptor.getRows().empty())
      isStored = arith::CmpIOp::create(emit.builder, op.getLoc(),
                                       arith::CmpIPredicate::slt, row,
                                       adaptor.getRows().front());
    ColumnBound bound(getOptional(adaptor.getColumns()), indices.back());
    Value inQuad = emit.bitAnd(threads.lane, 3);
    auto storeAll = [&](ValueRange words, int64_t perStore, int64_t first,
                        int64_t columnsOfLane) {
      if (words.empty())
        return;
      Value column = emit.multiply(inQuad, columnsOfLane);
      SmallVector<Value> at(indices);
      at.back() = emit.add(at.back(), column);
      Value address = getAddress(emit.builder, op.getLoc(), kernel,
                                 op.getDestination(), at);
      int64_t bytes = isPacked ? 2 : 4, span = 4 * columnsOfLane;
      int64_t alignment = op.getAlignment();
      if (op.getAdd())
        alignment = std::min(alignment, getBytesPerAdd(op));
      for (; !words.empty(); words = words.drop_front(perStore), first += span)
        storePiece(emit,
                   {address, bytes * first, words.take_front(perStore),
                    isStored, alignment, op.getAdd()},
                   bound, first, span, column);
    };
    // A lane stores a chunk of 8 columns of each 32, or a pair of each 8.
    int64_t whole = isPacked ? values.size() / 4 * 4 : 0;
    for (int64_t first = 0; first < whole; first += 4)
      transposeQuad(emit, inQuad, values.slice(first, 4));
    storeAll(values.take_front(whole), 4, 0, 8);
    storeAll(values.drop_front(whole), isPacked ? 1 : 2, 8 * whole, 2);
  }
};

} // namespace

void mlir::fagpu::populateMatrixStorePatterns(RewritePatternSet &patterns,
                                              const TypeConverter &converter,
                                              const KernelContext &kernel) {
  patterns.add<StoreMatrixPattern>(converter, patterns.getContext(), kernel);
}
