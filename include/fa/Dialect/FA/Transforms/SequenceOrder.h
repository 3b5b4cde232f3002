//===- SequenceOrder.h - Places of sequences in a list ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device code that finds how many items of a list stand ahead of those of a
// sequence: each of few sequences looks at all others. Of many, a loop over
// groups of sequences adds up their items first.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_SEQUENCEORDER_H
#define FA_DIALECT_FA_TRANSFORMS_SEQUENCEORDER_H

#include "mlir/IR/Builders.h"
#include <functional>

namespace mlir::fa {

/// The order of a list of items of sequences: the longest sequences first, and
/// of one length as they are numbered. Of many sequences, those whose lengths
/// differ by less than a quarter may count as equally long, and all of 98,304
/// and more.
class SequenceOrder {
public:
  /// Of a sequence, as index.
  struct Sequence {
    Value length, items;
  };
  using Look = std::function<Sequence(OpBuilder &, Value sequence)>;
  /// Items ahead of a sequence's, and of all sequences, as i32 and at least 0.
  struct Place {
    Value before, all;
  };
  /// Sums of groups of sequences: `memory` has them, of i32, from word `first`
  /// on.
  struct Sums {
    Value groups, memory, first;
  };
  /// Iterations of the loops that write a list: `few` of one that looks at all
  /// sequences, else `sums` of one that adds up and `many` of one that reads
  /// the sums.
  struct Counts {
    Value groups, few, sums, many;
  };

  /// By the number of `sequences`, on the host.
  static Counts count(OpBuilder &builder, Location loc, Value sequences);

  /// `look` builds what a sequence is. Without sums, each looks at all.
  SequenceOrder(Location loc, Value sequences, Look look, Sums sums = {})
      : loc(loc), sequences(sequences), look(std::move(look)), sums(sums) {}

  /// Makes one of the sums.
  void addUp(OpBuilder &builder, Value number) const;
  /// Finds the place of a sequence of `length`; in a list in the order of
  /// sequences, that is null.
  Place find(OpBuilder &builder, Value sequence, Value length) const;

private:
  using IsAhead = function_ref<Value(OpBuilder &, Value other, Value length)>;

  Value getSum(OpBuilder &builder, Value ofClass, Value group) const;
  Place addItems(OpBuilder &builder, Value begin, Value end,
                 IsAhead isAhead) const;
  Place findAmongAll(OpBuilder &builder, Value sequence, Value length) const;
  Place findByGroups(OpBuilder &builder, Value sequence, Value length) const;

  Location loc;
  Value sequences;
  Look look;
  Sums sums;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_SEQUENCEORDER_H
