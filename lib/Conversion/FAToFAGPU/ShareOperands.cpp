//===- ShareOperands.cpp - Computed operands through shared memory --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Brings operands that threads compute, not copy, to products by way of
// shared memory. Values of one type that are needed together are stacked in
// one channel, behind one barrier. Read the pass at the end, then `collect`,
// `place` and `stack`.
//
//===----------------------------------------------------------------------===//

#include "ChannelTypes.h"
#include "GroupDependence.h"
#include "IndexWidths.h"
#include "KernelConfig.h"
#include "PartOfValue.h"
#include "SplitSum.h"
#include "ViewParts.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <deque>

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSHAREOPERANDSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// A value that products read from shared memory, and their operands.
struct SharedValue {
  Value value;
  SmallVector<OpOperand *> uses;
  /// What is written: all of it, to a bank of the group or for all groups, or
  /// the group's part of it, at this place.
  Value written, bank;
  SmallVector<Value> part;

  /// The operations of the value's block that read it, or hold who does.
  Operation *getFirst() { return getEnd(/*last=*/false); }
  Operation *getLast() { return getEnd(/*last=*/true); }

private:
  Operation *getEnd(bool last) {
    Block *block = value.getParentBlock();
    Operation *end = nullptr;
    for (OpOperand *use : uses) {
      Operation *op = block->findAncestorOpInBlock(*use->getOwner());
      if (!end || (last ? end->isBeforeInBlock(op) : op->isBeforeInBlock(end)))
        end = op;
    }
    return end;
  }
};

/// Values that are written and acquired together, one below the other in the
/// stages of one channel.
struct Stack {
  SmallVector<SharedValue *> values;
  ChannelOp channel = nullptr;

  Value getFirst() const { return values.front()->value; }
  /// The first row of a value in the stage.
  int64_t getRow(size_t number) const {
    auto type = cast<RankedTensorType>(getFirst().getType());
    return type.getDimSize(0) * static_cast<int64_t>(number);
  }
  RankedTensorType getType() const {
    auto type = cast<RankedTensorType>(getFirst().getType());
    return type.clone({getRow(values.size()), type.getDimSize(1)});
  }
};
} // namespace

/// Operands that a fetch brings are copied to shared memory, not written. What
/// groups exchange is written, too, but by each of them.
static bool isComputed(Value operand) {
  if (auto part = operand.getDefiningOp<tensor::ExtractSliceOp>())
    return isComputed(part.getSource());
  if (operand.getDefiningOp<ExchangeOp>())
    return false;
  return isa<RankedTensorType>(operand.getType()) && operand.getDefiningOp() &&
         !operand.getDefiningOp<FetchOp>();
}

/// A second operand is read by all warps; a first one from before a loop would
/// take registers in it.
static llvm::MapVector<Value, SharedValue> collect(func::FuncOp kernel) {
  llvm::MapVector<Value, SharedValue> shared;
  kernel.walk([&](ProductOp product) {
    auto add = [&](OpOperand &operand) {
      SharedValue &value = shared[operand.get()];
      value.value = operand.get();
      value.uses.push_back(&operand);
    };
    if (isComputed(product.getB()))
      add(product.getBMutable());
    if (isComputed(product.getA()) &&
        product.getA().getParentBlock() != product->getBlock())
      add(product.getAMutable());
  });
  return shared;
}

namespace {
/// Says what is written of the values of one kernel, and makes their channels.
class ChannelMaker {
public:
  explicit ChannelMaker(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getContext()),
        hasGroups(hasWarpGroups(kernel)) {}
  LogicalResult place(SharedValue &shared);
  SmallVector<Stack> stack(ArrayRef<SharedValue *> together);
  void make(Stack &stack);

private:
  bool reuseChannel(Stack &stack);
  FailureOr<SmallVector<int64_t>> getPartShape(Value value, RoleOp role);
  LogicalResult divide(SharedValue &shared, RoleOp role);

