//===- PackProducts.cpp - Operands of products in f32 scratch -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product reads each element of its operands many times, so what it reads
// from memory is copied once: as f32, to where rows follow each other. What a
// loop does not change is copied before the loop, and scores are scaled
// there. Read `ProductPacker::pack`, then `getHoistPoint`.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/CPU/Passes.h"
#include "fa/Support/MemoryWrites.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAPACKPRODUCTS
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// An operand that is read from memory, with zeros behind its last row.
struct Source {
  bufferization::ToTensorOp read;
  tensor::PadOp pad;

  bool isDefinedOutsideOf(scf::ForOp loop) {
    return loop.isDefinedOutsideOfLoop(read.getBuffer()) &&
           (!pad || llvm::all_of(pad.getHigh(), [&](Value size) {
             return loop.isDefinedOutsideOfLoop(size);
           }));
  }
};

class ProductPacker {
public:
  explicit ProductPacker(RewriterBase &rewriter) : rewriter(rewriter) {}
  void pack(linalg::ContractOp product);

private:
  Value pack(Source source, OpFoldResult factor, unsigned side,
             Operation *point);
  Value copy(Value part, Value target, OpFoldResult factor);
  OpFoldResult takeScale(linalg::ContractOp product, Operation *point);

  RewriterBase &rewriter;
  /// What was copied last: by memory, factor, padded type and rows, side of the
  /// product (left and right operands lie in other orders) and block of the
  /// copy.
  DenseMap<std::tuple<Value, void *, Type, void *, unsigned, Block *>, Value>
      packed;
};
} // namespace

static std::optional<Source> getSource(Value operand) {
  Source source;
  if (auto pad = operand.getDefiningOp<tensor::PadOp>()) {
    Value padding = pad.getConstantPaddingValue();
    auto isZero = [](OpFoldResult size) { return isConstantIntValue(size, 0); };
    bool isBehindRows = padding && matchPattern(padding, m_AnyZeroFloat()) &&
                        pad.getResultType().getRank() == 2 &&
                        !pad.getResultType().isDynamicDim(1) &&
                        llvm::all_of(pad.getMixedLowPad(), isZero) &&
                        isZero(pad.getMixedHighPad().back());
    if (!isBehindRows)
      return std::nullopt;
    source.pad = pad;
    operand = pad.getSource();
  }
  source.read = operand.getDefiningOp<bufferization::ToTensorOp>();
  if (!source.read || !source.read.getRestrict())
    return std::nullopt;
  return source;
}

/// The sizes of memory. Of a transposed view no bounds are known, so they are
/// those of what it views.
static SmallVector<OpFoldResult> getSizes(OpBuilder &builder, Location loc,
                                          Value memory) {
  auto transpose = memory.getDefiningOp<memref::TransposeOp>();
  if (!transpose)
    return memref::getMixedSizes(builder, loc, memory);
  return applyPermutationMap(
      transpose.getPermutation(),
      ArrayRef(memref::getMixedSizes(builder, loc, transpose.getIn())));
}

/// The outermost loop around `op` that changes neither the source nor what lies
/// there, or `op` itself.
static Operation *getHoistPoint(Operation *op, Source source) {
  Operation *point = op;
  while (auto loop = dyn_cast<scf::ForOp>(point->getParentOp())) {
    if (!source.isDefinedOutsideOf(loop) ||
        mayWriteMemory(loop, source.read.getBuffer()))
      break;
    point = loop;
  }
  return point;
}

/// A number that is everywhere in a tensor; a constant as an attribute, however
/// it is said, so that one copy serves all that scale by it.
static OpFoldResult getSplat(Value value) {
  if (auto splat = value.getDefiningOp<tensor::SplatOp>()) {
    Attribute constant;
    if (matchPattern(splat.getInput(), m_Constant(&constant)))
      return constant;
    return splat.getInput();
  }
  DenseElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<Attribute>();
  return {};
}

static bool isKnownBefore(OpFoldResult factor, Operation *point) {
  auto value = dyn_cast<Value>(factor);
  if (!value)
    return true;
  for (Operation *op = point; op; op = op->getParentOp())
    if (value.getParentBlock() == op->getBlock())
      return isa<BlockArgument>(value) ||
             value.getDefiningOp()->isBeforeInBlock(op);
  return false;
}

/// The factor of the product where all of it is multiplied by one that may be
/// taken first. The multiplication disappears.
OpFoldResult ProductPacker::takeScale(linalg::ContractOp product,
                                      Operation *point) {
  if (!product->hasOneUse())
    return {};
  auto scaled = dyn_cast<arith::MulFOp>(*product->user_begin());
  if (!scaled || !arith::bitEnumContainsAll(scaled.getFastmath(),
                                            arith::FastMathFlags::reassoc))
    return {};
  Value result = product->getResult(0);
  OpFoldResult factor =
      getSplat(scaled.getLhs() == result ? scaled.getRhs() : scaled.getLhs());
  if (!factor || !isKnownBefore(factor, point))
    return {};
  rewriter.replaceOp(scaled, result);
  return factor;
}

