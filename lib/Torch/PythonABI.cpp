//===- PythonABI.cpp - Functions of Python's stable C interface -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PythonABI.h"
#include <dlfcn.h>

using namespace fa::torch;

bool PythonABI::open() {
#define X(member, result, name, parameters)                                    \
  member = reinterpret_cast<result(*) parameters>(dlsym(RTLD_DEFAULT, #name)); \
  if (!member)                                                                 \
    return false;
  FA_PYTHON_FUNCTIONS(X)
#undef X
  return true;
}
