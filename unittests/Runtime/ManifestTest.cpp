//===- ManifestTest.cpp - Manifests that are refused ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Manifests that are read, and those that are refused. `mistakes` changes one
// text of the manifest of RuntimeTest.h at a time, and has the message for it;
// a new field gets its rows there. `ManifestFileTest` reads manifests and
// images from files.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Manifest.h"

#include "RuntimeTest.h"
#include <cstdio>
#include <fstream>

using namespace mlir::fa::runtime;

static std::string getError(llvm::StringRef text) {
  llvm::Expected<Manifest> manifest = readManifest(text);
  return manifest ? "" : toString(manifest.takeError());
}

TEST(ManifestTest, ReadsAKernel) {
  llvm::Expected<Manifest> manifest = readManifest(attentionManifest);
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  const KernelDescription &kernel = manifest->kernel;
  EXPECT_EQ(kernel.name, "attn");
  EXPECT_EQ(kernel.chip.getName(), "sm_90a");
  EXPECT_EQ(kernel.getBlockSize(), 384u);
  EXPECT_EQ(kernel.sharedMemory, 200000u);
  EXPECT_EQ(kernel.arguments.size(), 4u);
  EXPECT_EQ(kernel.parameters.size(), 7u);
  EXPECT_TRUE(kernel.hasCounter());
}

namespace {
struct Mistake {
  const char *from;
  const char *to;
  const char *error;
};
} // namespace

