//===- Reference.cpp - The float64 evaluation of a function ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates a function in float64 by the executor, for comparison. Of a large
// attention only some rows are evaluated: its corners and a random choice.
// Read `Reference::evaluate`, then `chooseRows` for the sampling.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Driver/CPUFunction.h"
#include "fa/Executor/FASemantics.h"
#include "llvm/ADT/ScopeExit.h"
#include <random>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

//===----------------------------------------------------------------------===//
// Outputs of a function
//===----------------------------------------------------------------------===//

SmallVector<Output> fa::getOutputs(func::FuncOp function) {
  SmallVector<Output> outputs;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    outputs.push_back({"result " + std::to_string(i), type,
                       static_cast<unsigned>(i), /*isArgument=*/false});
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    if (isWritten(argument))
      outputs.push_back({"argument " + std::to_string(i), argument.getType(),
                         static_cast<unsigned>(i), /*isArgument=*/true});
  }
  return outputs;
}

SmallVector<SampledOutput> fa::getSampledOutputs(func::FuncOp function) {
  SmallVector<AttentionOp> found;
  function.walk([&](AttentionOp op) { found.push_back(op); });
  if (found.size() != 1 || !found[0].getOffsets().empty() ||
      found[0].getQueryStarts())
    return {};
  AttentionOp op = found[0];
  SampledOutput output{/*isLse=*/false, op.getOutputOrder()};
  SampledOutput lse{/*isLse=*/true, DimsAttr()};
  SmallVector<SampledOutput> sampled;
  auto add = [&](Value value, Value outputValue, Value lseValue) {
    if (value == outputValue)
      sampled.push_back(output);
    else if (lseValue && value == lseValue)
      sampled.push_back(lse);
    else
      return false;
    return true;
  };
  Operation *terminator = function.getBody().front().getTerminator();
  Value lseResult = op->getNumResults() > 1 ? op->getResult(1) : Value();
  for (Value value : terminator->getOperands())
    if (op->getNumResults() == 0 || !add(value, op->getResult(0), lseResult))
      return {};
  for (const Output &other : getOutputs(function))
    if (other.isArgument &&
        !add(function.getArgument(other.index), op.getOutput(), op.getLse()))
      return {};
  return sampled;
}