/// `part` as f32, times the factor.
Value ProductPacker::copy(Value part, Value target, OpFoldResult factor) {
  Location loc = part.getLoc();
  if (!factor)
    return linalg::CopyOp::create(rewriter, loc, part, target)->getResult(0);
  Value number = dyn_cast<Value>(factor);
  if (!number)
    number = arith::ConstantOp::create(
        rewriter, loc, cast<TypedAttr>(cast<Attribute>(factor)));
  SmallVector<AffineMap> maps(2, rewriter.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             rewriter, loc, target.getType(), part, target, maps, loops,
             [&](OpBuilder &builder, Location, ValueRange scalars) {
               Value value = scalars[0];
               if (!value.getType().isF32())
                 value = arith::ExtFOp::create(builder, loc,
                                               builder.getF32Type(), value);
               value = arith::MulFOp::create(builder, loc, value, number);
               linalg::YieldOp::create(builder, loc, value);
             })
      .getResult(0);
}

Value ProductPacker::pack(Source source, OpFoldResult factor, unsigned side,
                          Operation *point) {
  RankedTensorType type =
      source.pad ? source.pad.getResultType() : RankedTensorType();
  bool hasDynamicRows = type && type.isDynamicDim(0);
  OpFoldResult missing =
      hasDynamicRows ? source.pad.getMixedHighPad()[0] : OpFoldResult();
  Value &known = packed[{source.read.getBuffer(), factor.getOpaqueValue(), type,
                         missing.getOpaqueValue(), side, point->getBlock()}];
  if (known && !mayWriteMemoryBetween(known.getDefiningOp(), point,
                                      source.read.getBuffer()))
    return known;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(point);
  Location loc = source.read.getLoc();
  Value part = rewriter.clone(*source.read)->getResult(0);
  SmallVector<OpFoldResult> sizes =
      getSizes(rewriter, loc, source.read.getBuffer());
  Type f32 = rewriter.getF32Type();
  Value target = tensor::EmptyOp::create(rewriter, loc, sizes, f32);
  Value copied = copy(part, target, factor);
  if (!source.pad)
    return known = copied;
  SmallVector<OpFoldResult> padded =
      getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
  if (hasDynamicRows) {
    AffineExpr s0, s1;
    bindSymbols(rewriter.getContext(), s0, s1);
    padded[0] = affine::makeComposedFoldedAffineApply(rewriter, loc, s0 + s1,
                                                      {sizes[0], missing});
  }
  Value empty = tensor::EmptyOp::create(rewriter, loc, padded, f32);
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0.0f));
  Value zeros = linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
  return known = tensor::InsertSliceOp::create(
             rewriter, loc, copied, zeros,
             SmallVector<OpFoldResult>(2, rewriter.getIndexAttr(0)), sizes,
             SmallVector<OpFoldResult>(2, rewriter.getIndexAttr(1)));
}

void ProductPacker::pack(linalg::ContractOp product) {
  SmallVector<Value> inputs(product.getInputs());
  for (auto [number, input] : llvm::enumerate(inputs)) {
    // A part of what is copied is taken of the copy.
    auto part = input.getDefiningOp<tensor::ExtractSliceOp>();
    std::optional<Source> source = getSource(part ? part.getSource() : input);
    if (!source)
      continue;
    Operation *point = getHoistPoint(product, *source);
    // The first operand of a product of scores is the one that loops keep.
    OpFoldResult factor;
    if (number == 0)
      factor = takeScale(product, point);
    input = pack(*source, factor, number, point);
    if (!part)
      continue;
    rewriter.setInsertionPoint(product);
    input = tensor::ExtractSliceOp::create(
        rewriter, product.getLoc(), input, part.getMixedOffsets(),
        part.getMixedSizes(), part.getMixedStrides());
  }
  if (llvm::equal(inputs, product.getInputs()))
    return;
  // The operation has scalars of the inputs' types.
  rewriter.setInsertionPoint(product);
  rewriter.replaceOpWithNewOp<linalg::ContractOp>(
      product, product->getResultTypes(), inputs, product.getOutputs(),
      product.getIndexingMaps(),
      llvm::to_vector(product->getDiscardableAttrs()));
}

namespace {
struct PackProductsPass
    : public fa::impl::FAPackProductsBase<PackProductsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FAPackProductsBase::getDependentDialects(registry);
    registry.insert<affine::AffineDialect>();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::ContractOp> products;
    getOperation()->walk([&](linalg::ContractOp product) {
      if (product->hasAttr(FADialect::configAttrName))
        products.push_back(product);
    });
    ProductPacker packer(rewriter);
    for (linalg::ContractOp product : products)
      packer.pack(product);
  }
};
} // namespace