static const Mistake mistakes[] = {
    {"\"version\": 1,", "", "version: this field is missing"},
    {"\"version\": 1", "\"version\": 3",
     "version: this runtime reads versions up to 2, got 3"},
    {"\"kernel\": \"attn\",", "", "kernel: this field is missing"},
    {"\"kernel\": \"attn\"", "\"kernel\": 3", "kernel: expected a text, got 3"},
    {"\"sm_90a\"", "\"gfx90a\"",
     "chip: expected an architecture such as sm_80 or sm_90a, got 'gfx90a'"},
    {"[384]", "[384, 4]", "block: expected at most 1024 threads, got 1536"},
    {"[384]", "[0]", "block[0]: expected an integer from 1 to 1024, got 0"},
    {"[384]", "[1, 1, 1, 1]", "block: expected 1 to 3 sizes, got 4"},
    {"200000", "-1",
     "shared_memory: expected an integer from 0 to 1048576, got -1"},
    {"\"block\"", "\"dependent\": 1, \"block\"",
     "dependent: expected true or false, got 1"},
    {"\"block\"", "\"blocks\"",
     "blocks: no such field; there are version, kernel, chip, images, block, "
     "cluster, dependent, shared_memory, arguments, values, requirements, "
     "workspaces, "
     "before, parameters, grid"},
    {"\"bf16\"", "\"bfloat\"",
     "arguments[0].dtype: expected f16, bf16, f32, f64, i1, i8, i32, i64, "
     "f8E4M3FN or f8E5M2, got 'bfloat'"},
    {"\"name\": \"key\"", "\"name\": \"query\"",
     "arguments[1].name: the name 'query' is taken"},
    {"\"name\": \"key\"", "\"name\": \"k.y\"",
     "arguments[1].name: expected a name of letters, digits and '_', got "
     "'k.y'"},
    {"[\"batch\", \"queries\", \"heads\", 128]", "[1, 1, 1, 1, 1, 1, 1]",
     "arguments[0].shape: expected 0 to 6 dims, got 7"},
    {"[\"batch\", \"queries\", \"heads\", 128]", "[0]",
     "arguments[0].shape[0]: expected a positive integer, the name of a dim or "
     "\"?\", got 0"},
    {"[\"?\", \"?\", \"?\", 1]", "[1]",
     "arguments[0].strides: expected \"contiguous\" or one stride for each of "
     "4 "
     "dims, got an array"},
    {"[\"?\", \"?\", \"?\", 1]", "[\"?\", \"?\", \"?\", \"1\"]",
     "arguments[0].strides[3]: expected an integer from 0 up or \"?\", got "
     "\"1\""},
    {"\"output\": true", "\"output\": 1",
     "arguments[2].output: expected true or false, got 1"},
    {"\"output\": true", "\"alignment\": 24",
     "arguments[2].alignment: expected a power of two, got 24"},
    {"\"default\": 0.125", "\"default\": \"1/8\"",
     "arguments[3].default: expected a number of type f32, got \"1/8\""},
    {"\"ceildiv\"", "\"divide\"",
     "values[0].op: expected one of add, sub, mul, div, floordiv, ceildiv, "
     "rem, gcd, "
     "min, max, sqrt, less, less_equal, equal, select, got 'divide'"},
    {"[\"queries\", 128]", "[\"quer\", 128]",
     "values[0].operands[0]: expected a number or the name of a dim, a scalar "
     "or a value before, multiprocessors, ARGUMENT.dim.N or ARGUMENT.stride.N, "
     "got 'quer'"},
    {"[\"queries\", 128]", "[\"query.dim.4\", 128]",
     "values[0].operands[0]: argument 'query' has rank 4, got 'query.dim.4'"},
    {"[\"queries\", 128]", "[\"queries\"]",
     "values[0].operands: 'ceildiv' takes 2 operands, got 1"},
    {"[\"queries\", 128]", "[\"queries\", 0.5]",
     "values[0].operands: 'ceildiv' takes integers, got an f64"},
    {"[\"queries\", 128]", "[\"queries\", null]",
     "values[0].operands[1]: expected a number or a name, got null"},
    {"\"name\": \"rows\"", "\"name\": \"batch\"",
     "values[1].name: the name 'batch' is taken"},
    {"\"condition\": \"is_grouped\"", "\"condition\": \"scale2\"",
     "requirements[0].condition: expected an integer, got an f64"},
    {"{\"pointer\": \"lse\"}", "{\"pointer\": \"scale\"}",
     "parameters[2].pointer: there is no tensor argument 'scale'"},
    {"{\"pointer\": \"lse\"}", "{\"pointer\": \"lse\", \"offset\": \"scale2\"}",
     "parameters[2].offset: expected an integer, got an f64"},
    {"{\"pointer\": \"lse\"}", "{\"address\": \"lse\"}",
     "parameters[2].pointer: expected a parameter of tensor_map, pointer, i1, "
     "i8, i32, i64, f16, bf16, f32, f64, counter or workspace"},
    {"{\"pointer\": \"lse\"}", "7", "parameters[2]: expected an object, got 7"},
    {"{\"i32\": \"tiles\"}", "{\"i32\": \"scale2\"}",
     "parameters[3].i32: expected an integer, got an f64"},
    {"{\"counter\": 2}", "{\"counter\": 9}",
     "parameters[6].counter: expected an integer from 1 to 8, got 9"},
    {"{\"counter\": 2}", "{\"counter\": 2}, {\"counter\": 2}",
     "parameters[7].counter: a kernel has one counter parameter at most"},
    {"\"swizzle\": 128", "\"swizzle\": 96",
     "parameters[0].swizzle: expected 0, 32, 64 or 128 bytes, got 96"},
    {"\"l2_promotion\": 128", "\"l2_promotion\": 100",
     "parameters[1].l2_promotion: expected 0, 64, 128 or 256 bytes, got 100"},
    {"\"swizzle\": 128", "\"swizzle\": 64",
     "parameters[0].dims[0]: the innermost box has 128 bytes; a swizzle of 64 "
     "bytes takes at most that many"},
    {"{\"size\": 64, \"box\": 64}", "{\"size\": 64, \"box\": 4}",
     "parameters[0].dims[0]: the innermost box has 8 bytes; a multiple of 16 "
     "is "
     "needed"},
    {"{\"size\": 64, \"box\": 64}", "{\"size\": 64, \"box\": 257}",
     "parameters[0].dims[0].box: expected an integer from 1 to 256, got 257"},
    {"{\"size\": 64, \"box\": 64}", "{\"size\": 64, \"stride\": 1, \"box\": 1}",
     "parameters[0].dims[0].stride: no such field; there are size, box"},
    {"\"stride\": \"query.stride.1\"", "\"step\": \"query.stride.1\"",
     "parameters[0].dims[1].step: no such field; there are size, stride, box"},
    {"\"grid\": [\"grid_size\"]", "\"grid\": [\"scale2\"]",
     "grid[0]: expected an integer, got an f64"},
    {"\"grid\": [\"grid_size\"]", "\"grid\": []",
     "grid: expected 1 to 3 sizes, got 0"},
    {"\"grid\": [\"grid_size\"]", "\"grid\": 1",
     "grid: expected an array, got 1"},
};

