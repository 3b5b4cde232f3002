//===- HostProgram.cpp - Values computed for a launch ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds and evaluates the straight-line program of a launch (HostProgram.h).
// A value that has no number, as a quotient by 0, is an error only where a
// launch uses it. Read `evaluate`, at the end, then the table `opcodes`.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/HostProgram.h"

#include "fa/Runtime/CUDA/Driver.h"
#include "fa/Runtime/CUDA/KernelDescription.h"
#include "fa/Runtime/CUDA/RoundNumbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <numeric>

using namespace mlir::fa::runtime;
using llvm::ArrayRef;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

namespace {
struct OpcodeInfo {
  Opcode opcode;
  StringRef name;
  unsigned operands;
  bool takesIntegers;
  bool takesReals;
};
} // namespace

/// In the order of the enumeration.
static constexpr OpcodeInfo opcodes[] = {
    {Opcode::Add, "add", 2, true, true},
    {Opcode::Sub, "sub", 2, true, true},
    {Opcode::Mul, "mul", 2, true, true},
    {Opcode::Div, "div", 2, false, true},
    {Opcode::FloorDiv, "floordiv", 2, true, false},
    {Opcode::CeilDiv, "ceildiv", 2, true, false},
    {Opcode::Rem, "rem", 2, true, false},
    {Opcode::Gcd, "gcd", 2, true, false},
    {Opcode::Min, "min", 2, true, true},
    {Opcode::Max, "max", 2, true, true},
    {Opcode::Sqrt, "sqrt", 1, false, true},
    {Opcode::Less, "less", 2, true, true},
    {Opcode::LessEqual, "less_equal", 2, true, true},
    {Opcode::Equal, "equal", 2, true, true},
    {Opcode::Select, "select", 3, true, true}};

static const OpcodeInfo &getInfo(Opcode opcode) {
  return opcodes[static_cast<unsigned>(opcode)];
}

std::optional<Opcode> mlir::fa::runtime::parseOpcode(StringRef name) {
  for (const OpcodeInfo &info : opcodes)
    if (info.name == name)
      return info.opcode;
  return std::nullopt;
}

std::string mlir::fa::runtime::getOpcodeNames() {
  return llvm::join(
      llvm::map_range(opcodes,
                      [](const OpcodeInfo &info) { return info.name; }),
      ", ");
}

void MissingNumbers::add(Slot slot, StringRef reason) {
  reasons.emplace_back(slot, reason.str());
}

void MissingNumbers::addAs(Slot slot, Slot operand) {
  std::string reason = *find(operand);
  reasons.emplace_back(slot, std::move(reason));
}

const std::string *MissingNumbers::find(Slot slot) const {
  for (const auto &[missing, reason] : reasons)
    if (missing == slot)
      return &reason;
  return nullptr;
}

Error MissingNumbers::check(Slot slot) const {
  if (LLVM_LIKELY(reasons.empty()))
    return Error::success();
  const std::string *reason = find(slot);
  return reason ? makeError(FA_INVALID_ARGUMENT, *reason) : Error::success();
}

Slot HostProgram::addSlot(Number value, bool isReal) {
  initial.push_back(value);
  real.push_back(isReal);
  return initial.size() - 1;
}

Slot HostProgram::addInteger(int64_t value) {
  Number number;
  number.integer = value;
  Slot slot = addSlot(number, /*isReal=*/false);
  constants.push_back(slot);
  return slot;
}

Slot HostProgram::addReal(double value) {
  Number number;
  number.real = value;
  return addSlot(number, /*isReal=*/true);
}

Slot HostProgram::addLoad(Source source, unsigned argument, unsigned dim,
                          bool isReal) {
  for (const Load &load : loads)
    if (load.source == source && load.argument == argument && load.dim == dim)
      return load.slot;
  Slot slot = addSlot(Number(), isReal);
  loads.push_back({source, argument, dim, slot});
  return slot;
}

Slot HostProgram::addDim(unsigned argument, unsigned dim) {
  return addLoad(Source::Dim, argument, dim, /*isReal=*/false);
}

Slot HostProgram::addStride(unsigned argument, unsigned dim) {
  return addLoad(Source::Stride, argument, dim, /*isReal=*/false);
}

