//===- BlockDestinations.cpp - Where loops of blocks write ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops on tensors return new ones. What is here gives a result the memory of
// an operand that is read last, each reduction a fill of its own, and a loop's
// carried value the place of its successor. Read `WriteInPlace`, then
// `updateCarriedLate`.
//
//===----------------------------------------------------------------------===//

#include "BlockDestinations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

using namespace mlir;
using namespace mlir::fa;
using linalg::GenericOp;

Value mlir::fa::createEmptyLike(OpBuilder &builder, Location loc, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  while (auto op = value.getDefiningOp<linalg::LinalgOp>())
    value = op.getTiedOpOperand(cast<OpResult>(value))->get();
  if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(builder, loc, empty.getMixedSizes(),
                                   element);
  return tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, value), element);
}

bool mlir::fa::isElementwise(GenericOp op) {
  return op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity();
         });
}

static bool isLastUse(Value value, Operation *op) {
  bool isLast = llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *at = op->getBlock()->findAncestorOpInBlock(*user);
    return at && (at == op || at->isBeforeInBlock(op));
  });
  return isLast && llvm::count_if(value.getUses(), [&](OpOperand &use) {
                     return use.getOwner() == op;
                   }) == 1;
}

/// Whether `result` may have the memory of `value`: made in this block, or
/// carried by its loop, which goes on with `result` in its place.
static bool mayTakeMemory(Value value, OpResult result) {
  Block *block = result.getOwner()->getBlock();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return value.getParentBlock() == block &&
           isa<GenericOp, linalg::FillOp, scf::ForOp>(value.getDefiningOp());
  auto loop = dyn_cast<scf::ForOp>(block->getParentOp());
  return loop && argument.getOwner() == block &&
         loop.getYieldedValues()[argument.getArgNumber() - 1] == result;
}

namespace {

/// Writes where an input is read for the last time.
struct WriteInPlace : public OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    // What only goes to another place is written there.
    if (!op.hasPureTensorSemantics() ||
        llvm::any_of(op->getUsers(), llvm::IsaPred<SubsetInsertionOpInterface>))
      return failure();
    for (OpOperand &init : op.getDpsInitsMutable())
      if (init.get().getDefiningOp<tensor::EmptyOp>() &&
          !op.payloadUsesValueFromOperand(&init))
        for (OpOperand *input : op.getDpsInputOperands())
          if (takes(op, init, *input)) {
            rewriter.modifyOpInPlace(op, [&] {
              init.set(input->get());
              op.getMatchingBlockArgument(input).replaceAllUsesWith(
                  op.getMatchingBlockArgument(&init));
            });
            return success();
          }
    return failure();
  }

private:
  static bool takes(GenericOp op, OpOperand &init, OpOperand &input) {
    Value value = input.get();
    return value.getType() == init.get().getType() && isLastUse(value, op) &&
           mayTakeMemory(value, op.getTiedOpResult(&init)) &&
           op.getMatchingIndexingMap(&input) ==
               op.getMatchingIndexingMap(&init);
  }
};

/// Each reduction starts from a fill of its own, just before it, which becomes
/// the starting value of its registers.
struct OwnFill : public OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getNumReductionLoops())
      return failure();
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Value number = getNumber(init.get());
      Operation *fill = init.get().getDefiningOp();
      if (!number || (fill->hasOneUse() && fill->getNextNode() == op))
        continue;
      Value empty = createEmptyLike(rewriter, op.getLoc(), init.get());
      Value own = linalg::FillOp::create(rewriter, op.getLoc(), number, empty)
                      .getResult(0);
      rewriter.modifyOpInPlace(op, [&] { init.set(own); });
      return success();
    }
    return failure();
  }

private:
  static Value getNumber(Value init) {
    auto fill = init.getDefiningOp<linalg::FillOp>();
    return fill ? fill.getInputs()[0] : Value();
  }
};

