//===- InferLayouts.cpp - Layouts that a text leaves out ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block values that must have one layout form a class (union-find). A class
// gets its layout from the text, from an operation that fixes it, or from its
// shape. Read `LayoutInference::run`, whose steps stand above it in order.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUINFERLAYOUTSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

namespace {

/// The tensor behind a block value or a value in flight.
RankedTensorType getTensor(Value value) {
  if (auto inflight = dyn_cast<InflightType>(value.getType()))
    return inflight.getValue();
  return cast<RankedTensorType>(value.getType());
}

bool isBlockValue(Value value) {
  return isBlockType(value.getType()) || isa<InflightType>(value.getType());
}

class LayoutInference {
public:
  explicit LayoutInference(RoleOp role)
      : role(role), context(role.getContext()),
        warps(static_cast<unsigned>(role.getWarps())) {}

  LogicalResult run();

private:
  LogicalResult separateUses();
  void convertOperands();
  void collect();
  void joinClasses();
  void join(Value a, Value b);
  void join(ValueRange a, ValueRange b);
  void joinControlFlow(Operation *op);
  LogicalResult fixFromText();
  LogicalResult fixFromShapes();
  LogicalResult fixVectors();
  LogicalResult fix(Operation *op, Value value, Attribute layout);
  Attribute layoutOf(Value value) { return layouts[classOf(value)]; }
  unsigned classOf(Value value) { return classes[numbers.lookup(value)]; }
  LogicalResult apply();
  void retypeConstants();

  RoleOp role;
  MLIRContext *context;
  unsigned warps;
  llvm::MapVector<Value, unsigned> numbers;
  llvm::IntEqClasses classes;
  SmallVector<Attribute> layouts;
};

} // namespace

/// Constants, splats and indices have no place of their own: each role, and
/// each use of a vector, may have another layout.
LogicalResult LayoutInference::separateUses() {
  DenseMap<Operation *, Operation *> inRole;
  SmallVector<OpOperand *> uses;
  role.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      if (isBlockType(use.get().getType()) &&
          !getBlockLayout(use.get().getType()))
        uses.push_back(&use);
  });
  for (OpOperand *use : uses) {
    Operation *source = use->get().getDefiningOp();
    bool isOutside = !role.getBody().isAncestor(use->get().getParentRegion());
    if (!isa_and_nonnull<arith::ConstantOp, tensor::SplatOp, IotaOp>(source)) {
      if (isOutside)
        return use->getOwner()->emitOpError()
               << "uses a block value from outside of its role; its layout "
                  "depends on the role";
      continue;
    }
    OpBuilder builder(source);
    if (isOutside)
      builder.setInsertionPointToStart(&role.getBody().front());
    if (cast<RankedTensorType>(use->get().getType()).getRank() == 1) {
      if (isOutside || !use->get().hasOneUse())
        use->set(builder.clone(*source)->getResult(0));
    } else if (isOutside) {
      Operation *&clone = inRole[source];
      if (!clone)
        clone = builder.clone(*source);
      use->set(clone->getResult(0));
    }
    if (source->use_empty())
      source->erase();
  }
  return success();
}

/// What the products of an operation have as first operands.
static MutableArrayRef<OpOperand> getFirstOperands(Operation *op) {
  unsigned number = 0;
  if (isa<MmaAsyncOp, MmaOp>(op))
    number = 1;
  else if (auto sum = dyn_cast<MmaSumOp>(op))
    number = sum.getA().size();
  return op->getOpOperands().take_front(number);
}

/// What the products of an operation add to; null for zero.
static Value getSum(Operation *op) {
  if (auto sum = dyn_cast<MmaSumOp>(op))
    return sum.getAcc();
  return op->getNumOperands() == 3 ? op->getOperand(2) : Value();
}

/// A product takes an operand in registers by a conversion of its own, behind
/// the operation that makes the operand, whose slot it then shares.
void LayoutInference::convertOperands() {
  role.walk([&](Operation *op) {
    for (OpOperand &use : getFirstOperands(op)) {
      Value operand = use.get();
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!type || type.getEncoding() || operand.getDefiningOp<ConvertOp>())
        continue;
      OpBuilder builder(context);
      builder.setInsertionPointAfterValue(operand);
      use.set(ConvertOp::create(builder, operand.getLoc(), type, operand));
    }
  });
}

