//===- Check.h - Rules of a GPU schedule ------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The families of rules behind fagpu-check, for what no verifier of a single
// operation can see. Each reports one diagnostic when a kernel breaks one of
// its rules, and changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_CHECK_H
#define FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_CHECK_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fagpu {

/// The slot that an operation has in the scheduled loop body around it: that of
/// the operation of the body that contains it, or of the nearest one above.
std::optional<Slot> getEffectiveSlot(Operation *op);

/// The outermost loop around `op` whose body has slots; null if there is none.
Operation *getScheduledNest(Operation *op);

/// Every tensor has a register layout, over the warps of its role.
LogicalResult checkLayouts(func::FuncOp kernel);

/// What steers the threads of a group, or is used as one number by all of them,
/// is the same in all of them.
LogicalResult checkUniformity(func::FuncOp kernel);

/// One role fills a channel or mail, one other role or itself reads it.
LogicalResult checkEnds(func::FuncOp kernel);

/// Pipelining keeps the order in which a role uses a channel, mail or turns.
LogicalResult checkOrder(func::FuncOp kernel);

/// Every turn that is taken is passed on.
LogicalResult checkTurns(func::FuncOp kernel);

/// A view is released once, after the products that read it have ended, and not
/// used afterwards.
LogicalResult checkViews(func::FuncOp kernel);

/// The block values that are live at a time fit the registers of a thread.
LogicalResult checkRegisters(func::FuncOp kernel);

/// The roles never wait for one another for ever, and leave no stage filled.
/// For kernels whose loops are not to be pipelined any more.
LogicalResult checkProtocol(func::FuncOp kernel);

} // namespace mlir::fagpu

#endif // FA_LIB_DIALECT_FAGPU_TRANSFORMS_CHECK_CHECK_H
