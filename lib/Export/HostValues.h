//===- HostValues.h - Arithmetic of host functions as values ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The translator from a host function to the straight-line program of a
// manifest (docs/Runtime.md). `add` takes one operation, `get` gives the name
// of its result. The private section names the files that the class is spread
// over.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXPORT_HOSTVALUES_H
#define FA_LIB_EXPORT_HOSTVALUES_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace mlir::fa {

/// An operand of a manifest: a number, or the name of what holds it.
using Operand = llvm::json::Value;

/// A memref of a host function: an argument, or the workspace that has a name,
/// or a view of one. Offset and strides are in elements, from its address.
struct HostMemRef {
  unsigned argument;
  Operand offset = 0;
  SmallVector<Operand> sizes, strides;
  std::string workspace;
};

/// When a launch uses a value: for every call, or where one of some conditions
/// of the host function holds.
struct Demand {
  bool always = false;
  llvm::SmallSetVector<Value, 2> conditions;

  void add(const Demand &other);
  bool covers(const Demand &other) const;
};

/// Translates a host function's operations one by one. What they compute are
/// the `values` of a manifest.
class HostValues {
public:
  /// `names` are those of the arguments.
  HostValues(func::FuncOp host, ArrayRef<std::string> names);

  /// Translates an operation other than a launch and the end of the function.
  /// Fails with a diagnostic.
  LogicalResult add(Operation *op);

  /// What stands for a scalar of the host function.
  Operand get(Value scalar) const { return scalars.at(scalar); }
  /// The memref that a value is a view of; nullptr for a counter and a
  /// workspace, or a view of one.
  const HostMemRef *getMemRef(Value memref) const;
  /// What a view of a workspace is; nullptr for other memory.
  const HostMemRef *getWorkspaceView(Value memref) const;

  /// The size of an argument's dim.
  Operand getDim(unsigned argument, unsigned dim);
  /// Adds a value, or gives the one that is the same.
  Operand emit(StringRef opcode, ArrayRef<Operand> operands);
  /// The same where not both operands are known.
  Operand add(Operand left, Operand right);
  Operand multiply(Operand left, Operand right);
  /// Of what follows: values and requirements are of a launch alone, and hold
  /// where it runs.
  void enterLaunch(fagpu::LaunchOp launch);
  /// Calls are refused that do not meet it, where what it is of is used.
  void addRequirement(Operand condition, const Twine &message);

  /// The name of a workspace; "" for any other value.
  StringRef getWorkspace(Value memory) const {
    auto found = workspaceNames.find(memory);
    return found == workspaceNames.end() ? StringRef() : found->second;
  }

  /// A workspace, which is dense.
  HostMemRef describe(fagpu::WorkspaceOp op);

  /// As messages name it.
  std::string getName(const HostMemRef &memref) const {
    return memref.workspace.empty() ? "'" + names[memref.argument] + "'"
                                    : "a workspace";
  }

  llvm::json::Array takeWorkspaces() { return std::move(workspaces); }
  /// Before the values, as it adds some.
  llvm::json::Array takeRequirements();
  llvm::json::Array takeValues() { return std::move(values); }

private:
  /// HostDemands.cpp.
  void findDemands();
  void demandOperands(Operation *op);
  Operand whereDemanded(const Demand &demand, Operand condition);
  Operand emitOr(Operand left, Operand right) {
    return emit("select", {std::move(left), 1, std::move(right)});
  }
  LogicalResult translate(Operation *op);
  LogicalResult addConstant(Operation *op, Attribute value);
  LogicalResult addDimOf(Operation *op);
  /// HostViews.cpp.
  LogicalResult addView(Operation *op);
  /// A view without dims of the same memory.
  static HostMemRef makeView(const HostMemRef &source) {
    return {source.argument, source.offset, {}, {}, source.workspace};
  }
  LogicalResult addSubView(memref::SubViewOp op, HostMemRef &view);
  LogicalResult addExpansion(memref::ExpandShapeOp op, HostMemRef &view);
  void requireContiguous(const HostMemRef &source, ArrayRef<int64_t> group);
  void addCollapse(memref::CollapseShapeOp op, HostMemRef &view);
  void addTranspose(memref::TransposeOp op, HostMemRef &view);
  Operand getOperand(OpFoldResult value) const;
  void addWorkspace(fagpu::WorkspaceOp op);
  /// HostArithmetic.cpp. Of an operation that a manifest has; false for others.
  bool addArithmetic(Operation *op);
  bool addCast(Operation *op);
  bool addComparison(Operation *op);
  bool addRealComparison(arith::CmpFOp op);
  /// HostRequirements.cpp. Numbers of a manifest are signed and wider than
  /// those of the host function: requires that an operation gives the same on
  /// both.
  LogicalResult requireOperands(Operation *op);
  LogicalResult requireNonNegative(Operation *op, Value operand);
  void requireFit(Value value, unsigned width);
  void requireNoWrap(Operation *op);
  std::string describe(Value value) const;
  /// Whether an operation reads the bits of its operands as unsigned.
  static bool isUnsigned(Operation *op);
  /// A select of memrefs, for example, does not.
  bool readsScalars(Operation *op) const;
  bool isNonNegative(Value value) const;
  bool computesNonNegative(Operation *op) const;
  Operand operand(Operation *op, unsigned number) const {
    return get(op->getOperand(number));
  }

  func::FuncOp host;
  SmallVector<std::string> names;
  llvm::StringSet<> taken;
  struct ScalarMap {
    std::map<void *, Operand> entries;
    const Operand &at(Value value) const {
      return entries.at(value.getAsOpaquePointer());
    }
    void set(Value value, Operand operand) {
      entries.insert_or_assign(value.getAsOpaquePointer(), std::move(operand));
    }
  } scalars;
  DenseMap<Value, HostMemRef> memrefs;
  DenseMap<Value, Demand> demands;
  /// Of the operation, or the launch, that is translated.
  Demand demand;
  /// Integers that are at least 0 for every call that meets the requirements,
  /// where they are demanded so.
  DenseMap<Value, Demand> nonNegative;
  struct Requirement {
    Operand condition;
    std::string message;
    Demand demand;
  };
  SmallVector<Requirement> requirements;
  llvm::json::Array values, workspaces;
  DenseMap<Value, std::string> workspaceNames;
  unsigned numValues = 0;
  /// Names of values, by what they compute.
  llvm::StringMap<std::string> emitted;
};

} // namespace mlir::fa

#endif // FA_LIB_EXPORT_HOSTVALUES_H
