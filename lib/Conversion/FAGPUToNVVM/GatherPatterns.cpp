//===- GatherPatterns.cpp - Elements at indices of their own ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers fagpu.gather, which loads each element from its own index, and
// fagpu.extremes. Loads are predicated, not branched over; neighbouring
// columns are loaded in pairs where alignment allows. Read
// `GatherPattern::lower` first, then `getConsecutive`.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fagpu;

/// An i1 in memory is a byte.
static bool isByte(Type element) {
  return element.isInteger(8) || element.isInteger(1);
}

static bool isWide(Type element) {
  return element.isF64() || element.isInteger(64);
}

LogicalResult mlir::fagpu::verifySource(Operation *op, Value source) {
  auto argument = dyn_cast<BlockArgument>(source);
  if (!source.getDefiningOp<memref::GetGlobalOp>() &&
      !(argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())))
    return op->emitOpError()
           << "reads memory that is no argument of the kernel and no constant, "
              "so its address is not known";
  return success();
}

LogicalResult mlir::fagpu::verifyGather(GatherOp gather) {
  if (failed(verifySource(gather, gather.getSource())))
    return failure();
  Type element = gather.getType().getElementType();
  if (element.isF32() || element.isInteger(32) || isByte(element) ||
      isWide(element) || isPackedElement(element))
    return success();
  return gather.emitOpError()
         << "reads elements of " << element
         << ", expected f32, f64, f16, bf16, i32, i64, i8 or i1";
}

