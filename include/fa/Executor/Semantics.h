//===- Semantics.h - What operations mean to the executor -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executor knows operations only through a table from operation name to a
// function that compiles it. Each dialect fills its part of the table; another
// library adds operations of its own the same way.
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_SEMANTICS_H
#define FA_EXECUTOR_SEMANTICS_H

#include "fa/Executor/Program.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::fa::executor {

class NumberPolicy;
class ProgramBuilder;
class LaneBuilder;

/// Computes `count` elements of each result from `count` elements of each
/// operand. Results never alias operands. May fail (an integer division by
/// zero) after emitting a diagnostic.
using Kernel = std::function<LogicalResult(
    ArrayRef<const Slot *> operands, ArrayRef<Slot *> results, int64_t count)>;

/// The table.
class Semantics {
public:
  using CompileFn = std::function<LogicalResult(Operation *, ProgramBuilder &)>;
  using CompileLanesFn =
      std::function<LogicalResult(Operation *, LaneBuilder &)>;
  using MakeKernelFn = std::function<FailureOr<Kernel>(Operation *)>;

  /// An operation compiled to actions of a block.
  void addNamed(StringRef name, CompileFn compile) {
    entries[name].compile = std::move(compile);
  }
  /// An operation that can stand in a lane body, beside or without `add`.
  void addLanesNamed(StringRef name, CompileLanesFn compile) {
    entries[name].compileLanes = std::move(compile);
  }
  /// A pure operation on scalars that works element by element on vectors and
  /// tensors too; it can stand everywhere.
  void addElementwiseNamed(StringRef name, MakeKernelFn makeKernel) {
    entries[name].makeKernel = std::move(makeKernel);
  }

  /// The same with the operation class: `add<scf::ForOp>(compileFor)` where
  /// compileFor takes (scf::ForOp, ProgramBuilder &).
  template <typename OpT, typename Fn> void add(Fn compile) {
    addNamed(OpT::getOperationName(),
             [compile](Operation *op, ProgramBuilder &builder) {
               return compile(cast<OpT>(op), builder);
             });
  }
  template <typename OpT, typename Fn> void addLanes(Fn compile) {
    addLanesNamed(OpT::getOperationName(),
                  [compile](Operation *op, LaneBuilder &builder) {
                    return compile(cast<OpT>(op), builder);
                  });
  }
  template <typename OpT, typename Fn> void addElementwise(Fn makeKernel) {
    addElementwiseNamed(OpT::getOperationName(),
                        [makeKernel](Operation *op) -> FailureOr<Kernel> {
                          return makeKernel(cast<OpT>(op));
                        });
  }

  /// All operations with an interface, unless their name has an entry.
  template <typename InterfaceT> void addInterface(CompileFn compile) {
    interfaces.push_back(
        {[](Operation *op) { return isa<InterfaceT>(op); }, {compile, {}, {}}});
  }

  struct Entry {
    CompileFn compile;
    CompileLanesFn compileLanes;
    MakeKernelFn makeKernel;
  };
  /// The entry of an operation, or null.
  const Entry *lookup(Operation *op) const {
    auto it = entries.find(op->getName().getStringRef());
    if (it != entries.end())
      return &it->second;
    for (const auto &[matches, entry] : interfaces)
      if (matches(op))
        return &entry;
    return nullptr;
  }

private:
  llvm::StringMap<Entry> entries;
  std::vector<std::pair<bool (*)(Operation *), Entry>> interfaces;
};

/// The parts of the table, a dialect each.
void addArithSemantics(Semantics &semantics);
void addIndexSemantics(Semantics &semantics);
void addMathSemantics(Semantics &semantics);
void addFuncSemantics(Semantics &semantics);
void addSCFSemantics(Semantics &semantics);
void addAffineSemantics(Semantics &semantics);
void addTensorSemantics(Semantics &semantics);
void addMemRefSemantics(Semantics &semantics);
void addBufferizationSemantics(Semantics &semantics);
void addVectorSemantics(Semantics &semantics);
void addLinalgSemantics(Semantics &semantics);

/// All of the above.
void addUpstreamSemantics(Semantics &semantics);

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_SEMANTICS_H
