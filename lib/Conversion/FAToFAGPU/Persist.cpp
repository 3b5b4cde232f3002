//===- Persist.cpp - Blocks that take one tile after the other ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUPERSISTPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// Words of a tile counter: the next tile, and the blocks that have left.
static constexpr int64_t counterWords = 2;

namespace {
/// Makes one kernel persistent.
class Persister {
public:
  Persister(func::FuncOp kernel, LaunchOp launch)
      : kernel(kernel), launch(launch), builder(kernel.getContext()),
        loc(kernel.getLoc()), i32(builder.getI32Type()) {}
  LogicalResult run();

private:
  LogicalResult findTile();
  void findWords();
  void addArguments();
  bool isOfTile(Value value) { return ofTile.contains(value.getDefiningOp()); }
  SmallVector<Value> decode(Value tile, ArrayRef<Value> words);
  RepeatOp wrap(ArrayRef<Value> words, ArrayRef<Value> inits);
  Value takeTile(RepeatOp repeat);
  void persistCopies();
  void persistCompute(RoleOp role);
  void launchFewer();

  func::FuncOp kernel;
  LaunchOp launch;
  OpBuilder builder;
  Location loc;
  Type i32;
  /// The role that copies, and that takes tiles for all.
  RoleOp copies;
  SmallVector<RoleOp> others;
  gpu::BlockIdOp block;
  /// What is computed from the number of the block, in order.
  llvm::SetVector<Operation *> ofTile;
  /// Values of `ofTile` that the copying role reads, and that the others do.
  llvm::SetVector<Value> copyWords, mailWords;
  Value tiles, counter, mail;
};
} // namespace

LogicalResult Persister::findTile() {
  for (RoleOp role : kernel.getOps<RoleOp>()) {
    if (!role.getElect())
      others.push_back(role);
    else if (copies)
      return role.emitOpError() << "is a second role of one thread, expected "
                                   "one that takes the tiles";
    else
      copies = role;
  }
  if (!copies)
    return kernel.emitOpError() << "has no role of one thread (elect) that "
                                   "could take the tiles; run "
                                   "fagpu-split-roles before";
  for (auto id : kernel.getOps<gpu::BlockIdOp>()) {
    if (block)
      return id.emitOpError() << "asks for the number of the block again, "
                                 "expected one such operation in a kernel";
    block = id;
  }
  if (!block)
    return kernel.emitOpError()
           << "does not ask for the number of its block, expected that it "
              "computes one tile";
  for (Operation &op : kernel.getBody().front())
    if (!isa<RoleOp>(op) && llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *source = operand.getDefiningOp();
          return source == block || ofTile.contains(source);
        }))
      ofTile.insert(&op);
  return success();
}

/// Collects what roles read of the tile, in the order in which it is made.
void Persister::findWords() {
  auto readsIn = [&](Value value, RoleOp role) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return role->isAncestor(user);
    });
  };
  for (Operation *op : ofTile)
    for (Value value : op->getResults()) {
      if (readsIn(value, copies))
        copyWords.insert(value);
      if (llvm::any_of(others,
                       [&](RoleOp role) { return readsIn(value, role); }))
        mailWords.insert(value);
    }
}

void Persister::addArguments() {
  FunctionType type = kernel.getFunctionType();
  Type counterType = MemRefType::get({counterWords}, i32);
  SmallVector<Type> inputs(type.getInputs());
  llvm::append_range(inputs, TypeRange{i32, counterType});
  kernel.setFunctionType(builder.getFunctionType(inputs, type.getResults()));
  Block &body = kernel.getBody().front();
  tiles = body.addArgument(i32, loc);
  counter = body.addArgument(counterType, loc);
}

/// What `ofTile` computes for a tile; one past the last is taken for the last.
SmallVector<Value> Persister::decode(Value tile, ArrayRef<Value> words) {
  Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
  Value last = arith::SubIOp::create(builder, loc, tiles, one);
  Value valid = arith::MinSIOp::create(builder, loc, tile, last);
  IRMapping mapping;
  mapping.map(
      block.getResult(),
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), valid));
  for (Operation *op : ofTile)
    builder.clone(*op, mapping);
  return llvm::map_to_vector(words,
                             [&](Value word) { return mapping.lookup(word); });
}

