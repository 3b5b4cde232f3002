//===- Machine.cpp - Execution of the protocol between roles --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interpreter loop of fagpu-check: runs the skeletons of all groups in
// turn until all end or all wait. Read `run`, then `advance` and `execute`;
// MachineProtocol.cpp has channels and turns, MachineEnd.cpp the verdict.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

/// An execution that takes longer does more than the trips of interest.
static constexpr unsigned maxSteps = 50000;

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
    firstRing[&op] = rings.size();
    Ring ring{&op};
    ring.depth = getDepth(&op);
    ring.banks = getBanks(&op);
    ring.tile = getTileElements(&op);
    for (Operation *user : op.getUsers()) {
      ring.isShared |= isa<ChannelOp>(user);
      if (!isa<AcquireOp, RecvOp>(user))
        continue;
      ring.role = user->getParentOfType<RoleOp>();
      if (ring.banks == 1)
        ring.numReaders = ring.role.getGroups();
    }
    if (auto channel = dyn_cast<ChannelOp>(op); channel && channel.getOver())
      ring.isShared = true;
    for (ring.bank = 0; ring.bank < ring.banks; ++ring.bank)
      rings.push_back(ring);
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
      agent.fills.resize(rings.size());
      agent.reads.resize(rings.size());
      agent.elements.resize(rings.size());
      for (auto [number, argument] : llvm::enumerate(skeleton.getArguments()))
        if (argument != Instruction::none)
          agent.registers[argument] =
              inputs.pick(kernel.getArgument(number).getType(), number);
      agent.registers[skeleton.getGroup()] = group;
      agents.push_back(std::move(agent));
    }
  for (Agent &agent : agents)
    agent.clock.resize(agents.size());
  for (Ring &ring : rings) {
    ring.uses.clear();
    ring.reader = -1;
    ring.lastFill = nullptr;
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
