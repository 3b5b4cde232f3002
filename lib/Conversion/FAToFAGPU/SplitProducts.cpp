//===- SplitProducts.cpp - Products of f32 as products of bf16 ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes an f32 product by tensor cores in bf16: each operand becomes three
// bf16 terms (the bf16x3 split), and the six largest of the nine products are
// summed. Read `split` and `getTerms`; `loadOperand` and `gather` bring f32
// operands to registers.
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "SplitSum.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/Outside.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "fa/Support/OperandsFirst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSPLITPRODUCTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// Three terms of 8 bits each hold the 24 bits of an f32.
static constexpr unsigned numTerms = 3;

namespace {
class ProductSplitter {
public:
  explicit ProductSplitter(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()),
        hasColumns(getGPUPart(kernel).columns),
        hasCommonStages(getGPUPart(kernel).commonStages) {}
  LogicalResult run();

private:
  using Terms = std::array<Value, numTerms>;

  LogicalResult loadOperand(FetchOp fetch);
  FailureOr<Value> gather(FetchOp fetch);
  Value getRowLimit(FetchOp fetch, unsigned rowDim);
  Value getColumnLimit(FetchOp fetch);
  Value getSize(FetchOp fetch, int64_t dim);
  LogicalResult verify(ProductOp product);
  Terms getTerms(Value value, Operation *user);
  void split(ProductOp product);

  func::FuncOp kernel;
  OpBuilder builder;
  /// Operands come by parts, in the order of the products that read them.
  bool hasColumns;
  /// Operands come one after the other, each behind the product that reads the
  /// one before.
  bool hasCommonStages;
  int64_t numReads = 0;
  llvm::DenseMap<Value, Terms> known;
};
} // namespace

Value ProductSplitter::getSize(FetchOp fetch, int64_t dim) {
  Location loc = fetch.getLoc();
  Value size = builder.createOrFold<memref::DimOp>(loc, fetch.getSource(), dim);
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), size);
}

namespace {
/// Numbers from `least` to `greatest`, multiples of `factor`.
struct Multiples {
  int64_t least, greatest, factor;
};
} // namespace

/// Where the last one of a loop's segments that run ends: one that ends before
/// it begins does not run.
static std::optional<int64_t> getGreatestBound(ForOp loop) {
  int64_t greatest = 0;
  for (Value bound : loop.getBounds()) {
    std::optional<int64_t> end = getConstantIntValue(bound);
    if (!end)
      return std::nullopt;
    greatest = std::max(greatest, *end);
  }
  return greatest;
}

using KnownMultiples = llvm::DenseMap<Value, std::optional<Multiples>>;

static std::optional<Multiples> computeMultiples(Value value,
                                                 const KnownMultiples &known) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return Multiples{*number, *number, *number};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getIndex() || loop.getDirection() < 0 ||
        loop.getOnce())
      return std::nullopt;
    std::optional<int64_t> start = getConstantIntValue(loop.getStart()),
                           end = getGreatestBound(loop);
    if (!start || !end || *start < 0 || *start >= *end)
      return std::nullopt;
    return Multiples{*start, *end - 1, 1};
  }
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op))
    return std::nullopt;
  auto a = known.lookup(op->getOperand(0)), b = known.lookup(op->getOperand(1));
  if (!a || !b || a->least < 0 || b->least < 0)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Multiples{a->least + b->least, a->greatest + b->greatest,
                     std::gcd(a->factor, b->factor)};
  return Multiples{a->least * b->least, a->greatest * b->greatest,
                   a->factor * b->factor};
}

/// What a number is that is computed from constants and indices of loops with
/// constant bounds.
static std::optional<Multiples> getMultiples(Value value) {
  KnownMultiples known;
  visitOperandsFirst(
      value, [&](Value next) { return known.contains(next); },
      [&](Value next) { known.insert({next, computeMultiples(next, known)}); });
  return known.lookup(value);
}

/// Whether the text alone says that the box ends in the memory.
static bool isWhole(FetchOp fetch, unsigned dim) {
  int64_t size = cast<MemRefType>(fetch.getSource().getType()).getDimSize(dim);
  std::optional<Multiples> first = getMultiples(fetch.getOffsets()[dim]);
  return !ShapedType::isDynamic(size) && first && first->least >= 0 &&
         first->greatest + fetch.getSizes()[dim] <= size;
}

/// Where the rows end: the size of their dimension unless the text says.
Value ProductSplitter::getRowLimit(FetchOp fetch, unsigned rowDim) {
  if (Value rows = fetch.getRows())
    return rows;
  return isWhole(fetch, rowDim) ? Value() : getSize(fetch, rowDim);
}

