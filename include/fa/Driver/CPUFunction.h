//===- CPUFunction.h - A compiled function with checked calls ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DRIVER_CPUFUNCTION_H
#define FA_DRIVER_CPUFUNCTION_H

#include "fa-c/Runtime.h"
#include "fa/JIT/CPUCompiler.h"
#include "fa/Runtime/CUDA/KernelDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::fa {

/// Whether memory of an argument may be written, views and calls followed.
bool isWritten(BlockArgument argument);

/// A copy of the module with a function and what it calls, whose results are
/// arguments, which decides how tensors lie in memory. Null after a diagnostic.
OwningOpRef<ModuleOp> isolateForCPU(func::FuncOp function);

/// A function compiled for this CPU. Its arguments are those of the function,
/// then one for each result. It depends on no context. Calls may come from any
/// thread.
class CPUFunction {
public:
  /// Compiles a public function and what it calls by `fa-to-cpu`. `names` are
  /// those of its arguments, as many as are known. The module stays as it is.
  /// Fails with one diagnostic.
  static FailureOr<std::unique_ptr<CPUFunction>>
  compile(func::FuncOp function, ArrayRef<std::string> names,
          const CPUCompileOptions &options = {});

  /// What `save` gave, in this or another process. An error for bytes that are
  /// damaged or, which `isOfOther` then says, of another processor.
  static llvm::Expected<std::unique_ptr<CPUFunction>> load(StringRef bytes,
                                                           bool &isOfOther);
  std::string save() const;

  /// Name and arguments, these as a manifest has them.
  StringRef getInterface() const { return interface; }
  StringRef getName() const { return description.name; }

  /// Checks the arguments, and calls. The error names the argument and what is
  /// legal; outputs are not touched then. Outputs must not overlap each other
  /// or what is read, which is not checked.
  llvm::Error call(ArrayRef<FaArgument> arguments) const;

private:
  /// The argument `lengths` holds how many of `dim` of another one are in use,
  /// at most its size or, where it is not negative, `extent`.
  struct LengthBound {
    unsigned lengths, argument, dim;
    int64_t extent;
  };
  struct GroupedHeads {
    unsigned query, queryDim, key, keyDim;
  };

  llvm::Error readInterface(std::string text);
  llvm::Error loadCode(StringRef object);
  llvm::Error checkOutputs(ArrayRef<FaArgument> arguments) const;
  llvm::Error checkHeads(ArrayRef<FaArgument> arguments) const;
  llvm::Error checkLengths(ArrayRef<FaArgument> arguments) const;
  llvm::Error fail(unsigned argument, const Twine &message) const;

  std::string interface, cpu;
  runtime::KernelDescription description;
  SmallVector<bool> isOutput;
  SmallVector<LengthBound> lengthBounds;
  SmallVector<GroupedHeads> groupedHeads;
  std::unique_ptr<CompiledModule> module;
  CompiledModule::PackedFunction code = nullptr;
};

/// The text of the interface of `function`, which is on memrefs since
/// `original` was turned into it.
FailureOr<llvm::json::Object> describeInterface(func::FuncOp original,
                                                func::FuncOp function,
                                                ArrayRef<std::string> names);

} // namespace mlir::fa

#endif // FA_DRIVER_CPUFUNCTION_H