/// Puts what depends on the tile, and what has effects, of the block that the
/// builder stands in into a loop that carries `words`, which are `inits` first.
/// The builder is left at the end of the loop's body.
RepeatOp Persister::wrap(ArrayRef<Value> words, ArrayRef<Value> inits) {
  Block *body = builder.getInsertionBlock();
  llvm::DenseSet<Operation *> varying;
  SmallVector<Operation *> moved;
  for (Operation &op : *body) {
    if (builder.getInsertionPoint() != body->end() &&
        op.isBeforeInBlock(&*builder.getInsertionPoint()))
      continue;
    WalkResult varies = op.walk([&](Operation *nested) -> WalkResult {
      for (Value operand : nested->getOperands())
        if (isOfTile(operand) || varying.contains(operand.getDefiningOp()))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (!varies.wasInterrupted() && isMemoryEffectFree(&op))
      continue;
    varying.insert(&op);
    moved.push_back(&op);
  }
  builder.setInsertionPointToEnd(body);
  auto repeat = RepeatOp::create(builder, loc, inits);
  Block *inside = builder.createBlock(&repeat.getBody());
  for (Value word : words)
    inside->addArgument(word.getType(), loc);
  for (Operation *op : moved)
    op->moveBefore(inside, inside->end());
  auto role = repeat->getParentOfType<RoleOp>();
  for (auto [word, argument] : llvm::zip_equal(words, inside->getArguments()))
    Value(word).replaceUsesWithIf(argument, [&](OpOperand &use) {
      return repeat->isProperAncestor(use.getOwner()) &&
             role->isAncestor(use.getOwner());
    });
  builder.setInsertionPointToEnd(inside);
  return repeat;
}

/// Takes the next tile with the last block of the last loop, so that it is
/// there when this one ends, and no block holds one that it will not start
/// soon.
Value Persister::takeTile(RepeatOp repeat) {
  auto loops = llvm::to_vector(repeat.getBody().front().getOps<ForOp>());
  if (loops.empty())
    return TicketOp::create(builder, loc, counter);
  ForOp old = loops.back();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(old);
  Value none = arith::ConstantIntOp::create(builder, loc, 0, 32);
  SmallVector<Value> inits(old.getInits());
  inits.push_back(none);
  SmallVector<Type> types(old.getResultTypes());
  types.push_back(i32);
  auto loop =
      ForOp::create(builder, loc, types, old.getStart(), old.getBounds(), inits,
                    old.getStepAttr(), old.getOnceAttr());
  loop.getBody().takeBody(old.getBody());
  Block &body = loop.getBody().front();
  Value seen = body.addArgument(i32, loc);
  builder.setInsertionPointToStart(&body);
  Value end = old.getBounds().back();
  if (loop.getDirection() > 0)
    end = arith::SubIOp::create(
        builder, loc, end, arith::ConstantIntOp::create(builder, loc, 1, 32));
  Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       loop.getIndex(), end);
  auto branch = scf::IfOp::create(builder, loc, TypeRange{i32}, isLast,
                                  /*withElseRegion=*/true);
  OpBuilder taken = branch.getThenBodyBuilder();
  scf::YieldOp::create(taken, loc,
                       TicketOp::create(taken, loc, counter).getResult());
  OpBuilder kept = branch.getElseBodyBuilder();
  scf::YieldOp::create(kept, loc, seen);
  auto yield = cast<fagpu::YieldOp>(body.getTerminator());
  yield.getValuesMutable().append(branch.getResult(0));
  old.replaceAllUsesWith(loop.getResults().drop_back());
  old.erase();
  return loop.getResults().back();
}

void Persister::persistCopies() {
  Block &body = copies.getBody().front();
  builder.setInsertionPointToStart(&body);
  Value id = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value first = arith::IndexCastOp::create(builder, loc, i32, id);
  SmallVector<Value> both(copyWords.begin(), copyWords.end());
  llvm::append_range(both, mailWords);
  size_t own = copyWords.size();
  auto sendTile = [&](Value tile) {
    SmallVector<Value> words = decode(tile, both);
    SmallVector<Value> sent = {tile};
    llvm::append_range(sent, ArrayRef(words).drop_front(own));
    SendOp::create(builder, loc, mail, sent, Value(), Value());
    words.resize(own);
    return words;
  };
  SmallVector<Value> inits = sendTile(first);
  RepeatOp repeat = wrap(copyWords.getArrayRef(), inits);
  Value next = takeTile(repeat);
  SmallVector<Value> yielded = sendTile(next);
  Value again = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      next, tiles);
  yielded.insert(yielded.begin(), again);
  fagpu::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointToEnd(&body);
  RetireOp::create(builder, loc, counter);
}

void Persister::persistCompute(RoleOp role) {
  builder.setInsertionPointToStart(&role.getBody().front());
  auto receive = [&] {
    return RecvOp::create(builder, loc,
                          cast<MailType>(mail.getType()).getTypes(), mail,
                          Value(), Value());
  };
  SmallVector<Value> inits = receive().getValues();
  inits.erase(inits.begin());
  wrap(mailWords.getArrayRef(), inits);
  SmallVector<Value> next = receive().getValues();
  next.front() = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       next.front(), tiles);
  fagpu::YieldOp::create(builder, loc, next);
}

/// No more blocks than multiprocessors; each runs until there are no tiles.
void Persister::launchFewer() {
  builder.setInsertionPoint(launch);
  Value all = launch.getGrid().front();
  Value blocks = arith::MinUIOp::create(
      builder, loc, all, MultiprocessorsOp::create(builder, loc));
  Value count = arith::IndexCastOp::create(builder, loc, i32, all);
  Value words = CounterOp::create(builder, loc, counter.getType());
  launch.getGridMutable().assign(blocks);
  launch.getArgumentsMutable().append({count, words});
}

LogicalResult Persister::run() {
  if (failed(findTile()))
    return failure();
  findWords();
  addArguments();
  SmallVector<Type> types = {i32};
  llvm::append_range(types, llvm::map_range(mailWords, [](Value word) {
                       return word.getType();
                     }));
  builder.setInsertionPoint(copies);
  mail = MailOp::create(builder, loc,
                        MailType::get(builder.getContext(), 2, types),
                        IntegerAttr(), IntegerAttr(), DenseI32ArrayAttr());
  persistCopies();
  for (RoleOp role : others)
    persistCompute(role);
  for (Operation *op : llvm::reverse(ofTile))
    if (op->use_empty())
      op->erase();
  block.erase();
  launchFewer();
  return success();
}

namespace {
struct PersistPass : public fa::impl::FAGPUPersistPassBase<PersistPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp op) { launches.push_back(op); });
    for (LaunchOp launch : launches) {
      auto kernel =
          symbols.lookup<func::FuncOp>(launch.getKernelAttr().getAttr());
      if (kernel && hasWarpGroups(kernel) &&
          failed(Persister(kernel, launch).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