/// The index of the block that consecutive elements in memory are at, where
/// `gather` reads those; null elsewhere. All other indices are scalars then.
static IotaOp getConsecutive(GatherOp gather) {
  auto source = cast<MemRefType>(gather.getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(source.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1 ||
      llvm::any_of(gather.getIndices().drop_back(), [](Value index) {
        return getBlockLayout(index.getType()) != nullptr;
      }))
    return {};
  auto sum = gather.getIndices().back().getDefiningOp<arith::AddIOp>();
  if (!sum)
    return {};
  Value first = sum.getLhs(), second = sum.getRhs();
  if (first.getDefiningOp<tensor::SplatOp>())
    std::swap(first, second);
  auto iota = first.getDefiningOp<IotaOp>();
  bool isRun = iota && iota.getPart() == IndexPart::all &&
               second.getDefiningOp<tensor::SplatOp>();
  return isRun ? iota : IotaOp();
}

namespace {

/// One load for each element, by a predicate where there is a mask: a branch
/// would make the loop around it divergent.
struct GatherPattern : public LoweringPattern<GatherOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(GatherOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getType());
    Type element = type.getElementType();
    ValueRange mask = adaptor.getMask();
    int64_t elements = getBlockLayout(type).perThread(type.getShape());
    SmallVector<Value> results;
    if (op.getPairs() && element.isF32())
      return {loadRows(op, adaptor, emit)};
    if (op.getPairs() && isPackedElement(element))
      return {loadPacked(op, adaptor, emit)};
    IotaOp consecutive = getConsecutive(op);
    Value first;
    for (int64_t index = 0; index < elements; ++index) {
      Value address = first && consecutive
                          ? addressAfter(emit, type, consecutive, first, index)
                          : addressElement(op, adaptor, emit, index);
      first = first ? first : address;
      results.push_back(loadElement(emit, getLoad(op), element, address,
                                    op.getMask() ? mask[index] : Value()));
    }
    if (isPackedElement(element))
      results = packPairs(emit, results);
    return {results};
  }

private:
  /// The address of an element, `before` columns ahead of it.
  Value addressElement(GatherOp op, Adaptor adaptor, Emitter &emit,
                       int64_t index, int64_t before = 0) const {
    SmallVector<Value> indices;
    for (auto [operand, values] :
         llvm::zip_equal(op.getIndices(), adaptor.getIndices()))
      indices.push_back(getBlockLayout(operand.getType()) ? values[index]
                                                          : values.front());
    if (before)
      indices.back() = emit.add(indices.back(), -before);
    return getAddress(emit.builder, emit.location, kernel, op.getSource(),
                      indices);
  }

  /// At a constant distance from the thread's first element.
  static Value addressAfter(Emitter &emit, RankedTensorType type, IotaOp iota,
                            Value first, int64_t index) {
    LayoutInterface layout = getBlockLayout(type);
    auto offset = [&](int64_t element) {
      return layout.getElementOffset(type.getShape(), element)[iota.getDim()];
    };
    return LLVM::GEPOp::create(emit.builder, emit.location, first.getType(),
                               type.getElementType(), first,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(
                                   offset(index) - offset(0))});
  }

  static Value orTrue(Emitter &emit, Value predicate) {
    if (predicate)
      return predicate;
    return arith::ConstantOp::create(emit.builder, emit.location,
                                     emit.builder.getBoolAttr(true));
  }

  /// What is added to all numbers of columns.
  static int64_t getFirstColumn(GatherOp op) {
    auto sum = op.getIndices().back().getDefiningOp<arith::AddIOp>();
    DenseIntElementsAttr number;
    if (sum && matchPattern(sum.getRhs(), m_Constant(&number)) &&
        number.isSplat())
      return number.getSplatValue<APInt>().getSExtValue();
    return 0;
  }

  /// Pairs of columns, each at a constant distance from the first of its row,
  /// of which the address is that of other gathers from these rows.
  SmallVector<Value> loadRows(GatherOp op, Adaptor adaptor,
                              Emitter &emit) const {
    RankedTensorType type = op.getType();
    LayoutInterface layout = getBlockLayout(type);
    int64_t firstColumn = getFirstColumn(op);
    llvm::SmallDenseMap<int64_t, std::pair<Value, int64_t>> rows;
    SmallVector<Value> results;
    for (int64_t index = 0, end = layout.perThread(type.getShape());
         index < end; index += 2) {
      SmallVector<int64_t> at = layout.getElementOffset(type.getShape(), index);
      // Numbers of columns are one row.
      int64_t column = at.back(), ofRow = at.size() > 1 ? at.front() : 0;
      auto [row, isNew] = rows.try_emplace(ofRow, Value(), column);
      if (isNew)
        row->second.first =
            addressElement(op, adaptor, emit, index, firstColumn);
      auto [first, firstOfRow] = row->second;
      llvm::append_range(
          results, loadPair(emit, getLoad(op), first,
                            4 * (column - firstOfRow + firstColumn),
                            op.getMask() ? adaptor.getMask()[index] : Value()));
    }
    return results;
  }

  /// Pairs of 16-bit elements, which are the words of a packed value.
  SmallVector<Value> loadPacked(GatherOp op, Adaptor adaptor,
                                Emitter &emit) const {
    RankedTensorType type = op.getType();
    int64_t elements = getBlockLayout(type).perThread(type.getShape());
    std::string text =
        ("mov.b32 $0, 0; @$2 " + getLoad(op) + ".b32 $0, [$1];").str();
    SmallVector<Value> results;
    for (int64_t index = 0; index < elements; index += 2) {
      Value mask = op.getMask() ? adaptor.getMask()[index] : Value();
      llvm::append_range(
          results, emit.inlinePTX(text, "=&r,l,b",
                                  {addressElement(op, adaptor, emit, index),
                                   orTrue(emit, mask)},
                                  emit.builder.getI32Type()));
    }
    return results;
  }

  /// The assembler moves loads of memory that nobody writes ahead of barriers
  /// and out of loops.
  static StringRef getLoad(GatherOp op) {
    return op.getInOrder() ? "ld.global" : "ld.global.nc";
  }

  /// Two columns of one row, at `offset` bytes from the address.
  static SmallVector<Value> loadPair(Emitter &emit, StringRef load,
                                     Value address, int64_t offset,
                                     Value predicate) {
    Type f32 = emit.builder.getF32Type();
    std::string text = ("mov.b32 $0, 0; mov.b32 $1, 0; @$3 " + load +
                        ".v2.b32 {$0, $1}, [$2 + " + Twine(offset) + "];")
                           .str();
    return emit.inlinePTX(text, "=&f,=&f,l,b",
                          {address, orTrue(emit, predicate)}, {f32, f32});
  }

  /// 16-bit floats come as the lower half of 32 bits.
  static Value loadElement(Emitter &emit, StringRef load, Type element,
                           Value address, Value predicate) {
    // $0 is the result, $1 the address, $2 the predicate.
    std::string text;
    StringRef constraints;
    Type result = emit.builder.getI32Type();
    if (isPackedElement(element)) {
      text = ("{ .reg .b16 x; mov.b16 x, 0; @$2 " + load +
              ".b16 x, [$1]; cvt.u32.u16 $0, x; }")
                 .str();
      constraints = "=r,l,b";
    } else if (isByte(element)) {
      text = ("mov.b32 $0, 0; @$2 " + load + ".u8 $0, [$1];").str();
      constraints = "=&r,l,b";
    } else if (isWide(element)) {
      text = ("mov.b64 $0, 0; @$2 " + load + ".b64 $0, [$1];").str();
      constraints = element.isF64() ? "=&d,l,b" : "=&l,l,b";
      result = element;
    } else {
      text = ("mov.b32 $0, 0; @$2 " + load + ".b32 $0, [$1];").str();
      constraints = element.isF32() ? "=&f,l,b" : "=&r,l,b";
      result = element;
    }
    Value value = emit.inlinePTX(text, constraints,
                                 {address, orTrue(emit, predicate)}, result)
                      .front();
    // Any byte but 0 is true.
    if (element.isInteger(1))
      value = arith::CmpIOp::create(emit.builder, emit.location,
                                    arith::CmpIPredicate::ne, value,
                                    emit.constant(0));
    else if (isByte(element))
      value =
          arith::TruncIOp::create(emit.builder, emit.location, element, value);
    return value;
  }

  static SmallVector<Value> packPairs(Emitter &emit, ArrayRef<Value> halves) {
    SmallVector<Value> packed;
    for (size_t index = 0; index < halves.size(); index += 2)
      packed.push_back(
          emit.bitOr(halves[index], emit.shiftLeft(halves[index + 1], 16)));
    return packed;
  }
};

