//===- GatherPages.cpp - Pages of a size that kernels copy ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathers keys and values that lie in pages of any size into pages of 128 rows,
// of which a GPU copies whole key blocks. Read `PageGatherer::run`, then
// `gatherBlock`.
//
//===----------------------------------------------------------------------===//

#include "SequenceViews.h"
#include "ThreadRows.h"
#include "fa/Dialect/FA/IR/MissingPages.h"
#include "fa/Dialect/FA/Transforms/Sequences.h"
#include "fa/Target/GPUTarget.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGATHERPAGES
#include "fa/Dialect/FA/Transforms/SequencePasses.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Rows of a page that kernels read: a multiple of all key blocks but large
/// ones, which it divides or which have parts of it.
static constexpr int64_t gatheredRows = 128;

namespace {
class PageGatherer : SequenceViews {
public:
  PageGatherer(RewriterBase &rewriter, AttentionOp op)
      : SequenceViews(rewriter, op.getLoc()), op(op) {}

  void run();

private:
  Value multiply(Value a, Value b) {
    return rewriter.createOrFold<arith::MulIOp>(
        loc, a, b, arith::IntegerOverflowFlags::nsw);
  }
  Value allocate(Value pool, DimsAttr order);
  void gatherBlock(Value batch, Value block);
  void copyRows(const ThreadRows &from, const ThreadRows &to, Value batch,
                Value first, Value count, Value page);

  AttentionOp op;
  ThreadRows keys, values, newKeys, newValues;
  Value rows, capacity, inPools, sequences, blocks, heads, table;
};
} // namespace

/// Pages in the order (page, row, head, head dim).
Value PageGatherer::allocate(Value pool, DimsAttr order) {
  auto type = cast<MemRefType>(pool.getType());
  auto getSize = [&](DimKind kind) {
    return type.getDimSize(order.positionOf(kind));
  };
  int64_t heads = getSize(DimKind::Heads);
  SmallVector<Value> sizes = {multiply(sequences, blocks)};
  if (ShapedType::isDynamic(heads))
    sizes.push_back(this->heads);
  auto gathered = MemRefType::get(
      {ShapedType::kDynamic, gatheredRows, heads, getSize(DimKind::HeadDim)},
      type.getElementType());
  return memref::AllocOp::create(rewriter, loc, gathered, sizes);
}

/// Threads share the pieces of all rows and heads.
void PageGatherer::copyRows(const ThreadRows &from, const ThreadRows &to,
                            Value batch, Value first, Value count, Value page) {
  int64_t width = getPieceWidth({from, to}, {});
  Value pieces = index(from.getHeadDim() / width);
  auto body = [&](OpBuilder &, Location, ValueRange numbers) {
    Value number = numbers.front();
    Value piece = arith::RemUIOp::create(rewriter, loc, number, pieces);
    Value rest = arith::DivUIOp::create(rewriter, loc, number, pieces);
    Value head = arith::RemUIOp::create(rewriter, loc, rest, heads);
    Value row = arith::DivUIOp::create(rewriter, loc, rest, heads);
    Value key = arith::AddIOp::create(rewriter, loc, first, row);
    Value of = arith::DivUIOp::create(rewriter, loc, key, rows);
    Value source = load(op.getKeyPages(), {batch, of});
    Value inPage = arith::RemUIOp::create(rewriter, loc, key, rows);
    Value dim = multiply(piece, index(width));
    auto type = VectorType::get({width}, from.getType().getElementType());
    Value moved = vector::LoadOp::create(rewriter, loc, type, from.memory,
                                         ValueRange{source, inPage, head, dim});
    vector::StoreOp::create(rewriter, loc, moved, to.memory,
                            ValueRange{page, row, head, dim});
  };
  Value all = multiply(multiply(count, heads), pieces);
  scf::ParallelOp::create(rewriter, loc, index(0), all, index(1), body);
}

/// A block with a page that is none, or of a sequence whose length cannot be,
/// is a page that is none.
void PageGatherer::gatherBlock(Value batch, Value block) {
  Value length = load(op.getKeyLengths(), batch);
  Value canBe = both(isAtMost(index(0), length), isAtMost(length, capacity));
  Value first = multiply(block, index(gatheredRows));
  Value left = arith::SubIOp::create(rewriter, loc, length, first);
  left = arith::MinSIOp::create(rewriter, loc, left, index(gatheredRows));
  left = arith::MaxSIOp::create(rewriter, loc, left, index(0));
  Value count = select(canBe, left, index(0));
  Value isSome = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                       count, index(0));
  Value begin = select(isSome, first, index(0));
  Value end = arith::AddIOp::create(rewriter, loc, begin, count);
  Value isWrong = isAnyPageWrong(
      op.getKeyPages(), batch,
      arith::DivUIOp::create(rewriter, loc, begin, rows),
      arith::CeilDivUIOp::create(rewriter, loc, end, rows), inPools);
  Value page =
      arith::AddIOp::create(rewriter, loc, multiply(batch, blocks), block);
  Type word = rewriter.getI32Type();
  Value number = arith::IndexCastOp::create(rewriter, loc, word, page);
  Value none = arith::ConstantIntOp::create(rewriter, loc, -1, /*width=*/32);
  Value entry = select(isWrong, none, select(canBe, number, none));
  memref::StoreOp::create(rewriter, loc, entry, table,
                          ValueRange{batch, block});
  count = select(isWrong, index(0), count);
  copyRows(keys, newKeys, batch, first, count, page);
  copyRows(values, newValues, batch, first, count, page);
}

