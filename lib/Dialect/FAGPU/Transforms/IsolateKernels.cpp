//===- IsolateKernels.cpp - Erase what does not run on the device ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/Transforms/Passes.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUISOLATEKERNELSPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

using namespace mlir;
using namespace mlir::fagpu;

/// Adds `op`, and the operations of the symbol table that it uses by name, to
/// `reached`.
static void reach(Operation *op, const SymbolTable &symbols,
                  SetVector<Operation *> &reached) {
  if (!reached.insert(op))
    return;
  op->walk([&](Operation *nested) {
    nested->getAttrDictionary().walk([&](SymbolRefAttr name) {
      if (Operation *used = symbols.lookup(name.getRootReference()))
        reach(used, symbols, reached);
    });
  });
}

namespace {
struct IsolateKernelsPass
    : public fagpu::impl::FAGPUIsolateKernelsPassBase<IsolateKernelsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SetVector<Operation *> reached;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isKernel(function))
        reach(function, symbols, reached);
    if (reached.empty())
      return;
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<SymbolOpInterface>(op) && !reached.contains(&op))
        op.erase();
  }
};
} // namespace