Slot HostProgram::addScalar(unsigned argument, FaDataType type) {
  bool isReal = isFloat(type);
  Slot slot =
      addLoad(isReal ? Source::Real : Source::Integer, argument, 0, isReal);
  llvm::find_if(loads, [&](const Load &load) {
    return load.slot == slot;
  })->type = type;
  return slot;
}

Slot HostProgram::addMultiprocessors() {
  return addLoad(Source::Multiprocessors, 0, 0, /*isReal=*/false);
}

std::optional<int64_t> HostProgram::getConstant(Slot slot) const {
  if (!llvm::is_contained(constants, slot))
    return std::nullopt;
  return initial[slot].integer;
}

llvm::Expected<Slot> HostProgram::addOperation(Opcode opcode,
                                               ArrayRef<Slot> operands,
                                               StringRef name) {
  const OpcodeInfo &info = getInfo(opcode);
  if (operands.size() != info.operands)
    return makeError(FA_INVALID_MANIFEST, "'" + Twine(info.name) + "' takes " +
                                              Twine(info.operands) +
                                              " operands, got " +
                                              Twine(operands.size()));
  // The condition of a select says nothing about the type of its result.
  ArrayRef<Slot> typed =
      opcode == Opcode::Select ? operands.drop_front() : operands;
  bool isReal = llvm::any_of(typed, [&](Slot slot) { return real[slot]; });
  if (opcode == Opcode::Select && real[operands.front()])
    return makeError(FA_INVALID_MANIFEST,
                     "the condition of 'select' is an integer, got an f64");
  if (isReal && !info.takesReals)
    return makeError(FA_INVALID_MANIFEST,
                     "'" + Twine(info.name) + "' takes integers, got an f64");
  isReal |= !info.takesIntegers;

  bool compares = opcode == Opcode::Less || opcode == Opcode::LessEqual ||
                  opcode == Opcode::Equal;
  Step step{opcode, isReal, {0, 0, 0}, 0, unsigned(names.size())};
  llvm::copy(operands, step.operands);
  step.result = addSlot(Number(), isReal && !compares);
  steps.push_back(step);
  names.push_back(name.str());
  return step.result;
}

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t ceilDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

Error HostProgram::evaluateInteger(const Step &step,
                                   llvm::MutableArrayRef<Number> slots) const {
  int64_t a = slots[step.operands[0]].integer;
  int64_t b = slots[step.operands[1]].integer;
  int64_t &result = slots[step.result].integer;
  bool overflows = false;
  switch (step.opcode) {
  case Opcode::Add:
    overflows = __builtin_add_overflow(a, b, &result);
    break;
  case Opcode::Sub:
    overflows = __builtin_sub_overflow(a, b, &result);
    break;
  case Opcode::Mul:
    overflows = __builtin_mul_overflow(a, b, &result);
    break;
  case Opcode::FloorDiv:
  case Opcode::CeilDiv:
  case Opcode::Rem:
    if (b == 0)
      return makeError(FA_INVALID_ARGUMENT, "value '" + names[step.name] +
                                                "' divides " + Twine(a) +
                                                " by 0");
    // The one quotient that has no 64-bit value.
    if (b == -1) {
      overflows = __builtin_sub_overflow(0, a, &result);
      if (step.opcode == Opcode::Rem)
        result = overflows = 0;
    } else if (step.opcode == Opcode::FloorDiv) {
      result = floorDivide(a, b);
    } else if (step.opcode == Opcode::CeilDiv) {
      result = ceilDivide(a, b);
    } else {
      result = a - floorDivide(a, b) * b;
    }
    break;
  case Opcode::Gcd: {
    auto magnitude = [](int64_t x) {
      return x < 0 ? -uint64_t(x) : uint64_t(x);
    };
    uint64_t divisor = std::gcd(magnitude(a), magnitude(b));
    result = int64_t(divisor);
    overflows = divisor > uint64_t(INT64_MAX);
    break;
  }
  case Opcode::Min:
    result = std::min(a, b);
    break;
  case Opcode::Max:
    result = std::max(a, b);
    break;
  case Opcode::Less:
    result = a < b;
    break;
  case Opcode::LessEqual:
    result = a <= b;
    break;
  case Opcode::Equal:
    result = a == b;
    break;
  case Opcode::Select:
    result = a ? b : slots[step.operands[2]].integer;
    break;
  case Opcode::Div:
  case Opcode::Sqrt:
    llvm_unreachable("operations on f64 only");
  }
  if (overflows)
    return makeError(FA_INVALID_ARGUMENT,
                     "value '" + names[step.name] + "' does not fit 64 bits: " +
                         getInfo(step.opcode).name + " of " + Twine(a) +
                         " and " + Twine(b));
  return Error::success();
}

