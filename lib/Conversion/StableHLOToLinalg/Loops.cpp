//===- Loops.cpp - Loops and assertions of StableHLO ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `while` becomes `scf.while` (`importWhile`), and later `scf.for` where a
// counter runs up to a bound (`raiseLoops`, with `getCounter`). The last
// section reads calls of assertions, which say that sizes are equal
// (`importCustomCall`).
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Integers that a loop carries, such as its counter, are carried as scalars.
static bool isCounter(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         isa<IntegerType>(tensor.getElementType());
}

static SmallVector<Value> getCarried(Importer &importer, ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) {
    return isCounter(value.getType())
               ? importer.sizes.getElement(importer.builder, value)
               : value;
  });
}

/// Gives arguments of `block` the types that the loop carries.
static void carryScalars(Importer &importer, Block &block) {
  ImplicitLocOpBuilder &builder = importer.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  for (BlockArgument argument : block.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (!isCounter(type))
      continue;
    argument.setType(type.getElementType());
    auto tensor =
        tensor::FromElementsOp::create(builder, type, ValueRange(argument));
    argument.replaceAllUsesExcept(tensor, tensor);
  }
}

/// The body of one region of a `while`, imported into a region of scf.
static LogicalResult
importLoopRegion(Importer &importer, Region &source, Region &target,
                 function_ref<void(Operation *)> makeTerminator) {
  target.takeBody(source);
  carryScalars(importer, target.front());
  if (failed(importer.importRegion(target)))
    return failure();
  Operation *terminator = target.front().getTerminator();
  OpBuilder::InsertionGuard guard(importer.builder);
  importer.builder.setInsertionPoint(terminator);
  makeTerminator(terminator);
  terminator->erase();
  return success();
}

/// The counter of a loop that runs while it is less than a bound, which is
/// known before the loop, and grows by a constant above 0; null for other
/// loops.
static BlockArgument getCounter(scf::WhileOp loop) {
  Value condition = loop.getConditionOp().getCondition();
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto counter =
      compare ? dyn_cast<BlockArgument>(compare.getLhs()) : BlockArgument();
  if (!counter || counter.getOwner() != loop.getBeforeBody() ||
      compare.getPredicate() != arith::CmpIPredicate::slt ||
      compare.getRhs().getParentBlock() == loop.getBeforeBody() ||
      !llvm::hasNItems(*loop.getBeforeBody(), 2))
    return {};
  unsigned position = counter.getArgNumber();
  auto next =
      loop.getYieldOp().getOperand(position).getDefiningOp<arith::AddIOp>();
  APInt step;
  bool countsUp = next && next.getLhs() == loop.getAfterArguments()[position] &&
                  matchPattern(next.getRhs(), m_ConstantInt(&step)) &&
                  step.isStrictlyPositive();
  return countsUp ? counter : BlockArgument();
}

/// Computes the counter's value after the loop from its bounds: what MLIR's own
/// conversion puts there is the last value before.
static void replaceLastCount(scf::WhileOp loop, BlockArgument counter) {
  unsigned position = counter.getArgNumber();
  Value result = loop.getResult(position);
  if (result.use_empty())
    return;
  OpBuilder outside(loop);
  outside.setInsertionPointAfter(loop);
  ImplicitLocOpBuilder builder(loop.getLoc(), outside);
  Value first = loop.getInits()[position];
  auto compare =
      loop.getConditionOp().getCondition().getDefiningOp<arith::CmpIOp>();
  Value bound = compare.getRhs();
  Value step = loop.getYieldOp()
                   .getOperand(position)
                   .getDefiningOp<arith::AddIOp>()
                   .getRhs();
  Value runs =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, first, bound);
  Value distance = arith::SubIOp::create(builder, bound, first);
  Value trips = arith::CeilDivUIOp::create(builder, distance, step);
  Value last = arith::AddIOp::create(
      builder, first, arith::MulIOp::create(builder, trips, step));
  result.replaceAllUsesWith(
      arith::SelectOp::create(builder, runs, last, first));
}

