//===- ImagesTest.cpp - Kernels with machine code of their own ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of two launches, each of a kernel with a cubin of its own: from
// memory, from files, and with images that are cut, damaged, or not there.
// Read the fixture, then tests of memory; those of files stand at the end.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include "fa/Runtime/CUDA/Manifest.h"

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace mlir::fa::runtime;

static constexpr llvm::StringLiteral fills = "fake-kernel: fills 256 0 4\n";
static constexpr llvm::StringLiteral reads = "fake-kernel: reads 128 0 8 8\n";

static const std::string listOfImages =
    R"({"kernel": "fills", "file": "fa-fills.cubin", "bytes": 27},
       {"kernel": "reads", "file": "fa-reads.cubin", "bytes": 29})";

static std::string makeManifest(llvm::StringRef cubins, int version = 2) {
  return "{\"version\": " + std::to_string(version) +
         ", \"images\": {\"cubin\": " + cubins.str() + R"(},
  "kernel": "reads", "chip": "sm_90a", "block": [128],
  "arguments": [{"name": "x", "dtype": "f32", "shape": ["n"]}],
  "before": [{"kernel": "fills", "block": [256], "parameters": [{"i32": "n"}],
              "grid": ["n"]}],
  "parameters": [{"pointer": "x"}, {"counter": 2}], "grid": ["n"]})";
}

namespace {
class ImagesTest : public RuntimeTest {
protected:
  std::string manifest = makeManifest("[" + listOfImages + "]");

  FaStatus call() { return launch({makeTensor(FA_TYPE_F32, {5}, 0)}); }
  void expectError(FaStatus got, FaStatus status, const std::string &message) {
    EXPECT_EQ(got, status);
    EXPECT_EQ(faRuntimeGetErrorMessage(), message);
  }
  void expectBothLaunched() {
    EXPECT_EQ(call(), FA_SUCCESS) << faRuntimeGetErrorMessage();
    ASSERT_EQ(fakeGetLaunchCount(), 2);
    EXPECT_STREQ(fakeGetLaunch(0)->kernel, "fills");
    EXPECT_STREQ(fakeGetLaunch(1)->kernel, "reads");
  }
};
} // namespace

