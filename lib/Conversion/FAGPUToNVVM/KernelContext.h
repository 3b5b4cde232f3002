//===- KernelContext.h - What the patterns know of a kernel -----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_KERNELCONTEXT_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_KERNELCONTEXT_H

#include "TensorMap.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <map>

namespace mlir::fagpu {

/// The threads of the groups of one role, numbered by the layouts. All values
/// are i32 but the two predicates.
struct RoleThreads {
  /// The thread's number in its group, its warp in it, its lane in the warp.
  Value thread, warp, lane;
  /// Whether it is the first of its group, and of its warp.
  Value isGroupLeader, isWarpLeader;
  /// Whether it acts for a role of one thread whose work the lanes of a warp
  /// share; null in other roles.
  Value isElected;
};

/// Whether the lanes of a warp run a role of one thread, because they share the
/// copies of rows in pages.
bool isRunByLanes(RoleOp role);

/// Whether a put copies a vector in bulk, without a tensor map.
inline bool isVectorInBulk(PutOp put) {
  return !isCopiedByThreads(put.getChannel()) &&
         put.getChannel().getType().getShape().size() == 1;
}

/// Refuses what threads cannot copy.
LogicalResult verifyCopiedTile(PutOp put);
/// Refuses to gather from memory, or elements, that have no lowering.
LogicalResult verifyGather(GatherOp gather);
/// Refuses memory of an operation whose address is not known.
LogicalResult verifySource(Operation *op, Value source);
/// Refuses a constant, or a use of it, that the device has no table for.
LogicalResult verifyTable(memref::GetGlobalOp op);

class Emitter;

/// Rewrites the parameters of a kernel, and holds what its patterns share.
class KernelContext {
public:
  explicit KernelContext(func::FuncOp kernel) : kernel(kernel) {}

  /// Replaces memref arguments by parameters, emits thread numbers at the entry
  /// and the initialisation of barriers. Fails after one diagnostic.
  LogicalResult prepare();
  /// Removes what only the patterns needed.
  void finish();

  Value getSharedBase() const { return sharedBase; }
  /// The numbers of a thread of the role of an operation, from the kernel's
  /// entry.
  const RoleThreads &getThreads(Operation *op) const;
  /// The same, read again where they are needed: after loops, so that they take
  /// no registers in them.
  RoleThreads readThreads(Emitter &emit, Operation *op) const;

  /// The map of a put or of a staged store.
  const TensorMap &getTensorMap(Operation *op) const {
    return mapOf.find(op)->second;
  }

  /// Parameters of the memref that `placeholder` stands for.
  Value getTensorMapParameter(const TensorMap &map) const;
  /// Offset stride of a dimension in units of the common stride, i32.
  Value getUnitStride(Value placeholder, unsigned dim) const;
  /// Whether `memory` stands for an argument or a constant of the kernel.
  bool isParameter(Value memory) const { return memrefs.contains(memory); }
  /// Pointer into global memory.
  Value getPointer(Value placeholder) const;
  /// Stride of a dimension in elements, i64.
  Value getStride(OpBuilder &builder, Value placeholder, unsigned dim) const;
  /// Size of a dimension in elements, i64; null where `memory` is no parameter.
  Value getSize(OpBuilder &builder, Value memory, unsigned dim) const;

private:
  struct MemRefParameters {
    Value pointer;
    SmallVector<Value> strides;
    SmallVector<Value> unitStrides;
    /// Of the dimensions whose size the kernel reads and that are dynamic.
    DenseMap<unsigned, Value> sizes;
  };
  struct Needs {
    std::vector<TensorMap> maps;
    bool elements = false;
    /// Bytes that the address and the strides are multiples of; 1 if only
    /// single elements are accessed.
    int64_t alignment = 1;
    bool unitStrides = false;
    /// Elements that are moved whole: the last dimension is a multiple of each.
    SetVector<int64_t> pieces;
    /// Dynamic dimensions whose size is read.
    SetVector<unsigned> sizes;
  };

  void collectNeeds();
  void replaceArgument(unsigned number, Needs &needs,
                       SmallVectorImpl<Attribute> &parameters);
  BlockArgument addParameter(Type type, DictionaryAttr description,
                             SmallVectorImpl<Attribute> &parameters);
  void replaceArguments();
  /// Constant tables become globals of the device.
  void replaceConstants();
  void emitThreads();
  void emitSharedBase();
  void emitBarriers();
  void frameRoles();

  func::FuncOp kernel;
  Value sharedBase;
  DenseMap<Operation *, RoleThreads> threads;
  /// The number of the first thread of a role.
  DenseMap<Operation *, int64_t> firstThreads;
  std::map<unsigned, Needs> needs;
  std::map<TensorMap, Value> maps;
  DenseMap<Operation *, TensorMap> mapOf;
  DenseMap<Value, MemRefParameters> memrefs;
  SmallVector<Operation *> placeholders;
};

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_KERNELCONTEXT_H
