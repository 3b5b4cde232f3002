//===- DeviceMathTest.cpp - Errors of the device's mathematics ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fagpu-expand-math makes of a function, executed on the CPU and compared
// with f64 all over the range of f32. `DeviceFunction` compiles one,
// `functions` lists those of one number with their bounds. Functions of two
// numbers, and those of 16-bit types, have a test each behind the table.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "fa/JIT/CPUCompiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {
constexpr float infinity = std::numeric_limits<float>::infinity();

/// A function of two numbers, `math.NAME %a` or `math.NAME %a, %b`, after what
/// `before` computes for it.
class DeviceFunction {
public:
  explicit DeviceFunction(StringRef operation, StringRef before = "") {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        linalg::LinalgDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect>();
    std::string text = R"mlir(
      func.func @apply(%x: memref<?xf32>, %y: memref<?xf32>) {
        linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                        iterator_types = ["parallel"]}
            ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
          ^bb0(%a: f32, %b: f32):
            )mlir" + before.str() +
                       "%c = " + operation.str() +
                       R"mlir( : f32
            linalg.yield %c : f32
        }
        return
      })mlir";
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    manager.addPass(fagpu::createFAGPUExpandMathPass());
    EXPECT_TRUE(succeeded(manager.run(*module)));
    code = std::move(*compileToCPU(*module));
  }

  /// f(x[i], y[i]).
  std::vector<float> operator()(std::vector<float> x, std::vector<float> y) {
    fa::MemRefDescriptor in(x.data(), {static_cast<int64_t>(x.size())});
    fa::MemRefDescriptor out(y.data(), {static_cast<int64_t>(y.size())});
    llvm::cantFail(code->invoke("apply", {in.get(), out.get()}));
    return y;
  }
  std::vector<float> operator()(std::vector<float> x) { return (*this)(x, x); }
  float operator()(float x, float y) {
    return (*this)(std::vector<float>{x}, std::vector<float>{y})[0];
  }

private:
  MLIRContext context;
  std::unique_ptr<CompiledModule> code;
};
} // namespace

/// The largest difference that there is where one of them is no number, or of
/// zeros of different signs where a zero is exact.
static constexpr double wrong = 1e30;

/// The difference in units of the last place of the exact value.
static double errorInUlp(float result, double exact) {
  float rounded = exact;
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) && std::isnan(result) ? 0 : wrong;
  if (exact == 0 || std::isinf(exact))
    return llvm::bit_cast<uint32_t>(result) == llvm::bit_cast<uint32_t>(rounded)
               ? 0
               : wrong;
  if (std::isinf(rounded) || std::isinf(result))
    return result == rounded || std::abs(exact) > 3.4028233e38 ? 0 : wrong;
  double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
  return std::abs(result - exact) / ulp;
}

/// Every thousandth f32, and special ones.
static std::vector<float> samplePoints() {
  std::vector<float> points{0.0f, 1.0f, infinity, NAN};
  for (uint32_t bits : {0x00000001u, 0x007fffffu, 0x00800000u, 0x7f7fffffu})
    points.push_back(llvm::bit_cast<float>(bits));
  for (uint64_t bits = 0; bits < 0x7f800000u; bits += 1009)
    points.push_back(llvm::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (size_t i = 0, size = points.size(); i < size; ++i)
    points.push_back(-points[i]);
  return points;
}

static double largestError(StringRef operation, double (*exact)(double)) {
  DeviceFunction function(operation);
  std::vector<float> points = samplePoints(), results = function(points);
  double largest = 0;
  float where = 0;
  for (auto [point, result] : llvm::zip_equal(points, results))
    if (double error = errorInUlp(result, exact(point)); error > largest) {
      largest = error;
      where = point;
    }
  EXPECT_LT(largest, wrong) << operation.str() << " of " << where;
  return largest;
}

namespace {
/// An operation of math, what it computes, and the bound of its error in units
/// of the last place.
struct Accuracy {
  const char *name;
  double (*exact)(double);
  double bound;
};

class DeviceMathOf : public testing::TestWithParam<Accuracy> {};
} // namespace

static std::string getName(const testing::TestParamInfo<Accuracy> &info) {
  return info.param.name;
}

TEST_P(DeviceMathOf, AllNumbers) {
  const Accuracy &function = GetParam();
  std::string operation = std::string("math.") + function.name + " %a";
  EXPECT_LT(largestError(operation, function.exact), function.bound);
}

static const Accuracy functions[] = {
    {"exp", std::exp, 1.5},
    {"exp2", std::exp2, 1.5},
    {"log", std::log, 1},
    {"log2", std::log2, 1.5},
    {"tanh", std::tanh, 1.5},
    {"erf", std::erf, 1.5},
    {"sin", std::sin, 2},
    {"cos", std::cos, 2},
    {"sqrt", std::sqrt, 0.5},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"expm1", std::expm1, 2},
    {"log10", std::log10, 1.5},
    {"log1p", std::log1p, 1.5},
    {"sinh", std::sinh, 2.5},
    {"cosh", std::cosh, 2},
    {"asinh", std::asinh, 2.5},
    {"acosh", std::acosh, 2.5},
    {"atanh", std::atanh, 2.5},
    {"erfc", std::erfc, 5},
    {"tan", std::tan, 4.5},
    {"asin", std::asin, 2},
    {"acos", std::acos, 2},
    {"atan", std::atan, 2},
    {"cbrt", std::cbrt, 1}};

