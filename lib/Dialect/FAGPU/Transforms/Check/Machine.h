//===- Machine.h - Execution of the protocol between roles ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All groups of all roles of one block, executed in turn. Each channel is
// filled and read by one role, and turns go round, so that whether the
// execution ends does not depend on who goes first: one order decides it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_MACHINE_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_MACHINE_H

#include "Scalars.h"
#include "Skeleton.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::fagpu {

/// How often each agent has done something, as far as somebody knows.
using Clock = SmallVector<unsigned, 8>;

/// One filling of a stage.
struct StageUse {
  int64_t elements = 0;
  unsigned releases = 0;
  SmallVector<int64_t> values;
  Clock full, empty;
};

/// The stages of a channel's bank, or of a mail.
struct Ring {
  Operation *end;
  unsigned bank = 0;
  unsigned depth = 1, banks = 1;
  int64_t tile = 1;
  /// The role that reads it, and how many of its groups read one stage.
  RoleOp role = {};
  unsigned numReaders = 1;
  /// Whether its memory is another channel's too.
  bool isShared = false;

  std::vector<StageUse> uses = {};
  /// The group that reads a bank, once there is one.
  int64_t reader = -1;
  Operation *lastFill = nullptr;
};

/// A group of a role.
struct Agent {
  /// A view: which filling of which bank.
  struct View {
    Operation *acquire;
    unsigned ring, use;
    bool released = false;
  };

  const Skeleton *skeleton;
  unsigned number, group;
  unsigned position = 0;
  bool blocked = false;
  SmallVector<int64_t> registers;
  SmallVector<View> views;
  /// For each ring: stages filled, elements of the one being filled, stages
  /// read.
  SmallVector<unsigned> fills, reads;
  SmallVector<int64_t> elements;
  llvm::MapVector<Operation *, unsigned> trips;
  /// What it has done, oldest first.
  SmallVector<Operation *> history;
  Clock clock;

  bool hasEnded() const {
    return position == skeleton->getInstructions().size();
  }
  Operation *getOperation() const {
    return skeleton->getInstructions()[position].op;
  }
};

/// What an execution has found wrong.
struct ProtocolError {
  Operation *op;
  std::string message;
  SmallVector<std::pair<Location, std::string>> notes;
};

/// Which loop has done how many trips, and which way a branch went.
struct Coverage {
  llvm::MapVector<Operation *, unsigned> trips, branches;
};

class ProtocolMachine {
public:
  ProtocolMachine(func::FuncOp kernel, ArrayRef<Skeleton> skeletons);

  enum Outcome {
    Finished,
    /// More trips than are of interest, or a division by zero.
    Abandoned,
    Failed,
  };
  Outcome run(const ScalarInputs &inputs);

  /// Allows more trips of a loop each time that it is reached.
  void allowMoreTrips() { maxTrips *= 4; }

  const ProtocolError &getError() const { return *error; }
  const Coverage &getCoverage() const { return coverage; }
  /// How long the execution was.
  unsigned getSteps() const { return steps; }
  /// A number for the decisions of the execution.
  uint64_t getSignature() const { return signature; }

private:
  /// More show nothing new where a kernel can do with fewer.
  unsigned maxTrips = 3;

  struct Access {
    int64_t begin, end;
    unsigned agent;
    Clock clock;
    Operation *op;
  };

  void reset(const ScalarInputs &inputs);
  /// Executes an agent until it waits or ends; false to stop altogether.
  bool advance(Agent &agent, const ScalarInputs &inputs);
  bool execute(Agent &agent, const Instruction &instruction,
               const ScalarInputs &inputs);
  void endLoop(Agent &agent, Operation *loop);

  //===--- Operations of the protocol. Each sets `blocked` if it has to wait.
  void executeProtocol(Agent &agent, const Instruction &instruction);
  void fill(Agent &agent, Operation *op, unsigned ring, int64_t elements,
            int64_t share, ArrayRef<int64_t> values);
  void acquire(Agent &agent, AcquireOp op, unsigned ring, unsigned result);
  void receive(Agent &agent, RecvOp op, ArrayRef<unsigned> results);
  void release(Agent &agent, ReleaseOp op, int64_t view);
  void use(Agent &agent, Operation *op, int64_t view);
  void take(Agent &agent, TakeOp op);
  void pass(Agent &agent, PassOp op);
  void stage(Agent &agent, StoreOp op, unsigned ring);

  /// The ring of an operation's channel or mail; none, with an error, if it has
  /// no such bank.
  std::optional<unsigned> getRing(Operation *op, Operation *end,
                                  std::optional<int64_t> bank);
  void recordAccess(Agent &agent, Operation *op, unsigned ring, unsigned use);
  void checkShared(ChannelOp channel);
  void checkEnd();
  void reportDeadlock();

  void fail(Operation *op, std::string message) {
    if (!error)
      error = ProtocolError{op, std::move(message), {}};
  }
  std::string describeWait(const Agent &agent) const;
  std::string describeHistory(const Agent &agent) const;
  std::string describeWay() const;

  func::FuncOp kernel;
  ArrayRef<Skeleton> skeletons;
  std::vector<Agent> agents;
  std::vector<Ring> rings;
  DenseMap<Operation *, unsigned> firstRing;
  /// Whose turn it is, and what its predecessors knew.
  DenseMap<Operation *, std::pair<unsigned, Clock>> turns;
  /// Uses of memory that two channels share.
  llvm::MapVector<Operation *, SmallVector<Access>> accesses;
  unsigned tickets;
  unsigned steps;
  bool abandoned;
  uint64_t signature;
  std::optional<ProtocolError> error;
  /// What this execution has reached, and all that ended.
  Coverage reached, coverage;
};

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_MACHINE_H
