//===- GPUTarget.h - Limits of GPUs, as data -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Source: CUDA C++ Programming Guide, compute capabilities; PTX ISA, setmaxnreg
// and barrier. Sizes are bytes.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_GPUTARGET_H
#define FA_TARGET_GPUTARGET_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace mlir::fa {

struct GPUTarget {
  StringRef chip;
  /// PTX features that the chip's kernels are compiled with.
  StringRef ptxFeatures;
  /// 32-bit registers of a multiprocessor, and the most that a thread can have.
  int64_t registersPerSM;
  int64_t registersPerThread;
  /// Dynamic shared memory that one block can have, and all blocks of an SM.
  int64_t sharedMemoryPerBlock;
  int64_t sharedMemoryPerSM;
  /// Shared memory that the driver keeps of each block.
  int64_t reservedSharedMemoryPerBlock;
  int64_t threadsPerBlock;
  int64_t namedBarriers;
  bool hasTMA;
  bool hasAsyncMatrix;
  bool hasRegisterReallocation;
  /// Whether threads add two and four f32 to memory at once (PTX ISA, "red",
  /// from PTX 8.1 on).
  bool hasVectorAdds;
};

/// Bytes of shared memory, at most, that barriers of groups of warps take, and
/// beside them what a block that takes one tile after the other is told of the
/// next one.
constexpr int64_t barrierBytes = 1024, mailBytes = 1024;

/// Registers of each thread where one thread of a group of four warps copies
/// for `groups` (1 to 3) such groups that compute, in the multiples of 8 that
/// setmaxnreg takes. All together are not more than what threads have at
/// launch, itself a multiple of 8 (168 for 384 threads): a group would wait for
/// ever for what is not there.
struct RegisterShare {
  int64_t copying, computing;
};
/// `copying`: how many the copying thread is to have, a multiple of 8; 0 for
/// what suits the number of groups.
RegisterShare getRegisterShare(int64_t groups, int64_t copying = 0);

/// The target of a chip's name, for example "sm_90a"; null if unknown.
const GPUTarget *lookupGPUTarget(StringRef chip);

/// Columns of a tile of operands. A head dim is filled up with zeros to what
/// one product sums over, 16 columns; of `keyBlock` keys of f32 that `groups`
/// of warps split into terms, to what each takes a part of, where they cannot
/// share the keys.
int64_t getTileColumns(int64_t headDim, Type element, int64_t keyBlock,
                       int64_t groups);

/// Every target.
ArrayRef<GPUTarget> getGPUTargets();

/// The names of all targets, for messages: "sm_80, sm_86, ...".
std::string listGPUTargets();

} // namespace mlir::fa

#endif // FA_TARGET_GPUTARGET_H