  func::FuncOp kernel;
  OpBuilder builder;
  bool hasGroups;
  /// Channels of values of one type and block, from the one that was used first
  /// to the one that was used last. A loop in a loop shares those of the outer
  /// one; it uses all of them or none, so that their turns are the same behind
  /// it.
  llvm::MapVector<std::pair<Block *, Type>, std::deque<ChannelOp>> inTurns;
  /// What is common to the parts of a role's values of one shape.
  llvm::MapVector<std::pair<Operation *, Type>, PartOfValue> parts;
};
} // namespace

/// The block of the value, or that of the loop which its own loop is in.
static Block *getOuterBlock(Value value) {
  Block *block = value.getParentBlock();
  while (isa<ForOp>(block->getParentOp()) &&
         isa<ForOp>(block->getParentOp()->getParentOp()))
    block = block->getParentOp()->getBlock();
  return block;
}

/// Operands of a loop take turns at channels: those that come by parts at those
/// of two products, of which one is written while the other is read, and those
/// of common stages at those of one.
bool ChannelMaker::reuseChannel(Stack &stack) {
  GPUPart config = getGPUPart(kernel);
  bool isInLoop = isa<ForOp>(stack.getFirst().getParentBlock()->getParentOp());
  if (!isInLoop || (!config.columns && !config.commonStages))
    return false;
  constexpr size_t terms = 3;
  size_t ofProduct = stack.values.size() == 1 ? terms : 1;
  std::deque<ChannelOp> &channels =
      inTurns[{getOuterBlock(stack.getFirst()), stack.getType()}];
  if (channels.size() < (config.columns ? 2 : 1) * ofProduct)
    return false;
  stack.channel = channels.front();
  channels.pop_front();
  channels.push_back(stack.channel);
  return true;
}

/// Panels are no wider than what a group writes.
void ChannelMaker::make(Stack &stack) {
  if (reuseChannel(stack))
    return;
  builder.setInsertionPoint(*kernel.getOps<RoleOp>().begin());
  SharedValue &first = *stack.values.front();
  auto role = first.value.getParentRegion()->getParentOfType<RoleOp>();
  RankedTensorType type = stack.getType();
  unsigned swizzle =
      chooseSwizzle(cast<RankedTensorType>(first.written.getType()));
  stack.channel = ChannelOp::create(
      builder, first.value.getLoc(),
      ChannelType::get(
          type.getContext(), type.getShape(), type.getElementType(),
          SharedLayoutAttr::get(type.getContext(), swizzle), /*depth=*/1),
      hasGroups ? Engine::threads : Engine::cp_async, /*multicast=*/false,
      first.bank ? role.getGroups() : 1, Value(), IntegerAttr(), IntegerAttr(),
      DenseI32ArrayAttr());
  inTurns[{getOuterBlock(first.value), type}].push_back(stack.channel);
}

/// Values of one type of which a group writes the same part. Copies of threads
/// fill whole stages.
SmallVector<Stack> ChannelMaker::stack(ArrayRef<SharedValue *> together) {
  SmallVector<Stack> stacks;
  for (SharedValue *shared : together) {
    auto *found = llvm::find_if(stacks, [&](const Stack &stack) {
      const SharedValue &first = *stack.values.front();
      return hasGroups && first.value.getType() == shared->value.getType() &&
             first.bank == shared->bank && first.part == shared->part;
    });
    if (found == stacks.end())
      found = stacks.insert(stacks.end(), Stack());
    found->values.push_back(shared);
  }
  return stacks;
}

/// Rows of whole warps where there are as many, else columns of whole panels.
FailureOr<SmallVector<int64_t>> ChannelMaker::getPartShape(Value value,
                                                           RoleOp role) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t groups = role.getGroups(), rowsOfWarps = 16 * role.getWarps();
  constexpr int64_t panel = 16;
  if (rows % (groups * rowsOfWarps) == 0)
    return SmallVector<int64_t>{rows / groups, columns};
  if (columns % (groups * panel) == 0 && rows % rowsOfWarps == 0)
    return SmallVector<int64_t>{rows, columns / groups};
  return emitError(value.getLoc())
         << groups << " groups share a computed operand of " << rows
         << " rows and " << columns << " columns, expected a multiple of "
         << groups * rowsOfWarps << " rows or of " << groups * panel
         << " columns";
}

