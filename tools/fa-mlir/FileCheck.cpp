//===- FileCheck.cpp - FileCheck for the portable bundle ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checks are LLVM's library; this reads the options that tests use.
//
//===----------------------------------------------------------------------===//

#include "llvm/FileCheck/FileCheck.h"
#include "../ToolMains.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace {
struct CommandLine {
  cl::opt<std::string> checkFile{cl::Positional, cl::Required,
                                 cl::desc("CHECK-FILE")};
  cl::opt<std::string> inputFile{"input-file", cl::init("-"),
                                 cl::desc("File to check")};
  cl::list<std::string> prefixes{"check-prefix",
                                 cl::desc("Prefix to look for")};
  cl::list<std::string> morePrefixes{"check-prefixes", cl::CommaSeparated,
                                     cl::desc("Prefixes to look for")};
  cl::list<std::string> implicitCheckNot{
      "implicit-check-not", cl::desc("Text that may stand nowhere else")};
  cl::list<std::string> defines{"D", cl::Prefix, cl::desc("Variable=value")};
  cl::opt<bool> allowEmpty{"allow-empty", cl::desc("The input may be empty")};
  cl::opt<bool> matchFullLines{"match-full-lines",
                               cl::desc("Matches are whole lines")};
  cl::opt<bool> strictWhitespace{"strict-whitespace",
                                 cl::desc("White space is compared exactly")};
  cl::opt<bool> enableVarScope{"enable-var-scope",
                               cl::desc("Labels end variables")};

  llvm::FileCheckRequest getRequest() const {
    llvm::FileCheckRequest request;
    for (const std::string &prefix : prefixes)
      request.CheckPrefixes.push_back(prefix);
    for (const std::string &prefix : morePrefixes)
      request.CheckPrefixes.push_back(prefix);
    for (const std::string &text : implicitCheckNot)
      request.ImplicitCheckNot.push_back(text);
    for (const std::string &define : defines)
      request.GlobalDefines.push_back(define);
    request.CommentPrefixes = {"COM", "RUN"};
    request.AllowEmptyInput = allowEmpty;
    request.MatchFullLines = matchFullLines;
    request.NoCanonicalizeWhiteSpace = strictWhitespace;
    request.EnableVarScope = enableVarScope;
    return request;
  }
};
} // namespace

/// Adds a file to `sources`; null after a message where it cannot be read.
static const llvm::MemoryBuffer *addFile(llvm::FileCheck &checker,
                                         llvm::SourceMgr &sources,
                                         llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (std::error_code code = file.getError()) {
    llvm::errs() << "FileCheck: error: cannot read '" << path
                 << "': " << code.message() << '\n';
    return nullptr;
  }
  llvm::SmallString<4096> canonical;
  llvm::StringRef text = checker.CanonicalizeFile(**file, canonical);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, path);
  const llvm::MemoryBuffer *result = buffer.get();
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return result;
}

int mlir::fa::fileCheckMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CommandLine commandLine;
  cl::ParseCommandLineOptions(argc, argv, "Compares text with checks\n");
  llvm::FileCheckRequest request = commandLine.getRequest();
  llvm::FileCheck checker(request);
  if (!checker.ValidateCheckPrefixes())
    return 2;
  llvm::SourceMgr sources;
  const llvm::MemoryBuffer *checks =
      addFile(checker, sources, commandLine.checkFile);
  if (!checks || checker.readCheckFile(sources, checks->getBuffer()))
    return 2;
  const llvm::MemoryBuffer *input =
      addFile(checker, sources, commandLine.inputFile);
  if (!input)
    return 2;
  if (input->getBufferSize() == 0 && !request.AllowEmptyInput) {
    llvm::errs() << "FileCheck: error: '" << commandLine.inputFile
                 << "' is empty\n";
    return 2;
  }
  return checker.checkInput(sources, input->getBuffer()) ? 0 : 1;
}
