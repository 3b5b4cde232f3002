//===- NodeFolds.cpp - Simplifications of elements ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings expressions that mean the same into one form: constants, conditions,
// casts, and additions of -inf as selections. First evaluation on constants,
// then the rules, a function for each kind of operation. No rule moves a
// rounding: that is for those who use the nodes.
//
//===----------------------------------------------------------------------===//

#include "ScalarNode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;

static bool is(OperationName name, StringRef other) {
  return name.getStringRef() == other;
}
template <typename... OpTys> static bool isAny(OperationName name) {
  return (is(name, OpTys::getOperationName()) || ...);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Attribute makeFloat(APFloat value, Type type) {
  bool loses;
  value.convert(cast<FloatType>(type).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &loses);
  return FloatAttr::get(type, value);
}

static Attribute foldFloats(OperationName name, ArrayRef<Attribute> operands,
                            Type type) {
  auto left = dyn_cast<FloatAttr>(operands[0]);
  if (!left)
    return {};
  APFloat value = left.getValue();
  constexpr auto rounding = APFloat::rmNearestTiesToEven;
  if (isAny<arith::TruncFOp, arith::ExtFOp>(name))
    return makeFloat(value, type);
  if (isAny<arith::NegFOp>(name))
    return makeFloat(neg(value), type);
  if (isAny<math::AbsFOp>(name))
    return makeFloat(abs(value), type);
  if (isAny<math::SqrtOp>(name))
    return makeFloat(APFloat(std::sqrt(left.getValueAsDouble())), type);
  if (isAny<math::RsqrtOp>(name))
    return makeFloat(APFloat(1 / std::sqrt(left.getValueAsDouble())), type);
  auto right =
      operands.size() == 2 ? dyn_cast<FloatAttr>(operands[1]) : FloatAttr();
  if (!right || right.getType() != left.getType())
    return {};
  APFloat other = right.getValue();
  if (isAny<arith::AddFOp>(name))
    value.add(other, rounding);
  else if (isAny<arith::SubFOp>(name))
    value.subtract(other, rounding);
  else if (isAny<arith::MulFOp>(name))
    value.multiply(other, rounding);
  else if (isAny<arith::DivFOp>(name))
    value.divide(other, rounding);
  else if (isAny<arith::MaximumFOp>(name))
    value = maximum(value, other);
  else if (isAny<arith::MaxNumFOp>(name))
    value = maxnum(value, other);
  else if (isAny<arith::MinimumFOp>(name))
    value = minimum(value, other);
  else if (isAny<math::PowFOp>(name))
    return makeFloat(
        APFloat(std::pow(left.getValueAsDouble(), right.getValueAsDouble())),
        type);
  else
    return {};
  return makeFloat(value, type);
}

static Attribute foldIntegers(OperationName name, ArrayRef<Attribute> operands,
                              Type type) {
  auto left = dyn_cast<IntegerAttr>(operands[0]);
  if (!left)
    return {};
  APInt value = left.getValue();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (isAny<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(name))
    return IntegerAttr::get(type, value.sextOrTrunc(width));
  if (isAny<arith::IndexCastUIOp, arith::ExtUIOp>(name))
    return IntegerAttr::get(type, value.zextOrTrunc(width));
  if (isAny<arith::SIToFPOp, arith::UIToFPOp>(name)) {
    APFloat real(cast<FloatType>(type).getFloatSemantics());
    real.convertFromAPInt(value, isAny<arith::SIToFPOp>(name),
                          APFloat::rmNearestTiesToEven);
    return FloatAttr::get(type, real);
  }
  auto right =
      operands.size() == 2 ? dyn_cast<IntegerAttr>(operands[1]) : IntegerAttr();
  if (!right)
    return {};
  APInt other = right.getValue();
  if (isAny<arith::AddIOp>(name))
    return IntegerAttr::get(type, value + other);
  if (isAny<arith::SubIOp>(name))
    return IntegerAttr::get(type, value - other);
  if (isAny<arith::MulIOp>(name))
    return IntegerAttr::get(type, value * other);
  if (isAny<arith::AndIOp>(name))
    return IntegerAttr::get(type, value & other);
  if (isAny<arith::OrIOp>(name))
    return IntegerAttr::get(type, value | other);
  if (isAny<arith::XOrIOp>(name))
    return IntegerAttr::get(type, value ^ other);
  return {};
}

Attribute mlir::fa::foldConstants(OperationName name,
                                  ArrayRef<Attribute> operands, Type type,
                                  Attribute predicate) {
  if (operands.empty())
    return {};
  if (isAny<arith::CmpIOp>(name)) {
    auto left = dyn_cast<IntegerAttr>(operands[0]),
         right = dyn_cast<IntegerAttr>(operands[1]);
    if (!left || !right)
      return {};
    return BoolAttr::get(
        type.getContext(),
        arith::applyCmpPredicate(
            cast<arith::CmpIPredicateAttr>(predicate).getValue(),
            left.getValue(), right.getValue()));
  }
  if (isAny<arith::CmpFOp>(name)) {
    auto left = dyn_cast<FloatAttr>(operands[0]),
         right = dyn_cast<FloatAttr>(operands[1]);
    if (!left || !right || left.getType() != right.getType())
      return {};
    return BoolAttr::get(
        type.getContext(),
        arith::applyCmpPredicate(
            cast<arith::CmpFPredicateAttr>(predicate).getValue(),
            left.getValue(), right.getValue()));
  }
  if (Attribute real = isa<FloatAttr>(operands[0])
                           ? foldFloats(name, operands, type)
                           : Attribute())
    return real;
  return foldIntegers(name, operands, type);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static std::optional<bool> getKnown(const Node *condition) {
  if (!condition->type.isInteger(1))
    return std::nullopt;
  std::optional<APInt> value = getInteger(condition);
  if (!value)
    return std::nullopt;
  return !value->isZero();
}

const Node *NodeGraph::foldSelect(ArrayRef<const Node *> operands, Type type) {
  const Node *condition = operands[0], *yes = operands[1], *no = operands[2];
  if (std::optional<bool> known = getKnown(condition))
    return *known ? yes : no;
  if (yes == no)
    return yes;
  if (condition->isa<arith::XOrIOp>() &&
      llvm::any_of(condition->operands, getKnown))
    return getSelect(getNot(condition), no, yes);
  if (!type.isInteger(1))
    return nullptr;
  std::optional<bool> onYes = getKnown(yes), onNo = getKnown(no);
  if (onYes && onNo)
    return *onYes ? condition : getNot(condition);
  if (onYes)
    return *onYes ? get<arith::OrIOp>({condition, no}, type)
                  : get<arith::AndIOp>({getNot(condition), no}, type);
  if (onNo)
    return *onNo ? get<arith::OrIOp>({getNot(condition), yes}, type)
                 : get<arith::AndIOp>({condition, yes}, type);
  return nullptr;
}

const Node *NodeGraph::foldBoolean(OperationName name, const Node *left,
                                   const Node *right) {
  if (getKnown(left))
    std::swap(left, right);
  std::optional<bool> known = getKnown(right);
  if (isAny<arith::AndIOp>(name)) {
    if (known)
      return *known ? left : right;
    return left == right ? left : nullptr;
  }
  if (isAny<arith::OrIOp>(name)) {
    if (known)
      return *known ? right : left;
    return left == right ? left : nullptr;
  }
  if (!isAny<arith::XOrIOp>(name) || !known)
    return nullptr;
  if (!*known)
    return left;
  if (left->isa<arith::XOrIOp>() && getKnown(left->operand(0)))
    return *getKnown(left->operand(0)) ? left->operand(1) : nullptr;
  if (left->isa<arith::XOrIOp>() && getKnown(left->operand(1)))
    return *getKnown(left->operand(1)) ? left->operand(0) : nullptr;
  if (left->isa<arith::CmpIOp>()) {
    auto predicate = cast<arith::CmpIPredicateAttr>(left->attribute).getValue();
    return get<arith::CmpIOp>(left->operands, left->type, left->source,
                              arith::CmpIPredicateAttr::get(
                                  context, arith::invertPredicate(predicate)));
  }
  return nullptr;
}

/// A selection of two numbers: `select(c, K1, K2)`.
static bool isChoice(const Node *node) {
  return node->isa<arith::SelectOp>() && node->operand(1)->folded &&
         node->operand(2)->folded;
}

const Node *NodeGraph::distribute(OperationName name,
                                  ArrayRef<const Node *> operands, Type type,
                                  Operation *source, Attribute predicate) {
  const Node *choice = nullptr;
  for (const Node *operand : operands) {
    if (operand->folded || operand == choice)
      continue;
    if (choice || !isChoice(operand))
      return nullptr;
    choice = operand;
  }
  if (!choice)
    return nullptr;
  auto on = [&](unsigned branch) {
    SmallVector<const Node *> replaced(operands);
    for (const Node *&operand : replaced)
      if (operand == choice)
        operand = choice->operand(branch);
    return getOp(name, replaced, type, source, predicate);
  };
  const Node *yes = on(1), *no = on(2);
  if (!yes->folded || !no->folded)
    return nullptr;
  return getSelect(choice->operand(0), yes, no);
}

/// `select(c, x, -inf)`, with the branches in either order: c and x.
static std::optional<std::pair<const Node *, const Node *>>
getHidden(NodeGraph &graph, const Node *node) {
  if (!node->isa<arith::SelectOp>())
    return std::nullopt;
  if (isNegativeInfinity(node->operand(2)))
    return std::make_pair(node->operand(0), node->operand(1));
  if (isNegativeInfinity(node->operand(1)))
    return std::make_pair(graph.getNot(node->operand(0)), node->operand(2));
  return std::nullopt;
}

static bool isPositive(const Node *node) {
  std::optional<double> value = getDouble(node);
  return value && *value > 0 && std::isfinite(*value);
}

const Node *NodeGraph::foldFloat(OperationName name,
                                 ArrayRef<const Node *> operands, Type type,
                                 Operation *source) {
  const Node *left = operands[0], *right = operands[1];
  bool adds = isAny<arith::AddFOp>(name);
  bool multiplies = isAny<arith::MulFOp>(name);
  bool takesMaximum = isAny<arith::MaximumFOp, arith::MaxNumFOp>(name);
  // Constants on the right.
  if ((adds || multiplies || takesMaximum) && left->folded && !right->folded)
    std::swap(left, right);
  if ((adds || isAny<arith::SubFOp>(name)) && isReal(right, 0))
    return left;
  if ((multiplies || isAny<arith::DivFOp>(name)) && isReal(right, 1))
    return left;
  if (takesMaximum && isNegativeInfinity(right))
    return left;
  // What hides a key stays outermost.
  const Node *infinity = nullptr;
  auto hide = [&](const Node *condition, const Node *value) {
    infinity = getReal(-std::numeric_limits<double>::infinity(), type);
    return getSelect(condition, value, infinity);
  };
  if (adds) {
    if (getHidden(*this, left))
      std::swap(left, right);
    auto hidden = getHidden(*this, right);
    if (hidden && !left->hasReduction) {
      auto [condition, value] = *hidden;
      return hide(condition, getOp(name, {left, value}, type, source));
    }
  }
  bool keepsInfinity =
      isAny<arith::SubFOp>(name) ||
      ((multiplies || isAny<arith::DivFOp>(name)) && isPositive(right));
  // The difference from a row's maximum is no score.
  if (isAny<arith::SubFOp>(name) && right->hasReduction)
    keepsInfinity = false;
  if (keepsInfinity)
    if (auto hidden = getHidden(*this, left)) {
      auto [condition, value] = *hidden;
      return hide(condition, getOp(name, {value, right}, type, source));
    }
  return nullptr;
}

const Node *NodeGraph::foldCast(OperationName name, const Node *operand,
                                Type type, Operation *source) {
  bool extends = isAny<arith::ExtFOp>(name);
  if (extends || isAny<arith::TruncFOp>(name)) {
    if (operand->type == type)
      return operand;
    if (auto hidden = getHidden(*this, operand))
      return getSelect(hidden->first,
                       getOp(name, {hidden->second}, type, source),
                       getReal(-std::numeric_limits<double>::infinity(),
                               getComputedType(type)));
    return nullptr;
  }
  if (isAny<arith::IndexCastOp>(name)) {
    if (operand->type == type)
      return operand;
    if (type.isIndex() && operand->isa<arith::IndexCastOp>() &&
        operand->type.getIntOrFloatBitWidth() >= 64)
      return operand->operand(0);
    return nullptr;
  }
  if (operand->type.isInteger(1) && !operand->folded &&
      isAny<arith::UIToFPOp, arith::SIToFPOp, arith::ExtUIOp, arith::ExtSIOp>(
          name)) {
    bool isSigned = isAny<arith::SIToFPOp, arith::ExtSIOp>(name);
    auto number = [&](int64_t value) {
      return isa<FloatType>(type) ? getReal(value, type)
                                  : getConstant(IntegerAttr::get(type, value));
    };
    return getSelect(operand, number(isSigned ? -1 : 1), number(0));
  }
  return nullptr;
}

const Node *NodeGraph::fold(OperationName name,
                            SmallVector<const Node *> &operands, Type type,
                            Operation *source, Attribute predicate) {
  if (isAny<arith::SelectOp>(name))
    return foldSelect(operands, type);
  if (operands.size() == 1 && isa<FloatType, IntegerType, IndexType>(type))
    if (const Node *cast = foldCast(name, operands[0], type, source))
      return cast;
  // A constant rounded to a narrow type is used in the type computed in.
  if (isAny<arith::TruncFOp>(name) && getComputedType(type) != type &&
      operands[0]->folded) {
    Node rounded;
    rounded.kind = NodeKind::Op;
    rounded.type = type;
    rounded.name = name;
    rounded.operands.push_back(operands[0]);
    rounded.source = source;
    rounded.folded = foldConstants(name, operands[0]->folded, type, predicate);
    const Node *narrow = intern(std::move(rounded));
    return get<arith::ExtFOp>({narrow}, getComputedType(type), source);
  }
  if (operands.size() == 2 && type.isInteger(1) &&
      isAny<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(name))
    if (const Node *boolean = foldBoolean(name, operands[0], operands[1]))
      return boolean;
  if (operands.size() == 2 && type.isIndex() &&
      operands[0]->kind == NodeKind::Index &&
      operands[1]->kind == NodeKind::Index) {
    const IndexForm &left = operands[0]->form, &right = operands[1]->form;
    if (isAny<arith::AddIOp>(name))
      return getIndex(left + right);
    if (isAny<arith::SubIOp>(name))
      return getIndex(left + right * -1);
    if (isAny<arith::MulIOp>(name) && right.isConstant())
      return getIndex(left * right.constant);
    if (isAny<arith::MulIOp>(name) && left.isConstant())
      return getIndex(right * left.constant);
  }
  if (isAny<arith::CmpFOp>(name)) {
    // Of wider copies of a number, the number.
    const Node *left = operands[0];
    std::optional<APFloat> right = getFloat(operands[1]);
    if (left->isa<arith::ExtFOp>() && right && !left->folded) {
      Type narrow = left->operand(0)->type;
      bool loses;
      right->convert(cast<FloatType>(narrow).getFloatSemantics(),
                     APFloat::rmNearestTiesToEven, &loses);
      if (!loses && narrow.isF32())
        return getOp(
            name,
            {left->operand(0), getConstant(FloatAttr::get(narrow, *right))},
            type, source, predicate);
    }
  }
  if (operands.size() == 2 && isa<FloatType>(type))
    if (const Node *real = foldFloat(name, operands, type, source))
      return real;
  if (!isAny<arith::SelectOp>(name))
    return distribute(name, operands, type, source, predicate);
  return nullptr;
}
