//===- Machine.cpp - Grids, blocks and groups that run --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a launch without a GPU: some blocks at a time, their workers as
// coroutines, each until it has to wait. When nobody can go on, the error
// names an operation that waits for ever. Read `RunningGrid::run`, then
// `Worker::waitUntil`.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "Channels.h"
#include "GPUSemantics.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

FailureOr<Worker *> interpreter::getWorker(Operation *op, Frame &frame,
                                           bool inRole) {
  auto *worker = static_cast<Worker *>(frame.execution->context);
  if (worker && (worker->getRole() || !inRole))
    return worker;
  return op->emitOpError() << "runs outside "
                           << (inRole ? "a role" : "a kernel")
                           << ", but only there it has a meaning";
}

//===----------------------------------------------------------------------===//
// Worker
//===----------------------------------------------------------------------===//

Worker::Worker(RunningBlock &block, fagpu::RoleOp role, int64_t group)
    : block(block), role(role), group(group),
      serial(block.getGrid().numWorkers++),
      execution(block.getGrid().getExecution()) {
  execution.context = this;
}

Worker::~Worker() = default;

std::string Worker::getName() {
  std::string name = ("@" + role.getSymName()).str();
  if (role.getGroups() == 1)
    return name;
  return "group " + std::to_string(group) + " of " + name;
}

void Worker::start(Frame frame, const BlockProgram &body) {
  frame.execution = &execution;
  ++block.numRunning;
  auto run = [this, &body, frame = std::move(frame)]() mutable {
    return this->run(frame, body);
  };
  coroutine = &block.getGrid().getScheduler().spawn(std::move(run));
}

LogicalResult Worker::run(Frame &frame, const BlockProgram &body) {
  if (failed(body.run(frame)) || failed(checkEnd()))
    return failure();
  ended = true;
  --block.numRunning;
  return success();
}

LogicalResult Worker::checkEnd() {
  for (const auto &token : heldViews)
    return fail(token->acquire,
                "acquires a stage that " + getName() + " never releases");
  for (auto [state, take] : turns)
    return fail(take, "takes a turn that " + getName() + " never passes");
  return success();
}

LogicalResult Worker::waitUntil(Operation *op, std::string what,
                                std::function<bool()> isReady) {
  waitingAt = op;
  waitingFor = std::move(what);
  if (failed(coroutine->waitUntil(std::move(isReady))))
    return failure();
  waitingAt = nullptr;
  waitingFor.clear();
  RunningGrid &grid = block.getGrid();
  int64_t limit = grid.getMachine().options.maxSteps;
  if (grid.getScheduler().getNumSteps() > limit)
    return fail(op, "runs after " + Twine(limit) +
                        " steps, the limit for one launch: does a loop end?");
  return success();
}

LogicalResult Worker::synchronize(Operation *op) {
  ++numSyncs;
  if (role.getGroups() == 1)
    return success();
  return waitUntil(op, "the other groups of @" + role.getSymName().str(), [&] {
    return llvm::all_of(
        block.getWorkers(), [&](const std::unique_ptr<Worker> &other) {
          return other->role != role || other->numSyncs >= numSyncs;
        });
  });
}

LogicalResult Worker::step(Operation *op) {
  return waitUntil(op, "", [] { return true; });
}

void Worker::record(Operation *op, const Twine &text) {
  events.push_back({op, text.str()});
  if (events.size() > block.getGrid().getMachine().options.traceLength)
    events.pop_front();
}

LogicalResult Worker::fail(Operation *op, const Twine &message) {
  InFlightDiagnostic diagnostic = op->emitOpError() << message;
  diagnostic.attachNote(op->getLoc())
      << "in " << (role ? getName() + " of " : "") << "block "
      << block.getNumber()
      << ", with --seed=" << block.getGrid().getMachine().options.seed;
  for (const std::unique_ptr<Worker> &worker : block.getWorkers())
    worker->attachTrace(diagnostic);
  return diagnostic;
}

void Worker::attachTrace(InFlightDiagnostic &diagnostic) {
  if (!role)
    return;
  Operation *last = events.empty() ? role : events.back().op;
  Diagnostic &note =
      diagnostic.attachNote((getWaitingOp() ? waitingAt : last)->getLoc());
  note << getName() << ": ";
  for (const Event &event : events)
    note << event.text << " (" << describePlace(event.op) << "), ";
  if (ended)
    note << "ended";
  else if (getWaitingOp() && !waitingFor.empty())
    note << "waits for " << waitingFor;
  else if (getWaitingOp())
    note << "is at '" << waitingAt->getName() << "'";
  else
    note << (events.empty() ? "has done nothing yet" : "goes on");
}

//===----------------------------------------------------------------------===//
// RunningBlock
//===----------------------------------------------------------------------===//

RunningBlock::RunningBlock(RunningGrid &grid, int64_t number)
    : grid(grid), number(number) {
  addWorker(fagpu::RoleOp(), 0);
}

RunningBlock::~RunningBlock() = default;

std::array<int64_t, 3> RunningBlock::getPosition() const {
  auto [x, y, z] = grid.getSizes();
  return {number % x, number / x % y, number / x / y};
}

