//===- Skeleton.cpp - What a role does to channels, mail and turns --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a role to its skeleton: synchronisation and the scalars that
// decide about it, as a list of instructions with jumps (Skeleton.h). Read
// `compile`, then `compileControl`; `dropUnneeded` removes all other scalars.
//
//===----------------------------------------------------------------------===//

#include "Skeleton.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

bool mlir::fagpu::hasConstantTrips(Operation *loop) {
  auto isConstant = [](Value value) {
    return matchPattern(value, m_Constant());
  };
  if (auto counted = dyn_cast<scf::ForOp>(loop))
    return llvm::all_of(loop->getOperands().take_front(3), isConstant);
  auto counted = dyn_cast<ForOp>(loop);
  return counted && isConstant(counted.getStart()) &&
         llvm::all_of(counted.getBounds(), isConstant);
}

namespace mlir::fagpu {
class SkeletonCompiler {
public:
  SkeletonCompiler(Skeleton &skeleton) : skeleton(skeleton) {}

  void compile(func::FuncOp kernel) {
    skeleton.arguments = numbersOf(kernel.getArguments());
    for (Operation &op : kernel.getBody().front())
      if (!isa<RoleOp>(op))
        compile(&op);
    skeleton.group = number(skeleton.role.getGroup());
    compile(skeleton.role.getBody().front());
    skeleton.numRegisters = numRegisters;
    dropUnneeded();
  }

private:
  using Registers = SmallVector<unsigned, 4>;

  /// The register of a scalar or view; block values have none.
  unsigned number(Value value) {
    if (isa<TensorType, InflightType>(value.getType()))
      return Instruction::none;
    auto [entry, inserted] = numbers.try_emplace(value, numRegisters);
    numRegisters += inserted;
    return entry->second;
  }

  Registers numbersOf(ValueRange values) {
    Registers registers;
    for (Value value : values)
      registers.push_back(number(value));
    return registers;
  }

  unsigned append(Instruction::Kind kind, Operation *op, Registers operands,
                  Registers results = {}, int64_t value = 0) {
    skeleton.instructions.push_back(
        {kind, op, std::move(operands), std::move(results), 0, value});
    return skeleton.instructions.size() - 1;
  }

  unsigned appendHere(Instruction::Kind kind, Operation *op) {
    return append(kind, op, {});
  }

  void copy(Operation *op, ValueRange from, ValueRange to) {
    Registers sources, targets;
    for (auto [source, target] : llvm::zip_equal(from, to)) {
      if (number(source) == Instruction::none)
        continue;
      sources.push_back(number(source));
      targets.push_back(number(target));
    }
    append(Instruction::Copy, op, sources, targets);
  }

  /// A trip of the loop; the value says whether their number is constant.
  unsigned appendTrip(Operation *loop) {
    return append(Instruction::LoopTrip, loop, {}, {}, hasConstantTrips(loop));
  }

  unsigned getPosition() const { return skeleton.instructions.size(); }
  void bindHere(unsigned jump) {
    skeleton.instructions[jump].target = getPosition();
  }
  void jumpTo(Operation *op, unsigned target) {
    skeleton.instructions[append(Instruction::Jump, op, {})].target = target;
  }

  void compile(Block &block) {
    for (Operation &op : block)
      if (!op.hasTrait<OpTrait::IsTerminator>())
        compile(&op);
  }

  static bool isProtocol(Operation *op) {
    if (auto store = dyn_cast<StoreOp>(op))
      return store.getVia() != nullptr;
    return isa<PutOp, WriteOp, SendOp, AcquireOp, RecvOp, ReleaseOp, TakeOp,
               PassOp, TicketOp, MmaAsyncOp, MmaOp, MmaSumOp, LoadOp, DrainOp>(
        op);
  }

  void compile(Operation *op) {
    if (isProtocol(op)) {
      append(Instruction::Protocol, op, numbersOf(op->getOperands()),
             numbersOf(op->getResults()));
      return;
    }
    llvm::TypeSwitch<Operation *>(op)
        .Case<scf::IfOp, scf::ForOp, scf::WhileOp, ForOp, RepeatOp>(
            [&](auto control) { compileControl(control); })
        .Case<SliceOp>([&](SliceOp slice) {
          copy(slice, slice.getView(), slice.getResult());
        })
        .Default([&](Operation *scalar) { compileScalar(scalar); });
  }