INSTANTIATE_TEST_SUITE_P(Functions, DeviceMathOf, testing::ValuesIn(functions),
                         getName);

/// Any two numbers, two of similar size, and special ones of both signs.
static void addPairs(std::vector<float> &x, std::vector<float> &y) {
  std::mt19937 generator(17);
  std::uniform_real_distribution<float> factor(-3, 3);
  auto anyNumber = [&] {
    return llvm::bit_cast<float>(static_cast<uint32_t>(generator()));
  };
  for (int i = 0; i < 1000000; ++i) {
    x.insert(x.end(), 2, anyNumber());
    y.push_back(anyNumber());
    y.push_back(x.back() * factor(generator));
  }
  std::vector<float> special{0, 1, 1e-40f, 3e38f, infinity, NAN};
  for (float a : special)
    for (float b : special)
      for (float signA : {1, -1})
        for (float signB : {1, -1}) {
          x.push_back(signA * a);
          y.push_back(signB * b);
        }
}

TEST(DeviceMath, Atan2) {
  DeviceFunction angle("math.atan2 %a, %b");
  std::vector<float> y, x;
  addPairs(y, x);
  std::vector<float> results = angle(y, x);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LT(errorInUlp(results[i], std::atan2(double(y[i]), double(x[i]))), 3)
        << y[i] << ", " << x[i] << " = " << results[i];
}

TEST(DeviceMath, Remainder) {
  DeviceFunction rest("arith.remf %a, %b");
  std::vector<float> x, y;
  addPairs(x, y);
  // A quotient that is rounded to f32 is an integer for some of these.
  for (int number = -2000; number <= 2000; ++number)
    for (float divisor : {0.1f, -0.3f, 2.5f, 3.0f, 1e-3f, infinity, 0.0f}) {
      x.push_back(number);
      y.push_back(divisor);
      x.push_back(number * 0.1f);
      y.push_back(divisor);
    }
  std::vector<float> results = rest(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    // Exact below 2^53.
    double quotient = std::abs(double(x[i]) / double(y[i]));
    if (std::isfinite(quotient) && quotient >= 9007199254740992.0)
      continue;
    float exact = std::fmod(x[i], y[i]);
    if (std::isnan(exact))
      ASSERT_TRUE(std::isnan(results[i])) << x[i] << ", " << y[i];
    else
      ASSERT_EQ(llvm::bit_cast<uint32_t>(results[i]),
                llvm::bit_cast<uint32_t>(exact))
          << x[i] << ", " << y[i] << " = " << results[i];
  }
}

TEST(DeviceMath, IntegerPower) {
  DeviceFunction power("arith.minimumf %p, %p",
                       "%n = arith.fptosi %b : f32 to i32\n"
                       "%p = math.fpowi %a, %n : f32, i32\n");
  std::mt19937 generator(19);
  std::uniform_real_distribution<float> near(0.9, 1.1);
  std::vector<float> x, n;
  for (int i = 0; i < 500000; ++i) {
    x.push_back(llvm::bit_cast<float>(static_cast<uint32_t>(generator())));
    n.push_back(static_cast<int>(generator() % 41) - 20);
    x.push_back(near(generator) * (i % 2 ? 1 : -1));
    n.push_back(static_cast<int>(generator() % 2001) - 1000);
  }
  for (float base : {0.0f, 1.0f, infinity, NAN, 1e-40f})
    for (float exponent : {-16777215.0f, -3.0f, -2.0f, 0.0f, 1.0f, 16777215.0f})
      for (float sign : {1, -1}) {
        x.push_back(sign * base);
        n.push_back(exponent);
      }
  std::vector<float> results = power(x, n);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_LT(errorInUlp(results[i], std::pow(double(x[i]), double(n[i]))), 1)
        << x[i] << " ^ " << n[i] << " = " << results[i];
}

TEST(DeviceMath, ConstantPower) {
  DeviceFunction power("arith.minimumf %p, %p",
                       "%n = arith.constant 7 : i32\n"
                       "%p = math.fpowi %a, %n : f32, i32\n");
  for (float x : {-2.5f, 0.0f, 1.25f, 7.0f})
    EXPECT_LT(errorInUlp(power(x, x), std::pow(double(x), 7)), 4) << x;
}

