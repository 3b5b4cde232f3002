//===- FuseBlocks.cpp - Block algebra as few loops ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream turns elementwise operations into linalg and fuses them. What is
// here says which to fuse, and gives products the form that register tiles
// want; BlockDestinations.cpp says where results are written. Read
// `runOnOperation` first: its sets of patterns run in order, to linalg, fusion,
// destinations.
//
//===----------------------------------------------------------------------===//

#include "BlockDestinations.h"
#include "fa/Conversion/CPU/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAFUSEBLOCKS
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using linalg::GenericOp;

/// That of fa-vectorize-lanes.
static CPUConfigAttr getDefaultTile(MLIRContext *context) {
  return CPUConfigAttr::get(context, /*lanes=*/8, /*register_rows=*/6,
                            /*register_vectors=*/2);
}

/// A product with a register tile.
static bool isProduct(GenericOp op) {
  return op->hasAttr(registerTileName) && op.getNumReductionLoops() == 1 &&
         op.getNumLoops() == 3;
}

//===----------------------------------------------------------------------===//
// To linalg
//===----------------------------------------------------------------------===//

namespace {

/// The product of a step: in f32, with one rounding for each term, and with the
/// register tile of its configuration.
struct TileProduct : public OpRewritePattern<linalg::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::ContractOp op,
                                PatternRewriter &rewriter) const override {
    auto config = op->getAttrOfType<ConfigAttr>(FADialect::configAttrName);
    if (!config)
      return failure();
    Location loc = op.getLoc();
    auto product = GenericOp::create(
        rewriter, loc, op->getResultTypes(), op.getInputs(), op.getOutputs(),
        op.getIndexingMapsArray(), op.getIteratorTypesArray(),
        [&](OpBuilder &builder, Location, ValueRange scalars) {
          auto extend = [&](Value value) -> Value {
            if (value.getType().isF32())
              return value;
            return arith::ExtFOp::create(builder, loc, builder.getF32Type(),
                                         value);
          };
          Value sum = math::FmaOp::create(builder, loc, extend(scalars[0]),
                                          extend(scalars[1]), scalars[2]);
          linalg::YieldOp::create(builder, loc, sum);
        });
    auto tile = dyn_cast_if_present<CPUConfigAttr>(config.getTarget());
    product->setAttr(registerTileName,
                     tile ? tile : getDefaultTile(op.getContext()));
    rewriter.replaceOp(op, product);
    return success();
  }
};

struct Generalize : public OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (!isa<linalg::ReduceOp, linalg::BroadcastOp>(op) ||
        !op.hasPureTensorSemantics())
      return failure();
    return linalg::generalizeNamedOp(rewriter, op);
  }
};

/// A maximum that starts from no NaN stays none, and a comparison costs less
/// than what has to look for one on both sides.
struct CompareForMaximum : public OpRewritePattern<arith::MaxNumFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MaxNumFOp op,
                                PatternRewriter &rewriter) const override {
    auto generic = dyn_cast<GenericOp>(op->getParentOp());
    if (!generic || generic.getNumReductionLoops() == 0)
      return failure();
    Value value = op.getLhs(), maximum = op.getRhs();
    if (isa<BlockArgument>(value) &&
        cast<BlockArgument>(value).getArgNumber() >= generic.getNumDpsInputs())
      std::swap(value, maximum);
    auto carried = dyn_cast<BlockArgument>(maximum);
    if (!carried || carried.getOwner() != generic.getBody() ||
        carried.getArgNumber() < generic.getNumDpsInputs())
      return failure();
    OpOperand *init = generic.getMatchingOpOperand(carried);
    if (!isMaximum(generic, *init) || !startsAsNumber(init->get()))
      return failure();
    Value above = arith::CmpFOp::create(
        rewriter, op.getLoc(), arith::CmpFPredicate::OGT, value, maximum);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, above, value, maximum);
    return success();
  }

