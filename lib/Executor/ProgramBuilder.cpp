//===- ProgramBuilder.cpp - Compiles IR to programs -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a function to a list of actions over registers, once, ahead of its
// runs (Program.h). Last uses free memory early, and let tensors be updated
// in place. Read `compileBlock` and `compileOperation`, then `compileLanes`
// for bodies of many elements.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/ProgramBuilder.h"
#include "fa/Executor/ArrayOps.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

FunctionTable::~FunctionTable() = default;

LogicalResult executor::refuse(Operation *op) {
  return op->emitError() << "the evaluator does not cover '" << op->getName()
                         << "'";
}

LogicalResult executor::refuse(Operation *op, const Twine &reason) {
  return op->emitError() << "the evaluator does not cover '" << op->getName()
                         << "' " << reason;
}

LogicalResult executor::checkElementTypes(Operation *op) {
  for (Type type : llvm::concat<Type>(SmallVector<Type>(op->getOperandTypes()),
                                      SmallVector<Type>(op->getResultTypes())))
    if (!isSlotType(getElementTypeOrSelf(type)))
      return op->emitError()
             << "the evaluator does not cover the type " << type
             << ": expected an index, an integer or a float of at most 64 bits";
  return success();
}

//===----------------------------------------------------------------------===//
// Registers and uses
//===----------------------------------------------------------------------===//

unsigned ProgramBuilder::getRegister(Value value) {
  auto [it, inserted] = registers.try_emplace(value, numRegisters);
  if (inserted)
    ++numRegisters;
  return it->second;
}

SmallVector<unsigned> ProgramBuilder::getRegisters(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) { return getRegister(v); });
}

void ProgramBuilder::recordLastUses(Block &block) {
  for (Operation &op : block)
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (operand.getParentBlock() == &block)
          lastUsers[operand] = &op;
    });
}

Use ProgramBuilder::getUse(OpOperand &operand) {
  Value value = operand.get();
  Operation *owner = operand.getOwner();
  // Uses are counted where a value ends, not again for each of them.
  auto isOnlyUse = [&] {
    return llvm::count_if(value.getUses(), [&](OpOperand &use) {
             return owner->isAncestor(use.getOwner());
           }) == 1;
  };
  return {getRegister(value), lastUsers.lookup(value) == owner && isOnlyUse()};
}

SmallVector<Use> ProgramBuilder::getUses(MutableArrayRef<OpOperand> operands) {
  return llvm::map_to_vector(operands,
                             [&](OpOperand &use) { return getUse(use); });
}

SmallVector<IndexOperand>
ProgramBuilder::getIndexOperands(ArrayRef<OpFoldResult> values) {
  return llvm::map_to_vector(values, [&](OpFoldResult value) {
    IndexOperand operand;
    if (auto attribute = dyn_cast<Attribute>(value))
      operand.constant = cast<IntegerAttr>(attribute).getInt();
    else
      operand.index = getRegister(cast<Value>(value));
    return operand;
  });
}