  void compileScalar(Operation *op) {
    Registers results = numbersOf(op->getResults());
    if (llvm::all_of(results, [](unsigned result) {
          return result == Instruction::none;
        }))
      return;
    ScalarRule rule(op);
    IntegerAttr constant;
    if (matchPattern(op, m_Constant(&constant))) {
      append(Instruction::Set, op, {}, results,
             wrapInteger(rule.width, constant.getValue().getSExtValue()));
      return;
    }
    unsigned position =
        append(Instruction::Compute, op, numbersOf(op->getOperands()), results);
    skeleton.instructions[position].rule = rule;
  }

  //===--- Control flow
  //---------------------------------------------------------------------===//

  void compileControl(scf::IfOp branch) {
    unsigned condition = number(branch.getCondition());
    unsigned toElse = append(Instruction::JumpIfZero, branch, {condition});
    compile(*branch.thenBlock());
    if (branch.getNumResults())
      copy(branch, branch.thenYield().getOperands(), branch.getResults());
    unsigned toEnd = appendHere(Instruction::Jump, branch);
    bindHere(toElse);
    if (branch.elseBlock()) {
      compile(*branch.elseBlock());
      if (branch.getNumResults())
        copy(branch, branch.elseYield().getOperands(), branch.getResults());
    }
    bindHere(toEnd);
  }

  void compileControl(scf::ForOp loop) {
    unsigned index = number(loop.getInductionVar());
    unsigned more = numRegisters++;
    append(Instruction::Copy, loop, {number(loop.getLowerBound())}, {index});
    copy(loop, loop.getInitArgs(), loop.getRegionIterArgs());
    appendHere(Instruction::LoopBegin, loop);
    unsigned head = append(Instruction::Less, loop,
                           {index, number(loop.getUpperBound())}, {more});
    unsigned toEnd = append(Instruction::JumpIfZero, nullptr, {more});
    appendTrip(loop);
    compile(*loop.getBody());
    copy(loop, loop.getYieldedValues(), loop.getRegionIterArgs());
    append(Instruction::Add, loop, {index, number(loop.getStep())}, {index});
    jumpTo(loop, head);
    bindHere(toEnd);
    appendHere(Instruction::LoopEnd, loop);
    copy(loop, loop.getRegionIterArgs(), loop.getResults());
  }

  void compileControl(scf::WhileOp loop) {
    copy(loop, loop.getInits(), loop.getBeforeArguments());
    appendHere(Instruction::LoopBegin, loop);
    unsigned head = getPosition();
    compile(*loop.getBeforeBody());
    scf::ConditionOp condition = loop.getConditionOp();
    copy(loop, condition.getArgs(), loop.getAfterArguments());
    copy(loop, condition.getArgs(), loop.getResults());
    unsigned toEnd = append(Instruction::JumpIfZero, nullptr,
                            {number(condition.getCondition())});
    appendTrip(loop);
    compile(*loop.getAfterBody());
    copy(loop, loop.getYieldOp().getResults(), loop.getBeforeArguments());
    jumpTo(loop, head);
    bindHere(toEnd);
    appendHere(Instruction::LoopEnd, loop);
  }

  /// The body of an iteration of the given segment.
  void compileIteration(ForOp loop, unsigned segment) {
    for (auto [flagNumber, flag] : llvm::enumerate(loop.getFlags()))
      append(Instruction::Set, loop, {}, {number(flag)}, flagNumber == segment);
    appendTrip(loop);
    Block &body = loop.getBody().front();
    compile(body);
    copy(loop, body.getTerminator()->getOperands(), loop.getIterArguments());
    unsigned index = number(loop.getIndex());
    append(Instruction::AddImmediate, loop, {index}, {index},
           loop.getDirection());
  }

  void compileControl(ForOp loop) {
    unsigned index = number(loop.getIndex());
    unsigned more = numRegisters++;
    append(Instruction::Copy, loop, {number(loop.getStart())}, {index});
    copy(loop, loop.getInits(), loop.getIterArguments());
    appendHere(Instruction::LoopBegin, loop);
    if (loop.getOnce())
      compileIteration(loop, 0);
    for (unsigned segment = loop.getOnce(); segment < loop.getNumSegments();
         ++segment) {
      unsigned bound = number(loop.getBounds()[segment - loop.getOnce()]);
      unsigned head =
          loop.getDirection() < 0
              ? append(Instruction::LessEqual, loop, {bound, index}, {more})
              : append(Instruction::Less, loop, {index, bound}, {more});
      unsigned toNext = append(Instruction::JumpIfZero, nullptr, {more});
      compileIteration(loop, segment);
      jumpTo(loop, head);
      bindHere(toNext);
    }
    appendHere(Instruction::LoopEnd, loop);
    copy(loop, loop.getIterArguments(), loop.getResults());
  }

