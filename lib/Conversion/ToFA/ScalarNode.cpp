//===- ScalarNode.cpp - Elements of tensors as expressions ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expressions are interned, so that equal ones are one node. Questions about a
// node come first, then the graph that makes them; NodeFolds.cpp simplifies
// them.
//
//===----------------------------------------------------------------------===//

#include "ScalarNode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Node
//===----------------------------------------------------------------------===//

void Node::Profile(llvm::FoldingSetNodeID &id) const {
  id.AddInteger(unsigned(kind));
  id.AddPointer(type.getAsOpaquePointer());
  id.AddPointer(attribute.getAsOpaquePointer());
  id.AddPointer(name ? name->getAsOpaquePointer() : nullptr);
  id.AddPointer(value.getAsOpaquePointer());
  id.AddInteger(form.constant);
  for (auto [variable, factor] : form.terms) {
    id.AddInteger(variable);
    id.AddInteger(factor);
  }
  id.AddInteger(unsigned(combiner));
  for (unsigned variable : bound)
    id.AddInteger(variable);
  for (const Node *operand : operands)
    id.AddPointer(operand);
}

bool Node::isOp(StringRef opName) const {
  return kind == NodeKind::Op && name->getStringRef() == opName;
}

bool Node::dependsOn(ArrayRef<unsigned> variables) const {
  return llvm::any_of(variables, [&](unsigned variable) {
    return llvm::is_contained(freeVariables, variable);
  });
}

std::optional<APFloat> mlir::fa::getFloat(const Node *node) {
  if (auto real = dyn_cast_or_null<FloatAttr>(node->folded))
    return real.getValue();
  return std::nullopt;
}

std::optional<double> mlir::fa::getDouble(const Node *node) {
  if (auto real = dyn_cast_or_null<FloatAttr>(node->folded))
    return real.getValueAsDouble();
  return std::nullopt;
}

std::optional<APInt> mlir::fa::getInteger(const Node *node) {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(node->folded))
    return integer.getValue();
  return std::nullopt;
}

bool mlir::fa::isNegativeInfinity(const Node *node) {
  std::optional<APFloat> value = getFloat(node);
  return value && value->isInfinity() && value->isNegative();
}

bool mlir::fa::isReal(const Node *node, double value) {
  std::optional<double> real = getDouble(node);
  return real && *real == value;
}

//===----------------------------------------------------------------------===//
// NodeGraph
//===----------------------------------------------------------------------===//

NodeGraph::NodeGraph(MLIRContext *context, Variables &variables,
                     bool excessPrecision)
    : context(context), variables(variables), excessPrecision(excessPrecision) {
}

Type NodeGraph::getComputedType(Type type) const {
  if (excessPrecision && (type.isF16() || type.isBF16()))
    return Float32Type::get(context);
  return type;
}

/// Whether what is computed of numbers of f16 is one of f16, and so for bf16.
static bool keepsFormat(const Node &node) {
  if (node.kind == NodeKind::Reduce)
    return node.combiner == Combiner::Maximum ||
           node.combiner == Combiner::MaximumNumber;
  return node.isa<arith::SelectOp>() || node.isa<arith::NegFOp>() ||
         node.isa<math::AbsFOp>() || node.isa<arith::MaximumFOp>() ||
         node.isa<arith::MaxNumFOp>() || node.isa<arith::MinimumFOp>() ||
         node.isa<arith::MinNumFOp>() || node.isa<math::FloorOp>() ||
         node.isa<math::CeilOp>() || node.isa<math::TruncOp>() ||
         node.isa<math::RoundOp>() || node.isa<math::RoundEvenOp>();
}

static bool fitsExactly(APFloat value, const llvm::fltSemantics &format) {
  bool loses;
  value.convert(format, APFloat::rmNearestTiesToEven, &loses);
  return !loses;
}

/// Fills in `fitsF16` and `fitsBF16`.
static void findFormats(Node &node) {
  if (!node.type.isF32())
    return;
  if (auto real = dyn_cast_or_null<FloatAttr>(node.folded)) {
    node.fitsF16 = fitsExactly(real.getValue(), APFloat::IEEEhalf());
    node.fitsBF16 = fitsExactly(real.getValue(), APFloat::BFloat());
    return;
  }
  Type narrow;
  if (node.kind == NodeKind::Reduce && node.attribute)
    narrow = cast<TypeAttr>(node.attribute).getValue();
  else if (node.isa<arith::ExtFOp>())
    narrow = node.operand(0)->type;
  if (narrow) {
    node.fitsF16 = narrow.isF16();
    node.fitsBF16 = narrow.isBF16();
    return;
  }
  node.fitsF16 = node.fitsBF16 = keepsFormat(node);
  for (const Node *operand : node.operands)
    if (isa<FloatType>(operand->type)) {
      node.fitsF16 &= operand->fitsF16;
      node.fitsBF16 &= operand->fitsBF16;
    }
}