void LayoutInference::collect() {
  auto add = [&](Value value) {
    if (isBlockValue(value))
      numbers.insert({value, static_cast<unsigned>(numbers.size())});
  };
  role.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Constants from outside that have a layout say it to those they meet.
    llvm::for_each(op->getOperands(), add);
    llvm::for_each(op->getResults(), add);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), add);
  });
  classes.grow(numbers.size());
}

void LayoutInference::join(Value a, Value b) {
  if (isBlockValue(a) && isBlockValue(b))
    classes.join(numbers.lookup(a), numbers.lookup(b));
}

void LayoutInference::join(ValueRange a, ValueRange b) {
  for (auto [first, second] : llvm::zip_equal(a, b))
    join(first, second);
}

void LayoutInference::joinControlFlow(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      if (!region->empty() && op->getNumResults())
        join(op->getResults(), region->front().getTerminator()->getOperands());
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    join(loop.getInits(), loop.getRegionIterArgs());
    join(loop.getYieldedValues(), loop.getRegionIterArgs());
    join(loop.getResults(), loop.getRegionIterArgs());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    join(loop.getInits(), loop.getBeforeArguments());
    join(loop.getYieldOp().getResults(), loop.getBeforeArguments());
    join(loop.getConditionOp().getArgs(), loop.getAfterArguments());
    join(loop.getResults(), loop.getAfterArguments());
  } else if (auto loop = dyn_cast<ForOp>(op)) {
    ValueRange arguments = loop.getIterArguments();
    join(loop.getInits(), arguments);
    join(loop.getBody().front().getTerminator()->getOperands(), arguments);
    join(loop.getResults(), arguments);
  } else if (auto loop = dyn_cast<RepeatOp>(op)) {
    ValueRange arguments = loop.getBody().getArguments();
    join(loop.getInits(), arguments);
    join(loop.getBody().front().getTerminator()->getOperands().drop_front(),
         arguments);
  }
}

void LayoutInference::joinClasses() {
  role.walk([&](Operation *op) {
    joinControlFlow(op);
    if (isa<MmaAsyncOp, MmaOp, MmaSumOp>(op)) {
      if (Value sum = getSum(op))
        join(sum, op->getResult(0));
    } else if (isa<WaitOp, GatherOp>(op) ||
               (op->getNumResults() == 1 &&
                OpTrait::hasElementwiseMappableTraits(op))) {
      for (Value operand : op->getOperands())
        join(operand, op->getResult(0));
    } else if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
      for (Value operand : op->getOperands())
        join(operand, scatter.getValue());
    }
  });
  classes.compress();
  layouts.resize(classes.getNumClasses());
}

LogicalResult LayoutInference::fix(Operation *op, Value value,
                                   Attribute layout) {
  Attribute &fixed = layouts[classOf(value)];
  if (!fixed || fixed == layout) {
    fixed = layout;
    return success();
  }
  return op->emitOpError() << "joins block values of layout " << fixed
                           << " and " << layout
                           << "; one needs a 'fagpu.convert'";
}

static Operation *getOwner(Value value) {
  if (Operation *op = value.getDefiningOp())
    return op;
  return cast<BlockArgument>(value).getOwner()->getParentOp();
}

LogicalResult LayoutInference::fixFromText() {
  for (auto &[value, number] : numbers)
    if (Attribute layout = getTensor(value).getEncoding())
      if (failed(fix(getOwner(value), value, layout)))
        return failure();
  return success();
}

