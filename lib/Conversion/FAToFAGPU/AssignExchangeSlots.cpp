//===- AssignExchangeSlots.cpp - Slots where groups exchange operands -----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Software-pipelines loops in which one product reads what all groups of warps
// have written: gradients that one pass adds up. What an operation has to do
// with products is its role, and a table gives each role its slot. Where shared
// memory holds what the next tile begins with, tiles overlap like steps. Read
// `Part` and the tables, then `classify` and `OverlappedTile`.
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUASSIGNEXCHANGESLOTSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// What an operation of the step does. Products of level 0 need no other one of
/// their step; those of level 1 have their first operand in registers; an
/// exchanged one reads what groups wrote.
enum class Part {
  issueLevel0,
  issueFirst,
  issueOthers,
  issueExchanged,
  write,
  awaitFirst,
  awaitOthers,
  awaitExchanged,
  rest
};

struct Rule {
  Part part;
  Slot slot;
};
} // namespace

// Measured on an H200: with sums of more than 64 columns the exchanged product
// is issued between the others, which complete in the order of their issue;
// with fewer, all three are in flight.
static constexpr Rule ofWideSums[] = {
    {Part::issueLevel0, {0, 1}},    {Part::rest, {0, 2}},
    {Part::issueFirst, {0, 3}},     {Part::write, {0, 4}},
    {Part::issueExchanged, {1, 5}}, {Part::awaitFirst, {0, 6}},
    {Part::issueOthers, {0, 7}},    {Part::awaitExchanged, {1, 8}},
    {Part::awaitOthers, {0, 9}},
};
static constexpr Rule ofNarrowSums[] = {
    {Part::issueLevel0, {0, 1}}, {Part::rest, {0, 2}},
    {Part::issueFirst, {0, 3}},  {Part::issueExchanged, {1, 4}},
    {Part::write, {0, 5}},       {Part::issueOthers, {0, 5}},
    {Part::awaitFirst, {0, 6}},  {Part::awaitExchanged, {1, 7}},
    {Part::awaitOthers, {0, 8}},
};
/// Columns up to which sums of a group are narrow.
static constexpr int64_t narrowSums = 64;

namespace {
/// Order numbers of a tile. Its first product of level 0 runs while the sums of
/// the tile before are stored, and those for which shared memory of that tile
/// is filled again come behind. Other orders of a step leave room for these.
enum OrderInTile : int64_t {
  startTile,
  issueFirst,
  storeSums,
  issueBehind,
  room = 3
};
} // namespace

namespace {
class ExchangingLoop {
public:
  explicit ExchangingLoop(ForOp loop) : body(&loop.getBody().front()) {}
  bool collect();
  void schedule(Value turns);
  void overlapTiles();

private:
  bool isExchanged(Value view);
  bool readsExchanged(MmaAsyncOp product);
  Part classifyProduct(MmaAsyncOp product);
  Part classify(Operation *op);
  void followStores();
  void acquireVectors();
  void releaseVectors();
  void writeAhead();
  void separateProducts();
  bool hasWideSums() {
    return products.front().getType().getValue().getDimSize(1) > narrowSums;
  }
  void takeTurns(Value turns);
  Slot getSlotOf(Part part);
  bool isReadByExchanged(Value view);
  Slot getSlotOfTile(Operation *op, bool isBefore);

  Block *body;
  /// Products of level 1, in the order of the text.
  SmallVector<MmaAsyncOp> products;
  MmaAsyncOp exchanged;
  llvm::DenseMap<Operation *, Part> parts;
};
} // namespace

/// Whether a view is of a channel that this body writes parts of.
bool ExchangingLoop::isExchanged(Value view) {
  auto acquire = getWholeView(view).getDefiningOp<AcquireOp>();
  return acquire && acquire->getBlock() == body &&
         llvm::any_of(acquire.getChannel().getUsers(), [&](Operation *user) {
           auto write = dyn_cast<WriteOp>(user);
           return write && write->getBlock() == body && write.getTransposed();
         });
}

bool ExchangingLoop::readsExchanged(MmaAsyncOp product) {
  return llvm::any_of(product->getOperands().take_front(2), [&](Value operand) {
    return isa<ViewType>(operand.getType()) && isExchanged(operand);
  });
}

