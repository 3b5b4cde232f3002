//===- Channels.cpp - State of channels, views, mail and turns ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state behind channels and mail: which use of which stage is filled,
// read, free (Channels.h). Stages that may not be read are poisoned, and
// memory that channels share is claimed. Read `canFill`, `isFull` and
// `release` first.
//
//===----------------------------------------------------------------------===//

#include "Channels.h"
#include "Machine.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

char ChannelState::ID;
char ViewValue::ID;
char TurnsState::ID;

bool Part::overlaps(const Part &other) const {
  return row < other.row + other.rows && other.row < row + rows &&
         column < other.column + other.columns &&
         other.column < column + columns;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// Groups of the roles that use a channel by operations of these kinds, each
/// role once; roles where a bank belongs to one group.
template <typename... Ops>
static int64_t countGroups(Value channel, int64_t numBanks) {
  llvm::SmallPtrSet<Operation *, 4> roles;
  int64_t count = 0;
  for (Operation *user : channel.getUsers()) {
    auto role = user->getParentOfType<fagpu::RoleOp>();
    if (isa<Ops...>(user) && role && roles.insert(role).second)
      count += numBanks > 1 ? 1 : role.getGroups();
  }
  return count;
}

ChannelState::ChannelState(fagpu::ChannelOp op, ChannelState *over)
    : op(op), over(over) {
  fagpu::ChannelType type = op.getType();
  depth = type.getDepth();
  size = getNumElements(type.getShape());
  columns = type.getShape().back();
  stageBytes = type.getStageBytes();
  poisonValue = getPoison(type.getElementType());
  Value channel = op.getResult();
  int64_t numBanks = op.getBanks();
  numReaders = countGroups<fagpu::AcquireOp>(channel, numBanks);
  numFillers = std::max<int64_t>(
      1, countGroups<fagpu::PutOp, fagpu::WriteOp>(channel, numBanks));
  hasCountedCopies = llvm::any_of(channel.getUsers(), [](Operation *user) {
    auto acquire = dyn_cast<fagpu::AcquireOp>(user);
    return acquire && acquire.getPending();
  });
  makeStages(numBanks);
}

ChannelState::ChannelState(fagpu::MailOp op) : op(op) {
  fagpu::MailType type = op.getType();
  depth = type.getDepth();
  size = columns = type.getTypes().size();
  poisonValue = Slot::ofInteger(0);
  numReaders = countGroups<fagpu::RecvOp>(op.getResult(), /*numBanks=*/1);
  makeStages(/*numBanks=*/1);
}

void ChannelState::makeStages(int64_t numBanks) {
  banks.resize(numBanks);
  for (std::vector<Stage> &bank : banks) {
    bank.resize(depth);
    for (Stage &stage : bank)
      poison(stage);
  }
}

void ChannelState::poison(Stage &stage) {
  stage.data.assign(size, poisonValue);
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

bool ChannelState::onlyStores() const {
  auto channel = dyn_cast<fagpu::ChannelOp>(op);
  return channel && channel.getEngine() == fagpu::Engine::tma_store;
}

bool ChannelState::isIdle(const Stage &stage) const {
  return stage.use < 0 || (stage.numFilled == size && numReaders > 0 &&
                           stage.numReleases == numReaders);
}

bool ChannelState::canFill(int64_t bank, int64_t use) {
  Stage &stage = getStage(bank, use);
  if (stage.use == use)
    return true;
  bool isNext = stage.use < 0 ? use < depth : stage.use == use - depth;
  return isNext && isIdle(stage);
}

bool ChannelState::isFull(int64_t bank, int64_t use) {
  Stage &stage = getStage(bank, use);
  return stage.use == use && stage.numFilled == size;
}

bool ChannelState::addPart(int64_t bank, int64_t use, const Part &part,
                           Operation *filler) {
  Stage &stage = getStage(bank, use);
  if (stage.use != use) {
    stage.use = use;
    stage.numFilled = stage.numReleases = 0;
    stage.parts.clear();
  }
  for (const Part &other : stage.parts)
    if (part.overlaps(other))
      return false;
  stage.parts.push_back(part);
  stage.filler = filler;
  return true;
}

void ChannelState::release(int64_t bank, int64_t use) {
  Stage &stage = getStage(bank, use);
  if (++stage.numReleases == numReaders)
    poison(stage);
}

Operation *ChannelState::findLeftOver() {
  for (std::vector<Stage> &bank : banks)
    for (Stage &stage : bank)
      if (!isIdle(stage))
        return stage.filler;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Shared memory of several channels
//===----------------------------------------------------------------------===//

LogicalResult ChannelState::claim(Worker &worker, Operation *user, int64_t bank,
                                  int64_t use) {
  if (Operation *other = getStage(bank, use).takenOverBy)
    return worker.fail(user, "uses a stage of the channel of " +
                                 describePlace(op) +
                                 " whose memory another channel has taken "
                                 "over at " +
                                 describePlace(other));
  if (failed(checkSync(worker, user, getStage(bank, use))))
    return failure();
  int64_t first = getStageOffset(bank, use % depth);
  for (ChannelState *below = over.get(); below; below = below->over.get())
    if (failed(claimFrom(*below, worker, user, first)))
      return failure();
  return success();
}

/// Every warp reads a copied stage for itself, so its release says nothing of
/// the others: a barrier has to lie between it and what is put there next.
LogicalResult ChannelState::checkSync(Worker &worker, Operation *user,
                                      const Stage &stage) {
  if (!hasCountedCopies || !stage.release ||
      worker.numSyncs > stage.syncsAtRelease)
    return success();
  return worker.fail(user, "fills memory that other warps may still read: no "
                           "'fagpu.sync' has followed the release at " +
                               describePlace(stage.release));
}

LogicalResult ChannelState::claimFrom(ChannelState &below, Worker &worker,
                                      Operation *user, int64_t first) {
  for (auto [bank, stages] : llvm::enumerate(below.banks))
    for (auto [number, stage] : llvm::enumerate(stages)) {
      int64_t start = below.getStageOffset(bank, number);
      if (start >= first + stageBytes || first >= start + below.stageBytes)
        continue;
      if (below.onlyStores()) {
        // A bulk store waits until those before it, of its group, have been
        // read; whatever else writes does not.
        bool waits = onlyStores() && isa<fagpu::StoreOp>(user);
        if (waits && !stage.storer)
          stage.storer = &worker;
        if (!stage.storer || (waits && stage.storer == &worker))
          continue;
        return worker.fail(user, "uses memory that it shares with the channel "
                                 "of " +
                                     describePlace(below.op) +
                                     ", through which " +
                                     stage.storer->getName() +
                                     " stores: nothing orders the two");
      }
      if (!below.isIdle(stage))
        return worker.fail(user, "uses memory that it shares with the channel "
                                 "of " +
                                     describePlace(below.op) +
                                     ", whose stage " + Twine(number) +
                                     " is not released yet");
      if (failed(below.checkSync(worker, user, stage)))
        return failure();
      if (!stage.takenOverBy)
        stage.takenOverBy = user;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult ViewToken::checkReadable(Worker &worker, Operation *op) const {
  if (release)
    return worker.fail(op, "reads a stage that was released at " +
                               describePlace(release));
  // A copy of another group that no barrier has waited for.
  bool isThere = syncsAtAcquire < 0 || channel->isFull(bank, use);
  if (worker.numSyncs > syncsAtAcquire && isThere)
    return success();
  return worker.fail(op, "reads what other warps have copied: no 'fagpu.sync' "
                         "has followed the acquire at " +
                             describePlace(acquire));
}

LogicalResult ViewValue::read(Worker &worker, Operation *op,
                              std::vector<Slot> &elements) const {
  if (failed(token->checkReadable(worker, op)))
    return failure();
  ChannelState &channel = *token->channel;
  const Stage &stage = channel.getStage(token->bank, token->use);
  elements.resize(part.getNumElements());
  for (int64_t row = 0; row < part.rows; ++row)
    std::copy_n(stage.data.data() + (part.row + row) * channel.getColumns() +
                    part.column,
                part.columns, elements.data() + row * part.columns);
  return success();
}
