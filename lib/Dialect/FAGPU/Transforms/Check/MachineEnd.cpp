//===- MachineEnd.cpp - How an execution of the protocol ends -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is checked when an execution of ProtocolMachine ends, and how it is
// told: stages that nobody read, races on memory that two channels share,
// deadlock. Read `checkEnd`; the `describe` functions make up the message.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

using namespace mlir;
using namespace mlir::fagpu;

//===----------------------------------------------------------------------===//
// Memory that two channels share
//===----------------------------------------------------------------------===//

void ProtocolMachine::stage(Agent &agent, StoreOp op, unsigned ring) {
  recordAccess(agent, op, ring, agent.fills[ring]++);
}

void ProtocolMachine::recordAccess(Agent &agent, Operation *op, unsigned number,
                                   unsigned use) {
  const Ring &ring = rings[number];
  if (!ring.isShared)
    return;
  // Banks lie beside each other in each stage.
  auto channel = cast<ChannelOp>(ring.end);
  int64_t bytes = channel.getType().getStageBytes();
  int64_t place = use % ring.depth * ring.banks + ring.bank;
  accesses[channel].push_back(
      {place * bytes, (place + 1) * bytes, agent.number, agent.clock, op});
}

void ProtocolMachine::checkShared(ChannelOp channel) {
  auto over = channel.getOver().getDefiningOp<ChannelOp>();
  // A bulk store waits until those before it, of its group, have been read;
  // threads write at once.
  bool areBulkStores = channel.getEngine() == Engine::tma_store &&
                       over.getEngine() == Engine::tma_store;
  for (const Access &later : accesses[channel])
    for (const Access &earlier : accesses[over]) {
      bool overlap = earlier.begin < later.end && later.begin < earlier.end;
      bool isOrdered = areBulkStores && later.agent == earlier.agent &&
                       isa<StoreOp>(later.op) && isa<StoreOp>(earlier.op);
      if (!overlap || isOrdered ||
          later.clock[earlier.agent] >= earlier.clock[earlier.agent])
        continue;
      fail(later.op, "uses memory that its channel shares with another one "
                     "(over), which may still be in use; expected the last "
                     "release of that one before");
      error->notes.push_back({earlier.op->getLoc(), "the other use is here"});
      return;
    }
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void ProtocolMachine::checkEnd() {
  if (!llvm::all_of(agents, [](Agent &agent) { return agent.hasEnded(); }))
    return reportDeadlock();
  for (Agent &agent : agents)
    for (Agent::View &view : agent.views)
      if (!view.released)
        return fail(view.acquire, "gives a view that is never released; "
                                  "expected one 'fagpu.release'");
  for (auto [number, ring] : llvm::enumerate(rings)) {
    if (!ring.lastFill)
      continue;
    unsigned numReads = ring.uses.size();
    for (Agent &agent : agents) {
      if (agent.skeleton->getRole() == ring.role &&
          (ring.reader < 0 || ring.reader == agent.group))
        numReads = std::min(numReads, agent.reads[number]);
    }
    if (numReads == ring.uses.size())
      continue;
    fail(ring.lastFill, "fills a stage that is never read: " +
                            std::to_string(ring.uses.size()) +
                            " are filled, but " + std::to_string(numReads) +
                            " read; expected as many");
    error->notes.push_back({ring.end->getLoc(), "the stages are made here"});
    return;
  }
  for (ChannelOp channel : kernel.getOps<ChannelOp>())
    if (channel.getOver() && !error)
      checkShared(channel);
}

std::string ProtocolMachine::describeWait(const Agent &agent) const {
  Operation *op = agent.getOperation();
  if (auto take = dyn_cast<TakeOp>(op)) {
    auto turn = turns.find(take.getTurns().getDefiningOp());
    unsigned group = turn == turns.end() ? 0 : turn->second.first;
    return "its turn, which group " + std::to_string(group) + " has";
  }
  Operation *end = op->getOperand(0).getDefiningOp();
  std::string of = std::string(" of the ") +
                   (isa<MailOp>(end) ? "mail" : "channel") + " of " +
                   describePlace(end);
  // The bank does not matter for the count of the first ring that waits.
  for (auto [number, ring] : llvm::enumerate(rings)) {
    if (ring.end != end)
      continue;
    if (isa<AcquireOp, RecvOp>(op)) {
      unsigned use = agent.reads[number];
      if (use < ring.uses.size() && ring.uses[use].elements == ring.tile)
        continue;
      return "fill " + std::to_string(use + 1) + of + ", which has had " +
             std::to_string(use);
    }
    unsigned use = agent.fills[number], depth = ring.depth;
    if (use < depth || ring.uses[use - depth].releases >= ring.numReaders)
      continue;
    return "the release of fill " + std::to_string(use - depth + 1) + of +
           ", to fill one of its " + std::to_string(depth) + " stages again";
  }
  return "another role";
}

std::string ProtocolMachine::describeHistory(const Agent &agent) const {
  std::string text;
  ArrayRef<Operation *> last = ArrayRef(agent.history).take_back(4);
  for (Operation *op : last)
    text += (text.empty() ? ", after " : ", ") +
            op->getName().getStringRef().str() + " (" + describePlace(op) + ")";
  return text;
}

std::string ProtocolMachine::describeWay() const {
  std::string text;
  auto append = [&](std::string item) {
    text += (text.empty() ? "" : ", ") + item;
  };
  llvm::MapVector<Operation *, unsigned> trips;
  for (const Agent &agent : agents)
    for (auto [loop, count] : agent.trips)
      trips[loop] = count;
  for (auto [loop, count] : trips)
    append("the loop of " + describePlace(loop) + " did " +
           std::to_string(count) + (count == 1 ? " trip" : " trips"));
  for (auto [branch, ways] : reached.branches)
    if (ways != 3)
      append("the condition of " + describePlace(branch) + " was " +
             (ways == 1 ? "true" : "false"));
  return text;
}

void ProtocolMachine::reportDeadlock() {
  SmallVector<std::pair<Location, std::string>> notes;
  for (Agent &agent : agents) {
    RoleOp role = agent.skeleton->getRole();
    std::string who = "group " + std::to_string(agent.group) + " of @" +
                      role.getSymName().str();
    std::string before = describeHistory(agent);
    if (agent.hasEnded()) {
      notes.push_back({role.getLoc(), who + " has ended" + before});
      continue;
    }
    Operation *op = agent.getOperation();
    std::string what = describeWait(agent);
    if (!error)
      fail(op, "never ends: the roles wait for one another");
    notes.push_back({op->getLoc(), who + " waits here for " + what + before});
  }
  error->notes = std::move(notes);
}
