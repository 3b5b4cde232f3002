//===- ControlOps.cpp - Roles, loops, turns and tile counters -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text forms and verifiers of a kernel's control flow: roles of warps, loops
// with segments (`ForOp`) and until a condition fails (`RepeatOp`), turns of
// warpgroups, tile counters. The sections stand in this order; begin with
// `RoleOp`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Target/GPUTarget.h"

using namespace mlir;
using namespace mlir::fagpu;

#define GET_OP_CLASSES
#include "fa/Dialect/FAGPU/IR/FAGPUOps.cpp.inc"

//===----------------------------------------------------------------------===//
// RoleOp
//===----------------------------------------------------------------------===//

void RoleOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), "group");
}

// @name [(%group)] [groups(n)] [warps(n)] [regs(n)] [barrier(n)] [elect] region
ParseResult RoleOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::Argument group;
  StringAttr name;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes))
    return failure();
  bool named = succeeded(parser.parseOptionalLParen());
  if (named && (parser.parseArgument(group) || parser.parseRParen()))
    return failure();
  for (StringRef keyword : {"groups", "warps", "regs", "barrier"}) {
    int32_t number;
    if (failed(parser.parseOptionalKeyword(keyword)))
      continue;
    if (parser.parseLParen() || parser.parseInteger(number) ||
        parser.parseRParen())
      return failure();
    result.addAttribute(keyword, builder.getI32IntegerAttr(number));
  }
  if (succeeded(parser.parseOptionalKeyword("elect")))
    result.addAttribute("elect", builder.getUnitAttr());
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  group.type = builder.getI32Type();
  if (named ? parser.parseRegion(*body, group) : parser.parseRegion(*body))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  if (!named)
    body->addArgument(group.type, result.location);
  return success();
}

void RoleOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  if (!getGroup().use_empty())
    printer << '(' << getGroup() << ')';
  printer << " groups(" << getGroups() << ')';
  if (getWarps() != 4)
    printer << " warps(" << getWarps() << ')';
  if (getRegs())
    printer << " regs(" << *getRegs() << ')';
  if (getBarrier())
    printer << " barrier(" << *getBarrier() << ')';
  if (getElect())
    printer << " elect";
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {"sym_name", "groups", "warps", "regs", "barrier", "elect"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

static LogicalResult verifyRegisters(RoleOp op, func::FuncOp kernel) {
  if (!op.getRegs())
    return success();
  auto chip = kernel->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName);
  const fa::GPUTarget *target =
      chip ? fa::lookupGPUTarget(chip.getValue()) : nullptr;
  if (target && !target->hasRegisterReallocation)
    return op.emitOpError()
           << "has regs(" << *op.getRegs() << "), but " << target->chip
           << " cannot move registers between warps; leave "
              "it out";
  int64_t registers = *op.getRegs();
  if (registers >= 24 && registers <= 256 && registers % 8 == 0)
    return success();
  int64_t nearest = std::clamp<int64_t>((registers + 4) / 8 * 8, 24, 256);
  return op.emitOpError() << "has regs(" << registers
                          << "), expected a multiple of 8 from 24 to 256; "
                             "nearest is "
                          << nearest;
}

LogicalResult RoleOp::verify() {
  auto kernel = cast<func::FuncOp>((*this)->getParentOp());
  if (!isKernel(kernel))
    return emitOpError() << "stands in @" << kernel.getSymName()
                         << ", which has no '" << FAGPUDialect::kernelAttrName
                         << "'";
  for (auto [what, number] :
       {std::pair<StringRef, int64_t>{"groups", getGroups()},
        std::pair<StringRef, int64_t>{"warps", getWarps()}})
    if (number < 1 || number > 32)
      return emitOpError() << "has " << what << "(" << number
                           << "), expected 1 to 32";
  for (Operation *next = (*this)->getNextNode(); next;
       next = next->getNextNode()) {
    if (auto role = dyn_cast<RoleOp>(next)) {
      if (role.getSymName() == getSymName())
        return role.emitOpError()
               << "has the name of another role, @" << getSymName();
    } else if (!next->hasTrait<OpTrait::IsTerminator>()) {
      return emitOpError() << "is followed by '" << next->getName()
                           << "'; roles are the last operations of a kernel";
    }
  }
  return verifyRegisters(*this, kernel);
}

LogicalResult RoleOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 1 ||
      !body.getArgument(0).getType().isInteger(32))
    return emitOpError() << "has a body with " << body.getNumArguments()
                         << " arguments, expected one i32, the group";
  if (!getElect())
    return success();
  auto result = body.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (isBlockType(type)) {
        op->emitOpError() << "makes the block value " << type
                          << " in the role @" << getSymName()
                          << ", which one thread runs (elect)";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// [iter (%a = %init, ...)]
static ParseResult
parseIterList(OpAsmParser &parser,
              SmallVectorImpl<OpAsmParser::Argument> &arguments,
              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &inits) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        return failure(parser.parseArgument(arguments.emplace_back()) ||
                       parser.parseEqual() ||
                       parser.parseOperand(inits.emplace_back()));
      });
}

