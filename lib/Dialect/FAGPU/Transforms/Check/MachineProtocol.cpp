//===- MachineProtocol.cpp - Channels, mail and turns of a machine --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of ProtocolMachine that synchronise: filling, acquiring and
// releasing stages, mail, turns. Vector clocks record what each group knows
// of the others. Read `executeProtocol`, which has one case for each
// operation.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

static void join(Clock &into, const Clock &other) {
  for (auto [number, time] : llvm::enumerate(other))
    into[number] = std::max(into[number], time);
}

//===----------------------------------------------------------------------===//
// Channels and mail
//===----------------------------------------------------------------------===//

std::optional<unsigned> ProtocolMachine::getRing(Operation *op, Operation *end,
                                                 std::optional<int64_t> bank) {
  int64_t number = bank.value_or(0);
  unsigned first = firstRing[end], banks = rings[first].banks;
  if (number >= 0 && number < banks)
    return first + number;
  fail(op, "uses bank " + std::to_string(number) + " of a channel that has " +
               std::to_string(banks) + "; expected 0 to " +
               std::to_string(banks - 1));
  return std::nullopt;
}

void ProtocolMachine::executeProtocol(Agent &agent,
                                      const Instruction &instruction) {
  Operation *op = instruction.op;
  // By the value: a range of operands that may be changed makes an attribute.
  auto value = [&](Value operand) {
    auto place = llvm::find(op->getOperands(), operand).getIndex();
    return agent.registers[instruction.operands[place]];
  };
  auto valueOf = [&](Value operand) -> std::optional<int64_t> {
    if (!operand)
      return std::nullopt;
    return value(operand);
  };
  auto ringOf = [&](Value end, Value bank) {
    return getRing(op, end.getDefiningOp(), valueOf(bank));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](PutOp put) {
        if (valueOf(put.getCondition()) == 0)
          return;
        int64_t elements = ShapedType::getNumElements(put.getSizes());
        if (auto ring = ringOf(put.getChannel(), put.getBank()))
          fill(agent, op, *ring, elements,
               put.getBank() ? elements
                             : elements * agent.skeleton->getRole().getGroups(),
               {});
      })
      .Case([&](WriteOp write) {
        int64_t elements =
            cast<ShapedType>(write.getValue().getType()).getNumElements();
        // Without banks, all groups of the role fill a stage together.
        int64_t share = write.getBank()
                            ? elements
                            : elements * agent.skeleton->getRole().getGroups();
        if (auto ring = ringOf(write.getChannel(), write.getBank()))
          fill(agent, op, *ring, elements, share, {});
      })
      .Case([&](SendOp send) {
        SmallVector<int64_t> values;
        for (Value operand : send.getValues())
          values.push_back(value(operand));
        if (auto ring = getRing(op, send.getMail().getDefiningOp(), 0))
          fill(agent, op, *ring, 1, 1, values);
      })
      .Case([&](AcquireOp use) {
        if (auto ring = ringOf(use.getChannel(), use.getBank()))
          acquire(agent, use, *ring, instruction.results[0]);
      })
      .Case([&](RecvOp use) { receive(agent, use, instruction.results); })
      .Case([&](ReleaseOp use) { release(agent, use, value(use.getView())); })
      .Case([&](TakeOp use) { take(agent, use); })
      .Case([&](PassOp use) { pass(agent, use); })
      .Case([&](StoreOp store) {
        if (auto ring = ringOf(store.getVia(), store.getBank()))
          stage(agent, store, *ring);
      })
      .Case([&](TicketOp) {
        agent.registers[instruction.results[0]] = tickets++;
      })
      .Default([&](Operation *reader) {
        for (Value operand : reader->getOperands())
          if (isa<ViewType>(operand.getType()))
            use(agent, reader, value(operand));
      });
}

