//===- GradientKeys.cpp - Blocks of keys ----------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComputedRows.h"
#include "GradientTiler.h"
#include "fa/Dialect/FA/IR/SameHeads.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

/// `member` is the place of `head` in the group of its key head.
GradientKeysOp GradientTiler::createKeysStep(
    const KeyGradients &gradients, const BatchItem &item, Value keyHead,
    Value member, Value head, const SequenceBlock &keyBlock, ValueRange state,
    Value querySums) {
  OpFoldResult zero = rewriter.getIndexAttr(0);
  OpFoldResult count = countRows(item.queries, op.getOffsets()[2]);
  auto ofQueries = [&](Value operand, DimsAttr order) {
    return slice(operand, order, item.queries, zero, count, head);
  };
  auto ofKeys = [&](Value operand, DimsAttr order) {
    return slice(operand, order, item.keys, keyBlock.first, keyBlock.valid,
                 keyHead);
  };
  unsigned next = 0;
  Value keyState = gradients.key ? state[next++] : Value();
  Value valueState = gradients.value ? state[next++] : Value();
  DimsAttr sumsOrder;
  Value addedTo;
  if (querySums || sums) {
    sumsOrder = getQuerySumsOrder();
    addedTo =
        querySums
            ? slice(querySums, sumsOrder, toValue(zero), zero, count, member)
            : slice(viewSums(padRows()), sumsOrder, item.queries.batch,
                    item.firstNumber, count, head);
  }
  CaptureDestinations captures =
      CaptureSums::getDestinations(rewriter, loc, gradients.captures,
                                   {item.batch, keyHead, keyBlock.number});
  auto step = GradientKeysOp::create(
      rewriter, loc, state.getTypes(),
      ofQueries(op.getQuery(), op.getQueryOrder()),
      ofKeys(op.getKey(), op.getKeyOrder()),
      ofKeys(op.getValue(), op.getValueOrder()),
      ofQueries(op.getOutputGradient(), op.getOutputGradientOrder()),
      sliceNumbers(reference, item, head, zero, count),
      sliceNumbers(delta, item, head, zero, count), op.getScale(),
      getOffsets(item.batch, head, zero, keyBlock.first),
      ValueRange{item.queries.length, item.keys.length}, op.getScoreCaptures(),
      op.getMaskCaptures(), keyState, valueState, addedTo, captures.memory,
      captures.scale, rewriter.getDenseI64ArrayAttr(captures.numbers),
      op.getQueryDimsAttr(), op.getKeyDimsAttr(), op.getValueDimsAttr(),
      op.getOutputGradientDimsAttr(), sumsOrder, keysConfig);
  CaptureSums::mark(step, gradients.captures, captures);
  takeRegions(step);
  return step;
}

/// The query heads of a group visit a block of keys one after the other.
void GradientTiler::addKeyBlock(const KeyGradients &gradients,
                                const BatchItem &item, Value keyHead,
                                Value firstKey, int64_t block,
                                Value querySums) {
  SequenceBlock keyBlock =
      getSequenceBlock(firstKey, item.keys, block, op.getOffsets()[3]);
  if (gradients.captures.isOrdered && !gradients.captures.sums.empty())
    keyBlock.number = getOrdinal(item, firstKey, block);
  SmallVector<Value> state;
  OpFoldResult rows =
      countComputedRows(rewriter, loc, keysConfig, block, keyBlock.count);
  if (gradients.key)
    state.push_back(createZeros(rows, op.getKey(), op.getKeyOrder()));
  if (gradients.value)
    state.push_back(createZeros(rows, op.getValue(), op.getValueOrder()));
  Value zero = toValue(rewriter.getIndexAttr(0));
  if (isEqualConstantIntOrValue(heads, keyHeads)) {
    auto step = createKeysStep(gradients, item, keyHead, zero, keyHead,
                               keyBlock, state, querySums);
    state.assign(step.getResults().begin(), step.getResults().end());
  } else {
    auto members = scf::ForOp::create(rewriter, loc, zero, getGroup(),
                                      toValue(rewriter.getIndexAttr(1)), state);
    OpBuilder::InsertionGuard guard(rewriter);
    if (!members.getBody()->empty())
      rewriter.eraseOp(members.getBody()->getTerminator());
    rewriter.setInsertionPointToEnd(members.getBody());
    Value member = members.getInductionVar();
    auto step = createKeysStep(gradients, item, keyHead, member,
                               getQueryHead(keyHead, member), keyBlock,
                               members.getRegionIterArgs(), querySums);
    scf::YieldOp::create(rewriter, loc, step.getResults());
    state.assign(members.getResults().begin(), members.getResults().end());
  }
  unsigned next = 0;
  if (gradients.key)
    finalize(state[next++], getScale(), gradients.key, op.getKeyGradientOrder(),
             item.keys, keyHead, keyBlock);
  if (gradients.value)
    finalize(state[next++], Value(), gradients.value,
             op.getValueGradientOrder(), item.keys, keyHead, keyBlock);
}

/// Blocks of keys in parallel.
void GradientTiler::tileKeys(const KeyGradients &gradients) {
  int64_t block = getBlock(keys, keysConfig.getKeyBlock());
  loop(keyHeads, RowKind::keys, keys, block, {true, true, true},
       [&](const BatchItem &item, Value keyHead, Value firstKey) {
         addKeyBlock(gradients, item, keyHead, firstKey, block,
                     /*querySums=*/Value());
       });
}

/// A kernel through one head has a segment for each range of queries; one
/// through several finds out in each step which range it is in. So where the
/// numbers of heads come at run time, they choose (measured on an H200).
void GradientTiler::tileKeysByHeads(const KeyGradients &gradients) {
  auto tileSameHeads = [&] {
    OpFoldResult all = std::exchange(heads, keyHeads);
    tileKeys(gradients);
    heads = all;
  };
  if (op->hasAttr(sameHeadsAttrName))
    return tileSameHeads();
  auto target = dyn_cast<GPUConfigAttr>(config.getTarget());
  if (!target || !target.getPart().hasGroups() ||
      isEqualConstantIntOrValue(heads, keyHeads) ||
      (getConstantIntValue(heads) && getConstantIntValue(keyHeads)))
    return tileKeys(gradients);
  Value same = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                     toValue(heads), toValue(keyHeads));
  auto branch = scf::IfOp::create(rewriter, loc, same, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  tileSameHeads();
  rewriter.setInsertionPointToStart(branch.elseBlock());
  tileKeys(gradients);
}