Value ProductSplitter::getColumnLimit(FetchOp fetch) {
  if (Value columns = fetch.getColumns())
    return columns;
  int64_t dim = fetch.getSizes().size() - 1;
  return isWhole(fetch, dim) ? Value() : getSize(fetch, dim);
}

/// Whether an index is even, whatever it is computed from.
static bool isEven(Value value) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return *number % 2 == 0;
  if (std::optional<Multiples> multiples = getMultiples(value))
    return multiples->factor % 2 == 0;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MulIOp>(op))
    return llvm::any_of(op->getOperands(), isEven);
  return isa_and_nonnull<arith::AddIOp>(op) &&
         llvm::all_of(op->getOperands(), isEven);
}

/// Whether two columns at a time are in the memory or past its end, at a
/// multiple of the size of both.
static bool hasPairs(FetchOp fetch) {
  int64_t dim = fetch.getSizes().size() - 1;
  std::optional<int64_t> end;
  if (Value columns = fetch.getColumns())
    end = getConstantIntValue(columns);
  else if (isWhole(fetch, dim))
    end = 0;
  else if (int64_t size =
               cast<MemRefType>(fetch.getSource().getType()).getDimSize(dim);
           !ShapedType::isDynamic(size))
    end = size;
  return fetch.getAlignment() >= 8 && isEven(fetch.getOffsets()[dim]) && end &&
         *end % 2 == 0;
}

/// Elements of the box at indices of their own: those past the limits of the
/// rows and the columns are zero.
FailureOr<Value> ProductSplitter::gather(FetchOp fetch) {
  Location loc = fetch.getLoc();
  StringRef ofBulkCopies = fetch.getPages()    ? "pages(...)"
                           : fetch.getPadded() ? "padded"
                           : fillsNaN(fetch)   ? nanAttrName
                                               : "";
  if (!ofBulkCopies.empty())
    return fetch.emitOpError()
           << "has '" << ofBulkCopies
           << "' and elements of f32, which threads load one by one and split; "
              "expected f16 or bf16, which bulk copies bring";
  builder.setInsertionPoint(fetch);
  RankedTensorType type = fetch.getType();
  RankedTensorType indexType = type.clone(builder.getI32Type());
  ArrayRef<int64_t> box = fetch.getSizes();
  unsigned rowDim = getRowDim(box, type.getRank());
  for (auto [dim, size] : llvm::enumerate(box.drop_back()))
    if (size > 1 && dim != rowDim)
      return fetch.emitOpError()
             << "reads " << box[rowDim] << " of dimension " << rowDim << " and "
             << size << " of dimension " << dim
             << " in f32, expected rows in one dimension";
  auto number = [&](int32_t dim) -> Value {
    return IotaOp::create(builder, loc, indexType, dim, IndexPart::all);
  };
  auto addTo = [&](Value numbers, Value first) -> Value {
    return arith::AddIOp::create(
        builder, loc, numbers,
        tensor::SplatOp::create(builder, loc, first, indexType));
  };
  SmallVector<Value> indices(fetch.getOffsets());
  Value firstRow = indices[rowDim];
  indices[rowDim] = addTo(number(0), firstRow);
  indices.back() = addTo(number(1), indices.back());
  Value isInside;
  if (Value rows = getRowLimit(fetch, rowDim)) {
    Value left = arith::SubIOp::create(builder, loc, rows, firstRow);
    isInside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, number(0),
        tensor::SplatOp::create(builder, loc, left, indexType));
  }
  if (Value columns = getColumnLimit(fetch)) {
    Value below = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, indices.back(),
        tensor::SplatOp::create(builder, loc, columns, indexType));
    isInside =
        isInside
            ? arith::AndIOp::create(builder, loc, isInside, below).getResult()
            : below;
  }
  auto read = GatherOp::create(builder, loc, type, fetch.getSource(), indices,
                               isInside, hasPairs(fetch), hasColumns);
  if (hasColumns)
    read->setAttr(readAttrName, builder.getI64IntegerAttr(numReads++));
  return read.getResult();
}

/// What an operand is loaded before: the first product of a step, as what the
/// operand takes in registers is free again when there are scores. Of operands
/// that have common stages, each comes behind the product before its own.
static Operation *getPlaceOfLoad(FetchOp fetch, bool hasCommonStages) {
  Operation *place = nullptr;
  for (ProductOp product : fetch->getBlock()->getOps<ProductOp>()) {
    if (!place)
      place = product;
    if (!hasCommonStages || llvm::is_contained(fetch->getUsers(), product))
      return place;
    place = product->getNextNode();
  }
  return place;
}

