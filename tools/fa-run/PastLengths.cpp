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

namespace {
/// An operand of which rows up to a length are read.
struct Rows {
  Value operand;
  DimsAttr order;
  Value lengths;
};
} // namespace

/// What an attention or a gradient reads up to lengths; nothing of pieces,
/// whose rows are not those that lengths count, and of packed sequences and
/// pages, whose rows lie elsewhere.
static void addRows(Operation *op, SmallVectorImpl<Rows> &rows) {
  auto addInputs = [&](auto attention) {
    rows.push_back({attention.getQuery(), attention.getQueryOrder(),
                    attention.getQueryLengths()});
    rows.push_back({attention.getKey(), attention.getKeyOrder(),
                    attention.getKeyLengths()});
    rows.push_back({attention.getValue(), attention.getValueOrder(),
                    attention.getKeyLengths()});
  };
  if (auto attention = dyn_cast<AttentionOp>(op);
      attention && attention.getExtents().empty() && !attention.isRagged())
    addInputs(attention);
  auto gradient = dyn_cast<AttentionGradientOp>(op);
  if (!gradient || !gradient.getExtents().empty() || gradient.getQueryStarts())
    return;
  addInputs(gradient);
  rows.push_back({gradient.getOutputGradient(),
                  gradient.getOutputGradientOrder(),
                  gradient.getQueryLengths()});
  if (gradient.getOutput())
    rows.push_back({gradient.getOutput(), gradient.getOutputOrder(),
                    gradient.getQueryLengths()});
}

void fa::poisonPastLengths(func::FuncOp function,
                           MutableArrayRef<HostBuffer> arguments,
                           llvm::function_ref<bool(unsigned)> mayChange) {
  SmallVector<Rows> all;
  function.walk([&](Operation *op) { addRows(op, all); });
  for (const Rows &rows : all) {
    auto data = getPosition(function, rows.operand);
    auto bounds = getPosition(function, rows.lengths);
    // What another operation reads, too, or up to other lengths, stays.
    auto isSame = [&](const Rows &other) {
      return other.operand == rows.operand && other.order == rows.order &&
             other.lengths == rows.lengths;
    };
    if (data && bounds && mayChange(*data) &&
        std::max(*data, *bounds) < arguments.size() &&
        llvm::count_if(all, isSame) ==
            std::distance(rows.operand.use_begin(), rows.operand.use_end()))
      poisonRows(arguments[*data], rows.order, arguments[*bounds]);
  }
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
  auto boundOf = [&](auto op) {
    bound(op.getQuery(), op.getQueryOrder(), op.getQueryLengths(), "query",
          op.getExtents());
    bound(op.getKey(), op.getKeyOrder(), op.getKeyLengths(), "key",
          op.getExtents());
  };
  function.walk([&](Operation *op) {
    // What is wrong of packed sequences and pages has a meaning.
    if (auto attention = dyn_cast<AttentionOp>(op);
        attention && !attention.isRagged())
      boundOf(attention);
    else if (auto gradient = dyn_cast<AttentionGradientOp>(op);
             gradient && !gradient.getQueryStarts())
      boundOf(gradient);
  });
  if (error.empty())
    return llvm::Error::success();
  return llvm::createStringError(error);
}
