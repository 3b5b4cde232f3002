//===- MmaPatterns.cpp - Products by mma.sync -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products go by steps of 16 along the summed dimension. Fragments are read
// where they are used: the assembler overlaps the reads of a step with the step
// before. Products that are summed go by steps together, some columns at a
// time: a fragment is read for all of them, and few sums are in registers
// twice. A branch that is never taken keeps one part of the columns apart from
// the next: the assembler moves instructions within basic blocks, and ran out
// of registers by reading fragments of several parts ahead.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "TilePlace.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// The four 8x8 matrices that one ldmatrix reads: 16 rows by 2 chunks of the
/// tile. Lanes give the addresses of rows, eight lanes for each matrix. The two
/// matrices along the summed dimension of a second operand have to be in
/// adjacent registers.
enum class MatrixOrder {
  /// The second matrix is 8 rows on, the third one chunk on.
  rowsFirst,
  /// The second matrix is one chunk on, the third 8 rows on.
  chunksFirst
};

/// Reads fragments of a view, which may be a slice: panels are as far apart as
/// those of the whole.
class FragmentReader {
public:
  /// With `ofWarp`, each warp reads its own 16 rows; with `ofColumns` its own
  /// 16 columns, which become rows.
  FragmentReader(Emitter &emit, const KernelContext &kernel, Operation *op,
                 Value operand, Value address, MatrixOrder order, bool ofWarp,
                 NVVM::MMALayout layout, bool ofColumns = false)
      : emit(emit), layout(layout),
        tile(emit, kernel.getSharedBase(), getTile(operand, address),
             ofColumns ? getPlaceOfColumns(emit, getTile(operand, address),
                                           kernel.getThreads(op))
                       : getPlace(emit, getTile(operand, address).panels,
                                  kernel.getThreads(op), order, ofWarp)) {}

  /// The registers of the matrices at 16 rows from `row` and 2 chunks from
  /// `chunk`.
  SmallVector<Value> read(int64_t row, int64_t chunk) {
    MLIRContext *context = emit.builder.getContext();
    Type i32 = emit.builder.getI32Type();
    auto matrices = LLVM::LLVMStructType::getLiteral(
        context, SmallVector<Type>(numMatrices, i32));
    Value loaded = NVVM::LdMatrixOp::create(
        emit.builder, emit.location, matrices, tile.getPointer(row, chunk),
        numMatrices, layout, NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
        NVVM::LdStMatrixEltType::B16);
    SmallVector<Value> registers;
    for (int64_t index = 0; index < numMatrices; ++index)
      registers.push_back(LLVM::ExtractValueOp::create(
          emit.builder, emit.location, loaded, index));
    return registers;
  }

private:
  static constexpr int64_t numMatrices = 4;

  /// The row that a lane points to, computed at the kernel's entry.
  static Value getPlace(Emitter &emit, const Panels &panels,
                        const RoleThreads &threads, MatrixOrder order,
                        bool ofWarp) {
    OpBuilder::InsertionGuard guard(emit.builder);
    emit.builder.setInsertionPointAfter(threads.isWarpLeader.getDefiningOp());
    Value upper = emit.shiftRight(threads.lane, 4);
    Value middle = emit.bitAnd(emit.shiftRight(threads.lane, 3), 1);
    bool rowsFirst = order == MatrixOrder::rowsFirst;
    Value row = emit.add(emit.bitAnd(threads.lane, 7),
                         emit.shiftLeft(rowsFirst ? middle : upper, 3));
    Value place =
        TilePlace::getPlace(emit, panels, row, rowsFirst ? upper : middle);
    if (!ofWarp)
      return place;
    return emit.add(place, emit.multiply(threads.warp, 16 * panels.rowBytes));
  }

