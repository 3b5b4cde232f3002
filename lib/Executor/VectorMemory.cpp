//===- VectorMemory.cpp - Vector loads and stores in the executor ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them visit the elements of a vector together with the place of each
// in memory; they differ in what happens to masked and out-of-bounds
// elements. Read `AccessPlan` and `forEachAccess`, then `compileLoad`.
//
//===----------------------------------------------------------------------===//

#include "VectorParts.h"
#include "fa/Executor/ArrayOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
/// How the elements of a vector lie in memory.
struct AccessPlan {
  Operation *op;
  SmallVector<int64_t> shape;
  unsigned memory = 0;
  SmallVector<unsigned> indices;
  /// The memory dim that each vector dim walks, -1 for a broadcast dim.
  SmallVector<int64_t> dims;
  /// Whether a vector dim may not leave the memory's bounds.
  SmallVector<bool> inBounds;
  std::optional<unsigned> mask;
  /// Strides of the mask over the vector's dims.
  SmallVector<int64_t> maskStrides;
};
} // namespace

/// Calls `body(i, offset)` for the elements of the vector in row-major order;
/// the offset is -1 for an element that is masked or allowed to be out of
/// bounds.
template <typename Fn>
static LogicalResult forEachAccess(const AccessPlan &plan, Frame &frame,
                                   const Array &memory, Fn body) {
  if (failed(checkLive(plan.op, memory)))
    return failure();
  SmallVector<int64_t> start = getIndices(frame, plan.indices);
  const Array *mask = plan.mask ? &frame.array(*plan.mask) : nullptr;
  ArrayRefPtr packedMask =
      mask ? packArray(frame.arrayRef(*plan.mask)) : nullptr;
  int64_t element = 0;
  LogicalResult result = success();
  SmallVector<int64_t> position(start.size());
  forEachIndex(plan.shape, [&](ArrayRef<int64_t> index) {
    int64_t i = element++;
    if (failed(result))
      return;
    if (mask &&
        !packedMask->data()[getLinearOffset(index, plan.maskStrides)].integer)
      return body(i, int64_t(-1));
    position = start;
    bool mayLeave = false;
    for (auto [vectorDim, dim] : llvm::enumerate(plan.dims)) {
      if (dim < 0)
        continue;
      position[dim] += index[vectorDim];
      bool isInside = position[dim] >= 0 && position[dim] < memory.shape[dim];
      mayLeave |= !isInside && !plan.inBounds[vectorDim];
    }
    if (mayLeave)
      return body(i, int64_t(-1));
    FailureOr<int64_t> offset = getElementOffset(plan.op, memory, position);
    if (failed(offset)) {
      result = failure();
      return;
    }
    body(i, *offset);
  });
  return result;
}

/// A row that is certainly inside and not masked: its offset and stride.
static std::optional<std::pair<int64_t, int64_t>>
getPlainRow(const AccessPlan &plan, Frame &frame, const Array &memory) {
  if (plan.mask || plan.shape.size() != 1 || plan.dims[0] < 0 ||
      memory.storage->released)
    return std::nullopt;
  int64_t offset = memory.offset;
  for (auto [dim, index] : llvm::enumerate(plan.indices)) {
    int64_t first = frame.integer(index);
    int64_t length =
        static_cast<int64_t>(dim) == plan.dims[0] ? plan.shape[0] : 1;
    if (first < 0 || first + length > memory.shape[dim])
      return std::nullopt;
    offset += first * memory.strides[dim];
  }
  return std::pair(offset, memory.strides[plan.dims[0]]);
}

static LogicalResult loadElements(const AccessPlan &plan, Frame &frame,
                                  Slot *target,
                                  llvm::function_ref<Slot(int64_t)> other) {
  const Array &memory = frame.array(plan.memory);
  const Slot *base = memory.storage->data();
  if (auto row = getPlainRow(plan, frame, memory)) {
    for (int64_t i = 0; i < plan.shape[0]; ++i)
      target[i] = base[row->first + i * row->second];
    return success();
  }
  return forEachAccess(plan, frame, memory, [&](int64_t i, int64_t offset) {
    target[i] = offset < 0 ? other(i) : base[offset];
  });
}