private:
  /// Whether what is yielded for `init` is a maximum with what it was, by this
  /// pattern or before.
  static bool isMaximum(GenericOp generic, OpOperand &init) {
    Value old = generic.getMatchingBlockArgument(&init);
    Value next = generic.getMatchingYieldValue(&init)->get();
    if (auto maximum = next.getDefiningOp<arith::MaxNumFOp>())
      return llvm::is_contained(maximum->getOperands(), old);
    auto select = next.getDefiningOp<arith::SelectOp>();
    if (!select || select.getFalseValue() != old)
      return false;
    auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
    return compare && compare.getPredicate() == arith::CmpFPredicate::OGT &&
           compare.getLhs() == select.getTrueValue() && compare.getRhs() == old;
  }

  /// Whether a maximum that starts at `init` never is NaN: at a constant, or at
  /// what a loop carries that starts at one and is such a maximum afterwards.
  static bool startsAsNumber(Value init) {
    if (auto fill = init.getDefiningOp<linalg::FillOp>()) {
      FloatAttr number;
      return matchPattern(fill.getInputs()[0], m_Constant(&number)) &&
             !number.getValue().isNaN();
    }
    DenseFPElementsAttr numbers;
    if (matchPattern(init, m_Constant(&numbers)))
      return numbers.isSplat() && !numbers.getSplatValue<APFloat>().isNaN();
    if (auto result = dyn_cast<OpResult>(init))
      if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
        return carriesMaximum(loop, result.getResultNumber());
    auto argument = dyn_cast<BlockArgument>(init);
    auto loop = argument
                    ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                    : scf::ForOp();
    return loop && argument != loop.getInductionVar() &&
           carriesMaximum(loop, argument.getArgNumber() - 1);
  }

  static bool carriesMaximum(scf::ForOp loop, unsigned number) {
    auto next = loop.getYieldedValues()[number].getDefiningOp<GenericOp>();
    return next && next.getNumDpsInits() == 1 &&
           next.getDpsInits()[0] == loop.getRegionIterArgs()[number] &&
           isMaximum(next, *next.getDpsInitOperand(0)) &&
           startsAsNumber(loop.getInitArgs()[number]);
  }
};

/// What nobody reads of a destination does not tie it to other values.
struct DropReadOfDestination : public OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.getNumReductionLoops())
      return failure();
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (op.payloadUsesValueFromOperand(&init) ||
          init.get().getDefiningOp<tensor::EmptyOp>())
        continue;
      Value empty = createEmptyLike(rewriter, op.getLoc(), init.get());
      rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
      changed = true;
    }
    return success(changed);
  }
};

/// Upstream knows fills as scalars of what reads them.
struct SplatToFill : public OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::SplatOp op,
                                PatternRewriter &rewriter) const override {
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), op.getType(),
                                          op.getDynamicSizes());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, op.getInput(), empty);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

/// A product that is added to x * a becomes one of its own and one multiply-add
/// for each element: fewer roundings reach a long sum than when every term is
/// added to it.
struct SeparateProduct : public OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isProduct(op))
      return failure();
    auto scaled = op.getDpsInits()[0].getDefiningOp<GenericOp>();
    if (!scaled || !scaled->hasOneUse() || scaled.getNumReductionLoops() ||
        scaled.getNumDpsInputs() != 2 ||
        !llvm::hasNItems(scaled.getBody()->getOperations(), 2) ||
        !isa<arith::MulFOp>(scaled.getBody()->front()))
      return failure();
    Location loc = op.getLoc();
    Value zero = arith::ConstantOp::create(rewriter, loc,
                                           rewriter.getF32FloatAttr(0.0f));
    Value empty = createEmptyLike(rewriter, loc, op->getResult(0));
    Value zeros =
        linalg::FillOp::create(rewriter, loc, zero, empty).getResult(0);
    auto product = cast<GenericOp>(rewriter.clone(*op));
    product.getDpsInitsMutable()[0].set(zeros);
    SmallVector<AffineMap> maps = scaled.getIndexingMapsArray();
    SmallVector<Value> inputs(scaled.getInputs());
    inputs.push_back(product->getResult(0));
    maps.push_back(maps.back());
    rewriter.replaceOpWithNewOp<GenericOp>(
        op, op->getResultTypes(), inputs,
        createEmptyLike(rewriter, loc, op->getResult(0)), maps,
        scaled.getIteratorTypesArray(),
        [&](OpBuilder &builder, Location, ValueRange scalars) {
          Value sum = math::FmaOp::create(builder, loc, scalars[0], scalars[1],
                                          scalars[2]);
          linalg::YieldOp::create(builder, loc, sum);
        });
    return success();
  }
};

} // namespace

