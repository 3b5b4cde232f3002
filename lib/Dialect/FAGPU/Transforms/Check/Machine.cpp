//===- Machine.cpp - Execution of the protocol between roles --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Trips of a loop each time that it is reached; more show nothing new.
static constexpr unsigned maxTrips = 3;

/// An execution that takes longer does more than the trips of interest.
static constexpr unsigned maxSteps = 50000;

static void join(Clock &into, const Clock &other) {
  for (auto [number, time] : llvm::enumerate(other))
    into[number] = std::max(into[number], time);
}

static unsigned getBanks(Operation *end) {
  auto channel = dyn_cast<ChannelOp>(end);
  return channel ? channel.getBanks() : 1;
}

static unsigned getDepth(Operation *end) {
  if (auto channel = dyn_cast<ChannelOp>(end))
    return channel.getType().getDepth();
  return cast<MailOp>(end).getType().getDepth();
}

static int64_t getTileElements(Operation *end) {
  auto channel = dyn_cast<ChannelOp>(end);
  return channel ? ShapedType::getNumElements(channel.getType().getShape()) : 1;
}

ProtocolMachine::ProtocolMachine(func::FuncOp kernel,
                                 ArrayRef<Skeleton> skeletons)
    : kernel(kernel), skeletons(skeletons) {
  for (Operation &op : kernel.getBody().front()) {
    if (!isa<ChannelOp, MailOp>(op))
      continue;
    firstLane[&op] = lanes.size();
    Lane lane{&op};
    lane.depth = getDepth(&op);
    lane.banks = getBanks(&op);
    lane.tile = getTileElements(&op);
    for (Operation *user : op.getUsers()) {
      lane.isShared |= isa<ChannelOp>(user);
      if (!isa<AcquireOp, RecvOp>(user))
        continue;
      lane.role = user->getParentOfType<RoleOp>();
      if (lane.banks == 1)
        lane.numReaders = lane.role.getGroups();
    }
    if (auto channel = dyn_cast<ChannelOp>(op); channel && channel.getOver())
      lane.isShared = true;
    for (lane.bank = 0; lane.bank < lane.banks; ++lane.bank)
      lanes.push_back(lane);
  }
}

void ProtocolMachine::reset(const ScalarInputs &inputs) {
  agents.clear();
  for (const Skeleton &skeleton : skeletons)
    for (unsigned group = 0; group < skeleton.getRole().getGroups(); ++group) {
      Agent agent;
      agent.skeleton = &skeleton;
      agent.number = agents.size();
      agent.group = group;
      agent.registers.resize(skeleton.getNumRegisters());
      agent.fills.resize(lanes.size());
      agent.reads.resize(lanes.size());
      agent.elements.resize(lanes.size());
      for (auto [number, argument] : llvm::enumerate(skeleton.getArguments()))
        if (argument != Instruction::none)
          agent.registers[argument] =
              inputs.pick(kernel.getArgument(number).getType(), number);
      agent.registers[skeleton.getGroup()] = group;
      agents.push_back(std::move(agent));
    }
  for (Agent &agent : agents)
    agent.clock.resize(agents.size());
  for (Lane &lane : lanes) {
    lane.uses.clear();
    lane.reader = -1;
    lane.lastFill = nullptr;
  }
  turns.clear();
  accesses.clear();
  tickets = 1; // Tile 0 is this block's own.
  steps = 0;
  abandoned = false;
  signature = 0;
  reached = {};
  error.reset();
}

ProtocolMachine::Outcome ProtocolMachine::run(const ScalarInputs &inputs) {
  reset(inputs);
  bool progress = true;
  while (progress && !error && !abandoned) {
    progress = false;
    for (Agent &agent : agents) {
      unsigned start = steps;
      if (!agent.hasEnded() && !advance(agent, inputs))
        break;
      // A first step that only waits again is no progress.
      progress |= steps > start + agent.blocked;
    }
  }
  if (!error && !abandoned)
    checkEnd();
  if (error) {
    if (std::string way = describeWay(); !way.empty())
      error->notes.push_back(
          {kernel.getLoc(), "in an execution where last " + way});
    return Failed;
  }
  if (abandoned)
    return Abandoned;
  for (auto [loop, trips] : reached.trips)
    coverage.trips[loop] |= trips;
  for (auto [branch, ways] : reached.branches)
    coverage.branches[branch] |= ways;
  return Finished;
}

