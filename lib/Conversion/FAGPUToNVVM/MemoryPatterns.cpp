//===- MemoryPatterns.cpp - Global memory and tile counters ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers access to global memory: scalar loads and stores, sizes, row
// vectors, and the atomic counter that gives tiles to persistent blocks.
// `getAddress` is what all share; read it first.
//
//===----------------------------------------------------------------------===//

#include "GlobalStores.h"
#include "Patterns.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

Value mlir::fagpu::getAddress(OpBuilder &builder, Location location,
                              const KernelContext &kernel, Value memory,
                              ValueRange indices) {
  Value pointer = kernel.getPointer(memory);
  if (indices.empty())
    return pointer;
  Type i64 = builder.getI64Type();
  Value sum;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value wide =
        index.getType().isIndex()
            ? arith::IndexCastOp::create(builder, location, i64, index)
                  .getResult()
            : arith::ExtSIOp::create(builder, location, i64, index).getResult();
    Value offset = arith::MulIOp::create(
        builder, location, wide, kernel.getStride(builder, memory, dim));
    sum =
        sum ? arith::AddIOp::create(builder, location, sum, offset).getResult()
            : offset;
  }
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  return LLVM::GEPOp::create(builder, location, pointer.getType(), element,
                             pointer, ValueRange{sum});
}

namespace {

struct LoadPattern : public LoweringPattern<memref::LoadOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(memref::LoadOp op) const override {
    return kernel.getPointer(op.getMemRef()) != nullptr;
  }

  Registers lower(memref::LoadOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    Value address =
        getAddress(emit.builder, emit.location, kernel, op.getMemRef(),
                   flatten(SmallVector<ValueRange>(adaptor.getIndices())));
    if (!op.getType().isInteger(1))
      return {{LLVM::LoadOp::create(emit.builder, emit.location, op.getType(),
                                    address)}};
    // Any byte but 0 is true.
    Type byte = emit.builder.getI8Type();
    Value value =
        LLVM::LoadOp::create(emit.builder, emit.location, byte, address);
    Value zero = arith::ConstantOp::create(
        emit.builder, emit.location, emit.builder.getIntegerAttr(byte, 0));
    return {{arith::CmpIOp::create(emit.builder, emit.location,
                                   arith::CmpIPredicate::ne, value, zero)}};
  }
};

/// Threads of a group store the same to the same place.
struct ScalarStorePattern : public LoweringPattern<memref::StoreOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(memref::StoreOp op) const override {
    return kernel.getPointer(op.getMemRef()) != nullptr;
  }

  Registers lower(memref::StoreOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    Value address =
        getAddress(emit.builder, emit.location, kernel, op.getMemRef(),
                   flatten(SmallVector<ValueRange>(adaptor.getIndices())));
    LLVM::StoreOp::create(emit.builder, emit.location,
                          adaptor.getValue().front(), address);
    return {};
  }
};

struct DimPattern : public LoweringPattern<memref::DimOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(memref::DimOp op) const override {
    return op.getConstantIndex() && kernel.isParameter(op.getSource());
  }

  Registers lower(memref::DimOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    Value size =
        kernel.getSize(emit.builder, op.getSource(), *op.getConstantIndex());
    return {{arith::IndexCastOp::create(emit.builder, emit.location,
                                        op.getType(), size)}};
  }
};

/// A value of each row: the first lane of the quad that holds it stores it, by
/// a predicate, since a branch would make the loop around it divergent.
struct StoreRowsPattern : public LoweringPattern<StoreOp> {
  using LoweringPattern::LoweringPattern;

  bool matches(StoreOp op) const override {
    return !op.getVia() &&
           isa<RowLayoutAttr>(blockType(op.getValue()).getEncoding());
  }

  Registers lower(StoreOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getValue().getType());
    LayoutInterface layout = getBlockLayout(type);
    SmallVector<Value> offsets =
        flatten(SmallVector<ValueRange>(adaptor.getOffsets()));
    // Row of element 0: four lanes share a row, rows of a warp are adjacent.
    const RoleThreads &threads = kernel.getThreads(op);
    Value ofThread = emit.add(emit.shiftLeft(threads.warp, 4),
                              emit.shiftRight(threads.lane, 2));
    for (auto [index, value] : llvm::enumerate(adaptor.getValue())) {
      SmallVector<Value> indices(offsets);
      Value row = addRow(emit, op, indices, ofThread,
                         layout.getElementOffset(type.getShape(), index)[0]);
      Value predicate =
          emit.equal(emit.bitAnd(threads.lane, 3), emit.constant(0));
      if (!adaptor.getRows().empty())
        predicate = emit.logicalAnd(
            predicate, emit.isLess(row, adaptor.getRows().front()));
      Value address = getAddress(emit.builder, emit.location, kernel,
                                 op.getDestination(), indices);
      emit.inlinePTX(op.getAdd() ? "@$2 red.global.add.f32 [$0], $1;"
                                 : "@$2 st.global.f32 [$0], $1;",
                     "l,f,b,~{memory}", {address, value, predicate}, {});
    }
    return {};
  }
};

