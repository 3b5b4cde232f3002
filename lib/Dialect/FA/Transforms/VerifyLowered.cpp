//===- VerifyLowered.cpp - Refuse what a lowering has left over -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAVERIFYLOWERED
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

StringRef mlir::fa::suggestLowering(Operation *op) {
  if (isa<ApplyOp>(op))
    return "run fa-apply-to-linalg before, which captures memory alone";
  return llvm::StringSwitch<StringRef>(op->getName().getDialectNamespace())
      .Case("fa", "run fa-to-cpu or fa-to-ptx")
      .Case("fagpu", "run fagpu-to-llvm")
      .Case("index", "write it in operations of arith")
      .Case("linalg", "lower it to linalg.generic before, or write the "
                      "attention it is part of as fa.attention")
      .Case("tosa", "lower it to linalg before, as tosa-to-linalg-pipeline of "
                    "mlir-opt does")
      .Default("lower it before");
}

static bool hasTensor(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<TensorType>);
}

/// Whether `op` is a constant in memory whose numbers are a blob of a file that
/// holds none of that name.
static bool lacksResource(Operation *op) {
  if (op->getName().getStringRef() != "llvm.mlir.global")
    return false;
  auto resource = op->getAttrOfType<DenseResourceElementsAttr>("value");
  return resource && !resource.getRawHandle().getBlob();
}

static LogicalResult refuse(Operation *op) {
  if (isa<UnrealizedConversionCastOp>(op))
    return op->emitOpError()
           << "from " << op->getOperandTypes() << " to " << op->getResultTypes()
           << " is left over, expected casts that cancel each other out: "
              "remove it, or lower what makes or takes its value";
  if (lacksResource(op))
    return op->emitOpError()
           << "reads the resource '"
           << op->getAttrOfType<DenseResourceElementsAttr>("value")
                  .getRawHandle()
                  .getKey()
           << "', which is not in the file";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (function
          ? hasTensor(function.getArgumentTypes()) ||
                hasTensor(function.getResultTypes())
          : hasTensor(op->getOperandTypes()) || hasTensor(op->getResultTypes()))
    return op->emitOpError() << "is on tensors, expected memrefs: run "
                                "fa-results-to-out-parameters before";
  return op->emitOpError() << "has no lowering to the LLVM dialect; "
                           << suggestLowering(op);
}

/// Fails after one error for the first operation in `root` that is not of the
/// LLVM dialect. Casts come last: they surround what is left over.
static LogicalResult verifyLowered(Operation *root) {
  Operation *cast = nullptr;
  Operation *other = nullptr;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    // Scripts are no code.
    if (dialect == "transform")
      return WalkResult::skip();
    if (isa<ModuleOp>(op) || dialect == "nvvm" ||
        (dialect == "llvm" && !lacksResource(op)))
      return WalkResult::advance();
    bool isCast = isa<UnrealizedConversionCastOp>(op);
    Operation *&first = isCast ? cast : other;
    first = first ? first : op;
    return isCast ? WalkResult::advance() : WalkResult::interrupt();
  });
  Operation *left = other ? other : cast;
  return left ? refuse(left) : success();
}

namespace {
struct VerifyLoweredPass
    : public fa::impl::FAVerifyLoweredBase<VerifyLoweredPass> {
  using FAVerifyLoweredBase::FAVerifyLoweredBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!kernelsOnly)
      return failed(verifyLowered(getOperation())) ? signalPassFailure()
                                                   : void();
    for (Operation &op : *getOperation().getBody())
      if (op.getName().getStringRef() == "llvm.func" &&
          failed(verifyLowered(&op)))
        return signalPassFailure();
  }
};
} // namespace