Worker &RunningBlock::addWorker(fagpu::RoleOp role, int64_t group) {
  workers.push_back(std::make_unique<Worker>(*this, role, group));
  return *workers.back();
}

LogicalResult RunningBlock::checkEnd() {
  for (const auto &channel : channels)
    if (Operation *filler = channel->findLeftOver())
      return getEntry().fail(
          filler, "fills a stage that is not acquired and released by all its "
                  "readers when the block ends");
  return success();
}

//===----------------------------------------------------------------------===//
// RunningGrid
//===----------------------------------------------------------------------===//

RunningGrid::RunningGrid(Machine &machine, Operation *launch,
                         func::FuncOp kernel, std::array<int64_t, 3> sizes,
                         const Execution &execution)
    : sharedBoxes(fagpu::getClusterSize(kernel)), machine(machine),
      launch(launch), kernel(kernel), sizes(sizes), execution(execution),
      scheduler(machine.random) {}

RunningGrid::~RunningGrid() = default;

static int64_t getBlocksPerMultiprocessor(func::FuncOp kernel) {
  auto attribute = kernel->getAttrOfType<IntegerAttr>(
      fagpu::FAGPUDialect::blocksPerSMAttrName);
  return attribute ? attribute.getInt() : 1;
}

LogicalResult RunningGrid::run(RunEntryFn runEntry) {
  for (int64_t size : sizes)
    if (size < 0)
      return launch->emitOpError()
             << "has a grid of " << sizes[0] << " x " << sizes[1] << " x "
             << sizes[2] << " blocks, expected no negative size";
  if (int64_t cluster = fagpu::getClusterSize(kernel); sizes[0] % cluster)
    return launch->emitOpError()
           << "has a grid of " << sizes[0] << " blocks along x, expected a "
           << "multiple of " << cluster << ", the blocks of a cluster";
  size_t resident =
      machine.options.multiprocessors * getBlocksPerMultiprocessor(kernel);
  int64_t next = 0;
  while (true) {
    while (next < getNumBlocks() && blocks.size() < resident)
      if (failed(startBlock(next++, runEntry)))
        return failure();
    if (failed(removeEndedBlocks()))
      return failure();
    if (blocks.empty()) {
      if (next == getNumBlocks())
        return failure(failed(checkCounters()) ||
                       failed(sharedBoxes.checkEnd()));
      continue;
    }
    switch (scheduler.step()) {
    case Scheduler::Outcome::Finished:
      break;
    case Scheduler::Outcome::Failed:
      return failure();
    case Scheduler::Outcome::Deadlock:
      return reportDeadlock();
    }
  }
}

LogicalResult RunningGrid::startBlock(int64_t number, RunEntryFn runEntry) {
  blocks.push_back(std::make_unique<RunningBlock>(*this, number));
  Execution entry = execution;
  entry.context = &blocks.back()->getEntry();
  return runEntry(entry);
}

LogicalResult RunningGrid::removeEndedBlocks() {
  for (const std::unique_ptr<RunningBlock> &block : blocks)
    if (block->hasEnded() && failed(block->checkEnd()))
      return failure();
  llvm::erase_if(blocks, [](const std::unique_ptr<RunningBlock> &block) {
    return block->hasEnded();
  });
  return success();
}

LogicalResult RunningGrid::reportDeadlock() {
  for (const std::unique_ptr<RunningBlock> &block : blocks)
    for (const std::unique_ptr<Worker> &worker : block->getWorkers())
      if (Operation *op = worker->getWaitingOp())
        return worker->fail(op,
                            "waits forever: no role of the block can go on");
  llvm_unreachable("a deadlock has a worker that waits");
}

LogicalResult RunningGrid::checkCounters() {
  for (auto &[array, counter] : counters) {
    auto [memory, ticket] = counter;
    for (int64_t i = 0; i < memory->shape[0]; ++i) {
      int64_t value = memory->data()[i * memory->strides[0]].integer;
      if (value != 0)
        return ticket->emitOpError()
               << "leaves word " << i << " of its counter at " << value
               << " after the launch, expected 0: every block has to end with "
                  "'fagpu.retire'";
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Interpreter
//===----------------------------------------------------------------------===//

Interpreter::Interpreter(const InterpreterOptions &options)
    : machine(std::make_unique<Machine>(options)) {}

Interpreter::~Interpreter() = default;

void Interpreter::addSemantics(Semantics &semantics) {
  addControlSemantics(semantics);
  addChannelSemantics(semantics);
  addFillSemantics(semantics);
  addSynchronizationSemantics(semantics);
  addMatrixSemantics(semantics);
  addBlockSemantics(semantics);
  addGatherSemantics(semantics);
  addStoreSemantics(semantics);
  addHostSemantics(semantics, *machine);
}

LogicalResult Interpreter::runKernel(Executor &executor, func::FuncOp kernel,
                                     std::array<int64_t, 3> grid,
                                     SmallVector<RuntimeValue> arguments) {
  RunningGrid running(*machine, kernel, kernel, grid, Execution());
  return running.run([&](Execution &execution) {
    return LogicalResult(executor.run(kernel, arguments, execution));
  });
}
