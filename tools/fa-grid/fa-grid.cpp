//===- fa-grid.cpp - Runs many problems in one process --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The native half of test/Integration/CPU/numeric_grid.py. It compiles the
// function `main` of a module once and then runs it on one problem after the
// other, both as machine code and in the float64 evaluator. Requests arrive on
// standard input and answers leave on standard output, a JSON object a line:
//
//   {"module": FILE, "compiled": FILE}
//       compiles; the problems that follow belong to it. "compiled" may name
//       another module for the machine code, to try out faults.
//   {"data": FILE, "reference": FILE,
//    "arguments": [VIEW or {"value": number}...], "results": [VIEW...]}
//
//   VIEW: {"offset": bytes, "shape": [...], "strides": [...]}
//
// `data` holds the bytes of all arrays. It is mapped and updated in place, so
// that the caller sees everything that was written. `reference` receives the
// evaluator's results, row-major, 8 bytes an element; the evaluator does not
// run where it is absent. An answer is {"seconds": ...} or {"error": text}.
//
//===----------------------------------------------------------------------===//

#include "fa/Executor/Executor.h"
#include "fa/Executor/FASemantics.h"
#include "fa/InitAll.h"
#include "fa/JIT/CPUCompiler.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LineIterator.h"
#include <chrono>
#include <iostream>

using namespace mlir;
using namespace mlir::fa;
using llvm::json::Object;

static llvm::cl::opt<bool> referenceOnly(
    "reference-only",
    llvm::cl::desc("run the evaluator alone and compile nothing"));

namespace {

/// A strided view of bytes within the data of a request.
struct View {
  int64_t offset;
  SmallVector<int64_t> shape, strides;
};

/// The module that problems are run on.
struct Loaded {
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::unique_ptr<executor::Executor> evaluator;
  std::unique_ptr<CompiledModule> compiled;
};

class Server {
public:
  Server();
  /// The answer to one request.
  Object answer(StringRef line);

private:
  LogicalResult load(StringRef file, StringRef compiledFile);
  FailureOr<Object> runProblem(const Object &request);
  LogicalResult runCompiled(const Object &request, char *data);
  LogicalResult runReference(const Object &request, const char *data);
  LogicalResult fail(const Twine &message) {
    problem = message.str();
    return failure();
  }

  MLIRContext context;
  executor::Semantics semantics;
  Loaded loaded;
  /// Text of the first error of the current request.
  std::string problem;
};

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

SmallVector<int64_t> getNumbers(const Object &object, StringRef key) {
  SmallVector<int64_t> numbers;
  if (const llvm::json::Array *array = object.getArray(key))
    for (const llvm::json::Value &value : *array)
      numbers.push_back(value.getAsInteger().value_or(0));
  return numbers;
}

View getView(const Object &object) {
  return {object.getInteger("offset").value_or(0), getNumbers(object, "shape"),
          getNumbers(object, "strides")};
}

/// Number of bytes of one element.
int64_t getElementSize(Type type) { return type.getIntOrFloatBitWidth() / 8; }

/// Calls `visit` with the address and the row-major position of each element.
void forEachElement(const View &view, int64_t elementSize,
                    function_ref<void(int64_t byte, int64_t position)> visit) {
  int64_t count = executor::getNumElements(view.shape);
  SmallVector<int64_t> strides = llvm::to_vector(
      ArrayRef<int64_t>(executor::getRowMajorStrides(view.shape)));
  for (int64_t position = 0; position < count; ++position) {
    int64_t element = 0;
    for (auto [dim, stride] : llvm::enumerate(strides))
      element += position / stride % view.shape[dim] * view.strides[dim];
    visit(view.offset + element * elementSize, position);
  }
}

executor::Slot loadElement(const char *address, Type type) {
  uint64_t bits = 0;
  std::memcpy(&bits, address, getElementSize(type));
  if (auto real = dyn_cast<FloatType>(type))
    return executor::Slot::ofReal(
        executor::floatFromBits(bits, real.getFloatSemantics()));
  return executor::Slot::ofInteger(
      executor::wrapInteger(bits, type.getIntOrFloatBitWidth()));
}

executor::ArrayRefPtr loadArray(const char *data, const View &view, Type type) {
  executor::ArrayRefPtr array = executor::makeArray(view.shape);
  forEachElement(view, getElementSize(type), [&](int64_t byte, int64_t i) {
    array->data()[i] = loadElement(data + byte, type);
  });
  return array;
}

} // namespace

Server::Server() {
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::fa::registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  executor::addUpstreamSemantics(semantics);
  executor::addFASemantics(semantics);
}

LogicalResult Server::load(StringRef file, StringRef compiledFile) {
  loaded = {};
  loaded.module = parseSourceFile<ModuleOp>(file, &context);
  if (!loaded.module)
    return failure();
  loaded.function = loaded.module->lookupSymbol<func::FuncOp>("main");
  if (!loaded.function)
    return fail("the module has no function 'main'");
  loaded.evaluator =
      std::make_unique<executor::Executor>(*loaded.module, semantics);
  if (failed(loaded.evaluator->prepare(loaded.function)))
    return failure();
  if (referenceOnly)
    return success();
  OwningOpRef<ModuleOp> source =
      parseSourceFile<ModuleOp>(compiledFile, &context);
  if (!source)
    return failure();
  auto compiled = compileToCPU(*source);
  if (failed(compiled))
    return failure();
  loaded.compiled = std::move(*compiled);
  return success();
}