std::vector<int64_t> fa::getElementsOfRows(const SampledOutput &output,
                                           ArrayRef<int64_t> shape,
                                           ArrayRef<RowIndex> rows) {
  auto strides = getRowMajorStrides(shape);
  std::vector<int64_t> elements;
  for (const RowIndex &row : rows) {
    if (output.isLse) {
      elements.push_back(row.batch * strides[0] + row.head * strides[1] +
                         row.query);
      continue;
    }
    auto at = [&](DimKind kind) { return output.order.positionOf(kind); };
    int64_t first = row.batch * strides[at(DimKind::Batch)] +
                    row.query * strides[at(DimKind::Sequence)] +
                    row.head * strides[at(DimKind::Heads)];
    int64_t dim = at(DimKind::HeadDim);
    for (int64_t i = 0; i < shape[dim]; ++i)
      elements.push_back(first + i * strides[dim]);
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

static Semantics makeSemantics(MissingPage missing) {
  Semantics semantics;
  addUpstreamSemantics(semantics);
  addFASemantics(semantics, missing);
  return semantics;
}

static bool readsPages(ModuleOp module) {
  return module
      .walk([](AttentionOp op) {
        return op.getKeyPages() ? WalkResult::interrupt()
                                : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasNaN(const RuntimeValue &value) {
  if (!value.object)
    return std::isnan(value.slot.real);
  ArrayRefPtr packed = packArray(ArrayRefPtr(&value.array()));
  return llvm::any_of(
      llvm::seq<int64_t>(0, packed->getNumElements()),
      [&](int64_t i) { return std::isnan(packed->data()[i].real); });
}

Reference::Reference(ModuleOp module, const NumberPolicy &policy)
    : semantics(makeSemantics(MissingPage::SpoilsRows)), policy(policy) {
  executor = std::make_unique<Executor>(module, semantics, policy);
}

/// The rows to evaluate: the corners and a random choice of others.
static std::vector<RowIndex> sampleRows(const AttentionSize &size,
                                        int64_t count, uint64_t seed) {
  std::vector<RowIndex> rows;
  std::mt19937_64 engine(seed);
  auto choose = [&](int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(engine);
  };
  int64_t lastBatch = size.batches - 1, lastHead = size.heads - 1;
  rows.push_back({0, 0, 0});
  rows.push_back({lastBatch, lastHead, size.queries - 1});
  for (int64_t i = 2; i < count; ++i)
    rows.push_back(
        {choose(size.batches), choose(size.heads), choose(size.queries)});
  llvm::sort(rows);
  auto isSame = [](const RowIndex &a, const RowIndex &b) {
    return !(a < b) && !(b < a);
  };
  rows.erase(std::unique(rows.begin(), rows.end(), isSame), rows.end());
  return rows;
}

static std::optional<std::vector<RowIndex>>
chooseRows(const AttentionSize &size, const SampleOptions &options) {
  double perRow = 2.0 * size.keys * (size.headDim + size.valueHeadDim);
  double rows = static_cast<double>(size.batches) * size.heads * size.queries;
  if (rows * perRow <= options.maxOperations)
    return std::nullopt;
  // Reading a head costs about as much as a few rows, hence the lower bound.
  int64_t count = std::max<int64_t>(64, options.maxOperations / perRow);
  return sampleRows(size, count, options.seed);
}

/// Arguments in the executor's form. Tensors and memrefs become arrays, other
/// types single slots.
static RuntimeValue toRuntime(const HostBuffer &buffer, Type type) {
  return isa<ShapedType>(type) ? buffer.toRuntime()
                               : RuntimeValue(buffer.get(0));
}

/// Another function's argument may have another element type, as f16 beside
/// f32, but no other shape.
static bool fits(Type type, const HostBuffer &buffer) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return buffer.shape.empty();
  return succeeded(verifyCompatibleShape(shaped.getShape(), buffer.shape));
}

static FailureOr<SmallVector<RuntimeValue>>
bindArguments(func::FuncOp function, ArrayRef<HostBuffer> arguments,
              ArrayRef<HostBuffer> outputs) {
  SmallVector<const HostBuffer *> buffers;
  for (const HostBuffer &buffer : arguments)
    buffers.push_back(&buffer);
  if (function.getNumArguments() > buffers.size())
    for (const HostBuffer &buffer : outputs)
      buffers.push_back(&buffer);
  if (function.getNumArguments() > buffers.size())
    return function.emitError("'")
           << function.getName() << "' takes " << function.getNumArguments()
           << " arguments, but " << buffers.size() << " are given";
  SmallVector<RuntimeValue> values;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    const HostBuffer &buffer = *buffers[i];
    if (!fits(type, buffer))
      return function.emitError("'")
             << function.getName() << "' argument " << i << " has type " << type
             << ", but is given " << buffer.getTypeName();
    values.push_back(toRuntime(buffer, type));
  }
  return values;
}

FailureOr<Evaluation> Reference::evaluate(func::FuncOp function,
                                          ArrayRef<HostBuffer> arguments,
                                          ArrayRef<HostBuffer> outputs,
                                          std::optional<SampleOptions> sample) {
  Evaluation evaluation;
  Execution options;
  options.checkFullRanges = true;
  if (sample && !getSampledOutputs(function).empty())
    options.chooseRows = [&](const AttentionSize &size) {
      evaluation.totalRows = size.batches * size.heads * size.queries;
      evaluation.rows = chooseRows(size, *sample);
      return evaluation.rows;
    };
  auto evaluateTo = [&](Executor &executor,
                        SmallVectorImpl<RuntimeValue> &found) -> LogicalResult {
    auto values = bindArguments(function, arguments, outputs);
    if (failed(values))
      return failure();
    auto results = executor.run(function, *values, options);
    if (failed(results))
      return failure();
    for (const Output &output : getOutputs(function))
      found.push_back(output.isArgument ? (*values)[output.index]
                                        : (*results)[output.index]);
    return success();
  };
  if (failed(evaluateTo(*executor, evaluation.outputs)))
    return failure();
  auto module = function->getParentOfType<ModuleOp>();
  if (!readsPages(module) || llvm::none_of(evaluation.outputs, hasNaN))
    return evaluation;
  Semantics spoiling = makeSemantics(MissingPage::SpoilsSequence);
  Executor spoiled(module, spoiling, policy);
  if (failed(evaluateTo(spoiled, evaluation.spoiledOutputs)))
    return failure();
  return evaluation;
}

FailureOr<SmallVector<SmallVector<int64_t>>>
Reference::getResultShapes(func::FuncOp function,
                           ArrayRef<HostBuffer> arguments) {
  SmallVector<SmallVector<int64_t>> shapes;
  auto isStatic = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  };
  if (llvm::all_of(function.getResultTypes(), isStatic)) {
    for (Type type : function.getResultTypes()) {
      auto shaped = dyn_cast<ShapedType>(type);
      shapes.push_back(shaped ? SmallVector<int64_t>(shaped.getShape())
                              : SmallVector<int64_t>());
    }
    return shapes;
  }
  auto values = bindArguments(function, arguments, {});
  if (failed(values))
    return failure();
  Execution options;
  options.chooseRows = [](const AttentionSize &) {
    return std::vector<RowIndex>();
  };
  auto results = executor->run(function, *values, options);
  if (failed(results))
    return failure();
  for (auto [value, type] : llvm::zip(*results, function.getResultTypes()))
    shapes.push_back(isa<ShapedType>(type) ? llvm::to_vector(ArrayRef<int64_t>(
                                                 value.array().shape))
                                           : SmallVector<int64_t>());
  return shapes;
}

FailureOr<AttentionWork> Reference::countWork(func::FuncOp function,
                                              ArrayRef<HostBuffer> arguments,
                                              ArrayRef<HostBuffer> outputs) {
  auto values = bindArguments(function, arguments, outputs);
  if (failed(values))
    return failure();
  AttentionWork work;
  Execution options;
  options.countedWork = &work;
  if (failed(executor->run(function, *values, options)))
    return failure();
  return work;
}

LogicalResult
Reference::visitBlocks(func::FuncOp function, ArrayRef<HostBuffer> arguments,
                       ArrayRef<HostBuffer> outputs,
                       std::function<void(const KeyBlockVisit &)> visit) {
  auto values = bindArguments(function, arguments, outputs);
  if (failed(values))
    return failure();
  Execution options;
  options.onKeyBlock = std::move(visit);
  return executor->run(function, *values, options);
}
