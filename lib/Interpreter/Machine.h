//===- Machine.h - Grids, blocks and groups that run ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch runs some blocks of its grid at a time, as a device does. A block
// has a worker, which is a coroutine, for each group of each role. Read from
// the outside in, bottom up: Machine, RunningGrid, RunningBlock, Worker. What
// the semantics of an operation call is `Worker::step` and `Worker::waitUntil`.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_MACHINE_H
#define FA_LIB_INTERPRETER_MACHINE_H

#include "ClusterLog.h"
#include "Scheduler.h"
#include "WriteLog.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Executor/Program.h"
#include "fa/Interpreter/Interpreter.h"
#include <array>
#include <deque>

namespace mlir::fa::interpreter {

class ChannelState;
class Machine;
class RunningBlock;
class RunningGrid;
struct CopyInFlight;
struct InflightValue;
struct ViewToken;

/// A group of a role, or the code of a kernel before its roles.
class Worker : public executor::ExecutionContext {
public:
  Worker(RunningBlock &block, fagpu::RoleOp role, int64_t group);
  ~Worker() override;

  RunningBlock &getBlock() { return block; }
  /// Null for the code before the roles.
  fagpu::RoleOp getRole() { return role; }
  int64_t getGroup() const { return group; }
  /// Differs from that of every other worker of the launch.
  int64_t getSerial() const { return serial; }
  /// As in "group 1 of @math".
  std::string getName();

  /// Starts the body on the registers of the code before it.
  void start(executor::Frame frame, const executor::BlockProgram &body);

  //===--- Steps --------------------------------------------------------===//

  /// Says that this worker is at `op`, and lets others run. All that a worker
  /// does to memory or to what workers share comes directly after a step.
  LogicalResult step(Operation *op);
  /// The same, and waits until `isReady`; `what` says for what.
  LogicalResult waitUntil(Operation *op, std::string what,
                          std::function<bool()> isReady);
  /// Waits until all groups of the role have passed as many barriers.
  LogicalResult synchronize(Operation *op);
  /// Notes something done for the trace, in few words.
  void record(Operation *op, const Twine &text);

  /// Emits an error of the protocol, with what every worker of the block did
  /// last.
  LogicalResult fail(Operation *op, const Twine &message);

  void attachTrace(InFlightDiagnostic &diagnostic);
  /// What the worker waits at; null if it could go on or has ended.
  Operation *getWaitingOp() { return ended ? nullptr : waitingAt; }

  //===--- State of the semantics ---------------------------------------===//

  /// Elements that this worker has filled, and stages that it has acquired, of
  /// each bank of each channel or mail.
  DenseMap<void *, int64_t> filled, acquired;
  /// Views that are not released yet.
  SmallVector<llvm::IntrusiveRefCntPtr<ViewToken>> heldViews;
  /// Products that are not complete, in the order of their issue.
  std::deque<llvm::IntrusiveRefCntPtr<InflightValue>> products;
  /// Copies by the threads of this group that have not been waited for, in the
  /// order of their start.
  std::deque<CopyInFlight> copies;
  /// Barriers among its warps that the group has passed.
  int64_t numSyncs = 0;
  /// Where each token that this worker holds was taken.
  DenseMap<void *, Operation *> turns;

private:
  LogicalResult run(executor::Frame &frame, const executor::BlockProgram &body);
  /// Refuses what may not be left over at the end of a role.
  LogicalResult checkEnd();

  struct Event {
    Operation *op;
    std::string text;
  };

  RunningBlock &block;
  fagpu::RoleOp role;
  int64_t group, serial;
  executor::Execution execution;
  Coroutine *coroutine = nullptr;
  bool ended = false;
  std::deque<Event> events;
  Operation *waitingAt = nullptr;
  std::string waitingFor;
};

/// A block of threads and its shared memory.
class RunningBlock {
public:
  RunningBlock(RunningGrid &grid, int64_t number);
  ~RunningBlock();

  RunningGrid &getGrid() { return grid; }
  /// Position in the grid.
  std::array<int64_t, 3> getPosition() const;
  int64_t getNumber() const { return number; }
  Worker &getEntry() { return *workers.front(); }
  ArrayRef<std::unique_ptr<Worker>> getWorkers() const { return workers; }

  /// Makes a worker.
  Worker &addWorker(fagpu::RoleOp role, int64_t group);
  bool hasEnded() const { return numRunning == 0; }
  /// Refuses stages that are left full.
  LogicalResult checkEnd();

  /// Everything whose state ends with the block.
  SmallVector<llvm::IntrusiveRefCntPtr<ChannelState>> channels;

private:
  friend class Worker;

  RunningGrid &grid;
  int64_t number;
  /// The first one is the code before the roles.
  SmallVector<std::unique_ptr<Worker>> workers;
  int64_t numRunning = 0;
};

/// Runs the code of a kernel before its roles in this execution.
using RunEntryFn = llvm::function_ref<LogicalResult(executor::Execution &)>;

/// One launch of a kernel.
class RunningGrid {
public:
  RunningGrid(Machine &machine, Operation *launch, func::FuncOp kernel,
              std::array<int64_t, 3> sizes,
              const executor::Execution &execution);
  ~RunningGrid();

  LogicalResult run(RunEntryFn runEntry);

  std::array<int64_t, 3> getSizes() const { return sizes; }
  int64_t getNumBlocks() const { return sizes[0] * sizes[1] * sizes[2]; }
  Machine &getMachine() { return machine; }
  Scheduler &getScheduler() { return scheduler; }
  const executor::Execution &getExecution() const { return execution; }

  /// Counters that tickets were drawn from, with one of the operations.
  DenseMap<executor::Array *, std::pair<executor::ArrayRefPtr, Operation *>>
      counters;
  WriteLog writes;
  ClusterLog sharedBoxes;
  /// Workers made so far.
  int64_t numWorkers = 0;

private:
  LogicalResult startBlock(int64_t number, RunEntryFn runEntry);
  LogicalResult removeEndedBlocks();
  LogicalResult reportDeadlock();
  LogicalResult checkCounters();

  Machine &machine;
  Operation *launch;
  func::FuncOp kernel;
  std::array<int64_t, 3> sizes;
  executor::Execution execution;
  SmallVector<std::unique_ptr<RunningBlock>> blocks;
  /// Destroyed first: its coroutines refer to the blocks.
  Scheduler scheduler;
};

/// What outlives launches.
class Machine {
public:
  explicit Machine(const InterpreterOptions &options)
      : options(options), random(options.seed) {}

  const InterpreterOptions options;
  std::mt19937_64 random;
};

/// The worker that runs `op`. Fails with a diagnostic outside a kernel, and in
/// the code before the roles if `inRole`.
FailureOr<Worker *> getWorker(Operation *op, executor::Frame &frame,
                              bool inRole = true);

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_MACHINE_H
