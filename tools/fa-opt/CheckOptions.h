//===- CheckOptions.h - Options of passes on a command line -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_OPT_CHECKOPTIONS_H
#define FA_TOOLS_FA_OPT_CHECKOPTIONS_H

#include "mlir/Support/LLVM.h"

namespace mlir::fa {

/// Fails with one message for an option that a pass or pipeline of this project
/// does not have; the message says which ones it has. mlir-opt's own names none
/// and comes with others.
LogicalResult checkOptions(ArrayRef<char *> words);

} // namespace mlir::fa

#endif // FA_TOOLS_FA_OPT_CHECKOPTIONS_H
