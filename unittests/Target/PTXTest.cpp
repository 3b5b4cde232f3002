//===- PTXTest.cpp - Texts of kernels joined ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/PTX.h"
#include "gtest/gtest.h"

using namespace mlir::fa;

static const std::string head = "//\n// Generated\n//\n\n.version 8.0\n"
                                ".target sm_90a\n.address_size 64\n\n";

static std::string makeKernel(const std::string &name,
                              const std::string &label) {
  return "\t// .globl\t" + name + "\n.visible .entry " + name +
         "(\n\t.param .u64 p\n)\n.reqntid 128\n{\n" + label + "1:\n\tbra " +
         label + "1;\n}\n";
}

/// A function whose lines are those of the others, but for one.
static std::string makeFunction(const std::string &name,
                                const std::string &operation) {
  return ".func  (.param .b32 r) " + name +
         "(\n\t.param .b32 p\n)\n{\n\t.reg .b32 \t%r<3>;\n\n\t" + operation +
         "\n\tret;\n}\n";
}

TEST(JoinPTX, countsKernelsByLabels) {
  EXPECT_EQ(joinPTX({head + makeKernel("a", "$L__BB0_"),
                     head + makeKernel("b", "$L__BB0_")}),
            head + makeKernel("a", "$L__BB0_") + makeKernel("b", "$L__BB1_"));
}

TEST(JoinPTX, keepsEqualLinesOfOtherFunctions) {
  std::string kernelA = makeKernel("a", "$L__BB0_"),
              kernelB = makeKernel("b", "$L__BB0_");
  std::string add = makeFunction("f", "add.s32 %r1, %r2, 1;"),
              subtract = makeFunction("g", "sub.s32 %r1, %r2, 1;");
  EXPECT_EQ(joinPTX({head + add + kernelA, head + add + subtract + kernelB}),
            head + add + kernelA + subtract + makeKernel("b", "$L__BB1_"));
}

TEST(JoinPTX, keepsEqualLinesOfOtherDeclarations) {
  auto declare = [](const std::string &name) {
    return ".extern .func " + name + "\n(\n\t.param .b64 p\n)\n;\n";
  };
  EXPECT_EQ(joinPTX({head + declare("f") + makeKernel("a", "$L__BB0_"),
                     head + declare("g") + declare("f") +
                         makeKernel("b", "$L__BB0_")}),
            head + declare("f") + makeKernel("a", "$L__BB0_") + declare("g") +
                makeKernel("b", "$L__BB1_"));
}
