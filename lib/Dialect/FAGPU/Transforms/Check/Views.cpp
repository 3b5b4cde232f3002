//===- Views.cpp - Rules on the use and release of views ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that each view of a stage is released exactly once, in the block
// that acquires it, behind its last use and behind the wait for products that
// read it. Read `ViewUses::verify`; views that loops carry are left to
// Protocol.cpp.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fagpu;

namespace {
/// A view that is no part of another one, and what uses it or parts of it.
class ViewUses {
public:
  explicit ViewUses(Value view) : view(view) { collect(view); }

  LogicalResult verify() {
    for (OpOperand *use : uses)
      if (isa<ReleaseOp>(use->getOwner()) && use->get() != view)
        return use->getOwner()->emitOpError(
            "releases a part of a view; expected the view that "
            "'fagpu.acquire' gives");
    if (view.getDefiningOp<AcquireOp>() && !isCarried() && failed(verifyOnce()))
      return failure();
    for (Operation *release : getReleases())
      if (failed(verifyUses(release)))
        return failure();
    return success();
  }

private:
  void collect(Value value) {
    for (OpOperand &use : value.getUses()) {
      uses.push_back(&use);
      if (auto slice = dyn_cast<SliceOp>(use.getOwner()))
        collect(slice.getResult());
    }
  }

  SmallVector<Operation *> getReleases() {
    SmallVector<Operation *> releases;
    for (OpOperand *use : uses)
      if (isa<ReleaseOp>(use->getOwner()))
        releases.push_back(use->getOwner());
    return releases;
  }

  /// Whether the use only hands the view to another block.
  static bool forwards(Operation *op) {
    return op->hasTrait<OpTrait::IsTerminator>() ||
           isa<ForOp, RepeatOp, scf::ForOp, scf::WhileOp>(op);
  }

  /// Where a loop carries the view, only an execution shows who releases it.
  bool isCarried() {
    return llvm::any_of(
        uses, [](OpOperand *use) { return forwards(use->getOwner()); });
  }

  LogicalResult verifyOnce() {
    Operation *acquire = view.getDefiningOp();
    SmallVector<Operation *> releases = getReleases();
    if (releases.empty())
      return acquire->emitOpError(
          "gives a view that is never released; expected one 'fagpu.release' "
          "in the same block");
    for (Operation *release : releases) {
      if (release->getBlock() == acquire->getBlock())
        continue;
      InFlightDiagnostic diagnostic = release->emitOpError(
          "releases a view of another block, so perhaps not exactly once; "
          "expected it in the block of the 'fagpu.acquire'");
      diagnostic.attachNote(acquire->getLoc()) << "acquired here";
      return diagnostic;
    }
    if (releases.size() == 1)
      return success();
    llvm::sort(releases, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    InFlightDiagnostic diagnostic =
        releases[1]->emitOpError("releases a view a second time; expected one "
                                 "release for each 'fagpu.acquire'");
    diagnostic.attachNote(releases[0]->getLoc()) << "first released here";
    return diagnostic;
  }

  /// Nothing after the release uses the view, and no product reads it there.
  LogicalResult verifyUses(Operation *release) {
    for (OpOperand *use : uses) {
      Operation *user = use->getOwner();
      if (auto issue = dyn_cast<MmaAsyncOp>(user);
          issue && failed(verifyInFlight(release, issue)))
        return failure();
      Operation *inBlock = release->getBlock()->findAncestorOpInBlock(*user);
      if (!inBlock || forwards(user) || user == release ||
          !release->isBeforeInBlock(inBlock) || isa<ReleaseOp>(user))
        continue;
      InFlightDiagnostic diagnostic = user->emitOpError(
          "uses a view after its release; expected the release after it");
      diagnostic.attachNote(release->getLoc()) << "released here";
      return diagnostic;
    }
    return success();
  }

  static LogicalResult verifyInFlight(Operation *release, MmaAsyncOp issue) {
    Operation *wait = issue.getWait();
    Operation *inBlock = issue->getBlock()->findAncestorOpInBlock(*release);
    if (!inBlock || !issue->isBeforeInBlock(inBlock) ||
        !inBlock->isBeforeInBlock(wait))
      return success();
    InFlightDiagnostic diagnostic = release->emitOpError(
        "releases a view that a product in flight still reads; expected it "
        "after the 'fagpu.wait' of that product");
    diagnostic.attachNote(issue.getLoc()) << "issued here";
    diagnostic.attachNote(wait->getLoc()) << "awaited here";
    return diagnostic;
  }

  Value view;
  SmallVector<OpOperand *> uses;
};
} // namespace

LogicalResult mlir::fagpu::checkViews(func::FuncOp kernel) {
  for (BlockArgument argument : kernel.getArguments())
    if (isa<ViewType>(argument.getType()))
      return kernel.emitOpError()
             << "has argument #" << argument.getArgNumber() << " of type "
             << argument.getType()
             << ", but a view is of one use of a stage; expected memory, and "
                "what 'fagpu.acquire' gives";
  WalkResult result = kernel.walk([](Operation *op) -> WalkResult {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (isa<ViewType>(argument.getType()) &&
              failed(ViewUses(argument).verify()))
            return WalkResult::interrupt();
    if (isa<SliceOp>(op))
      return WalkResult::advance();
    for (Value result : op->getResults())
      if (isa<ViewType>(result.getType()) && failed(ViewUses(result).verify()))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
