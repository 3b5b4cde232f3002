//===- LinalgSemantics.cpp - The linalg dialect in the executor -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation with LinalgOp's interface runs as its loop nest: the loops in
// order, except that one parallel loop is moved innermost and its iterations
// are the lanes of the body. Each output element sees its reduction in loop
// order.
//
//===----------------------------------------------------------------------===//

#include "AffineEvaluation.h"
#include "fa/Executor/ArrayOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
/// Lanes handled at once: small enough that a body's registers stay in cache.
constexpr int64_t laneCapacity = 512;

/// One result of an indexing map as constant + sum of factor * loop index.
/// Everything structured operations use is of this form.
struct LinearIndex {
  int64_t constant = 0;
  SmallVector<int64_t> factors;
};

/// What is known about an operation before it runs.
struct NestPlan {
  Operation *op;
  unsigned numLoops = 0;
  /// The loop whose iterations are lanes, if one is parallel.
  std::optional<unsigned> laneLoop;
  SmallVector<SmallVector<LinearIndex>> maps;
  SmallVector<Use> operands;
  unsigned numInputs = 0;
  SmallVector<unsigned> results;
  /// The body: over lanes where possible, else for one element at a time.
  std::unique_ptr<LaneProgram> lanes;
  std::unique_ptr<BlockProgram> scalar;
  /// For a scalar body: where linalg.index finds the loop indices.
  SmallVector<unsigned> indexRegisters;
};

/// A run of one operation: sizes, and for each operand its offset in memory as
/// a linear function of the loop indices.
struct NestRun {
  struct Operand {
    ArrayRefPtr array;
    int64_t base = 0;
    SmallVector<int64_t> steps;
  };
  SmallVector<int64_t> sizes;
  SmallVector<Operand> operands;

  int64_t getOffset(unsigned operand, ArrayRef<int64_t> indices) const {
    int64_t offset = operands[operand].base;
    for (auto [index, step] : llvm::zip_equal(indices, operands[operand].steps))
      offset += index * step;
    return offset;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// The linear form of an expression, or failure for mod, div and symbols.
static FailureOr<LinearIndex> getLinear(AffineExpr expr, unsigned numLoops) {
  LinearIndex linear;
  linear.factors.assign(numLoops, 0);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    linear.constant = constant.getValue();
    return linear;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    linear.factors[dim.getPosition()] = 1;
    return linear;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || (expr.getKind() != AffineExprKind::Add &&
                  expr.getKind() != AffineExprKind::Mul))
    return failure();
  FailureOr<LinearIndex> lhs = getLinear(binary.getLHS(), numLoops);
  FailureOr<LinearIndex> rhs = getLinear(binary.getRHS(), numLoops);
  if (failed(lhs) || failed(rhs))
    return failure();
  if (expr.getKind() == AffineExprKind::Add) {
    linear.constant = lhs->constant + rhs->constant;
    for (unsigned i = 0; i < numLoops; ++i)
      linear.factors[i] = lhs->factors[i] + rhs->factors[i];
    return linear;
  }
  // The right side of a product is constant in an affine expression.
  linear.constant = lhs->constant * rhs->constant;
  for (unsigned i = 0; i < numLoops; ++i)
    linear.factors[i] = lhs->factors[i] * rhs->constant;
  return linear;
}

static LogicalResult compileMaps(linalg::LinalgOp op, NestPlan &plan) {
  for (AffineMap map : op.getIndexingMapsArray()) {
    SmallVector<LinearIndex> &indices = plan.maps.emplace_back();
    for (AffineExpr expr : map.getResults()) {
      FailureOr<LinearIndex> linear = getLinear(expr, plan.numLoops);
      if (failed(linear))
        return refuse(op, "with an indexing map that is not linear");
      indices.push_back(*linear);
    }
  }
  return success();
}

static LogicalResult compileNestBody(linalg::LinalgOp op, NestPlan &plan,
                                     ProgramBuilder &builder) {
  Block *body = op.getBlock();
  if (builder.canCompileLanes(*body)) {
    plan.lanes = std::make_unique<LaneProgram>();
    return builder.compileLanes(*body, *plan.lanes);
  }
  plan.scalar = std::make_unique<BlockProgram>();
  // linalg.index reads registers that the nest sets before each element.
  for (unsigned i = 0; i < plan.numLoops; ++i)
    plan.indexRegisters.push_back(builder.makeRegister());
  body->walk([&](linalg::IndexOp index) {
    builder.setRegister(index.getResult(), plan.indexRegisters[index.getDim()]);
  });
  return builder.compileBlock(*body, *plan.scalar);
}

/// The last parallel loop that the first output's innermost dim follows, so
/// that lanes are neighbours in memory, else the last parallel loop.
static std::optional<unsigned> chooseLaneLoop(linalg::LinalgOp op,
                                              const NestPlan &plan) {
  std::optional<unsigned> choice;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::parallel)
      choice = loop;
  ArrayRef<LinearIndex> output = plan.maps[plan.numInputs];
  if (!choice || output.empty())
    return choice;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::parallel && output.back().factors[loop])
      choice = loop;
  return choice;
}