struct TicketPattern : public LoweringPattern<TicketOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(TicketOp op, Adaptor adaptor, Emitter &emit) const override {
    auto take = [&] {
      return LLVM::AtomicRMWOp::create(
          emit.builder, emit.location, LLVM::AtomicBinOp::add,
          kernel.getPointer(op.getCounter()), emit.constant(1),
          LLVM::AtomicOrdering::monotonic);
    };
    Value old;
    if (auto at = op->getAttrOfType<IntegerAttr>(toldAtAttrName)) {
      Value word =
          emit.sharedPointer(emit.add(kernel.getSharedBase(), at.getInt()));
      {
        OpBuilder::InsertionGuard guard(emit.builder);
        enterElected(emit, kernel.getThreads(op));
        LLVM::StoreOp::create(emit.builder, emit.location, take(), word);
      }
      // All have heard of it before the next one.
      waitForRole(op, emit);
      old = emit.firstLane(LLVM::LoadOp::create(
          emit.builder, emit.location, emit.builder.getI32Type(), word));
      waitForRole(op, emit);
    } else {
      old = take();
    }
    Value grid = NVVM::GridDimXOp::create(emit.builder, emit.location,
                                          emit.builder.getI32Type());
    return {{emit.add(old, grid)}};
  }

private:
  static void waitForRole(TicketOp op, Emitter &emit) {
    auto role = op->getParentOfType<RoleOp>();
    NVVM::BarrierOp::create(emit.builder, emit.location, TypeRange{},
                            emit.constant(*role.getBarrier()),
                            emit.constant(role.getThreadsPerGroup()),
                            NVVM::BarrierReductionAttr(), Value());
  }
};

struct RetirePattern : public LoweringPattern<RetireOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(RetireOp op, Adaptor adaptor, Emitter &emit) const override {
    OpBuilder::InsertionGuard guard(emit.builder);
    enterElected(emit, kernel.getThreads(op));
    Value tickets = kernel.getPointer(op.getCounter());
    Value blocks = LLVM::GEPOp::create(
        emit.builder, emit.location, tickets.getType(),
        emit.builder.getI32Type(), tickets, ArrayRef<LLVM::GEPArg>{1});
    Value before = LLVM::AtomicRMWOp::create(
        emit.builder, emit.location, LLVM::AtomicBinOp::add, blocks,
        emit.constant(1), LLVM::AtomicOrdering::acq_rel);
    Value grid = NVVM::GridDimXOp::create(emit.builder, emit.location,
                                          emit.builder.getI32Type());
    Value isLast = emit.equal(emit.add(before, 1), grid);
    auto branch = scf::IfOp::create(emit.builder, emit.location, isLast, false);
    OpBuilder inside = branch.getThenBodyBuilder();
    Emitter reset(inside, emit.location);
    for (Value word : {tickets, blocks})
      LLVM::StoreOp::create(inside, emit.location, reset.constant(0), word);
    return {};
  }
};

/// Between launches of one stream.
template <typename Op, NVVM::GridDepActionKind kind>
struct DependencePattern : public LoweringPattern<Op> {
  using LoweringPattern<Op>::LoweringPattern;

  Registers lower(Op op, typename LoweringPattern<Op>::Adaptor,
                  Emitter &emit) const override {
    NVVM::GriddepcontrolOp::create(emit.builder, emit.location, kind);
    return {};
  }
};
using AwaitPreviousPattern =
    DependencePattern<AwaitPreviousOp, NVVM::GridDepActionKind::wait>;
using ReleaseDependentsPattern =
    DependencePattern<ReleaseDependentsOp,
                      NVVM::GridDepActionKind::launch_dependents>;

/// A block's place in the grid, or the size of the grid.
template <typename Op, typename X, typename Y, typename Z>
struct GridPattern : public LoweringPattern<Op> {
  using LoweringPattern<Op>::LoweringPattern;

  Registers lower(Op op, typename LoweringPattern<Op>::Adaptor adaptor,
                  Emitter &emit) const override {
    Type i32 = emit.builder.getI32Type();
    Location location = emit.location;
    Value number;
    switch (op.getDimension()) {
    case gpu::Dimension::x:
      number = X::create(emit.builder, location, i32);
      break;
    case gpu::Dimension::y:
      number = Y::create(emit.builder, location, i32);
      break;
    case gpu::Dimension::z:
      number = Z::create(emit.builder, location, i32);
      break;
    }
    return {{arith::IndexCastOp::create(emit.builder, emit.location,
                                        op.getType(), number)}};
  }
};
using BlockIdPattern = GridPattern<gpu::BlockIdOp, NVVM::BlockIdXOp,
                                   NVVM::BlockIdYOp, NVVM::BlockIdZOp>;
using GridDimPattern = GridPattern<gpu::GridDimOp, NVVM::GridDimXOp,
                                   NVVM::GridDimYOp, NVVM::GridDimZOp>;

} // namespace

void mlir::fagpu::populateMemoryPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelContext &kernel) {
  patterns.add<LoadPattern, ScalarStorePattern, DimPattern, StoreRowsPattern,
               TicketPattern, RetirePattern, AwaitPreviousPattern,
               ReleaseDependentsPattern, BlockIdPattern, GridDimPattern>(
      converter, patterns.getContext(), kernel);
}
