//===- Messages.cpp - What the compiler says ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/Messages.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::fa;

static void setPlace(Message &message, Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place)
    return;
  message.file = place.getFilename().str();
  message.line = place.getLine();
  message.column = place.getColumn();
}

static Message makeMessage(const Diagnostic &diagnostic) {
  Message message;
  message.severity = diagnostic.getSeverity();
  message.text = diagnostic.str();
  setPlace(message, diagnostic.getLocation());
  return message;
}

static Message::Outcome getOutcome(llvm::remarks::Type type) {
  switch (type) {
  case llvm::remarks::Type::Passed:
    return Message::Passed;
  case llvm::remarks::Type::Missed:
    return Message::Missed;
  case llvm::remarks::Type::Failure:
    return Message::Failed;
  case llvm::remarks::Type::Analysis:
    return Message::Analysis;
  default:
    return Message::None;
  }
}

namespace {
/// Puts remarks of passes into a log.
class LogStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit LogStreamer(MessageLog &log) : log(log) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Message message;
    message.severity = DiagnosticSeverity::Remark;
    message.outcome = getOutcome(remark.getRemarkType());
    message.pass = remark.getCombinedCategoryName().str();
    message.name = remark.getRemarkName().str();
    for (const remark::detail::Remark::Arg &part : remark.getArgs()) {
      message.text += message.text.empty() ? "" : " ";
      message.text +=
          part.key == "Remark" ? part.val : part.key + "=" + part.val;
    }
    setPlace(message, remark.getLocation());
    log.add(std::move(message));
  }

private:
  MessageLog &log;
};
} // namespace

void MessageLog::attach(MLIRContext &context) {
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    add(makeMessage(diagnostic));
    for (const Diagnostic &note : diagnostic.getNotes())
      add(makeMessage(note));
    return success();
  });
  std::string any = ".*";
  remark::RemarkCategories categories{any, any, any, any, any};
  // It fails for a missing streamer only.
  (void)remark::enableOptimizationRemarks(
      context, std::make_unique<LogStreamer>(*this),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

static StringRef getName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("all are listed");
}

std::string Message::format() const {
  std::string formatted;
  llvm::raw_string_ostream stream(formatted);
  if (!file.empty())
    stream << file << ':' << line << ':' << column << ": ";
  stream << getName(severity) << ": " << text;
  return formatted;
}

std::optional<std::string> MessageLog::getError() const {
  std::optional<std::string> error;
  for (const Message &message : messages) {
    if (!error && message.severity == DiagnosticSeverity::Error)
      error = message.format();
    else if (error && message.severity == DiagnosticSeverity::Note)
      *error += "\n" + message.format();
    else if (error)
      break;
  }
  return error;
}
