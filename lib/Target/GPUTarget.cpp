//===- GPUTarget.cpp - Limits of GPUs, as data ---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/GPUTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fa;

// chip, PTX, registers per SM and thread, shared memory per block, per SM and
// kept, threads per block, named barriers, TMA, asynchronous matrix operations,
// setmaxnreg, additions of vectors.
static constexpr GPUTarget targets[] = {
    {"sm_80", "+ptx80", 65536, 255, 166912, 167936, 1024, 1024, 16, false,
     false, false, false},
    {"sm_86", "+ptx80", 65536, 255, 101376, 102400, 1024, 1024, 16, false,
     false, false, false},
    {"sm_89", "+ptx80", 65536, 255, 101376, 102400, 1024, 1024, 16, false,
     false, false, false},
    {"sm_90", "+ptx81", 65536, 255, 232448, 233472, 1024, 1024, 16, true, false,
     false, true},
    {"sm_90a", "+ptx86", 65536, 255, 232448, 233472, 1024, 1024, 16, true, true,
     true, true},
    {"sm_100", "+ptx86", 65536, 255, 232448, 233472, 1024, 1024, 16, true,
     false, true, true},
    {"sm_120", "+ptx87", 65536, 255, 101376, 102400, 1024, 1024, 16, true,
     false, true, true},
};

// A copying thread of 24 registers spills, and one of 40 where the mask has
// ranges of its own.
RegisterShare mlir::fa::getRegisterShare(int64_t groups, int64_t copying) {
  static constexpr RegisterShare shares[] = {{96, 240}, {56, 224}, {32, 160}};
  RegisterShare share = shares[groups - 1];
  if (copying == 0)
    return share;
  // More than 240 are of no use to one thread.
  int64_t all = share.copying + groups * share.computing;
  return {copying, std::min<int64_t>((all - copying) / groups / 8 * 8, 240)};
}

const GPUTarget *mlir::fa::lookupGPUTarget(StringRef chip) {
  const GPUTarget *target =
      llvm::find_if(targets, [&](const GPUTarget &candidate) {
        return candidate.chip == chip;
      });
  return target == std::end(targets) ? nullptr : target;
}

ArrayRef<GPUTarget> mlir::fa::getGPUTargets() { return targets; }

std::string mlir::fa::listGPUTargets() {
  return llvm::join(
      llvm::map_range(targets,
                      [](const GPUTarget &target) { return target.chip; }),
      ", ");
}
