//===- PlaceTensors.cpp - Memory of tensors that control flow returns -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prepares tensors that branches and loops return for bufferization: branches
// write into memory made before them, loops into what they carry, so no
// memory is returned. Read `placeBranchTensors`, then `placeLoopTensors`.
//
//===----------------------------------------------------------------------===//

#include "PlaceTensors.h"
#include "PlaceResults.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::fa;

/// What a terminator hands on is written into `memory`.
static void writeInto(RewriterBase &rewriter, OpOperand &handedOn,
                      Value memory) {
  Operation *terminator = handedOn.getOwner();
  rewriter.setInsertionPoint(terminator);
  auto written = bufferization::MaterializeInDestinationOp::create(
      rewriter, terminator->getLoc(), handedOn.get(), memory);
  rewriter.modifyOpInPlace(terminator,
                           [&] { handedOn.set(written.getResult()); });
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// The size of a dimension of `value`, which a branch of `op` returns, in terms
/// of what is known before `op`; nothing where it is not.
static FailureOr<Value> getSizeBefore(RewriterBase &rewriter, scf::IfOp op,
                                      Value value, int64_t dim);

/// That of what `chosen`, in `op` or `op` itself, returns as result `number`.
static FailureOr<Value> chooseSize(RewriterBase &rewriter, scf::IfOp op,
                                   scf::IfOp chosen, unsigned number,
                                   int64_t dim) {
  auto thenSize =
      getSizeBefore(rewriter, op, chosen.thenYield().getOperand(number), dim);
  auto elseSize =
      getSizeBefore(rewriter, op, chosen.elseYield().getOperand(number), dim);
  if (failed(thenSize) || failed(elseSize))
    return failure();
  if (*thenSize == *elseSize)
    return *thenSize;
  return arith::SelectOp::create(rewriter, op.getLoc(), chosen.getCondition(),
                                 *thenSize, *elseSize)
      .getResult();
}

static bool isBefore(Value value, scf::IfOp op) {
  return !op->isAncestor(value.getParentBlock()->getParentOp());
}

static FailureOr<Value> getSizeBefore(RewriterBase &rewriter, scf::IfOp op,
                                      Value value, int64_t dim) {
  // A result has the sizes of its destination, one of a loop of what the loop
  // begins with.
  while (Operation *made = value.getDefiningOp()) {
    if (!op->isProperAncestor(made))
      break;
    Value source;
    if (auto style = dyn_cast<DestinationStyleOpInterface>(made)) {
      if (OpOperand *destination =
              style.getTiedOpOperand(cast<OpResult>(value)))
        source = destination->get();
    } else if (auto loop = dyn_cast<scf::ForOp>(made)) {
      source = loop.getTiedLoopInit(cast<OpResult>(value))->get();
    } else if (auto cast = dyn_cast<tensor::CastOp>(made)) {
      source = cast.getSource();
    }
    if (!source)
      break;
    value = source;
  }
  if (auto inner = value.getDefiningOp<scf::IfOp>();
      inner && op->isProperAncestor(inner) &&
      isBefore(inner.getCondition(), op))
    return chooseSize(rewriter, op, inner,
                      cast<OpResult>(value).getResultNumber(), dim);
  FailureOr<OpFoldResult> size = affine::reifyShapedValueDimBound(
      rewriter, op.getLoc(), presburger::BoundType::EQ, value, dim,
      [&](Value known, std::optional<int64_t>, ValueBoundsConstraintSet &) {
        return isBefore(known, op);
      });
  if (failed(size))
    return failure();
  return getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), *size);
}

/// The sizes before `op` of its result `number` that are dynamic. Where the
/// branches' differ the condition chooses.
static FailureOr<SmallVector<Value>>
getSizesBefore(RewriterBase &rewriter, scf::IfOp op, unsigned number) {
  auto type = cast<RankedTensorType>(op.getResult(number).getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!type.isDynamicDim(dim))
      continue;
    FailureOr<Value> size = chooseSize(rewriter, op, op, number, dim);
    if (failed(size))
      return op.emitOpError()
             << "returns " << type << " as result " << number
             << ", whose dimension " << dim
             << " has a size that is known inside of a branch alone: expected "
                "a static one, or one computed before";
    sizes.push_back(*size);
  }
  return sizes;
}

LogicalResult fa::placeBranchTensors(RewriterBase &rewriter,
                                     func::FuncOp function) {
  SmallVector<scf::IfOp> branches;
  // Outer ones first: an inner one then writes to the memory of the outer one.
  function.walk<WalkOrder::PreOrder>(
      [&](scf::IfOp op) { branches.push_back(op); });
  for (scf::IfOp op : branches)
    for (OpResult result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()))
        continue;
      unsigned number = result.getResultNumber();
      rewriter.setInsertionPoint(op);
      auto sizes = getSizesBefore(rewriter, op, number);
      if (failed(sizes))
        return failure();
      for (scf::YieldOp yield : {op.thenYield(), op.elseYield()}) {
        rewriter.setInsertionPoint(op);
        Value memory = tensor::EmptyOp::create(rewriter, op.getLoc(),
                                               result.getType(), *sizes);
        OpOperand &handedOn = yield->getOpOperand(number);
        Value value = handedOn.get();
        // What is made before the branch is not always what it returns.
        if (value.getParentBlock() == yield->getBlock())
          makeIn(rewriter, value, [&](Location) { return memory; });
        writeInto(rewriter, handedOn, memory);
      }
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// A tensor that a loop hands on in other memory than that of the one it
/// carries.
struct MovedTensor {
  scf::ForOp loop;
  OpOperand *yielded;
  Value carried;
};
} // namespace

