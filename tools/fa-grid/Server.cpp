//===- Server.cpp - Answers to requests -----------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers requests of fa-grid, one JSON object a line: load a module, run a
// problem by the evaluator and by compiled code, launch it many times. Errors
// become part of the answer. Read `answer`, at the end, then `handle`.
//
//===----------------------------------------------------------------------===//

#include "Server.h"
#include "fa/Executor/FASemantics.h"
#include "fa/InitAll.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include <chrono>

using namespace mlir;
using namespace mlir::fa;
using llvm::json::Object;

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

Server::Server(MakeBackend makeBackend) : makeBackend(std::move(makeBackend)) {
  DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::fa::registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  executor::addUpstreamSemantics(semantics);
  executor::addFASemantics(semantics);
}

LogicalResult Server::fail(const Twine &message) {
  error = message.str();
  return failure();
}

LogicalResult Server::load(StringRef file, StringRef compiledFile) {
  // A program may hold operations on values of its module: it goes first.
  loaded.evaluator.reset();
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
  auto backend = makeBackend();
  if (!backend)
    return success();
  loaded.compiled = parseSourceFile<ModuleOp>(compiledFile, &context);
  if (!loaded.compiled)
    return failure();
  auto compiled = loaded.compiled->lookupSymbol<func::FuncOp>("main");
  if (!compiled)
    return fail("the module to compile, '" + compiledFile +
                "', has no function 'main'");
  if (failed(backend->compile(compiled)))
    return failure();
  loaded.backend = std::move(backend);
  return success();
}

LogicalResult Server::runReference(const Problem &problem, const char *data,
                                   StringRef file) {
  SmallVector<executor::RuntimeValue> arguments;
  for (const Operand &operand : problem.arguments)
    arguments.push_back(operand.isShaped
                            ? executor::RuntimeValue(
                                  executor::packArray(loadArray(data, operand)))
                            : executor::RuntimeValue(operand.number));
  auto results = loaded.evaluator->run(loaded.function, std::move(arguments));
  if (failed(results))
    return failure();
  std::error_code code;
  llvm::raw_fd_ostream stream(file, code);
  if (code)
    return fail("cannot write '" + file + "': " + code.message());
  for (const executor::RuntimeValue &result : *results) {
    executor::ArrayRefPtr packed =
        executor::packArray(executor::ArrayRefPtr(&result.array()));
    stream.write(reinterpret_cast<const char *>(packed->data()),
                 packed->getNumElements() * sizeof(executor::Slot));
  }
  return success();
}

FailureOr<Inputs> Server::open(const Object &request,
                               llvm::sys::fs::mapped_file_region &file) {
  if (!loaded.function)
    return fail("no module has been compiled");
  std::optional<Problem> problem =
      readProblem(request, loaded.function.getFunctionType());
  if (!problem)
    return fail("the request does not match the arguments of 'main'");
  StringRef name = request.getString("data").value_or("");
  auto handle = llvm::sys::fs::openNativeFileForReadWrite(
      name, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_None);
  if (!handle)
    return fail("cannot open '" + name +
                "': " + llvm::toString(handle.takeError()));
  uint64_t size = 0;
  std::error_code code = llvm::sys::fs::file_size(name, size);
  file = llvm::sys::fs::mapped_file_region(
      *handle, llvm::sys::fs::mapped_file_region::readwrite, size, 0, code);
  llvm::sys::fs::closeFile(*handle);
  if (code)
    return fail("cannot map '" + name + "': " + code.message());
  return Inputs{std::move(*problem), {file.data(), file.size()}};
}

LogicalResult Server::runProblem(const Object &request, double &seconds) {
  llvm::sys::fs::mapped_file_region file;
  auto inputs = open(request, file);
  if (failed(inputs))
    return failure();
  // The evaluator first: inputs that compiled code wrongly changes would
  // otherwise spoil both sides.
  if (auto reference = request.getString("reference"))
    if (failed(runReference(inputs->problem, file.const_data(), *reference)))
      return failure();
  auto start = std::chrono::steady_clock::now();
  if (loaded.backend &&
      failed(loaded.backend->run(inputs->problem, inputs->data)))
    return failure();
  seconds = secondsSince(start);
  return success();
}

LogicalResult Server::runMany(const Object &request, int64_t launches) {
  const llvm::json::Array *requests = request.getArray("problems");
  if (!requests || !loaded.backend)
    return fail("launches need 'problems' and a target");
  if (requests->empty())
    return fail("launches need at least one of 'problems'");
  if (launches < 1)
    return fail("launches are " + Twine(launches) + ", expected at least 1");
  std::vector<llvm::sys::fs::mapped_file_region> files(requests->size());
  std::vector<Inputs> problems;
  for (auto [value, file] : llvm::zip_equal(*requests, files)) {
    const Object *object = value.getAsObject();
    if (!object)
      return fail("a problem must be a JSON object");
    auto inputs = open(*object, file);
    if (failed(inputs))
      return failure();
    problems.push_back(std::move(*inputs));
  }
  return loaded.backend->launchMany(problems, launches);
}

LogicalResult Server::handle(const Object &request, double &seconds) {
  auto start = std::chrono::steady_clock::now();
  if (auto launches = request.getInteger("launches")) {
    LogicalResult result = runMany(request, *launches);
    seconds = secondsSince(start);
    return result;
  }
  auto file = request.getString("module");
  if (!file)
    return runProblem(request, seconds);
  LogicalResult result =
      load(*file, request.getString("compiled").value_or(*file));
  seconds = secondsSince(start);
  return result;
}

Object Server::answer(StringRef line) {
  error.clear();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
      error = diagnostic.str();
    return success();
  });
  llvm::Expected<llvm::json::Value> request = llvm::json::parse(line);
  if (!request)
    return Object{{"error", llvm::toString(request.takeError())}};
  const Object *object = request->getAsObject();
  if (!object)
    return Object{{"error", "a request must be a JSON object"}};
  double seconds = 0;
  if (succeeded(handle(*object, seconds)))
    return Object{{"seconds", seconds}};
  return Object{
      {"error", error.empty() ? "failed without a diagnostic" : error}};
}
