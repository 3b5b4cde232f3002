//===- MatrixStorePatterns.cpp - Matrices from registers to memory --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers fagpu.store of a matrix in accumulator order. Read the pattern's
// `lower`, which goes over the rows of a thread, then `storeRow`: it exchanges
// elements (`transposeLanes`), so that a lane has 16 bytes side by side, and
// stores each piece by a predicate. `storeTransposed` does the same where rows
// of the value are columns of the memory.
//
//===----------------------------------------------------------------------===//

#include "GlobalStores.h"
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Words of four lanes, `stride` apart, as a 4x4 matrix, lanes by words,
/// transposed. `lane` is the number of a lane among the four in its lowest two
/// bits.
static void transposeLanes(Emitter &emit, Value lane, int64_t stride,
                           MutableArrayRef<Value> words) {
  for (int64_t distance : {2, 1}) {
    Value isUpper = emit.equal(
        emit.bitAnd(emit.shiftRight(lane, distance - 1), 1), emit.constant(1));
    auto select = [&](Value upper, Value lower) {
      return emit.select(isUpper, upper, lower);
    };
    for (int64_t first = 0; first < 4; ++first) {
      if (first & distance)
        continue;
      Value &low = words[first], &high = words[first + distance];
      Value other = emit.shuffleButterfly(select(low, high), stride * distance);
      Value newLow = select(other, low);
      high = select(high, other);
      low = newLow;
    }
  }
}

/// How many columns are in memory together or not at all: rows that are aligned
/// and have nothing between them are as long as their alignment allows.
static int64_t getWholeColumns(StoreOp op) {
  Value columns = op.getColumns();
  if (auto cast =
          columns ? columns.getDefiningOp<arith::IndexCastOp>() : nullptr)
    columns = cast.getIn();
  auto dim = columns ? columns.getDefiningOp<memref::DimOp>() : nullptr;
  auto type = cast<MemRefType>(op.getDestination().getType());
  bool endsRows = dim && dim.getSource() == op.getDestination() &&
                  dim.getConstantIndex() == type.getRank() - 1;
  return endsRows && type.getLayout().isIdentity()
             ? op.getAlignment() * 8 / type.getElementTypeBitWidth()
             : 1;
}

namespace {

/// A matrix of accumulator order, stored by the threads that hold it, by
/// predicates, since a branch would make the loop around it divergent. Quads
/// exchange 16-bit elements, so that each lane stores 16 bytes at once; so do
/// lanes of neighbouring rows where these are columns of the memory.
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
      if (op.getTransposed()) {
        storeTransposed(emit, op, adaptor, first,
                        SmallVector<Value>(values.take_front(numColumns / 2)));
        values = values.drop_front(numColumns / 2);
        continue;
      }
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
    Value row = addRow(emit, op, indices, ofThread, rowOffset);
    Value isStored;
    if (!adaptor.getRows().empty())
      isStored = emit.isLess(row, adaptor.getRows().front());
    ColumnBound bound = getBound(op, adaptor, indices.back());
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
      for (; !words.empty(); words = words.drop_front(perStore), first += span)
        storePiece(emit,
                   {address, bytes * first, words.take_front(perStore),
                    isStored, getBytesAtOnce(op), op.getAdd()},
                   bound, first, span, column);
    };
    // A lane stores a chunk of 8 columns of each 32, or a pair of each 8.
    int64_t whole = isPacked ? values.size() / 4 * 4 : 0;
    for (int64_t first = 0; first < whole; first += 4)
      transposeLanes(emit, inQuad, /*stride=*/1, values.slice(first, 4));
    storeAll(values.take_front(whole), 4, 0, 8);
    storeAll(values.drop_front(whole), isPacked ? 1 : 2, 8 * whole, 2);
  }

  /// A thread holds two rows and two columns of each eight columns. Four lanes
  /// with the same columns, of four rows, exchange these: each then has four
  /// rows of one column, which are beside each other in memory.
  void storeTransposed(Emitter &emit, StoreOp op, Adaptor adaptor,
                       int64_t first, MutableArrayRef<Value> values) const {
    const RoleThreads &threads = kernel.getThreads(op);
    auto moveBit = [&](int64_t from, int64_t to) {
      Value bit = emit.bitAnd(emit.shiftRight(threads.lane, from), 1);
      return emit.shiftLeft(bit, to);
    };
    Value among = emit.shiftRight(threads.lane, 2);
    Value row = emit.add(emit.shiftLeft(emit.bitAnd(threads.lane, 3), 1),
                         moveBit(2, 0));
    Value column = emit.add(emit.add(moveBit(3, 3), moveBit(4, 2)),
                            emit.shiftLeft(threads.warp, 4));
    SmallVector<Value> indices =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    ColumnBound bound = getBound(op, adaptor, indices.back());
    unsigned rowDim = op.getRowDim();
    Value firstRow = emit.add(indices[rowDim], row);
    indices[rowDim] = firstRow;
    indices.back() = emit.add(indices.back(), column);
    Value address = getAddress(emit.builder, op.getLoc(), kernel,
                               op.getDestination(), indices);
    Value toNext = arith::MulIOp::create(
        emit.builder, op.getLoc(),
        kernel.getStride(emit.builder, op.getDestination(), rowDim),
        emit.constant64(8));
    int64_t columnsAtOnce =
        16 * getBlockLayout(blockType(op.getValue())).getWarps();
    for (int64_t block = 0; !values.empty();
         ++block, values = values.drop_front(4)) {
      MutableArrayRef<Value> words = values.take_front(4);
      transposeLanes(emit, among, /*stride=*/4, words);
      Value isStored;
      if (Value rows = getOptional(adaptor.getRows()))
        isStored = emit.isLess(emit.add(firstRow, 8 * block), rows);
      if (block)
        address = LLVM::GEPOp::create(
            emit.builder, op.getLoc(), address.getType(),
            emit.builder.getF32Type(), address, ArrayRef<LLVM::GEPArg>{toNext});
      storePiece(emit,
                 {address, 4 * first, words, isStored, getBytesAtOnce(op),
                  op.getAdd()},
                 bound, first, columnsAtOnce, column);
    }
  }

  static int64_t getBytesAtOnce(StoreOp op) {
    int64_t alignment = op.getAlignment();
    return op.getAdd() ? std::min(alignment, getBytesPerAdd(op)) : alignment;
  }

  static ColumnBound getBound(StoreOp op, Adaptor adaptor, Value offset) {
    return ColumnBound(getOptional(adaptor.getColumns()), offset,
                       getWholeColumns(op));
  }
};

} // namespace

void mlir::fagpu::populateMatrixStorePatterns(RewritePatternSet &patterns,
                                              const TypeConverter &converter,
                                              const KernelContext &kernel) {
  patterns.add<StoreMatrixPattern>(converter, patterns.getContext(), kernel);
}
