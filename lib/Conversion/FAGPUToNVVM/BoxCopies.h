//===- BoxCopies.h - Bulk copies of boxes to a stage ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_BOXCOPIES_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_BOXCOPIES_H

#include "Patterns.h"

namespace mlir::fagpu {

/// A box of a put at `offsets`, whose rows end at `rows` (null: the dimension's
/// size), to shared memory at `target`. `barrier` counts its bytes, and
/// `blocks` are the bits of blocks of a cluster that get it (null: this one).
struct BoxCopy {
  SmallVector<Value> offsets;
  Value rows, target, barrier, blocks;
};

/// One thread starts it, panel by panel where the map has one.
void startCopy(Emitter &emit, const KernelContext &kernel, PutOp put,
               const BoxCopy &box);

/// Goes on inside a branch, where the condition holds.
void enter(Emitter &emit, Value condition);

/// In a role that warps run together, goes on inside a branch of the first one.
void enterFirstWarp(Emitter &emit, const RoleThreads &threads);

/// Goes on inside a branch of one lane of a warp, all of which are here.
void enterElectedLane(Emitter &emit);

/// Whether bulk copies into a channel overwrite what loads have read. They
/// write by the asynchronous proxy, for which an arrival alone does not order
/// the loads before it: a fence stands between (PTX ISA, "Causality order").
bool isCopiedOverLoads(Value channel);

/// That fence, of a thread that is about to copy. Where a cluster shares the
/// stage, each warp that has read has it instead.
void fenceCopyOverLoads(Emitter &emit, PutOp put);

/// Announces `bytes` that arrive at a barrier, as one arrival.
void expectBytes(Emitter &emit, Value barrier, Value bytes);

/// Puts of rows in pages, as boxes; `populatePagePatterns` has them too.
void populatePageBoxPatterns(RewritePatternSet &patterns,
                             const TypeConverter &converter,
                             const KernelContext &kernel);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_BOXCOPIES_H
