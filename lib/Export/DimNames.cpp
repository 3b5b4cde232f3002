//===- DimNames.cpp - Names of dims that must be equal --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DimNames.h"
#include "fa/Dialect/FA/IR/FA.h"

using namespace mlir;
using namespace mlir::fa;

/// Names the dims of `operand`, where it is an argument of the function.
static void addNames(Value operand, ArrayRef<StringRef> inOrder,
                     DimNames &names) {
  auto argument = dyn_cast_or_null<BlockArgument>(operand);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return;
  for (auto [dim, name] : llvm::enumerate(inOrder))
    names.try_emplace({argument.getArgNumber(), dim}, name);
}

/// The same for an operand whose dims stand in an order of their own; `byKind`
/// is in the order of DimKind.
static void addNames(Value operand, DimsAttr order, ArrayRef<StringRef> byKind,
                     DimNames &names) {
  SmallVector<StringRef> inOrder;
  for (int64_t kind : order.getOrder())
    inOrder.push_back(byKind[kind]);
  addNames(operand, inOrder, names);
}

DimNames mlir::fa::findDimNames(func::FuncOp host) {
  DimNames names;
  auto implemented =
      host->getAttrOfType<FlatSymbolRefAttr>(FADialect::implementsAttrName);
  if (!implemented)
    return names;
  auto reference =
      SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(host, implemented);
  if (!reference)
    return names;
  reference.walk([&](AttentionOp attention) {
    addNames(attention.getQuery(), attention.getQueryOrder(),
             {"batch", "queries", "heads", "head_dim"}, names);
    addNames(attention.getKey(), attention.getKeyOrder(),
             {"batch", "keys", "kv_heads", "head_dim"}, names);
    addNames(attention.getValue(), attention.getValueOrder(),
             {"batch", "keys", "kv_heads", "value_dim"}, names);
    addNames(attention.getOutput(), attention.getOutputOrder(),
             {"batch", "queries", "heads", "value_dim"}, names);
    addNames(attention.getLse(), {"batch", "heads", "queries"}, names);
    addNames(attention.getQueryLengths(), {"batch"}, names);
    addNames(attention.getKeyLengths(), {"batch"}, names);
  });
  return names;
}