/// A comparison is not worth the memory of its bits.
static bool isComparison(GenericOp op) {
  return op->getNumResults() == 1 &&
         getElementTypeOrSelf(op->getResult(0).getType()).isInteger(1);
}

/// Whether all readers of `producer` but `consumer` stand behind it, be it in
/// another block.
static bool isReadFirstBy(GenericOp producer, GenericOp consumer) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    Operation *at = consumer->getBlock()->findAncestorOpInBlock(*user);
    return !at || at == consumer || consumer->isBeforeInBlock(at);
  });
}

/// A producer goes into its only reader, and into the first of several that
/// have its loops, which then returns both. Nothing goes into a product, and no
/// arithmetic on rows is repeated for each column.
static bool mayFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<GenericOp>();
  auto consumer = dyn_cast<GenericOp>(operand->getOwner());
  if (!producer || !consumer || !isElementwise(producer) ||
      isProduct(consumer) || producer->getBlock() != consumer->getBlock())
    return false;
  if (isComparison(producer))
    return true;
  bool isCopy = llvm::hasSingleElement(producer.getBody()->getOperations());
  bool hasSameLoops = producer.getNumLoops() == consumer.getNumLoops();
  if (!hasSameLoops && !isCopy)
    return false;
  if (producer->hasOneUse())
    return true;
  return hasSameLoops &&
         consumer.getMatchingIndexingMap(operand).isIdentity() &&
         isReadFirstBy(producer, consumer);
}

namespace {

struct Fuse : public OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!linalg::areElementwiseOpsFusable(&operand) || !mayFuse(&operand))
        continue;
      auto producer = operand.get().getDefiningOp<GenericOp>();
      bool isRepeated = isComparison(producer);
      auto fused = linalg::fuseElementwiseOps(rewriter, &operand);
      if (failed(fused))
        continue;
      // The fused operation may read another result of the producer still.
      auto replace = [&](OpResult from) {
        Value to = fused->replacements.lookup(from);
        if (to)
          rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
            return use.getOwner() != producer &&
                   use.getOwner() != fused->fusedOp;
          });
      };
      if (!isRepeated)
        llvm::for_each(producer->getResults(), replace);
      llvm::for_each(op->getResults(), replace);
      rewriter.eraseOp(op);
      return success();
    }
    return failure();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct FuseBlocksPass : public fa::impl::FAFuseBlocksBase<FuseBlocksPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // What bufferization allocates from here on is scratch.
    getOperation()->walk([&](memref::AllocOp alloc) {
      alloc->setAttr(programMemoryName, UnitAttr::get(context));
    });
    RewritePatternSet toLinalg(context), simplify(context), fusion(context),
        slices(context), destinations(context);
    toLinalg.add<TileProduct, Generalize, SplatToFill>(context);
    linalg::populateElementwiseToLinalgConversionPatterns(toLinalg);
    // Constants and fills become scalars of what reads them.
    linalg::populateElementwiseOpsFusionPatterns(
        toLinalg, [](OpOperand *) { return false; });
    simplify.add<CompareForMaximum, DropReadOfDestination>(context);
    // Who asks for the sizes of a result would be a reader of it.
    memref::populateResolveRankedShapedTypeResultDimsPatterns(simplify);
    fusion.add<SeparateProduct, Fuse>(context);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(fusion);
    // Results are computed for the rows that are written.
    linalg::populateBubbleUpExtractSliceOpPatterns(slices);
    tensor::populateFoldTensorEmptyPatterns(slices);
    populateBlockDestinationPatterns(destinations);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(destinations);
    for (RewritePatternSet *patterns : {&toLinalg, &simplify, &fusion, &slices})
      if (failed(applyPatternsGreedily(getOperation(), std::move(*patterns))))
        return signalPassFailure();
    IRRewriter rewriter(context);
    getOperation()->walk(
        [&](scf::ForOp loop) { updateCarriedLate(rewriter, loop); });
    if (failed(applyPatternsGreedily(getOperation(), std::move(destinations))))
      return signalPassFailure();
  }
};
} // namespace