const Node *NodeGraph::withoutRounding(const Node *node) const {
  bool isRounded = excessPrecision && node->isa<arith::ExtFOp>() &&
                   node->operand(0)->isa<arith::TruncFOp>() && !node->folded;
  return isRounded ? node->operand(0)->operand(0) : node;
}

const Node *NodeGraph::intern(Node &&node) {
  llvm::FoldingSetNodeID id;
  node.Profile(id);
  void *place;
  if (Node *known = nodes.FindNodeOrInsertPos(id, place))
    return known;
  llvm::SmallVector<unsigned> free;
  for (const Node *operand : node.operands) {
    llvm::append_range(free, operand->freeVariables);
    node.hasReduction |= operand->hasReduction;
    node.hasMatrix |= operand->hasMatrix;
    node.hasAccumulator |= operand->hasAccumulator;
  }
  for (const auto &term : node.form.terms)
    free.push_back(term.first);
  for (unsigned variable : node.bound)
    for (unsigned digit : variables.getDigits(variable))
      llvm::erase(free, digit);
  llvm::sort(free);
  free.erase(std::unique(free.begin(), free.end()), free.end());
  node.freeVariables.assign(free.begin(), free.end());
  node.hasReduction |= node.kind == NodeKind::Reduce;
  node.hasMatrix |= node.kind == NodeKind::Load && node.value == matrix;
  node.hasAccumulator |= node.kind == NodeKind::Accumulator;
  findFormats(node);
  node.number = storage.size();
  storage.push_back(std::move(node));
  nodes.InsertNode(&storage.back(), place);
  return &storage.back();
}

const Node *NodeGraph::getConstant(TypedAttr value) {
  Type type = value.getType();
  // What is computed in f32 holds narrower numbers exactly.
  if (Type computed = getComputedType(type); computed != type) {
    APFloat real = cast<FloatAttr>(value).getValue();
    bool loses;
    real.convert(cast<FloatType>(computed).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &loses);
    value = FloatAttr::get(computed, real);
    type = computed;
  }
  if (type.isIndex())
    return getIndex(cast<IntegerAttr>(value).getValue().getSExtValue());
  Node node;
  node.kind = NodeKind::Constant;
  node.type = type;
  node.attribute = node.folded = value;
  return intern(std::move(node));
}

const Node *NodeGraph::getReal(double value, Type type) {
  return getConstant(FloatAttr::get(type, value));
}

const Node *NodeGraph::getBool(bool value) {
  return getConstant(BoolAttr::get(context, value));
}

const Node *NodeGraph::getIndex(const IndexForm &form) {
  Node node;
  node.kind = NodeKind::Index;
  node.type = IndexType::get(context);
  node.form = form;
  if (form.isConstant())
    node.folded = IntegerAttr::get(node.type, form.constant);
  return intern(std::move(node));
}

const Node *NodeGraph::getLoad(Value tensor, ArrayRef<const Node *> indices,
                               Operation *source) {
  Node node;
  node.kind = NodeKind::Load;
  node.type = cast<ShapedType>(tensor.getType()).getElementType();
  node.value = tensor;
  node.operands.assign(indices.begin(), indices.end());
  node.source = source;
  const Node *load = intern(std::move(node));
  Type computed = getComputedType(load->type);
  if (computed == load->type)
    return load;
  Node wide;
  wide.kind = NodeKind::Op;
  wide.type = computed;
  wide.name = OperationName(arith::ExtFOp::getOperationName(), context);
  wide.operands.push_back(load);
  wide.source = source;
  return intern(std::move(wide));
}

const Node *NodeGraph::getScalar(Value value) {
  Node node;
  node.kind = NodeKind::Scalar;
  node.type = value.getType();
  node.value = value;
  node.source = value.getDefiningOp();
  const Node *scalar = intern(std::move(node));
  Type computed = getComputedType(scalar->type);
  if (computed == scalar->type)
    return scalar;
  Node wide;
  wide.kind = NodeKind::Op;
  wide.type = computed;
  wide.name = OperationName(arith::ExtFOp::getOperationName(), context);
  wide.operands.push_back(scalar);
  wide.source = scalar->source;
  return intern(std::move(wide));
}

const Node *NodeGraph::getAccumulator(Type type) {
  Node node;
  node.kind = NodeKind::Accumulator;
  node.type = getComputedType(type);
  return intern(std::move(node));
}

