//===- DimNames.cpp - Names of dims that must be equal --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Export/DimNames.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::fa;

void mlir::fa::visitNamedDims(
    AttentionOp op,
    llvm::function_ref<void(Value, unsigned, StringRef)> visit) {
  auto visitAll = [&](Value operand, ArrayRef<StringRef> inOrder) {
    if (operand)
      for (auto [dim, name] : llvm::enumerate(inOrder))
        visit(operand, dim, name);
  };
  // `byKind` is in the order of DimKind.
  auto visitOrdered = [&](Value operand, DimsAttr order,
                          ArrayRef<StringRef> byKind) {
    SmallVector<StringRef> inOrder;
    for (int64_t kind : order.getOrder())
      inOrder.push_back(byKind[kind]);
    visitAll(operand, inOrder);
  };
  bool isPacked = static_cast<bool>(op.getQueryStarts());
  StringRef queries = isPacked ? "query_rows" : "queries";
  StringRef keys = op.getKeyPages()    ? "page_rows"
                   : op.getKeyStarts() ? "key_rows"
                                       : "keys";
  visitOrdered(op.getQuery(), op.getQueryOrder(),
               {"batch", queries, "heads", "head_dim"});
  visitOrdered(op.getKey(), op.getKeyOrder(),
               {"batch", keys, "kv_heads", "head_dim", "pages"});
  visitOrdered(op.getValue(), op.getValueOrder(),
               {"batch", keys, "kv_heads", "value_dim", "pages"});
  visitOrdered(op.getOutput(), op.getOutputOrder(),
               {"batch", queries, "heads", "value_dim"});
  StringRef rows[] = {"batch", "heads", queries};
  visitAll(op.getLse(), ArrayRef(rows).drop_front(isPacked ? 1 : 0));
  visitAll(op.getQueryLengths(), {"batch"});
  visitAll(op.getKeyLengths(), {"batch"});
  visitAll(op.getQueryStarts(), {"batch_ends"});
  visitAll(op.getKeyStarts(), {"batch_ends"});
  visitAll(op.getKeyPages(), {"batch", "sequence_pages"});
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
  function.walk([&](AttentionOp attention) {
    llvm::StringMap<ArgumentDim> first;
    visitNamedDims(attention, [&](Value operand, unsigned dim, StringRef name) {
      auto number = getNumber(operand, function);
      if (!number)
        return;
      ArgumentDim place(*number, dim);
      equal.unionSets(first.try_emplace(name, place).first->second, place);
      inOrder.emplace_back(place, name);
    });
  });
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
  function.walk([&](AttentionOp attention) {
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