void ProtocolMachine::fill(Agent &agent, Operation *op, unsigned number,
                           int64_t elements, int64_t share,
                           ArrayRef<int64_t> values) {
  Ring &ring = rings[number];
  unsigned use = agent.fills[number];
  if (use >= ring.depth) {
    StageUse &earlier = ring.uses[use - ring.depth];
    agent.blocked = earlier.releases < ring.numReaders;
    if (agent.blocked)
      return;
    join(agent.clock, earlier.empty);
  }
  if (ring.uses.size() <= use)
    ring.uses.resize(use + 1);
  StageUse &stage = ring.uses[use];
  int64_t tile = ring.tile;
  stage.elements += elements;
  if (stage.elements > tile)
    return fail(op, "fills " + std::to_string(stage.elements) +
                        " elements of a stage that has " +
                        std::to_string(tile) +
                        "; expected each element to be filled once, by one "
                        "group");
  stage.full.resize(agents.size());
  stage.empty.resize(agents.size());
  stage.values.assign(values.begin(), values.end());
  join(stage.full, agent.clock);
  recordAccess(agent, op, number, use);
  ring.lastFill = op;
  agent.elements[number] += share;
  if (agent.elements[number] < tile)
    return;
  agent.elements[number] = 0;
  ++agent.fills[number];
}

void ProtocolMachine::acquire(Agent &agent, AcquireOp op, unsigned number,
                              unsigned result) {
  Ring &ring = rings[number];
  unsigned use = agent.reads[number];
  agent.blocked =
      ring.uses.size() <= use || ring.uses[use].elements < ring.tile;
  if (agent.blocked)
    return;
  if (ring.banks > 1) {
    if (ring.reader < 0)
      ring.reader = agent.group;
    if (ring.reader != agent.group)
      return fail(op, "reads in group " + std::to_string(agent.group) +
                          " bank " + std::to_string(ring.bank) +
                          ", which group " + std::to_string(ring.reader) +
                          " reads too; expected one group for each bank");
  }
  join(agent.clock, ring.uses[use].full);
  ++agent.reads[number];
  agent.registers[result] = agent.views.size();
  agent.views.push_back({op, number, use});
}

void ProtocolMachine::receive(Agent &agent, RecvOp op,
                              ArrayRef<unsigned> results) {
  unsigned number = firstRing[op.getMail().getDefiningOp()];
  unsigned use = agent.reads[number];
  agent.blocked = rings[number].uses.size() <= use;
  if (agent.blocked)
    return;
  StageUse &stage = rings[number].uses[use];
  join(agent.clock, stage.full);
  for (auto [result, value] : llvm::zip_equal(results, stage.values))
    agent.registers[result] = value;
  ++agent.reads[number];
  ++stage.releases;
  join(stage.empty, agent.clock);
}

void ProtocolMachine::release(Agent &agent, ReleaseOp op, int64_t number) {
  Agent::View &view = agent.views[number];
  if (view.released) {
    fail(op, "releases a view a second time; expected one release for each "
             "'fagpu.acquire'");
    error->notes.push_back({view.acquire->getLoc(), "acquired here"});
    return;
  }
  view.released = true;
  StageUse &stage = rings[view.ring].uses[view.use];
  recordAccess(agent, op, view.ring, view.use);
  ++stage.releases;
  join(stage.empty, agent.clock);
}

void ProtocolMachine::use(Agent &agent, Operation *op, int64_t number) {
  const Agent::View &view = agent.views[number];
  if (!view.released)
    return;
  fail(op, "uses a view after its release; expected the release after it");
  error->notes.push_back({view.acquire->getLoc(), "acquired here"});
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

void ProtocolMachine::take(Agent &agent, TakeOp op) {
  auto &[turn, clock] = turns[op.getTurns().getDefiningOp()];
  agent.blocked = turn != agent.group;
  if (!agent.blocked)
    join(agent.clock, clock);
}

void ProtocolMachine::pass(Agent &agent, PassOp op) {
  auto &[turn, clock] = turns[op.getTurns().getDefiningOp()];
  if (turn != agent.group)
    return fail(op, "passes in group " + std::to_string(agent.group) +
                        " a turn that is group " + std::to_string(turn) +
                        "'s; expected a 'fagpu.take' before it");
  turn = (turn + 1) % agent.skeleton->getRole().getGroups();
  clock = agent.clock;
}
