//===- SingleTool.cpp - A program of one tool -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolMains.h"

/// FA_TOOL_MAIN is one of the functions of ToolMains.h.
int main(int argc, char **argv) { return mlir::fa::FA_TOOL_MAIN(argc, argv); }
