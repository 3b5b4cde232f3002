//===- CPUCompiler.h - Compile a module for this CPU -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns a module of any level into machine code of the running process.
//
//===----------------------------------------------------------------------===//

#ifndef FA_JIT_CPUCOMPILER_H
#define FA_JIT_CPUCOMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlir::fa {

/// How machine code is made.
struct CPUCompileOptions {
  /// Processor and features in LLVM's spelling, as in "znver3" and
  /// "+avx2,+fma". Both empty: the processor of this machine.
  std::string cpu;
  std::string features;
  /// 0 to 3.
  unsigned optimizationLevel = 3;
};

/// A strided view of memory, laid out as compiled code expects it: the struct
///   { allocated, aligned, offset, sizes[rank], strides[rank] }
/// of 64-bit fields, with offset and strides in elements.
class MemRefDescriptor {
public:
  /// A row-major view of `data` with this shape.
  MemRefDescriptor(void *data, ArrayRef<int64_t> shape);
  /// A view of `data` with these strides, in elements.
  MemRefDescriptor(void *data, ArrayRef<int64_t> shape,
                   ArrayRef<int64_t> strides);

  /// What a CompiledModule takes for a memref argument. Valid while this
  /// object lives and is not moved.
  void *get() { return words.data(); }

private:
  std::vector<int64_t> words;
};

/// Machine code of one module. Functions may be called from any thread, one
/// call at a time for each set of outputs.
class CompiledModule {
public:
  /// The code of a function: takes one pointer for each argument.
  using PackedFunction = void (*)(void **arguments);

  ~CompiledModule();

  /// The public function `name`, or an error that names it. The pointer lives
  /// as long as this object.
  llvm::Expected<PackedFunction> lookup(StringRef name) const;

  /// Calls the public function `name`. `arguments` holds one pointer for each
  /// argument, in order: for a memref a descriptor (MemRefDescriptor::get),
  /// for a scalar the address of its value (index: 8 bytes). Outputs must not
  /// overlap each other or what is read, which is not checked.
  llvm::Error invoke(StringRef name, ArrayRef<void *> arguments) const;

  /// The ELF object that the code was loaded from.
  StringRef getObject() const;

private:
  friend llvm::Expected<std::unique_ptr<CompiledModule>>
  loadCPUObject(StringRef object);
  struct Implementation;
  explicit CompiledModule(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

/// Compiles `module`, which is at any level from 0 to 3C, by the pipeline
/// `fa-to-cpu` and LLVM. The module itself stays as it is. After that
/// pipeline every public function takes memrefs and scalars only and returns
/// nothing: what were tensor results are trailing memref arguments. Reports
/// a diagnostic and fails where the pipeline or LLVM fails.
FailureOr<std::unique_ptr<CompiledModule>>
compileToCPU(ModuleOp module, const CPUCompileOptions &options = {});

/// Loads an object that came from `getObject` or `compileToCPUObject`, in this
/// or another process of a machine that has its processor's features.
llvm::Expected<std::unique_ptr<CompiledModule>> loadCPUObject(StringRef object);

/// The object file of `compileToCPU`: position-independent ELF with the
/// function
/// `_mlir_ciface_NAME` for each public function. It calls `fa_parallel_for` of
/// fa/Runtime/ParallelFor.h.
FailureOr<std::string>
compileToCPUObject(ModuleOp module, const CPUCompileOptions &options = {});

/// An error for a processor or a feature that LLVM does not know.
llvm::Error checkCPU(const CPUCompileOptions &options);

/// The processor of these options with its features, as in "znver3,+avx2,+fma":
/// what must be equal for an object to be of use.
std::string describeCPU(const CPUCompileOptions &options = {});

/// As `compileToCPU`, for a module that is in the LLVM dialect already.
FailureOr<std::unique_ptr<CompiledModule>>
compileLLVMDialectToCPU(ModuleOp module, const CPUCompileOptions &options = {});

} // namespace mlir::fa

#endif // FA_JIT_CPUCOMPILER_H