LogicalResult Server::runCompiled(const Object &request, char *data) {
  // Descriptors and scalars must not move once their address is taken.
  std::vector<MemRefDescriptor> descriptors;
  std::vector<int64_t> scalars;
  const llvm::json::Array &arguments = *request.getArray("arguments");
  const llvm::json::Array &results = *request.getArray("results");
  descriptors.reserve(arguments.size() + results.size());
  scalars.reserve(arguments.size());
  SmallVector<void *> addresses;
  auto addView = [&](const Object &object) {
    View view = getView(object);
    descriptors.emplace_back(data + view.offset, view.shape, view.strides);
    addresses.push_back(descriptors.back().get());
  };
  ArrayRef<Type> types = loaded.function.getArgumentTypes();
  for (auto [argument, type] : llvm::zip_equal(arguments, types)) {
    const Object &object = *argument.getAsObject();
    if (isa<ShapedType>(type)) {
      addView(object);
      continue;
    }
    scalars.push_back(0);
    if (type.isF32()) {
      float value = object.getNumber("value").value_or(0);
      std::memcpy(&scalars.back(), &value, sizeof(value));
    } else {
      scalars.back() = object.getInteger("value").value_or(0);
    }
    addresses.push_back(&scalars.back());
  }
  for (const llvm::json::Value &result : results)
    addView(*result.getAsObject());
  if (llvm::Error error = loaded.compiled->invoke("main", addresses))
    return fail(llvm::toString(std::move(error)));
  return success();
}

LogicalResult Server::runReference(const Object &request, const char *data) {
  SmallVector<executor::RuntimeValue> arguments;
  ArrayRef<Type> types = loaded.function.getArgumentTypes();
  for (auto [argument, type] :
       llvm::zip_equal(*request.getArray("arguments"), types)) {
    const Object &object = *argument.getAsObject();
    if (auto shaped = dyn_cast<ShapedType>(type))
      arguments.push_back(
          loadArray(data, getView(object), shaped.getElementType()));
    else if (type.isF32())
      arguments.push_back(
          executor::Slot::ofReal(object.getNumber("value").value_or(0)));
    else
      arguments.push_back(
          executor::Slot::ofInteger(object.getInteger("value").value_or(0)));
  }
  auto results = loaded.evaluator->run(loaded.function, std::move(arguments));
  if (failed(results))
    return failure();
  StringRef file = request.getString("reference").value_or("");
  std::error_code error;
  llvm::raw_fd_ostream stream(file, error);
  if (error)
    return fail("cannot write '" + file + "': " + error.message());
  for (const executor::RuntimeValue &result : *results) {
    executor::ArrayRefPtr packed =
        executor::packArray(executor::ArrayRefPtr(&result.array()));
    stream.write(reinterpret_cast<const char *>(packed->data()),
                 packed->getNumElements() * sizeof(executor::Slot));
  }
  return success();
}

FailureOr<Object> Server::runProblem(const Object &request) {
  if (!loaded.compiled && !referenceOnly)
    return fail("no module has been compiled");
  if (!request.getArray("arguments") || !request.getArray("results") ||
      request.getArray("arguments")->size() !=
          loaded.function.getNumArguments())
    return fail("the request does not match the arguments of 'main'");
  StringRef name = request.getString("data").value_or("");
  auto file = llvm::sys::fs::openNativeFileForReadWrite(
      name, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_None);
  if (!file)
    return fail("cannot open '" + name +
                "': " + llvm::toString(file.takeError()));
  uint64_t size = 0;
  std::error_code error = llvm::sys::fs::file_size(name, size);
  llvm::sys::fs::mapped_file_region region(
      *file, llvm::sys::fs::mapped_file_region::readwrite, size, 0, error);
  llvm::sys::fs::closeFile(*file);
  if (error)
    return fail("cannot map '" + name + "': " + error.message());
  // The evaluator first: inputs that compiled code wrongly changes would
  // otherwise spoil both sides.
  if (request.get("reference") &&
      failed(runReference(request, region.const_data())))
    return failure();
  auto start = std::chrono::steady_clock::now();
  if (!referenceOnly && failed(runCompiled(request, region.data())))
    return failure();
  return Object{{"seconds", secondsSince(start)}};
}

Object Server::answer(StringRef line) {
  problem.clear();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (problem.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      problem = diagnostic.str();
    return success();
  });
  llvm::Expected<llvm::json::Value> request = llvm::json::parse(line);
  if (!request)
    return Object{{"error", llvm::toString(request.takeError())}};
  const Object *object = request->getAsObject();
  if (!object)
    return Object{{"error", "a request must be a JSON object"}};
  auto start = std::chrono::steady_clock::now();
  if (auto file = object->getString("module")) {
    if (succeeded(load(*file, object->getString("compiled").value_or(*file))))
      return Object{{"seconds", secondsSince(start)}};
  } else {
    FailureOr<Object> result = runProblem(*object);
    if (succeeded(result))
      return std::move(*result);
  }
  return Object{
      {"error", problem.empty() ? "failed without a diagnostic" : problem}};
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "runs problems of the numeric grid, a request a line\n");
  Server server;
  std::string line;
  while (std::getline(std::cin, line)) {
    llvm::outs() << llvm::json::Value(server.answer(line)) << '\n';
    llvm::outs().flush();
  }
  return 0;
}
