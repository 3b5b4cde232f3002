//===- StableABI.cpp - Functions of torch's stable C interface ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StableABI.h"
#include <dlfcn.h>

using namespace fa::torch;

const char *StableABI::open() {
  void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return "libtorch_cpu.so";
#define X(member, result, name, parameters)                                    \
  member = reinterpret_cast<result(*) parameters>(dlsym(library, #name));      \
  if (!member)                                                                 \
    return #name;
  FA_TORCH_FUNCTIONS(X)
#undef X
  getCurrentStream = nullptr;
  if (void *cuda = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD))
    getCurrentStream = reinterpret_cast<Error (*)(int32_t, void **)>(
        dlsym(cuda, "aoti_torch_get_current_cuda_stream"));
  return nullptr;
}
