//===- ProgramBuilder.h - Compiles IR to programs ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_PROGRAMBUILDER_H
#define FA_EXECUTOR_PROGRAMBUILDER_H

#include "fa/Executor/NumberPolicy.h"
#include "fa/Executor/Semantics.h"
#include "mlir/IR/OpDefinition.h"
#include <memory>

namespace mlir::fa::executor {

/// An index that is a constant or in a register.
struct IndexOperand {
  int64_t constant = 0;
  std::optional<unsigned> index;

  int64_t get(Frame &frame) const {
    return index ? frame.integer(*index) : constant;
  }
};

/// Finds the program of a called function, compiling it on first use.
class FunctionTable {
public:
  virtual ~FunctionTable();
  virtual FailureOr<const FunctionProgram *> lookup(Operation *caller,
                                                    StringRef name) = 0;
};

/// Compiles the blocks of one function. Compile functions of operations use it
/// to find registers and to emit actions.
class ProgramBuilder {
public:
  ProgramBuilder(const Semantics &semantics, const NumberPolicy &policy,
                 FunctionTable &functions)
      : semantics(semantics), policy(policy), functions(functions) {}

  /// Compiles a block and everything in it. Fails with a diagnostic at the
  /// first operation that the table does not cover.
  LogicalResult compileBlock(Block &block, BlockProgram &program);
  /// The same for a region that must have one block.
  LogicalResult compileRegion(Region &region, BlockProgram &program);
  /// The same as a program of its own, for an action that runs it.
  FailureOr<std::unique_ptr<BlockProgram>> compileBody(Region &region);
  /// Compiles a scalar body to lanes; its operations must all be able to. Loads
  /// out of bounds are errors unless `zeroOutOfBounds` makes them read 0.
  LogicalResult compileLanes(Block &block, LaneProgram &program,
                             bool zeroOutOfBounds = false);
  /// Whether compileLanes can succeed: every operation is known to lanes.
  bool canCompileLanes(Block &block) const;

  /// The register of a value.
  unsigned getRegister(Value value);
  SmallVector<unsigned> getRegisters(ValueRange values);
  /// A read of an operand, marked when it is the last one.
  Use getUse(OpOperand &operand);
  SmallVector<Use> getUses(MutableArrayRef<OpOperand> operands);
  SmallVector<IndexOperand> getIndexOperands(ArrayRef<OpFoldResult> values);
  /// Declares that a value lives in this register.
  void setRegister(Value value, unsigned index) { registers[value] = index; }
  /// An unnamed register.
  unsigned makeRegister() { return numRegisters++; }
  unsigned getNumRegisters() const { return numRegisters; }

  /// Appends a step to the block being compiled.
  void emit(Action action) { current->actions.push_back(std::move(action)); }

  const NumberPolicy &getPolicy() const { return policy; }
  const Semantics &getSemantics() const { return semantics; }
  FunctionTable &getFunctions() { return functions; }

  /// Compiles an operation from its kernel, for scalars or whole arrays.
  LogicalResult compileElementwise(Operation *op,
                                   const Semantics::MakeKernelFn &makeKernel);

  /// Compiles one operation into the current block.
  LogicalResult compileOperation(Operation *op);

private:
  void recordLastUses(Block &block);
  void emitReleases(Operation *op);

  const Semantics &semantics;
  const NumberPolicy &policy;
  FunctionTable &functions;
  DenseMap<Value, unsigned> registers;
  /// The operation of a value's own block that reads it last.
  DenseMap<Value, Operation *> lastUsers;
  BlockProgram *current = nullptr;
  unsigned numRegisters = 0;
};

/// Compiles one scalar body to lanes.
class LaneBuilder {
public:
  LaneBuilder(ProgramBuilder &parent, LaneProgram &program,
              bool zeroOutOfBounds)
      : parent(parent), program(program), zeroOutOfBounds(zeroOutOfBounds) {}

  LogicalResult compile(Block &block);

  /// The lane register of a scalar value; a value from outside the body is
  /// imported.
  unsigned getLanes(Value value);
  /// The index in the state's object list of any other value.
  unsigned getObject(Value value);
  unsigned makeLanes() { return program.numLaneRegisters++; }
  /// Declares that `value` has this content in all lanes.
  void setConstant(Value value, Slot slot);

  /// Declares that `value` is the number `index` of those that the operation
  /// around the body supplies (a loop index, a length); the caller of the
  /// program sets it.
  void useContext(unsigned index, Value value);
  /// The index in the state's object list of the object `number` of those that
  /// the operation around the body supplies; null unless the caller sets it.
  unsigned useContextObject(unsigned number);
  /// Whether loads out of bounds read 0, as in fa regions, and are no error.
  bool readsZeroOutOfBounds() const { return zeroOutOfBounds; }

  void emit(LaneAction action) { program.actions.push_back(std::move(action)); }
  ProgramBuilder &getParent() { return parent; }

private:
  LaneProgram::Place getPlace(Value value);

  ProgramBuilder &parent;
  LaneProgram &program;
  bool zeroOutOfBounds;
  Block *body = nullptr;
  DenseMap<Value, LaneProgram::Place> places;
};

/// Emits "the evaluator does not cover 'x.y'" and fails.
LogicalResult refuse(Operation *op);
/// The same with the reason: a type, an attribute.
LogicalResult refuse(Operation *op, const Twine &reason);
/// Fails, naming the type, where elements of an operand or result of `op` fit
/// no slot, as i128.
LogicalResult checkElementTypes(Operation *op);

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_PROGRAMBUILDER_H
