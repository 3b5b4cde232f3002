//===- SplitColumns.cpp - Products of a part of the columns at once -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits f32 products of large head dims into products over some columns at a
// time, to bound registers and shared memory. `collect` and `follow` find all
// values that must be split with a product; `splitOp` splits each. Read `run`
// first.
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "SplitSum.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSPLITCOLUMNSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// Splits products over many columns, and what is added to, into parts.
class ColumnSplitter {
public:
  ColumnSplitter(func::FuncOp kernel, GPUPart config)
      : kernel(kernel), width(config.columns), keepsFirst(config.keepsQueries),
        isRolled(config.rolled && !keepsFirst), builder(kernel.getContext()) {}
  LogicalResult run();

private:
  using Parts = SmallVector<Value>;

  bool isWide(Value value) { return wide.contains(value); }
  int64_t getColumns(Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(1);
  }
  RankedTensorType getPartType(Value value, int64_t first);
  template <typename Function> void forEachPart(Value value, Function function);

  LogicalResult collect(ProductOp product);
  LogicalResult follow(Value value);
  LogicalResult followLoop(ForOp loop, unsigned number);
  void splitOp(Operation *op);
  Value splitElementwise(Operation *op, Value result, int64_t number);
  void splitStore(StoreOp store);
  void splitLoop(ForOp loop);
  void finishLoops();
  void fetchForEach();
  void fetchAhead();
  void sinkSums();

  func::FuncOp kernel;
  int64_t width;
  /// Whether parts of a first operand from before the loop stay there, each at
  /// a place of its own, so that no loop can run over them.
  bool keepsFirst;
  bool isRolled;
  OpBuilder builder;
  /// Values with more columns than `width` that are split, and all of what
  /// makes or reads them.
  SetVector<Value> wide;
  SetVector<Operation *> touched;
  DenseMap<Value, Parts> parts;
  SmallVector<ForOp> loops;
  SmallVector<Operation *> replaced;
};
} // namespace

RankedTensorType ColumnSplitter::getPartType(Value value, int64_t first) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.clone(
      {type.getDimSize(0), std::min(width, type.getDimSize(1) - first)});
}

/// Calls the function with the number of each part and its first column.
template <typename Function>
void ColumnSplitter::forEachPart(Value value, Function function) {
  for (int64_t first = 0, number = 0, columns = getColumns(value);
       first < columns; first += width, ++number)
    function(number, first);
}

//===----------------------------------------------------------------------===//
// What is split
//===----------------------------------------------------------------------===//

LogicalResult ColumnSplitter::followLoop(ForOp loop, unsigned number) {
  touched.insert(loop);
  auto yield = cast<fagpu::YieldOp>(loop.getBody().front().getTerminator());
  for (Value value :
       {Value(loop.getIterArguments()[number]), Value(loop.getResult(number)),
        loop.getInits()[number], yield.getValues()[number]})
    wide.insert(value);
  return success();
}

static InFlightDiagnostic refuse(Operation *op) {
  return op->emitOpError()
         << "has a part of its columns at once, expected only elementwise "
            "operations, broadcasts of rows, splats, loops and stores of what "
            "products add to";
}

/// What is made anew for each part: who else reads it keeps the whole.
static bool isMadeAnew(Operation *op) {
  return isa<BroadcastOp, tensor::SplatOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

/// Adds what a value is made of and what is made of it.
LogicalResult ColumnSplitter::follow(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return refuse(argument.getOwner()->getParentOp());
    if (failed(followLoop(loop,
                          argument.getArgNumber() -
                              loop.getIterArguments().front().getArgNumber())))
      return failure();
  }
  auto handle = [&](Operation *op) -> LogicalResult {
    touched.insert(op);
    if (isMadeAnew(op) || isa<StoreOp>(op))
      return success();
    if (auto product = dyn_cast<ProductOp>(op)) {
      if (product.getForm() != MatrixForm::nn ||
          !product.getB().getDefiningOp<FetchOp>())
        return refuse(op);
      wide.insert(product.getResult());
      if (product.getAcc())
        wide.insert(product.getAcc());
      return success();
    }
    if (!op->hasTrait<OpTrait::Elementwise>())
      return refuse(op);
    for (Value each : llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                                          SmallVector<Value>(op->getResults())))
      if (isa<RankedTensorType>(each.getType()))
        wide.insert(each);
    return success();
  };
  Operation *source = value.getDefiningOp();
  if (auto loop = dyn_cast_if_present<ForOp>(source)) {
    if (failed(followLoop(loop, cast<OpResult>(value).getResultNumber())))
      return failure();
  } else if (source && failed(handle(source))) {
    return failure();
  }
  if (source && isMadeAnew(source))
    return success();
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (auto loop = dyn_cast<ForOp>(user)) {
      if (failed(followLoop(loop, use.getOperandNumber() -
                                      loop.getInits().getBeginOperandIndex())))
        return failure();
    } else if (auto loop = dyn_cast<ForOp>(user->getParentOp());
               loop && isa<fagpu::YieldOp>(user)) {
      if (failed(followLoop(loop, use.getOperandNumber())))
        return failure();
    } else if (failed(handle(user))) {
      return failure();
    }
  }
  return success();
}