TEST(DeviceMath, Quotient) {
  DeviceFunction quotient("arith.divf %a, %b");
  std::mt19937 generator(7);
  std::vector<float> x, y;
  for (int i = 0; i < 2000000; ++i) {
    x.push_back(llvm::bit_cast<float>(static_cast<uint32_t>(generator())));
    y.push_back(llvm::bit_cast<float>(static_cast<uint32_t>(generator())));
  }
  std::vector<float> special{0, -0.0f, 1, -3, 1e-40f, 3e38f, infinity, NAN};
  for (float a : special)
    for (float b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  std::vector<float> results = quotient(x, y);
  for (size_t i = 0; i < x.size(); ++i)
    // The exact value is rounded to f64 before.
    ASSERT_LE(errorInUlp(results[i], double(x[i]) / y[i]), 0.5 + 1e-8)
        << x[i] << " / " << y[i] << " = " << results[i];
}

/// The largest error over all 65,536 numbers of a 16-bit type, in units of its
/// last place.
static double largestHalfError(const llvm::fltSemantics &semantics,
                               StringRef type, StringRef name,
                               double (*exact)(double)) {
  std::string before =
      ("%h = arith.truncf %a : f32 to " + type + "\n%r = math." + name +
       " %h : " + type + "\n%w = arith.extf %r : " + type + " to f32\n")
          .str();
  DeviceFunction function("arith.mulf %w, %b", before);
  std::vector<float> points, results;
  for (unsigned bits = 0; bits < 0x10000u; ++bits)
    points.push_back(APFloat(semantics, APInt(16, bits)).convertToFloat());
  results = function(points, std::vector<float>(points.size(), 1.0f));
  int digits = APFloat::semanticsPrecision(semantics);
  int least = APFloat::semanticsMinExponent(semantics);
  double largest = 0;
  for (auto [point, result] : llvm::zip_equal(points, results)) {
    double value = exact(point);
    if (std::isnan(value) || std::isinf(value) || value == 0) {
      EXPECT_EQ(std::isnan(value), std::isnan(result)) << point;
      if (!std::isnan(value))
        EXPECT_EQ(value, result) << point;
      continue;
    }
    int exponent = std::max(std::ilogb(value), least);
    double ulp = std::ldexp(1.0, exponent - digits + 1);
    largest = std::max(largest, std::abs(result - value) / ulp);
  }
  return largest;
}

TEST(DeviceMath, HalfSquareRoots) {
  auto inverse = [](double x) { return 1 / std::sqrt(x); };
  for (auto [semantics, type] :
       {std::pair{&APFloat::IEEEhalf(), StringRef("f16")},
        std::pair{&APFloat::BFloat(), StringRef("bf16")}}) {
    EXPECT_LE(largestHalfError(*semantics, type, "sqrt", std::sqrt), 0.5);
    EXPECT_LE(largestHalfError(*semantics, type, "rsqrt", inverse), 0.51);
  }
}

TEST(DeviceMath, HalfFunctions) {
  for (auto [semantics, type] :
       {std::pair{&APFloat::IEEEhalf(), StringRef("f16")},
        std::pair{&APFloat::BFloat(), StringRef("bf16")}}) {
    EXPECT_LE(largestHalfError(*semantics, type, "tanh", std::tanh), 0.51);
    EXPECT_LE(largestHalfError(*semantics, type, "log", std::log), 0.51);
  }
}

TEST(DeviceMath, Power) {
  DeviceFunction power("math.powf %a, %b");
  std::mt19937 generator(11);
  std::vector<float> x, y;
  // Any two numbers; then powers that are mostly finite.
  for (int i = 0; i < 2000000; ++i) {
    x.push_back(llvm::bit_cast<float>(static_cast<uint32_t>(generator())));
    y.push_back(llvm::bit_cast<float>(static_cast<uint32_t>(generator())));
  }
  std::uniform_real_distribution<float> bounded(-1, 1);
  for (int i = 0; i < 2000000; ++i) {
    x.push_back(llvm::bit_cast<float>(
        static_cast<uint32_t>(generator() % 0x7f800000u)));
    float limit = 150 / std::max(1e-3f, std::abs(std::log2(x.back())));
    y.push_back(bounded(generator) * limit);
  }
  // Integer powers of any sign, special values among them.
  std::vector<float> special{0,    1,       2,        3,   0.5f,
                             1.5f, 8388609, 33554432, 1e9, infinity,
                             NAN,  1e-40f,  7,        64};
  for (float a : special)
    for (float b : special)
      for (float signA : {1, -1})
        for (float signB : {1, -1}) {
          x.push_back(signA * a);
          y.push_back(signB * b);
        }
  std::vector<float> results = power(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    double error = errorInUlp(results[i], std::pow(double(x[i]), double(y[i])));
    ASSERT_LT(error, 1) << x[i] << " ^ " << y[i] << " = " << results[i];
  }
}
