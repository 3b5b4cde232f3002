//===- MmaPatterns.cpp - Products by mma.sync -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Products go by steps of 16 along the summed dimension. Fragments are read
// where they are used: the assembler overlaps the reads of a step with the step
// before.
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
  /// With `ofWarp`, each warp reads its own 16 rows.
  FragmentReader(Emitter &emit, const KernelContext &kernel, MmaOp op,
                 Value operand, Value address, MatrixOrder order, bool ofWarp,
                 NVVM::MMALayout layout)
      : emit(emit), layout(layout),
        tile(emit, kernel.getSharedBase(), getTile(operand, address),
             getPlace(emit, getTile(operand, address).panels,
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

  Emitter &emit;
  NVVM::MMALayout layout;
  TilePlace tile;
};

/// One product, step by step.
class Product {
public:
  Product(MmaOp op, Emitter &emit, const KernelContext &kernel, ValueRange a,
          ValueRange b, ValueRange accumulators)
      : emit(emit), result(cast<RankedTensorType>(op.getType())),
        element(op.getB().getType().getElementType()),
        transposed(op.getForm() == MatrixForm::nt),
        readerB(emit, kernel, op, op.getB(), b[0],
                transposed ? MatrixOrder::chunksFirst : MatrixOrder::rowsFirst,
                /*ofWarp=*/false,
                transposed ? NVVM::MMALayout::row : NVVM::MMALayout::col),
        sums(accumulators) {
    if (isa<ViewType>(op.getA().getType()))
      readerA.emplace(emit, kernel, op, op.getA(), a[0], MatrixOrder::rowsFirst,
                      /*ofWarp=*/true, NVVM::MMALayout::row);
    else
      llvm::append_range(registersA, a);
    depth = op.getB().getType().getShape()[transposed ? 1 : 0];
    warps = getBlockLayout(result).getWarps();
    if (sums.empty())
      sums.assign(registersPerThread(result),
                  LLVM::ConstantOp::create(emit.builder, emit.location,
                                           emit.builder.getF32FloatAttr(0)));
  }

  /// The registers of the result.
  SmallVector<Value> run() {
    for (int64_t number = 0; number < depth / 16; ++number)
      multiply(read(number));
    return sums;
  }

private:
  /// Fragments of 16 of the summed dimension: 16 rows of the result each, and
  /// 16 columns each.
  struct Step {
    SmallVector<SmallVector<Value>> rows, columns;
  };

  int64_t numRowBlocks() const { return result.getDimSize(0) / (16 * warps); }

  Step read(int64_t number) {
    Step step;
    for (int64_t block = 0; block < numRowBlocks(); ++block) {
      if (readerA) {
        step.rows.push_back(readerA->read(block * 16 * warps, 2 * number));
        continue;
      }
      auto first = registersA.begin() + block * depth / 4 + 4 * number;
      step.rows.push_back(SmallVector<Value>(first, first + 4));
    }
    for (int64_t block = 0; block < result.getDimSize(1) / 16; ++block)
      step.columns.push_back(transposed ? readerB.read(16 * block, 2 * number)
                                        : readerB.read(16 * number, 2 * block));
    return step;
  }

  void multiply(const Step &step) {
    int64_t perRowBlock = result.getDimSize(1) / 2;
    for (auto [column, b] : llvm::enumerate(step.columns))
      for (int64_t half : {0, 1})
        for (auto [row, a] : llvm::enumerate(step.rows))
          multiply(a, ValueRange(b).slice(2 * half, 2),
                   MutableArrayRef<Value>(sums).slice(
                       row * perRowBlock + (2 * column + half) * 4, 4));
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

  Emitter &emit;
  RankedTensorType result;
  Type element;
  /// Whether the second operand is stored as columns by depth.
  bool transposed;
  int64_t depth, warps;
  FragmentReader readerB;
  std::optional<FragmentReader> readerA;
  SmallVector<Value> registersA, sums;
};

/// Several products that read one view read it each for itself: LLVM would keep
/// the fragments of the whole view in registers from the first one to the last.
SmallVector<Value> readAgain(Emitter &emit, Value operand,
                             ValueRange registers) {
  SmallVector<Value> own(registers);
  auto view = dyn_cast<TypedValue<ViewType>>(operand);
  if (!view || llvm::count_if(view.getUsers(), llvm::IsaPred<MmaOp>) < 2)
    return own;
  own[0] = emit.inlinePTX("mov.b32 $0, $1;", "=r,r,~{memory}", {own[0]},
                          {emit.builder.getI32Type()})[0];
  return own;
}

struct MmaPattern : public LoweringPattern<MmaOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(MmaOp op, Adaptor adaptor, Emitter &emit) const override {
    Product product(
        op, emit, kernel, readAgain(emit, op.getA(), adaptor.getA()),
        readAgain(emit, op.getB(), adaptor.getB()), adaptor.getAcc());
    return {product.run()};
  }
};

} // namespace

void mlir::fagpu::populateMmaPatterns(RewritePatternSet &patterns,
                                      const TypeConverter &converter,
                                      const KernelContext &kernel) {
  patterns.add<MmaPattern>(converter, patterns.getContext(), kernel);
}