/// Every warp reads all elements, 32 at a time, and reduces them by itself.
struct ExtremesPattern : public LoweringPattern<ExtremesOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(ExtremesOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    SmallVector<Value> indices;
    for (ValueRange index : adaptor.getIndices())
      indices.push_back(index.front());
    Value first = getAddress(emit.builder, emit.location, kernel,
                             op.getSource(), indices);
    Value count = adaptor.getCount().front(), zero = emit.constant(0);
    auto choose = [&](Value isThere, Value value, int64_t other) {
      return emit.select(isThere, value, emit.constant(other));
    };
    Value isAny = arith::CmpIOp::create(emit.builder, emit.location,
                                        arith::CmpIPredicate::sgt, count, zero);
    Value last =
        emit.add(arith::MinSIOp::create(emit.builder, emit.location, count,
                                        emit.constant(op.getSize())),
                 -1);
    Value lane = emit.bitAnd(kernel.getThreads(op).thread, 31);
    Value least, greatest;
    for (int64_t start = 0, size = op.getSize(); start < size; start += 32) {
      // Lanes past the last element read it again.
      Value place = arith::MinSIOp::create(emit.builder, emit.location,
                                           emit.add(lane, start), last);
      Value address = LLVM::GEPOp::create(
          emit.builder, emit.location, first.getType(),
          emit.builder.getI32Type(), first, ArrayRef<LLVM::GEPArg>{place});
      Value element =
          emit.inlinePTX("mov.b32 $0, 0; @$2 ld.global.nc.b32 $0, [$1];",
                         "=&r,l,b", {address, isAny}, emit.builder.getI32Type())
              .front();
      least = least ? arith::MinSIOp::create(emit.builder, emit.location, least,
                                             element)
                          .getResult()
                    : element;
      greatest = greatest ? arith::MaxSIOp::create(emit.builder, emit.location,
                                                   greatest, element)
                                .getResult()
                          : element;
    }
    auto reduce = [&](NVVM::ReduxKind kind, Value value) -> Value {
      return NVVM::ReduxOp::create(emit.builder, emit.location, value.getType(),
                                   value, kind, emit.constant(-1));
    };
    return {{choose(isAny, reduce(NVVM::ReduxKind::MIN, least),
                    std::numeric_limits<int32_t>::max())},
            {choose(isAny, reduce(NVVM::ReduxKind::MAX, greatest),
                    std::numeric_limits<int32_t>::min())}};
  }
};

} // namespace

void mlir::fagpu::populateGatherPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelContext &kernel) {
  patterns.add<GatherPattern, ExtremesPattern>(converter, patterns.getContext(),
                                               kernel);
}
