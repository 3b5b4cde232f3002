//===- Protocol.cpp - Executes the protocol between roles -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks for deadlocks and misuse between roles by many executions with chosen
// scalars, guided towards control flow not seen before, as a fuzzer is. Read
// `checkProtocol`, at the end; `Goal` is what has to be covered.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Machine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"
#include <random>

using namespace mlir;
using namespace mlir::fagpu;

/// Executions end when so many have shown no new control flow and every loop
/// has done its trips, or after so many.
static constexpr unsigned maxIdleExecutions = 256, maxExecutions = 1536;
/// Executions with too many trips before more trips are allowed.
static constexpr unsigned maxFutileExecutions = 64;
/// Steps of all executions together.
static constexpr uint64_t maxTotalSteps = 4000000;

/// Multiples of the kernel's own numbers, so that loops over parts of as many
/// elements do one to three trips.
static SmallVector<int64_t> collectLengths(func::FuncOp kernel) {
  SetVector<int64_t> lengths;
  kernel.walk([&](arith::ConstantOp constant) {
    auto value = dyn_cast<IntegerAttr>(constant.getValue());
    if (!value || value.getType().isInteger(1))
      return;
    int64_t number = value.getInt();
    if (number < 8 || number > 1024)
      return;
    for (int64_t length :
         {number, number + number / 2, 2 * number, 3 * number - 1, 3 * number})
      lengths.insert(length);
  });
  if (lengths.empty())
    lengths.insert(100);
  return lengths.takeVector();
}

/// The trips that a loop is to do in some execution: three counts, from the
/// least on.
static unsigned getWantedTrips(Operation *loop) {
  auto counted = dyn_cast<ForOp>(loop);
  if (isa<RepeatOp>(loop) || (counted && counted.getOnce()))
    return 0b1110;
  return 0b0111;
}

namespace {
/// What executions have to reach, and have.
class Goal {
public:
  Goal(func::FuncOp kernel, const Coverage &coverage) : coverage(coverage) {
    kernel.walk([&](Operation *op) {
      if (isa<ForOp, RepeatOp, scf::ForOp, scf::WhileOp>(op) &&
          !hasConstantTrips(op))
        loops.push_back(op);
      if (isa<scf::IfOp>(op))
        branches.push_back(op);
    });
  }

  std::string describe() const {
    std::string text;
    for (Operation *loop : loops) {
      unsigned trips = coverage.trips.lookup(loop);
      text += (text.empty() ? "" : "; ") + describePlace(loop) + " did";
      for (unsigned count = 0; count < 32; ++count)
        if (trips & (1u << count))
          text += " " + std::to_string(count);
    }
    return text;
  }

  std::string describeMissing() const {
    std::string text;
    for (Operation *loop : loops) {
      unsigned missing = getWantedTrips(loop) & ~coverage.trips.lookup(loop);
      for (unsigned count = 0; count < 32; ++count)
        if (missing & (1u << count))
          text += (text.empty() ? "" : ", ") + std::to_string(count) +
                  " trips of " + describePlace(loop);
    }
    for (Operation *branch : branches)
      if (coverage.branches.lookup(branch) != 3)
        text += (text.empty() ? "" : ", ") +
                std::string("one way of the branch of ") +
                describePlace(branch);
    return text;
  }

private:
  const Coverage &coverage;
  SmallVector<Operation *> loops, branches;
};
} // namespace

static LogicalResult report(const ProtocolError &error) {
  InFlightDiagnostic diagnostic = error.op->emitOpError() << error.message;
  for (auto &[location, note] : error.notes)
    diagnostic.attachNote(location) << note;
  return diagnostic;
}

LogicalResult mlir::fagpu::checkProtocol(func::FuncOp kernel) {
  SmallVector<Skeleton> skeletons;
  for (RoleOp role : kernel.getOps<RoleOp>())
    skeletons.emplace_back(kernel, role);
  SmallVector<int64_t> lengths = collectLengths(kernel);
  ProtocolMachine machine(kernel, skeletons);
  Goal goal(kernel, machine.getCoverage());
  DenseSet<uint64_t> signatures;
  // Most executions change what is read in one class from the last one that was
  // of interest, so that what made it so mostly stays; others change all.
  std::mt19937_64 random(/*seed=*/1);
  ScalarInputs::Seeds seeds{};
  unsigned lastNew = 0;
  uint64_t totalSteps = 0;
  for (unsigned number = 0;
       number < maxExecutions && totalSteps < maxTotalSteps; ++number) {
    if (number >= lastNew + maxIdleExecutions) {
      if (goal.describeMissing().empty())
        break;
      lastNew = number;
    }
    ScalarInputs::Seeds changed = seeds;
    if (number % 4)
      changed[random() % ScalarInputs::numClasses] = random();
    else
      std::generate(changed.begin(), changed.end(), std::ref(random));
    ProtocolMachine::Outcome outcome =
        machine.run(ScalarInputs({1, 2, 3}, lengths, changed));
    totalSteps += machine.getSteps();
    if (outcome == ProtocolMachine::Failed)
      return report(machine.getError());
    if (outcome == ProtocolMachine::Abandoned) {
      // Sizes that the kernel knows may ask for more trips in any execution.
      if (signatures.empty() && number % maxFutileExecutions == 0 && number)
        machine.allowMoreTrips();
      continue;
    }
    bool isNew = signatures.insert(machine.getSignature()).second;
    if (isNew)
      lastNew = number;
    if (isNew || number % 2)
      seeds = changed;
  }
  if (signatures.empty())
    kernel.emitWarning() << "does too many trips in every execution that was "
                            "tried, so no deadlock between roles is excluded";
  std::string missing = goal.describeMissing();
  remark::analysis(kernel.getLoc(),
                   remark::RemarkOpts::name("Deadlock").category("fagpu-check"))
      << (std::to_string(signatures.size()) +
          " executions of different control flow end; trips of loops: " +
          goal.describe() +
          (missing.empty() ? "" : "; not reached: " + missing));
  return success();
}