static void printIterList(OpAsmPrinter &printer, ValueRange arguments,
                          ValueRange inits) {
  printer << " iter(";
  llvm::interleaveComma(llvm::zip_equal(arguments, inits), printer,
                        [&](auto pair) {
                          auto [argument, init] = pair;
                          printer << argument << " = " << init;
                        });
  printer << ')';
}

static ParseResult setTypes(OpAsmParser &parser, SMLoc location,
                            MutableArrayRef<OpAsmParser::Argument> arguments,
                            ArrayRef<Type> types) {
  if (arguments.size() != types.size())
    return parser.emitError(location)
           << "has " << arguments.size() << " values in iter(...), but "
           << types.size() << " types";
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  return success();
}

/// The yielded values of a loop agree with what it carries.
static LogicalResult verifyCarried(Operation *op, TypeRange arguments,
                                   TypeRange inits, TypeRange yielded) {
  if (arguments.size() != inits.size() || inits.size() != yielded.size())
    return op->emitOpError()
           << "carries " << inits.size() << " values, but has "
           << arguments.size() << " arguments and yields " << yielded.size();
  for (auto [index, types] :
       llvm::enumerate(llvm::zip_equal(arguments, inits, yielded))) {
    auto [argument, init, yield] = types;
    if (argument == init && init == yield)
      continue;
    return op->emitOpError() << "carries value " << index << " of type " << init
                             << ", but its argument has type " << argument
                             << " and " << yield << " is yielded";
  }
  return success();
}

void ForOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults())
    setName(getResult(0), "for");
}

void ForOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  setName(getIndex(), "i");
  for (BlockArgument flag : getFlags())
    setName(flag, "segment");
}

// %i = %start step n segments(%flag: once, %flag: to %bound, ...)
//   [iter(%a = %init, ...) -> (types)] region [attributes]
ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type i32 = builder.getI32Type();
  SmallVector<OpAsmParser::Argument> arguments(1), iterators;
  SmallVector<OpAsmParser::UnresolvedOperand> bounds, inits;
  OpAsmParser::UnresolvedOperand start;
  int32_t step;
  bool once = false;
  if (parser.parseArgument(arguments[0]) || parser.parseEqual() ||
      parser.parseOperand(start) || parser.parseKeyword("step") ||
      parser.parseInteger(step))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("rolled")))
    result.addAttribute("rolled", builder.getUnitAttr());
  if (parser.parseKeyword("segments"))
    return failure();
  arguments[0].type = i32;
  auto parseSegment = [&]() -> ParseResult {
    OpAsmParser::Argument &flag = arguments.emplace_back();
    flag.type = builder.getI1Type();
    if (parser.parseArgument(flag) || parser.parseColon())
      return failure();
    SMLoc location = parser.getCurrentLocation();
    if (failed(parser.parseOptionalKeyword("once")))
      return failure(parser.parseKeyword("to") ||
                     parser.parseOperand(bounds.emplace_back()));
    if (arguments.size() != 2)
      return parser.emitError(location)
             << "'once' is segment " << arguments.size() - 2
             << ", expected it to be the first";
    once = true;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseSegment))
    return failure();
  SmallVector<Type> types;
  SMLoc location = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("iter")) &&
      (parseIterList(parser, iterators, inits) ||
       parser.parseArrowTypeList(types)))
    return failure();
  if (setTypes(parser, location, iterators, types) ||
      parser.resolveOperand(start, i32, result.operands) ||
      parser.resolveOperands(bounds, i32, result.operands) ||
      parser.resolveOperands(inits, types, location, result.operands))
    return failure();
  llvm::append_range(arguments, iterators);
  result.addTypes(types);
  result.addAttribute("step", builder.getI32IntegerAttr(step));
  result.addAttribute("once", builder.getBoolAttr(once));
  result.getOrAddProperties<Properties>().operandSegmentSizes = {
      1, static_cast<int32_t>(bounds.size()),
      static_cast<int32_t>(inits.size())};
  return failure(parser.parseRegion(*result.addRegion(), arguments) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getIndex() << " = " << getStart() << " step "
          << getDirection() << (getRolled() ? " rolled" : "") << " segments(";
  for (auto [segment, flag] : llvm::enumerate(getFlags())) {
    printer << (segment ? ", " : "") << flag << ": ";
    if (getOnce() && segment == 0)
      printer << "once";
    else
      printer << "to " << getBounds()[segment - getOnce()];
  }
  printer << ')';
  if (!getInits().empty()) {
    printIterList(printer, getIterArguments(), getInits());
    printer.printArrowTypeList(getResultTypes());
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {"step", "once", "rolled", "operandSegmentSizes"});
}

LogicalResult ForOp::verify() {
  if (getDirection() != 1 && getDirection() != -1)
    return emitOpError() << "has step " << getDirection()
                         << ", expected 1 or -1";
  if (getNumSegments() == 0)
    return emitOpError() << "has no segments, expected at least one";
  if (getInits().getTypes() != getResultTypes())
    return emitOpError() << "has " << getNumResults()
                         << " results, whose types are not those of its "
                         << getInits().size() << " carried values";
  return success();
}