/// Frees what `op` read last, so that memory is returned early and a tensor
/// that no other view shares can be updated in place. Vectors are small and
/// their registers are reused instead.
void ProgramBuilder::emitReleases(Operation *op) {
  SmallVector<unsigned> ending;
  auto visit = [&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (lastUsers.lookup(operand) == op && !isSlotType(operand.getType()) &&
          !isa<VectorType>(operand.getType()))
        ending.push_back(getRegister(operand));
  };
  op->walk(visit);
  if (ending.empty())
    return;
  emit([ending](Frame &frame) {
    for (unsigned index : ending)
      frame[index].object = nullptr;
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::compileRegion(Region &region,
                                            BlockProgram &program) {
  if (!region.hasOneBlock())
    return refuse(region.getParentOp(), "with control flow between blocks");
  return compileBlock(region.front(), program);
}

FailureOr<std::unique_ptr<BlockProgram>>
ProgramBuilder::compileBody(Region &region) {
  auto program = std::make_unique<BlockProgram>();
  if (failed(compileRegion(region, *program)))
    return failure();
  return program;
}

LogicalResult ProgramBuilder::compileBlock(Block &block,
                                           BlockProgram &program) {
  BlockProgram *outer = std::exchange(current, &program);
  recordLastUses(block);
  program.arguments = getRegisters(block.getArguments());
  for (Operation &op : block) {
    // Most terminators only name what the parent passes on.
    bool isTerminator = op.hasTrait<OpTrait::IsTerminator>();
    if (isTerminator)
      program.results = getUses(op.getOpOperands());
    if (isTerminator && !semantics.lookup(&op))
      continue;
    if (failed(compileOperation(&op)))
      return failure();
    if (!isTerminator)
      emitReleases(&op);
  }
  current = outer;
  return success();
}

LogicalResult ProgramBuilder::compileOperation(Operation *op) {
  const Semantics::Entry *entry = semantics.lookup(op);
  if (!entry || (!entry->compile && !entry->makeKernel))
    return refuse(op);
  if (entry->compile)
    return entry->compile(op, *this);
  return compileElementwise(op, entry->makeKernel);
}

//===----------------------------------------------------------------------===//
// Elementwise operations
//===----------------------------------------------------------------------===//

/// The kernel of an operation with the policy's rounding of its results.
static FailureOr<Kernel>
makeRoundedKernel(Operation *op, const NumberPolicy &policy,
                  const Semantics::MakeKernelFn &make) {
  FailureOr<Kernel> kernel = make(op);
  if (failed(kernel))
    return failure();
  SmallVector<std::pair<unsigned, FloatType>> rounded;
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (auto real = dyn_cast<FloatType>(getElementTypeOrSelf(type)))
      if (policy.rounds(real))
        rounded.push_back({static_cast<unsigned>(index), real});
  if (rounded.empty())
    return kernel;
  return Kernel([kernel = std::move(*kernel), rounded,
                 &policy](ArrayRef<const Slot *> operands,
                          ArrayRef<Slot *> results, int64_t count) {
    if (failed(kernel(operands, results, count)))
      return failure();
    for (auto [index, type] : rounded)
      policy.round(type, results[index], count);
    return success();
  });
}

static Action makeScalarAction(Kernel kernel, SmallVector<unsigned> operands,
                               SmallVector<unsigned> results) {
  return [kernel = std::move(kernel), operands = std::move(operands),
          results = std::move(results)](Frame &frame) {
    SmallVector<const Slot *, 4> in;
    SmallVector<Slot *, 2> out;
    for (unsigned index : operands)
      in.push_back(&frame.slot(index));
    for (unsigned index : results)
      out.push_back(&frame.slot(index));
    return kernel(in, out, 1);
  };
}

static Action makeArrayAction(Operation *op, Kernel kernel,
                              SmallVector<unsigned> operands,
                              SmallVector<unsigned> results) {
  SmallVector<bool> isShaped;
  for (Type type : op->getOperandTypes())
    isShaped.push_back(isa<ShapedType>(type));
  return [op, kernel = std::move(kernel), operands = std::move(operands),
          results = std::move(results),
          isShaped = std::move(isShaped)](Frame &frame) -> LogicalResult {
    const Array *first = nullptr;
    for (auto [index, shaped] : llvm::zip_equal(operands, isShaped)) {
      if (!shaped)
        continue;
      const Array &array = frame.array(index);
      if (first && first->shape != array.shape)
        return op->emitError("operands differ in shape at run time");
      first = &array;
    }
    SmallVector<ArrayRefPtr, 4> packed;
    SmallVector<const Slot *, 4> in;
    for (auto [index, shaped] : llvm::zip_equal(operands, isShaped)) {
      packed.push_back(shaped
                           ? packArray(frame.arrayRef(index))
                           : makeFilledArray(first->shape, frame.slot(index)));
      in.push_back(packed.back()->data());
    }
    SmallVector<int64_t> shape = llvm::to_vector(first->shape);
    SmallVector<Slot *, 2> out;
    for (unsigned index : results)
      out.push_back(getResultArray(frame, index, shape).data());
    return kernel(in, out, getNumElements(shape));
  };
}

LogicalResult
ProgramBuilder::compileElementwise(Operation *op,
                                   const Semantics::MakeKernelFn &makeKernel) {
  if (failed(checkElementTypes(op)))
    return failure();
  FailureOr<Kernel> kernel = makeRoundedKernel(op, policy, makeKernel);
  if (failed(kernel))
    return failure();
  SmallVector<unsigned> operands = getRegisters(op->getOperands());
  SmallVector<unsigned> results = getRegisters(op->getResults());
  bool anyShaped =
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>);
  if (anyShaped)
    emit(makeArrayAction(op, std::move(*kernel), std::move(operands),
                         std::move(results)));
  else
    emit(makeScalarAction(std::move(*kernel), std::move(operands),
                          std::move(results)));
  return success();
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

static bool isScalarOperation(Operation &op) {
  auto isScalar = [](Type type) { return isSlotType(type); };
  return llvm::all_of(op.getOperandTypes(), isScalar) &&
         llvm::all_of(op.getResultTypes(), isScalar);
}

bool ProgramBuilder::canCompileLanes(Block &block) const {
  return llvm::all_of(block, [&](Operation &op) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      return isScalarOperation(op);
    const Semantics::Entry *entry = semantics.lookup(&op);
    return entry && (entry->compileLanes ||
                     (entry->makeKernel && isScalarOperation(op)));
  });
}

LogicalResult ProgramBuilder::compileLanes(Block &block, LaneProgram &program,
                                           bool zeroOutOfBounds) {
  return LaneBuilder(*this, program, zeroOutOfBounds).compile(block);
}

LaneProgram::Place LaneBuilder::getPlace(Value value) {
  auto [it, inserted] = places.try_emplace(value);
  LaneProgram::Place &place = it->second;
  if (!inserted)
    return place;
  place.isLane = isSlotType(value.getType());
  place.index = place.isLane ? makeLanes() : program.numObjects++;
  if (value.getParentBlock() != body)
    program.imports.push_back({parent.getRegister(value), place});
  return place;
}

unsigned LaneBuilder::getLanes(Value value) { return getPlace(value).index; }

unsigned LaneBuilder::getObject(Value value) { return getPlace(value).index; }

void LaneBuilder::setConstant(Value value, Slot slot) {
  program.constants.push_back({getLanes(value), slot});
}

void LaneBuilder::useContext(unsigned index, Value value) {
  program.contextValues.push_back({index, getLanes(value)});
}

unsigned LaneBuilder::useContextObject(unsigned number) {
  program.contextObjects.push_back({number, program.numObjects});
  return program.numObjects++;
}

static LaneAction makeLaneAction(Kernel kernel, SmallVector<unsigned> operands,
                                 SmallVector<unsigned> results) {
  return [kernel = std::move(kernel), operands = std::move(operands),
          results = std::move(results)](LaneState &state, int64_t count) {
    SmallVector<const Slot *, 4> in;
    SmallVector<Slot *, 2> out;
    for (unsigned index : operands)
      in.push_back(state.lanes(index));
    for (unsigned index : results)
      out.push_back(state.lanes(index));
    return kernel(in, out, count);
  };
}

LogicalResult LaneBuilder::compile(Block &block) {
  body = &block;
  for (Value argument : block.getArguments())
    program.arguments.push_back(getPlace(argument));
  auto getAllLanes = [&](ValueRange values) {
    return llvm::map_to_vector(values, [&](Value v) { return getLanes(v); });
  };
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      program.results = getAllLanes(op.getOperands());
      continue;
    }
    const Semantics::Entry *entry = parent.getSemantics().lookup(&op);
    if (entry && entry->compileLanes) {
      if (failed(entry->compileLanes(&op, *this)))
        return failure();
      continue;
    }
    if (entry && entry->makeKernel && failed(checkElementTypes(&op)))
      return failure();
    if (!entry || !entry->makeKernel || !isScalarOperation(op))
      return refuse(&op, "in a scalar body");
    FailureOr<Kernel> kernel =
        makeRoundedKernel(&op, parent.getPolicy(), entry->makeKernel);
    if (failed(kernel))
      return failure();
    emit(makeLaneAction(std::move(*kernel), getAllLanes(op.getOperands()),
                        getAllLanes(op.getResults())));
  }
  return success();
}
