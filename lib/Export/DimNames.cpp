//===- DimNames.cpp - Names of dims that must be equal --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of an attention say in their orders which dims are one: `DimVisitor`
// names those of a forward or of a gradient. Of several in a function, dims of
// one argument are one. Read `visitShared`, then `findDimNames`.
//
//===----------------------------------------------------------------------===//

#include "fa/Export/DimNames.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
using Visitor = llvm::function_ref<void(Value, unsigned, StringRef)>;

/// Names the dims of what forward and gradients share.
template <typename Op> class DimVisitor {
public:
  DimVisitor(Op op, Value pages, Visitor visit) : op(op), visit(visit) {
    queries = op.getQueryStarts() ? "query_rows" : "queries";
    keys = pages ? "page_rows" : op.getKeyStarts() ? "key_rows" : "keys";
  }

  void visitShared();
  /// Operands as the query or the key, with columns of one name; null or not.
  void visitQueries(Value operand, DimsAttr order, StringRef columns) {
    visitOrdered(operand, order, {"batch", queries, "heads", columns});
  }
  void visitKeys(Value operand, DimsAttr order, StringRef columns) {
    visitOrdered(operand, order, {"batch", keys, "kv_heads", columns, "pages"});
  }
  /// An operand with a number for each query.
  void visitRows(Value operand) {
    StringRef inOrder[] = {"batch", "heads", queries};
    visitAll(operand,
             ArrayRef(inOrder).drop_front(op.getQueryStarts() ? 1 : 0));
  }
  void visitAll(Value operand, ArrayRef<StringRef> inOrder) {
    if (operand)
      for (auto [dim, name] : llvm::enumerate(inOrder))
        visit(operand, dim, name);
  }

private:
  /// `byKind` is in the order of DimKind.
  void visitOrdered(Value operand, DimsAttr order, ArrayRef<StringRef> byKind) {
    SmallVector<StringRef> inOrder;
    for (int64_t kind : order.getOrder())
      inOrder.push_back(byKind[kind]);
    visitAll(operand, inOrder);
  }

  Op op;
  Visitor visit;
  StringRef queries, keys;
};
} // namespace

template <typename Op> void DimVisitor<Op>::visitShared() {
  visitQueries(op.getQuery(), op.getQueryOrder(), "head_dim");
  visitKeys(op.getKey(), op.getKeyOrder(), "head_dim");
  visitKeys(op.getValue(), op.getValueOrder(), "value_dim");
  visitQueries(op.getOutput(), op.getOutputOrder(), "value_dim");
  visitRows(op.getLse());
  // A piece of a problem is given the lengths of the whole batch.
  if (op.getOffsets().empty()) {
    visitAll(op.getQueryLengths(), {"batch"});
    visitAll(op.getKeyLengths(), {"batch"});
  }
  visitAll(op.getQueryStarts(), {"batch_ends"});
  visitAll(op.getKeyStarts(), {"batch_ends"});
}

void mlir::fa::visitNamedDims(AttentionOp op, Visitor visit) {
  DimVisitor<AttentionOp> visitor(op, op.getKeyPages(), visit);
  visitor.visitShared();
  visitor.visitAll(op.getKeyPages(), {"batch", "sequence_pages"});
}

void mlir::fa::visitNamedDims(AttentionGradientOp op, Visitor visit) {
  DimVisitor<AttentionGradientOp> visitor(op, /*pages=*/Value(), visit);
  visitor.visitShared();
  visitor.visitRows(op.getDelta());
  visitor.visitQueries(op.getOutputGradient(), op.getOutputGradientOrder(),
                       "value_dim");
  visitor.visitRows(op.getLseGradient());
  visitor.visitQueries(op.getQueryGradient(), op.getQueryGradientOrder(),
                       "head_dim");
  visitor.visitKeys(op.getKeyGradient(), op.getKeyGradientOrder(), "head_dim");
  visitor.visitKeys(op.getValueGradient(), op.getValueGradientOrder(),
                    "value_dim");
}

static std::optional<unsigned> getNumber(Value operand, func::FuncOp function) {
  auto argument = dyn_cast<BlockArgument>(operand);
  if (!argument || argument.getOwner()->getParentOp() != function)
    return std::nullopt;
  return argument.getArgNumber();
}

DimNames mlir::fa::findDimNames(func::FuncOp function) {
  // Of several attentions those dims are one that share an argument.
  llvm::EquivalenceClasses<ArgumentDim> equal;
  std::vector<std::pair<ArgumentDim, std::string>> inOrder;
  auto collect = [&](auto attention) {
    llvm::StringMap<ArgumentDim> first;
    visitNamedDims(attention, [&](Value operand, unsigned dim, StringRef name) {
      auto number = getNumber(operand, function);
      if (!number)
        return;
      ArgumentDim place(*number, dim);
      equal.unionSets(first.try_emplace(name, place).first->second, place);
      inOrder.emplace_back(place, name);
    });
  };
  function.walk([&](AttentionOp attention) { collect(attention); });
  function.walk([&](AttentionGradientOp gradient) { collect(gradient); });
  DimNames names;
  std::map<ArgumentDim, std::string> ofClass;
  llvm::StringSet<> taken;
  for (auto &[place, name] : inOrder) {
    auto [entry, isNew] =
        ofClass.try_emplace(equal.getLeaderValue(place), name);
    for (unsigned number = 2; isNew && !taken.insert(entry->second).second;
         ++number)
      entry->second = name + "_" + std::to_string(number);
    names.try_emplace(place, entry->second);
  }
  return names;
}

SmallVector<std::pair<ArgumentDim, ArgumentDim>>
mlir::fa::findGroupedHeads(func::FuncOp function) {
  SmallVector<std::pair<ArgumentDim, ArgumentDim>> grouped;
  function.walk([&](AttentionLikeOpInterface attention) {
    auto query = getNumber(attention.getQuery(), function);
    auto key = getNumber(attention.getKey(), function);
    if (!query || !key)
      return;
    auto heads = [](unsigned number, DimsAttr order) {
      return ArgumentDim(number, order.positionOf(DimKind::Heads));
    };
    grouped.emplace_back(heads(*query, attention.getQueryOrder()),
                         heads(*key, attention.getKeyOrder()));
  });
  return grouped;
}