/// A constant that is a destination is a fill.
struct FillForConstant : public OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      DenseElementsAttr elements;
      if (!matchPattern(init.get(), m_Constant(&elements)) ||
          !elements.isSplat())
        continue;
      Location loc = op.getLoc();
      Value number = arith::ConstantOp::create(
          rewriter, loc, elements.getSplatValue<TypedAttr>());
      Value empty = createEmptyLike(rewriter, loc, init.get());
      Value fill =
          linalg::FillOp::create(rewriter, loc, number, empty).getResult(0);
      rewriter.modifyOpInPlace(op, [&] { init.set(fill); });
      return success();
    }
    return failure();
  }
};

} // namespace

/// The generic operation of the loop that reads a carried value last, behind
/// the one that makes its successor, and each element where it may be written.
static GenericOp findLateReader(BlockArgument carried, Operation *successor) {
  Operation *last = nullptr;
  for (Operation *user : carried.getUsers()) {
    Operation *at = carried.getOwner()->findAncestorOpInBlock(*user);
    if (successor->isBeforeInBlock(at) && (!last || last->isBeforeInBlock(at)))
      last = at;
  }
  auto reader = dyn_cast_if_present<GenericOp>(last);
  if (!reader || !isElementwise(reader))
    return {};
  bool isInPlace = llvm::all_of(carried.getUses(), [&](OpOperand &use) {
    return !last->isAncestor(use.getOwner()) ||
           (use.getOwner() == last && reader.isDpsInput(&use) &&
            reader.getMatchingIndexingMap(&use).isIdentity());
  });
  return isInPlace ? reader : GenericOp();
}

/// A copy of `reader` that also returns `value`, written over `carried`, which
/// it reads.
static GenericOp returnInPlace(RewriterBase &rewriter, GenericOp reader,
                               Value value, Value carried) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(reader);
  unsigned numInputs = reader.getNumDpsInputs();
  SmallVector<Value> inputs(reader.getInputs()), outputs(reader.getOutputs());
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  AffineMap identity = rewriter.getMultiDimIdentityMap(reader.getNumLoops());
  inputs.push_back(value);
  maps.insert(maps.begin() + numInputs, identity);
  outputs.push_back(carried);
  maps.push_back(identity);
  SmallVector<Type> types(reader->getResultTypes());
  types.push_back(carried.getType());
  auto wider = GenericOp::create(rewriter, reader.getLoc(), types, inputs,
                                 outputs, maps, reader.getIteratorTypesArray());
  wider->setDiscardableAttrs(reader->getDiscardableAttrDictionary());
  wider.getRegion().takeBody(reader.getRegion());
  Block *body = wider.getBody();
  Type element = getElementTypeOrSelf(carried.getType());
  Value added = body->insertArgument(numInputs, element, reader.getLoc());
  Value old = body->addArgument(element, reader.getLoc());
  for (unsigned number = 0; number < numInputs; ++number)
    if (inputs[number] == carried)
      body->getArgument(number).replaceAllUsesWith(old);
  body->getTerminator()->insertOperands(outputs.size() - 1, added);
  rewriter.replaceOp(reader,
                     wider->getResults().take_front(outputs.size() - 1));
  return wider;
}

void mlir::fa::updateCarriedLate(RewriterBase &rewriter, scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [carried, next] :
       llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands())) {
    Operation *successor = next.get().getDefiningOp();
    if (!isa<RankedTensorType>(carried.getType()) || !successor ||
        successor->getBlock() != loop.getBody())
      continue;
    GenericOp reader = findLateReader(carried, successor);
    if (!reader)
      continue;
    GenericOp wider = returnInPlace(rewriter, reader, next.get(), carried);
    rewriter.modifyOpInPlace(
        yield, [&, &next = next] { next.set(wider->getResults().back()); });
  }
}

void mlir::fa::populateBlockDestinationPatterns(RewritePatternSet &patterns) {
  patterns.add<FillForConstant, WriteInPlace, OwnFill>(patterns.getContext());
}
