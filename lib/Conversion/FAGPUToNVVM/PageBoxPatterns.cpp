//===- PageBoxPatterns.cpp - Boxes of pages to shared memory --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers puts of rows in pages by bulk copies: a box is a page, or a part of
// one. The warps of the role take turns at the boxes. A lane looks up one box;
// then the first lane, which copies all boxes of its warp, is told where each
// is. Read `PageBoxCopy`: the table is read before the stage is free.
//
//===----------------------------------------------------------------------===//

#include "BoxCopies.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {

class PageBoxCopy {
public:
  PageBoxCopy(PutOp put, Emitter &emit, const KernelContext &kernel,
              ArrayRef<Value> offsets)
      : put(put), emit(emit), kernel(kernel), threads(kernel.getThreads(put)),
        boxes(put), warps(put->getParentOfType<RoleOp>().getWarps()),
        perWarp(boxes.getPerWarp(warps)), pageDim(*put.getPageDim()),
        rowDim(put.getRowDim()), offsets(offsets) {}

  /// Goes on inside a branch of the warps that have a box.
  void enterWarps() {
    if (boxes.count >= warps)
      return;
    enter(emit, emit.isBelow(threads.warp, emit.constant(boxes.count)));
  }

  /// Reads the table; keys end at `end`.
  void lookUp(Value end) {
    // Lanes without a box look up one that others have.
    Value number = emit.add(emit.multiply(threads.lane, warps), threads.warp);
    number = arith::MinUIOp::create(emit.builder, emit.location, number,
                                    emit.constant(boxes.count - 1));
    Value key = emit.add(offsets[rowDim], emit.multiply(number, boxes.rows));
    int64_t ofPage =
        cast<MemRefType>(put.getSource().getType()).getDimSize(rowDim);
    Value column = arith::DivUIOp::create(emit.builder, emit.location, key,
                                          emit.constant(ofPage));
    Value columns =
        emit.narrow(kernel.getSize(emit.builder, put.getPages(), 1));
    column = arith::MinSIOp::create(emit.builder, emit.location, column,
                                    emit.subtract(columns, emit.constant(1)));
    Value entry = LLVM::LoadOp::create(
        emit.builder, emit.location, emit.builder.getI32Type(),
        getAddress(emit.builder, emit.location, kernel, put.getPages(),
                   ValueRange{offsets[pageDim], column}));
    Value pages =
        emit.narrow(kernel.getSize(emit.builder, put.getSource(), pageDim));
    Value isPage = emit.isBelow(entry, pages), none = emit.constant(0);
    page = emit.select(isPage, entry, none);
    inPage = boxes.rows == ofPage
                 ? none
                 : arith::RemUIOp::create(emit.builder, emit.location, key,
                                          emit.constant(ofPage));
    limit =
        emit.select(isPage, emit.add(inPage, emit.subtract(end, key)), none);
  }

  /// Copies to a stage. Warps with fewer boxes have code of their own. Inside
  /// the elected lane's branch, ptxas 13.0 joins a branch on the warp with the
  /// next one. Lanes have not met there, and each side elects once more.
  void copy(const StageAddress &stage) {
    SmallVector<BoxCopy> copies;
    Value barrier = emit.sharedPointer(stage.full);
    int64_t boxBytes = boxes.rows * kernel.getTensorMap(put).swizzle;
    for (int64_t turn = 0; turn < perWarp; ++turn) {
      SmallVector<Value> at(offsets);
      at[pageDim] = tell(page, turn);
      at[rowDim] = tell(inPage, turn);
      Value number = emit.add(threads.warp, turn * warps);
      copies.push_back({at, tell(limit, turn),
                        emit.add(stage.data, emit.multiply(number, boxBytes)),
                        barrier, /*blocks=*/Value()});
    }
    OpBuilder::InsertionGuard guard(emit.builder);
    int64_t inLastTurn = boxes.count - (perWarp - 1) * warps;
    if (perWarp == 1 || inLastTurn == warps) {
      start(copies);
      return;
    }
    auto branch =
        scf::IfOp::create(emit.builder, emit.location,
                          emit.isBelow(threads.warp, emit.constant(inLastTurn)),
                          /*withElseRegion=*/true);
    emit.builder.setInsertionPointToStart(branch.thenBlock());
    start(copies);
    emit.builder.setInsertionPointToStart(branch.elseBlock());
    start(ArrayRef(copies).drop_back());
  }

private:
  /// Starts the copies of a warp, by one lane.
  void start(ArrayRef<BoxCopy> copies) {
    OpBuilder::InsertionGuard guard(emit.builder);
    enterElectedLane(emit);
    auto type = put.getChannel().getType();
    int64_t bytes = boxes.rows * type.getShape()[1] *
                    (type.getElementType().getIntOrFloatBitWidth() / 8);
    expectBytes(emit, copies.front().barrier,
                emit.constant(int64_t(copies.size()) * bytes));
    for (const BoxCopy &box : copies)
      startCopy(emit, kernel, put, box);
  }

  /// What lane `from` has.
  Value tell(Value value, int64_t from) {
    return NVVM::ShflOp::create(emit.builder, emit.location,
                                emit.builder.getI32Type(), emit.constant(-1),
                                value, emit.constant(from), emit.constant(31),
                                NVVM::ShflKind::idx, UnitAttr());
  }

  PutOp put;
  Emitter &emit;
  const KernelContext &kernel;
  const RoleThreads &threads;
  PageBoxes boxes;
  int64_t warps, perWarp;
  unsigned pageDim, rowDim;
  SmallVector<Value> offsets;
  /// Of the lane's box: its page, its first row there, and where rows end.
  Value page, inPage, limit;
};

struct PutPageBoxesPattern : public LoweringPattern<PutOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(PutOp op) const override {
    return op.getPages() &&
           op.getChannel().getDefiningOp<ChannelOp>().getEngine() ==
               Engine::tma;
  }

  Registers lower(PutOp op, Adaptor adaptor, Emitter &emit) const override {
    OpBuilder::InsertionGuard guard(emit.builder);
    if (Value condition = getOptional(adaptor.getCondition()))
      enter(emit, condition);
    PageBoxCopy pages(op, emit, kernel,
                      flatten(SmallVector<ValueRange>(adaptor.getOffsets())));
    pages.enterWarps();
    pages.lookUp(getOptional(adaptor.getRows()));
    StageAddress stage = addressStage(emit, kernel, op.getChannel(),
                                      getOptional(adaptor.getStage()),
                                      getOptional(adaptor.getBank()));
    emit.waitPhase(stage.empty, getOptional(adaptor.getPhase()));
    fenceCopyOverLoads(emit, op);
    pages.copy(stage);
    return {};
  }
};

} // namespace

void mlir::fagpu::populatePageBoxPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          const KernelContext &kernel) {
  patterns.add<PutPageBoxesPattern>(converter, patterns.getContext(), kernel);
}