  /// The same for two chunks of each warp, some panels on.
  static Value getPlaceOfColumns(Emitter &emit, const SharedTile &tile,
                                 const RoleThreads &threads) {
    OpBuilder::InsertionGuard guard(emit.builder);
    emit.builder.setInsertionPointAfter(threads.isWarpLeader.getDefiningOp());
    const Panels &panels = tile.panels;
    Value row = emit.add(emit.bitAnd(threads.lane, 7),
                         emit.shiftLeft(emit.shiftRight(threads.lane, 4), 3));
    Value chunk = emit.add(emit.bitAnd(emit.shiftRight(threads.lane, 3), 1),
                           emit.shiftLeft(threads.warp, 1));
    Value place = TilePlace::getPlace(
        emit, panels, row, emit.bitAnd(chunk, panels.getChunks() - 1));
    Value panel = emit.shiftRight(chunk, panels.getChunkBits());
    return emit.add(place, emit.multiply(panel, tile.rows * panels.rowBytes));
  }

  Emitter &emit;
  NVVM::MMALayout layout;
  TilePlace tile;
};

/// An operand of products, and its registers: the address of a view, or the
/// elements.
struct Operand {
  Value value;
  SmallVector<Value> registers;
};

/// The address of a view as one that LLVM knows nothing of: it would keep the
/// fragments of all of the view in registers from the first read to the last.
Operand readAgain(Emitter &emit, const Operand &operand) {
  if (!isa<ViewType>(operand.value.getType()))
    return operand;
  Operand own = operand;
  own.registers[0] =
      emit.inlinePTX("mov.b32 $0, $1;", "=r,r,~{memory}", {own.registers[0]},
                     {emit.builder.getI32Type()})[0];
  return own;
}

/// Fragments of a first operand, by 16 rows of each warp; of one that is stored
/// by columns, by 16 of these.
class RowFragments {
public:
  RowFragments(Emitter &emit, const KernelContext &kernel, Operation *op,
               const Operand &operand, int64_t warps, int64_t numBlocks,
               int64_t depth, bool ofColumns)
      : warps(warps), numBlocks(numBlocks), depth(depth), ofColumns(ofColumns) {
    if (isa<ViewType>(operand.value.getType()))
      reader.emplace(
          emit, kernel, op, operand.value, operand.registers[0],
          ofColumns ? MatrixOrder::chunksFirst : MatrixOrder::rowsFirst,
          /*ofWarp=*/true,
          ofColumns ? NVVM::MMALayout::col : NVVM::MMALayout::row, ofColumns);
    else
      registers = operand.registers;
  }

  /// Those of 16 of the summed dimension.
  SmallVector<SmallVector<Value>> read(int64_t number) {
    SmallVector<SmallVector<Value>> rows;
    for (int64_t block = 0; block < numBlocks; ++block) {
      if (reader) {
        rows.push_back(ofColumns
                           ? reader->read(16 * number, block * 2 * warps)
                           : reader->read(block * 16 * warps, 2 * number));
        continue;
      }
      auto first = registers.begin() + block * depth / 4 + 4 * number;
      rows.push_back(SmallVector<Value>(first, first + 4));
    }
    return rows;
  }

private:
  int64_t warps, numBlocks, depth;
  bool ofColumns;
  std::optional<FragmentReader> reader;
  SmallVector<Value> registers;
};

/// A sum of products, some columns after the other, and these step by step.
class Products {
public:
  using Pair = std::pair<int32_t, int32_t>;

  Products(Operation *op, MatrixForm form, Emitter &emit,
           const KernelContext &kernel, SmallVector<Operand> a,
           SmallVector<Operand> b, SmallVector<Pair> pairs, ValueRange acc)
      : op(op), emit(emit), kernel(kernel),
        result(cast<RankedTensorType>(op->getResult(0).getType())),
        firstTransposed(isFirstTransposed(form)),
        transposed(isSecondTransposed(form)), a(a), b(b), pairs(pairs),
        sums(acc) {
    auto type = cast<ViewType>(b.front().value.getType());
    element = type.getElementType();
    depth = type.getShape()[transposed ? 1 : 0];
    warps = getBlockLayout(result).getWarps();
    numRowBlocks = result.getDimSize(0) / (16 * warps);
    zero = LLVM::ConstantOp::create(emit.builder, emit.location,
                                    emit.builder.getF32FloatAttr(0));
    if (sums.empty())
      sums.assign(registersPerThread(result), zero);
  }