  void compileControl(RepeatOp loop) {
    Block &body = loop.getBody().front();
    copy(loop, loop.getInits(), body.getArguments());
    appendHere(Instruction::LoopBegin, loop);
    unsigned head = appendTrip(loop);
    compile(body);
    ValueRange yielded = body.getTerminator()->getOperands();
    unsigned again = numRegisters++;
    append(Instruction::Copy, loop, {number(yielded.front())}, {again});
    copy(loop, yielded.drop_front(), body.getArguments());
    unsigned toEnd = append(Instruction::JumpIfZero, nullptr, {again});
    jumpTo(loop, head);
    bindHere(toEnd);
    appendHere(Instruction::LoopEnd, loop);
  }

  //===--- Scalars that nothing of the protocol depends on
  //---------------------------------------------------------------------===//

  /// Whether an operation of the protocol depends on this operand: its bank,
  /// condition, view or what it sends, but not where in memory it goes.
  static bool isRead(OpOperand &operand) {
    Operation *op = operand.getOwner();
    auto isOneOf = [&](MutableOperandRange range) {
      return llvm::any_of(range,
                          [&](OpOperand &other) { return &other == &operand; });
    };
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case([&](PutOp put) {
          return isOneOf(put.getBankMutable()) ||
                 isOneOf(put.getConditionMutable());
        })
        .Case<WriteOp, StoreOp, AcquireOp>(
            [&](auto use) { return isOneOf(use.getBankMutable()); })
        .Case([&](SendOp send) { return isOneOf(send.getValuesMutable()); })
        .Default([&](Operation *) {
          return isa<ViewType>(operand.get().getType());
        });
  }

  /// Marks the operands of an instruction; whether there was a new one.
  bool markOperands(const Instruction &instruction, BitVector &needed) {
    bool changed = false;
    for (auto [position, operand] : llvm::enumerate(instruction.operands)) {
      if (operand == Instruction::none || needed[operand])
        continue;
      if (instruction.kind == Instruction::Protocol &&
          !isRead(instruction.op->getOpOperand(position)))
        continue;
      if (instruction.kind == Instruction::Copy &&
          !needed[instruction.results[position]])
        continue;
      needed.set(operand);
      changed = true;
    }
    return changed;
  }

  static bool isNeeded(const Instruction &instruction,
                       const BitVector &needed) {
    bool isScalar = instruction.kind == Instruction::Compute ||
                    (instruction.kind == Instruction::Set &&
                     isa<arith::ConstantOp>(instruction.op));
    return !isScalar || llvm::any_of(instruction.results, [&](unsigned result) {
      return result != Instruction::none && needed[result];
    });
  }

  void dropUnneeded() {
    BitVector needed(numRegisters);
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Instruction &instruction :
           llvm::reverse(skeleton.instructions))
        if (isNeeded(instruction, needed))
          changed |= markOperands(instruction, needed);
    }
    SmallVector<unsigned> position;
    SmallVector<Instruction> kept;
    for (Instruction &instruction : skeleton.instructions) {
      position.push_back(kept.size());
      if (!isNeeded(instruction, needed))
        continue;
      if (instruction.kind == Instruction::Copy)
        dropUnneeded(instruction, needed);
      kept.push_back(std::move(instruction));
    }
    position.push_back(kept.size());
    for (Instruction &instruction : kept)
      instruction.target = position[instruction.target];
    skeleton.instructions = std::move(kept);
  }

  static void dropUnneeded(Instruction &copy, const BitVector &needed) {
    SmallVector<unsigned, 4> operands, results;
    for (auto [operand, result] : llvm::zip(copy.operands, copy.results))
      if (needed[result]) {
        operands.push_back(operand);
        results.push_back(result);
      }
    copy.operands = std::move(operands);
    copy.results = std::move(results);
  }

  Skeleton &skeleton;
  DenseMap<Value, unsigned> numbers;
  unsigned numRegisters = 0;
};
} // namespace mlir::fagpu

Skeleton::Skeleton(func::FuncOp kernel, RoleOp role) : role(role) {
  SkeletonCompiler(*this).compile(kernel);
}
