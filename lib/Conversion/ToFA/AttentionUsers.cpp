//===- AttentionUsers.cpp - What else reads an attention's scores ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first product and all that depends on it go away with the root. Of what
// else is read of it, only logarithms of the softmax's sums may be: they become
// the second result. `findEscapes` collects what would stay, `matchLogSumExps`
// proves logarithms, and `checkDead` that nothing stays without them.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::fa;

/// More tensors are not tried as logarithms of sums.
constexpr size_t maxCandidates = 8;

/// The operation of the block that reads a value: one whose body does belongs
/// to it.
static Operation *getUserIn(Block *block, Operation *user) {
  while (user->getBlock() != block && user->getParentOp() &&
         isa<linalg::LinalgOp, tensor::GenerateOp>(user->getParentOp()))
    user = user->getParentOp();
  return user;
}

/// Whether an operation stays even if nobody uses its results.
static bool stays(Operation *op, Block *block) {
  return op->getBlock() != block || !isMemoryEffectFree(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Operations that depend on `ops`, which are among them; `visit` says for each
/// user whether to go on behind it.
static llvm::SetVector<Operation *>
getDependents(ArrayRef<Operation *> ops, Block *block,
              function_ref<bool(Operation *)> visit) {
  llvm::SetVector<Operation *> dependents(ops.begin(), ops.end());
  for (unsigned i = 0; i < dependents.size(); ++i)
    for (Operation *use : dependents[i]->getUsers()) {
      Operation *user = getUserIn(block, use);
      if (visit(user))
        dependents.insert(user);
    }
  return dependents;
}

static bool takesLogarithm(Operation *op) {
  bool found = isa<math::LogOp, math::Log2Op>(op);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      found |= isa<math::LogOp, math::Log2Op>(nested);
    });
  return found;
}

/// Fills `escapes` and `candidates`.
void AttentionMatch::findEscapes() {
  Block *block = first->getBlock();
  llvm::SetVector<Operation *> ends;
  llvm::SetVector<Operation *> dependents =
      getDependents({first}, block, [&](Operation *user) {
        if (stays(user, block)) {
          ends.insert(user);
          return false;
        }
        return user != root.getDefiningOp();
      });
  escapes.clear(), candidates.clear();
  if (ends.empty())
    return;
  // Backwards from what stays.
  llvm::SetVector<Operation *> work(ends);
  for (unsigned i = 0; i < work.size(); ++i)
    work[i]->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (dependents.contains(def)) {
            work.insert(def);
            escapes.insert(def);
          }
    });
  // In the order of the block: the first logarithm that is one ends the search.
  SmallVector<Operation *> ordered = escapes.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  escapes.insert(ordered.begin(), ordered.end());
  llvm::SmallPtrSet<Operation *, 8> holdLogarithm;
  for (Operation *op : ordered) {
    bool holds =
        takesLogarithm(op) || llvm::any_of(op->getOperands(), [&](Value value) {
          return holdLogarithm.contains(value.getDefiningOp());
        });
    if (!holds)
      continue;
    holdLogarithm.insert(op);
    auto type = op->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                    : RankedTensorType();
    if (type && type.getRank() > 0 &&
        isa<Float32Type, Float16Type, BFloat16Type>(type.getElementType()) &&
        candidates.size() < maxCandidates)
      candidates.push_back({op->getResult(0), {}});
  }
}

/// An element of the first product in an expression.
static const Node *findElement(const Node *node, Value product,
                               llvm::SmallPtrSetImpl<const Node *> &seen) {
  if (!node->hasMatrix || !seen.insert(node).second)
    return nullptr;
  if (node->kind == NodeKind::Load && node->value == product)
    return node;
  for (const Node *operand : node->operands)
    if (const Node *found = findElement(operand, product, seen))
      return found;
  return nullptr;
}

/// What stands for digits of `from` if it is to be `to`.
static bool unify(const IndexForm &from, const IndexForm &to,
                  DenseMap<unsigned, IndexForm> &by) {
  auto set = [&](unsigned digit, const IndexForm &form) {
    auto [place, isNew] = by.try_emplace(digit, form);
    return isNew || place->second == form;
  };
  if (std::optional<unsigned> digit = from.getVariable())
    return set(*digit, to);
  if (from.constant != to.constant || from.terms.size() != to.terms.size())
    return false;
  // Digits at the same place, of which each has a factor of its own.
  return llvm::all_of(from.terms, [&](auto term) {
    return llvm::any_of(to.terms, [&](auto other) {
      IndexForm form;
      form.terms.emplace_back(other.first, 1);
      return other.second == term.second && set(term.first, form);
    });
  });
}

