//===- NumberPolicy.cpp - How the executor rounds -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/NumberPolicy.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

NumberPolicy::~NumberPolicy() = default;

namespace {
class Float64Policy : public NumberPolicy {
  StringRef getName() const override { return "float64"; }
  bool rounds(FloatType) const override { return false; }
  void round(FloatType, Slot *, int64_t) const override {}
};

class DeclaredPolicy : public NumberPolicy {
  StringRef getName() const override { return "declared"; }
  bool rounds(FloatType type) const override { return type.getWidth() < 64; }
  void round(FloatType type, Slot *values, int64_t count) const override {
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    for (int64_t i = 0; i < count; ++i)
      values[i].real = roundToFloat(values[i].real, semantics);
  }
};
} // namespace

const NumberPolicy &executor::getFloat64Policy() {
  static const Float64Policy policy;
  return policy;
}

const NumberPolicy &executor::getDeclaredPolicy() {
  static const DeclaredPolicy policy;
  return policy;
}
