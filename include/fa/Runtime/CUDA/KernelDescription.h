//===- KernelDescription.h - What a launch needs to know -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that the launcher knows about a kernel. A manifest is one way to
// make it (Manifest.h); the launcher itself reads no text. Read from the end:
// KernelDescription is a LaunchDescription and what its arguments must be; the
// structures before are their parts.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_KERNELDESCRIPTION_H
#define FA_RUNTIME_CUDA_KERNELDESCRIPTION_H

#include "fa/Runtime/CUDA/DriverAPI.h"
#include "fa/Runtime/CUDA/HostProgram.h"
#include <array>

namespace mlir::fa::runtime {

/// "an unknown type" for a number that is no FaDataType, as callers of the C
/// API may pass.
llvm::StringRef getName(int type);
std::optional<FaDataType> parseDataType(llvm::StringRef name);
/// In bytes.
unsigned getSize(FaDataType type);
bool isFloat(FaDataType type);

/// An architecture, for example sm_90a.
struct Chip {
  int major = 0;
  int minor = 0;
  /// 'a': this architecture only. 'f': its family, the minor versions from this
  /// one up. 0: no restriction.
  char suffix = 0;

  static std::optional<Chip> parse(llvm::StringRef name);
  std::string getName() const;
  /// Whether a device of compute capability `major`.`minor` runs machine code,
  /// or takes PTX, for this architecture.
  bool runsCubinOn(int major, int minor) const;
  bool takesPTXOn(int major, int minor) const;
};

/// What one dim of a tensor argument must be.
struct DimSpec {
  enum Kind { Any, Static, Symbol } kind = Any;
  /// Static: the size.
  int64_t size = 0;
  /// Symbol: an index into KernelDescription::symbols.
  unsigned symbol = 0;
};

struct ArgumentSpec {
  std::string name;
  FaDataType type = FA_TYPE_F32;
  /// A number: of any integer type for an integer `type`, of any number type
  /// for a float one.
  bool isScalar = false;
  llvm::SmallVector<DimSpec, FA_MAX_RANK> shape;
  /// The stride that a dim of more than one element must have, in elements.
  llvm::SmallVector<std::optional<int64_t>, FA_MAX_RANK> strides;
  /// Every stride is that of a dense row-major tensor.
  bool contiguous = false;
  /// The address is a multiple of this many bytes.
  int64_t alignment = 1;
  /// So is every stride but those that are 1.
  int64_t strideAlignment = 1;
};

/// A name for dims that must be equal, defined by the first that has it.
struct DimSymbol {
  std::string name;
  unsigned argument;
  unsigned dim;
};

/// One dim of a tensor map, innermost first.
struct MapDim {
  Slot size;
  /// In elements; unused for the innermost dim, whose stride is 1.
  Slot stride;
  uint32_t box;
};

struct ParameterSpec {
  enum Kind {
    TensorMap,
    Pointer,
    I1,
    I8,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    Counter,
    Workspace
  } kind;
  /// TensorMap, Pointer: the argument, and where in it a view starts, in
  /// elements. Workspace, or TensorMap of one: the workspace.
  unsigned argument = 0;
  std::optional<Slot> offset;
  /// I1 to F64: the value.
  Slot value = 0;
  /// TensorMap.
  bool isOfWorkspace = false;
  FaDataType type = FA_TYPE_F32;
  llvm::SmallVector<MapDim, 5> dims;
  cuda::TensorMapSwizzle swizzle = cuda::TensorMapSwizzleNone;
  cuda::TensorMapL2Promotion promotion = cuda::TensorMapL2Promotion256B;
  bool fillsNaN = false;

  bool usesWorkspace() const { return kind == Workspace || isOfWorkspace; }
  bool isNumber() const { return kind >= I1 && kind <= F64; }
  bool isReal() const { return kind >= F16 && kind <= F64; }
  unsigned getSizeInBytes() const;
};

/// A condition that a launch must meet beyond those of each argument.
struct Requirement {
  /// Not 0 where it is met.
  Slot condition;
  std::string message;
  /// Values that the message is followed by.
  llvm::SmallVector<std::pair<std::string, Slot>, 2> shown;
};

/// One launch: a function of the images, and what it is given.
struct LaunchDescription {
  std::string name;
  std::array<unsigned, 3> block = {1, 1, 1};
  std::array<unsigned, 3> cluster = {1, 1, 1};
  /// Dynamic shared memory, in bytes.
  unsigned sharedMemory = 0;
  /// Blocks may start before the launch ahead has ended.
  bool isDependent = false;
  llvm::SmallVector<ParameterSpec, 12> parameters;
  std::array<Slot, 3> grid = {0, 0, 0};

  bool hasCounter() const;
  unsigned getClusterSize() const {
    return cluster[0] * cluster[1] * cluster[2];
  }
  unsigned getBlockSize() const { return block[0] * block[1] * block[2]; }
};

/// Device memory that the launches of one call share, and nobody else.
struct WorkspaceSpec {
  std::string name;
  Slot bytes;
};

struct KernelDescription : LaunchDescription {
  Chip chip;
  llvm::SmallVector<ArgumentSpec, 8> arguments;
  llvm::SmallVector<DimSymbol, 8> symbols;
  HostProgram program;
  llvm::SmallVector<Requirement, 2> requirements;
  llvm::SmallVector<WorkspaceSpec, 1> workspaces;
  /// Launches of other functions ahead of the kernel's own, in order.
  llvm::SmallVector<LaunchDescription, 0> before;

  /// The functions that are launched, in order, which may have one twice.
  llvm::SmallVector<llvm::StringRef, 2> listFunctions() const;
};

/// Compiled forms of a kernel; at least one is not empty.
struct KernelImages {
  struct Cubin {
    /// The only kernel in it; "" where one image has all.
    std::string kernel;
    std::string bytes;
  };
  llvm::SmallVector<Cubin, 1> cubins;
  /// Of all kernels.
  std::string ptx;

  /// The machine code of a kernel; null where there is none.
  const std::string *findCubin(llvm::StringRef kernel) const {
    for (const Cubin &cubin : cubins)
      if (cubin.kernel.empty() || cubin.kernel == kernel)
        return &cubin.bytes;
    return nullptr;
  }
};

/// Checks count, types, shapes, strides and alignment of the arguments of a
/// launch. The error names the argument and what it should be.
llvm::Error checkArguments(const KernelDescription &description,
                           llvm::ArrayRef<FaArgument> arguments);

/// The same of the addresses alone.
llvm::Error checkAddresses(const KernelDescription &description,
                           llvm::ArrayRef<FaArgument> arguments);

/// Whether a tensor has no elements; a number has one.
bool isEmptyTensor(const ArgumentSpec &spec, const FaArgument &argument);

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_KERNELDESCRIPTION_H
