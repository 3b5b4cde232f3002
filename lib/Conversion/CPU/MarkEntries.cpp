//===- MarkEntries.cpp - Ask for C interfaces of entry functions ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/CPU/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAMARKENTRIES
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

namespace {
struct MarkEntriesPass : public fa::impl::FAMarkEntriesBase<MarkEntriesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                          UnitAttr::get(&getContext()));
  }
};
} // namespace