void PageGatherer::run() {
  rewriter.setInsertionPoint(op);
  keys = orderRows(rewriter, loc, view(op.getKey(), op.getKeyOrder()));
  values = orderRows(rewriter, loc, view(op.getValue(), op.getValueOrder()));
  Value ofPage = getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  // A page without any rows holds none, but rows are divided by it.
  rows = rewriter.createOrFold<arith::MaxSIOp>(loc, ofPage, index(1));
  Value columns = memref::DimOp::create(rewriter, loc, op.getKeyPages(), 1);
  capacity = arith::MulIOp::create(rewriter, loc, columns, ofPage);
  sequences = memref::DimOp::create(rewriter, loc, op.getKeyPages(), 0);
  blocks =
      arith::CeilDivUIOp::create(rewriter, loc, capacity, index(gatheredRows));
  heads = getSize(op.getKey(), op.getKeyOrder(), DimKind::Heads);
  inPools = arith::MinSIOp::create(
      rewriter, loc, getSize(op.getKey(), op.getKeyOrder(), DimKind::Page),
      getSize(op.getValue(), op.getValueOrder(), DimKind::Page));
  newKeys = {allocate(op.getKey(), op.getKeyOrder())};
  newValues = {allocate(op.getValue(), op.getValueOrder())};
  auto numbers = MemRefType::get({ShapedType::kDynamic, ShapedType::kDynamic},
                                 rewriter.getI32Type());
  table = memref::AllocOp::create(rewriter, loc, numbers,
                                  ValueRange{sequences, blocks});
  auto loop = scf::ForallOp::create(rewriter, loc,
                                    ArrayRef<OpFoldResult>{sequences, blocks},
                                    ValueRange(), std::nullopt);
  rewriter.setInsertionPoint(loop.getTerminator());
  gatherBlock(loop.getInductionVar(0), loop.getInductionVar(1));
  rewriter.setInsertionPointAfter(op);
  for (Value memory : {newKeys.memory, newValues.memory, table})
    memref::DeallocOp::create(rewriter, loc, memory);
  int64_t order[] = {static_cast<int64_t>(DimKind::Page),
                     static_cast<int64_t>(DimKind::Sequence),
                     static_cast<int64_t>(DimKind::Heads),
                     static_cast<int64_t>(DimKind::HeadDim)};
  auto pages = DimsAttr::get(rewriter.getContext(), order);
  rewriter.modifyOpInPlace(op, [&] {
    op.getKeyMutable().assign(newKeys.memory);
    op.getValueMutable().assign(newValues.memory);
    op.getKeyPagesMutable().assign(table);
    op.setKeyDimsAttr(pages);
    op.setValueDimsAttr(pages);
  });
}

void mlir::fa::gatherPages(RewriterBase &rewriter, AttentionOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  PageGatherer(rewriter, op).run();
}

static int64_t getSize(Value pool, DimsAttr order, DimKind kind) {
  return cast<ShapedType>(pool.getType()).getDimSize(order.positionOf(kind));
}

/// Whether the configuration of an attention, once it has one, takes pages of
/// any size.
static bool joinsPages(AttentionOp op, const Target &target) {
  AttentionProblem problem = AttentionProblem::get(op);
  std::string reason;
  ConfigAttr config = op.getConfigAttr();
  config = config ? target.completeConfig(config, problem)
                  : target.selectConfig(op.getContext(), problem, reason)
                        .forAnyLengths();
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  return gpu && joinsPages(gpu.getPart(), op.getKey().getType());
}

/// What the rows of a page are to be a multiple of, where warps copy key blocks
/// from parts of one page. Products of f32 have 64 of them, and a
/// batch_invariant attention the key blocks that it has without pages.
static int64_t getUnit(AttentionOp op) {
  if (op.getBatchInvariant())
    return gatheredRows;
  Type element = cast<ShapedType>(op.getKey().getType()).getElementType();
  return element.getIntOrFloatBitWidth() == 32 ? 64 : 16;
}

static bool areCopied(AttentionOp op, const Target &target) {
  int64_t rows = getSize(op.getKey(), op.getKeyOrder(), DimKind::Sequence);
  return (!ShapedType::isDynamic(rows) && rows % getUnit(op) == 0) ||
         joinsPages(op, target);
}

namespace {
struct GatherPagesPass : public fa::impl::FAGatherPagesBase<GatherPagesPass> {
  using FAGatherPagesBase::FAGatherPagesBase;

  void runOnOperation() override {
    Location loc = getOperation()->getLoc();
    if (!lookupGPUTarget(chip)) {
      emitError(loc) << "chip is '" << chip << "', expected one of "
                     << listGPUTargets();
      return signalPassFailure();
    }
    FailureOr<Target> target =
        Target::get(chip, [&] { return emitError(loc); });
    if (failed(target))
      return signalPassFailure();
    SmallVector<AttentionOp> all;
    getOperation()->walk([&](AttentionOp op) {
      if (op.getKeyPages() && isa<MemRefType>(op.getKey().getType()) &&
          !areCopied(op, *target))
        all.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : all) {
      remark::passed(op.getLoc(), remark::RemarkOpts::name("Pages").category(
                                      "fa-gather-pages"))
          << llvm::formatv("a kernel of its own gathers pages, of a size that "
                           "{0} has no copies of, into pages of {1} rows",
                           target->getName(), gatheredRows)
                 .str();
      gatherPages(rewriter, op);
    }
  }
};
} // namespace
