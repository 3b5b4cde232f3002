//===- GroupDependence.cpp - What groups of a role may differ in ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupDependence.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
using Sources = SetVector<Value>;
} // namespace

static void add(Sources &sources, ValueRange values) {
  sources.insert(values.begin(), values.end());
}

/// What a loop carries as the value of this number. How often it was carried is
/// what the bounds say.
static void addCarried(fagpu::ForOp loop, unsigned number, Sources &sources) {
  add(sources, loop.getStart());
  add(sources, loop.getBounds());
  sources.insert(loop.getInits()[number]);
  sources.insert(loop.getBody().front().getTerminator()->getOperand(number));
}

/// The values that a value is computed from, one step back.
static void addSources(Value value, Sources &sources) {
  auto result = dyn_cast<OpResult>(value);
  Operation *op = result ? result.getOwner()
                         : cast<BlockArgument>(value).getOwner()->getParentOp();
  unsigned number = result ? result.getResultNumber()
                           : cast<BlockArgument>(value).getArgNumber();
  if (!result && isa<fagpu::RoleOp, FunctionOpInterface>(op))
    return;
  if (auto loop = dyn_cast<fagpu::ForOp>(op)) {
    unsigned first = result ? 0 : 1 + loop.getNumSegments();
    if (number >= first)
      return addCarried(loop, number - first, sources);
    add(sources, loop.getStart());
    add(sources, loop.getBounds());
    return;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    sources.insert(branch.getCondition());
    sources.insert(branch.thenYield().getOperand(number));
    sources.insert(branch.elseYield().getOperand(number));
    return;
  }
  add(sources, op->getOperands());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (block.mightHaveTerminator())
        add(sources, block.getTerminator()->getOperands());
}

bool mlir::fa::dependsOnGroup(Value value, fagpu::RoleOp role) {
  Sources sources;
  sources.insert(value);
  // Sources are added behind the one that is looked at.
  for (unsigned next = 0; next < sources.size(); ++next) {
    if (sources[next] == role.getGroup())
      return true;
    addSources(sources[next], sources);
  }
  return false;
}
