//===- Persist.cpp - Blocks that take one tile after the other ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a kernel persistent: the producer warp takes tile after tile, from a
// counter, by a fixed stride or from a list of its own, and sends what depends
// on the tile to the other roles by mail. Read `Persister::run`, then
// `persistCopies` and `persistCompute`.
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "TileMail.h"
#include "TileNumbers.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/WorkList.h"
#include "fa/Dialect/FAGPU/Transforms/CarryScalars.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
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
  void sinkCasts();
  LogicalResult findTile();
  void findWorkList();
  void findCount();
  Value loadWord(Value list, Value place);
  void findWords();
  void addArguments();
  /// Blocks of a cluster go on to tiles of the same sequence at the same time,
  /// so no counter can give them out. Nor need it where each has its own.
  bool isGivenAhead() { return getClusterSize(kernel) > 1 || workList; }
  bool isOfTile(Value value) { return ofTile.contains(value.getDefiningOp()); }
  SmallVector<Value> decode(OpBuilder &at, Value tile, ArrayRef<Value> words);
  RepeatOp wrap(ArrayRef<Value> words, ArrayRef<Value> inits);
  Value getNextTile(OpBuilder &at);
  SmallVector<Value> takeTile(RepeatOp repeat, ArrayRef<Value> words);
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
  Value tiles, counter;
  TileMail mail;
  /// How many of the tiles have work: all, or what the kernel reads.
  Value count;
  /// Where tiles are given out ahead: the one at work, and how many there are
  /// at a time.
  Value tile, stride;
  /// What lists the tiles of each block, and its first one; null for most.
  Value workList, firstTile;
};
} // namespace

/// Roles cast integers to indices, and compare them, themselves: words of a
/// tile are integers.
void Persister::sinkCasts() {
  SmallVector<Operation *> casts;
  for (Operation &op : kernel.getOps()) {
    if (auto cast = dyn_cast<arith::IndexCastOp>(op);
        cast && cast.getType().isIndex())
      casts.push_back(cast);
    else if (isa<arith::CmpIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
                 op) &&
             op.getResult(0).getType().isInteger(1))
      casts.push_back(&op);
  }
  for (Operation *cast : llvm::reverse(casts)) {
    for (RoleOp role : kernel.getOps<RoleOp>()) {
      auto isOfRole = [&](OpOperand &use) {
        return role->isAncestor(use.getOwner());
      };
      if (!llvm::any_of(cast->getUses(), isOfRole))
        continue;
      builder.setInsertionPointToStart(&role.getBody().front());
      Operation *copy = builder.clone(*cast);
      cast->replaceUsesWithIf(copy->getResults(), isOfRole);
    }
    if (cast->use_empty())
      cast->erase();
  }
}

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
  for (Operation &op : kernel.getBody().front())
    if (!isa<RoleOp>(op) &&
        llvm::any_of(getReadValues(&op), [&](Value operand) {
          Operation *source = operand.getDefiningOp();
          return source == block || ofTile.contains(source);
        }))
      ofTile.insert(&op);
  return success();
}

void Persister::findWorkList() {
  for (BlockArgument argument : kernel.getArguments())
    if (kernel.removeArgAttr(argument.getArgNumber(), workListAttrName))
      workList = argument;
}

Value Persister::loadWord(Value list, Value place) {
  place =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), place);
  return memref::LoadOp::create(builder, loc, list, place);
}