/// False where nothing is exchanged, or a text has slots.
bool ExchangingLoop::collect() {
  for (Operation &op : *body) {
    if (getSlot(&op))
      return false;
    auto product = dyn_cast<MmaAsyncOp>(op);
    if (!product)
      continue;
    if (readsExchanged(product))
      exchanged = product;
    else if (isa<RankedTensorType>(product.getA().getType()))
      products.push_back(product);
  }
  return exchanged && !products.empty();
}

Part ExchangingLoop::classifyProduct(MmaAsyncOp product) {
  if (product == exchanged)
    return Part::issueExchanged;
  if (!llvm::is_contained(products, product))
    return Part::issueLevel0;
  return product == products.front() ? Part::issueFirst : Part::issueOthers;
}

/// The products that read a view, in the order of the text.
static SmallVector<MmaAsyncOp> getReaders(Value view) {
  SmallVector<MmaAsyncOp> readers;
  for (Operation *user : view.getUsers()) {
    if (auto product = dyn_cast<MmaAsyncOp>(user))
      readers.push_back(product);
    else if (auto slice = dyn_cast<SliceOp>(user))
      llvm::append_range(readers, getReaders(slice.getResult()));
  }
  llvm::sort(readers,
             [](MmaAsyncOp a, MmaAsyncOp b) { return a->isBeforeInBlock(b); });
  return readers;
}

Part ExchangingLoop::classify(Operation *op) {
  auto awaited = [&](MmaAsyncOp product) {
    switch (classifyProduct(product)) {
    case Part::issueFirst:
      return Part::awaitFirst;
    case Part::issueOthers:
      return Part::awaitOthers;
    case Part::issueExchanged:
      return Part::awaitExchanged;
    default:
      return Part::rest;
    }
  };
  if (auto product = dyn_cast<MmaAsyncOp>(op))
    return classifyProduct(product);
  if (auto wait = dyn_cast<WaitOp>(op))
    return awaited(wait.getInflight().getDefiningOp<MmaAsyncOp>());
  if (auto slice = dyn_cast<SliceOp>(op)) {
    SmallVector<MmaAsyncOp> readers = getReaders(slice.getResult());
    return readers.empty() ? Part::rest : classifyProduct(readers.front());
  }
  if (auto acquire = dyn_cast<AcquireOp>(op)) {
    SmallVector<MmaAsyncOp> readers = getReaders(acquire.getView());
    return readers.empty() ? Part::rest : classifyProduct(readers.front());
  }
  if (auto release = dyn_cast<ReleaseOp>(op)) {
    SmallVector<MmaAsyncOp> readers = getReaders(release.getView());
    return readers.empty() ? Part::rest : awaited(readers.back());
  }
  if (isa<WriteOp>(op))
    return Part::write;
  // What is stored of each pair is there as what is written for other groups.
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getFragments() ? Part::awaitExchanged : Part::write;
  return Part::rest;
}

/// What only the store of the exchanged product needs is computed beside it.
void ExchangingLoop::followStores() {
  for (Operation &op : llvm::reverse(body->without_terminator())) {
    if (!isMemoryEffectFree(&op) || op.use_empty() ||
        isa<MmaAsyncOp, SliceOp>(op))
      continue;
    if (llvm::all_of(op.getUsers(), [&](Operation *user) {
          auto part = parts.find(user);
          return part != parts.end() && part->second == Part::awaitExchanged;
        }))
      parts[&op] = Part::awaitExchanged;
  }
}

/// What first computes with a vector, behind what only repeats it, and what
/// alone reads that: their elements are computed one after the other.
static Operation *getArithmetic(Value value);
static Operation *getLastArithmetic(Value value) {
  Operation *first = getArithmetic(value);
  if (!first || !first->hasOneUse())
    return first;
  Operation *next = *first->user_begin();
  return next->getBlock() == first->getBlock() &&
                 OpTrait::hasElementwiseMappableTraits(next)
             ? next
             : first;
}
static Operation *getArithmetic(Value value) {
  Operation *last = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *reader = isa<BroadcastOp, arith::NegFOp>(user)
                            ? getArithmetic(user->getResult(0))
                            : user;
    if (!reader || reader->getBlock() != value.getParentBlock())
      return nullptr;
    if (!last || last->isBeforeInBlock(reader))
      last = reader;
  }
  return last;
}

