//===- Coverage.cpp - Whether rows see each of their keys once ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts how often each row of an attention saw each key, by runs of the
// compiled function (Coverage.h says how). In the order of a proof:
// `countRuns`, for each run `setInputs` and `compare`, then `print`. `compare`
// turns an output back into a number of visits; all else names rows and keys.
//
//===----------------------------------------------------------------------===//

#include "Coverage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// The index of an element in the dimension of a kind; 0 where an operand has
/// none.
static int64_t getIndex(int64_t element, ArrayRef<int64_t> shape,
                        DimsAttr order, DimKind kind) {
  if (!order.has(kind))
    return 0;
  int64_t position = order.positionOf(kind);
  return element / getRowMajorStrides(shape)[position] % shape[position];
}

Coverage::Coverage(AttentionOp op, unsigned values, unsigned output,
                   unsigned lse, ArrayRef<int64_t> valueShape)
    : values(values), output(output), lse(lse), op(op),
      valueShape(valueShape.begin(), valueShape.end()) {
  DimsAttr order = op.getValueOrder();
  auto getSize = [&](DimKind kind) {
    return order.has(kind) ? valueShape[order.positionOf(kind)] : 1;
  };
  numRows = getSize(DimKind::Page) * getSize(DimKind::Sequence);
  headDim = getSize(DimKind::HeadDim);
}

int64_t Coverage::countRuns() const {
  return llvm::divideCeil(numRows, headDim);
}

std::pair<int64_t, int64_t> Coverage::findElement(int64_t element) const {
  DimsAttr order = op.getValueOrder();
  auto at = [&](DimKind kind) {
    return getIndex(element, valueShape, order, kind);
  };
  int64_t ofPage = valueShape[order.positionOf(DimKind::Sequence)];
  return {at(DimKind::Page) * ofPage + at(DimKind::Sequence),
          at(DimKind::HeadDim)};
}

static void setNumbers(HostBuffer &buffer,
                       llvm::function_ref<bool(int64_t)> isOne) {
  for (int64_t i = 0, e = buffer.getNumElements(); i < e; ++i)
    if (!std::isnan(buffer.get(i).real))
      buffer.set(i, Slot::ofReal(isOne(i) ? 1.0 : 0.0));
}

void Coverage::setInputs(MutableArrayRef<HostBuffer> inputs,
                         int64_t run) const {
  if (auto queries = dyn_cast<BlockArgument>(op.getQuery());
      queries && queries.hasOneUse())
    setNumbers(inputs[queries.getArgNumber()], [](int64_t) { return false; });
  setNumbers(inputs[values], [&](int64_t element) {
    auto [row, column] = findElement(element);
    return row == run * headDim + column;
  });
}

void Coverage::compare(int64_t run, ArrayRef<const HostBuffer *> found,
                       const Evaluation &expected) {
  const HostBuffer &outputs = *found[output], &lses = *found[lse];
  // Where two digits are left, of weights and of what they are rounded to.
  Type elements[] = {getElementTypeOrSelf(op.getKey().getType()),
                     getElementTypeOrSelf(op.getOutput().getType())};
  bool isOfF16 = llvm::any_of(elements, [](Type type) { return type.isF16(); });
  const double leastWeight = isOfF16 ? 1e-5 : 1e-20;
  const Slot *wantedOutputs = expected.outputs[output].array().data();
  const Slot *wantedLses = expected.outputs[lse].array().data();
  DimsAttr order = op.getOutputOrder();
  auto lseStrides = getRowMajorStrides(lses.shape);
  for (int64_t i = 0, e = outputs.getNumElements(); i < e; ++i) {
    auto at = [&](DimKind kind) {
      return getIndex(i, outputs.shape, order, kind);
    };
    int64_t row = run * headDim + at(DimKind::HeadDim);
    double wanted = wantedOutputs[i].real;
    // Rows that are not written, or of a broken sequence.
    if (row >= numRows || std::isnan(wanted))
      continue;
    std::array<int64_t, 3> query = {at(DimKind::Batch), at(DimKind::Heads),
                                    at(DimKind::Sequence)};
    // An lse is in the order of `query`, without a batch for packed sequences.
    int64_t lseAt = 0;
    for (auto [index, stride] :
         llvm::zip(ArrayRef(query).take_back(lseStrides.size()), lseStrides))
      lseAt += index * stride;
    double weight = outputs.get(i).real;
    int64_t times;
    if (wanted == 0) {
      times = weight == 0 ? 0 : 1;
      if (!times)
        continue;
    } else if (wanted < leastWeight) {
      ++numUndecided;
      continue;
    } else {
      ++numPairs;
      double ratio = weight / wanted *
                     std::exp(lses.get(lseAt).real - wantedLses[lseAt].real);
      // Of no keys at all.
      times = std::isfinite(ratio) ? std::llround(ratio) : 0;
      if (times == 1)
        continue;
    }
    faults[query][row] = times;
  }
}

std::string Coverage::describeKeys(int64_t first, int64_t last) const {
  auto describe = [&](int64_t row) {
    if (!op.getKeyPages())
      return std::to_string(row);
    int64_t ofPage =
        valueShape[op.getValueOrder().positionOf(DimKind::Sequence)];
    return llvm::formatv("{0} of page {1}", row % ofPage, row / ofPage).str();
  };
  if (first == last)
    return "row " + describe(first) + " of the keys is";
  return "rows " + describe(first) + " to " + describe(last) +
         " of the keys are";
}

void Coverage::print(raw_ostream &stream) const {
  constexpr size_t mostRows = 8;
  stream << "coverage: " << numPairs << " pairs of a query and a key";
  if (numUndecided)
    stream << " (and " << numUndecided << " of weights too small to tell)";
  stream << (passed() ? ", each in one part: ok\n" : ": FAILED\n");
  if (numUndecided && faults.empty())
    stream << "  which is no proof; expected fewer keys, "
              "or operands of bf16 or f32\n";
  if (!numPairs)
    stream << "  no row sees a key, so nothing was proved\n";
  size_t number = 0;
  for (auto &[query, keys] : faults) {
    if (number++ == mostRows) {
      stream << "  and " << faults.size() - mostRows << " more queries\n";
      break;
    }
    for (auto at = keys.begin(); at != keys.end();) {
      auto [first, times] = *at;
      int64_t last = first;
      while (++at != keys.end() && at->first == last + 1 && at->second == times)
        ++last;
      stream << "  query " << query[2] << " of batch " << query[0] << ", head "
             << query[1] << ": " << describeKeys(first, last) << " in ";
      if (times == 1)
        stream << "a part, but hidden by the mask\n";
      else if (times == 0)
        stream << "no part\n";
      else
        stream << times << " parts\n";
    }
  }
}