static LogicalResult storeElements(const AccessPlan &plan, Frame &frame,
                                   Array &memory, const Slot *source) {
  Slot *base = memory.storage->data();
  if (auto row = getPlainRow(plan, frame, memory)) {
    for (int64_t i = 0; i < plan.shape[0]; ++i)
      base[row->first + i * row->second] = source[i];
    return success();
  }
  return forEachAccess(plan, frame, memory, [&](int64_t i, int64_t offset) {
    if (offset >= 0)
      base[offset] = source[i];
  });
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Fails for memory whose elements are vectors and for scalable vectors.
static LogicalResult checkTypes(Operation *op, VectorType type, Value memory) {
  if (type.isScalable())
    return refuse(op, "of scalable vectors");
  if (!isSlotType(cast<ShapedType>(memory.getType()).getElementType()))
    return refuse(op, "of memory whose elements are not numbers");
  return success();
}

/// Trailing dims in order, all in bounds: load, store and their masked forms.
template <typename OpT>
static FailureOr<AccessPlan> getTrailingPlan(OpT op, VectorType type,
                                             ProgramBuilder &builder) {
  if (failed(checkTypes(op, type, op.getBase())))
    return failure();
  AccessPlan plan;
  plan.op = op;
  plan.shape.assign(type.getShape().begin(), type.getShape().end());
  plan.memory = builder.getRegister(op.getBase());
  plan.indices = builder.getRegisters(op.getIndices());
  int64_t rank = type.getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    plan.dims.push_back(plan.indices.size() - rank + dim);
  plan.inBounds.assign(rank, true);
  return plan;
}

/// The mask of a transfer has the vector's non-broadcast dims in the order of
/// the memory's dims.
static void setTransferMask(AccessPlan &plan, unsigned mask) {
  plan.mask = mask;
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < static_cast<int64_t>(plan.dims.size()); ++dim)
    if (plan.dims[dim] >= 0)
      order.push_back(dim);
  llvm::sort(order,
             [&](int64_t a, int64_t b) { return plan.dims[a] < plan.dims[b]; });
  plan.maskStrides.assign(plan.dims.size(), 0);
  int64_t stride = 1;
  for (int64_t dim : llvm::reverse(order)) {
    plan.maskStrides[dim] = stride;
    stride *= plan.shape[dim];
  }
}

template <typename OpT>
static FailureOr<AccessPlan> getTransferPlan(OpT op, ProgramBuilder &builder) {
  VectorType type = op.getVectorType();
  if (failed(checkTypes(op, type, op.getBase())))
    return failure();
  AccessPlan plan;
  plan.op = op;
  plan.shape.assign(type.getShape().begin(), type.getShape().end());
  plan.memory = builder.getRegister(op.getBase());
  plan.indices = builder.getRegisters(op.getIndices());
  for (AffineExpr expr : op.getPermutationMap().getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    plan.dims.push_back(dim ? dim.getPosition() : -1);
  }
  plan.inBounds = op.getInBoundsValues();
  if (op.getMask())
    setTransferMask(plan, builder.getRegister(op.getMask()));
  return plan;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static LogicalResult compileLoad(vector::LoadOp op, ProgramBuilder &builder) {
  FailureOr<AccessPlan> plan = getTrailingPlan(op, op.getVectorType(), builder);
  if (failed(plan))
    return failure();
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=, plan = std::move(*plan)](Frame &frame) {
    Slot *target = getResultArray(frame, result, plan.shape).data();
    return loadElements(plan, frame, target, nullptr);
  });
  return success();
}

static LogicalResult compileStore(vector::StoreOp op, ProgramBuilder &builder) {
  FailureOr<AccessPlan> plan = getTrailingPlan(op, op.getVectorType(), builder);
  if (failed(plan))
    return failure();
  unsigned value = builder.getRegister(op.getValueToStore());
  builder.emit([=, plan = std::move(*plan)](Frame &frame) {
    ArrayRefPtr source = packArray(frame.arrayRef(value));
    return storeElements(plan, frame, frame.array(plan.memory), source->data());
  });
  return success();
}

static LogicalResult compileMaskedLoad(vector::MaskedLoadOp op,
                                       ProgramBuilder &builder) {
  FailureOr<AccessPlan> plan = getTrailingPlan(op, op.getVectorType(), builder);
  if (failed(plan))
    return failure();
  setTransferMask(*plan, builder.getRegister(op.getMask()));
  unsigned other = builder.getRegister(op.getPassThru());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=, plan = std::move(*plan)](Frame &frame) {
    ArrayRefPtr passed = packArray(frame.arrayRef(other));
    Slot *target = getResultArray(frame, result, plan.shape).data();
    return loadElements(plan, frame, target,
                        [&](int64_t i) { return passed->data()[i]; });
  });
  return success();
}