/// A vector comes beside the product that it is used with: its barrier is asked
/// while that runs.
void ExchangingLoop::acquireVectors() {
  for (auto acquire : llvm::make_early_inc_range(body->getOps<AcquireOp>())) {
    if (acquire.getView().getType().getShape().size() != 1)
      continue;
    Operation *before = acquire->getPrevNode();
    while (before && !isa<WaitOp>(before))
      before = before->getPrevNode();
    if (before)
      acquire->moveBefore(before);
  }
}

/// A stage with a vector is held until the vector has been read: as the
/// assembler loads what it needs, registers hold a few elements at a time.
void ExchangingLoop::releaseVectors() {
  for (auto release : llvm::make_early_inc_range(body->getOps<ReleaseOp>())) {
    if (release.getView().getType().getShape().size() != 1)
      continue;
    for (Operation *user : release.getView().getUsers())
      if (auto load = dyn_cast<LoadOp>(user))
        if (Operation *reader = getLastArithmetic(load.getResult());
            reader && release->isBeforeInBlock(reader))
          release->moveAfter(reader);
  }
}

Slot ExchangingLoop::getSlotOf(Part part) {
  ArrayRef<Rule> rules =
      hasWideSums() ? ArrayRef<Rule>(ofWideSums) : ArrayRef<Rule>(ofNarrowSums);
  return llvm::find_if(rules,
                       [&](const Rule &rule) { return rule.part == part; })
      ->slot;
}

/// What a group's first operands are made of comes before what makes them: the
/// assembler is kept from moving that to between the products.
void ExchangingLoop::separateProducts() {
  SetVector<Operation *> converted;
  for (MmaAsyncOp product : products)
    if (Operation *source = product.getA().getDefiningOp();
        source && source->getBlock() == body && isa<ConvertOp>(source))
      converted.insert(source);
  Operation *last = nullptr;
  for (Operation *op : converted)
    if (Operation *source = op->getOperand(0).getDefiningOp();
        source && source->getBlock() == body &&
        (!last || last->isBeforeInBlock(source)))
      last = source;
  if (!last)
    return;
  OpBuilder builder(body, std::next(last->getIterator()));
  auto barrier = ScheduleBarrierOp::create(builder, last->getLoc());
  parts[barrier] = Part::rest;
  Operation *place = barrier;
  for (Operation *op : converted) {
    op->moveAfter(place);
    place = op;
  }
}

/// A group has its turn from its first product of level 1 to its last. What it
/// writes for the others stands before that in the text: else it could wait, in
/// its turn, for those who wait for theirs.
void ExchangingLoop::takeTurns(Value turns) {
  OpBuilder builder(products.front());
  setSlot(TakeOp::create(builder, products.front().getLoc(), turns),
          getSlotOf(Part::issueFirst));
  builder.setInsertionPointAfter(products.back());
  setSlot(PassOp::create(builder, products.back().getLoc(), turns),
          getSlotOf(Part::issueOthers));
}

/// What is written for other groups stands ahead of the turn in the text.
void ExchangingLoop::writeAhead() {
  SetVector<Operation *> moved;
  for (auto write : body->getOps<WriteOp>())
    if (products.front()->isBeforeInBlock(write))
      moved.insert(write);
  for (unsigned next = 0; next < moved.size(); ++next)
    for (Value operand : moved[next]->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && source->getBlock() == body &&
          products.front()->isBeforeInBlock(source))
        moved.insert(source);
  for (Operation *op : llvm::reverse(moved.getArrayRef()))
    op->moveBefore(products.front());
}

void ExchangingLoop::schedule(Value turns) {
  acquireVectors();
  releaseVectors();
  for (Operation &op : body->without_terminator())
    parts[&op] = classify(&op);
  followStores();
  writeAhead();
  if (!hasWideSums())
    separateProducts();
  for (Operation &op : body->without_terminator())
    setSlot(&op, getSlotOf(parts.lookup(&op)));
  if (turns)
    takeTurns(turns);
}

