//===- CPUCompilerTest.cpp - Compile and call small functions -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that are compiled and called, first with what they take, then on
// code that was wrong once: copies of rows, tables without elements. Last the
// threads that compiled code runs on.
//
//===----------------------------------------------------------------------===//

#include "fa/JIT/CPUCompiler.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Runtime/ParallelFor.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace mlir::fa;

namespace {
class CPUCompilerTest : public ::testing::Test {
protected:
  CPUCompilerTest() {
    context.loadDialect<arith::ArithDialect, FADialect, func::FuncDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
  }
  OwningOpRef<ModuleOp> parse(StringRef text) {
    return parseSourceString<ModuleOp>(text, &context);
  }
  MLIRContext context;
};
} // namespace

TEST_F(CPUCompilerTest, PassesMemrefsAndScalars) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    func.func @axpy(%a: f32, %x: memref<?xf32, strided<[?], offset: ?>>,
                    %y: memref<?xf32, strided<[?], offset: ?>>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %u = memref.load %x[%i] : memref<?xf32, strided<[?], offset: ?>>
        %v = memref.load %y[%i] : memref<?xf32, strided<[?], offset: ?>>
        %p = arith.mulf %a, %u : f32
        %s = arith.addf %p, %v : f32
        memref.store %s, %y[%i] : memref<?xf32, strided<[?], offset: ?>>
      }
      return
    })mlir");
  ASSERT_TRUE(module);
  auto compiled = compileToCPU(*module);
  ASSERT_TRUE(succeeded(compiled));
  float a = 2, x[6] = {1, -1, 2, -1, 3, -1}, y[3] = {10, 20, 30};
  int64_t n = 3;
  MemRefDescriptor xs(x, {3}, {2}), ys(y, {3});
  llvm::Error error = (*compiled)->invoke("axpy", {&a, xs.get(), ys.get(), &n});
  ASSERT_FALSE(bool(error));
  EXPECT_EQ(y[0], 12);
  EXPECT_EQ(y[1], 24);
  EXPECT_EQ(y[2], 36);
}

#if defined(__x86_64__)
// A vector of nine elements of bf16 has no code on processors that compute with
// bf16. A row of nine is one of eight, and an element.
TEST_F(CPUCompilerTest, CopiesRowsOfNineOnProcessorsWithBF16) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    !q = memref<1x3x3x16xbf16>
    !k = memref<1x70x1x16xbf16>
    !v = memref<1x70x1x9xbf16>
    !o = memref<1x3x3x9xbf16, strided<[?, ?, ?, 1], offset: ?>>
    func.func @attend(%q: !q, %k: !k, %v: !v, %o: !o) {
      fa.attention ins(%q, %k, %v : !q, !k, !v) outs(%o : !o)
          {config = #fa.config<query_block = 32, key_block = 64, target = #fa.cpu<lanes = 16>>}
      return
    })mlir");
  ASSERT_TRUE(module);
  CPUCompileOptions options;
  options.cpu = "sapphirerapids";
  EXPECT_TRUE(succeeded(compileToCPUObject(*module, options)));
}
#endif

// A framework's tensor without elements may have no memory at all. `ids` has
// many rows that its other size leaves empty.
TEST_F(CPUCompilerTest, ReadsNothingOfATableWithoutElements) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
    !t = tensor<1x?x2x8xf32>
    func.func @attend(%q: !t, %o: !t, %slopes: tensor<?xf32>,
                      %ids: tensor<1x?xi32>, %bias: tensor<1x2x?x1000000xf32>) -> !t {
      %r = fa.attention ins(%q, %q, %q : !t, !t, !t) outs(%o : !t)
          score alibi(%slopes : tensor<?xf32>) bias(%bias : tensor<1x2x?x1000000xf32>)
          mask documents(%ids : tensor<1x?xi32>)
      return %r : !t
    })mlir");
  ASSERT_TRUE(module);
  auto compiled = compileToCPU(*module);
  ASSERT_TRUE(succeeded(compiled));
  constexpr int64_t queries = 70;
  std::vector<float> input(queries * 16, 1.0f), output(input.size(), -1.0f);
  MemRefDescriptor q(input.data(), {1, queries, 2, 8});
  MemRefDescriptor slopes(nullptr, {0}), ids(nullptr, {1, 0});
  MemRefDescriptor bias(nullptr, {1, 2, 0, 1000000});
  MemRefDescriptor out(output.data(), {1, queries, 2, 8});
  llvm::Error error =
      (*compiled)->invoke("attend", {q.get(), out.get(), slopes.get(),
                                     ids.get(), bias.get(), out.get()});
  ASSERT_FALSE(bool(error));
  // Slopes, ids and bias read as 0: the mean of equal values.
  for (float value : output)
    EXPECT_NEAR(value, 1.0f, 1e-6f);
}

TEST_F(CPUCompilerTest, NamesAMissingFunction) {
  OwningOpRef<ModuleOp> module = parse("func.func @f() { return }");
  auto compiled = compileToCPU(*module);
  ASSERT_TRUE(succeeded(compiled));
  auto function = (*compiled)->lookup("g");
  ASSERT_FALSE(bool(function));
  EXPECT_EQ(llvm::toString(function.takeError()),
            "no public function 'g' in the compiled module");
}

/// How often each of 1,000 indices is visited, by threads with scratch.
static std::vector<std::atomic<int>> visitAll() {
  std::vector<std::atomic<int>> visits(1000);
  fa_parallel_for(
      [](void *context, int64_t index, void *scratch) {
        *static_cast<int64_t *>(scratch) = index;
        auto &visits = *static_cast<std::vector<std::atomic<int>> *>(context);
        if (reinterpret_cast<uintptr_t>(scratch) % 64 == 0)
          ++visits[*static_cast<int64_t *>(scratch)];
      },
      &visits, 1000, 100);
  return visits;
}

TEST(ParallelFor, VisitsEveryIndexOnceWithScratch) {
  for (std::atomic<int> &visit : visitAll())
    EXPECT_EQ(visit, 1);
}

TEST(ParallelFor, RunsOnThreadsOfARunner) {
  static std::atomic<int> started;
  started = 0;
  fa_set_thread_runner([](fa_thread_body body, void *context, int64_t count) {
    EXPECT_EQ(count, 1000);
    std::vector<std::thread> threads(3);
    for (std::thread &thread : threads)
      thread = std::thread([=] {
        ++started;
        body(context);
      });
    for (std::thread &thread : threads)
      thread.join();
  });
  for (std::atomic<int> &visit : visitAll())
    EXPECT_EQ(visit, 1);
  EXPECT_EQ(started, 3);
  // One without threads leaves all to the caller.
  fa_set_thread_runner([](fa_thread_body, void *, int64_t) {});
  for (std::atomic<int> &visit : visitAll())
    EXPECT_EQ(visit, 1);
  fa_set_thread_runner(nullptr);
}

TEST(ParallelFor, LeavesTheRunnerToTheParent) {
  fa_set_thread_runner([](fa_thread_body, void *, int64_t) { std::abort(); });
  pid_t child = fork();
  if (child == 0) {
    bool isDone = llvm::all_of(
        visitAll(), [](std::atomic<int> &visit) { return visit == 1; });
    _exit(isDone ? 0 : 1);
  }
  fa_set_thread_runner(nullptr);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
