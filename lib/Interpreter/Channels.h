//===- Channels.h - State of channels, views, mail and turns ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Use n of a channel of depth d is of stage n mod d, in each bank. A stage is
// filled by its fillers, read by its readers, and may be filled again when each
// reader has released it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_INTERPRETER_CHANNELS_H
#define FA_LIB_INTERPRETER_CHANNELS_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Executor/Value.h"

namespace mlir::fa::interpreter {

class Worker;

using fagpu::describePlace;

/// A rectangle of a tile: first row and column, rows and columns. Tiles of one
/// dimension have one row.
struct Part {
  int64_t row, column, rows, columns;

  int64_t getNumElements() const { return rows * columns; }
  bool overlaps(const Part &other) const;
};

/// One stage of one bank of a channel or mail.
class Stage {
public:
  /// What the stage holds: the number of the use, -1 before the first.
  int64_t use = -1;
  /// What has been filled of this use, and by which operation last.
  SmallVector<Part, 2> parts;
  int64_t numFilled = 0;
  Operation *filler = nullptr;
  /// Readers that have released this use.
  int64_t numReleases = 0;
  /// The last release, and the barriers that its group had passed by then.
  Operation *release = nullptr;
  int64_t syncsAtRelease = 0;
  /// The elements of a tile, row-major, or the scalars of a mail.
  std::vector<executor::Slot> data;
  /// A channel that has begun to use this memory, and where.
  Operation *takenOverBy = nullptr;
  /// The group that stores through the stage, for a channel that only stores.
  Worker *storer = nullptr;
};

/// A channel or mail of a running block.
class ChannelState : public llvm::RTTIExtends<ChannelState, executor::Object> {
public:
  static char ID;

  /// From a fagpu.channel or fagpu.mail; `over` may be null.
  ChannelState(fagpu::ChannelOp op, ChannelState *over);
  explicit ChannelState(fagpu::MailOp op);

  Operation *getOp() { return op; }
  int64_t getDepth() const { return depth; }
  int64_t getNumBanks() const { return banks.size(); }
  /// Elements of a stage.
  int64_t getSize() const { return size; }
  int64_t getRows() const { return size / columns; }
  int64_t getColumns() const { return columns; }
  /// Readers of a stage: groups that acquire it, each once a use.
  int64_t getNumReaders() const { return numReaders; }
  /// Groups that fill a stage together.
  int64_t getNumFillers() const { return numFillers; }
  /// Whether acquires count copies in flight (fagpu-assign-copies).
  bool countsCopies() const { return hasCountedCopies; }

  Stage &getStage(int64_t bank, int64_t use) {
    return banks[bank][use % depth];
  }
  /// Identifies a bank, as a key.
  void *getBankKey(int64_t bank) { return &banks[bank]; }

  /// Whether use `use` may be filled: it is being filled, or the use before it
  /// in the same stage has been released by all.
  bool canFill(int64_t bank, int64_t use);
  bool isFull(int64_t bank, int64_t use);
  /// Adds a part, which has not arrived yet, to a stage that can be filled.
  /// False if it overlaps one that was added.
  bool addPart(int64_t bank, int64_t use, const Part &part, Operation *filler);
  /// This many elements of the parts that were added have arrived.
  void arrive(int64_t bank, int64_t use, int64_t count) {
    getStage(bank, use).numFilled += count;
  }
  /// One reader gives the stage back; the last one poisons it.
  void release(int64_t bank, int64_t use);
  /// The filling operation of a stage that not all readers have released, or
  /// null.
  Operation *findLeftOver();

  /// Takes the memory of a stage before it is used: channels that it lies over
  /// must be done with it. Fails with a diagnostic.
  LogicalResult claim(Worker &worker, Operation *op, int64_t bank, int64_t use);

private:
  void makeStages(int64_t numBanks);
  LogicalResult checkSync(Worker &worker, Operation *op, const Stage &stage);
  void poison(Stage &stage);
  bool isIdle(const Stage &stage) const;
  /// Whether its stages are on their way from registers to memory.
  bool onlyStores() const;
  int64_t getStageOffset(int64_t bank, int64_t stage) const {
    return (bank * depth + stage) * stageBytes;
  }
  LogicalResult claimFrom(ChannelState &below, Worker &worker, Operation *op,
                          int64_t first);

  Operation *op;
  /// The channel whose memory this one shares.
  llvm::IntrusiveRefCntPtr<ChannelState> over;
  int64_t depth, size, columns, stageBytes = 0;
  int64_t numReaders = 0, numFillers = 1;
  bool hasCountedCopies = false;
  executor::Slot poisonValue;
  std::vector<std::vector<Stage>> banks;
};

using ChannelRef = llvm::IntrusiveRefCntPtr<ChannelState>;

/// What a view and its slices share.
struct ViewToken : llvm::RefCountedBase<ViewToken> {
  ViewToken(ChannelRef channel, int64_t bank, int64_t use, Operation *acquire)
      : channel(std::move(channel)), bank(bank), use(use), acquire(acquire) {}

  ChannelRef channel;
  int64_t bank, use;
  Operation *acquire;
  Operation *release = nullptr;
  /// Barriers that the group had passed at the acquire, where one has to follow
  /// it before the stage is read; -1 otherwise.
  int64_t syncsAtAcquire = -1;

  /// Refuses to read what was given back, or what other warps have copied
  /// before a barrier.
  LogicalResult checkReadable(Worker &worker, Operation *op) const;
};

/// A copy by the threads of a group that is in flight; null for an empty one.
struct CopyInFlight {
  ChannelRef channel;
  int64_t bank = 0, use = 0, count = 0;

  void arrive() {
    if (channel)
      channel->arrive(bank, use, count);
  }
};

/// A full stage or a part of one.
class ViewValue : public llvm::RTTIExtends<ViewValue, executor::Object> {
public:
  static char ID;

  llvm::IntrusiveRefCntPtr<ViewToken> token;
  Part part;

  /// The elements in row-major order. Fails if the view was released.
  LogicalResult read(Worker &worker, Operation *op,
                     std::vector<executor::Slot> &elements) const;
};

using ViewRef = llvm::IntrusiveRefCntPtr<ViewValue>;

/// Whose turn it is.
class TurnsState : public llvm::RTTIExtends<TurnsState, executor::Object> {
public:
  static char ID;

  explicit TurnsState(int64_t groups) : tokens(groups, 0) { tokens[0] = 1; }

  /// Turns that a group has been given and has not taken.
  SmallVector<int64_t> tokens;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_INTERPRETER_CHANNELS_H