bool ProtocolMachine::advance(Agent &agent, const ScalarInputs &inputs) {
  agent.blocked = false;
  while (!agent.hasEnded()) {
    const Instruction &instruction =
        agent.skeleton->getInstructions()[agent.position];
    if (++steps > maxSteps || !execute(agent, instruction, inputs))
      abandoned = true;
    if (error || abandoned)
      return false;
    if (agent.blocked)
      return true;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Scalars and control flow
//===----------------------------------------------------------------------===//

void ProtocolMachine::endLoop(Agent &agent, Operation *loop) {
  unsigned trips = agent.trips[loop];
  reached.trips[loop] |= 1u << std::min(trips, 31u);
  signature = signature * 31 + trips + 1;
}

bool ProtocolMachine::execute(Agent &agent, const Instruction &instruction,
                              const ScalarInputs &inputs) {
  SmallVectorImpl<int64_t> &registers = agent.registers;
  ArrayRef<unsigned> operands = instruction.operands;
  ArrayRef<unsigned> results = instruction.results;
  SmallVector<int64_t, 8> values;
  for (unsigned operand : operands)
    values.push_back(operand == Instruction::none ? 0 : registers[operand]);
  unsigned next = agent.position + 1;
  switch (instruction.kind) {
  case Instruction::Compute:
    for (auto [number, result] : llvm::enumerate(results)) {
      if (result == Instruction::none)
        continue;
      std::optional<int64_t> value =
          inputs.evaluate(instruction.op, number, values, instruction.rule);
      if (!value)
        return false;
      registers[result] = *value;
    }
    break;
  case Instruction::Copy:
    for (auto [result, value] : llvm::zip_equal(results, values))
      registers[result] = value;
    break;
  case Instruction::Set:
    registers[results[0]] = instruction.value;
    break;
  case Instruction::AddImmediate:
    registers[results[0]] = values[0] + instruction.value;
    break;
  case Instruction::Add:
    registers[results[0]] = values[0] + values[1];
    break;
  case Instruction::Less:
    registers[results[0]] = values[0] < values[1];
    break;
  case Instruction::LessEqual:
    registers[results[0]] = values[0] <= values[1];
    break;
  case Instruction::Jump:
    next = instruction.target;
    break;
  case Instruction::JumpIfZero:
    if (!values[0])
      next = instruction.target;
    if (instruction.op) {
      reached.branches[instruction.op] |= values[0] ? 1 : 2;
      signature = signature * 31 + values[0];
    }
    break;
  case Instruction::LoopBegin:
    agent.trips[instruction.op] = 0;
    break;
  case Instruction::LoopTrip:
    if (++agent.trips[instruction.op] > maxTrips && !instruction.value)
      return false;
    break;
  case Instruction::LoopEnd:
    endLoop(agent, instruction.op);
    break;
  case Instruction::Protocol:
    executeProtocol(agent, instruction);
    if (agent.blocked || error)
      return true;
    ++agent.clock[agent.number];
    agent.history.push_back(instruction.op);
    break;
  }
  agent.position = next;
  return true;
}

//===----------------------------------------------------------------------===//
// Channels and mail
//===----------------------------------------------------------------------===//

std::optional<unsigned> ProtocolMachine::getLane(Operation *op, Operation *end,
                                                 std::optional<int64_t> bank) {
  int64_t number = bank.value_or(0);
  unsigned first = firstLane[end], banks = lanes[first].banks;
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
  auto value = [&](OpOperand &operand) {
    return agent.registers[instruction.operands[operand.getOperandNumber()]];
  };
  auto valueOf = [&](MutableOperandRange range) -> std::optional<int64_t> {
    if (range.empty())
      return std::nullopt;
    return value(*range.begin());
  };
  auto laneOf = [&](Value end, MutableOperandRange bank) {
    return getLane(op, end.getDefiningOp(), valueOf(bank));
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](PutOp put) {
        if (valueOf(put.getConditionMutable()) == 0)
          return;
        int64_t elements = ShapedType::getNumElements(put.getSizes());
        if (auto lane = laneOf(put.getChannel(), put.getBankMutable()))
          fill(agent, op, *lane, elements, elements, {});
      })
      .Case([&](WriteOp write) {
        int64_t elements =
            cast<ShapedType>(write.getValue().getType()).getNumElements();
        // Without banks, all groups of the role fill a stage together.
        int64_t share = write.getBank()
                            ? elements
                            : elements * agent.skeleton->getRole().getGroups();
        if (auto lane = laneOf(write.getChannel(), write.getBankMutable()))
          fill(agent, op, *lane, elements, share, {});
      })
      .Case([&](SendOp send) {
        SmallVector<int64_t> values;
        for (OpOperand &operand : send.getValuesMutable())
          values.push_back(value(operand));
        if (auto lane = getLane(op, send.getMail().getDefiningOp(), 0))
          fill(agent, op, *lane, 1, 1, values);
      })
      .Case([&](AcquireOp use) {
        if (auto lane = laneOf(use.getChannel(), use.getBankMutable()))
          acquire(agent, use, *lane, instruction.results[0]);
      })
      .Case([&](RecvOp use) { receive(agent, use, instruction.results); })
      .Case([&](ReleaseOp use) {
        release(agent, use, value(use.getViewMutable()));
      })
      .Case([&](TakeOp use) { take(agent, use); })
      .Case([&](PassOp use) { pass(agent, use); })
      .Case([&](StoreOp store) {
        if (auto lane = laneOf(store.getVia(), store.getBankMutable()))
          stage(agent, store, *lane);
      })
      .Case([&](TicketOp) {
        agent.registers[instruction.results[0]] = tickets++;
      })
      .Default([&](Operation *reader) {
        for (OpOperand &operand : reader->getOpOperands())
          if (isa<ViewType>(operand.get().getType()))
            use(agent, reader, value(operand));
      });
}

void ProtocolMachine::fill(Agent &agent, Operation *op, unsigned number,
                           int64_t elements, int64_t share,
                           ArrayRef<int64_t> values) {
  Lane &lane = lanes[number];
  unsigned use = agent.fills[number];
  if (use >= lane.depth) {
    StageUse &earlier = lane.uses[use - lane.depth];
    agent.blocked = earlier.releases < lane.numReaders;
    if (agent.blocked)
      return;
    join(agent.clock, earlier.empty);
  }
  if (lane.uses.size() <= use)
    lane.uses.resize(use + 1);
  StageUse &stage = lane.uses[use];
  int64_t tile = lane.tile;
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
  lane.lastFill = op;
  agent.elements[number] += share;
  if (agent.elements[number] < tile)
    return;
  agent.elements[number] = 0;
  ++agent.fills[number];
}

void ProtocolMachine::acquire(Agent &agent, AcquireOp op, unsigned number,
                              unsigned result) {
  Lane &lane = lanes[number];
  unsigned use = agent.reads[number];
  agent.blocked =
      lane.uses.size() <= use || lane.uses[use].elements < lane.tile;
  if (agent.blocked)
    return;
  if (lane.banks > 1) {
    if (lane.reader < 0)
      lane.reader = agent.group;
    if (lane.reader != agent.group)
      return fail(op, "reads in group " + std::to_string(agent.group) +
                          " bank " + std::to_string(lane.bank) +
                          ", which group " + std::to_string(lane.reader) +
                          " reads too; expected one group for each bank");
  }
  join(agent.clock, lane.uses[use].full);
  ++agent.reads[number];
  agent.registers[result] = agent.views.size();
  agent.views.push_back({op, number, use});
}

void ProtocolMachine::receive(Agent &agent, RecvOp op,
                              ArrayRef<unsigned> results) {
  unsigned number = firstLane[op.getMail().getDefiningOp()];
  unsigned use = agent.reads[number];
  agent.blocked = lanes[number].uses.size() <= use;
  if (agent.blocked)
    return;
  StageUse &stage = lanes[number].uses[use];
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
  StageUse &stage = lanes[view.lane].uses[view.use];
  recordAccess(agent, op, view.lane, view.use);
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
