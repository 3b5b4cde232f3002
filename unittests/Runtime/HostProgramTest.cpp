//===- HostProgramTest.cpp - Values computed for a launch -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers that a manifest has the host compute for a launch. First the
// operations: rounding, and reals among integers. Then what is read of
// arguments, then what is refused: wrong operands, division by 0, overflow. The
// last test says that a value misses only the numbers that it needs.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/HostProgram.h"

#include "RuntimeTest.h"

using namespace mlir::fa::runtime;

namespace {
class HostProgramTest : public ::testing::Test {
protected:
  Slot apply(const char *opcode, llvm::ArrayRef<Slot> operands) {
    llvm::Expected<Slot> slot =
        program.addOperation(*parseOpcode(opcode), operands, "x");
    EXPECT_TRUE(bool(slot)) << llvm::toString(slot.takeError());
    return *slot;
  }
  int64_t run(const char *opcode, int64_t a, int64_t b) {
    Slot slot = apply(opcode, {program.addInteger(a), program.addInteger(b)});
    return evaluate()[slot].integer;
  }
  std::string getError(const char *opcode, llvm::ArrayRef<Slot> operands) {
    llvm::Expected<Slot> slot =
        program.addOperation(*parseOpcode(opcode), operands, "x");
    if (!slot)
      return toString(slot.takeError());
    llvm::SmallVector<Number, 8> values;
    MissingNumbers missing;
    program.evaluate({}, 132, values, missing);
    return toString(missing.check(*slot));
  }
  /// All slots, none of which is missing.
  llvm::SmallVector<Number, 8>
  evaluate(llvm::ArrayRef<FaArgument> arguments = {}) {
    llvm::SmallVector<Number, 8> values;
    MissingNumbers missing;
    program.evaluate(arguments, 132, values, missing);
    EXPECT_TRUE(missing.empty());
    return values;
  }
  HostProgram program;
};
} // namespace

TEST_F(HostProgramTest, IntegersRoundAsTheirNamesSay) {
  EXPECT_EQ(run("floordiv", 7, 2), 3);
  EXPECT_EQ(run("floordiv", -7, 2), -4);
  EXPECT_EQ(run("ceildiv", 7, 2), 4);
  EXPECT_EQ(run("ceildiv", -7, 2), -3);
  EXPECT_EQ(run("ceildiv", 8, 2), 4);
  EXPECT_EQ(run("rem", -7, 4), 1);
  EXPECT_EQ(run("rem", 7, -1), 0);
  EXPECT_EQ(run("floordiv", 7, -1), -7);
  EXPECT_EQ(run("gcd", 12, -18), 6);
  EXPECT_EQ(run("gcd", 0, 7), 7);
  EXPECT_EQ(run("gcd", 0, 0), 0);
  EXPECT_EQ(run("sub", 3, 5), -2);
  EXPECT_EQ(run("min", 3, 5), 3);
  EXPECT_EQ(run("max", 3, 5), 5);
  EXPECT_EQ(run("less", 3, 3), 0);
  EXPECT_EQ(run("less_equal", 3, 3), 1);
  EXPECT_EQ(run("equal", 3, 5), 0);
}

TEST_F(HostProgramTest, MixedOperandsAreReal) {
  Slot half = program.addReal(0.5);
  Slot three = program.addInteger(3);
  Slot product = apply("mul", {half, three});
  Slot quotient = apply("div", {three, program.addInteger(4)});
  Slot root = apply("sqrt", {program.addInteger(16)});
  Slot less = apply("less", {half, three});
  Slot chosen = apply("select", {less, half, three});
  EXPECT_TRUE(program.isReal(product));
  EXPECT_TRUE(program.isReal(quotient));
  EXPECT_FALSE(program.isReal(less));
  EXPECT_TRUE(program.isReal(chosen));
  llvm::SmallVector<Number, 8> values = evaluate();
  EXPECT_EQ(values[product].real, 1.5);
  EXPECT_EQ(values[quotient].real, 0.75);
  EXPECT_EQ(values[root].real, 4.0);
  EXPECT_EQ(values[less].integer, 1);
  EXPECT_EQ(values[chosen].real, 0.5);
}