/// Fills `logSumExps`.
void AttentionMatch::matchLogSumExps(ElementReader &reader,
                                     SoftmaxMatcher &matcher,
                                     const SoftmaxMatch &softmax) {
  logSumExps.clear();
  Variables &variables = reader.getGraph().getVariables();
  DigitGroups groups = regionGroups;
  groups[int64_t(DimKind::HeadDim)].clear();
  // What is made of a match goes on to read the match.
  llvm::SetVector<Operation *> matched;
  for (const Candidate &candidate : candidates) {
    Operation *maker = candidate.tensor.getDefiningOp();
    if (matched.contains(maker))
      continue;
    // Read at indices of its own, which the place in the product then settles.
    SmallVector<IndexForm> forms;
    for (std::optional<unsigned> variable : candidate.variables)
      forms.push_back(variable ? variables.getForm(*variable) : 0);
    const Node *node = reader.read(candidate.tensor, forms);
    llvm::SmallPtrSet<const Node *, 32> seen;
    const Node *element = findElement(node, first->getResult(0), seen);
    if (!element)
      continue;
    DenseMap<unsigned, IndexForm> by;
    bool isSame = true;
    for (auto [own, other] :
         llvm::zip_equal(element->operands, softmax.product->operands))
      isSame &= own->kind == NodeKind::Index &&
                other->kind == NodeKind::Index &&
                unify(own->form, other->form, by);
    if (!isSame)
      continue;
    for (IndexForm &form : forms) {
      IndexForm replaced(form.constant);
      for (auto [digit, factor] : form.terms) {
        auto place = by.find(digit);
        isSame &= place != by.end();
        if (isSame)
          replaced = replaced + place->second * factor;
      }
      form = replaced;
    }
    if (!isSame)
      continue;
    auto match = matcher.matchLogSumExp(reader.read(candidate.tensor, forms));
    if (!match)
      continue;
    auto shape = OperandShape::compute(candidate.tensor, forms, groups,
                                       variables, extents);
    if (!shape || shape->hasSlice())
      continue;
    logSumExps.push_back(
        {candidate.tensor, *shape, match->factor, match->isNaNWithoutKeys});
    matched.insert_range(getDependents({maker}, first->getBlock(),
                                       [](Operation *) { return true; }));
  }
}

/// What depends on the first product is not to have other users.
LogicalResult AttentionMatch::checkDead() {
  Block *block = first->getBlock();
  Operation *end = nullptr;
  getDependents({first}, block, [&](Operation *user) {
    if (stays(user, block)) {
      if (!end)
        end = user;
      return false;
    }
    return user != root.getDefiningOp() &&
           llvm::none_of(logSumExps, [&](const LogSumExp &match) {
             return match.tensor.getDefiningOp() == user;
           });
  });
  if (end)
    return refuse(end, "scores or their softmax are used here, too", 9);
  return success();
}

/// What reads the logarithms comes behind the attention, so that the attention
/// must not read anything of it. Fills `movedUsers`.
LogicalResult AttentionMatch::checkOrder(ArrayRef<Value> operands) {
  movedUsers.clear();
  if (logSumExps.empty())
    return success();
  Block *block = first->getBlock();
  SmallVector<Operation *> makers;
  for (const LogSumExp &match : logSumExps)
    makers.push_back(match.tensor.getDefiningOp());
  llvm::SetVector<Operation *> dependents =
      getDependents(makers, block, [](Operation *) { return true; });
  for (Value operand : operands)
    if (Operation *def = operand.getDefiningOp())
      if (dependents.contains(def))
        return refuse(def, "the attention would depend on its own sums", 9);
  for (Operation *op : dependents) {
    Operation *before = block->findAncestorOpInBlock(*op);
    if (llvm::is_contained(makers, op) || !before ||
        !before->isBeforeInBlock(root.getDefiningOp()))
      continue;
    if (stays(op, block))
      return refuse(op, "the logarithm of the sums is used before the result",
                    9);
    if (escapes.contains(op))
      movedUsers.push_back(op);
  }
  llvm::sort(movedUsers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return success();
}
