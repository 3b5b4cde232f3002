//===- AppendToThreads.cpp - New keys and values, by threads --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes fa.append a parallel loop over blocks of new rows, whose threads write
// up to 16 bytes each. A block first looks at what says where its sequence is.
// Read `ThreadAppender::build`, then `turnKeys` and `copyRows`.
//
//===----------------------------------------------------------------------===//

#include "AppendRows.h"
#include "SequenceSlots.h"
#include "ThreadRows.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "fa/Dialect/FA/Transforms/Sequences.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAAPPENDTOTHREADS
#include "fa/Dialect/FA/Transforms/SequencePasses.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// New rows of a block: few, so that a prompt has blocks for all of a GPU.
static constexpr int64_t rowBlock = 8;

namespace {
/// A block of new rows.
struct RowBlock {
  Value batch, first, count;
  NewRows found;
};

class ThreadAppender : AppendRows {
public:
  ThreadAppender(RewriterBase &rewriter, AppendOp op)
      : AppendRows(rewriter, op), newKeys(order(key)), newValues(order(value)),
        keys(order(keyCache)), values(order(valueCache)) {}

  scf::ForallOp build();

private:
  ThreadRows order(const RowView &view) {
    return orderRows(rewriter, loc, view);
  }
  Value multiply(Value a, Value b) {
    return rewriter.createOrFold<arith::MulIOp>(
        loc, a, b, arith::IntegerOverflowFlags::nsw);
  }
  Value add(Value a, Value b) {
    return rewriter.createOrFold<arith::AddIOp>(loc, a, b);
  }
  using Writer = function_ref<void(RowPlace from, RowPlace to, Value position,
                                   Value head, Value piece)>;
  void share(const RowBlock &block, int64_t pieces, Writer write);
  Value load(const ThreadRows &rows, RowPlace place, Value head, Value dim,
             int64_t width);
  void store(Value numbers, const ThreadRows &rows, RowPlace place, Value head,
             Value dim);
  std::pair<Value, Value> turn(Value x, Value y, Value position, Value pair);
  void turnKeys(const RowBlock &block);
  void copyRows(const RowBlock &block, const ThreadRows &from,
                const ThreadRows &to, int64_t first);

