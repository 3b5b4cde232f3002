//===- Session.cpp - One invocation of fa-run -----------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "CPUTarget.h"
#include "CUDATarget.h"
#include "InputSpec.h"
#include "InterpreterTarget.h"
#include "Npy.h"
#include "PastLengths.h"
#include "Program.h"
#include "Report.h"
#include "fa/Dialect/FA/IR/FADialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <chrono>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// Outputs of up to this many elements are printed when they are not compared.
static constexpr int64_t maxPrinted = 32;

static StringRef getTargetName(TargetKind target) {
  switch (target) {
  case TargetKind::Interpret:
    return "interpret";
  case TargetKind::Reference:
    return "reference";
  case TargetKind::CUDA:
    return "cuda";
  default:
    return "cpu";
  }
}

namespace {
/// The state of a run, filled step by step; each step may fail with its own
/// diagnostic.
class Session {
public:
  Session(const SessionOptions &options, MLIRContext &context)
      : options(options), context(context), target(options.target) {}

  LogicalResult run();

private:
  LogicalResult load();
  LogicalResult makeInputs();
  LogicalResult makeResults();
  LogicalResult verifyOutputs();
  LogicalResult runReferenceTarget();
  LogicalResult runCPUTarget();
  LogicalResult runCUDATarget();
  LogicalResult runInterpreter();
  LogicalResult runTarget();
  LogicalResult chooseTarget();
  LogicalResult countWork();
  LogicalResult writeFiles();

  /// The buffer of an output after the run.
  HostBuffer &getBuffer(const Output &output) {
    return output.isArgument ? arguments[output.index] : results[output.index];
  }
  const NumberPolicy &getPolicy(ModuleOp module);
  ErrorBound getBound(const Output &output);
  Type getNarrowestType();

  const SessionOptions &options;
  MLIRContext &context;
  /// Never Auto once the file is read.
  TargetKind target;
  /// The file as it was read, and the function that runs: another one where a
  /// strategy was applied.
  OwningOpRef<ModuleOp> original, transformed, other;
  func::FuncOp entry, running, judge;
  SmallVector<Output> outputs;
  /// The values before the run, and those that the run may change.
  SmallVector<HostBuffer> inputs, arguments;
  SmallVector<HostBuffer> results;
  Evaluation expected;
  Report report;
};
} // namespace

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

LogicalResult Session::load() {
  bool compiles = target == TargetKind::Auto || target == TargetKind::CPU ||
                  target == TargetKind::CUDA;
  if (options.bench && !compiles)
    return reportError(
        "--bench times compiled code, but --target=" + getTargetName(target) +
        " does not compile: use --target=cpu or cuda");
  if (!options.grid.empty() && target != TargetKind::Interpret)
    return reportError("--grid is for --target=interpret, not for --target=" +
                       getTargetName(target));
  original = parseProgram(options.file, &context);
  if (!original)
    return failure();
  FailureOr<func::FuncOp> found =
      findEntry(*original, options.entry, options.file);
  if (failed(found))
    return failure();
  entry = running = judge = *found;
  outputs = getOutputs(entry);
  if (options.outputs.size() > outputs.size())
    return reportError(Twine(options.outputs.size()) +
                       " --output options, but '" + entry.getName() + "' has " +
                       Twine(outputs.size()) + " outputs");
  for (StringRef output : options.outputs)
    if (!output.starts_with("@") || output.size() == 1)
      return reportError("--output=" + output +
                         " is malformed: expected @FILE.npy");
  if (!options.strategy.empty()) {
    transformed = cast<ModuleOp>(original.get()->clone());
    if (failed(applyStrategy(*transformed, options.strategy)))
      return failure();
    running = transformed->lookupSymbol<func::FuncOp>(entry.getName());
    if (!running)
      return reportError("--strategy=" + options.strategy + " removed '" +
                         entry.getName() + "'");
  }
  if (!options.against.empty()) {
    other = parseProgram(options.against, &context);
    if (!other)
      return failure();
    // The other file's entry may have a name of its own.
    bool hasSameName = other->lookupSymbol<func::FuncOp>(entry.getName());
    auto otherEntry = findEntry(
        *other, hasSameName ? entry.getName() : StringRef(), options.against);
    if (failed(otherEntry))
      return failure();
    judge = *otherEntry;
  } else if (auto name = entry->getAttrOfType<FlatSymbolRefAttr>(
                 FADialect::implementsAttrName)) {
    judge = original->lookupSymbol<func::FuncOp>(name.getValue());
  }
  return success();
}

