//===- GPUNeeds.h - What a configuration takes of a GPU ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_GPUNEEDS_H
#define FA_LIB_TARGET_GPUNEEDS_H

#include "fa/Target/Target.h"

namespace mlir::fa {

/// Blocks of queries and keys, and how threads share them.
struct GPUTile {
  int64_t queryBlock, keyBlock;
  GPUPart part;
};

/// What a tile takes at least: bytes of shared memory of a block, registers of
/// a thread that multiplies, and of one that does nothing but copy.
struct GPUNeeds {
  int64_t sharedBytes, registers, copyingRegisters;
};

/// What there is of each.
using GPULimits = GPUNeeds;

/// Elements of operands that are in shared memory at once.
int64_t countSharedElements(const GPUTile &tile,
                            const AttentionProblem &problem);
GPUNeeds getGPUNeeds(const GPUTile &tile, const AttentionProblem &problem);
GPULimits getGPULimits(const GPUTarget &target, const GPUPart &part);

/// Whether a tile fits a target.
bool fitsGPU(const GPUTile &tile, const GPUTarget &target,
             const AttentionProblem &problem);

/// How many blocks of a tile of the form `warps` share a multiprocessor.
int64_t countBlocksPerSM(const GPUTile &tile, const GPUTarget &target,
                         const AttentionProblem &problem);

/// The largest tile at or below the given one that fits: fewer keys first, then
/// fewer stages, then fewer queries. A smallest tile comes back even if it does
/// not fit.
GPUTile shrinkToGPU(GPUTile tile, const GPUTarget &target,
                    const AttentionProblem &problem);

/// Fails after one error where captures are asked for in tiles, and rows of
/// those that could come so start where no bulk copy does.
LogicalResult verifyCaptures(function_ref<InFlightDiagnostic()> emitError,
                             const GPUPart &part,
                             const AttentionProblem &problem);

/// Why a problem cannot have a form on a target; empty if it can.
std::string getFormObstacle(KernelForm form, const GPUTarget &target,
                            const AttentionProblem &problem);

/// Terms of bf16 that an operand of f32 is the sum of.
constexpr int64_t termsOfFloat = 3;
/// Whether threads split operands into terms.
bool isSplit(Type element);
bool isSplit(const AttentionProblem &problem);

/// Rows that the query block of a form is a multiple of.
constexpr int64_t rowsPerWarpGroup = 64;
/// The depth of a matrix instruction.
constexpr int64_t depthOfProduct = 16;
/// Keys that a key block is a multiple of: that depth, or, where threads split
/// the operands, 16 rows for each warp of a group.
int64_t getKeyMultiple(const AttentionProblem &problem);

} // namespace mlir::fa

#endif // FA_LIB_TARGET_GPUNEEDS_H