double HostProgram::getReal(Slot slot, ArrayRef<Number> slots) const {
  return real[slot] ? slots[slot].real : double(slots[slot].integer);
}

Error HostProgram::evaluateReal(const Step &step,
                                llvm::MutableArrayRef<Number> slots) const {
  double a = getReal(step.operands[0], slots);
  double b = getReal(step.operands[1], slots);
  Number &result = slots[step.result];
  switch (step.opcode) {
  case Opcode::Add:
    result.real = a + b;
    break;
  case Opcode::Sub:
    result.real = a - b;
    break;
  case Opcode::Mul:
    result.real = a * b;
    break;
  case Opcode::Div:
    if (b == 0)
      return makeError(FA_INVALID_ARGUMENT,
                       "value '" + names[step.name] + "' divides by 0");
    result.real = a / b;
    break;
  case Opcode::Min:
    result.real = std::min(a, b);
    break;
  case Opcode::Max:
    result.real = std::max(a, b);
    break;
  case Opcode::Sqrt:
    if (a < 0)
      return makeError(FA_INVALID_ARGUMENT,
                       "value '" + names[step.name] +
                           "' is the square root of a negative number");
    result.real = std::sqrt(a);
    break;
  case Opcode::Less:
    result.integer = a < b;
    break;
  case Opcode::LessEqual:
    result.integer = a <= b;
    break;
  case Opcode::Equal:
    result.integer = a == b;
    break;
  case Opcode::Select:
    result.real =
        slots[step.operands[0]].integer ? b : getReal(step.operands[2], slots);
    break;
  case Opcode::FloorDiv:
  case Opcode::CeilDiv:
  case Opcode::Rem:
  case Opcode::Gcd:
    llvm_unreachable("operations on integers only");
  }
  return Error::success();
}

void HostProgram::load(ArrayRef<FaArgument> arguments, int multiprocessors,
                       llvm::MutableArrayRef<Number> slots) const {
  for (const Load &load : loads) {
    Number &slot = slots[load.slot];
    switch (load.source) {
    case Source::Dim:
      slot.integer = arguments[load.argument].shape[load.dim];
      break;
    case Source::Stride:
      slot.integer = arguments[load.argument].strides[load.dim];
      break;
    case Source::Integer:
      slot.integer = arguments[load.argument].value.integer;
      break;
    case Source::Real:
      slot.real = roundTo(load.type,
                          arguments[load.argument].type == FA_TYPE_F64
                              ? arguments[load.argument].value.real
                              : double(arguments[load.argument].value.integer));
      break;
    case Source::Multiprocessors:
      slot.integer = multiprocessors;
      break;
    }
  }
}

std::optional<Slot> HostProgram::findMissing(const Step &step,
                                             ArrayRef<Number> slots,
                                             const MissingNumbers &missing) {
  ArrayRef<Slot> needed(step.operands, getInfo(step.opcode).operands);
  if (step.opcode == Opcode::Select && !missing.contains(needed[0]))
    needed = needed.slice(slots[needed[0]].integer ? 1 : 2, 1);
  for (Slot slot : needed)
    if (missing.contains(slot))
      return slot;
  return std::nullopt;
}

void HostProgram::evaluate(ArrayRef<FaArgument> arguments, int multiprocessors,
                           llvm::SmallVectorImpl<Number> &slots,
                           MissingNumbers &missing) const {
  slots.assign(initial.begin(), initial.end());
  load(arguments, multiprocessors, slots);
  for (const Step &step : steps) {
    if (LLVM_UNLIKELY(!missing.empty()))
      if (std::optional<Slot> operand = findMissing(step, slots, missing)) {
        missing.addAs(step.result, *operand);
        continue;
      }
    if (Error error = step.isReal ? evaluateReal(step, slots)
                                  : evaluateInteger(step, slots))
      missing.add(step.result, toString(std::move(error)));
  }
}
