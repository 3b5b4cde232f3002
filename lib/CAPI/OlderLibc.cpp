//===- OlderLibc.cpp - What glibc 2.34 does not have ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The archives of LLVM and GCC refer to two functions of later C libraries.
// libFA.so is linked with `--wrap` for both, so that it loads where Python
// packages are expected to (manylinux_2_34).
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

/// LLVM's names of temporary files are made of it.
extern "C" uint32_t __wrap_arc4random() {
  uint32_t number;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    abort();
  return number;
}

/// The unwinder asks for the frames of an address, and searches the loaded
/// libraries by itself where this finds none. Code here throws nothing.
extern "C" int __wrap__dl_find_object(void *, void *) { return -1; }