LogicalResult Session::chooseTarget() {
  if (target != TargetKind::Auto)
    return success();
  target = TargetKind::CPU;
  if (!isHostFunction(running))
    return success();
  if (!hasCUDADevice())
    return reportError("'" + running.getName() +
                       "' launches a GPU kernel, and there is no CUDA device: "
                       "use --target=interpret");
  target = TargetKind::CUDA;
  return success();
}

LogicalResult Session::makeInputs() {
  unsigned count = entry.getNumArguments();
  if (options.inputs.size() > count)
    return reportError(Twine(options.inputs.size()) +
                       " --input options, but '" + entry.getName() + "' has " +
                       Twine(count) + " arguments");
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    // Neighbouring seeds must not give related values.
    uint64_t seed = options.seed * 0x9e3779b97f4a7c15 + i;
    bool isGiven = i < options.inputs.size();
    auto buffer = isGiven ? makeInput(options.inputs[i], type, seed)
                          : makeDefaultInput(type, seed);
    if (!buffer)
      return reportError("argument " + Twine(i) + " of '" + entry.getName() +
                         "': " + llvm::toString(buffer.takeError()));
    inputs.push_back(std::move(*buffer));
  }
  auto isRandom = [&](unsigned index) {
    return index >= options.inputs.size() ||
           StringRef(options.inputs[index]).find_first_of("=@") ==
               StringRef::npos;
  };
  // An output that nobody gave a value is poisoned.
  for (const Output &output : outputs)
    if (output.isArgument && isRandom(output.index))
      inputs[output.index].poison();
  poisonPastLengths(judge, inputs, isRandom);
  arguments = inputs;
  return success();
}

