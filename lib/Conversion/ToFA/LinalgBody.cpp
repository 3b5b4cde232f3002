//===- LinalgBody.cpp - What a linalg operation yields --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of ElementReader that reads bodies, begin with `readBody`: it finds
// the indices of the loops, the elements of the operands that the body needs,
// and follows the operations of the body.
//
//===----------------------------------------------------------------------===//

#include "ElementReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::fa;

/// The operations that combine an accumulator with a value.
static Combiner getCombiner(const Node *op) {
  if (op->isa<arith::AddFOp>())
    return Combiner::Add;
  if (op->isa<arith::MulFOp>())
    return Combiner::Multiply;
  if (op->isa<arith::MaximumFOp>())
    return Combiner::Maximum;
  if (op->isa<arith::MaxNumFOp>())
    return Combiner::MaximumNumber;
  bool isBool = op->type.isInteger(1);
  if (isBool && op->isa<arith::AndIOp>())
    return Combiner::And;
  if (isBool && op->isa<arith::OrIOp>())
    return Combiner::Or;
  return Combiner::Other;
}

/// The product that a body adds to its output: through casts and sums.
static bool addsProduct(linalg::LinalgOp op) {
  auto yield = cast<linalg::YieldOp>(op.getBlock()->getTerminator());
  auto sum = yield.getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  BlockArgument output = op.getRegionOutputArgs().front();
  for (auto [accumulator, product] :
       {std::make_pair(sum.getLhs(), sum.getRhs()),
        std::make_pair(sum.getRhs(), sum.getLhs())}) {
    if (accumulator != output)
      continue;
    while (auto *cast = product.getDefiningOp()) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(cast))
        break;
      product = cast->getOperand(0);
    }
    Operation *factor = product.getDefiningOp();
    return factor && isa<arith::MulFOp, arith::DivFOp>(factor);
  }
  return false;
}

bool mlir::fa::isProduct(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumReductionLoops() == 0 ||
      linalgOp.getNumDpsInputs() < 2 || linalgOp.getNumDpsInits() != 1 ||
      op->getNumResults() != 1)
    return false;
  return addsProduct(linalgOp);
}

/// `size == 1 ? 0 : index`, where the index is below that size anyway.
bool ElementReader::isBroadcastIndex(Operation *op,
                                     ArrayRef<const Node *> operands) {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select || operands[1]->kind != NodeKind::Index ||
      operands[2]->kind != NodeKind::Index ||
      !(operands[1]->form == IndexForm(0)))
    return false;
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  std::optional<unsigned> variable = operands[2]->form.getVariable();
  return compare && variable &&
         compare.getPredicate() == arith::CmpIPredicate::eq &&
         extents.getValue(compare.getRhs()).is(1) &&
         graph.getVariables().getExtent(*variable) ==
             extents.getValue(compare.getLhs());
}

/// The number that was put into a tensor of one element to be taken out, as
/// StableHLO's reductions become.
static std::optional<Value> getOnlyElement(Operation *op) {
  auto extract = dyn_cast<tensor::ExtractOp>(op);
  auto elements =
      extract ? extract.getTensor().getDefiningOp<tensor::FromElementsOp>()
              : tensor::FromElementsOp();
  if (!elements || elements.getElements().size() != 1)
    return std::nullopt;
  return elements.getElements().front();
}

const Node *ElementReader::evaluate(Value value, Environment &environment,
                                    ArrayRef<IndexForm> loops, Block *body,
                                    ReadsOn readsOn) {
  if (auto place = environment.find(value); place != environment.end())
    return place->second;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != body)
    return readScalar(value);
  const Node *node = nullptr;
  auto getOperand = [&](Value operand) {
    return evaluate(operand, environment, loops, body, readsOn);
  };
  StringRef dialect = op->getName().getDialectNamespace();
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    node = graph.getIndex(loops[index.getDim()]);
  } else if (std::optional<Value> element = getOnlyElement(op)) {
    node = getOperand(*element);
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<const Node *> indices;
    for (Value index : extract.getIndices())
      indices.push_back(getOperand(index));
    if (llvm::is_contained(indices, nullptr))
      return nullptr;
    node = readsOn(extract.getTensor())
               ? read(extract.getTensor(), indices)
               : graph.getLoad(extract.getTensor(), indices, op);
  } else if (op->getNumOperands() == 0) {
    node = readScalar(value);
  } else if (auto select = dyn_cast<arith::SelectOp>(op);
             select && extents.getCondition(select.getCondition())) {
    bool known = *extents.getCondition(select.getCondition());
    node = getOperand(known ? select.getTrueValue() : select.getFalseValue());
  } else if ((dialect == "arith" || dialect == "math") &&
             op->getNumResults() == 1 && op->getNumRegions() == 0 &&
             isPure(op) && !isa<ShapedType>(value.getType())) {
    SmallVector<const Node *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(getOperand(operand));
    if (llvm::is_contained(operands, nullptr))
      return nullptr;
    if (isBroadcastIndex(op, operands))
      return environment[value] = operands[2];
    Attribute predicate;
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      predicate = compare.getPredicateAttr();
    if (auto compare = dyn_cast<arith::CmpFOp>(op))
      predicate = compare.getPredicateAttr();
    // Bits of a number that is not rounded are others.
    if (isa<arith::BitcastOp>(op))
      return nullptr;
    node = graph.getOp(op->getName(), operands, value.getType(), op, predicate);
  }
  return environment[value] = node;
}

