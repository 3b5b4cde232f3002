//===- RegionEmitter.cpp - Expressions as operations ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `prepare` decides what a region captures and what is computed once before it;
// `emit` writes the region, and `emitUniform` a value that is the same
// everywhere.
//
//===----------------------------------------------------------------------===//

#include "RegionEmitter.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

/// What is worth computing once, before the attention, where a tensor has it.
static bool isExpensive(const Node *node) {
  while (node->isa<arith::ExtFOp>() || node->isa<arith::TruncFOp>())
    node = node->operand(0);
  return node->kind == NodeKind::Op &&
         node->name->getDialectNamespace() == "math" &&
         !node->isa<math::AbsFOp>();
}

const Node *RegionEmitter::choose(const Node *node) {
  bool needsLoad =
      node->kind == NodeKind::Reduce || (isExpensive(node) && !node->folded);
  if (!needsLoad || node->hasMatrix)
    return node;
  const ElementReader::Origin *origin = reader.getOrigin(node);
  if (!origin)
    return node;
  return reader.getGraph().getLoad(origin->tensor, origin->indices,
                                   node->source);
}

/// Divisions that could trap for a masked pair.
static bool mayTrap(const Node *node) {
  bool divides = node->isa<arith::DivSIOp>() || node->isa<arith::DivUIOp>() ||
                 node->isa<arith::CeilDivSIOp>() ||
                 node->isa<arith::CeilDivUIOp>();
  if (!divides)
    return false;
  std::optional<APInt> divisor = getInteger(node->operand(1));
  return !divisor || divisor->isZero() || divisor->isAllOnes();
}

LogicalResult RegionEmitter::visit(const Node *node, const Node *score,
                                   std::string &reason) {
  if (node == score || chosen.count(node))
    return success();
  const Node *choice = choose(node);
  chosen[node] = choice;
  switch (choice->kind) {
  case NodeKind::Constant:
    return success();
  case NodeKind::Index:
    for (auto [digit, factor] : choice->form.terms)
      if (llvm::none_of(groups, [&, digit = digit](const auto &group) {
            return llvm::is_contained(group, digit);
          })) {
        reason = "a score or mask depends on an index that is none of batch, "
                 "head, query and key";
        return failure();
      }
    return success();
  case NodeKind::Load:
    if (choice->hasMatrix) {
      reason = "a score depends on another product";
      return failure();
    }
    if (!llvm::is_contained(captures, choice->value))
      captures.push_back(choice->value);
    break;
  case NodeKind::Scalar:
    if (!choice->type.isIntOrIndexOrFloat()) {
      reason = "a score depends on a value that is no number";
      return failure();
    }
    if (!llvm::is_contained(captures, choice->value))
      captures.push_back(choice->value);
    return success();
  case NodeKind::Op:
    if (mayTrap(choice)) {
      reason = "a score or mask divides by an integer that is no constant";
      return failure();
    }
    break;
  case NodeKind::Reduce:
  case NodeKind::Accumulator:
    reason = "a score or mask depends on a sum or maximum that no tensor "
             "holds";
    return failure();
  }
  for (const Node *operand : choice->operands)
    if (failed(visit(operand, score, reason)))
      return failure();
  return success();
}

LogicalResult RegionEmitter::prepare(const Node *node, const Node *score,
                                     std::string &reason) {
  captures.clear();
  chosen.clear();
  return visit(node, score, reason);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static Value buildOp(OpBuilder &builder, Location loc, const Node *node,
                     ValueRange operands) {
  OperationState state(loc, *node->name);
  state.addOperands(operands);
  state.addTypes(node->type);
  if (node->attribute)
    state.addAttribute("predicate", node->attribute);
  return builder.create(state)->getResult(0);
}

Value RegionEmitter::buildDigit(OpBuilder &builder, Location loc,
                                unsigned digit) {
  if (Value known = digits.lookup(digit))
    return known;
  Variables &variables = reader.getGraph().getVariables();
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  for (auto [kind, group] : llvm::enumerate(groups)) {
    int64_t below = 1;
    for (unsigned position = group.size(); position-- > 0;) {
      const Extent &extent = variables.getExtent(group[position]);
      if (group[position] != digit) {
        below *= extent.getStatic();
        continue;
      }
      Value value = indices[kind];
      if (below != 1)
        value =
            arith::FloorDivSIOp::create(builder, loc, value, constant(below));
      if (position != 0)
        value = arith::RemSIOp::create(builder, loc, value,
                                       constant(extent.getStatic()));
      return digits[digit] = value;
    }
  }
  llvm_unreachable("prepare found the digit");
}

Value RegionEmitter::buildForm(OpBuilder &builder, Location loc,
                               const IndexForm &form) {
  Variables &variables = reader.getGraph().getVariables();
  Value sum;
  auto add = [&](Value value, int64_t factor) {
    if (factor != 1)
      value = arith::MulIOp::create(
          builder, loc, value,
          arith::ConstantIndexOp::create(builder, loc, factor));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, value) : value;
  };
  IndexForm rest = form;
  // All digits of a dimension, in their places, are its index.
  for (auto [kind, group] : llvm::enumerate(groups)) {
    if (group.size() < 2)
      continue;
    int64_t factor = rest.getFactor(group.back()), place = factor;
    bool isWhole = factor != 0;
    for (unsigned digit : llvm::reverse(group)) {
      isWhole &= rest.getFactor(digit) == place;
      const Extent &extent = variables.getExtent(digit);
      place *= extent.isStatic() ? extent.getStatic() : 0;
    }
    if (!isWhole)
      continue;
    add(indices[kind], factor);
    for (unsigned digit : group)
      rest = rest.replace(digit, 0);
  }
  for (auto [digit, factor] : rest.terms)
    add(buildDigit(builder, loc, digit), factor);
  if (rest.constant != 0 || !sum) {
    Value number = arith::ConstantIndexOp::create(builder, loc, rest.constant);
    sum = sum ? arith::AddIOp::create(builder, loc, sum, number) : number;
  }
  return sum;
}