/// Whether a region is one block with these arguments, which returns these
/// types.
static bool takesAndReturns(Region &region, TypeRange arguments,
                            TypeRange results) {
  if (!region.hasOneBlock() || region.front().empty() ||
      region.getArgumentTypes() != arguments)
    return false;
  Operation &end = region.front().back();
  return end.getName().getStringRef() == "stablehlo.return" &&
         end.getOperandTypes() == results;
}

static LogicalResult importWhile(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  auto condition = RankedTensorType::get({}, builder.getI1Type());
  if (op->getOperandTypes() != op->getResultTypes() ||
      !takesAndReturns(op->getRegion(0), op->getOperandTypes(), condition) ||
      !takesAndReturns(op->getRegion(1), op->getOperandTypes(),
                       op->getOperandTypes()))
    return refuse(op) << "has results or regions of other types than its "
                         "operands";
  SmallVector<Value> carried = getCarried(importer, op->getOperands());
  auto loop =
      scf::WhileOp::create(builder, TypeRange(ValueRange(carried)), carried);
  auto makeCondition = [&](Operation *end) {
    Value condition = importer.sizes.getElement(builder, end->getOperand(0));
    scf::ConditionOp::create(builder, condition,
                             loop.getBeforeBody()->getArguments());
  };
  auto makeYield = [&](Operation *end) {
    scf::YieldOp::create(builder, getCarried(importer, end->getOperands()));
  };
  if (failed(importLoopRegion(importer, op->getRegion(0), loop.getBefore(),
                              makeCondition)) ||
      failed(importLoopRegion(importer, op->getRegion(1), loop.getAfter(),
                              makeYield)))
    return failure();
  SmallVector<Value> results(loop.getResults());
  for (auto [result, old] : llvm::zip_equal(results, op->getResults()))
    if (isCounter(old.getType()))
      result = tensor::FromElementsOp::create(
          builder, cast<RankedTensorType>(old.getType()), result);
  importer.loops.push_back(loop);
  return importer.replace(op, results);
}

void stablehlo::raiseLoops(ArrayRef<scf::WhileOp> loops) {
  for (scf::WhileOp loop : loops) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(*loop.getBeforeBody())))
      if (isOpTriviallyDead(&op))
        op.erase();
    // The bound and the step have to be known before the loop.
    for (Region &region : loop->getRegions())
      for (Operation &op : llvm::make_early_inc_range(region.front()))
        if (op.hasTrait<OpTrait::ConstantLike>())
          op.moveBefore(loop);
    BlockArgument counter = getCounter(loop);
    if (!counter)
      continue;
    replaceLastCount(loop, counter);
    IRRewriter rewriter(loop);
    (void)scf::upliftWhileToForLoop(rewriter, loop);
  }
}

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

/// Sizes that an assertion holds to be the same are taken to be the same.
static void uniteAsserted(Importer &importer, Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return;
  importer.sizes.unite(
      importer.sizes.getIndexOf(importer.builder, compare.getLhs()),
      importer.sizes.getIndexOf(importer.builder, compare.getRhs()));
}

static LogicalResult importCustomCall(Operation *op, Importer &importer) {
  auto target = op->getAttrOfType<StringAttr>("call_target_name");
  if (!target || target != "shape_assertion" || op->getNumOperands() == 0 ||
      op->getNumResults() != 0)
    return refuse(op) << "of '" << (target ? target.getValue() : "")
                      << "' is not imported, expected 'shape_assertion'";
  if (failed(checkNumber(op, 0)))
    return failure();
  Value condition =
      importer.sizes.getElement(importer.builder, op->getOperand(0));
  auto message = op->getAttrOfType<StringAttr>("error_message");
  cf::AssertOp::create(importer.builder, condition,
                       message ? message.getValue() : "shapes do not match");
  uniteAsserted(importer, condition);
  return importer.replace(op, {});
}

void stablehlo::addLoops(ImportTable &table) {
  table["stablehlo.while"] = {importWhile, -1, -1, /*numRegions=*/2};
  table["stablehlo.custom_call"] = {importCustomCall, -1, -1};
}
