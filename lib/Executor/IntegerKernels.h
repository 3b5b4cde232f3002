//===- IntegerKernels.h - Integer arithmetic of the executor ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the dialects arith and index have in common. Each template registers
// one kind of operation, as wrapping sums or divisions; a dialect's file
// gives the function. `addWrapping` is the simplest; read it first.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXECUTOR_INTEGERKERNELS_H
#define FA_LIB_EXECUTOR_INTEGERKERNELS_H

#include "KernelHelpers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa::executor {

/// `fn(uint64, uint64)` modulo 2^width: add, sub, mul and the bit operations.
template <typename OpT, typename Fn>
void addWrapping(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeBinary([fn, width](Slot a, Slot b) {
      uint64_t value = fn(static_cast<uint64_t>(a.integer),
                          static_cast<uint64_t>(b.integer));
      return Slot::ofInteger(wrapInteger(static_cast<int64_t>(value), width));
    });
  });
}

/// `fn(int64, int64)` or `fn(uint64, uint64)` of the values at their width.
template <typename OpT, typename Fn>
void addSigned(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeBinary([fn, width](Slot a, Slot b) {
      int64_t value =
          fn(asSigned(a.integer, width), asSigned(b.integer, width));
      return Slot::ofInteger(wrapInteger(value, width));
    });
  });
}
template <typename OpT, typename Fn>
void addUnsigned(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeBinary([fn, width](Slot a, Slot b) {
      uint64_t value =
          fn(asUnsigned(a.integer, width), asUnsigned(b.integer, width));
      return Slot::ofInteger(wrapInteger(static_cast<int64_t>(value), width));
    });
  });
}

/// A division: a zero divisor is an error at the operation.
template <typename OpT, typename Fn>
void addDivision(Semantics &semantics, Fn fn) {
  semantics.addElementwise<OpT>([fn](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    Operation *location = op;
    return Kernel([fn, width, location](ArrayRef<const Slot *> in,
                                        ArrayRef<Slot *> out,
                                        int64_t count) -> LogicalResult {
      for (int64_t i = 0; i < count; ++i) {
        if (in[1][i].integer == 0)
          return location->emitError("integer division by zero");
        int64_t value = fn(in[0][i].integer, in[1][i].integer, width);
        out[0][i].integer = wrapInteger(value, width);
      }
      return success();
    });
  });
}

/// Quotients that cannot trap: the most negative value by -1 wraps.
inline int64_t divideSigned(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
inline int64_t remainderSigned(int64_t a, int64_t b) {
  return b == -1 ? 0 : a % b;
}
inline int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = divideSigned(a, b);
  return remainderSigned(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1
                                                          : quotient;
}
inline int64_t ceilDivide(int64_t a, int64_t b) {
  int64_t quotient = divideSigned(a, b);
  return remainderSigned(a, b) != 0 && (a < 0) == (b < 0) ? quotient + 1
                                                          : quotient;
}

inline uint64_t ceilDivideUnsigned(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

template <typename OpT>
void addSignedDivision(Semantics &semantics, int64_t (*fn)(int64_t, int64_t)) {
  addDivision<OpT>(semantics, [fn](int64_t a, int64_t b, unsigned width) {
    return fn(asSigned(a, width), asSigned(b, width));
  });
}
template <typename OpT>
void addUnsignedDivision(Semantics &semantics,
                         uint64_t (*fn)(uint64_t, uint64_t)) {
  addDivision<OpT>(semantics, [fn](int64_t a, int64_t b, unsigned width) {
    return static_cast<int64_t>(fn(asUnsigned(a, width), asUnsigned(b, width)));
  });
}

/// Shifts by the width or more are poison in MLIR; here they shift everything
/// out.
template <typename OpT> void addLeftShift(Semantics &semantics) {
  semantics.addElementwise<OpT>([](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    return makeBinary([width](Slot a, Slot b) {
      uint64_t by = asUnsigned(b.integer, width);
      uint64_t value = by >= width ? 0 : static_cast<uint64_t>(a.integer) << by;
      return Slot::ofInteger(wrapInteger(static_cast<int64_t>(value), width));
    });
  });
}
template <typename UnsignedT, typename SignedT>
void addRightShifts(Semantics &semantics) {
  addUnsigned<UnsignedT>(semantics, [](uint64_t a, uint64_t by) {
    return by >= 64 ? 0 : a >> by;
  });
  addSigned<SignedT>(semantics, [](int64_t a, int64_t by) {
    return a >> (by < 0 || by > 63 ? 63 : by);
  });
}

inline bool compareIntegers(arith::CmpIPredicate predicate, Slot a, Slot b,
                            unsigned width) {
  int64_t x = asSigned(a.integer, width), y = asSigned(b.integer, width);
  uint64_t ux = asUnsigned(a.integer, width), uy = asUnsigned(b.integer, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return x == y;
  case arith::CmpIPredicate::ne:
    return x != y;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return ux < uy;
  case arith::CmpIPredicate::ule:
    return ux <= uy;
  case arith::CmpIPredicate::ugt:
    return ux > uy;
  case arith::CmpIPredicate::uge:
    return ux >= uy;
  }
  llvm_unreachable("unknown predicate");
}

/// `getPredicate` gives the predicate of an operation, as arith has it.
template <typename OpT, typename Fn>
void addComparison(Semantics &semantics, Fn getPredicate) {
  semantics.addElementwise<OpT>([getPredicate](OpT op) -> FailureOr<Kernel> {
    unsigned width = getOperandWidth(op);
    arith::CmpIPredicate predicate = getPredicate(op);
    return makeBinary([width, predicate](Slot a, Slot b) {
      return Slot::ofInteger(compareIntegers(predicate, a, b, width));
    });
  });
}

/// An integer conversion: how the source is read and the width of the result.
template <typename OpT>
void addIntegerCast(Semantics &semantics, bool isSigned) {
  semantics.addElementwise<OpT>([isSigned](OpT op) -> FailureOr<Kernel> {
    unsigned from = getOperandWidth(op);
    unsigned to = getIntegerWidth(getElementTypeOrSelf(op.getType()));
    return makeUnary([=](Slot a) {
      int64_t value = isSigned
                          ? asSigned(a.integer, from)
                          : static_cast<int64_t>(asUnsigned(a.integer, from));
      return Slot::ofInteger(wrapInteger(value, to));
    });
  });
}

} // namespace mlir::fa::executor

#endif // FA_LIB_EXECUTOR_INTEGERKERNELS_H
