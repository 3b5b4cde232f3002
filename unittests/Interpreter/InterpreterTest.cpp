//===- InterpreterTest.cpp - Interleavings and limits ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Interpreter/Interpreter.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

namespace {
class InterpreterTest : public testing::Test {
protected:
  InterpreterTest()
      : handler(&context, [this](Diagnostic &diagnostic) {
          messages.push_back(diagnostic.str());
          for (Diagnostic &note : diagnostic.getNotes())
            messages.push_back(note.str());
          return success();
        }) {
    context.loadDialect<fagpu::FAGPUDialect, gpu::GPUDialect>();
  }

  /// Runs @main on a grid; its argument is an array of `size` zeros, which is
  /// returned.
  FailureOr<std::vector<int64_t>> run(StringRef text, int64_t size,
                                      const InterpreterOptions &options) {
    messages.clear();
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    Interpreter interpreter(options);
    Semantics semantics;
    addUpstreamSemantics(semantics);
    interpreter.addSemantics(semantics);
    Executor executor(*module, semantics, getDeclaredPolicy());
    ArrayRefPtr array = makeFilledArray({size}, Slot::ofInteger(0));
    auto main = module->lookupSymbol<func::FuncOp>("main");
    if (failed(interpreter.runKernel(executor, main, {2, 1, 1},
                                     {RuntimeValue(array)})))
      return failure();
    std::vector<int64_t> values;
    for (int64_t i = 0; i < size; ++i)
      values.push_back(array->data()[i].integer);
    return values;
  }

  MLIRContext context;
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler;
};
} // namespace

// The order of tickets is the order in which roles and blocks go on.
static const char *drawTickets = R"mlir(
  func.func @main(%log: memref<40xi32>) attributes {fagpu.kernel = "sm_90a"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c10 = arith.constant 10 : index
    %counter = memref.subview %log[0] [2] [1]
        : memref<40xi32> to memref<2xi32, strided<[1]>>
    %words = memref.cast %counter
        : memref<2xi32, strided<[1]>> to memref<2xi32>
    %block = gpu.block_id x
    fagpu.role @a groups(1) elect {
      scf.for %i = %c0 to %c10 step %c1 {
        %t = fagpu.ticket %words : memref<2xi32>
        %at = arith.index_cast %t : i32 to index
        %number = arith.addi %block, %c1 : index
        %value = arith.index_cast %number : index to i32
        memref.store %value, %log[%at] : memref<40xi32>
      }
      fagpu.retire %words : memref<2xi32>
    }
    return
  })mlir";

TEST_F(InterpreterTest, ASeedRepeatsARun) {
  InterpreterOptions options;
  options.seed = 7;
  auto first = run(drawTickets, 40, options);
  auto second = run(drawTickets, 40, options);
  ASSERT_TRUE(succeeded(first) && succeeded(second));
  EXPECT_EQ(*first, *second);
}

TEST_F(InterpreterTest, SeedsGiveManyInterleavings) {
  std::set<std::vector<int64_t>> logs;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    InterpreterOptions options;
    options.seed = seed;
    auto log = run(drawTickets, 40, options);
    ASSERT_TRUE(succeeded(log));
    logs.insert(*log);
  }
  EXPECT_GT(logs.size(), 8u);
}

TEST_F(InterpreterTest, AnEndlessLoopIsStopped) {
  InterpreterOptions options;
  options.maxSteps = 1000;
  auto result = run(R"mlir(
    func.func @main(%x: memref<1xi32>) attributes {fagpu.kernel = "sm_90a"} {
      %true = arith.constant true
      fagpu.role @a groups(2) {
        fagpu.repeat {
          fagpu.yield %true : i1
        }
      }
      return
    })mlir",
                    1, options);
  EXPECT_TRUE(failed(result));
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0], "'fagpu.repeat' op runs after 1000 steps, the limit "
                         "for one launch: does a loop end?");
}

TEST_F(InterpreterTest, BlocksWaitForAMultiprocessor) {
  // With one multiprocessor the blocks run one after the other.
  InterpreterOptions options;
  options.multiprocessors = 1;
  auto log = run(drawTickets, 40, options);
  ASSERT_TRUE(succeeded(log));
  std::vector<int64_t> expected(40, 0);
  std::fill(expected.begin() + 2, expected.begin() + 12, 1);
  std::fill(expected.begin() + 12, expected.begin() + 22, 2);
  EXPECT_EQ(*log, expected);
}
