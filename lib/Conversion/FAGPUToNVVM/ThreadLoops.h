//===- ThreadLoops.h - Parallel loops of a group's threads ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_THREADLOOPS_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_THREADLOOPS_H

#include "KernelContext.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::fagpu {

/// Refuses a parallel loop that the threads of a group cannot share.
LogicalResult verifyThreadLoop(scf::ParallelOp op);

/// Refuses a vector of a thread that is not moved at once.
LogicalResult verifyThreadVector(Operation *op, VectorType type);

/// Bytes that the address of a vector is a multiple of.
int64_t getVectorAlignment(VectorType type);

/// Vectors in memory of the kernel become those of LLVM.
void populateVectorPatterns(RewritePatternSet &patterns,
                            const TypeConverter &converter,
                            const KernelContext &kernel);

/// Parallel loops become one of each thread.
void populateThreadLoopPatterns(RewritePatternSet &patterns,
                                const TypeConverter &converter,
                                const KernelContext &kernel);

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_THREADLOOPS_H
