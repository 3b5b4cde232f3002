//===- State.cpp - What handles of the C API stand for --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last error of a thread, the state of contexts and modules, and what they
// keep of diagnostics. Every call that runs passes goes through `runInContext`,
// which turns diagnostics into a status and a text.
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include "ErrorStream.h"
#include "fa/InitAll.h"
#include "fa/Support/FatalErrors.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::capi;

static std::string &getLastMessage() {
  thread_local std::string message;
  return message;
}

const char *faGetErrorMessage(void) { return getLastMessage().c_str(); }

FaStatus capi::fail(FaStatus status, const Twine &message) {
  std::string text = message.str();
  getLastMessage() = std::move(text);
  return status;
}

FaStatus capi::fail(FaStatus status, llvm::Error error) {
  return fail(status, llvm::toString(std::move(error)));
}

FaStatus capi::failNull(StringRef what) {
  return fail(FA_INVALID_ARGUMENT, "the argument '" + what + "' is null");
}

static const DialectRegistry &getRegistry() {
  static const DialectRegistry registry = [] {
    // Passes are in a registry of the process.
    mlir::registerAllPasses();
    mlir::fa::registerAllPasses();
    DialectRegistry registry;
    mlir::registerAllDialects(registry);
    mlir::registerAllExtensions(registry);
    mlir::fa::registerAllDialects(registry);
    return registry;
  }();
  return registry;
}

// A context has no threads of its own: modules are small, and threads would not
// survive a fork.
ContextState::ContextState(uint32_t flags)
    : context(getRegistry(), MLIRContext::Threading::DISABLED) {
  context.allowUnregisteredDialects(flags & FA_ALLOW_UNREGISTERED);
  log.attach(context);
}

FailureOr<SmallVector<std::string>>
ModuleState::getNames(func::FuncOp function) {
  if (program.places)
    return program.getArgumentNames(function);
  auto known = names.find(function.getName());
  if (known == names.end() || known->second.size() > function.getNumArguments())
    return SmallVector<std::string>();
  return known->second;
}

namespace {
/// The handlers of messages that are registered while this lives.
class NewHandlers {
public:
  explicit NewHandlers(DiagnosticEngine &engine)
      : engine(engine), first(getNext()) {}
  /// What was left in the middle of its work had them on its stack.
  void erase() {
    for (auto id = first, last = getNext(); id < last; ++id)
      engine.eraseHandler(id);
  }

private:
  DiagnosticEngine::HandlerID getNext() {
    auto id = engine.registerHandler([](Diagnostic &) { return failure(); });
    engine.eraseHandler(id);
    return id + 1;
  }

  DiagnosticEngine &engine;
  DiagnosticEngine::HandlerID first;
};
} // namespace

/// Runs `body` while the context is locked and open.
static FaStatus run(ContextState &state, FaStatus status,
                    llvm::function_ref<LogicalResult()> body) {
  state.log.clear();
  (void)takeErrorOutput();
  NewHandlers handlers(state.context.getDiagEngine());
  LogicalResult result = failure();
  if (llvm::Error error = catchFatalErrors([&] { result = body(); })) {
    handlers.erase();
    state.log.add({DiagnosticSeverity::Error,
                   Message::None,
                   {},
                   {},
                   {},
                   0,
                   0,
                   llvm::toString(std::move(error))});
  }
  std::string printed = takeErrorOutput();
  if (succeeded(result))
    return FA_SUCCESS;
  std::string message = state.log.getError().value_or("");
  // What LLVM has no diagnostic for. Options start with the program's name,
  // which is empty here.
  for (StringRef line : llvm::split(printed, '\n'))
    if (StringRef text = line.ltrim(": "); !text.empty())
      message += (message.empty() ? "" : "; ") + text.str();
  return fail(status, message.empty() ? "failed without a message" : message);
}

FaStatus capi::runInContext(ContextState &state, FaStatus status,
                            llvm::function_ref<LogicalResult()> body) {
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.isClosed)
    return fail(FA_INVALID_ARGUMENT, "the context is destroyed");
  return run(state, status, body);
}

