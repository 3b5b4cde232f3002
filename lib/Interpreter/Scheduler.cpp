//===- Scheduler.cpp - Coroutines in a random order -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;
using namespace mlir::fa::interpreter;

//===----------------------------------------------------------------------===//
// In a coroutine
//===----------------------------------------------------------------------===//

LogicalResult Coroutine::yield() {
  return waitUntil([] { return true; });
}

LogicalResult Coroutine::waitUntil(std::function<bool()> ready) {
  if (scheduler.isCancelled)
    return failure();
  ++scheduler.numSteps;
  isReady = std::move(ready);
  if (scheduler.burst > 0 && isReady()) {
    --scheduler.burst;
  } else {
    Coroutine *next = scheduler.choose();
    if (next != this)
      scheduler.handOver(this, next);
  }
  isReady = nullptr;
  return failure(scheduler.isCancelled);
}

void Scheduler::runBody(Coroutine &self, std::function<LogicalResult()> &body) {
  {
    std::unique_lock<std::mutex> lock(mutex);
    self.turn.wait(lock, [&] { return self.hasTurn; });
  }
  self.result = isCancelled ? failure() : body();
  // It holds values that are shared, and counted without atomics: they are
  // touched in this thread's turn alone.
  body = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  self.finished = true;
  self.hasTurn = false;
  lastFinished = &self;
  giveTurn(nullptr);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// The mutex must be held.
void Scheduler::giveTurn(Coroutine *next) {
  bool &hasTurn = next ? next->hasTurn : ownerHasTurn;
  hasTurn = true;
  (next ? next->turn : ownerTurn).notify_one();
}

void Scheduler::handOver(Coroutine *self, Coroutine *next) {
  std::unique_lock<std::mutex> lock(mutex);
  bool &hasTurn = self ? self->hasTurn : ownerHasTurn;
  hasTurn = false;
  giveTurn(next);
  (self ? self->turn : ownerTurn).wait(lock, [&] { return hasTurn; });
}

/// One of those that can go on. Bursts of very different lengths let a role run
/// far ahead of the others in some runs, and hardly at all in others.
Coroutine *Scheduler::choose() {
  SmallVector<Coroutine *> ready;
  for (const std::unique_ptr<Coroutine> &coroutine : coroutines)
    if (!coroutine->finished && (!coroutine->isReady || coroutine->isReady()))
      ready.push_back(coroutine.get());
  if (ready.empty())
    return nullptr;
  burst = (int64_t(1) << (random() % 5)) - 1;
  return ready[random() % ready.size()];
}

//===----------------------------------------------------------------------===//
// The owner
//===----------------------------------------------------------------------===//

Coroutine &Scheduler::spawn(std::function<LogicalResult()> body) {
  coroutines.emplace_back(new Coroutine(*this));
  Coroutine &self = *coroutines.back();
  self.thread = std::thread(
      [this, &self, body = std::move(body)]() mutable { runBody(self, body); });
  return self;
}

Scheduler::Outcome Scheduler::step() {
  lastFinished = nullptr;
  Coroutine *next = choose();
  if (next)
    handOver(nullptr, next);
  if (!lastFinished)
    return Outcome::Deadlock;
  bool isFailure = failed(lastFinished->result);
  finish(*lastFinished);
  return isFailure ? Outcome::Failed : Outcome::Finished;
}

void Scheduler::finish(Coroutine &coroutine) {
  coroutine.thread.join();
  erase_if(coroutines, [&](const std::unique_ptr<Coroutine> &other) {
    return other.get() == &coroutine;
  });
}

Scheduler::~Scheduler() {
  isCancelled = true;
  while (!coroutines.empty()) {
    Coroutine &coroutine = *coroutines.back();
    // Its waits fail one after the other until its body returns.
    handOver(nullptr, &coroutine);
    finish(coroutine);
  }
}
