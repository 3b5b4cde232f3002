//===- SharedTile.cpp - Matrix tiles in shared memory ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves a block value between registers and a swizzled tile in shared memory,
// four 8x8 matrices at once (ldmatrix, stmatrix). `forEachFour` goes through
// the tile and swizzles its addresses by exclusive or; read it first, then
// `store` and `load`, which are the access at each place.
//
//===----------------------------------------------------------------------===//

#include "SharedTile.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fagpu;

SharedTile mlir::fagpu::getTile(Value view, Value address) {
  auto whole = cast<ViewType>(getWholeView(view).getType());
  return {address, whole.getShape()[0], Panels(whole.getLayout())};
}

SharedTile SharedTile::at(Emitter &emit, Value row, Value column) const {
  int64_t rowBytes = panels.rowBytes;
  Value panel = emit.shiftRight(column, llvm::Log2_64(panels.getColumns()));
  Value offset = emit.add(emit.multiply(panel, rows * rowBytes),
                          emit.multiply(row, rowBytes));
  return {emit.add(address, offset), rows, panels};
}

/// The value of an index that is computed from constants.
static std::optional<int64_t> getKnown(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return number;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::ShRUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> a = getKnown(op->getOperand(0)),
                         b = getKnown(op->getOperand(1));
  if (!a || !b || *a < 0)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *a + *b;
  return isa<arith::MulIOp>(op) ? *a * *b : *a >> *b;
}

/// Takes what is known off a sum, and returns it. The sum is null if that was
/// all.
static int64_t takeKnown(Emitter &emit, Value &sum) {
  if (std::optional<int64_t> known = getKnown(sum)) {
    sum = Value();
    return *known;
  }
  auto add = sum.getDefiningOp<arith::AddIOp>();
  if (!add)
    return 0;
  Value a = add.getLhs(), b = add.getRhs();
  int64_t known = takeKnown(emit, a) + takeKnown(emit, b);
  if (known)
    sum = a && b ? emit.add(a, b) : a ? a : b;
  return known;
}

// Four 8x8 matrices at once, 16 rows by 16 columns of the value. A lane gives
// the address of one row of one of them: matrices are held first by row, then
// by column, and so are the groups of eight lanes that address them.
void SharedTile::forEachFour(
    Emitter &emit, const RoleThreads &threads, RankedTensorType type,
    bool transposed, llvm::function_ref<void(Value pointer)> access) const {
  int64_t numRows = type.getDimSize(0), numColumns = type.getDimSize(1);
  int64_t rowsAtOnce = 16 * getBlockLayout(type).getWarps();
  Value warpRow = emit.shiftLeft(threads.warp, 4);
  Value matrixRow = emit.bitAnd(threads.lane, 7);
  Value lowerMatrix = emit.bitAnd(emit.shiftRight(threads.lane, 3), 1);
  Value rightMatrix = emit.shiftRight(threads.lane, 4);

  // Where the lane's row lies in the tile, and the first chunk of it.
  Value row, firstChunk;
  if (transposed) {
    row = emit.add(emit.shiftLeft(rightMatrix, 3), matrixRow);
    firstChunk = emit.add(emit.shiftRight(warpRow, 3), lowerMatrix);
  } else {
    row = emit.add(warpRow, emit.bitAnd(threads.lane, 15));
    firstChunk = rightMatrix;
  }
  // The chunk is in bits of its own, and chunks that follow differ from the
  // first one by an exclusive or.
  Value swizzled = emit.bitXor(firstChunk, panels.getPhase(emit, matrixRow));
  // Tiles that are written once each have most of their addresses in common.
  bool isOne = numRows == rowsAtOnce && numColumns == 16;
  Value first = address;
  int64_t known = isOne ? takeKnown(emit, first) : 0;
  if (!first || known % 128) {
    first = address;
    known = 0;
  }
  Value start = emit.add(emit.add(first, emit.multiply(row, panels.rowBytes)),
                         emit.shiftLeft(swizzled, 4));
  // Opaque to LLVM, which would hoist every address into a register of its own.
  start = emit.inlinePTX("mov.b32 $0, $1;", "=r,r", {start},
                         {emit.builder.getI32Type()})[0];
  auto accessAt = [&](int64_t moreRows, int64_t moreChunks) {
    int64_t panel = moreChunks / panels.getChunks();
    int64_t inPanel = moreChunks % panels.getChunks();
    Value chunk =
        emit.sharedPointer(emit.bitXor(start, emit.constant(16 * inPanel)));
    // A constant offset of the pointer needs no register.
    auto offset = static_cast<int32_t>(
        (panel * rows + moreRows) * panels.rowBytes + known);
    access(LLVM::GEPOp::create(emit.builder, emit.location, chunk.getType(),
                               emit.builder.getI8Type(), chunk,
                               ArrayRef<LLVM::GEPArg>{offset}));
  };
  for (int64_t first = 0; first < numRows; first += rowsAtOnce)
    for (int64_t column = 0; column < numColumns; column += 16) {
      if (transposed)
        accessAt(column, first / 8);
      else
        accessAt(first, column / 8);
    }
}