TEST(ManifestTest, NamesTheFieldTheValueAndWhatIsLegal) {
  for (const Mistake &mistake : mistakes) {
    std::string text = attentionManifest.str();
    size_t at = text.find(mistake.from);
    ASSERT_NE(at, std::string::npos) << mistake.from;
    text.replace(at, strlen(mistake.from), mistake.to);
    EXPECT_EQ(getError(text), std::string("manifest field ") + mistake.error)
        << mistake.from << " became " << mistake.to;
  }
}

TEST(ManifestTest, RefusesWhatIsNoManifest) {
  EXPECT_EQ(getError("[]"), "the manifest is an array, expected a JSON object");
  EXPECT_EQ(getError("{").find("the manifest is no JSON: "), 0u);
  EXPECT_EQ(getError("").find("the manifest is no JSON: "), 0u);
  std::string deep(1000, '[');
  EXPECT_EQ(getError(deep).find("the manifest is no JSON: "), 0u);
}

namespace {
class ManifestFileTest : public RuntimeTest {
protected:
  std::string write(const std::string &name, const std::string &text) {
    std::string path = ::testing::TempDir() + name;
    std::ofstream(path) << text;
    files.push_back(path);
    return path;
  }
  void TearDown() override {
    RuntimeTest::TearDown();
    for (const std::string &file : files)
      std::remove(file.c_str());
  }
  std::vector<std::string> files;
};
} // namespace

TEST_F(ManifestFileTest, FindsImagesBesideTheManifest) {
  create();
  std::string text = attentionManifest.str();
  text.insert(1, "\"images\": {\"cubin\": \"fa-attn.cubin\"},");
  std::string path = write("fa-attn.json", text);
  EXPECT_EQ(faKernelLoad(runtime, path.c_str(), &kernel), FA_INVALID_IMAGE);
  EXPECT_EQ(
      std::string(faRuntimeGetErrorMessage())
          .find("cannot read '" + ::testing::TempDir() + "fa-attn.cubin'"),
      0u)
      << faRuntimeGetErrorMessage();
  write("fa-attn.cubin", attentionImage.str());
  ASSERT_EQ(faKernelLoad(runtime, path.c_str(), &kernel), FA_SUCCESS)
      << faRuntimeGetErrorMessage();
  EXPECT_EQ(launch(makeArguments()), FA_SUCCESS) << faRuntimeGetErrorMessage();
}

TEST_F(ManifestFileTest, NamesTheFile) {
  create();
  EXPECT_EQ(faKernelLoad(runtime, "/nowhere.json", &kernel),
            FA_INVALID_MANIFEST);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "cannot read '/nowhere.json': No such file or directory");
  std::string path = write("fa-none.json", attentionManifest.str());
  EXPECT_EQ(faKernelLoad(runtime, path.c_str(), &kernel), FA_INVALID_MANIFEST);
  EXPECT_EQ(faRuntimeGetErrorMessage(),
            path +
                ": manifest field images: expected the file name of a cubin, "
                "of ptx or of both");
  // From memory an image is an argument.
  EXPECT_EQ(load(attentionManifest, ""), FA_INVALID_IMAGE);
  EXPECT_STREQ(faRuntimeGetErrorMessage(),
               "kernel 'attn' has neither a cubin nor PTX");
}