FaStatus capi::runWithThreads(ContextState &state, FaStatus status,
                              llvm::function_ref<LogicalResult()> body) {
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.isClosed)
    return fail(FA_INVALID_ARGUMENT, "the context is destroyed");
  RecoveringThreads threads;
  state.context.setThreadPool(threads);
  FaStatus result = run(state, status, body);
  state.context.disableMultithreading();
  return result;
}

FaStatus capi::readInContext(ContextState &state,
                             llvm::function_ref<void()> body) {
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.isClosed)
    return fail(FA_INVALID_ARGUMENT, "the context is destroyed");
  body();
  return FA_SUCCESS;
}

FaBytes capi::makeBytes(std::string bytes) {
  return reinterpret_cast<FaBytes>(new std::string(std::move(bytes)));
}

const char *faBytesGetData(FaBytes bytes) {
  return bytes ? unwrap(bytes).c_str() : "";
}

size_t faBytesGetSize(FaBytes bytes) {
  return bytes ? unwrap(bytes).size() : 0;
}

void faBytesDestroy(FaBytes bytes) {
  if (bytes)
    delete &unwrap(bytes);
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

FaStatus faContextCreate(uint32_t flags, FaContext *context) {
  if (!context)
    return failNull("context");
  if (flags & ~uint32_t(FA_ALLOW_UNREGISTERED))
    return fail(FA_INVALID_ARGUMENT,
                "the flags are " + Twine(flags) +
                    ", expected 0 or FA_ALLOW_UNREGISTERED, 1");
  *context = reinterpret_cast<FaContext>(
      new std::shared_ptr<ContextState>(std::make_shared<ContextState>(flags)));
  return FA_SUCCESS;
}

void faContextDestroy(FaContext context) {
  if (!context)
    return;
  {
    std::lock_guard<std::mutex> lock(unwrap(context)->mutex);
    unwrap(context)->isClosed = true;
  }
  delete &unwrap(context);
}

size_t faContextGetDiagnosticCount(FaContext context) {
  if (!context)
    return 0;
  std::lock_guard<std::mutex> lock(unwrap(context)->mutex);
  return unwrap(context)->log.getMessages().size();
}

static FaSeverity getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return FA_SEVERITY_ERROR;
  case DiagnosticSeverity::Warning:
    return FA_SEVERITY_WARNING;
  case DiagnosticSeverity::Note:
    return FA_SEVERITY_NOTE;
  case DiagnosticSeverity::Remark:
    return FA_SEVERITY_REMARK;
  }
  llvm_unreachable("all are listed");
}

static_assert(int(FA_OUTCOME_PASSED) == Message::Passed &&
                  int(FA_OUTCOME_MISSED) == Message::Missed &&
                  int(FA_OUTCOME_FAILED) == Message::Failed &&
                  int(FA_OUTCOME_ANALYSIS) == Message::Analysis,
              "the same numbers");

FaStatus faContextGetDiagnostic(FaContext context, size_t index,
                                FaDiagnostic *diagnostic) {
  if (!context || !diagnostic)
    return failNull(context ? "diagnostic" : "context");
  std::lock_guard<std::mutex> lock(unwrap(context)->mutex);
  ArrayRef<Message> messages = unwrap(context)->log.getMessages();
  if (index >= messages.size())
    return fail(FA_INVALID_ARGUMENT,
                "the index is " + Twine(index) + ", but there are " +
                    Twine(messages.size()) + " diagnostics");
  const Message &message = messages[index];
  *diagnostic = {getSeverity(message.severity),
                 message.outcome,
                 static_cast<int32_t>(message.line),
                 static_cast<int32_t>(message.column),
                 message.file.c_str(),
                 message.pass.c_str(),
                 message.name.c_str(),
                 message.text.c_str()};
  return FA_SUCCESS;
}

FaStatus faContextCountRemarks(FaContext context, const char *pass,
                               int32_t outcome, size_t *count) {
  if (!context || !pass || !count)
    return failNull(!context ? "context" : !pass ? "pass" : "count");
  std::lock_guard<std::mutex> lock(unwrap(context)->mutex);
  *count = llvm::count_if(
      unwrap(context)->log.getMessages(), [&](const Message &message) {
        return message.severity == DiagnosticSeverity::Remark &&
               message.outcome == outcome && message.pass == pass;
      });
  return FA_SUCCESS;
}
