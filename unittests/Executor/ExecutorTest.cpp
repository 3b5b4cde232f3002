//===- ExecutorTest.cpp - Running and extending the executor --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executor as a library: that a program runs twice, that a caller adds
// operations and kinds of values of its own (`Box`), and that it refuses by
// name what it does not know before anything runs. From `causalText` on the
// tests are of fa.attention: visible pairs are counted, and chosen rows
// evaluated alone.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/Executor.h"
#include "fa/Dialect/FA/IR/FADialect.h"
#include "fa/Executor/FASemantics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

namespace {
class ExecutorTest : public testing::Test {
protected:
  ExecutorTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect, fa::FADialect,
                        math::MathDialect, scf::SCFDialect,
                        tensor::TensorDialect, linalg::LinalgDialect>();
    context.allowUnregisteredDialects();
    addUpstreamSemantics(semantics);
    addFASemantics(semantics);
  }

  /// Parses a module and finds its function `main`.
  func::FuncOp parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return module ? module->lookupSymbol<func::FuncOp>("main") : func::FuncOp();
  }

  MLIRContext context;
  Semantics semantics;
  OwningOpRef<ModuleOp> module;
};

/// A value of a kind that the executor does not know.
struct Box : llvm::RTTIExtends<Box, Object> {
  static char ID;
  double content = 0;
};
} // namespace

char Box::ID;

TEST_F(ExecutorTest, RunsAFunctionTwice) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%a: i32, %b: i32) -> i32 {
      %c = arith.addi %a, %b : i32
      return %c : i32
    })mlir");
  ASSERT_TRUE(main);
  Executor executor(*module, semantics);
  for (int64_t i = 0; i < 2; ++i) {
    auto results = executor.run(main, {RuntimeValue(Slot::ofInteger(i)),
                                       RuntimeValue(Slot::ofInteger(2))});
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ((*results)[0].slot.integer, i + 2);
  }
}

TEST_F(ExecutorTest, TakesOperationsAndValuesOfOtherLibraries) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%x: f32) -> f32 {
      %box = "test.box"(%x) : (f32) -> !test.box
      %y = "test.open"(%box) : (!test.box) -> f32
      return %y : f32
    })mlir");
  ASSERT_TRUE(main);
  semantics.addNamed("test.box", [](Operation *op, ProgramBuilder &builder) {
    unsigned source = builder.getRegister(op->getOperand(0));
    unsigned result = builder.getRegister(op->getResult(0));
    builder.emit([=](Frame &frame) {
      llvm::IntrusiveRefCntPtr<Box> box(new Box());
      box->content = frame.slot(source).real;
      frame[result].object = box;
      return success();
    });
    return success();
  });
  semantics.addNamed("test.open", [](Operation *op, ProgramBuilder &builder) {
    unsigned source = builder.getRegister(op->getOperand(0));
    unsigned result = builder.getRegister(op->getResult(0));
    builder.emit([=](Frame &frame) {
      frame.slot(result).real = cast<Box>(*frame[source].object).content + 1;
      return success();
    });
    return success();
  });
  auto results =
      Executor(*module, semantics).run(main, {RuntimeValue(Slot::ofReal(2.5))});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].slot.real, 3.5);
}

TEST_F(ExecutorTest, RefusesByNameBeforeRunning) {
  func::FuncOp main = parse(R"mlir(
    func.func @main() {
      "test.unknown"() : () -> ()
      return
    })mlir");
  ASSERT_TRUE(main);
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages.push_back(diagnostic.str());
    return success();
  });
  EXPECT_TRUE(failed(Executor(*module, semantics).prepare(main)));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "the evaluator does not cover 'test.unknown'");
}

