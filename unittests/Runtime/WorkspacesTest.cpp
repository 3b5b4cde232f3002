//===- WorkspacesTest.cpp - Calls of several launches ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of two launches, of which one fills memory of the device that the other
// reads. `tableManifest` describes them. First that both have one workspace, in
// order, and every call its own; then captures; last calls that fail, which
// leave nothing behind, and manifests with mistakes.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

using namespace mlir::fa::runtime;

/// A launch that fills a table, and one that reads it.
static constexpr llvm::StringLiteral tableManifest = R"json({
  "version": 1, "kernel": "reads", "chip": "sm_90a",
  "block": [128],
  "arguments": [{"name": "x", "dtype": "f32", "shape": ["n"]}],
  "values": [
    {"name": "rows", "op": "floordiv", "operands": ["n", 2]},
    {"name": "bytes", "op": "mul", "operands": ["n", 4]}],
  "workspaces": [{"name": "table", "bytes": "bytes"}],
  "before": [
    {"kernel": "fills", "block": [256],
     "parameters": [{"i32": "n"}, {"workspace": "table"}], "grid": ["rows"]}],
  "parameters": [{"workspace": "table"}, {"pointer": "x"}, {"counter": 2}],
  "grid": ["n"]
})json";

static constexpr llvm::StringLiteral tableImage =
    "fake-kernel: fills 256 0 4 8\nfake-kernel: reads 128 0 8 8 8\n";

namespace {
class WorkspacesTest : public RuntimeTest {
protected:
  void createTable() {
    create();
    ASSERT_EQ(load(tableManifest, tableImage), FA_SUCCESS)
        << faRuntimeGetErrorMessage();
  }
  FaStatus call(int64_t n, void *stream = nullptr) {
    return launch({makeTensor(FA_TYPE_F32, {n}, 0)}, stream);
  }
  /// Where the workspace of the two launches from `first` on is; 0 where they
  /// do not have one and the same.
  static uint64_t getTable(int first) {
    auto filled = getParameter<uint64_t>(*fakeGetLaunch(first), 1);
    auto read = getParameter<uint64_t>(*fakeGetLaunch(first + 1), 0);
    return filled == read ? filled : 0;
  }
};
} // namespace