LogicalResult Session::makeResults() {
  auto shapes = Reference(*original).getResultShapes(entry, inputs);
  if (failed(shapes))
    return failure();
  for (auto [type, shape] : llvm::zip_equal(entry.getResultTypes(), *shapes)) {
    Type elementType = getInterfaceElementType(type);
    if (llvm::Error error = checkMemory(elementType, shape))
      return reportError("result " + Twine(results.size()) + " of '" +
                         entry.getName() +
                         "': " + llvm::toString(std::move(error)));
    results.emplace_back(elementType, shape);
    results.back().poison();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static bool castsFloatsToBits(ModuleOp module) {
  return module
      .walk([](arith::BitcastOp op) {
        bool fromFloat = isa<FloatType>(getElementTypeOrSelf(op.getIn()));
        bool toFloat = isa<FloatType>(getElementTypeOrSelf(op.getOut()));
        return fromFloat != toFloat ? WalkResult::interrupt()
                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

const NumberPolicy &Session::getPolicy(ModuleOp module) {
  bool isDeclared =
      options.precision == Precision::Declared ||
      (options.precision == Precision::Auto && castsFloatsToBits(module));
  return isDeclared ? getDeclaredPolicy() : getFloat64Policy();
}

LogicalResult Session::runReferenceTarget() {
  ModuleOp module = running->getParentOfType<ModuleOp>();
  auto values =
      Reference(module, getPolicy(module)).evaluate(running, inputs, results);
  if (failed(values))
    return failure();
  if (values->outputs.size() != outputs.size())
    return reportError("--strategy=" + options.strategy +
                       " changed what the function gives back");
  // In doubles, so that a comparison sees no rounding at the end.
  for (auto [output, value] : llvm::zip_equal(outputs, values->outputs)) {
    HostBuffer &buffer = getBuffer(output);
    if (isa<FloatType>(buffer.elementType))
      buffer = HostBuffer(Float64Type::get(&context), buffer.shape);
    if (value.object)
      buffer.fromRuntime(value);
    else
      buffer.set(0, value.slot);
  }
  return success();
}

LogicalResult Session::runCPUTarget() {
  FailureOr<CPUTarget> code = CPUTarget::compile(running);
  if (failed(code))
    return failure();
  report.compileSeconds = code->getCompileSeconds();
  // Code that reads memory before writing it must not find convenient zeros.
  // Filling would touch pages, and so count as memory of the code.
  if (options.verify && !options.bench)
    poisonAllocations();
  auto peakBytes =
      measurePeakMemory([&] { return code->run(arguments, results); });
  if (failed(peakBytes))
    return failure();
  if (!options.bench)
    return success();
  report.peakBytes = *peakBytes;
  // Time on copies, so that outputs stay those of one call.
  SmallVector<HostBuffer> timedArguments = inputs, timedResults = results;
  auto timing =
      measureTime([&] { return code->run(timedArguments, timedResults); });
  if (failed(timing))
    return failure();
  report.timing = *timing;
  return countWork();
}

LogicalResult Session::runCUDATarget() {
  FailureOr<CUDATarget> code = CUDATarget::compile(running);
  if (failed(code))
    return failure();
  report.compileSeconds = code->getCompileSeconds();
  if (failed(code->run(arguments)))
    return failure();
  if (!options.bench)
    return success();
  auto timing = code->measure(inputs);
  if (failed(timing))
    return failure();
  report.timing = *timing;
  return countWork();
}

LogicalResult Session::runInterpreter() {
  std::optional<std::array<int64_t, 3>> grid;
  if (!options.grid.empty()) {
    auto parsed = parseGrid(options.grid);
    if (failed(parsed))
      return failure();
    grid = *parsed;
  }
  return interpret(running, options.seed, grid, arguments, results);
}

LogicalResult Session::runTarget() {
  switch (target) {
  case TargetKind::CUDA:
    return runCUDATarget();
  case TargetKind::Reference:
    return runReferenceTarget();
  case TargetKind::Interpret:
    return runInterpreter();
  default:
    return runCPUTarget();
  }
}

LogicalResult Session::countWork() {
  ModuleOp module = judge->getParentOfType<ModuleOp>();
  auto work = Reference(module).countWork(judge, inputs, results);
  if (failed(work))
    return failure();
  // Below level 2 no operation tells the pairs any more.
  if (work->pairs > 0)
    report.work = *work;
  return success();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The type that bounds depend on: the query's, or, without an attention to
/// ask, the narrowest float type among the arguments.
Type Session::getNarrowestType() {
  Type queryType;
  judge.walk([&](AttentionLikeOpInterface op) {
    queryType = getInterfaceElementType(op.getQuery().getType());
  });
  if (queryType)
    return queryType;
  Type narrowest = Float32Type::get(&context);
  for (Type type : judge.getArgumentTypes()) {
    Type element = getInterfaceElementType(type);
    if (element.isBF16() || (element.isF16() && !narrowest.isBF16()))
      narrowest = element;
  }
  return narrowest;
}

/// An f32 output of rank 3 next to one of rank 4 is a log-sum-exp.
static bool isLse(const Output &output, ArrayRef<Output> outputs) {
  auto rank = [](Type type) { return getInterfaceShape(type).size(); };
  return rank(output.type) == 3 &&
         getInterfaceElementType(output.type).isF32() &&
         llvm::any_of(outputs,
                      [&](const Output &o) { return rank(o.type) == 4; });
}

ErrorBound Session::getBound(const Output &output) {
  // Kernels of a device round the softmax to the type of the values.
  bool keepsSingle = target == TargetKind::CPU;
  ErrorBound bound = getDefaultBound(output.type, isLse(output, outputs),
                                     getNarrowestType(), keepsSingle);
  if (options.bound && bound.measure != ErrorMeasure::Exact)
    bound.limit = *options.bound;
  return bound;
}

LogicalResult Session::verifyOutputs() {
  SampleOptions sample;
  sample.maxOperations = options.verifyWork;
  sample.seed = options.seed;
  ModuleOp module = judge->getParentOfType<ModuleOp>();
  const NumberPolicy &policy = getPolicy(module);
  report.referencePrecision = policy.getName();
  auto evaluation =
      Reference(module, policy).evaluate(judge, inputs, results, sample);
  if (failed(evaluation))
    return failure();
  expected = std::move(*evaluation);
  if (expected.outputs.size() != outputs.size())
    return reportError("'" + judge.getName() + "' of '" + options.against +
                       "' has " + Twine(expected.outputs.size()) +
                       " outputs, but '" + entry.getName() + "' has " +
                       Twine(outputs.size()));
  report.totalRows = expected.totalRows;
  report.sampleThreshold = options.verifyWork;
  if (expected.rows)
    report.sampledRows = expected.rows->size();
  return success();
}

/// The elements of each output that the sampled rows cover.
static SmallVector<std::vector<int64_t>>
getSampledElements(func::FuncOp judge, const Evaluation &expected) {
  SmallVector<std::vector<int64_t>> elements;
  for (auto [sampled, value] :
       llvm::zip(getSampledOutputs(judge), expected.outputs))
    elements.push_back(
        getElementsOfRows(sampled, value.array().shape, *expected.rows));
  return elements;
}

static LogicalResult checkSameShape(const Output &output,
                                    const HostBuffer &buffer,
                                    const RuntimeValue &value) {
  SmallVector<int64_t> shape;
  if (value.object)
    llvm::append_range(shape, value.array().shape);
  if (ArrayRef<int64_t>(shape) == ArrayRef<int64_t>(buffer.shape))
    return success();
  return reportError(output.name + " has type " + buffer.getTypeName() +
                     ", but the reference has another shape");
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

LogicalResult Session::writeFiles() {
  for (auto [output, path] : llvm::zip(outputs, options.outputs)) {
    // The evaluator's doubles become the declared type in files.
    HostBuffer &buffer = getBuffer(output);
    HostBuffer written(getInterfaceElementType(output.type), buffer.shape);
    for (int64_t i = 0, e = buffer.getNumElements(); i < e; ++i)
      written.set(i, buffer.get(i));
    if (llvm::Error error = writeNpy(StringRef(path).drop_front(), written))
      return reportError(llvm::toString(std::move(error)));
  }
  if (options.jsonFile.empty())
    return success();
  if (llvm::Error error = writeTextFile(options.jsonFile, report.toJSON()))
    return reportError(llvm::toString(std::move(error)));
  return success();
}

LogicalResult Session::run() {
  if (failed(load()) || failed(chooseTarget()) || failed(makeInputs()) ||
      failed(makeResults()))
    return failure();
  report.file = options.file;
  report.entry = entry.getName();
  report.target = getTargetName(target);
  report.seed = options.seed;
  for (const HostBuffer &buffer : inputs)
    report.arguments.push_back(buffer.getTypeName());
  if (failed(runTarget()))
    return failure();
  if (options.verify && failed(verifyOutputs()))
    return failure();
  SmallVector<std::vector<int64_t>> elements;
  if (expected.rows)
    elements = getSampledElements(judge, expected);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    HostBuffer &buffer = getBuffer(output);
    std::string type =
        HostBuffer(getInterfaceElementType(output.type), {}).getTypeName();
    OutputReport &line = report.outputs.emplace_back();
    line.name = output.name;
    for (int64_t size : buffer.shape)
      line.type += std::to_string(size) + "x";
    line.type += type;
    if (!options.verify) {
      if (buffer.getNumElements() <= maxPrinted)
        line.values = buffer.getValuesText();
      continue;
    }
    if (failed(checkSameShape(output, buffer, expected.outputs[i])))
      return failure();
    line.comparison = compare(buffer, expected.outputs[i], getBound(output),
                              expected.rows ? &elements[i] : nullptr);
  }
  report.print(llvm::outs());
  if (failed(writeFiles()))
    return failure();
  return success(report.passed());
}

LogicalResult fa::runSession(const SessionOptions &options,
                             MLIRContext &context) {
  return Session(options, context).run();
}
