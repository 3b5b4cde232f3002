//===- RoundNumbers.cpp - Numbers of a call in their types ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/RoundNumbers.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir::fa::runtime;
using llvm::APFloat;

static const llvm::fltSemantics &getSemantics(FaDataType type) {
  switch (type) {
  case FA_TYPE_F16:
    return APFloat::IEEEhalf();
  case FA_TYPE_BF16:
    return APFloat::BFloat();
  case FA_TYPE_F8E4M3FN:
    return APFloat::Float8E4M3FN();
  case FA_TYPE_F8E5M2:
    return APFloat::Float8E5M2();
  case FA_TYPE_F32:
    return APFloat::IEEEsingle();
  default:
    return APFloat::IEEEdouble();
  }
}

static APFloat convert(FaDataType type, double number) {
  APFloat rounded(number);
  bool losesInfo;
  rounded.convert(getSemantics(type), APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded;
}

double mlir::fa::runtime::roundTo(FaDataType type, double number) {
  // Nearly every number is one of these.
  if (type == FA_TYPE_F32)
    return static_cast<float>(number);
  if (type == FA_TYPE_F64)
    return number;
  return convert(type, number).convertToDouble();
}

uint16_t mlir::fa::runtime::getHalfBits(FaDataType type, double number) {
  return static_cast<uint16_t>(
      convert(type, number).bitcastToAPInt().getZExtValue());
}

std::pair<int64_t, int64_t>
mlir::fa::runtime::getIntegerRange(FaDataType type) {
  switch (type) {
  case FA_TYPE_I1:
    return {0, 1};
  case FA_TYPE_I8:
    return {INT8_MIN, INT8_MAX};
  case FA_TYPE_I32:
    return {INT32_MIN, INT32_MAX};
  default:
    return {INT64_MIN, INT64_MAX};
  }
}
