//===- ImportStableHLO.cpp - StableHLO's generic text as linalg -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The pass: calls are inlined, operations checked by name and type, and then
// replaced in the order of the program. Read `importStableHLO`, at the end,
// first, then Importer.h; each group of operations is a file.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "fa/Conversion/StableHLOToLinalg/Passes.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/Inliner.h"
#include "mlir/Transforms/InliningUtils.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAIMPORTSTABLEHLO
#include "fa/Conversion/StableHLOToLinalg/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
/// MLIR's inliner takes no operations that it does not know.
class UnregisteredInliner : public InlinerInterface {
public:
  using InlinerInterface::InlinerInterface;
  using InlinerInterface::isLegalToInline;
  bool isLegalToInline(Operation *, Operation *, bool) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool
  allowSingleBlockOptimization(iterator_range<Region::iterator>) const final {
    return true;
  }
};
} // namespace

/// Inlines calls of `function`, callees first. `path` has the functions that
/// are being inlined, as one that calls itself cannot be.
static LogicalResult inlineCalls(func::FuncOp function,
                                 SymbolTableCollection &symbols,
                                 SetVector<Operation *> &path,
                                 DenseSet<Operation *> &done) {
  if (done.contains(function))
    return success();
  if (!path.insert(function))
    return function.emitError("'")
           << function.getName()
           << "' calls itself, which fa-import-stablehlo cannot inline";
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  UnregisteredInliner inliner(function.getContext());
  InlinerConfig config;
  for (func::CallOp call : calls) {
    auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee || callee.isExternal())
      continue;
    if (failed(inlineCalls(callee, symbols, path, done)))
      return failure();
    if (succeeded(inlineCall(inliner, config.getCloneCallback(), call, callee,
                             &callee.getBody())))
      call.erase();
  }
  path.remove(function);
  done.insert(function);
  return success();
}

static LogicalResult inlineCalls(ModuleOp module) {
  SymbolTableCollection symbols;
  SetVector<Operation *> path;
  DenseSet<Operation *> done;
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions)
    if (failed(inlineCalls(function, symbols, path, done)))
      return failure();
  return success();
}

/// Private functions that nothing calls any more.
static void eraseUnused(ModuleOp module) {
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() && !function.isExternal() &&
        SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool isStableHLO(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return llvm::is_contained({"stablehlo", "chlo", "mhlo", "vhlo"}, dialect);
}

static bool isImportedType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding() &&
         (isa<FloatType>(tensor.getElementType()) ||
          tensor.getElementType().isSignlessInteger());
}

/// Whether there are as many operands, results and regions as there have to be.
static LogicalResult checkCounts(Operation *op, const ImportEntry &entry) {
  auto fits = [](int wanted, unsigned count) {
    return wanted < 0 || static_cast<unsigned>(wanted) == count;
  };
  bool hasOperands = entry.numOperands >= 0 || op->getNumOperands() > 0;
  if (hasOperands && fits(entry.numOperands, op->getNumOperands()) &&
      fits(entry.numResults, op->getNumResults()) &&
      op->getNumRegions() == entry.numRegions)
    return success();
  return refuse(op) << "has " << op->getNumOperands() << " operands, "
                    << op->getNumResults() << " results and "
                    << op->getNumRegions()
                    << " regions, which are not those of StableHLO";
}

/// Nothing is changed before every operation is known.
static LogicalResult checkOperations(ModuleOp module) {
  const ImportTable &table = getImportTable();
  WalkResult result = module.walk([&](Operation *op) -> WalkResult {
    StringRef name = op->getName().getStringRef();
    if (!isStableHLO(op))
      return WalkResult::advance();
    if (name != "stablehlo.return" && !table.contains(name))
      return refuse(op) << "is not imported, expected one of the operations "
                           "that the description of fa-import-stablehlo lists";
    auto entry = table.find(name);
    if (entry != table.end() && failed(checkCounts(op, entry->second)))
      return WalkResult::interrupt();
    for (Type type :
         llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
      if (!isImportedType(type))
        return refuse(op) << "has type " << type
                          << ", expected ranked tensors of floats or signless "
                             "integers";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Attributes such as `mhlo.num_partitions`: only a context that allows
/// unregistered dialects could read them again.
static void dropForeignAttributes(ModuleOp module) {
  MLIRContext *context = module.getContext();
  auto isForeign = [&](NamedAttribute attribute) {
    auto [dialect, rest] = attribute.getName().getValue().split('.');
    return !rest.empty() && !context->getLoadedDialect(dialect);
  };
  auto filter = [&](ArrayRef<NamedAttribute> attributes) {
    return llvm::to_vector(llvm::make_filter_range(
        attributes, [&](NamedAttribute a) { return !isForeign(a); }));
  };
  module->setDiscardableAttrs(filter(to_vector(module->getDiscardableAttrs())));
  for (auto function : module.getOps<FunctionOpInterface>()) {
    function->setDiscardableAttrs(
        filter(to_vector(function->getDiscardableAttrs())));
    for (unsigned i : llvm::seq(function.getNumArguments()))
      function.setArgAttrs(i, filter(function.getArgAttrs(i)));
    for (unsigned i : llvm::seq(function.getNumResults()))
      function.setResultAttrs(i, filter(function.getResultAttrs(i)));
  }
}

LogicalResult fa::importStableHLO(ModuleOp module) {
  if (failed(checkOperations(module)) || failed(inlineCalls(module)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>()) {
    Importer importer(module.getContext());
    if (failed(importer.importRegion(function.getBody())))
      return failure();
    raiseLoops(importer.loops);
    // Sizes and numbers that nothing took.
    IRRewriter rewriter(module.getContext());
    (void)runRegionDCE(rewriter, function.getBody());
  }
  // Uses in operations that MLIR does not know would not have been known.
  eraseUnused(module);
  dropForeignAttributes(module);
  return success();
}

namespace {
struct ImportStableHLOPass
    : public fa::impl::FAImportStableHLOBase<ImportStableHLOPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                    func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                    scf::SCFDialect, tensor::TensorDialect>();
    func::registerInlinerExtension(registry);
  }
  void runOnOperation() override {
    if (failed(importStableHLO(getOperation())))
      signalPassFailure();
  }
};
} // namespace