/// Tiles that are listed are as many as the list says, ahead of all roles.
void Persister::findCount() {
  count = tiles;
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!kernel.removeArgAttr(number, tileListAttrName))
      continue;
    builder.setInsertionPoint(copies);
    Value first = arith::ConstantIndexOp::create(builder, loc, 0);
    count = memref::LoadOp::create(builder, loc, argument, first);
  }
  if (!workList)
    return;
  builder.setInsertionPoint(copies);
  auto word = [&](int64_t number) -> Value {
    return arith::ConstantIntOp::create(builder, loc, number, /*width=*/32);
  };
  Value id = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  id = arith::IndexCastOp::create(builder, loc, i32, id);
  Value place =
      arith::MulIOp::create(builder, loc, id, word(workListBlockWords));
  place = arith::AddIOp::create(builder, loc, place, word(workListHead));
  firstTile = loadWord(workList, place);
  count =
      loadWord(workList, arith::AddIOp::create(builder, loc, place, word(1)));
  stride = loadWord(workList, word(workListStride));
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
  SmallVector<Type> inputs(type.getInputs());
  Block &body = kernel.getBody().front();
  inputs.push_back(i32);
  tiles = body.addArgument(i32, loc);
  if (!isGivenAhead()) {
    inputs.push_back(MemRefType::get({counterWords}, i32));
    counter = body.addArgument(inputs.back(), loc);
  }
  kernel.setFunctionType(builder.getFunctionType(inputs, type.getResults()));
}

/// What `ofTile` computes for a tile; one past the last is taken for the last.
SmallVector<Value> Persister::decode(OpBuilder &at, Value tile,
                                     ArrayRef<Value> words) {
  Value one = arith::ConstantIntOp::create(at, loc, 1, 32);
  Value last = arith::SubIOp::create(at, loc, tiles, one);
  Value valid = arith::MinSIOp::create(at, loc, tile, last);
  IRMapping mapping;
  mapping.map(block.getResult(),
              arith::IndexCastOp::create(at, loc, at.getIndexType(), valid));
  for (Operation *op : ofTile)
    at.clone(*op, mapping);
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

/// The number of the next tile.
Value Persister::getNextTile(OpBuilder &at) {
  if (isGivenAhead())
    return arith::AddIOp::create(at, loc, tile, stride);
  return TicketOp::create(at, loc, counter);
}

/// The next tile, from the role's last loop, and `words` of it. Where tiles
/// have as many blocks as each other it is taken and decoded a block before the
/// last one, so that nothing waits for it between tiles; else with the last
/// block, so that no one holds a tile that it will not start soon.
SmallVector<Value> Persister::takeTile(RepeatOp repeat, ArrayRef<Value> words) {
  auto withWords = [&](OpBuilder &at, Value tile) {
    SmallVector<Value> values = {tile};
    llvm::append_range(values, decode(at, tile, words));
    return values;
  };
  auto loops = llvm::to_vector(repeat.getBody().front().getOps<ForOp>());
  if (loops.empty())
    return withWords(builder, getNextTile(builder));
  bool isEarly = getGPUPart(kernel).tileOrder == TileOrder::in_order;
  SmallVector<Type> types = {i32};
  if (isEarly)
    llvm::append_range(types, ValueRange(words).getTypes());
  SmallVector<Value> taken = carryThrough(
      builder, loops.back(), types, isEarly,
      [&](OpBuilder &at) -> SmallVector<Value> {
        Value next = getNextTile(at);
        return isEarly ? withWords(at, next) : SmallVector<Value>{next};
      });
  return isEarly ? taken : withWords(builder, taken.front());
}

void Persister::persistCopies() {
  Block &body = copies.getBody().front();
  builder.setInsertionPointToStart(&body);
  Value first = firstTile;
  if (!workList) {
    Value id = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
    first = arith::IndexCastOp::create(builder, loc, i32, id);
  }
  if (isGivenAhead() && !workList)
    stride = arith::IndexCastOp::create(
        builder, loc, i32,
        gpu::GridDimOp::create(builder, loc, gpu::Dimension::x));
  SetVector<Value> both(copyWords.begin(), copyWords.end());
  both.insert(mailWords.begin(), mailWords.end());
  // Sends the tile's words to the others; those of the role itself.
  auto sendTile = [&](Value tile, ArrayRef<Value> words) {
    IRMapping wordOf;
    wordOf.map(ValueRange(both.getArrayRef()), ValueRange(words));
    // In the order in which the others receive them.
    mail.send(builder, loc, tile,
              llvm::map_to_vector(
                  mailWords, [&](Value name) { return wordOf.lookup(name); }));
    return SmallVector<Value>(words.take_front(copyWords.size()));
  };
  SmallVector<Value> words = decode(builder, first, both.getArrayRef());
  SmallVector<Value> inits = sendTile(first, words);
  SmallVector<Value> carried(copyWords.getArrayRef());
  if (isGivenAhead()) {
    carried.push_back(first);
    inits.push_back(first);
  }
  RepeatOp repeat = wrap(carried, inits);
  if (isGivenAhead())
    tile = repeat.getBody().getArguments().back();
  SmallVector<Value> next = takeTile(repeat, both.getArrayRef());
  SmallVector<Value> yielded =
      sendTile(next.front(), ArrayRef(next).drop_front());
  Value again = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      next.front(), count);
  yielded.insert(yielded.begin(), again);
  if (isGivenAhead())
    yielded.push_back(next.front());
  fagpu::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointToEnd(&body);
  if (!isGivenAhead())
    RetireOp::create(builder, loc, counter);
}

