//===- MathTest.cpp - Errors of the expanded mathematics ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/JIT/CPUCompiler.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();

/// One function of `math` over a buffer, compiled as users' code is.
class Compiled {
public:
  explicit Compiled(StringRef operation) {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
    std::string text = R"mlir(
      func.func @apply(%x: memref<?xf32>) {
        linalg.generic {indexing_maps = [affine_map<(i) -> (i)>],
                        iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
          ^bb0(%a: f32):
            %b = math.)mlir" +
                       operation.str() +
                       R"mlir( %a : f32
            linalg.yield %b : f32
        }
        return
      })mlir";
    auto module = parseSourceString<ModuleOp>(text, &context);
    code = std::move(*compileToCPU(*module));
  }

  std::vector<float> operator()(std::vector<float> values) {
    fa::MemRefDescriptor descriptor(values.data(),
                                    {static_cast<int64_t>(values.size())});
    llvm::cantFail(code->invoke("apply", descriptor.get()));
    return values;
  }
  float operator()(float value) {
    return (*this)(std::vector<float>{value})[0];
  }

private:
  MLIRContext context;
  std::unique_ptr<CompiledModule> code;
};
} // namespace

/// A million points of [low, high], the ends among them.
static std::vector<float> samplePoints(float low, float high) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> between(low, high);
  std::vector<float> points{low, high, 0.0f};
  while (points.size() < 1000003)
    points.push_back(between(generator));
  return points;
}

/// Largest difference from `reference`, relative to it or to `floor`.
static double largestError(Compiled &function, double (*reference)(double),
                           float low, float high, double floor) {
  std::vector<float> points = samplePoints(low, high);
  std::vector<float> results = function(points);
  double largest = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    double exact = reference(points[i]);
    double scale = std::max(std::abs(exact), floor);
    largest = std::max(largest, std::abs(results[i] - exact) / scale);
  }
  return largest;
}

TEST(ExpandedMath, Exp) {
  Compiled exp("exp");
  EXPECT_LT(largestError(exp, std::exp, -86.9f, 88.7f, 0), 1e-7);
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(exp(-infinity), 0.0f);
  EXPECT_EQ(exp(-88.0f), 0.0f);
  EXPECT_EQ(exp(infinity), infinity);
  EXPECT_EQ(exp(89.0f), infinity);
  EXPECT_TRUE(std::isnan(exp(NAN)));
}

TEST(ExpandedMath, Exp2) {
  Compiled exp2("exp2");
  EXPECT_LT(largestError(exp2, std::exp2, -125.4f, 127.9f, 0), 1e-7);
  EXPECT_EQ(exp2(-infinity), 0.0f);
  EXPECT_EQ(exp2(-127.0f), 0.0f);
  EXPECT_EQ(exp2(10.0f), 1024.0f);
  EXPECT_EQ(exp2(128.0f), infinity);
  EXPECT_EQ(exp2(infinity), infinity);
  EXPECT_TRUE(std::isnan(exp2(NAN)));
}

TEST(ExpandedMath, Log) {
  Compiled log("log");
  EXPECT_LT(largestError(log, std::log, 1e-3f, 1e3f, 1e-7), 1.2e-7);
  EXPECT_LT(largestError(log, std::log, 0.9f, 1.1f, 1e-7), 1.2e-7);
  EXPECT_LT(largestError(log, std::log, 1e30f, 3e38f, 1e-7), 1.2e-7);
  EXPECT_EQ(log(1.0f), 0.0f);
  EXPECT_EQ(log(0.0f), -infinity);
  EXPECT_EQ(log(infinity), infinity);
  // The smallest subnormal number.
  EXPECT_NEAR(log(1.4e-45f), -103.27893, 1e-4);
  EXPECT_TRUE(std::isnan(log(-1.0f)));
  EXPECT_TRUE(std::isnan(log(NAN)));
}

TEST(ExpandedMath, Tanh) {
  Compiled tanh("tanh");
  EXPECT_LT(largestError(tanh, std::tanh, -10, 10, 1e-30), 3e-7);
  EXPECT_LT(largestError(tanh, std::tanh, -1e-3f, 1e-3f, 1e-30), 3e-7);
  EXPECT_EQ(tanh(0.0f), 0.0f);
  EXPECT_EQ(tanh(infinity), 1.0f);
  EXPECT_EQ(tanh(-infinity), -1.0f);
  EXPECT_TRUE(std::isnan(tanh(NAN)));
}

// What has no expansion comes from the C library.
TEST(ExpandedMath, Other) {
  Compiled sin("sin");
  EXPECT_LT(largestError(sin, std::sin, -10, 10, 1e-3), 1e-6);
}