/// The index that an expression of an indexing map is, where loops have these.
static std::optional<IndexForm> getForm(AffineExpr expr,
                                        ArrayRef<IndexForm> loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return loops[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return IndexForm(constant.getValue());
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto left = getForm(binary.getLHS(), loops),
       right = getForm(binary.getRHS(), loops);
  if (!left || !right)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *left + *right;
  if (expr.getKind() == AffineExprKind::Mul && right->isConstant())
    return *left * right->constant;
  return std::nullopt;
}

/// The size of a loop, the static one if an operand has it.
static std::optional<Extent> getLoopExtent(linalg::LinalgOp op, unsigned loop,
                                           ExtentReader &extents) {
  std::optional<Extent> found;
  for (OpOperand &operand : op->getOpOperands())
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto loopDim = dyn_cast<AffineDimExpr>(expr);
      if (!loopDim || loopDim.getPosition() != loop)
        continue;
      Extent extent = extents.getDim(operand.get(), dim);
      if (!found || extent.isStatic())
        found = extent;
    }
  return found;
}

/// Fills in the loops of a body from the indices of a result.
LogicalResult ElementReader::readLoops(linalg::LinalgOp op, unsigned result,
                                       ArrayRef<IndexForm> indices,
                                       Body &body) {
  SmallVector<std::optional<IndexForm>> loops(op.getNumLoops());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [expr, index] : llvm::zip_equal(map.getResults(), indices)) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = index;
    else if (!isa<AffineConstantExpr>(expr))
      return failure();
  }
  SmallVector<IndexForm> taken(indices);
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool reduces = kind == utils::IteratorType::reduction;
    if (loops[loop] && reduces)
      return failure();
    if (loops[loop])
      continue;
    std::optional<Extent> extent = getLoopExtent(op, loop, extents);
    if (!extent || extent->is(0))
      return failure();
    if (extent->is(1)) {
      loops[loop] = IndexForm(0);
      continue;
    }
    if (!reduces)
      return failure();
    Variables &variables = graph.getVariables();
    unsigned variable = variables.getBound(*extent, taken);
    loops[loop] = variables.getForm(variable);
    taken.push_back(*loops[loop]);
    body.bound.push_back(variable);
  }
  for (const std::optional<IndexForm> &loop : loops)
    body.loops.push_back(*loop);
  return success();
}

/// The node of an argument of the body.
const Node *ElementReader::readArgument(linalg::LinalgOp op, unsigned result,
                                        BlockArgument argument,
                                        ArrayRef<IndexForm> loops,
                                        ReadsOn readsOn) {
  OpOperand *operand = op.getMatchingOpOperand(argument);
  if (op.getNumReductionLoops() != 0 && op.isDpsInit(operand)) {
    // Another result's accumulator is none of this one's.
    if (operand != op.getDpsInitOperand(result))
      return nullptr;
    return graph.getAccumulator(getElementTypeOrSelf(argument.getType()));
  }
  if (!isa<ShapedType>(operand->get().getType()))
    return readScalar(operand->get());
  SmallVector<IndexForm> forms;
  for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
    std::optional<IndexForm> form = getForm(expr, loops);
    if (!form)
      return nullptr;
    forms.push_back(*form);
  }
  return readsOn(operand->get()) ? read(operand->get(), forms)
                                 : load(operand->get(), forms);
}

std::optional<ElementReader::Body>
ElementReader::readBody(linalg::LinalgOp op, unsigned result,
                        ArrayRef<IndexForm> indices, ReadsOn readsOn) {
  Body body;
  if (failed(readLoops(op, result, indices, body)))
    return std::nullopt;
  // Operands are read where the body needs them.
  Environment environment;
  Block *block = op.getBlock();
  Value yielded = block->getTerminator()->getOperand(result);
  llvm::SetVector<Value> needed;
  needed.insert(yielded);
  for (unsigned i = 0; i < needed.size(); ++i) {
    Value value = needed[i];
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == block) {
      const Node *node =
          readArgument(op, result, argument, body.loops, readsOn);
      if (!node)
        return std::nullopt;
      environment[value] = node;
    }
    Operation *def = value.getDefiningOp();
    if (def && def->getBlock() == block)
      needed.insert(def->operand_begin(), def->operand_end());
  }
  const Node *node = evaluate(yielded, environment, body.loops, block, readsOn);
  if (!node)
    return std::nullopt;
  if (op.getNumReductionLoops() == 0) {
    body.node = node;
    return body;
  }
  if (node->kind != NodeKind::Op || node->operands.size() != 2)
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    if (node->operand(side)->kind != NodeKind::Accumulator ||
        node->operand(1 - side)->hasAccumulator)
      continue;
    body.combiner = getCombiner(node);
    body.node = node->operand(1 - side);
    return body;
  }
  return std::nullopt;
}
