//===- HostOps.cpp - Launches and what they need --------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

using namespace mlir;
using namespace mlir::fagpu;

/// Words of one counter that a launcher hands out.
static constexpr int64_t maxCounterWords = 8;

static LogicalResult verifyOnHost(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (function && isKernel(function))
    return op->emitOpError()
           << "stands in the kernel '@" << function.getSymName()
           << "', expected a function of the host side";
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getGrid().empty() || getGrid().size() > 3)
    return emitOpError() << "has a grid of " << getGrid().size()
                         << " sizes, expected 1 to 3";
  return verifyOnHost(*this);
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel || !isKernel(kernel))
    return emitOpError() << "runs " << getKernelAttr()
                         << ", expected a func.func with the attribute '"
                         << FAGPUDialect::kernelAttrName << "'";
  if (getDependent() &&
      !kernel.walk([](AwaitPreviousOp) { return WalkResult::interrupt(); })
           .wasInterrupted())
    return emitOpError() << "is dependent, but " << getKernelAttr()
                         << " does not wait for the launch ahead, expected "
                            "'fagpu.await_previous' in it";
  TypeRange expected = kernel.getArgumentTypes();
  TypeRange actual = getArguments().getTypes();
  if (expected.size() != actual.size())
    return emitOpError() << "passes " << actual.size() << " arguments, but "
                         << getKernelAttr() << " takes " << expected.size();
  for (auto [number, type] : llvm::enumerate(expected))
    if (type != actual[number])
      return emitOpError() << "passes " << actual[number] << " as argument "
                           << number << ", but " << getKernelAttr() << " takes "
                           << type;
  return success();
}

void CounterOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getCounter(), "counter");
}

LogicalResult CounterOp::verify() {
  auto type = cast<MemRefType>(getCounter().getType());
  int64_t words = type.getDimSize(0);
  if (type.isDynamicDim(0) || words < 1 || words > maxCounterWords)
    return emitOpError() << "makes " << type << ", expected 1 to "
                         << maxCounterWords << " words";
  return verifyOnHost(*this);
}

void WorkspaceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getMemory(), "workspace");
}

namespace {
/// The host knows the sizes of memory that it asks for; a launch plan has those
/// of arguments alone.
struct FoldDim : OpRewritePattern<memref::DimOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::DimOp op,
                                PatternRewriter &rewriter) const override {
    auto workspace = op.getSource().getDefiningOp<WorkspaceOp>();
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!workspace || !dim || *dim >= workspace.getType().getRank() ||
        !workspace.getType().isDynamicDim(*dim))
      return failure();
    rewriter.replaceOp(
        op, workspace.getSizes()[workspace.getType().getDynamicDimIndex(*dim)]);
    return success();
  }
};
} // namespace

void WorkspaceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<FoldDim>(context);
}

LogicalResult WorkspaceOp::verify() {
  auto type = cast<MemRefType>(getMemory().getType());
  if (Type element = type.getElementType(); !element.isIntOrFloat())
    return emitOpError() << "makes elements of " << element
                         << ", whose size a launcher does not know, expected "
                            "integers or floats; the nearest is "
                         << (element.isIndex() ? "i64" : "i32");
  if (!type.getLayout().isIdentity())
    return emitOpError() << "makes " << type << ", expected contiguous memory";
  if (getSizes().size() != static_cast<size_t>(type.getNumDynamicDims()))
    return emitOpError() << "has " << getSizes().size() << " sizes, but "
                         << type << " has " << type.getNumDynamicDims()
                         << " dynamic dimensions";
  return verifyOnHost(*this);
}

void MultiprocessorsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getCount(), "multiprocessors");
}

LogicalResult MultiprocessorsOp::verify() { return verifyOnHost(*this); }
