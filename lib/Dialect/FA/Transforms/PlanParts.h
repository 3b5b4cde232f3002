//===- PlanParts.h - Parts of the keys that a device lists ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_PLANPARTS_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_PLANPARTS_H

#include "SequenceViews.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::fa {

/// A list of parts of the keys of sequences whose lengths the device knows. The
/// keys of all sequences stand in a line, which is cut into *shares* of one
/// size: a share has the end of one sequence, others, and the beginning of one.
/// A block of threads computes a share for one head and query block. A sequence
/// has a part in each share that it is in, and a slot for the result of each.
class PartsPlan : public SequenceViews {
public:
  struct Sizes {
    /// Keys that parts are multiples of, and the fewest of a part.
    int64_t unit, least;
    /// Queries that an item has, and the steps between their blocks.
    int64_t queryBlock;
  };
  PartsPlan(RewriterBase &rewriter, Location loc, Sizes sizes)
      : SequenceViews(rewriter, loc), sizes(sizes) {}

  /// What the host knows: the numbers of sequences and heads, and queries and
  /// keys that each sequence has room for. Builds where the rewriter stands.
  void measure(Value sequences, Value heads, Value queries, Value keys);
  /// Whether no list is needed, as for one sequence, or shares would leave a
  /// third of the device without work, or numbers would not fit 32 bits.
  Value isNeedless();
  /// Results of parts of all heads and queries that there is memory for.
  Value countSlots() { return slots; }
  /// Makes the memory of the list.
  void allocate();
  /// What else an item has: the element of its sequence of a memory of i32, of
  /// which there are two at most. False where there is no room for it.
  bool addNumber(Value numbers);
  /// That of an item, as i32.
  Value getNumber(Value item, Value numbers);
  /// Makes the loop that writes the list, behind its memory; `getKeys` gives
  /// the keys of a sequence, in its body.
  void list(function_ref<Value(Value)> getKeys);
  /// A loop over the items, of which the host knows the most.
  scf::ForallOp createLoop();
  struct Item {
    Value sequence, head, query, firstKey, keys, slot;
  };
  /// Queries are none in an item behind the last one.
  Item getItem(Value number);
  /// Results of sequences of several parts have to be merged. There are no more
  /// of these than shares, since each goes on where a share ends.
  Value countMerges();
  struct Merge {
    /// Parts are one or none where nothing is merged.
    Value sequence, firstSlot, parts;
  };
  Merge getMerge(Value number);

private:
  /// Of a sequence: its units, those ahead, and those of all sequences; units
  /// of a share, and the shares that it begins and ends in.
  struct Place {
    Value sequence, units, before, all, ofShare, first, last;
    SmallVector<Value> numbers;
  };
  template <typename OpTy> Value make(Value a, Value b) {
    return rewriter.createOrFold<OpTy>(loc, a, b);
  }
  Value multiply(Value a, Value b);
  Value divideUp(Value a, Value b);
  Value compare(arith::CmpIPredicate by, Value a, Value b);
  Value asWord(Value value);
  Value countUnits(Value sequence, function_ref<Value(Value)> getKeys);
  Place findPlace(Value sequence, function_ref<Value(Value)> getKeys);
  void store(Value word, Value place);
  void storeItem(Value number, const Item &item, ValueRange numbers);
  void storeNothing(Value number);
  void listPart(const Place &place, Value item);
  void fillUp(const Place &place);
  void forEach(Value begin, Value end, Value step,
               function_ref<void(Value)> build);
  void buildIf(Value condition, function_ref<void()> build);
  Value getWord(Value place, int64_t mask);
  Value getItems();
  Value ofMerge(Value number, int64_t word);
  void storeMerge(Value number, const Merge &merge);
  void listMerge(const Place &place, Value part, Value share, Value isEnd);

  Sizes sizes;
  /// Of the host: tiles are (head, query block) of a sequence, and `capacity`
  /// the most items.
  Value sequences, keys, blocks, tiles, processors, shares, slots, capacity;
  /// Whether there are no more sequences than shares.
  Value areFew;
  /// Of i32.
  Value memory;
  SmallVector<Value> numbers;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_PLANPARTS_H
