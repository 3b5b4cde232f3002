//===- KernelParameters.h - What a launch passes to a kernel ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EXPORT_KERNELPARAMETERS_H
#define FA_LIB_EXPORT_KERNELPARAMETERS_H

#include "HostValues.h"

namespace mlir::fa {

/// What the kernel needs of an argument's address and of its strides, in bytes.
struct Alignment {
  int64_t address = 1;
  int64_t strides = 1;
};

/// Translates `fagpu.parameters` of a compiled kernel to the `parameters` of a
/// manifest.
class KernelParameters {
public:
  /// `names` are those of the host function's arguments.
  KernelParameters(fagpu::LaunchOp launch, HostValues &values,
                   ArrayRef<std::string> names)
      : launch(launch), values(values), names(names) {}

  /// Translates every parameter. Fails with a diagnostic.
  LogicalResult add(ArrayAttr parameters);

  llvm::json::Array take() { return std::move(parameters); }
  Alignment getAlignment(unsigned argument) const {
    auto found = alignments.find(argument);
    return found == alignments.end() ? Alignment() : found->second;
  }

private:
  /// Strides of an argument whose copies have bounded rows, in elements. The
  /// stride of a dim of one element means nothing, so it does not count.
  struct UnitStrides {
    SmallVector<Operand> strides;
    Operand unit = nullptr;
  };

  LogicalResult add(DictionaryAttr parameter);
  LogicalResult addScalar(Value value);
  LogicalResult addPointer(Value value, DictionaryAttr parameter);
  LogicalResult requirePieces(Value value, Operand size, StringRef name,
                              DictionaryAttr parameter);
  LogicalResult addTensorMap(Value value, const HostMemRef &memref,
                             DictionaryAttr parameter);
  /// The memref that a launch passes; fails where it is none of the function's
  /// arguments, no workspace and no view of these.
  const HostMemRef *getMemRef(Value value);
  const UnitStrides &getUnitStrides(Value value, unsigned row);
  UnitStrides computeUnitStrides(Value value, const HostMemRef &memref,
                                 unsigned row);
  void requireReach(const HostMemRef &memref, const UnitStrides &strides);
  /// Makes the address of a view a multiple of so many bytes.
  LogicalResult alignViewStrides(const HostMemRef &memref, int64_t elements,
                                 int64_t alignment);
  LogicalResult alignOffset(Value value, const HostMemRef &memref,
                            int64_t alignment);

  fagpu::LaunchOp launch;
  HostValues &values;
  ArrayRef<std::string> names;
  /// By what the launch passes.
  DenseMap<Value, UnitStrides> unitStrides;
  std::map<void *, HostMemRef> workspaces;
  std::map<unsigned, Alignment> alignments;
  llvm::json::Array parameters;
};

} // namespace mlir::fa

#endif // FA_LIB_EXPORT_KERNELPARAMETERS_H