  ThreadRows newKeys, newValues, keys, values;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value ThreadAppender::load(const ThreadRows &rows, RowPlace place, Value head,
                           Value dim, int64_t width) {
  auto type = VectorType::get({width}, rows.getType().getElementType());
  return vector::LoadOp::create(
      rewriter, loc, type, rows.memory,
      ValueRange{toValue(place.outer), toValue(place.row), head, dim});
}

void ThreadAppender::store(Value numbers, const ThreadRows &rows,
                           RowPlace place, Value head, Value dim) {
  vector::StoreOp::create(
      rewriter, loc, numbers, rows.memory,
      ValueRange{toValue(place.outer), toValue(place.row), head, dim});
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// All threads of a block share `pieces` of each row and head.
void ThreadAppender::share(const RowBlock &block, int64_t pieces,
                           Writer write) {
  Value heads = getSize(op.getKey(), op.getKeyOrder(), DimKind::Heads);
  Value ofHead = index(pieces);
  Value all = multiply(multiply(block.count, heads), ofHead);
  auto body = [&](OpBuilder &, Location, ValueRange numbers) {
    Value number = numbers.front();
    Value piece = arith::RemUIOp::create(rewriter, loc, number, ofHead);
    Value rest = arith::DivUIOp::create(rewriter, loc, number, ofHead);
    Value head = arith::RemUIOp::create(rewriter, loc, rest, heads);
    Value row =
        add(block.first, arith::DivUIOp::create(rewriter, loc, rest, heads));
    Value position = add(block.found.before, row);
    write(getSource(block.batch, block.found, row),
          getTarget(block.batch, position), position, head, piece);
  };
  scf::ParallelOp::create(rewriter, loc, index(0), all, index(1), body);
}

void ThreadAppender::copyRows(const RowBlock &block, const ThreadRows &from,
                              const ThreadRows &to, int64_t first) {
  int64_t count = from.getHeadDim() - first;
  if (count == 0)
    return;
  int64_t width = getPieceWidth({from, to}, {count, first});
  share(block, count / width,
        [&](RowPlace source, RowPlace target, Value, Value head, Value piece) {
          Value dim = add(index(first), multiply(piece, index(width)));
          store(load(from, source, head, dim, width), to, target, head, dim);
        });
}

/// Pairs x and y, turned in f32 by the angles from pair `pair` on.
std::pair<Value, Value> ThreadAppender::turn(Value x, Value y, Value position,
                                             Value pair) {
  auto type = cast<VectorType>(x.getType());
  VectorType single = type.clone(rewriter.getF32Type());
  auto widen = [&](Value numbers) -> Value {
    if (numbers.getType() == single)
      return numbers;
    return arith::ExtFOp::create(rewriter, loc, single, numbers);
  };
  auto getAngles = [&](Value table) {
    Type element = cast<MemRefType>(table.getType()).getElementType();
    Value angles = vector::LoadOp::create(rewriter, loc, type.clone(element),
                                          table, ValueRange{position, pair});
    return widen(angles);
  };
  Value cosine = getAngles(op.getCosines()), sine = getAngles(op.getSines());
  x = widen(x);
  y = widen(y);
  auto product = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(rewriter, loc, a, b);
  };
  Value turnedX = arith::SubFOp::create(rewriter, loc, product(x, cosine),
                                        product(y, sine));
  Value turnedY = arith::AddFOp::create(rewriter, loc, product(x, sine),
                                        product(y, cosine));
  auto narrow = [&](Value numbers) -> Value {
    if (type == single)
      return numbers;
    return arith::TruncFOp::create(rewriter, loc, type, numbers);
  };
  return {narrow(turnedX), narrow(turnedY)};
}

void ThreadAppender::turnKeys(const RowBlock &block) {
  int64_t pairs = cast<MemRefType>(op.getCosines().getType()).getDimSize(1);
  bool isInterleaved = *op.getRotary() == Rotary::interleaved;
  int64_t width =
      getPieceWidth({newKeys, keys}, {isInterleaved ? 2 * pairs : pairs});
  // A thread that loads x and y together takes them apart.
  bool areTogether = isInterleaved && width > 1;
  int64_t ofPiece = areTogether ? width / 2 : width;
  SmallVector<int64_t> ofX, ofY;
  for (int64_t pair = 0; pair < ofPiece; ++pair) {
    ofX.push_back(2 * pair);
    ofY.push_back(2 * pair + 1);
  }
  auto take = [&](Value all, ArrayRef<int64_t> from) {
    return vector::ShuffleOp::create(rewriter, loc, all, all, from);
  };
  share(
      block, pairs / ofPiece,
      [&](RowPlace from, RowPlace to, Value position, Value head, Value piece) {
        Value pair = multiply(piece, index(ofPiece));
        Value first = isInterleaved ? multiply(pair, index(2)) : pair;
        if (areTogether) {
          Value both = load(newKeys, from, head, first, width);
          auto [x, y] = turn(take(both, ofX), take(both, ofY), position, pair);
          store(vector::InterleaveOp::create(rewriter, loc, x, y), keys, to,
                head, first);
          return;
        }
        Value second = add(first, index(isInterleaved ? 1 : pairs));
        auto [x, y] =
            turn(load(newKeys, from, head, first, width),
                 load(newKeys, from, head, second, width), position, pair);
        store(x, keys, to, head, first);
        store(y, keys, to, head, second);
      });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Blocks of each sequence, or those that packed rows have among all.
scf::ForallOp ThreadAppender::build() {
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  Value rows = getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  SmallVector<OpFoldResult> begins = {zero}, ends, steps = {one};
  if (op.getKeyStarts()) {
    SequenceSlots slots(rewriter, loc, op.getKeyStarts(), rows, rowBlock);
    ends = {slots.countTiles(index(1))};
  } else {
    ends = {countBatches(), getAsOpFoldResult(rows)};
    begins.push_back(zero);
    steps.push_back(rewriter.getIndexAttr(rowBlock));
  }
  auto loop = scf::ForallOp::create(rewriter, loc, begins, ends, steps,
                                    ValueRange(), std::nullopt);
  rewriter.setInsertionPoint(loop.getTerminator());
  RowBlock block;
  block.batch = loop.getInductionVar(0);
  if (op.getKeyStarts()) {
    SequenceSlots slots(rewriter, loc, op.getKeyStarts(), rows, rowBlock);
    TilePlace place = slots.findPlace(loop.getInductionVar(0), index(1));
    block.batch = place.batch;
    block.first = place.first;
  } else {
    block.first = loop.getInductionVar(1);
  }
  block.found = look(block.batch);
  Value left =
      arith::SubIOp::create(rewriter, loc, block.found.rows.count, block.first);
  left = arith::MinSIOp::create(rewriter, loc, left, index(rowBlock));
  left = arith::MaxSIOp::create(rewriter, loc, left, index(0));
  block.count = select(block.found.rows.isValid, left, index(0));
  int64_t turned = 0;
  if (op.getRotary()) {
    turnKeys(block);
    turned = 2 * cast<MemRefType>(op.getCosines().getType()).getDimSize(1);
  }
  copyRows(block, newKeys, keys, turned);
  copyRows(block, newValues, values, 0);
  return loop;
}

FailureOr<scf::ForallOp> mlir::fa::appendToThreads(RewriterBase &rewriter,
                                                   AppendOp op) {
  return replaceAppend(rewriter, op,
                       [&] { return ThreadAppender(rewriter, op).build(); });
}

namespace {
struct AppendToThreadsPass
    : public fa::impl::FAAppendToThreadsBase<AppendToThreadsPass> {
  void runOnOperation() override {
    SmallVector<AppendOp> all;
    getOperation()->walk([&](AppendOp op) { all.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AppendOp op : all)
      if (failed(appendToThreads(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