const Node *NodeGraph::getReduce(Combiner combiner, ArrayRef<unsigned> bound,
                                 const Node *initial, const Node *body,
                                 Type type, Operation *source) {
  // Over one element, and of what is the same everywhere.
  bool isIdempotent = combiner == Combiner::And || combiner == Combiner::Or ||
                      combiner == Combiner::Maximum ||
                      combiner == Combiner::MaximumNumber;
  SmallVector<unsigned> digits;
  bool isEmpty = false;
  for (unsigned variable : bound) {
    llvm::append_range(digits, variables.getDigits(variable));
    const Extent &extent = variables.getExtent(variable);
    isEmpty |= !extent.isStatic() || extent.getStatic() < 1;
  }
  if (isIdempotent && !isEmpty && !body->dependsOn(digits)) {
    if (combiner == Combiner::And)
      return get<arith::AndIOp>({initial, body}, body->type, source);
    if (combiner == Combiner::Or)
      return get<arith::OrIOp>({initial, body}, body->type, source);
    if (isNegativeInfinity(initial))
      return body;
  }
  Node node;
  node.kind = NodeKind::Reduce;
  node.type = body->type;
  node.combiner = combiner;
  node.bound.assign(bound.begin(), bound.end());
  llvm::sort(node.bound);
  node.operands = {initial, body};
  node.source = source;
  // A sum in a narrow type is another number than the one in f32.
  if (getComputedType(type) != type && !body->hasMatrix && !isIdempotent)
    node.attribute = TypeAttr::get(type);
  return intern(std::move(node));
}

const Node *NodeGraph::getOp(OperationName name,
                             ArrayRef<const Node *> operandRange, Type type,
                             Operation *source, Attribute predicate) {
  Type computed = getComputedType(type);
  if (computed == type)
    return make(name, operandRange, type, source, predicate);
  // Only scores and their softmax lose roundings. Sums stay in their tensors.
  bool ofScores = llvm::any_of(operandRange, [](const Node *operand) {
    return operand->hasMatrix || operand->hasAccumulator;
  });
  if (!ofScores)
    return getRounded(name, operandRange, type, source);
  if (name.getStringRef() != arith::TruncFOp::getOperationName())
    return make(name, operandRange, computed, source, predicate);
  const Node *wide = operandRange.front();
  return wide->type == computed
             ? wide
             : make(name, operandRange, computed, source, predicate);
}

const Node *NodeGraph::getRounded(OperationName name,
                                  ArrayRef<const Node *> operands, Type type,
                                  Operation *source) {
  StringRef spelled = name.getStringRef();
  bool rounds = spelled == arith::TruncFOp::getOperationName();
  // The nearest number of f16 or bf16, not that of the nearest one of f32.
  bool isDirect = rounds || spelled == arith::SIToFPOp::getOperationName() ||
                  spelled == arith::UIToFPOp::getOperationName();
  Type computed = getComputedType(type);
  if (!isDirect)
    return get<arith::TruncFOp>({make(name, operands, computed, source, {})},
                                type, source);
  if (rounds && operands.front()->type == computed &&
      operands.front()->fits(type))
    return operands.front();
  const Node *narrow = make(name, operands, type, source, {});
  return narrow->type == computed
             ? narrow
             : get<arith::ExtFOp>(narrow, computed, source);
}

const Node *NodeGraph::make(OperationName name,
                            ArrayRef<const Node *> operandRange, Type type,
                            Operation *source, Attribute predicate) {
  SmallVector<const Node *> operands(operandRange);
  if (const Node *folded = fold(name, operands, type, source, predicate))
    return folded;
  bool commutes = name.hasTrait<OpTrait::IsCommutative>();
  if (commutes && operands.size() == 2 &&
      operands[0]->number > operands[1]->number)
    std::swap(operands[0], operands[1]);
  Node node;
  node.kind = NodeKind::Op;
  node.type = type;
  node.name = name;
  node.attribute = predicate;
  node.operands.assign(operands.begin(), operands.end());
  node.source = source;
  SmallVector<Attribute> constants;
  for (const Node *operand : operands)
    if (operand->folded)
      constants.push_back(operand->folded);
  if (constants.size() == operands.size()) {
    Attribute value = foldConstants(name, constants, type, predicate);
    // Integers stay exact; real numbers keep how they are computed.
    if (value && !isa<FloatType>(type))
      return getConstant(cast<TypedAttr>(value));
    node.folded = value;
  }
  return intern(std::move(node));
}

const Node *NodeGraph::getNot(const Node *condition) {
  return get<arith::XOrIOp>({condition, getBool(true)}, condition->type,
                            condition->source);
}

const Node *NodeGraph::getSelect(const Node *condition, const Node *yes,
                                 const Node *no) {
  return get<arith::SelectOp>({condition, yes, no}, yes->type,
                              condition->source);
}