LogicalResult ForOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() < 1 + getNumSegments())
    return emitOpError() << "has " << body.getNumArguments()
                         << " arguments, expected an index and "
                         << getNumSegments() << " flags";
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError() << "ends with '" << body.back().getName()
                         << "', expected 'fagpu.yield'";
  return verifyCarried(*this, ValueRange(getIterArguments()).getTypes(),
                       getInits().getTypes(), yield.getOperandTypes());
}

void RepeatOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {}

// iter(%a = %init, ...) : types region [attributes]
ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<Type> types;
  SMLoc location = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("iter")) &&
      (parseIterList(parser, arguments, inits) ||
       parser.parseColonTypeList(types)))
    return failure();
  if (setTypes(parser, location, arguments, types) ||
      parser.resolveOperands(inits, types, location, result.operands))
    return failure();
  return failure(parser.parseRegion(*result.addRegion(), arguments) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void RepeatOp::print(OpAsmPrinter &printer) {
  if (!getInits().empty()) {
    printIterList(printer, getBody().getArguments(), getInits());
    printer << " : ";
    llvm::interleaveComma(getInits().getTypes(), printer);
  }
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

LogicalResult RepeatOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().back());
  if (!yield)
    return emitOpError() << "ends with '" << getBody().front().back().getName()
                         << "', expected 'fagpu.yield'";
  if (yield.getNumOperands() == 0 ||
      !yield.getOperand(0).getType().isInteger(1))
    return yield.emitOpError()
           << "of 'fagpu.repeat' has no i1 as its first operand, which says "
              "whether the body runs again";
  return verifyCarried(*this, getBody().getArgumentTypes(),
                       getInits().getTypes(),
                       yield.getOperands().drop_front().getTypes());
}

//===----------------------------------------------------------------------===//
// Turns and tile counters
//===----------------------------------------------------------------------===//

void TurnsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "turns");
}

LogicalResult TurnsOp::verify() {
  if (int64_t groups = static_cast<int32_t>(getGroups());
      groups < 2 || groups > 15)
    return emitOpError() << "is for " << groups
                         << " groups, expected 2 to 15 (one named barrier a "
                            "group)";
  return success();
}

/// Only one thread may draw a ticket, and a counter has two words.
static LogicalResult verifyCounter(Operation *op, MemRefType type) {
  if (type.getDimSize(0) != 2)
    return op->emitOpError() << "has a counter of type " << type
                             << ", expected two words, memref<2xi32>";
  auto role = op->getParentOfType<RoleOp>();
  if (role && role.getElect())
    return success();
  return op->emitOpError() << "stands outside a role that one thread runs "
                              "(elect)";
}

void TicketOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getTile(), "tile");
}

LogicalResult TicketOp::verify() {
  return verifyCounter(*this, cast<MemRefType>(getCounter().getType()));
}

LogicalResult RetireOp::verify() {
  return verifyCounter(*this, cast<MemRefType>(getCounter().getType()));
}

/// Whether launches overlap is for kernels of sm_90 and later to say, and once.
template <typename Op> static LogicalResult verifyDependence(Op op) {
  auto kernel = op->template getParentOfType<func::FuncOp>();
  if (!kernel || !isKernel(kernel))
    return op.emitOpError() << "stands outside of a kernel";
  if (auto form = kernel->template getAttrOfType<StringAttr>(
          FAGPUDialect::kernelAttrName);
      form.getValue() != "sm_90a")
    return op.emitOpError() << "stands in a kernel of " << form
                            << ", expected one of \"sm_90a\": launches of "
                               "earlier chips do not overlap";
  Op first;
  kernel.walk([&](Op other) {
    first = other;
    return WalkResult::interrupt();
  });
  if (first != op)
    return op.emitOpError() << "stands in its kernel twice, expected once";
  return success();
}

LogicalResult AwaitPreviousOp::verify() {
  if (failed(verifyDependence(*this)))
    return failure();
  if (!isa<func::FuncOp>((*this)->getParentOp()))
    return emitOpError() << "stands in '" << (*this)->getParentOp()->getName()
                         << "', expected the body of the kernel, which all "
                            "threads run";
  for (Operation &op :
       llvm::make_range((*this)->getBlock()->begin(), (*this)->getIterator())) {
    // Counters of stages, which lowering keeps on the stack, are the thread's.
    bool accesses = op.getNumRegions() ||
                    (!isa<memref::DimOp>(op) && !isMemoryEffectFree(&op) &&
                     llvm::any_of(op.getOperands(), [](Value operand) {
                       return isa<BaseMemRefType>(operand.getType()) &&
                              !operand.getDefiningOp<memref::AllocaOp>();
                     }));
    if (accesses)
      return emitOpError() << "stands behind '" << op.getName()
                           << "', which may access memory, expected it ahead";
  }
  return success();
}

LogicalResult ReleaseDependentsOp::verify() { return verifyDependence(*this); }