/// What loops carry has the size of what they begin with, by induction.
static Value getBeginning(Value value) {
  while (true) {
    if (auto loop = value.getDefiningOp<scf::ForOp>()) {
      value = loop.getTiedLoopInit(cast<OpResult>(value))->get();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop = argument
                    ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                    : nullptr;
    if (!loop)
      return value;
    value = loop.getTiedLoopInit(argument)->get();
  }
}

/// Memory keeps its size from one iteration to the next.
static LogicalResult checkSize(MovedTensor moved) {
  unsigned number = moved.yielded->getOperandNumber();
  Value value = getBeginning(moved.yielded->get());
  auto type = cast<RankedTensorType>(moved.carried.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    auto isSizeOf = [&](Value other) {
      FailureOr<bool> isEqual =
          ValueBoundsConstraintSet::areEqual({value, dim}, {other, dim});
      return succeeded(isEqual) && *isEqual;
    };
    if (type.isDynamicDim(dim) && !isSizeOf(moved.carried) &&
        !isSizeOf(getBeginning(moved.carried)))
      return moved.loop.emitOpError()
             << "carries " << type << " as argument " << number
             << ", whose dimension " << dim
             << " is not known to keep its size: expected a tensor of the size "
                "of the one carried";
  }
  return success();
}

/// A copy of what a loop is given or hands on, made before that is overwritten.
static void copyFirst(RewriterBase &rewriter, OpOperand &operand) {
  rewriter.setInsertionPoint(operand.getOwner());
  Location loc = operand.getOwner()->getLoc();
  auto type = cast<RankedTensorType>(operand.get().getType());
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, operand.get()),
      type.getElementType());
  if (empty.getType() != type)
    empty = tensor::CastOp::create(rewriter, loc, type, empty);
  auto copy = linalg::CopyOp::create(rewriter, loc, operand.get(), empty);
  rewriter.modifyOpInPlace(operand.getOwner(),
                           [&] { operand.set(copy.getResult(0)); });
}

/// The tensors that loops do not update in place, of those that contain no
/// other such loop.
static FailureOr<SmallVector<MovedTensor>> findMoved(func::FuncOp function) {
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  bufferization::OneShotAnalysisState state(function, options);
  if (failed(bufferization::analyzeOp(function, state)))
    return failure();
  SmallVector<MovedTensor> moved;
  function.walk([&](scf::ForOp loop) {
    for (auto [carried, yielded] : llvm::zip_equal(
             loop.getRegionIterArgs(), *loop.getYieldedValuesMutable()))
      if (isa<RankedTensorType>(carried.getType()) &&
          !state.areEquivalentBufferizedValues(carried, yielded.get()))
        moved.push_back({loop, &yielded, carried});
  });
  // Once an inner loop updates its tensors in place, an outer one may, too.
  auto isOuter = [&](const MovedTensor &one) {
    return llvm::any_of(moved, [&](const MovedTensor &other) {
      return one.loop->isProperAncestor(other.loop);
    });
  };
  SmallVector<MovedTensor> innermost(
      llvm::make_filter_range(moved, std::not_fn(isOuter)));
  return innermost;
}

/// What lies elsewhere is copied to where the loop's tensors are.
static LogicalResult moveBack(RewriterBase &rewriter,
                              ArrayRef<MovedTensor> moved) {
  for (const MovedTensor &each : moved)
    if (failed(checkSize(each)))
      return failure();
  // What a loop begins with is overwritten too, and may be read elsewhere.
  for (MovedTensor each : moved) {
    OpOperand &init =
        each.loop.getInitsMutable()[each.yielded->getOperandNumber()];
    if (!init.get().hasOneUse())
      copyFirst(rewriter, init);
  }
  // Of several, the first one written might be another one's source.
  llvm::SmallDenseMap<Operation *, unsigned> count;
  for (const MovedTensor &each : moved)
    ++count[each.loop];
  for (const MovedTensor &each : moved)
    if (count[each.loop] > 1 || isa<BlockArgument>(each.yielded->get()))
      copyFirst(rewriter, *each.yielded);
  for (const MovedTensor &each : moved)
    writeInto(rewriter, *each.yielded, each.carried);
  return success();
}

LogicalResult fa::placeLoopTensors(RewriterBase &rewriter,
                                   func::FuncOp function) {
  // A copy into one tensor may keep another one from being updated in place.
  while (true) {
    auto moved = findMoved(function);
    if (failed(moved))
      return failure();
    if (moved->empty())
      return success();
    if (failed(moveBack(rewriter, *moved)))
      return failure();
  }
}
