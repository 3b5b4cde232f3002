//===- Program.cpp - Files, entries and strategies ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "fa/Driver/Bytecode.h"

#include "fa/Dialect/FA/IR/FADialect.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Driver/HostBuffer.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/Dialect/Transform/Transforms/TransformInterpreterUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult fa::reportError(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "fa-run") << message << '\n';
  return failure();
}

OwningOpRef<ModuleOp> fa::parseProgram(StringRef path, MLIRContext *context) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file) {
    (void)reportError(message);
    return nullptr;
  }
  if (StringRef producer = getBytecodeProducer(*file);
      isOfAnotherMLIR(producer)) {
    (void)reportError("'" + path + "' is bytecode of " + producer +
                      ", expected that of MLIR" LLVM_VERSION_STRING
                      " or text, which any mlir-opt prints");
    return nullptr;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, context);
}

static std::string listEntries(ArrayRef<func::FuncOp> functions) {
  std::string names;
  for (func::FuncOp function : functions)
    names += (names.empty() ? "@" : ", @") + function.getName().str();
  return names;
}

/// Fails for an argument or result that no buffer can hold.
static FailureOr<func::FuncOp> checkEntry(func::FuncOp function) {
  auto check = [&](TypeRange types, StringRef what) -> LogicalResult {
    for (auto [i, type] : llvm::enumerate(types)) {
      bool isShaped = isa<RankedTensorType, MemRefType>(type);
      if ((!isShaped && isa<ShapedType>(type)) ||
          !isHostType(getElementTypeOrSelf(type)))
        return function.emitError("'")
               << function.getName() << "' " << what << " " << i << " has type "
               << type
               << ", which fa-run cannot pass; expected a scalar, ranked "
                  "tensor or memref of i1, i8, i16, i32, i64, index, f16, "
                  "bf16, f32 or f64";
    }
    return success();
  };
  if (failed(check(function.getArgumentTypes(), "argument")) ||
      failed(check(function.getResultTypes(), "result")))
    return failure();
  return function;
}

static bool implementsFunction(func::FuncOp function) {
  return function->hasAttr(FADialect::implementsAttrName);
}

static bool launchesKernel(func::FuncOp function) {
  return fagpu::findLaunch(function) != nullptr;
}

FailureOr<func::FuncOp> fa::findEntry(ModuleOp module, StringRef name,
                                      StringRef path) {
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      candidates.push_back(function);
  name.consume_front("@");
  if (candidates.empty())
    return reportError("'" + path + "' has no public function with a body");
  if (name.empty()) {
    // Of a file of kernels, what implements something is what one runs, else
    // what launches them.
    if (candidates.size() == 1)
      return checkEntry(candidates.front());
    for (bool (*isEntry)(func::FuncOp) : {implementsFunction, launchesKernel})
      if (auto entries = llvm::make_filter_range(candidates, isEntry);
          llvm::hasSingleElement(entries))
        return checkEntry(*entries.begin());
    return reportError("'" + path + "' needs --entry: it has " +
                       listEntries(candidates));
  }
  for (func::FuncOp function : candidates)
    if (function.getName() == name)
      return checkEntry(function);
  return reportError("--entry=" + name + " is no public function of '" + path +
                     "', which has " + listEntries(candidates));
}

LogicalResult fa::applyStrategy(ModuleOp module, StringRef path) {
  OwningOpRef<ModuleOp> strategy = parseProgram(path, module.getContext());
  if (!strategy)
    return failure();
  auto entry = strategy->lookupSymbol<transform::TransformOpInterface>(
      transform::TransformDialect::kTransformEntryPointSymbolName);
  if (!entry)
    return reportError(
        "--strategy=" + path + " has no named sequence '@" +
        transform::TransformDialect::kTransformEntryPointSymbolName + "'");
  OperationFingerPrint before(module);
  if (failed(transform::applyTransformNamedSequence(
          module, entry, *strategy, transform::TransformOptions())))
    return failure();
  if (before == OperationFingerPrint(module))
    return reportError("--strategy=" + path +
                       " changes nothing: the program has nothing that it "
                       "matches");
  return verify(module);
}
