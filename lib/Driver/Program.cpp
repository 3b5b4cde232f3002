//===- Program.cpp - Text or bytecode as a module -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Driver/Program.h"
#include "fa/Driver/Bytecode.h"
#include "fa/Export/Compile.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::fa;

/// The parser recurses: brackets of this depth fit on a stack of 8 MiB many
/// times over.
static constexpr unsigned mostNested = 500;

/// The line where brackets are nested too deeply, if any.
static std::optional<unsigned> findDeepNesting(StringRef text) {
  unsigned depth = 0, line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    char next = i + 1 < text.size() ? text[i + 1] : 0;
    switch (text[i]) {
    case '\n':
      ++line;
      break;
    case '/':
      if (next == '/')
        i = std::min(text.find('\n', i), text.size()) - 1;
      break;
    case '"':
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      break;
    case '<':
      depth += next != '=';
      break;
    case '(':
    case '[':
    case '{':
      ++depth;
      break;
    case '>':
      // No bracket in -> and >=.
      if (next == '=' || (i && text[i - 1] == '-'))
        break;
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
    if (depth > mostNested)
      return line;
  }
  return std::nullopt;
}

FailureOr<Program> fa::readProgram(StringRef source, StringRef name,
                                   MLIRContext *context) {
  Location start = FileLineColLoc::get(context, name, 1, 1);
  Program program;
  program.file = ModuleOp::create(start);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(source, name);
  if (StringRef producer = getBytecodeProducer(*buffer); !producer.empty()) {
    if (isOfAnotherMLIR(producer))
      return emitError(start) << "is bytecode of " << producer
                              << ", expected that of MLIR" LLVM_VERSION_STRING
                                 " or text, which any mlir-opt prints";
    if (failed(readBytecodeFile(*buffer, program.file->getBody(),
                                ParserConfig(context))))
      return failure();
  } else {
    if (auto line = findDeepNesting(source))
      return emitError(FileLineColLoc::get(context, name, *line, 1))
             << "has brackets nested more than " << mostNested
             << " deep, expected fewer";
    program.sources = std::make_shared<llvm::SourceMgr>();
    program.sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
    program.places = std::make_unique<AsmParserState>();
    if (failed(parseAsmSourceFile(*program.sources, program.file->getBody(),
                                  ParserConfig(context), program.places.get())))
      return failure();
  }
  program.module = *program.file;
  if (llvm::hasSingleElement(*program.module.getBody()))
    if (auto only = dyn_cast<ModuleOp>(program.module.getBody()->front()))
      program.module = only;
  return program;
}

FailureOr<SmallVector<std::string>>
Program::getArgumentNames(func::FuncOp function) {
  if (!places)
    return SmallVector<std::string>();
  return fa::getArgumentNames(function, *places);
}

FailureOr<func::FuncOp> fa::findPublicFunction(ModuleOp module,
                                               StringRef name) {
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      functions.push_back(function);
  if (name.empty() && functions.size() == 1)
    return functions.front();
  for (func::FuncOp function : functions)
    if (function.getSymName() == name)
      return function;
  if (functions.empty())
    return module.emitError("has no public function with a body");
  auto names = llvm::map_range(
      functions, [](func::FuncOp function) { return function.getSymName(); });
  return module.emitError()
         << (name.empty() ? "has several public functions"
                          : "has no public function '@" + name.str() + "'")
         << ", expected the name of one of " << llvm::join(names, ", ");
}
