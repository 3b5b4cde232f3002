//===- HostProgram.h - Values computed for a launch ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids, scalar parameters and tensor-map extents are computed from the dims,
// strides and scalars of a launch by a straight-line program. Every value has a
// slot; slots are either 64-bit integers or f64.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_HOSTPROGRAM_H
#define FA_RUNTIME_CUDA_HOSTPROGRAM_H

#include "fa-c/Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace mlir::fa::runtime {

/// Operations of a host program. Arithmetic is on integers where all operands
/// are, else on f64. Comparisons give 1 or 0.
enum class Opcode {
  Add,
  Sub,
  Mul,
  /// f64 only.
  Div,
  /// Integers only: rounding down, rounding up, the remainder of the former,
  /// the greatest common divisor (of 0 and x, x).
  FloorDiv,
  CeilDiv,
  Rem,
  Gcd,
  Min,
  Max,
  /// f64 only, one operand.
  Sqrt,
  Less,
  LessEqual,
  Equal,
  /// The second operand where the first (an integer) is not 0, else the third.
  Select
};

std::optional<Opcode> parseOpcode(llvm::StringRef name);
/// All names that parseOpcode takes, separated by ", ".
std::string getOpcodeNames();

union Number {
  int64_t integer;
  double real;
};

/// The number of a slot.
using Slot = unsigned;

/// Slots that have no number in one call, and why: it does not exist, or is
/// computed from one that does not. A call fails where it uses one.
class MissingNumbers {
public:
  bool empty() const { return reasons.empty(); }
  bool contains(Slot slot) const { return find(slot); }
  void add(Slot slot, llvm::StringRef reason);
  /// `slot` is missing for the same reason as `operand`.
  void addAs(Slot slot, Slot operand);
  /// Fails with the reason where the slot has no number.
  llvm::Error check(Slot slot) const;

private:
  const std::string *find(Slot slot) const;

  llvm::SmallVector<std::pair<Slot, std::string>, 0> reasons;
};

class HostProgram {
public:
  Slot addInteger(int64_t value);
  Slot addReal(double value);
  Slot addDim(unsigned argument, unsigned dim);
  Slot addStride(unsigned argument, unsigned dim);
  /// A scalar argument of a type; a float is rounded to it.
  Slot addScalar(unsigned argument, FaDataType type);
  /// The number of multiprocessors of the device of the launch.
  Slot addMultiprocessors();
  /// Fails where the count or the types of `operands` do not fit. `name` is
  /// what errors of evaluate call the value.
  llvm::Expected<Slot> addOperation(Opcode opcode,
                                    llvm::ArrayRef<Slot> operands,
                                    llvm::StringRef name);

  bool isReal(Slot slot) const { return real[slot]; }
  /// The value of a slot that addInteger made.
  std::optional<int64_t> getConstant(Slot slot) const;

  /// Computes every slot. There is no number for a division by zero, a square
  /// root of a negative one and an integer that leaves 64 bits; what a select
  /// does not choose may have none.
  void evaluate(llvm::ArrayRef<FaArgument> arguments, int multiprocessors,
                llvm::SmallVectorImpl<Number> &slots,
                MissingNumbers &missing) const;

private:
  enum class Source { Dim, Stride, Integer, Real, Multiprocessors };
  struct Load {
    Source source;
    unsigned argument;
    unsigned dim;
    Slot slot;
    /// Real: what the number is rounded to.
    FaDataType type = FA_TYPE_F64;
  };
  struct Step {
    Opcode opcode;
    bool isReal;
    Slot operands[3];
    Slot result;
    unsigned name;
  };

  Slot addSlot(Number initial, bool isReal);
  void load(llvm::ArrayRef<FaArgument> arguments, int multiprocessors,
            llvm::MutableArrayRef<Number> slots) const;
  /// An operand of a step that is needed and missing.
  static std::optional<Slot> findMissing(const Step &step,
                                         llvm::ArrayRef<Number> slots,
                                         const MissingNumbers &missing);
  Slot addLoad(Source source, unsigned argument, unsigned dim, bool isReal);
  llvm::Error evaluateInteger(const Step &step,
                              llvm::MutableArrayRef<Number> slots) const;
  llvm::Error evaluateReal(const Step &step,
                           llvm::MutableArrayRef<Number> slots) const;
  double getReal(Slot slot, llvm::ArrayRef<Number> slots) const;

  llvm::SmallVector<Number, 32> initial;
  llvm::SmallVector<bool, 32> real;
  llvm::SmallVector<Slot, 16> constants;
  llvm::SmallVector<Load, 16> loads;
  llvm::SmallVector<Step, 16> steps;
  llvm::SmallVector<std::string, 16> names;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_HOSTPROGRAM_H