TEST_F(ImagesTest, FollowEachOtherInMemory) {
  create();
  ASSERT_EQ(load(manifest, (fills + reads).str()), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  expectBothLaunched();
  EXPECT_EQ(fakeGetCalls("cuModuleLoadDataEx"), 2);
}

// PTX is one text, and so is machine code that a caller made of it.
TEST_F(ImagesTest, MayBeOneOfAll) {
  create();
  ASSERT_EQ(load(makeManifest("\"both.cubin\"", 1), (fills + reads).str()),
            FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  expectBothLaunched();
  EXPECT_EQ(fakeGetCalls("cuModuleLoadDataEx"), 1);
}

// Of one text `fills` spills less by -O1 and `reads` by -O3.
TEST_F(ImagesTest, AreOfTheirOwnLevelOfPtxas) {
  create();
  ASSERT_EQ(load(makeManifest("\"both.cubin\"", 1), "", "fake PTX"), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  std::string log = ::testing::TempDir() + "fa-ptxas-runs-" +
                    std::to_string(getpid()),
              script = writeScript(
                  "say() { echo \"Compiling entry function '$1' for\"\n"
                  "  echo \"  8 bytes stack frame, $2 bytes spill stores, 0 "
                  "bytes spill loads\"; }\n"
                  "echo >>" +
                  log +
                  "\n"
                  "case \"$*\" in\n"
                  "*-O1*) say fills 0; say reads 40\n"
                  "  echo 'fake-kernel: fills 256 0 4' >\"$4\";;\n"
                  "*) say fills 60; say reads 16\n"
                  "  echo 'fake-kernel: reads 128 0 8 8' >\"$4\";;\n"
                  "esac");
  setenv("FA_PTXAS", script.c_str(), /*overwrite=*/1);
  expectBothLaunched();
  EXPECT_EQ(call(), FA_SUCCESS);
  EXPECT_EQ(fakeGetCalls("cuModuleLoadDataEx"), 2);
  // Each level ran once.
  std::ifstream runs(log);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(runs), {}, '\n'), 2);
  setenv("FA_PTXAS", "none", /*overwrite=*/1);
  unlink(script.c_str());
  unlink(log.c_str());
}

// Without files they have lengths alone.
TEST_F(ImagesTest, MayHaveNoFiles) {
  create();
  std::string inMemory = makeManifest(
      R"([{"kernel": "fills", "bytes": 27}, {"kernel": "reads", "bytes": 29}])");
  ASSERT_EQ(load(inMemory, (fills + reads).str()), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  expectBothLaunched();
  std::string path = ::testing::TempDir() + "fa-in-memory.json";
  std::ofstream(path) << inMemory;
  expectError(faKernelLoad(runtime, path.c_str(), &kernel), FA_INVALID_MANIFEST,
              path + ": manifest field images.cubin: expected the file name of "
                     "the cubin of 'fills'");
  unlink(path.c_str());
}

TEST_F(ImagesTest, AreNeitherCutNorTooLong) {
  create();
  std::string both = (fills + reads).str();
  expectError(load(manifest, llvm::StringRef(both).drop_back()),
              FA_INVALID_IMAGE,
              "the cubin of kernel 'reads' has 28 bytes, expected 29");
  expectError(load(manifest, fills), FA_INVALID_IMAGE,
              "the cubin of kernel 'reads' has 0 bytes, expected 29");
  expectError(load(manifest, both + "\n"), FA_INVALID_IMAGE,
              "the cubins have 57 bytes, expected 56");
}

TEST_F(ImagesTest, AreNamedWhereOneIsDamaged) {
  create();
  std::string damaged(reads.size(), '?');
  ASSERT_EQ(load(manifest, fills.str() + damaged), FA_SUCCESS);
  EXPECT_EQ(call(), FA_INVALID_IMAGE);
  EXPECT_EQ(std::string(faRuntimeGetErrorMessage())
                .find("loading kernel 'reads' on device 0 (Fake GPU, sm_90)"),
            0u)
      << faRuntimeGetErrorMessage();
  EXPECT_EQ(fakeGetLaunchCount(), 0);
}

TEST_F(ImagesTest, MustBeThereForEachKernel) {
  struct {
    std::string cubins, error;
    int version = 2;
  } cases[] = {
      {R"([{"kernel": "fills", "file": "f", "bytes": 27}])",
       "images.cubin: expected a cubin of each kernel, there is none of "
       "'reads'"},
      {"[]", "images.cubin: expected a cubin of each kernel, there is none of "
             "'fills'"},
      {"[" + listOfImages +
           R"(, {"kernel": "reads", "file": "f", "bytes": 1}])",
       "images.cubin[2].kernel: 'reads' has a cubin above"},
      {R"([{"kernel": "writes", "file": "f", "bytes": 27}])",
       "images.cubin[0].kernel: no launch of 'writes' is described"},
      {R"([{"kernel": "fills", "file": "f", "bytes": 0}])",
       "images.cubin[0].bytes: expected an integer from 1 to "
       "9223372036854775807, got 0"},
      {R"([{"kernel": "fills", "file": "f"}])",
       "images.cubin[0].bytes: this field is missing"},
      {"[\"fa-fills.cubin\"]",
       "images.cubin[0]: expected an object, got \"fa-fills.cubin\""},
      {"[" + listOfImages + "]", "images.cubin: expected a text, got an array",
       1},
      {"7", "images.cubin: expected a text, got 7"}};
  for (const auto &test : cases) {
    auto read = readManifest(makeManifest(test.cubins, test.version));
    ASSERT_FALSE(bool(read)) << test.error;
    EXPECT_EQ(llvm::toString(read.takeError()), "manifest field " + test.error);
  }
}

TEST_F(ImagesTest, LieInFilesOfTheirOwn) {
  create();
  std::string folder = ::testing::TempDir(), path = folder + "fa-images.json";
  std::ofstream(path) << manifest;
  std::ofstream(folder + "fa-fills.cubin") << fills.str();
  expectError(faKernelLoad(runtime, path.c_str(), &kernel), FA_INVALID_IMAGE,
              "cannot read '" + folder +
                  "fa-reads.cubin': No such file or directory");
  std::ofstream(folder + "fa-reads.cubin") << reads.drop_back(4).str();
  expectError(faKernelLoad(runtime, path.c_str(), &kernel), FA_INVALID_IMAGE,
              "the cubin of kernel 'reads' has 25 bytes, expected 29");
  std::ofstream(folder + "fa-reads.cubin") << reads.str();
  ASSERT_EQ(faKernelLoad(runtime, path.c_str(), &kernel), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  expectBothLaunched();
  for (const char *file :
       {"fa-images.json", "fa-fills.cubin", "fa-reads.cubin"})
    std::remove((folder + file).c_str());
}