void SharedTile::store(Emitter &emit, const RoleThreads &threads,
                       RankedTensorType type, ValueRange registers,
                       bool transposed) const {
  auto shape = NVVM::LdStMatrixShapeAttr::get(emit.builder.getContext(), 8, 8);
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  forEachFour(emit, threads, type, transposed, [&](Value pointer) {
    NVVM::StMatrixOp::create(emit.builder, emit.location, pointer,
                             registers.take_front(4), layout, shape,
                             NVVM::LdStMatrixEltType::B16);
    registers = registers.drop_front(4);
  });
}

// Pairs of columns, of which two fill a chunk: a warp stores 8 rows of two
// chunks at once, each quarter of it to other banks.
void SharedTile::storeFloats(Emitter &emit, const RoleThreads &threads,
                             RankedTensorType type,
                             ValueRange registers) const {
  LayoutInterface layout = getBlockLayout(type);
  Value row = emit.shiftRight(threads.lane, 2);
  Value inQuad = emit.bitAnd(threads.lane, 3);
  Value phase = panels.getPhase(emit, row);
  Value ofThread =
      emit.add(emit.multiply(emit.add(emit.shiftLeft(threads.warp, 4), row),
                             panels.rowBytes),
               emit.shiftLeft(emit.bitAnd(inQuad, 1), 3));
  Value start = emit.add(address, ofThread);
  auto pair = VectorType::get({2}, emit.builder.getF32Type());
  for (size_t first = 0; first < registers.size(); first += 2) {
    SmallVector<int64_t> at = layout.getElementOffset(type.getShape(), first);
    int64_t panel = at[1] / panels.getColumns();
    int64_t chunk = at[1] % panels.getColumns() / 4;
    Value swizzled =
        emit.bitXor(emit.add(emit.shiftRight(inQuad, 1), chunk), phase);
    Value place = emit.add(emit.add(start, emit.shiftLeft(swizzled, 4)),
                           (panel * rows + at[0]) * panels.rowBytes);
    Value values = LLVM::PoisonOp::create(emit.builder, emit.location, pair);
    for (int64_t index : {0, 1})
      values = LLVM::InsertElementOp::create(emit.builder, emit.location,
                                             values, registers[first + index],
                                             emit.constant(index));
    LLVM::StoreOp::create(emit.builder, emit.location, values,
                          emit.sharedPointer(place), /*alignment=*/8);
  }
}

SmallVector<Value> SharedTile::load(Emitter &emit, const RoleThreads &threads,
                                    RankedTensorType type,
                                    bool transposed) const {
  MLIRContext *context = emit.builder.getContext();
  auto shape = NVVM::LdStMatrixShapeAttr::get(context, 8, 8);
  Type four = LLVM::LLVMStructType::getLiteral(
      context, SmallVector<Type>(4, emit.builder.getI32Type()));
  SmallVector<Value> registers;
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  forEachFour(emit, threads, type, transposed, [&](Value pointer) {
    Value loaded = NVVM::LdMatrixOp::create(emit.builder, emit.location, four,
                                            pointer, /*num=*/4, layout, shape,
                                            NVVM::LdStMatrixEltType::B16);
    for (int64_t index = 0; index < 4; ++index)
      registers.push_back(LLVM::ExtractValueOp::create(
          emit.builder, emit.location, loaded, index));
  });
  return registers;
}