/// Whether an operand of the tile has one stage, which the next tile waits for.
static bool isOfOneStage(Value view) {
  auto acquire = getWholeView(view).getDefiningOp<AcquireOp>();
  return acquire && acquire->getParentOp() &&
         isa<RepeatOp>(acquire->getParentOp()) &&
         acquire.getChannel().getType().getDepth() == 1;
}

bool ExchangingLoop::isReadByExchanged(Value view) {
  return llvm::is_contained(getReaders(view), exchanged);
}

/// Stage 1 of a tile is what the step before the next tile leaves: the
/// exchanged product, and the stores of the tile's sums.
Slot ExchangingLoop::getSlotOfTile(Operation *op, bool isBefore) {
  if (isBefore) {
    bool waits = llvm::any_of(op->getResults(), isOfOneStage);
    return {0, waits ? issueBehind : issueFirst};
  }
  if (auto release = dyn_cast<ReleaseOp>(op))
    if (isReadByExchanged(release.getView()))
      return {1, getSlotOf(Part::awaitExchanged).order + room};
  if (isa<ForOp, ReleaseOp, RecvOp>(op))
    return {1, startTile};
  return {1, storeSums};
}

/// Where the last product of a tile reads an operand that has a stage for the
/// next tile too.
void ExchangingLoop::overlapTiles() {
  auto loop = cast<ForOp>(body->getParentOp());
  auto tile = dyn_cast<RepeatOp>(loop->getParentOp());
  if (!tile)
    return;
  Block &ofTile = tile.getBody().front();
  auto startsEarly = [&](AcquireOp acquire) {
    return acquire.getChannel().getType().getDepth() > 1 &&
           isReadByExchanged(acquire.getView());
  };
  if (llvm::none_of(ofTile.getOps<AcquireOp>(), startsEarly))
    return;
  for (Operation &op : body->without_terminator()) {
    Slot slot = *getSlot(&op);
    SmallVector<MmaAsyncOp> readers;
    if (auto acquire = dyn_cast<AcquireOp>(op))
      readers = getReaders(acquire.getView());
    else if (auto product = dyn_cast<MmaAsyncOp>(op))
      readers = {product};
    bool isBehind = parts.lookup(&op) == Part::issueLevel0 &&
                    !readers.empty() &&
                    llvm::any_of(readers.front()->getOperands(), isOfOneStage);
    if (isBehind)
      setSlot(&op, {slot.stage, issueBehind});
    else if (slot.order > issueFirst)
      setSlot(&op, {slot.stage, slot.order + room});
  }
  bool isBefore = true;
  for (Operation &op : ofTile.without_terminator()) {
    isBefore &= &op != loop;
    setSlot(&op, getSlotOfTile(&op, isBefore));
  }
  leaveOutInheritedSlots(&ofTile);
}

static Value makeTurns(RoleOp role) {
  auto kernel = role->getParentOfType<func::FuncOp>();
  if (!getGPUPart(kernel).turns || role.getGroups() == 1)
    return {};
  OpBuilder builder(*kernel.getOps<RoleOp>().begin());
  return TurnsOp::create(builder, role.getLoc(),
                         TurnsType::get(builder.getContext()),
                         role.getGroupsAttr(), IntegerAttr());
}

namespace {
struct AssignExchangeSlotsPass
    : public fa::impl::FAGPUAssignExchangeSlotsPassBase<
          AssignExchangeSlotsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !hasWarpGroups(kernel) ||
        !getGPUPart(kernel).hasOverlap())
      return;
    SmallVector<ForOp> loops;
    kernel.walk([&](ForOp loop) { loops.push_back(loop); });
    for (ForOp loop : loops) {
      ExchangingLoop exchanging(loop);
      if (!exchanging.collect())
        continue;
      exchanging.schedule(makeTurns(loop->getParentOfType<RoleOp>()));
      if (getGPUPart(kernel).overlap == Overlap::tiles)
        exchanging.overlapTiles();
      leaveOutInheritedSlots(&loop.getBody().front());
    }
  }
};
} // namespace