TEST_F(ExecutorTest, LeavesTensorArgumentsAsTheyAre) {
  func::FuncOp main = parse(R"mlir(
    func.func @main(%t: tensor<3xi32>, %x: i32) -> tensor<3xi32> {
      %r = linalg.fill ins(%x : i32) outs(%t : tensor<3xi32>) -> tensor<3xi32>
      return %r : tensor<3xi32>
    })mlir");
  ASSERT_TRUE(main);
  ArrayRefPtr argument = makeFilledArray({3}, Slot::ofInteger(1));
  auto results = Executor(*module, semantics)
                     .run(main, {RuntimeValue(argument),
                                 RuntimeValue(Slot::ofInteger(7))});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].array().data()[2].integer, 7);
  EXPECT_EQ(argument->data()[2].integer, 1);
}

static constexpr StringLiteral causalText = R"mlir(
  func.func @main(%q: tensor<1x?x?x4xf32>, %k: tensor<1x?x?x4xf32>,
                  %v: tensor<1x?x?x4xf32>, %o: tensor<1x?x?x4xf32>)
      -> tensor<1x?x?x4xf32> {
    %r = fa.attention
        ins(%q, %k, %v : tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>)
        outs(%o : tensor<1x?x?x4xf32>) mask causal
    return %r : tensor<1x?x?x4xf32>
  })mlir";

/// Query, key and value of ones, and a destination of nines.
static SmallVector<RuntimeValue> makeArguments(int64_t queries, int64_t keys,
                                               int64_t heads) {
  SmallVector<RuntimeValue> arguments;
  for (auto [length, value] : {std::pair(queries, 1.0), std::pair(keys, 1.0),
                               std::pair(keys, 1.0), std::pair(queries, 9.0)})
    arguments.push_back(
        makeFilledArray({1, length, heads, 4}, Slot::ofReal(value)));
  return arguments;
}

TEST_F(ExecutorTest, CountsVisiblePairs) {
  func::FuncOp main = parse(causalText);
  ASSERT_TRUE(main);
  AttentionWork work;
  Execution options;
  options.countedWork = &work;
  Executor executor(*module, semantics);
  // Rows see 4, 5 and 6 keys in each of two heads.
  ASSERT_TRUE(succeeded(executor.run(main, makeArguments(3, 6, 2), options)));
  EXPECT_EQ(work.pairs, 30);
  EXPECT_EQ(work.operations, 30 * 2 * (4 + 4));
  EXPECT_FALSE(work.isEstimate);
}

TEST_F(ExecutorTest, CountsVeryManyPairsOnSomeRows) {
  func::FuncOp main = parse(causalText);
  ASSERT_TRUE(main);
  AttentionWork work;
  Execution options;
  options.countedWork = &work;
  // 2^29 pairs are above what is looked at one by one; the count is linear in
  // the row, so that the estimate is exact.
  int64_t queries = 64, keys = int64_t(1) << 23;
  SmallVector<RuntimeValue> arguments = makeArguments(queries, 1, 1);
  // One key stands for all of them: a view that does not move.
  for (unsigned i : {1, 2})
    arguments[i] =
        makeView(arguments[i].array(), 0, {1, keys, 1, 4}, {0, 0, 0, 0});
  Executor executor(*module, semantics);
  ASSERT_TRUE(succeeded(executor.run(main, arguments, options)));
  EXPECT_TRUE(work.isEstimate);
  EXPECT_EQ(work.pairs,
            queries * (keys - queries) + queries * (queries + 1) / 2);
}

TEST_F(ExecutorTest, EvaluatesChosenRowsOnly) {
  func::FuncOp main = parse(causalText);
  ASSERT_TRUE(main);
  Execution options;
  options.chooseRows = [](const AttentionSize &size) {
    EXPECT_EQ(size.queries, 3);
    EXPECT_EQ(size.keys, 6);
    return std::vector<RowIndex>{{0, 0, 2}, {0, 1, 0}};
  };
  Executor executor(*module, semantics);
  auto results = executor.run(main, makeArguments(3, 6, 2), options);
  ASSERT_TRUE(succeeded(results));
  Array &output = (*results)[0].array();
  // (query, head) in memory: the average of ones is 1, the others stay.
  std::vector<double> expected = {9, 1, 9, 9, 1, 9};
  for (int64_t row = 0; row < 6; ++row)
    EXPECT_NEAR(output.data()[row * 4].real, expected[row], 1e-15) << row;
}
