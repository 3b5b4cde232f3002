//===- HostDemands.cpp - Which launches use what a host function computes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What only launches on a condition use is required to be right where the
// condition holds, and not of calls that launch something else.
//
//===----------------------------------------------------------------------===//

#include "HostValues.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

void Demand::add(const Demand &other) {
  always |= other.always;
  conditions.insert_range(other.conditions);
}

bool Demand::covers(const Demand &other) const {
  return always ||
         (!other.always && llvm::all_of(other.conditions, [&](Value condition) {
           return conditions.contains(condition);
         }));
}

static Demand demandWhere(Value condition) {
  Demand demand;
  if (condition)
    demand.conditions.insert(condition);
  else
    demand.always = true;
  return demand;
}

/// The flag whose opposite a value is; null if there is none.
static Value getOpposite(Value value) {
  auto flip = value.getDefiningOp<arith::XOrIOp>();
  return flip && matchPattern(flip.getRhs(), m_One()) ? flip.getLhs() : Value();
}

/// The first operand of a conjunction, or of a disjunction, may decide without
/// the second one; a selection needs one of two.
static Demand demandOfOperand(OpOperand &operand, const Demand &ofResults) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  bool isFlag =
      op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  if (isa<arith::AndIOp>(op) && isFlag && number == 1)
    return demandWhere(op->getOperand(0));
  if (isa<arith::OrIOp>(op) && isFlag && number == 1)
    if (Value condition = getOpposite(op->getOperand(0)))
      return demandWhere(condition);
  if (isa<arith::SelectOp>(op) && number == 1)
    return demandWhere(op->getOperand(0));
  return ofResults;
}

void HostValues::demandOperands(Operation *op) {
  if (auto launch = dyn_cast<fagpu::LaunchOp>(op)) {
    Demand demand = demandWhere(launch.getCondition());
    for (Value operand : op->getOperands())
      demands[operand].add(operand == launch.getCondition() ? demandWhere({})
                                                            : demand);
    return;
  }
  Demand demand;
  demand.always = op->getNumResults() == 0;
  for (Value result : op->getResults())
    demand.add(demands.lookup(result));
  for (OpOperand &operand : op->getOpOperands())
    demands[operand.get()].add(demandOfOperand(operand, demand));
}

void HostValues::findDemands() {
  for (Block &block : host.getBody())
    for (Operation &op : llvm::reverse(block))
      demandOperands(&op);
}

void HostValues::enterLaunch(fagpu::LaunchOp launch) {
  demand = demandWhere(launch.getCondition());
}

void HostValues::addRequirement(Operand condition, const Twine &message) {
  std::string text = message.str();
  for (Requirement &known : requirements)
    if (known.condition == condition && known.message == text)
      return known.demand.add(demand);
  requirements.push_back({std::move(condition), std::move(text), demand});
}

/// Not 0 where the condition is not, and where nothing demands it.
Operand HostValues::whereDemanded(const Demand &demand, Operand condition) {
  if (demand.always)
    return condition;
  Operand isDemanded = nullptr;
  for (Value flag : demand.conditions)
    isDemanded =
        isDemanded == nullptr ? get(flag) : emitOr(isDemanded, get(flag));
  return emit("select", {isDemanded, std::move(condition), 1});
}

llvm::json::Array HostValues::takeRequirements() {
  llvm::json::Array taken;
  for (Requirement &requirement : requirements) {
    const Demand &demand = requirement.demand;
    if (!demand.always && demand.conditions.empty())
      continue;
    taken.push_back(llvm::json::Object{
        {"condition", whereDemanded(demand, std::move(requirement.condition))},
        {"message", std::move(requirement.message)}});
  }
  return taken;
}
