//===- Reference.h - The float64 evaluation of a function -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_RUN_REFERENCE_H
#define FA_TOOLS_FA_RUN_REFERENCE_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Driver/HostBuffer.h"
#include "fa/Executor/Executor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::fa {

/// What a function gives back: its results, then the memref arguments that it
/// writes.
struct Output {
  /// "result 0" or "argument 3".
  std::string name;
  Type type;
  /// Position among the results, or among the arguments.
  unsigned index;
  bool isArgument;
};

/// The outputs of a function in order.
SmallVector<Output> getOutputs(func::FuncOp function);

/// Which elements of an output rows of attention stand for.
struct SampledOutput {
  bool isLse = false;
  DimsAttr order;
};

/// A function whose outputs all come from one fa.attention can be checked on a
/// sample of its rows. For each output, how rows lie in it; empty if the
/// function is of another kind.
SmallVector<SampledOutput> getSampledOutputs(func::FuncOp function);

/// Row-major positions of the elements of rows in an output of this shape.
std::vector<int64_t> getElementsOfRows(const SampledOutput &output,
                                       ArrayRef<int64_t> shape,
                                       ArrayRef<executor::RowIndex> rows);

/// Up to this many operations (4 x batch x heads x queries x keys x head dim)
/// every row is evaluated; above, a seeded sample of rows of about this work.
struct SampleOptions {
  double maxOperations = 4e9;
  uint64_t seed = 0;
};

/// A finished evaluation.
struct Evaluation {
  /// Values of the outputs, as doubles and integers.
  SmallVector<executor::RuntimeValue> outputs;
  /// The same where a page that is none spoils all rows of its sequence, which
  /// an implementation may do too; empty if no page was.
  SmallVector<executor::RuntimeValue> spoiledOutputs;
  /// The rows that were evaluated, if not all.
  std::optional<std::vector<executor::RowIndex>> rows;
  int64_t totalRows = 0;
};

/// Runs functions of one module, in float64 unless the policy is another one.
class Reference {
public:
  explicit Reference(ModuleOp module, const executor::NumberPolicy &policy =
                                          executor::getFloat64Policy());

  /// Evaluates `function` on arguments that stay as they are. The first
  /// arguments are `arguments`; a function that takes its outputs as further
  /// memref arguments gets `outputs` for them.
  FailureOr<Evaluation> evaluate(func::FuncOp function,
                                 ArrayRef<HostBuffer> arguments,
                                 ArrayRef<HostBuffer> outputs = {},
                                 std::optional<SampleOptions> sample = {});

  /// Shapes of the results; only attention is left out of the evaluation.
  FailureOr<SmallVector<SmallVector<int64_t>>>
  getResultShapes(func::FuncOp function, ArrayRef<HostBuffer> arguments);

  /// Visible pairs and operations, counted by evaluating the masks.
  FailureOr<executor::AttentionWork> countWork(func::FuncOp function,
                                               ArrayRef<HostBuffer> arguments,
                                               ArrayRef<HostBuffer> outputs);

  /// Tells `visit` of each key block that the steps of a tiled function visit,
  /// and computes no attention. The outputs are further arguments.
  LogicalResult
  visitBlocks(func::FuncOp function, ArrayRef<HostBuffer> arguments,
              ArrayRef<HostBuffer> outputs,
              std::function<void(const executor::KeyBlockVisit &)> visit);

private:
  executor::Semantics semantics;
  const executor::NumberPolicy &policy;
  std::unique_ptr<executor::Executor> executor;
};

} // namespace mlir::fa

#endif // FA_TOOLS_FA_RUN_REFERENCE_H
