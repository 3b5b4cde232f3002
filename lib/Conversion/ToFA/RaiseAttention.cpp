//===- RaiseAttention.cpp - Attention from tensors ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds pairs of products with an exponential between them, tries each as an
// attention, and removes what is dead then. The proof is in AttentionMatch.cpp,
// which reads tensors by ElementReader.cpp and the softmax by SoftmaxMatch.cpp.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "NamedAttention.h"
#include "SeparateFactors.h"
#include "fa/Conversion/ToFA/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FARAISEATTENTION
#include "fa/Conversion/ToFA/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Operations between two products; a longer way is no softmax.
constexpr unsigned maxOperationsBetween = 256;
/// Operations behind the second product that may belong to it.
constexpr unsigned maxOperationsBehind = 8;

namespace {
/// What a product's operands are computed from, up to other products.
struct Between {
  llvm::SetVector<Operation *> products;
  bool hasExponential = false;
};
} // namespace

/// Tensors that an operation reads, in its body too.
static SmallVector<Value> getTensorsRead(Operation *op) {
  SmallVector<Value> tensors;
  auto add = [&](Value value) {
    if (isa<TensorType>(value.getType()))
      tensors.push_back(value);
  };
  llvm::for_each(op->getOperands(), add);
  for (Region &region : op->getRegions())
    region.walk(
        [&](Operation *nested) { llvm::for_each(nested->getOperands(), add); });
  return tensors;
}

static bool hasExponential(Operation *op) {
  bool found = isa<math::ExpOp, math::Exp2Op, linalg::SoftmaxOp>(op);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      found |= isa<math::ExpOp, math::Exp2Op>(nested);
    });
  return found;
}

static Between lookBetween(linalg::LinalgOp second, ExtentReader &extents) {
  Between between;
  between.hasExponential = hasExponential(second);
  llvm::SetVector<Operation *> seen;
  auto add = [&](Operation *op) {
    for (Value tensor : getTensorsRead(op))
      if (Operation *def = tensor.getDefiningOp())
        if (def->getBlock() == second->getBlock() && def != second)
          seen.insert(def);
  };
  add(second);
  for (unsigned i = 0; i < seen.size() && i < maxOperationsBetween; ++i) {
    Operation *op = seen[i];
    if (isProduct(op)) {
      between.products.insert(op);
      continue;
    }
    // Nothing of this softmax is behind another attention.
    if (isa<AttentionOp>(op))
      continue;
    between.hasExponential |= hasExponential(op);
    add(op);
  }
  if (!between.hasExponential || between.products.empty())
    return between;
  // Operands of the products are reshaped, too.
  for (unsigned i = 0; i < seen.size() && i < maxOperationsBetween; ++i)
    if (between.products.contains(seen[i]) ||
        isa<tensor::ExpandShapeOp>(seen[i]))
      add(seen[i]);
  extents.takeForEqual(second);
  for (Operation *op : seen)
    extents.takeForEqual(op);
  return between;
}

/// The result of the second product, and results of operations each of which
/// is the only user of the one before.
static SmallVector<Value> getRoots(linalg::LinalgOp second) {
  SmallVector<Value> roots{second->getResult(0)};
  while (roots.size() <= maxOperationsBehind && roots.back().hasOneUse()) {
    Operation *user = *roots.back().getUsers().begin();
    bool isRead = isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                      tensor::CastOp, tensor::ReshapeOp>(user) ||
                  user->hasTrait<OpTrait::Elementwise>();
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(user))
      isRead |= linalgOp.getNumReductionLoops() == 0;
    if (!isRead || user->getNumResults() != 1 ||
        user->getBlock() != second->getBlock() ||
        !isa<RankedTensorType>(user->getResult(0).getType()))
      break;
    roots.push_back(user->getResult(0));
  }
  return roots;
}

using Erased = llvm::DenseSet<Operation *>;

/// Erases what nobody uses of these operations, of those that use them, and of
/// those that made what they read.
static void eraseDead(ArrayRef<Operation *> ops, Erased &erased) {
  llvm::SetVector<Operation *> work(ops.begin(), ops.end());
  for (unsigned i = 0; i < work.size(); ++i)
    for (Operation *user : work[i]->getUsers())
      if (user->getBlock() == work[i]->getBlock() && isMemoryEffectFree(user))
        work.insert(user);
  while (!work.empty()) {
    Operation *candidate = work.pop_back_val();
    if (!isOpTriviallyDead(candidate))
      continue;
    candidate->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          if (!candidate->isAncestor(maker))
            work.insert(maker);
    });
    erased.insert(candidate);
    candidate->erase();
  }
}

