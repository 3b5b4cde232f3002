//===- ArgumentSizes.cpp - Sizes that arguments share ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentSizes.h"
#include "fa/Export/DimNames.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::fa;

static std::string describe(ArgumentDim place) {
  return ("dimension " + Twine(place.second) + " of argument " +
          Twine(place.first))
      .str();
}

llvm::Error fa::checkSizes(func::FuncOp function,
                           ArrayRef<HostBuffer> arguments) {
  auto getSize = [&](ArgumentDim place) {
    return arguments[place.first].shape[place.second];
  };
  llvm::StringMap<ArgumentDim> first;
  for (const auto &[place, name] : findDimNames(function)) {
    ArgumentDim other = first.try_emplace(name, place).first->second;
    if (getSize(place) != getSize(other))
      return llvm::createStringError(
          describe(place) + " of '" + function.getName() + "' (" + name +
          ") is " + Twine(getSize(place)) + ", expected " +
          Twine(getSize(other)) + " as " + describe(other));
  }
  for (auto [query, key] : findGroupedHeads(function)) {
    int64_t heads = getSize(query), keyHeads = getSize(key);
    if (heads > 0 && (keyHeads == 0 || heads % keyHeads != 0))
      return llvm::createStringError(
          describe(query) + " of '" + function.getName() + "' is " +
          Twine(heads) + " heads, expected a multiple of the " +
          Twine(keyHeads) + " of " + describe(key));
  }
  return llvm::Error::success();
}
