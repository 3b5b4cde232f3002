//===- Server.cpp - Answers to requests -----------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Server.h"
#include "fa/Executor/FASemantics.h"
#include "fa/InitAll.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
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
  if (!loaded.compiled ||
      failed(backend->compile(
          loaded.compiled->lookupSymbol<func::FuncOp>("main"))))
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

FailureOr<Object> Server::runProblem(const Object &request) {
  if (!loaded.function)
    return fail("no module has been compiled");
  std::optional<Problem> problem =
      readProblem(request, loaded.function.getFunctionType());
  if (!problem)
    return fail("the request does not match the arguments of 'main'");
  StringRef name = request.getString("data").value_or("");
  auto file = llvm::sys::fs::openNativeFileForReadWrite(
      name, llvm::sys::fs::CD_OpenExisting, llvm::sys::fs::OF_None);
  if (!file)
    return fail("cannot open '" + name +
                "': " + llvm::toString(file.takeError()));
  uint64_t size = 0;
  std::error_code code = llvm::sys::fs::file_size(name, size);
  llvm::sys::fs::mapped_file_region region(
      *file, llvm::sys::fs::mapped_file_region::readwrite, size, 0, code);
  llvm::sys::fs::closeFile(*file);
  if (code)
    return fail("cannot map '" + name + "': " + code.message());
  // The evaluator first: inputs that compiled code wrongly changes would
  // otherwise spoil both sides.
  if (auto reference = request.getString("reference"))
    if (failed(runReference(*problem, region.const_data(), *reference)))
      return failure();
  auto start = std::chrono::steady_clock::now();
  if (loaded.backend &&
      failed(loaded.backend->run(*problem, {region.data(), region.size()})))
    return failure();
  return Object{{"seconds", secondsSince(start)}};
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
      {"error", error.empty() ? "failed without a diagnostic" : error}};
}