/// Each group computes and writes a part of what all of them read.
LogicalResult ChannelMaker::divide(SharedValue &shared, RoleOp role) {
  auto shape = getPartShape(shared.value, role);
  if (failed(shape))
    return failure();
  auto type = cast<RankedTensorType>(shared.value.getType());
  bool ofRows = (*shape)[0] < type.getDimSize(0);
  auto key =
      std::pair(role.getOperation(),
                Type(RankedTensorType::get(*shape, builder.getI1Type())));
  auto *known = parts.find(key);
  if (known == parts.end()) {
    builder.setInsertionPointToStart(&role.getBody().front());
    Location loc = role.getLoc();
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
    Value size = arith::ConstantIntOp::create(builder, loc,
                                              (*shape)[ofRows ? 0 : 1], 32);
    Value first = multiplyShort(builder, loc, role.getGroup(), size);
    SmallVector<Value> offsets = {ofRows ? first : zero, ofRows ? zero : first};
    known = parts.insert({key, PartOfValue(*shape, offsets)}).first;
  }
  shared.written = known->second.get(shared.value);
  if (!shared.written)
    return emitError(shared.value.getLoc())
           << "several groups share an operand that is not made by elementwise "
              "operations alone, so none of them can make a part of it";
  shared.part = llvm::to_vector(known->second.getOffsets());
  return success();
}

LogicalResult ChannelMaker::place(SharedValue &shared) {
  auto role = shared.value.getParentRegion()->getParentOfType<RoleOp>();
  int64_t groups = role.getGroups();
  bool isOfGroup = groups > 1 && dependsOnGroup(shared.value, role);
  if (groups > 1 && !isOfGroup)
    return divide(shared, role);
  shared.written = shared.value;
  if (isOfGroup)
    shared.bank = role.getGroup();
  return success();
}

/// Writes the value to rows of a stage from `firstRow` on.
static void write(OpBuilder &builder, Stack &stack, SharedValue &shared,
                  int64_t firstRow) {
  Location loc = shared.value.getLoc();
  builder.setInsertionPointAfterValue(shared.written);
  SmallVector<Value> part = shared.part;
  if (stack.values.size() > 1) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(builder, loc, value, 32);
    };
    if (part.empty())
      part = {constant(firstRow), constant(0)};
    else
      part[0] =
          builder.createOrFold<arith::AddIOp>(loc, part[0], constant(firstRow));
  }
  WriteOp::create(builder, loc, stack.channel, shared.bank, part,
                  shared.written, /*transposed=*/UnitAttr(),
                  /*continues=*/UnitAttr(), /*unfinished=*/UnitAttr(), Value(),
                  Value());
}

/// Acquires the values before the first use of one of them, and releases them
/// behind the last.
static void acquire(OpBuilder &builder, Stack &stack, Operation *first) {
  Operation *last = nullptr;
  for (SharedValue *shared : stack.values)
    if (!last || last->isBeforeInBlock(shared->getLast()))
      last = shared->getLast();
  builder.setInsertionPoint(first);
  Location loc = stack.getFirst().getLoc();
  ViewType type = stack.channel.getType().getView();
  Value view = AcquireOp::create(builder, loc, type, stack.channel,
                                 stack.values.front()->bank, Value(), Value(),
                                 IntegerAttr());
  for (auto [number, shared] : llvm::enumerate(stack.values)) {
    auto part = cast<RankedTensorType>(shared->value.getType());
    Value own = view;
    if (stack.values.size() > 1) {
      Value offsets[] = {
          arith::ConstantIntOp::create(builder, loc, stack.getRow(number), 32),
          arith::ConstantIntOp::create(builder, loc, 0, 32)};
      own = SliceOp::create(builder, loc,
                            ViewType::get(builder.getContext(), part.getShape(),
                                          type.getElementType(),
                                          type.getLayout()),
                            view, offsets);
    }
    for (OpOperand *use : shared->uses)
      use->set(own);
  }
  builder.setInsertionPointAfter(last);
  ReleaseOp::create(builder, loc, view);
}

