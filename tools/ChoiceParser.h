//===- ChoiceParser.h - Options with a few values ---------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_CHOICEPARSER_H
#define FA_TOOLS_CHOICEPARSER_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"

namespace mlir::fa {

/// A parser of an option with `llvm::cl::values` whose error lists them.
template <typename Choice>
class ChoiceParser : public llvm::cl::parser<Choice> {
public:
  using llvm::cl::parser<Choice>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             Choice &value) {
    std::string names;
    for (unsigned i = 0, e = this->getNumOptions(); i < e; ++i) {
      if (this->getOption(i) == text) {
        value = static_cast<const llvm::cl::OptionValue<Choice> &>(
                    this->getOptionValue(i))
                    .getValue();
        return false;
      }
      names += (names.empty() ? "" : ", ") + this->getOption(i).str();
    }
    return option.error("has the value '" + text + "', expected one of " +
                        names);
  }
};

} // namespace mlir::fa

#endif // FA_TOOLS_CHOICEPARSER_H