void Persister::persistCompute(RoleOp role) {
  builder.setInsertionPointToStart(&role.getBody().front());
  SmallVector<Value> inits = mail.receive(builder, loc);
  inits.erase(inits.begin());
  wrap(mailWords.getArrayRef(), inits);
  SmallVector<Value> next = mail.receive(builder, loc);
  next.front() = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       next.front(), count);
  fagpu::YieldOp::create(builder, loc, next);
}

/// No more blocks than multiprocessors, in whole clusters and at least one of
/// these; each runs until there are no tiles.
void Persister::launchFewer() {
  builder.setInsertionPoint(launch);
  Value all = launch.getGrid().front();
  Value most = MultiprocessorsOp::create(builder, loc);
  if (isGivenAhead()) {
    Value cluster =
        arith::ConstantIndexOp::create(builder, loc, getClusterSize(kernel));
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value clusters = arith::DivUIOp::create(builder, loc, most, cluster);
    clusters = arith::MaxUIOp::create(builder, loc, clusters, one);
    most = arith::MulIOp::create(builder, loc, clusters, cluster);
  }
  Value blocks = arith::MinUIOp::create(builder, loc, all, most);
  Value count = arith::IndexCastOp::create(builder, loc, i32, all);
  launch.getGridMutable().assign(blocks);
  launch.getArgumentsMutable().append(count);
  if (!isGivenAhead())
    launch.getArgumentsMutable().append(
        CounterOp::create(builder, loc, counter.getType()).getResult());
}

LogicalResult Persister::run() {
  sinkCasts();
  if (failed(findTile()))
    return failure();
  // A problem of one tile.
  if (!block)
    return success();
  findWords();
  findWorkList();
  addArguments();
  findCount();
  FailureOr<TileMail> made =
      TileMail::create(kernel, copies, mailWords.getArrayRef());
  if (failed(made))
    return failure();
  mail = *made;
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

/// Where threads make all that they share, no role could take tiles ahead.
static bool makesOperands(func::FuncOp kernel) {
  bool hasWrites = false, hasCopies = false;
  kernel.walk([&](Operation *op) {
    hasWrites |= isa<WriteOp>(op);
    hasCopies |= isa<PutOp>(op);
  });
  return hasWrites && !hasCopies;
}

/// Blocks that take one tile each take those of a list in order.
static void dropLists(func::FuncOp kernel) {
  for (BlockArgument argument : kernel.getArguments())
    for (StringRef list :
         {StringRef(tileListAttrName), StringRef(workListAttrName)})
      kernel.removeArgAttr(argument.getArgNumber(),
                           StringAttr::get(kernel.getContext(), list));
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
      if (kernel && isPersistent(kernel) && !makesOperands(kernel) &&
          failed(Persister(kernel, launch).run()))
        return signalPassFailure();
      if (kernel)
        dropLists(kernel);
    }
  }
};
} // namespace