Value RegionEmitter::build(OpBuilder &builder, Location loc, const Node *node) {
  if (Value known = built.lookup(node))
    return known;
  const Node *choice = chosen.lookup(node);
  Value value;
  switch (choice->kind) {
  case NodeKind::Constant:
    value = arith::ConstantOp::create(builder, loc,
                                      cast<TypedAttr>(choice->attribute));
    break;
  case NodeKind::Index:
    value = buildForm(builder, loc, choice->form);
    break;
  case NodeKind::Scalar:
    value = arguments.lookup(choice->value);
    break;
  case NodeKind::Load:
  case NodeKind::Op: {
    SmallVector<Value> operands;
    for (const Node *operand : choice->operands)
      operands.push_back(build(builder, loc, operand));
    if (choice->kind == NodeKind::Load) {
      value = buildCapturedLoad(builder, loc, arguments.lookup(choice->value),
                                operands);
      break;
    }
    value = buildOp(builder, loc, choice, operands);
    break;
  }
  case NodeKind::Reduce:
  case NodeKind::Accumulator:
    llvm_unreachable("prepare refuses these");
  }
  return built[node] = value;
}

void RegionEmitter::emit(Region &region, const Node *node, const Node *score,
                         Location loc) {
  MLIRContext *context = reader.getGraph().getContext();
  OpBuilder builder(context);
  Block *block = builder.createBlock(&region);
  Type index = IndexType::get(context);
  Value s;
  if (score)
    s = block->addArgument(Float32Type::get(context), loc);
  // The order of arguments: batch, head, query, key.
  Value batch = block->addArgument(index, loc);
  Value head = block->addArgument(index, loc);
  Value query = block->addArgument(index, loc);
  Value key = block->addArgument(index, loc);
  indices[int64_t(DimKind::Batch)] = batch;
  indices[int64_t(DimKind::Heads)] = head;
  indices[int64_t(DimKind::Sequence)] = query;
  // In regions the last kind is the key.
  indices[int64_t(DimKind::HeadDim)] = key;
  for (Value capture : captures)
    arguments[capture] = block->addArgument(capture.getType(), loc);
  built.clear();
  digits.clear();
  if (score) {
    // A product that was narrower is rounded as it was.
    if (score->type != s.getType())
      s = arith::TruncFOp::create(builder, loc, score->type, s);
    built[score] = s;
  }
  Value result = build(builder, loc, node);
  if (result.getType().isBF16() || result.getType().isF16())
    result =
        arith::ExtFOp::create(builder, loc, Float32Type::get(context), result);
  YieldOp::create(builder, loc, result);
}

Value RegionEmitter::emitUniform(OpBuilder &builder, Location loc,
                                 const Node *node,
                                 DenseMap<const Node *, Value> &emitted) {
  if (Value known = emitted.lookup(node))
    return known;
  Value value;
  if (node->kind == NodeKind::Constant) {
    value = arith::ConstantOp::create(builder, loc,
                                      cast<TypedAttr>(node->attribute));
  } else if (node->kind == NodeKind::Index) {
    value = arith::ConstantIndexOp::create(builder, loc, node->form.constant);
  } else if (node->kind == NodeKind::Scalar) {
    value = node->value;
  } else {
    SmallVector<Value> operands;
    for (const Node *operand : node->operands)
      operands.push_back(emitUniform(builder, loc, operand, emitted));
    value = node->kind == NodeKind::Load
                ? tensor::ExtractOp::create(builder, loc, node->value, operands)
                : buildOp(builder, loc, node, operands);
  }
  return emitted[node] = value;
}