LogicalResult ColumnSplitter::collect(ProductOp product) {
  wide.insert(product.getResult());
  // Values come behind what they are found from.
  for (size_t i = 0; i < wide.size(); ++i)
    if (failed(follow(wide[i])))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Value ColumnSplitter::splitElementwise(Operation *op, Value result,
                                       int64_t number) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (isWide(operand))
      mapping.map(operand, parts[operand][number]);
  Operation *part = builder.clone(*op, mapping);
  part->getResult(0).setType(getPartType(result, number * width));
  return part->getResult(0);
}

void ColumnSplitter::splitStore(StoreOp store) {
  Value value = store.getValue();
  SmallVector<int64_t> box = store.getBox();
  forEachPart(value, [&](int64_t number, int64_t first) {
    Location loc = store.getLoc();
    auto part = cast<StoreOp>(builder.clone(*store));
    part.getValueMutable().assign(parts[value][number]);
    box.back() = getColumns(parts[value][number]);
    part.setSizes(box);
    OpOperand &last = part.getOffsetsMutable()[store.getOffsets().size() - 1];
    builder.setInsertionPoint(part);
    last.set(builder.createOrFold<arith::AddIOp>(
        loc, last.get(),
        arith::ConstantIntOp::create(builder, loc, first, 32)));
    builder.setInsertionPoint(store);
  });
}

/// Parts of the values that a loop carries; the body is split afterwards.
void ColumnSplitter::splitLoop(ForOp loop) {
  SmallVector<Value> inits;
  SmallVector<Type> types;
  for (Value init : loop.getInits())
    for (Value part : isWide(init) ? parts[init] : Parts{init}) {
      inits.push_back(part);
      types.push_back(part.getType());
    }
  auto split = ForOp::create(builder, loop.getLoc(), types, loop.getStart(),
                             loop.getBounds(), inits, loop.getStepAttr(),
                             loop.getOnceAttr(), loop.getRolledAttr());
  split->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  split.getBody().takeBody(loop.getBody());
  Block &body = split.getBody().front();
  unsigned argument = 1 + split.getNumSegments(), result = 0;
  for (Value old : loop.getResults()) {
    BlockArgument carried = body.getArgument(argument++);
    if (!isWide(old)) {
      old.replaceAllUsesWith(split.getResult(result++));
      continue;
    }
    forEachPart(old, [&](int64_t, int64_t first) {
      parts[carried].push_back(body.insertArgument(
          argument++, getPartType(old, first), old.getLoc()));
      parts[old].push_back(split.getResult(result++));
    });
  }
  loops.push_back(split);
}

void ColumnSplitter::splitOp(Operation *op) {
  builder.setInsertionPoint(op);
  replaced.push_back(op);
  if (auto loop = dyn_cast<ForOp>(op))
    return splitLoop(loop);
  if (auto store = dyn_cast<StoreOp>(op))
    return splitStore(store);
  Value result = op->getResult(0);
  Location loc = op->getLoc();
  Parts made;
  forEachPart(result, [&](int64_t number, int64_t first) {
    RankedTensorType type = getPartType(result, first);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto splat = cast<DenseElementsAttr>(constant.getValue());
      made.push_back(
          arith::ConstantOp::create(builder, loc, splat.resizeSplat(type)));
    } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      made.push_back(
          BroadcastOp::create(builder, loc, type, broadcast.getSource()));
    } else if (auto splat = dyn_cast<tensor::SplatOp>(op)) {
      made.push_back(
          tensor::SplatOp::create(builder, loc, splat.getInput(), type));
    } else if (auto product = dyn_cast<ProductOp>(op)) {
      Value b = fetchPart(builder, product.getB().getDefiningOp<FetchOp>(),
                          arith::ConstantIntOp::create(builder, loc, first, 32),
                          type.getDimSize(1));
      Value acc = product.getAcc();
      made.push_back(ProductOp::create(builder, loc, type, product.getForm(),
                                       product.getA(), b,
                                       acc ? parts[acc][number] : Value()));
    } else {
      made.push_back(splitElementwise(op, result, number));
    }
  });
  parts[result] = made;
}