  /// The registers of the result.
  SmallVector<Value> run() {
    // Several sums of all columns would take too many registers.
    int64_t columns = result.getDimSize(1), width = columns;
    if (pairs.size() > 1)
      width =
          std::min(columns, sums.front() == zero ? columnsOfSum : columnsAdded);
    for (int64_t first = 0; first < columns; first += width) {
      if (first)
        emit.endBasicBlock();
      multiplyColumns(first, std::min(width, columns - first));
    }
    return sums;
  }

private:
  using Fragments = SmallVector<SmallVector<Value>>;

  /// Columns of several products at once: so many follow each other that do not
  /// wait for one another, and three sums of them are in registers.
  static constexpr int64_t columnsOfSum = 64;
  /// Of sums that are added to others, which are all in registers.
  static constexpr int64_t columnsAdded = 32;

  void multiplyColumns(int64_t first, int64_t number) {
    SmallVector<RowFragments> rows;
    for (const Operand &operand : a)
      rows.emplace_back(emit, kernel, op,
                        first ? readAgain(emit, operand) : operand, warps,
                        numRowBlocks, depth, firstTransposed);
    SmallVector<FragmentReader> columns;
    for (const Operand &operand : b)
      columns.emplace_back(
          emit, kernel, op, operand.value, operand.registers[0],
          transposed ? MatrixOrder::chunksFirst : MatrixOrder::rowsFirst,
          /*ofWarp=*/false,
          transposed ? NVVM::MMALayout::row : NVVM::MMALayout::col);
    // The last product of a sum, and the others.
    bool isSum = pairs.size() > 1;
    SmallVector<Value> last(isSum ? sums.size() : 0, zero), others = last;
    for (int64_t step = 0; step < depth / 16; ++step) {
      SmallVector<Fragments> left;
      for (RowFragments &each : rows)
        left.push_back(each.read(step));
      for (auto [side, reader] : llvm::enumerate(columns)) {
        Fragments right;
        for (int64_t column = first; column < first + number; column += 16)
          right.push_back(transposed ? reader.read(column, 2 * step)
                                     : reader.read(16 * step, column / 8));
        for (auto [index, pair] : llvm::enumerate(pairs))
          if (pair.second == static_cast<int32_t>(side))
            multiply(left[pair.first], right, first / 8,
                     !isSum                      ? sums
                     : index + 1 == pairs.size() ? last
                                                 : others);
      }
    }
    if (!isSum)
      return;
    add(last, others, first / 8, number / 8);
    add(sums, last, first / 8, number / 8);
  }

  /// The registers of 8 columns of a block of rows.
  MutableArrayRef<Value> getSums(SmallVector<Value> &of, int64_t rowBlock,
                                 int64_t octet) {
    int64_t perRowBlock = result.getDimSize(1) / 2;
    return MutableArrayRef<Value>(of).slice(rowBlock * perRowBlock + 4 * octet,
                                            4);
  }

  /// A product of 16 of the summed dimension, from this group of 8 columns on.
  void multiply(const Fragments &rows, const Fragments &columns, int64_t octet,
                SmallVector<Value> &into) {
    for (auto [column, fragment] : llvm::enumerate(columns))
      for (int64_t half : {0, 1})
        for (auto [row, rowFragment] : llvm::enumerate(rows))
          multiply(rowFragment, ValueRange(fragment).slice(2 * half, 2),
                   getSums(into, row, octet + 2 * column + half));
  }

