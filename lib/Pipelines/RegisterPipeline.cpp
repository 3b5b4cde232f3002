//===- RegisterPipeline.cpp - What is wrong with options ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/RegisterPipeline.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

/// The names in {a=1 b={c=2} d=}.
static SmallVector<StringRef> getNames(StringRef printed) {
  SmallVector<StringRef> names;
  printed.consume_front("{");
  unsigned depth = 0;
  size_t start = 0;
  for (auto [i, c] : llvm::enumerate(printed)) {
    if (c == '{')
      ++depth;
    else if (c == '}' && depth)
      --depth;
    else if (c == ' ' && !depth)
      start = i + 1;
    else if (c == '=' && !depth && start <= i) {
      names.push_back(printed.slice(start, i));
      start = StringRef::npos;
    }
  }
  return names;
}

std::string mlir::fa::explainOptions(StringRef name, StringRef message,
                                     StringRef printed) {
  StringRef unknown = message.rtrim().split("no such option ").second;
  if (unknown.empty())
    return ("'" + name + "' has an option of an illegal value").str();
  std::string text = ("'" + name + "' has no option '" + unknown + "'").str();
  SmallVector<StringRef> names = getNames(printed);
  if (names.empty())
    return text + ", expected none";
  llvm::sort(names, [&](StringRef a, StringRef b) {
    return std::pair(unknown.edit_distance(a), a) <
           std::pair(unknown.edit_distance(b), b);
  });
  return text + ", expected " + (names.size() > 1 ? "one of " : "") +
         llvm::join(names, ", ");
}
