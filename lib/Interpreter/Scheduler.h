//===- Scheduler.h - Coroutines in a random order ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each coroutine has a thread, so that it may wait at any depth of calls, but
// only one of all threads runs at a time: the others wait for its turn to come
// to them. A run is therefore a function of the seed alone.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_SCHEDULER_H
#define FA_LIB_INTERPRETER_SCHEDULER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace mlir::fa::interpreter {

class Scheduler;

/// A body that runs in turn with others.
class Coroutine {
public:
  /// Lets others run before this one goes on. Fails if the run is cancelled;
  /// the body then returns a failure without a diagnostic.
  llvm::LogicalResult yield();
  /// The same, and goes on only when `isReady` holds.
  llvm::LogicalResult waitUntil(std::function<bool()> isReady);

  bool isFinished() const { return finished; }

private:
  friend class Scheduler;
  explicit Coroutine(Scheduler &scheduler) : scheduler(scheduler) {}

  Scheduler &scheduler;
  /// Null while nothing is waited for.
  std::function<bool()> isReady;
  bool finished = false;
  llvm::LogicalResult result = llvm::success();
  /// Whether this thread is the one that runs.
  bool hasTurn = false;
  std::condition_variable turn;
  std::thread thread;
};

/// Runs coroutines, on the thread that owns it between their turns.
class Scheduler {
public:
  explicit Scheduler(std::mt19937_64 &random) : random(random) {}
  /// Cancels what has not finished.
  ~Scheduler();

  /// Makes a coroutine, which runs from the next `step` on.
  Coroutine &spawn(std::function<llvm::LogicalResult()> body);

  enum class Outcome {
    /// A coroutine has ended well.
    Finished,
    /// A coroutine has returned a failure.
    Failed,
    /// There are coroutines, and none can go on.
    Deadlock,
  };
  /// Runs until one coroutine ends or none can go on. There must be one.
  Outcome step();

  /// How often coroutines have yielded or waited.
  int64_t getNumSteps() const { return numSteps; }

private:
  friend class Coroutine;

  Coroutine *choose();
  /// Hands the turn from the running thread to `next`, null for the owner, and
  /// waits until it comes back.
  void handOver(Coroutine *self, Coroutine *next);
  void giveTurn(Coroutine *next);
  void runBody(Coroutine &self, std::function<llvm::LogicalResult()> &body);
  void finish(Coroutine &coroutine);

  std::mt19937_64 &random;
  std::vector<std::unique_ptr<Coroutine>> coroutines;
  std::mutex mutex;
  bool ownerHasTurn = true;
  std::condition_variable ownerTurn;
  Coroutine *lastFinished = nullptr;
  bool isCancelled = false;
  /// How often the running coroutine may still go on without a choice.
  int64_t burst = 0;
  int64_t numSteps = 0;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_SCHEDULER_H