/// Operands that come by parts, or in groups of warps, are loaded where they
/// are.
LogicalResult ProductSplitter::loadOperand(FetchOp fetch) {
  if (!fetch.getType().getElementType().isF32())
    return success();
  Operation *place = getPlaceOfLoad(fetch, hasCommonStages);
  if (place && place != fetch && !hasWarpGroups(kernel) && !hasColumns) {
    if (hasCommonStages && fetch->isBeforeInBlock(place))
      fetch->moveBefore(place);
    else
      moveWithOperands(fetch, place);
  }
  FailureOr<Value> loaded = gather(fetch);
  if (failed(loaded))
    return failure();
  fetch.replaceAllUsesWith(*loaded);
  fetch.erase();
  return success();
}

/// Terms that reach shared memory are written by warps of 16 rows.
LogicalResult ProductSplitter::verify(ProductOp product) {
  auto role = product->getParentOfType<RoleOp>();
  for (Value operand : {product.getA(), product.getB()})
    if (isa<ViewType>(operand.getType()))
      return product.emitOpError()
             << "multiplies f32 of " << operand.getType()
             << ", expected a block value, which threads split into terms";
  int64_t rows = cast<RankedTensorType>(product.getB().getType()).getDimSize(0);
  int64_t rowsOfWarps = 16 * role.getWarps();
  if (rows % rowsOfWarps == 0)
    return success();
  return product.emitOpError()
         << "multiplies by an f32 operand of " << rows
         << " rows, expected a multiple of " << rowsOfWarps << ", 16 for each "
         << "of " << role.getWarps() << " warps; nearest is "
         << llvm::alignTo(rows, rowsOfWarps);
}

/// The value rounded to bf16, what is left rounded to bf16, and so on: where
/// the value is made, or where it is used if that is in the same block.
ProductSplitter::Terms ProductSplitter::getTerms(Value value, Operation *user) {
  auto [entry, isNew] = known.try_emplace(value);
  if (!isNew)
    return entry->second;
  bool isLoaded = value.getDefiningOp<GatherOp>() && !hasColumns;
  if (value.getParentBlock() == user->getBlock() && !isLoaded)
    builder.setInsertionPoint(user);
  else
    builder.setInsertionPointAfterValue(value);
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  Value rest = value;
  for (auto [index, term] : llvm::enumerate(entry->second)) {
    term = arith::TruncFOp::create(builder, loc,
                                   type.clone(builder.getBF16Type()), rest);
    if (index + 1 < numTerms)
      rest = arith::SubFOp::create(
          builder, loc, rest, arith::ExtFOp::create(builder, loc, type, term));
  }
  return entry->second;
}

void ProductSplitter::split(ProductOp product) {
  Terms a = getTerms(product.getA(), product),
        b = getTerms(product.getB(), product);
  builder.setInsertionPoint(product);
  Location loc = product.getLoc();
  // From small to large; the three products left out are below 2^-24.
  static constexpr std::pair<unsigned, unsigned> order[] = {
      {1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}};
  Value sum;
  for (auto [left, right] : order)
    sum = ProductOp::create(builder, loc, product.getType(), product.getForm(),
                            a[left], b[right], sum);
  // A long sum is made outside of the matrix unit, which truncates.
  if (Value before = product.getAcc())
    sum = arith::AddFOp::create(builder, loc, before, sum);
  product.replaceAllUsesWith(sum);
  product.erase();
}

LogicalResult ProductSplitter::run() {
  SmallVector<FetchOp> fetches;
  SmallVector<ProductOp> products;
  kernel.walk([&](Operation *op) {
    // Vectors are no operands of products, nor are sums of them.
    if (auto fetch = dyn_cast<FetchOp>(op);
        fetch && !fetch.getFragments() && fetch.getType().getRank() == 2)
      fetches.push_back(fetch);
    else if (auto product = dyn_cast<ProductOp>(op);
             product && getElementTypeOrSelf(product.getA().getType()).isF32())
      products.push_back(product);
  });
  for (ProductOp product : products)
    if (failed(verify(product)))
      return failure();
  for (FetchOp fetch : fetches)
    if (failed(loadOperand(fetch)))
      return failure();
  for (ProductOp product : products)
    split(product);
  return success();
}

namespace {
struct SplitProductsPass
    : public fa::impl::FAGPUSplitProductsPassBase<SplitProductsPass> {
  void runOnOperation() override {
    if (isKernel(getOperation()) &&
        failed(ProductSplitter(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