//===----------------------------------------------------------------------===//
// Set-up of a run
//===----------------------------------------------------------------------===//

/// Loop sizes, each from an operand dimension that is exactly that loop index.
static LogicalResult inferSizes(const NestPlan &plan, NestRun &run) {
  run.sizes.assign(plan.numLoops, -1);
  for (auto [operand, map] : llvm::zip_equal(run.operands, plan.maps)) {
    if (operand.array)
      for (auto [dim, index] : llvm::enumerate(map))
        for (unsigned loop = 0; loop < plan.numLoops; ++loop) {
          LinearIndex just;
          just.factors.assign(plan.numLoops, 0);
          just.factors[loop] = 1;
          bool isLoop = index.constant == 0 && index.factors == just.factors;
          if (isLoop && run.sizes[loop] < 0)
            run.sizes[loop] = operand.array->shape[dim];
        }
  }
  for (int64_t size : run.sizes)
    if (size < 0)
      return plan.op->emitError("a loop of '")
             << plan.op->getName() << "' has no operand that gives its size";
  return success();
}

/// Checks that every index of the nest is in bounds: linear functions take
/// their extremes at the corners.
static LogicalResult checkBounds(const NestPlan &plan, const NestRun &run,
                                 unsigned operand) {
  for (auto [dim, index] : llvm::enumerate(plan.maps[operand])) {
    int64_t low = index.constant, high = index.constant;
    for (unsigned loop = 0; loop < plan.numLoops; ++loop) {
      int64_t reach = index.factors[loop] * (run.sizes[loop] - 1);
      (reach < 0 ? low : high) += reach;
    }
    int64_t size = run.operands[operand].array->shape[dim];
    if (failed(checkIndex(plan.op, low, dim, size)) ||
        failed(checkIndex(plan.op, high, dim, size)))
      return failure();
  }
  return checkLive(plan.op, *run.operands[operand].array);
}

static void computeSteps(const NestPlan &plan, NestRun &run, unsigned operand) {
  NestRun::Operand &access = run.operands[operand];
  access.base = access.array->offset;
  access.steps.assign(plan.numLoops, 0);
  for (auto [dim, index] : llvm::enumerate(plan.maps[operand])) {
    access.base += index.constant * access.array->strides[dim];
    for (unsigned loop = 0; loop < plan.numLoops; ++loop)
      access.steps[loop] += index.factors[loop] * access.array->strides[dim];
  }
}