static LogicalResult compileMaskedStore(vector::MaskedStoreOp op,
                                        ProgramBuilder &builder) {
  FailureOr<AccessPlan> plan = getTrailingPlan(op, op.getVectorType(), builder);
  if (failed(plan))
    return failure();
  setTransferMask(*plan, builder.getRegister(op.getMask()));
  unsigned value = builder.getRegister(op.getValueToStore());
  builder.emit([=, plan = std::move(*plan)](Frame &frame) {
    ArrayRefPtr source = packArray(frame.arrayRef(value));
    return storeElements(plan, frame, frame.array(plan.memory), source->data());
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

static LogicalResult compileTransferRead(vector::TransferReadOp op,
                                         ProgramBuilder &builder) {
  FailureOr<AccessPlan> plan = getTransferPlan(op, builder);
  if (failed(plan))
    return failure();
  unsigned padding = builder.getRegister(op.getPadding());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=, plan = std::move(*plan)](Frame &frame) {
    Slot *target = getResultArray(frame, result, plan.shape).data();
    Slot other = frame.slot(padding);
    return loadElements(plan, frame, target, [&](int64_t) { return other; });
  });
  return success();
}

static LogicalResult compileTransferWrite(vector::TransferWriteOp op,
                                          ProgramBuilder &builder) {
  FailureOr<AccessPlan> plan = getTransferPlan(op, builder);
  if (failed(plan))
    return failure();
  unsigned value = builder.getRegister(op.getValueToStore());
  Use target = builder.getUse(op.getBaseMutable());
  std::optional<unsigned> result;
  if (op.getResult())
    result = builder.getRegister(op.getResult());
  builder.emit([=, plan = std::move(*plan)](Frame &frame) -> LogicalResult {
    ArrayRefPtr source = packArray(frame.arrayRef(value));
    ArrayRefPtr memory =
        result ? takeForUpdate(frame, target) : frame.arrayRef(target.index);
    if (failed(storeElements(plan, frame, *memory, source->data())))
      return failure();
    if (result)
      frame[*result] = memory;
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

static LogicalResult compileGather(vector::GatherOp op,
                                   ProgramBuilder &builder) {
  if (failed(checkTypes(op, op.getVectorType(), op.getBase())))
    return failure();
  unsigned memoryRegister = builder.getRegister(op.getBase());
  SmallVector<unsigned> offsets = builder.getRegisters(op.getOffsets());
  unsigned indices = builder.getRegister(op.getIndices());
  unsigned mask = builder.getRegister(op.getMask());
  unsigned other = builder.getRegister(op.getPassThru());
  unsigned result = builder.getRegister(op.getResult());
  SmallVector<int64_t> shape(op.getVectorType().getShape());
  builder.emit([=](Frame &frame) -> LogicalResult {
    const Array &memory = frame.array(memoryRegister);
    ArrayRefPtr positions = packArray(frame.arrayRef(indices));
    ArrayRefPtr enabled = packArray(frame.arrayRef(mask));
    ArrayRefPtr passed = packArray(frame.arrayRef(other));
    Array &target = getResultArray(frame, result, shape);
    SmallVector<int64_t> start = getIndices(frame, offsets);
    for (int64_t i = 0; i < target.getNumElements(); ++i) {
      if (!enabled->data()[i].integer) {
        target.data()[i] = passed->data()[i];
        continue;
      }
      SmallVector<int64_t> position(start);
      position.back() += positions->data()[i].integer;
      FailureOr<int64_t> offset = getElementOffset(op, memory, position);
      if (failed(offset))
        return failure();
      target.data()[i] = memory.storage->data()[*offset];
    }
    return success();
  });
  return success();
}

void executor::addVectorMemory(Semantics &semantics) {
  semantics.add<vector::LoadOp>(compileLoad);
  semantics.add<vector::StoreOp>(compileStore);
  semantics.add<vector::MaskedLoadOp>(compileMaskedLoad);
  semantics.add<vector::MaskedStoreOp>(compileMaskedStore);
  semantics.add<vector::TransferReadOp>(compileTransferRead);
  semantics.add<vector::TransferWriteOp>(compileTransferWrite);
  semantics.add<vector::GatherOp>(compileGather);
}
