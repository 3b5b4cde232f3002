//===- VerifyLevel.cpp - Refuse files of another level --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without this pass, the first one that cannot read a GPU schedule, or a
// problem, fails in terms of its own.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Passes.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAVERIFYLEVEL
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// The first operation of a dialect, which need not be loaded.
static Operation *findFirst(Operation *root, StringRef dialect) {
  Operation *found = nullptr;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getName().getDialectNamespace() != dialect)
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

namespace {
struct VerifyLevelPass : public fa::impl::FAVerifyLevelBase<VerifyLevelPass> {
  using FAVerifyLevelBase::FAVerifyLevelBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    Operation *ofSchedule = findFirst(getOperation(), "fagpu");
    if (!isSchedule) {
      if (!ofSchedule)
        return;
      ofSchedule->emitOpError() << "is of a GPU schedule, which has no form on "
                                   "a CPU; run fagpu-to-ptx";
      return signalPassFailure();
    }
    Operation *ofProblem =
        ofSchedule
            ? nullptr
            : findFirst(getOperation(), FADialect::getDialectNamespace());
    if (!ofProblem)
      return;
    ofProblem->emitOpError()
        << "is of no GPU schedule; run fa-to-ptx, or fa-to-schedule before";
    signalPassFailure();
  }
};
} // namespace