/// Takes the operands from their registers; outputs on tensors are made safe to
/// write.
static LogicalResult bindOperands(const NestPlan &plan, Frame &frame,
                                  NestRun &run) {
  bool onTensors = !plan.results.empty();
  for (auto [i, use] : llvm::enumerate(plan.operands)) {
    NestRun::Operand &operand = run.operands.emplace_back();
    // A scalar operand has a map without results.
    if (!isa<ShapedType>(plan.op->getOperand(i).getType()))
      operand.array = makeFilledArray({}, frame.slot(use.index));
    else if (onTensors && i >= plan.numInputs)
      operand.array = takeForUpdate(frame, use);
    else
      operand.array = frame.arrayRef(use.index);
  }
  return inferSizes(plan, run);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Evaluates `count` lanes that start at `indices`.
static LogicalResult runLanes(const NestPlan &plan, const NestRun &run,
                              LaneState &state, ArrayRef<int64_t> indices,
                              int64_t count) {
  const LaneProgram &program = *plan.lanes;
  auto getStep = [&](unsigned operand) {
    return plan.laneLoop ? run.operands[operand].steps[*plan.laneLoop] : 0;
  };
  for (unsigned i = 0; i < run.operands.size(); ++i) {
    int64_t step = getStep(i);
    const Slot *source =
        run.operands[i].array->storage->data() + run.getOffset(i, indices);
    Slot *lanes = program.getArgument(state, i);
    if (step == 1)
      std::copy_n(source, count, lanes);
    else
      for (int64_t lane = 0; lane < count; ++lane)
        lanes[lane] = source[lane * step];
  }
  for (auto [loop, place] : program.contextValues) {
    bool isLane = plan.laneLoop == loop;
    Slot *lanes = state.lanes(place);
    for (int64_t lane = 0; lane < count; ++lane)
      lanes[lane].integer = indices[loop] + (isLane ? lane : 0);
  }
  if (failed(program.run(state, count)))
    return failure();
  for (unsigned i = plan.numInputs; i < run.operands.size(); ++i) {
    int64_t step = getStep(i);
    Slot *target =
        run.operands[i].array->storage->data() + run.getOffset(i, indices);
    const Slot *lanes = program.getResult(state, i - plan.numInputs);
    for (int64_t lane = 0; lane < count; ++lane)
      target[lane * step] = lanes[lane];
  }
  return success();
}

/// Evaluates one element with the scalar body.
static LogicalResult runElement(const NestPlan &plan, const NestRun &run,
                                Frame &frame, ArrayRef<int64_t> indices) {
  for (auto [loop, index] : llvm::enumerate(plan.indexRegisters))
    frame.slot(index).integer = indices[loop];
  for (unsigned i = 0; i < run.operands.size(); ++i)
    frame.slot(plan.scalar->arguments[i]) =
        run.operands[i].array->storage->data()[run.getOffset(i, indices)];
  if (failed(plan.scalar->run(frame)))
    return failure();
  for (unsigned i = plan.numInputs; i < run.operands.size(); ++i)
    run.operands[i].array->storage->data()[run.getOffset(i, indices)] =
        frame.slot(plan.scalar->results[i - plan.numInputs].index);
  return success();
}

/// Visits the nest; `body(indices, count)` covers `count` iterations of the
/// lane loop.
static LogicalResult
forEachRun(const NestPlan &plan, const NestRun &run, int64_t capacity,
           llvm::function_ref<LogicalResult(ArrayRef<int64_t>, int64_t)> body) {
  if (llvm::is_contained(run.sizes, 0))
    return success();
  SmallVector<int64_t> indices(plan.numLoops, 0);
  while (true) {
    int64_t extent = plan.laneLoop ? run.sizes[*plan.laneLoop] : 1;
    for (int64_t first = 0; first < extent; first += capacity) {
      if (plan.laneLoop)
        indices[*plan.laneLoop] = first;
      if (failed(body(indices, std::min(capacity, extent - first))))
        return failure();
    }
    if (plan.laneLoop)
      indices[*plan.laneLoop] = 0;
    int64_t loop = static_cast<int64_t>(plan.numLoops) - 1;
    for (; loop >= 0; --loop) {
      if (plan.laneLoop == static_cast<unsigned>(loop))
        continue;
      if (++indices[loop] < run.sizes[loop])
        break;
      indices[loop] = 0;
    }
    if (loop < 0)
      return success();
  }
}

static LogicalResult runNest(const NestPlan &plan, Frame &frame) {
  NestRun run;
  if (failed(bindOperands(plan, frame, run)))
    return failure();
  bool isEmpty = llvm::is_contained(run.sizes, 0);
  for (unsigned i = 0; i < run.operands.size(); ++i) {
    if (!isEmpty && failed(checkBounds(plan, run, i)))
      return failure();
    computeSteps(plan, run, i);
  }
  LogicalResult result = success();
  if (plan.lanes) {
    int64_t extent = plan.laneLoop ? run.sizes[*plan.laneLoop] : 1;
    int64_t capacity = std::clamp<int64_t>(extent, 1, laneCapacity);
    LaneState state = plan.lanes->makeState(capacity, frame);
    result = forEachRun(plan, run, capacity,
                        [&](ArrayRef<int64_t> indices, int64_t count) {
                          return runLanes(plan, run, state, indices, count);
                        });
  } else {
    result = forEachRun(plan, run, /*capacity=*/1,
                        [&](ArrayRef<int64_t> indices, int64_t) {
                          return runElement(plan, run, frame, indices);
                        });
  }
  if (failed(result))
    return failure();
  for (auto [i, index] : llvm::enumerate(plan.results))
    frame[index] = run.operands[plan.numInputs + i].array;
  return success();
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

static LogicalResult compileStructured(Operation *operation,
                                       ProgramBuilder &builder) {
  auto op = cast<linalg::LinalgOp>(operation);
  NestPlan plan;
  plan.op = op;
  plan.numLoops = op.getNumLoops();
  plan.numInputs = op.getNumDpsInputs();
  for (Value operand : op->getOperands())
    if (!isSlotType(getElementTypeOrSelf(operand.getType())))
      return refuse(op, "of elements that are not numbers");
  if (failed(compileMaps(op, plan)) ||
      failed(compileNestBody(op, plan, builder)))
    return failure();
  plan.laneLoop = chooseLaneLoop(op, plan);
  plan.operands = builder.getUses(op->getOpOperands());
  plan.results = builder.getRegisters(op->getResults());
  builder.emit(
      [plan = std::move(plan)](Frame &frame) { return runNest(plan, frame); });
  return success();
}

/// In lanes the nest fills a register for each loop index that the body asks
/// for.
static LogicalResult compileIndexLanes(linalg::IndexOp op,
                                       LaneBuilder &builder) {
  builder.useContext(op.getDim(), op.getResult());
  return success();
}

/// In a scalar body the result is a register that the nest sets.
static LogicalResult compileIndex(linalg::IndexOp, ProgramBuilder &) {
  return success();
}

void executor::addLinalgSemantics(Semantics &semantics) {
  // Every structured operation, by name, found through its interface.
  semantics.addInterface<linalg::LinalgOp>(compileStructured);
  semantics.add<linalg::IndexOp>(compileIndex);
  semantics.addLanes<linalg::IndexOp>(compileIndexLanes);
}
