//===- ApplySemantics.cpp - fa.apply in the executor ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionRegions.h"
#include "FAParts.h"
#include "fa/Executor/ArrayOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
struct ApplyPlan {
  ApplyOp op;
  CompiledRegion region;
  SmallVector<unsigned> inputs, sizes, offsets, extents, results;
};
} // namespace

static FailureOr<SmallVector<int64_t>> getBlockShape(const ApplyPlan &plan,
                                                     Frame &frame) {
  Operation *op = plan.op;
  ApplyOp apply = plan.op;
  if (plan.inputs.empty()) {
    SmallVector<int64_t> shape =
        fillShape(apply.getBlockType(), getIndices(frame, plan.sizes));
    if (failed(checkSizes(op, shape, *frame.execution)))
      return failure();
    return shape;
  }
  SmallVector<int64_t> shape =
      llvm::to_vector(frame.array(plan.inputs.front()).shape);
  for (unsigned input : plan.inputs)
    if (ArrayRef<int64_t>(frame.array(input).shape) != ArrayRef(shape)) {
      op->emitError("operands differ in shape at run time");
      return failure();
    }
  return shape;
}

/// The element of one pair of a block.
static Slot *getElement(Array &array, int64_t queryDim, int64_t query,
                        int64_t key) {
  return array.data() + query * array.strides[queryDim] +
         key * array.strides[1 - queryDim];
}

/// Pairs behind the last query or key are evaluated there.
static int64_t getIndex(int64_t index, int64_t extent) {
  return std::max<int64_t>(std::min(index, extent - 1), 0);
}

static LogicalResult runApply(const ApplyPlan &plan, Frame &frame) {
  ApplyOp op = plan.op;
  FailureOr<SmallVector<int64_t>> shape = getBlockShape(plan, frame);
  if (failed(shape))
    return failure();
  for (unsigned result : plan.results)
    getResultArray(frame, result, *shape);
  int64_t queryDim = op.getRowsAreKeys() ? 1 : 0;
  int64_t queries = (*shape)[queryDim], keys = (*shape)[1 - queryDim];
  RowPosition position;
  position.batch = frame.integer(plan.offsets[0]);
  position.head = frame.integer(plan.offsets[1]);
  position.queryLength = frame.integer(plan.extents[0]);
  position.keyLength = frame.integer(plan.extents[1]);
  int64_t firstKey = frame.integer(plan.offsets[3]);
  LaneState state = plan.region.bind(frame);
  for (int64_t query = 0; query < queries; ++query) {
    position.query =
        getIndex(frame.integer(plan.offsets[2]) + query, position.queryLength);
    plan.region.setRow(state, position);
    for (int64_t first = 0; first < keys; first += CompiledRegion::capacity) {
      int64_t count = std::min(CompiledRegion::capacity, keys - first);
      for (int64_t i = 0; i < count; ++i)
        plan.region.getKeys(state)[i].integer =
            getIndex(firstKey + first + i, position.keyLength);
      for (auto [number, input] : llvm::enumerate(plan.inputs))
        for (int64_t i = 0; i < count; ++i)
          plan.region.getElements(state, number)[i] =
              *getElement(frame.array(input), queryDim, query, first + i);
      if (failed(plan.region.run(state, count)))
        return failure();
      for (auto [number, result] : llvm::enumerate(plan.results))
        for (int64_t i = 0; i < count; ++i)
          *getElement(frame.array(result), queryDim, query, first + i) =
              plan.region.getResult(state, number)[i];
    }
  }
  return success();
}

static LogicalResult compileApply(ApplyOp op, ProgramBuilder &builder) {
  if (failed(checkElementTypes(op.getOperation())))
    return failure();
  ApplyPlan plan;
  plan.op = op;
  auto region = CompiledRegion::compile(op.getPairRegions().front(), builder);
  if (failed(region))
    return failure();
  plan.region = std::move(*region);
  plan.inputs = builder.getRegisters(op.getInputs());
  plan.sizes = builder.getRegisters(op.getSizes());
  plan.offsets = builder.getRegisters(op.getOffsets());
  plan.extents = builder.getRegisters(op.getExtents());
  plan.results = builder.getRegisters(op.getResults());
  builder.emit(
      [plan = std::move(plan)](Frame &frame) { return runApply(plan, frame); });
  return success();
}

void executor::addApplySemantics(Semantics &semantics) {
  semantics.add<ApplyOp>(compileApply);
}
