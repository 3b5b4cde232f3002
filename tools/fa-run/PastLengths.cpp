//===- PastLengths.cpp - Lengths of an attention among the inputs ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PastLengths.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// The position of a value among the arguments of the function, if it is one.
static std::optional<unsigned> getPosition(func::FuncOp function, Value value) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  if (!argument || argument.getOwner()->getParentOp() != function)
    return std::nullopt;
  return argument.getArgNumber();
}

static void poisonRows(HostBuffer &buffer, DimsAttr order,
                       const HostBuffer &lengths) {
  int64_t batch = order.positionOf(DimKind::Batch);
  int64_t sequence = order.positionOf(DimKind::Sequence);
  auto strides = getRowMajorStrides(buffer.shape);
  for (int64_t i = 0, e = buffer.getNumElements(); i < e; ++i) {
    int64_t b = i / strides[batch] % buffer.shape[batch];
    int64_t row = i / strides[sequence] % buffer.shape[sequence];
    if (b < lengths.getNumElements() && row >= lengths.get(b).integer)
      buffer.set(i, getPoison(buffer.elementType));
  }
}

void fa::poisonPastLengths(func::FuncOp function,
                           MutableArrayRef<HostBuffer> arguments,
                           llvm::function_ref<bool(unsigned)> mayChange) {
  auto poison = [&](Value operand, DimsAttr order, Value lengths) {
    auto data = getPosition(function, operand);
    auto bounds = getPosition(function, lengths);
    if (data && bounds && operand.hasOneUse() && mayChange(*data) &&
        std::max(*data, *bounds) < arguments.size())
      poisonRows(arguments[*data], order, arguments[*bounds]);
  };
  function.walk([&](AttentionOp op) {
    // Rows of a piece are not those that lengths count, and those of packed
    // sequences and pages lie elsewhere.
    if (!op.getExtents().empty() || op.isRagged())
      return;
    poison(op.getQuery(), op.getQueryOrder(), op.getQueryLengths());
    poison(op.getKey(), op.getKeyOrder(), op.getKeyLengths());
    poison(op.getValue(), op.getValueOrder(), op.getKeyLengths());
  });
}

llvm::Error fa::boundLengths(func::FuncOp function,
                             MutableArrayRef<HostBuffer> arguments,
                             llvm::function_ref<bool(unsigned)> mayChange) {
  std::string error;
  auto bound = [&](Value operand, DimsAttr order, Value lengths, StringRef what,
                   OperandRange extents) {
    auto data = getPosition(function, operand);
    auto bounds = getPosition(function, lengths);
    if (!data || !bounds || std::max(*data, *bounds) >= arguments.size())
      return;
    int64_t limit = arguments[*data].shape[order.positionOf(DimKind::Sequence)];
    // Of a piece of a problem the operand does not hold all rows.
    if (!extents.empty()) {
      std::optional<int64_t> extent =
          getConstantIntValue(extents[what == "query" ? 0 : 1]);
      if (!extent)
        return;
      limit = *extent;
    }
    HostBuffer &values = arguments[*bounds];
    for (int64_t b = 0, e = values.getNumElements(); b < e; ++b) {
      int64_t length = values.get(b).integer;
      if (length >= 0 && length <= limit)
        continue;
      if (mayChange(*bounds))
        values.set(b, Slot::ofInteger(length % (limit + 1)));
      else if (error.empty())
        error = llvm::formatv(
            "argument {0} of '{1}': the {2} length of batch "
            "item {3} is {4}, expected 0 to {5}, {6}",
            *bounds, function.getName(), what, b, length, limit,
            extents.empty() ? "the size of argument " + std::to_string(*data)
                            : "the extent");
    }
  };
  function.walk([&](AttentionOp op) {
    // What is wrong of packed sequences and pages has a meaning.
    if (op.isRagged())
      return;
    bound(op.getQuery(), op.getQueryOrder(), op.getQueryLengths(), "query",
          op.getExtents());
    bound(op.getKey(), op.getKeyOrder(), op.getKeyLengths(), "key",
          op.getExtents());
  });
  if (error.empty())
    return llvm::Error::success();
  return llvm::createStringError(error);
}