// What one launch fills, the next one may copy from in bulk.
TEST_F(WorkspacesTest, MapsWorkspaces) {
  std::string text = tableManifest.str(), from = "[{\"workspace\": \"table\"}";
  text.replace(text.rfind(from), from.size(),
               "[{\"tensor_map\": \"table\", \"dtype\": \"f16\", \"dims\": ["
               "{\"size\": 8, \"box\": 8}, "
               "{\"size\": \"rows\", \"stride\": 8, \"box\": 4}]}");
  create();
  ASSERT_EQ(load(text, "fake-kernel: fills 256 0 4 8\n"
                       "fake-kernel: reads 128 0 128 8 8\n"),
            FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  ASSERT_EQ(call(32), FA_SUCCESS) << faRuntimeGetErrorMessage();
  auto map = getParameter<FakeTensorMap>(*fakeGetLaunch(1), 0);
  EXPECT_EQ(uint64_t(map.address),
            getParameter<uint64_t>(*fakeGetLaunch(0), 1));
  EXPECT_EQ(map.sizes[1], 16u);
  EXPECT_EQ(map.strides[0], 16u);
  // Of nothing, a map of one element.
  ASSERT_EQ(call(1), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(getParameter<FakeTensorMap>(*fakeGetLaunch(2), 0).sizes[1], 1u);
}

TEST_F(WorkspacesTest, LaunchesInOrderOnOneWorkspace) {
  createTable();
  void *stream = fakeCreateStream();
  ASSERT_EQ(call(10, stream), FA_SUCCESS) << faRuntimeGetErrorMessage();
  ASSERT_EQ(fakeGetLaunchCount(), 2);
  const FakeLaunch &fills = *fakeGetLaunch(0), &reads = *fakeGetLaunch(1);
  EXPECT_STREQ(fills.kernel, "fills");
  EXPECT_EQ(fills.grid[0], 5u);
  EXPECT_EQ(fills.block[0], 256u);
  EXPECT_EQ(getParameter<int32_t>(fills, 0), 10);
  EXPECT_STREQ(reads.kernel, "reads");
  EXPECT_EQ(reads.grid[0], 10u);
  EXPECT_EQ(reads.block[0], 128u);
  EXPECT_EQ(fills.streamID, reads.streamID);
  EXPECT_NE(getTable(0), 0u);
  EXPECT_EQ(fakeGetCalls("cuMemAllocFromPoolAsync"), 1);
  EXPECT_EQ(fakeGetCalls("cuMemFreeAsync"), 1);
  fakeDestroyStream(stream);
}

TEST_F(WorkspacesTest, EveryCallHasItsOwn) {
  createTable();
  for (int i = 0; i != 20; ++i)
    ASSERT_EQ(call(10 + i), FA_SUCCESS) << faRuntimeGetErrorMessage();
  for (int i = 1; i != 20; ++i)
    EXPECT_NE(getTable(2 * i), getTable(2 * i - 2));
  EXPECT_EQ(fakeGetCalls("cuMemPoolCreate"), 1);
  EXPECT_EQ(fakeGetCalls("cuMemFreeAsync"), 20);
  EXPECT_EQ(fakeGetCalls("cuStreamSynchronize"), 0);
}

TEST_F(WorkspacesTest, AnEmptyGridBeforeIsLeftOut) {
  createTable();
  ASSERT_EQ(call(1), FA_SUCCESS) << faRuntimeGetErrorMessage();
  ASSERT_EQ(fakeGetLaunchCount(), 1);
  EXPECT_STREQ(fakeGetLaunch(0)->kernel, "reads");
}

TEST_F(WorkspacesTest, NothingIsTakenWhereNothingIsLaunched) {
  createTable();
  ASSERT_EQ(call(0), FA_SUCCESS) << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunchCount(), 0);
  EXPECT_EQ(fakeGetCalls("cuMemAllocFromPoolAsync"), 0);
}

TEST_F(WorkspacesTest, MayBeCapturedFirst) {
  createTable();
  void *stream = fakeCreateStream();
  fakeBeginCapture(stream);
  ASSERT_EQ(call(10, stream), FA_SUCCESS) << faRuntimeGetErrorMessage();
  void *graph = fakeEndCapture(stream);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(fakeGetLaunch(0)->graph, graph);
  EXPECT_EQ(fakeGetLaunch(1)->graph, graph);
  EXPECT_NE(getTable(0), 0u);
  fakeDestroyGraph(graph);
  fakeDestroyStream(stream);
}

TEST_F(WorkspacesTest, PrepareMakesThePool) {
  createTable();
  ASSERT_EQ(faKernelPrepare(kernel, 0), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuMemPoolCreate"), 1);
  EXPECT_EQ(fakeGetCalls("cuModuleGetFunction"), 2);
}

// Nothing is launched, and nothing is kept (see TearDown).
TEST_F(WorkspacesTest, ACallThatFailsLaunchesNothing) {
  for (const char *function :
       {"cuMemPoolCreate", "cuMemPoolSetAttribute", "cuMemAllocFromPoolAsync",
        "cuModuleGetFunction", "cuFuncGetAttribute"}) {
    fakeReset();
    createTable();
    fakeFail(function, 2, 0, 1);
    EXPECT_EQ(call(10), FA_OUT_OF_MEMORY) << function;
    EXPECT_EQ(fakeGetLaunchCount(), 0) << function;
    EXPECT_EQ(call(10), FA_SUCCESS)
        << function << ": " << faRuntimeGetErrorMessage();
    EXPECT_NE(getTable(0), 0u);
    faKernelDestroy(kernel);
    faRuntimeDestroy(runtime);
    kernel = nullptr;
    runtime = nullptr;
    EXPECT_EQ(fakeGetLiveObjects(), 0) << function;
  }
}

TEST_F(WorkspacesTest, ALaunchThatFailsGivesTheWorkspaceBack) {
  createTable();
  for (int launched = 0; launched != 2; ++launched) {
    int before = fakeGetLaunchCount();
    fakeFail("cuLaunchKernel", 2, launched, 1);
    EXPECT_EQ(call(10), FA_OUT_OF_MEMORY);
    EXPECT_EQ(fakeGetLaunchCount(), before + launched);
    EXPECT_EQ(fakeGetCalls("cuMemFreeAsync"), launched + 1);
  }
}

TEST_F(WorkspacesTest, SaysHowMuchItCouldNotTake) {
  createTable();
  fakeFail("cuMemAllocFromPoolAsync", 2, 0, 1);
  EXPECT_EQ(call(100), FA_OUT_OF_MEMORY);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "taking 400 bytes of workspace on device 0: out of memory "
               "(CUDA_ERROR_OUT_OF_MEMORY, 2)");
}

TEST_F(WorkspacesTest, MistakesOfManifests) {
  struct Mistake {
    const char *from, *to, *error;
  };
  const Mistake mistakes[] = {
      {"\"bytes\": \"bytes\"", "\"bytes\": 0.5",
       "manifest field workspaces[0].bytes: expected an integer, got an f64"},
      {"\"bytes\": \"bytes\"", "\"size\": 1",
       "manifest field workspaces[0].size: no such field; there are name, "
       "bytes"},
      {"[{\"workspace\": \"table\"}", "[{\"workspace\": \"tables\"}",
       "manifest field parameters[0].workspace: there is no workspace "
       "'tables'"},
      {"[{\"name\": \"table\", \"bytes\": \"bytes\"}",
       "[{\"name\": \"table\", \"bytes\": 1}, "
       "{\"name\": \"table\", \"bytes\": 1}",
       "manifest field workspaces[1].name: the name 'table' is taken"},
      {"[{\"workspace\": \"table\"}",
       "[{\"tensor_map\": \"x\", \"dtype\": \"f16\", \"dims\": []}",
       "manifest field parameters[0].tensor_map: there is no workspace 'x'"},
      {"[{\"workspace\": \"table\"}",
       "[{\"tensor_map\": \"table\", \"dtype\": \"half\", \"dims\": []}",
       "manifest field parameters[0].dtype: expected the type of an argument, "
       "as f16"},
      {"[{\"workspace\": \"table\"}",
       "[{\"tensor_map\": \"table\", \"dtype\": \"f16\", \"offset\": 8, "
       "\"dims\": []}",
       "manifest field parameters[0].offset: a tensor map of a workspace "
       "begins "
       "where it does, expected no offset"},
      {"\"block\": [256]", "\"block\": [2048]",
       "manifest field before[0].block[0]: expected an integer from 1 to "
       "1024, got 2048"},
      {"\"grid\": [\"rows\"]", "\"grid\": [\"row\"]",
       "manifest field before[0].grid[0]: expected a number or the name of a "
       "dim, a scalar or a value before, multiprocessors, ARGUMENT.dim.N or "
       "ARGUMENT.stride.N, got 'row'"}};
  create();
  for (const Mistake &mistake : mistakes) {
    std::string text = tableManifest.str();
    size_t at = text.find(mistake.from);
    ASSERT_NE(at, std::string::npos) << mistake.from;
    text.replace(at, strlen(mistake.from), mistake.to);
    EXPECT_EQ(load(text, tableImage), FA_INVALID_MANIFEST) << mistake.to;
    EXPECT_STREQ(faRuntimeGetErrorMessage(), mistake.error);
  }
}