/// Tries the product as the second one of an attention; says in `refusal` what
/// is in the way.
static bool tryRaise(linalg::LinalgOp second,
                     const RaiseAttentionOptions &options, Erased &erased,
                     Refusal &refusal) {
  ExtentReader extents;
  Between between = lookBetween(second, extents);
  if (!between.hasExponential || between.products.empty())
    return false;
  SmallVector<Value> roots = getRoots(second);
  for (Operation *first : between.products)
    for (Value root : llvm::reverse(roots)) {
      AttentionMatch match(root, cast<linalg::LinalgOp>(first), second, options,
                           extents, refusal);
      if (failed(match.raise()))
        continue;
      eraseDead({root.getDefiningOp(), first}, erased);
      return true;
    }
  return false;
}

/// The same; where the scores' factors are computed in their product, with
/// these as tensors.
static bool tryFactors(linalg::LinalgOp second,
                       const RaiseAttentionOptions &options, Erased &erased,
                       Refusal &refusal) {
  if (tryRaise(second, options, erased, refusal))
    return true;
  ExtentReader extents;
  Between between = lookBetween(second, extents);
  if (!between.hasExponential)
    return false;
  for (Operation *first : between.products) {
    auto product = cast<linalg::LinalgOp>(first);
    linalg::GenericOp separated = separateFactors(product);
    if (!separated)
      continue;
    Value result = first->getResult(0);
    result.replaceAllUsesWith(separated.getResult(0));
    Refusal again;
    if (tryRaise(second, options, erased, again)) {
      eraseDead({first}, erased);
      return true;
    }
    separated.getResult(0).replaceAllUsesWith(result);
    eraseDead({separated}, erased);
  }
  return false;
}

/// The same; where values are computed in their product, with these as a
/// tensor.
static bool raise(linalg::LinalgOp second, const RaiseAttentionOptions &options,
                  Erased &erased, Refusal &refusal) {
  if (tryFactors(second, options, erased, refusal))
    return true;
  // Nothing like a softmax is left alone.
  if (refusal.progress == 0)
    return false;
  linalg::GenericOp separated = separateFactors(second);
  if (!separated)
    return false;
  Value result = second->getResult(0);
  result.replaceAllUsesWith(separated.getResult(0));
  Refusal again;
  if (tryFactors(separated, options, erased, again)) {
    // It is dead with the first product that it depends on, perhaps gone.
    if (!erased.contains(second))
      eraseDead({second}, erased);
    return true;
  }
  separated.getResult(0).replaceAllUsesWith(result);
  eraseDead({separated}, erased);
  return false;
}

static void tell(Operation *op, StringRef reason) {
  // Bodies of named operations have no place of their own.
  while (isa<UnknownLoc>(op->getLoc()) && op->getParentOp())
    op = op->getParentOp();
  op->emitRemark("no 'fa.attention' is made of this: ") << reason;
}

/// An attention operation of another dialect, by way of two products.
static bool raiseNamed(Operation *op, const RaiseAttentionOptions &options,
                       Erased &erased) {
  std::string reason;
  std::optional<NamedAttention> attention = readNamedAttention(op, reason);
  if (!attention) {
    if (!reason.empty())
      tell(op, reason);
    return false;
  }
  // Roundings are none of what the operation means.
  RaiseAttentionOptions exact = options;
  exact.excessPrecision = true;
  OpBuilder builder(op);
  linalg::GenericOp second = decomposeNamedAttention(*attention, builder);
  op->getResult(0).replaceAllUsesWith(second.getResult(0));
  Refusal refusal;
  if (raise(second, exact, erased, refusal)) {
    SmallVector<Operation *> makers;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        makers.push_back(maker);
    op->erase();
    eraseDead(makers, erased);
    return true;
  }
  second.getResult(0).replaceAllUsesWith(op->getResult(0));
  eraseDead({second}, erased);
  tell(op, refusal.reason);
  return false;
}

int64_t mlir::fa::raiseAttention(Operation *op,
                                 const RaiseAttentionOptions &options) {
  SmallVector<Operation *> products, named;
  op->walk([&](Operation *candidate) {
    StringRef name = candidate->getName().getStringRef();
    if (isProduct(candidate))
      products.push_back(candidate);
    else if (name == "tm_tensor.attention" ||
             name == "iree_linalg_ext.attention")
      named.push_back(candidate);
  });
  int64_t count = 0;
  Erased erased;
  for (Operation *product : products) {
    if (erased.contains(product))
      continue;
    Refusal refusal;
    if (raise(cast<linalg::LinalgOp>(product), options, erased, refusal))
      ++count;
    else if (refusal.progress > 0)
      tell(refusal.op ? refusal.op : product, refusal.reason);
  }
  for (Operation *attention : named)
    count += raiseNamed(attention, options, erased);
  return count;
}

namespace {
struct RaiseAttentionPass
    : public fa::impl::FARaiseAttentionBase<RaiseAttentionPass> {
  using FARaiseAttentionBase::FARaiseAttentionBase;

  void runOnOperation() override {
    raiseAttention(getOperation(), {excessPrecision, masks});
  }
};
} // namespace
