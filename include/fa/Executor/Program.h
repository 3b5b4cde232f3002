//===- Program.h - Compiled functions, blocks and lane bodies ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is compiled once to a flat list of actions over the registers of a
// frame; regions become nested lists over the same registers. Bodies that are
// evaluated for very many elements (linalg and fa regions) are compiled a
// second way, to kernels over lanes: each step handles a whole row of elements.
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_PROGRAM_H
#define FA_EXECUTOR_PROGRAM_H

#include "fa/Executor/Value.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/FunctionExtras.h"
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

namespace mlir::fa::executor {

/// One row of an attention.
struct RowIndex {
  int64_t batch;
  int64_t head;
  int64_t query;

  friend bool operator<(const RowIndex &a, const RowIndex &b) {
    return std::tie(a.batch, a.head, a.query) <
           std::tie(b.batch, b.head, b.query);
  }
};

/// The size of an attention that is about to run.
struct AttentionSize {
  int64_t batches, heads, queries, keys, headDim, valueHeadDim;
};

/// Visible (query, key) pairs, and 2 * (head dim + value head dim) operations
/// for each.
struct AttentionWork {
  double pairs = 0;
  double operations = 0;
  /// Very many pairs are counted on some rows, taking those between as linear.
  bool isEstimate = false;
};

/// A key block that a step of online attention visits, in absolute rows. The
/// last block of queries or keys may be shorter than the others.
struct KeyBlockVisit {
  int64_t batch, head, query, key;
  /// Rows of the block.
  int64_t queries, keys;
  /// Rows of this batch.
  int64_t allQueries, allKeys;
  /// Whether the mask is not asked, being true everywhere in the block.
  bool isFull;
};

/// Base of what the semantics of a dialect keep for a run.
class ExecutionContext {
public:
  virtual ~ExecutionContext();
};

/// Choices and limits of one run, shared by all its frames.
struct Execution {
  /// Check that a mask is true everywhere in a key range declared full.
  bool checkFullRanges = false;
  /// Inside a key range declared full, where the mask need not be asked.
  bool inFullRange = false;
  /// Inside the first block of keys that an fa.key_ranges visits.
  bool inFirstBlock = false;
  /// Chooses the rows of an fa.attention to evaluate, sorted; the others keep
  /// what the destination held. Null, or nothing returned: all rows.
  std::function<std::optional<std::vector<RowIndex>>(const AttentionSize &)>
      chooseRows;
  /// Where to add the work of attention operations; these then look at masks
  /// only and compute nothing.
  AttentionWork *countedWork = nullptr;
  /// Told of each step of online attention, which then computes nothing.
  std::function<void(const KeyBlockVisit &)> onKeyBlock;
  /// Most elements that one tensor or memref may have: 2^30 (8 GiB).
  int64_t maxElements = int64_t(1) << 30;
  /// Deepest nesting of calls.
  unsigned maxCallDepth = 128;
  unsigned callDepth = 0;
  /// Handed through for semantics that need it; null in a plain run.
  ExecutionContext *context = nullptr;
};

/// The registers of one activation of a function.
struct Frame {
  Frame(unsigned numRegisters, Execution &execution)
      : registers(numRegisters), execution(&execution) {}

  RuntimeValue &operator[](unsigned index) { return registers[index]; }
  Slot &slot(unsigned index) { return registers[index].slot; }
  int64_t integer(unsigned index) const {
    return registers[index].slot.integer;
  }
  Array &array(unsigned index) { return registers[index].array(); }
  ArrayRefPtr arrayRef(unsigned index) {
    return ArrayRefPtr(&registers[index].array());
  }

  std::vector<RuntimeValue> registers;
  Execution *execution;
};

/// A read of a register. `last` says that nothing reads this value afterwards,
/// so it may be moved out, which lets a tensor be updated in place.
struct Use {
  unsigned index;
  bool last = false;

  RuntimeValue take(Frame &frame) const {
    return last ? std::move(frame[index]) : frame[index];
  }
};

/// One step. Emits its own diagnostic when it fails.
using Action = llvm::unique_function<LogicalResult(Frame &) const>;

/// A single-block region: its argument registers, steps, and the operands of
/// its terminator.
struct BlockProgram {
  SmallVector<unsigned> arguments;
  std::vector<Action> actions;
  SmallVector<Use> results;

  LogicalResult run(Frame &frame) const {
    for (const Action &action : actions)
      if (failed(action(frame)))
        return failure();
    return success();
  }
};

/// Moves or copies `from` into the registers `to`, as if all at once.
void transfer(Frame &frame, ArrayRef<Use> from, ArrayRef<unsigned> to);

struct FunctionProgram {
  unsigned numRegisters = 0;
  BlockProgram body;

  FailureOr<SmallVector<RuntimeValue>> run(SmallVector<RuntimeValue> arguments,
                                           Execution &execution) const;
};

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Lane registers (each `capacity` slots) and the objects that a lane program
/// reads. One state serves one caller at a time.
struct LaneState {
  int64_t capacity = 0;
  std::vector<Slot> slots;
  SmallVector<RuntimeValue> objects;
  Execution *execution = nullptr;

  Slot *lanes(unsigned index) { return slots.data() + index * capacity; }
};

/// One step over the first `count` lanes. Emits its own diagnostic.
using LaneAction =
    llvm::unique_function<LogicalResult(LaneState &, int64_t count) const>;

/// A pure scalar body compiled for lanes.
class LaneProgram {
public:
  /// Where a block argument or a value from outside lives: scalars in a lane
  /// register, anything else in the object list.
  struct Place {
    bool isLane = true;
    unsigned index = 0;
  };
  /// A value defined outside the body, read from the caller's frame.
  struct Import {
    unsigned frameRegister;
    Place place;
  };

  /// A state with `capacity` lanes, constants and imported values set.
  LaneState makeState(int64_t capacity, Frame &frame) const;
  LogicalResult run(LaneState &state, int64_t count) const {
    for (const LaneAction &action : actions)
      if (failed(action(state, count)))
        return failure();
    return success();
  }
  /// Sets an argument to one value in all lanes.
  void setUniform(LaneState &state, unsigned argument, Slot value) const;
  /// The lanes of a scalar argument or result.
  Slot *getArgument(LaneState &state, unsigned index) const {
    return state.lanes(arguments[index].index);
  }
  Slot *getResult(LaneState &state, unsigned index) const {
    return state.lanes(results[index]);
  }

  SmallVector<Place> arguments;
  SmallVector<unsigned> results;
  SmallVector<Import> imports;
  SmallVector<std::pair<unsigned, Slot>> constants;
  /// Lane registers that the caller fills with numbers that the operation
  /// around the body supplies: (number, lane register) pairs.
  SmallVector<std::pair<unsigned, unsigned>> contextValues;
  /// Objects that the caller sets, or leaves null: (number, object) pairs.
  SmallVector<std::pair<unsigned, unsigned>> contextObjects;
  std::vector<LaneAction> actions;
  unsigned numLaneRegisters = 0;
  unsigned numObjects = 0;
};

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_PROGRAM_H