/// The values that are there before the first use of one of them: the threads
/// wait for each other once.
static SmallVector<SharedValue *> takeTogether(SmallVector<SharedValue *> &rest,
                                               Operation *&first) {
  first = rest.front()->getFirst();
  for (SharedValue *shared : rest)
    if (shared->getFirst()->isBeforeInBlock(first))
      first = shared->getFirst();
  SmallVector<SharedValue *> together, later;
  for (SharedValue *shared : rest)
    (shared->value.getDefiningOp()->isBeforeInBlock(first) ? together : later)
        .push_back(shared);
  rest = later;
  return together;
}

/// Each group writes its rows, transposed, and reads those of all. With stages
/// of two steps it may write those of a step while others read the one before.
static void exchange(ExchangeOp op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  auto role = op->getParentOfType<RoleOp>();
  Location loc = op.getLoc();
  OpBuilder builder(*kernel.getOps<RoleOp>().begin());
  auto channel = ChannelOp::create(
      builder, loc,
      makeChannelType(op.getType(), getGPUPart(kernel).hasOverlap() ? 2 : 1),
      Engine::threads, /*multicast=*/false, /*banks=*/1, Value(), IntegerAttr(),
      IntegerAttr(), DenseI32ArrayAttr());
  builder.setInsertionPoint(op);
  auto source = cast<RankedTensorType>(op.getSource().getType());
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value rows =
      arith::ConstantIntOp::create(builder, loc, source.getDimSize(0), 32);
  Value part[] = {zero, multiplyShort(builder, loc, role.getGroup(), rows)};
  WriteOp::create(builder, loc, channel, /*bank=*/Value(), part, op.getSource(),
                  /*transposed=*/builder.getUnitAttr(),
                  /*continues=*/UnitAttr(), /*unfinished=*/UnitAttr(), Value(),
                  Value());
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  builder.setInsertionPoint(first);
  Value view =
      AcquireOp::create(builder, loc, channel.getType().getView(), channel,
                        Value(), Value(), Value(), IntegerAttr());
  slicePartsOf(op.getResult(), view);
  op.replaceAllUsesWith(view);
  builder.setInsertionPointAfter(getLastReader(view, op->getBlock()));
  ReleaseOp::create(builder, loc, view);
  op.erase();
}

namespace {
struct ShareOperandsPass
    : public fa::impl::FAGPUShareOperandsPassBase<ShareOperandsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel))
      return;
    kernel.walk([](GatherOp op) { op->removeAttr(readAttrName); });
    SmallVector<ExchangeOp> exchanges;
    kernel.walk([&](ExchangeOp op) { exchanges.push_back(op); });
    llvm::for_each(exchanges, exchange);
    OpBuilder builder(&getContext());
    llvm::MapVector<Value, SharedValue> all = collect(kernel);
    llvm::MapVector<Block *, SmallVector<SharedValue *>> blocks;
    ChannelMaker channels(kernel);
    for (auto &[value, shared] : all) {
      if (failed(channels.place(shared)))
        return signalPassFailure();
      blocks[value.getParentBlock()].push_back(&shared);
    }
    for (auto &[block, rest] : blocks) {
      while (!rest.empty()) {
        Operation *first;
        for (Stack &stack : channels.stack(takeTogether(rest, first))) {
          channels.make(stack);
          for (auto [number, shared] : llvm::enumerate(stack.values))
            write(builder, stack, *shared, stack.getRow(number));
          acquire(builder, stack, first);
        }
      }
    }
  }
};
} // namespace
