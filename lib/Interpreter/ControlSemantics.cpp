//===- ControlSemantics.cpp - Roles, loops and block numbers --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles roles and loops of a kernel for the interpreter. A role starts one
// worker for each of its groups, on a copy of the registers at that point.
// Read `compileRole`, then `compileFor` with its segments.
//
//===----------------------------------------------------------------------===//

#include "GPUSemantics.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

using ProgramPtr = std::unique_ptr<BlockProgram>;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Starts the groups of a role on copies of the registers. Memory that the code
/// before the roles allocates belongs to each thread, so it is copied too.
static LogicalResult compileRole(fagpu::RoleOp op, ProgramBuilder &builder) {
  FailureOr<ProgramPtr> body = builder.compileBody(op.getBody());
  if (failed(body))
    return failure();
  SmallVector<unsigned> allocated;
  for (auto alloca : op->getBlock()->getOps<memref::AllocaOp>())
    allocated.push_back(builder.getRegister(alloca));
  int64_t numGroups = op.getGroups();
  builder.emit([=, body = std::move(*body)](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> entry = getWorker(op, frame, /*inRole=*/false);
    if (failed(entry))
      return failure();
    for (int64_t group = 0; group < numGroups; ++group) {
      Frame copy = frame;
      // What only roles before this one use is gone already.
      for (unsigned index : allocated)
        if (copy[index].object)
          copy[index] = copyArray(copy.array(index));
      copy.slot(body->arguments[0]).integer = group;
      Worker &worker = (*entry)->getBlock().addWorker(op, group);
      worker.start(std::move(copy), *body);
    }
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
/// The operands of a fagpu.for.
struct SegmentedLoop {
  unsigned start;
  SmallVector<unsigned> bounds;
  int64_t direction;
  bool once;

  /// Whether the iteration at `index` belongs to a segment.
  bool contains(Frame &frame, unsigned segment, int64_t index,
                bool isFirst) const {
    if (once && segment == 0)
      return isFirst;
    int64_t bound = frame.integer(bounds[segment - once]);
    return direction < 0 ? index >= bound : index < bound;
  }
};
} // namespace

static LogicalResult compileFor(fagpu::ForOp op, ProgramBuilder &builder) {
  SegmentedLoop loop{builder.getRegister(op.getStart()),
                     builder.getRegisters(op.getBounds()), op.getDirection(),
                     op.getOnce()};
  SmallVector<Use> inits = builder.getUses(op.getInitsMutable());
  SmallVector<unsigned> results = builder.getRegisters(op.getResults());
  FailureOr<ProgramPtr> body = builder.compileBody(op.getBody());
  if (failed(body))
    return failure();
  unsigned numSegments = op.getNumSegments();
  builder.emit([=, body = std::move(*body)](Frame &frame) -> LogicalResult {
    ArrayRef<unsigned> arguments(body->arguments);
    ArrayRef<unsigned> flags = arguments.slice(1, numSegments);
    ArrayRef<unsigned> carried = arguments.drop_front(1 + numSegments);
    transfer(frame, inits, carried);
    int64_t index = frame.integer(loop.start);
    for (unsigned segment = 0; segment < numSegments; ++segment) {
      bool isFirst = true;
      for (; loop.contains(frame, segment, index, isFirst);
           index += loop.direction, isFirst = false) {
        frame.slot(arguments[0]).integer = index;
        for (auto [number, flag] : llvm::enumerate(flags))
          frame.slot(flag).integer = number == segment;
        if (failed(body->run(frame)))
          return failure();
        transfer(frame, body->results, carried);
      }
    }
    SmallVector<Use> last = llvm::map_to_vector(
        carried, [](unsigned index) { return Use{index, /*last=*/true}; });
    transfer(frame, last, results);
    return success();
  });
  return success();
}

static LogicalResult compileRepeat(fagpu::RepeatOp op,
                                   ProgramBuilder &builder) {
  SmallVector<Use> inits = builder.getUses(op.getInitsMutable());
  FailureOr<ProgramPtr> body = builder.compileBody(op.getBody());
  if (failed(body))
    return failure();
  builder.emit([=, body = std::move(*body)](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    ArrayRef<Use> yielded(body->results);
    transfer(frame, inits, body->arguments);
    bool again = true;
    while (again) {
      if (failed((*worker)->step(op)) || failed(body->run(frame)))
        return failure();
      again = frame.integer(yielded[0].index);
      transfer(frame, yielded.drop_front(), body->arguments);
    }
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Position in the grid
//===----------------------------------------------------------------------===//

static LogicalResult compileBlockId(gpu::BlockIdOp op,
                                    ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getResult());
  unsigned dim = static_cast<unsigned>(op.getDimension());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame, /*inRole=*/false);
    if (failed(worker))
      return failure();
    frame.slot(result).integer = (*worker)->getBlock().getPosition()[dim];
    return success();
  });
  return success();
}

static LogicalResult compileGridDim(gpu::GridDimOp op,
                                    ProgramBuilder &builder) {
  unsigned result = builder.getRegister(op.getResult());
  unsigned dim = static_cast<unsigned>(op.getDimension());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame, /*inRole=*/false);
    if (failed(worker))
      return failure();
    frame.slot(result).integer =
        (*worker)->getBlock().getGrid().getSizes()[dim];
    return success();
  });
  return success();
}

void interpreter::addControlSemantics(Semantics &semantics) {
  semantics.add<fagpu::RoleOp>(compileRole);
  semantics.add<fagpu::ForOp>(compileFor);
  semantics.add<fagpu::RepeatOp>(compileRepeat);
  semantics.add<gpu::BlockIdOp>(compileBlockId);
  semantics.add<gpu::GridDimOp>(compileGridDim);
}
