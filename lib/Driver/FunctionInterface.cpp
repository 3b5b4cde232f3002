//===- FunctionInterface.cpp - What a compiled function takes -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of a function as JSON: those of a manifest, with sizes of
// results that follow from arguments, and conditions between arguments. Read
// `describeInterface`, at the end, then `SizeFinder`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Driver/CPUFunction.h"
#include "fa/Export/ManifestArguments.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;
using llvm::json::Array;
using llvm::json::Object;

/// Whether memory behind `value` may be written, views and calls followed.
static bool mayBeWritten(Value value, DenseSet<Value> &visited) {
  if (!visited.insert(value).second)
    return false;
  for (OpOperand &use : value.getUses()) {
    Operation *owner = use.getOwner();
    if (auto call = dyn_cast<func::CallOp>(owner)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          owner, call.getCalleeAttr());
      if (!callee || callee.isExternal() ||
          mayBeWritten(callee.getArgument(use.getOperandNumber()), visited))
        return true;
      continue;
    }
    if (auto launch = dyn_cast<fagpu::LaunchOp>(owner)) {
      auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          owner, launch.getKernelAttr());
      unsigned number =
          use.getOperandNumber() - launch.getArguments().getBeginOperandIndex();
      if (mayBeWritten(kernel.getArgument(number), visited))
        return true;
      continue;
    }
    if (auto store = dyn_cast<fagpu::StoreOp>(owner);
        store && store.getDestination() == value)
      return true;
    if (auto drain = dyn_cast<fagpu::DrainOp>(owner);
        drain && drain.getDestination() == value)
      return true;
    if (auto scatter = dyn_cast<fagpu::ScatterAddOp>(owner);
        scatter && scatter.getDestination() == value)
      return true;
    if (auto effects = dyn_cast<MemoryEffectOpInterface>(owner)) {
      SmallVector<MemoryEffects::EffectInstance> found;
      effects.getEffectsOnValue(value, found);
      if (llvm::any_of(found, [](const auto &effect) {
            return isa<MemoryEffects::Write>(effect.getEffect());
          }))
        return true;
    }
    for (Value result : owner->getResults())
      if (isa<MemRefType>(result.getType()) && mayBeWritten(result, visited))
        return true;
  }
  return false;
}

bool fa::isWritten(BlockArgument argument) {
  DenseSet<Value> visited;
  return isa<MemRefType>(argument.getType()) && mayBeWritten(argument, visited);
}

//===----------------------------------------------------------------------===//
// Sizes of results
//===----------------------------------------------------------------------===//

namespace {
/// Finds dims of arguments that dims of other values are equal to.
class SizeFinder {
public:
  explicit SizeFinder(func::FuncOp function) : function(function) {}

  /// Nothing where the size is static or not known before a call.
  std::optional<ArgumentDim> find(Value value, unsigned dim);

private:
  std::optional<ArgumentDim> findIndex(Value index);
  std::optional<ArgumentDim> findByName(AttentionOp attention, unsigned result,
                                        unsigned dim);

  func::FuncOp function;
};
} // namespace

std::optional<ArgumentDim> SizeFinder::findIndex(Value index) {
  Value source;
  std::optional<int64_t> dim;
  if (auto op = index.getDefiningOp<tensor::DimOp>()) {
    source = op.getSource();
    dim = op.getConstantIndex();
  } else if (auto op = index.getDefiningOp<memref::DimOp>()) {
    source = op.getSource();
    dim = op.getConstantIndex();
  }
  return dim ? find(source, *dim) : std::nullopt;
}

/// By an operand of the attention whose dim has the same name.
std::optional<ArgumentDim>
SizeFinder::findByName(AttentionOp attention, unsigned result, unsigned dim) {
  Value init = result == 0 ? attention.getOutput() : attention.getLse();
  std::string wanted;
  visitNamedDims(attention, [&](Value operand, unsigned other, StringRef name) {
    if (operand == init && other == dim)
      wanted = name.str();
  });
  std::optional<ArgumentDim> found;
  visitNamedDims(attention, [&](Value operand, unsigned other, StringRef name) {
    if (!found && name == wanted && operand != attention.getOutput() &&
        operand != attention.getLse())
      found = find(operand, other);
  });
  return found;
}

