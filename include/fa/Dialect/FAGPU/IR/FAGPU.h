//===- FAGPU.h - The fagpu dialect ------------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU schedule language with value semantics. Its operations share names with
// those of other dialects, so they live in a namespace of their own. Before the
// generated classes: questions about types and values that these classes ask
// themselves; behind them: those about operations, kernels and launches.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPU_H
#define FA_DIALECT_FAGPU_IR_FAGPU_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::fagpu {

class LayoutInterface;

/// The coordinate of element `element` of thread `thread` of a value of
/// `shape`.
SmallVector<int64_t> coordinateOf(LayoutInterface layout,
                                  ArrayRef<int64_t> shape, int64_t thread,
                                  int64_t element);

/// Whether this is the type of a block value: a tensor of static shape that has
/// a register layout, or no encoding as long as the layout is left out.
bool isBlockType(Type type);

/// The register layout of a block value's type; null where it is left out, and
/// for any other type.
LayoutInterface getBlockLayout(Type type);

/// Whether no block value among the operands and results of `op` leaves its
/// layout out.
bool hasLayouts(Operation *op);

/// Whether elements of this type are packed in pairs into 32-bit registers.
bool isPackedElement(Type elementType);

/// The elements of a value of layout `acc`, by their row-major numbers, in the
/// order of `fragments`, where W words of a thread lie beside each other, 4 or
/// 1: of T threads, register r of thread t is at W T (r / W) + W t + r mod W.
SmallVector<int64_t> getFragmentOrder(RankedTensorType type, int64_t words);

/// The view that slices were taken of; the view itself if it is no slice.
Value getWholeView(Value view);

/// Whether threads read stages of a channel into registers, each at its own
/// time: then the stage is free when every warp has said so.
bool isReadByLoads(Value channel);

/// Whether the threads of a group fill a channel from memory, each waiting for
/// what it has copied itself.
bool isCopiedByThreads(Value channel);

/// Refuses a fagpu.put or fagpu.fetch of `box` whose `pages` cannot be a table,
/// or that has none of the bounds that rows in pages need.
LogicalResult verifyPages(Operation *op, Value pages,
                          std::optional<int64_t> pageDim, ArrayRef<int64_t> box,
                          Value rows, bool isWhole);

/// The dimension of memory that `rows(...)` bounds, of a box that holds a tile
/// of this rank: the first one whose size is above 1, apart from the columns of
/// a matrix, which are the last one. Where there is none, the last one for a
/// vector, the one before the last for a matrix. `box` has a size for each
/// dimension of the memory, at least one.
unsigned getRowDim(ArrayRef<int64_t> box, unsigned tileRank);

/// Stage and order of an operation in a loop that is to be pipelined: stage 0
/// belongs to the newer iteration, stage 1 to the one before it, a negative
/// stage runs that many iterations ahead.
struct Slot {
  int64_t stage;
  int64_t order;
};

/// The slot that the operation itself carries.
std::optional<Slot> getSlot(Operation *op);
void setSlot(Operation *op, Slot slot);
void removeSlot(Operation *op);

} // namespace mlir::fagpu

#include "fa/Dialect/FAGPU/IR/FAGPUAttrInterfaces.h.inc"

#include "fa/Dialect/FAGPU/IR/FAGPUEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/FAGPU/IR/FAGPUAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fa/Dialect/FAGPU/IR/FAGPUTypes.h.inc"

#include "fa/Dialect/FAGPU/IR/FAGPUDialect.h.inc"

#define GET_OP_CLASSES
#include "fa/Dialect/FAGPU/IR/FAGPUOps.h.inc"

namespace mlir::fagpu {

/// Whether a product stores its first operand as K x M, and its second one as
/// N x K.
inline bool isFirstTransposed(MatrixForm form) {
  return form == MatrixForm::tn || form == MatrixForm::tt;
}
inline bool isSecondTransposed(MatrixForm form) {
  return form == MatrixForm::nt || form == MatrixForm::tt;
}

/// How many registers a thread holds of a block value; those of 64-bit elements
/// have 64 bits.
int64_t registersPerThread(RankedTensorType type);

/// Whether the function is a kernel of the dialect.
bool isKernel(func::FuncOp function);

/// How many consecutive blocks of a kernel make a cluster: they run at the same
/// time and fill each other's shared memory (PTX ISA, "Cluster of Cooperative
/// Thread Arrays"). 1 where the kernel has none.
int64_t getClusterSize(func::FuncOp kernel);

/// The first launch in a function; null if it is no host function.
LaunchOp findLaunch(func::FuncOp function);

/// All launches in a function, in their order.
SmallVector<LaunchOp> findLaunches(func::FuncOp function);

/// Whether no block value of a role leaves its layout out.
bool hasLayouts(RoleOp role);

/// Refuses an operation on block values that stands in a kernel outside of its
/// roles, where no warps run it.
LogicalResult verifyInRole(Operation *op);

/// Refuses an operation that adds to memory, in an order that a run decides, in
/// a deterministic kernel.
LogicalResult verifyOrderOfAdds(Operation *op);

/// Where an operation was written, for messages: "line 12".
std::string describePlace(Operation *op);

} // namespace mlir::fagpu

#endif // FA_DIALECT_FAGPU_IR_FAGPU_H