/// Yields the parts, and drops the values that were carried whole.
void ColumnSplitter::finishLoops() {
  for (ForOp loop : loops) {
    auto yield = cast<fagpu::YieldOp>(loop.getBody().front().getTerminator());
    SmallVector<Value> values;
    for (Value value : yield.getValues())
      llvm::append_range(values, isWide(value) ? parts[value] : Parts{value});
    yield.getValuesMutable().assign(values);
  }
  SetVector<Operation *> fetches;
  for (Operation *op : llvm::reverse(replaced)) {
    if (auto product = dyn_cast<ProductOp>(op))
      fetches.insert(product.getB().getDefiningOp());
    if (op->use_empty())
      op->erase();
  }
  for (Operation *fetch : fetches)
    if (fetch->use_empty())
      fetch->erase();
  for (ForOp loop : loops)
    loop.getBody().front().eraseArguments(
        [&](BlockArgument argument) { return isWide(argument); });
}

/// Parts take turns at the memory, in the order of the products that read them:
/// what two of them read is fetched twice.
void ColumnSplitter::fetchForEach() {
  kernel.walk([&](ProductOp product) {
    auto fetch = product.getB().getDefiningOp<FetchOp>();
    if (!fetch || fetch->hasOneUse() ||
        fetch->getBlock() != product->getBlock())
      return;
    builder.setInsertionPoint(product);
    product.getBMutable().assign(builder.clone(*fetch)->getResult(0));
  });
}

/// What memory all blocks share is on its way while the product before runs.
void ColumnSplitter::fetchAhead() {
  ProductOp before;
  kernel.walk([&](ProductOp product) {
    auto fetch = product.getB().getDefiningOp<FetchOp>();
    if (before && fetch && before->getBlock() == product->getBlock() &&
        fetch->getBlock() == product->getBlock())
      moveWithOperands(fetch, before);
    before = product;
  });
}

/// Moves what only `last` needs right before what reads it.
static void sinkOperands(Operation *last) {
  SmallVector<Operation *> users = {last};
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    for (Value operand : llvm::to_vector(user->getOperands())) {
      Operation *source = operand.getDefiningOp();
      if (!source || !source->hasOneUse() || source->getNumRegions() ||
          source->getBlock() != user->getBlock() ||
          !isMemoryEffectFree(source) || isa<ProductOp>(source))
        continue;
      source->moveBefore(user);
      users.push_back(source);
    }
  }
}

/// What a part is computed from is computed with it, not with all parts.
void ColumnSplitter::sinkSums() {
  kernel.walk([&](ProductOp product) {
    Operation *sum =
        product.getAcc() ? product.getAcc().getDefiningOp() : nullptr;
    if (!sum || !sum->hasOneUse() || sum->getBlock() != product->getBlock() ||
        isa<ProductOp>(sum) || !isMemoryEffectFree(sum))
      return;
    sum->moveBefore(product);
    sinkOperands(sum);
  });
}

LogicalResult ColumnSplitter::run() {
  SmallVector<ProductOp> sums;
  WalkResult walked = kernel.walk([&](ProductOp product) -> WalkResult {
    if (!cast<RankedTensorType>(product.getResult().getType())
             .getElementType()
             .isF32() ||
        !getElementTypeOrSelf(product.getA().getType()).isF32())
      return WalkResult::advance();
    if (product.getForm() == MatrixForm::nn)
      return getColumns(product.getResult()) > width
                 ? WalkResult(collect(product))
                 : WalkResult::advance();
    if (getColumns(product.getA()) > width &&
        product.getA().getDefiningOp<FetchOp>() &&
        product.getB().getDefiningOp<FetchOp>())
      sums.push_back(product);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  SmallVector<Operation *> ordered;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (touched.contains(op))
      ordered.push_back(op);
  });
  llvm::for_each(ordered, [&](Operation *op) { splitOp(op); });
  finishLoops();
  for (ProductOp product : sums)
    splitSum(product, width, isRolled, keepsFirst);
  fetchForEach();
  fetchAhead();
  sinkSums();
  return success();
}

namespace {
struct SplitColumnsPass
    : public fa::impl::FAGPUSplitColumnsPassBase<SplitColumnsPass> {
  void runOnOperation() override {
    if (!isKernel(getOperation()))
      return;
    GPUPart config = getGPUPart(getOperation());
    if (config.columns && failed(ColumnSplitter(getOperation(), config).run()))
      signalPassFailure();
  }
};
} // namespace