std::optional<ArgumentDim> SizeFinder::find(Value value, unsigned dim) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasRank())
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner()->getParentOp() != function)
      return std::nullopt;
    return ArgumentDim(argument.getArgNumber(), dim);
  }
  Operation *op = value.getDefiningOp();
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return type.isDynamicDim(dim) ? findIndex(empty.getDynamicSize(dim))
                                  : std::nullopt;
  if (auto castOp = dyn_cast<tensor::CastOp>(op))
    return find(castOp.getSource(), dim);
  if (auto attention = dyn_cast<AttentionOp>(op))
    if (auto found = findByName(attention, result, dim))
      return found;
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op))
    return find(destination.getTiedOpOperand(cast<OpResult>(value))->get(),
                dim);
  return std::nullopt;
}

/// The names of equal dims, of results too, which stand behind the arguments.
static DimNames nameDims(func::FuncOp function, ArrayRef<std::string> names) {
  DimNames dims = findDimNames(function);
  SizeFinder finder(function);
  Operation *terminator = function.getBody().front().getTerminator();
  unsigned number = function.getNumArguments();
  for (Value value : terminator->getOperands()) {
    auto type = cast<RankedTensorType>(value.getType());
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      auto place = finder.find(value, dim);
      if (!type.isDynamicDim(dim) || !place)
        continue;
      std::string name =
          names[place->first] + "_dim" + std::to_string(place->second);
      dims[{number, dim}] = dims.try_emplace(*place, name).first->second;
    }
    ++number;
  }
  return dims;
}

//===----------------------------------------------------------------------===//
// Conditions between arguments
//===----------------------------------------------------------------------===//

static Array describeLengths(func::FuncOp function) {
  Array bounds;
  auto number = [&](Value operand) -> std::optional<int64_t> {
    auto argument = dyn_cast_or_null<BlockArgument>(operand);
    if (!argument || argument.getOwner()->getParentOp() != function)
      return std::nullopt;
    return argument.getArgNumber();
  };
  auto collect = [&](auto op) {
    auto add = [&](Value operand, DimsAttr order, Value lengths,
                   unsigned extent) {
      auto data = number(operand), counts = number(lengths);
      if (!data || !counts)
        return;
      // Of a piece of a problem the operand does not hold all rows.
      std::optional<int64_t> limit = -1;
      if (!op.getExtents().empty())
        limit = getConstantIntValue(op.getExtents()[extent]);
      if (limit)
        bounds.push_back(Object{{"lengths", *counts},
                                {"argument", *data},
                                {"dim", order.positionOf(DimKind::Sequence)},
                                {"extent", *limit}});
    };
    // Wrong lengths of packed sequences and of pages have a meaning.
    if (op.isRagged())
      return;
    add(op.getQuery(), op.getQueryOrder(), op.getQueryLengths(), 0);
    add(op.getKey(), op.getKeyOrder(), op.getKeyLengths(), 1);
  };
  function.walk([&](AttentionOp op) { collect(op); });
  function.walk([&](AttentionGradientOp op) { collect(op); });
  return bounds;
}

static Array describeHeads(func::FuncOp function) {
  Array grouped;
  for (auto [query, key] : findGroupedHeads(function))
    grouped.push_back(Object{{"query", query.first},
                             {"query_dim", query.second},
                             {"key", key.first},
                             {"key_dim", key.second}});
  return grouped;
}

FailureOr<Object> fa::describeInterface(func::FuncOp original,
                                        func::FuncOp function,
                                        ArrayRef<std::string> names) {
  DimNames dims = nameDims(original, names);
  unsigned results = original.getNumResults();
  Array arguments;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto entry = describeArgument(function, number, names, dims);
    if (failed(entry))
      return failure();
    auto memref = dyn_cast<MemRefType>(argument.getType());
    if (memref && (memref.getRank() < 1 || memref.getRank() > FA_MAX_RANK))
      return original.emitError("'")
             << original.getName() << "' has an argument or result '"
             << names[number] << "' of rank " << memref.getRank()
             << ", expected 1 to " << int(FA_MAX_RANK);
    bool isResult = number + results >= function.getNumArguments();
    if (isResult || isWritten(argument))
      (*entry)["output"] = true;
    arguments.push_back(std::move(*entry));
  }
  return Object{{"version", 1},
                {"function", original.getName()},
                {"arguments", std::move(arguments)},
                {"lengths", describeLengths(original)},
                {"grouped_heads", describeHeads(original)}};
}