TEST_F(HostProgramTest, ReadsArguments) {
  FaArgument arguments[] = {makeTensor(FA_TYPE_F16, {2, 3, 4}, 0),
                            makeNumber(0.25), makeNumber(0)};
  arguments[2].type = FA_TYPE_I64;
  arguments[2].value.integer = 5;
  Slot dim = program.addDim(0, 1);
  Slot stride = program.addStride(0, 0);
  Slot real = program.addScalar(1, FA_TYPE_F64);
  Slot integer = program.addScalar(2, FA_TYPE_I64);
  Slot converted = program.addScalar(2, FA_TYPE_F64);
  Slot processors = program.addMultiprocessors();
  EXPECT_EQ(program.addDim(0, 1), dim) << "read once";
  llvm::SmallVector<Number, 8> values = evaluate(arguments);
  EXPECT_EQ(values[dim].integer, 3);
  EXPECT_EQ(values[stride].integer, 12);
  EXPECT_EQ(values[real].real, 0.25);
  EXPECT_EQ(values[integer].integer, 5);
  EXPECT_EQ(values[converted].real, 5.0);
  EXPECT_EQ(values[processors].integer, 132);
}

TEST_F(HostProgramTest, RefusesWhatHasNoValue) {
  Slot zero = program.addInteger(0);
  Slot one = program.addInteger(1);
  Slot least = program.addInteger(INT64_MIN);
  Slot half = program.addReal(0.5);
  EXPECT_EQ(getError("add", {one}), "'add' takes 2 operands, got 1");
  EXPECT_EQ(getError("ceildiv", {one, half}),
            "'ceildiv' takes integers, got an f64");
  EXPECT_EQ(getError("select", {half, one, one}),
            "the condition of 'select' is an integer, got an f64");
  EXPECT_EQ(getError("floordiv", {one, zero}), "value 'x' divides 1 by 0");
  HostProgram fresh;
  std::swap(program, fresh);
  least = program.addInteger(INT64_MIN);
  EXPECT_EQ(getError("floordiv", {least, program.addInteger(-1)}),
            "value 'x' does not fit 64 bits: floordiv of -9223372036854775808 "
            "and -1");
  std::swap(program, fresh);
  program = HostProgram();
  EXPECT_EQ(getError("sqrt", {program.addReal(-1)}),
            "value 'x' is the square root of a negative number");
  program = HostProgram();
  EXPECT_EQ(getError("div", {program.addReal(1), program.addReal(0)}),
            "value 'x' divides by 0");
}

TEST_F(HostProgramTest, MissesOnlyWhatNeedsAMissingNumber) {
  Slot zero = program.addInteger(0);
  Slot one = program.addInteger(1);
  Slot most = program.addInteger(INT64_MAX);
  Slot quotient = *program.addOperation(Opcode::FloorDiv, {one, zero}, "q");
  Slot sum = *program.addOperation(Opcode::Add, {most, one}, "s");
  Slot both = apply("mul", {sum, quotient});
  Slot chosen = apply("select", {one, zero, quotient});
  Slot other = apply("select", {zero, one, sum});
  Slot unknown = apply("select", {quotient, one, one});
  llvm::SmallVector<Number, 8> values;
  MissingNumbers missing;
  program.evaluate({}, 132, values, missing);
  EXPECT_EQ(toString(missing.check(quotient)), "value 'q' divides 1 by 0");
  const char *tooLarge =
      "value 's' does not fit 64 bits: add of 9223372036854775807 and 1";
  EXPECT_EQ(toString(missing.check(sum)), tooLarge);
  EXPECT_EQ(toString(missing.check(both)), tooLarge);
  EXPECT_EQ(toString(missing.check(other)), tooLarge);
  EXPECT_EQ(toString(missing.check(unknown)), "value 'q' divides 1 by 0");
  EXPECT_EQ(toString(missing.check(chosen)), "");
  EXPECT_EQ(values[chosen].integer, 0);
}