LogicalResult LayoutInference::fixFromShapes() {
  WalkResult result = role.walk([&](Operation *op) -> WalkResult {
    for (OpOperand &use : getFirstOperands(op))
      if (isBlockValue(use.get()) &&
          failed(fix(op, use.get(), OperandLayoutAttr::get(context, warps))))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto &[value, number] : numbers) {
    RankedTensorType type = getTensor(value);
    Attribute &layout = layouts[classOf(value)];
    if (layout || type.getRank() == 1)
      continue;
    if (type.getRank() != 2)
      return getOwner(value)->emitOpError()
             << "has a block value " << type << ", expected rank 1 or 2";
    layout = type.getDimSize(1) == 4
                 ? Attribute(QuadLayoutAttr::get(context, warps))
                 : Attribute(AccumulatorLayoutAttr::get(context, warps));
  }
  return success();
}

LogicalResult LayoutInference::fixVectors() {
  Attribute row = RowLayoutAttr::get(context, warps),
            column = ColumnLayoutAttr::get(context, warps),
            ofWarps = WarpLayoutAttr::get(context, warps);
  WalkResult result = role.walk([&](Operation *op) -> WalkResult {
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      RankedTensorType to = getTensor(reduce.getResult());
      bool ofRows =
          to.getDimSize(0) == getTensor(reduce.getSource()).getDimSize(0);
      if (to.getRank() == 1)
        return fix(op, reduce.getResult(), ofRows ? row : ofWarps);
    }
    if (auto between = dyn_cast<BetweenOp>(op)) {
      if (failed(fix(op, between.getEnd(), row)))
        return WalkResult::interrupt();
      return fix(op, between.getFirst(), row);
    }
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      RankedTensorType to = getTensor(broadcast.getResult());
      int64_t size = getTensor(broadcast.getSource()).getDimSize(0);
      bool isSquare = to.getDimSize(0) == to.getDimSize(1);
      if (!llvm::is_contained(to.getShape(), size))
        return fix(op, broadcast.getSource(), ofWarps);
      if (!isSquare)
        return fix(op, broadcast.getSource(),
                   size == to.getDimSize(0) ? row : column);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto &[value, number] : numbers)
    if (!layoutOf(value))
      return getOwner(value)->emitOpError()
             << "has a block value " << getTensor(value)
             << " of which no use says whether it has rows or columns; "
                "expected #fagpu.row<"
             << warps << "> or #fagpu.col<" << warps << "> in the text";
  return success();
}

/// The constants' values have the types of the results.
void LayoutInference::retypeConstants() {
  role.walk([&](arith::ConstantOp op) {
    if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()))
      op.setValueAttr(dense.reshape(cast<ShapedType>(op.getType())));
  });
}

LogicalResult LayoutInference::apply() {
  auto laidOut = [](RankedTensorType type, Attribute layout) {
    return RankedTensorType::get(type.getShape(), type.getElementType(),
                                 layout);
  };
  for (auto &[value, number] : numbers) {
    Attribute layout = layoutOf(value);
    RankedTensorType type = getTensor(value);
    Operation *owner = getOwner(value);
    if (failed(cast<VerifiableTensorEncoding>(layout).verifyEncoding(
            type.getShape(), type.getElementType(),
            [&] { return owner->emitOpError(); })))
      return failure();
    auto inflight = dyn_cast<InflightType>(value.getType());
    if (!inflight) {
      value.setType(laidOut(type, layout));
      continue;
    }
    auto keeps = llvm::to_vector(inflight.getKeeps());
    for (RankedTensorType &kept : keeps)
      if (!kept.getEncoding())
        kept = laidOut(kept, OperandLayoutAttr::get(context, warps));
    value.setType(InflightType::get(context, laidOut(type, layout), keeps));
  }
  retypeConstants();
  return success();
}

LogicalResult LayoutInference::run() {
  if (failed(separateUses()))
    return failure();
  convertOperands();
  collect();
  joinClasses();
  if (failed(fixFromText()) || failed(fixFromShapes()) || failed(fixVectors()))
    return failure();
  return apply();
}

LogicalResult mlir::fagpu::inferLayouts(RoleOp role) {
  // A text that leaves nothing out stays as it is.
  if (hasLayouts(role))
    return success();
  return LayoutInference(role).run();
}

namespace {
struct InferLayoutsPass
    : public fagpu::impl::FAGPUInferLayoutsPassBase<InferLayoutsPass> {
  void runOnOperation() override {
    for (RoleOp role : getOperation().getOps<RoleOp>())
      if (failed(inferLayouts(role)))
        return signalPassFailure();
  }
};
} // namespace