  /// Adds the product of 16x16 by 16x8 to four sums.
  void multiply(ValueRange a, ValueRange b, MutableArrayRef<Value> into) {
    MLIRContext *context = emit.builder.getContext();
    auto type = element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
    Type f32 = emit.builder.getF32Type();
    auto fragment =
        LLVM::LLVMStructType::getLiteral(context, {f32, f32, f32, f32});
    Value product = NVVM::MmaOp::create(
        emit.builder, emit.location, fragment, toOperand(a), toOperand(b), into,
        ArrayRef<int64_t>{16, 8, 16}, /*b1Op=*/std::nullopt,
        /*intOverflow=*/std::nullopt, std::array<NVVM::MMATypes, 2>{type, type},
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                       NVVM::MMALayout::col});
    for (auto [index, value] : llvm::enumerate(into))
      value = LLVM::ExtractValueOp::create(emit.builder, emit.location, product,
                                           static_cast<int64_t>(index));
  }

  /// f16 operands are vectors, bf16 ones 32-bit integers.
  SmallVector<Value> toOperand(ValueRange registers) {
    if (element.isBF16())
      return registers;
    SmallVector<Value> operands;
    for (Value value : registers)
      operands.push_back(LLVM::BitcastOp::create(
          emit.builder, emit.location, VectorType::get({2}, element), value));
    return operands;
  }

  /// Adds groups of 8 columns to others.
  void add(SmallVector<Value> &to, SmallVector<Value> &from, int64_t firstOctet,
           int64_t numOctets) {
    for (int64_t row = 0; row < numRowBlocks; ++row)
      for (int64_t octet = firstOctet; octet < firstOctet + numOctets; ++octet)
        for (auto [sum, value] :
             llvm::zip(getSums(to, row, octet), getSums(from, row, octet)))
          sum = sum == zero ? value
                            : LLVM::FAddOp::create(emit.builder, emit.location,
                                                   sum, value)
                                  .getResult();
  }

  Operation *op;
  Emitter &emit;
  const KernelContext &kernel;
  RankedTensorType result;
  Type element;
  /// Whether the first operand is stored as depth by rows, and the second one
  /// as columns by depth.
  bool firstTransposed, transposed;
  SmallVector<Operand> a, b;
  SmallVector<Pair> pairs;
  SmallVector<Value> sums;
  int64_t depth, warps, numRowBlocks;
  Value zero;
};

/// Several products that read one view read it each for itself.
Operand getOperand(Emitter &emit, Value value, ValueRange registers) {
  Operand operand = {value, SmallVector<Value>(registers)};
  auto view = dyn_cast<TypedValue<ViewType>>(value);
  bool isReadAgain = view && llvm::count_if(view.getUsers(),
                                            llvm::IsaPred<MmaOp, MmaSumOp>) > 1;
  return isReadAgain ? readAgain(emit, operand) : operand;
}

struct MmaPattern : public LoweringPattern<MmaOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(MmaOp op, Adaptor adaptor, Emitter &emit) const override {
    Products product(op, op.getForm(), emit, kernel,
                     {getOperand(emit, op.getA(), adaptor.getA())},
                     {getOperand(emit, op.getB(), adaptor.getB())}, {{0, 0}},
                     adaptor.getAcc());
    return {product.run()};
  }
};

struct MmaSumPattern : public LoweringPattern<MmaSumOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(MmaSumOp op, Adaptor adaptor, Emitter &emit) const override {
    auto getOperands = [&](ValueRange values, ArrayRef<ValueRange> registers) {
      SmallVector<Operand> operands;
      for (auto [value, ofValue] : llvm::zip_equal(values, registers))
        operands.push_back(getOperand(emit, value, ofValue));
      return operands;
    };
    SmallVector<Products::Pair> pairs;
    for (auto [left, right] : llvm::zip_equal(op.getLeft(), op.getRight()))
      pairs.push_back({left, right});
    Products products(
        op, op.getForm(), emit, kernel, getOperands(op.getA(), adaptor.getA()),
        getOperands(op.getB(), adaptor.getB()), pairs, adaptor.getAcc());
    return {products.run()};
  }
};

} // namespace

void mlir::fagpu::populateMmaPatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter,
                                      const KernelContext &kernel) {
  patterns.add<MmaPattern, MmaSumPattern>(converter, patterns.getContext(),
                                          kernel);
}
