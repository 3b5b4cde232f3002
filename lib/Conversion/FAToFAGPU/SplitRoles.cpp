//===- SplitRoles.cpp - A role that copies for the one that computes ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warp specialisation: copies move from the math role to a producer role of
// one thread, with the loops around them and the scalars that they need. Read
// `run`, then `need` (what a copy depends on) and `copyBlock` (the new role).
//
//===----------------------------------------------------------------------===//

#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/Transforms/RoleScalars.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUSPLITROLESPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// Splits the copies off one role.
class RoleSplitter {
public:
  explicit RoleSplitter(RoleOp role)
      : role(role), builder(role.getContext()), loc(role.getLoc()) {}
  LogicalResult run();

private:
  LogicalResult collect();
  LogicalResult need(Operation *user, Value value);
  LogicalResult needOne(Operation *user, Value value,
                        SmallVectorImpl<Value> &reads);
  void copyBlock(Block &from, IRMapping &mapping);
  void copyPut(PutOp put, const IRMapping &mapping);
  void copyLoop(ForOp loop, IRMapping &mapping);
  void copyScalar(Operation *op, IRMapping &mapping);
  bool variesByGroup(Operation *op);

  RoleOp role;
  OpBuilder builder;
  Location loc;
  SmallVector<PutOp> puts;
  /// What the copies need: scalars, constant tables, and the loops around.
  SetVector<Operation *> needed;
  /// Of `needed`, what depends on the group: computed for each at its copies.
  SetVector<Operation *> ofGroup;
};
} // namespace

/// Adds what makes `value` itself, and the loops around it; `reads` is what
/// that reads.
LogicalResult RoleSplitter::needOne(Operation *user, Value value,
                                    SmallVectorImpl<Value> &reads) {
  if (!role.getBody().isAncestor(value.getParentRegion()) ||
      value == role.getGroup())
    return success();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument.getArgNumber() <= loop.getNumSegments())
      return success();
    return user->emitOpError()
           << "copies to a place that a loop carries from one iteration to the "
              "next, expected one that its index alone gives";
  }
  Operation *op = value.getDefiningOp();
  if (needed.contains(op))
    return success();
  if (!isRoleScalar(op))
    return user->emitOpError() << "copies to a place that '" << op->getName()
                               << "' makes, expected one computed by scalars";
  for (; op != role; op = op->getParentOp())
    needed.insert(op);
  llvm::append_range(reads,
                     llvm::reverse(getReadValues(value.getDefiningOp())));
  return success();
}

/// Adds all that makes `value`.
LogicalResult RoleSplitter::need(Operation *user, Value value) {
  SmallVector<Value> pending = {value};
  while (!pending.empty())
    if (failed(needOne(user, pending.pop_back_val(), pending)))
      return failure();
  return success();
}

LogicalResult RoleSplitter::collect() {
  role.walk([&](PutOp put) { puts.push_back(put); });
  for (PutOp put : puts) {
    for (Operation *parent = put->getParentOp(); parent != role;
         parent = parent->getParentOp()) {
      auto loop = dyn_cast<ForOp>(parent);
      if (!loop)
        return put.emitOpError() << "stands in '" << parent->getName()
                                 << "', expected 'fagpu.for' alone around it";
      needed.insert(loop);
      needed.insert(put);
      if (failed(need(put, loop.getStart())))
        return failure();
      for (Value bound : loop.getBounds())
        if (failed(need(put, bound)))
          return failure();
    }
    needed.insert(put);
    for (Value operand : put->getOperands())
      if (!isa<ChannelType>(operand.getType()) && failed(need(put, operand)))
        return failure();
  }
  return success();
}

/// Whether the value depends on which group computes it.
bool RoleSplitter::variesByGroup(Operation *op) {
  return llvm::any_of(getReadValues(op), [&](Value value) {
    return value == role.getGroup() || ofGroup.contains(value.getDefiningOp());
  });
}

void RoleSplitter::copyScalar(Operation *op, IRMapping &mapping) {
  if (variesByGroup(op))
    ofGroup.insert(op);
  else
    builder.clone(*op, mapping);
}

/// A copy whose place depends on the group is one for each group.
void RoleSplitter::copyPut(PutOp put, const IRMapping &mapping) {
  if (!variesByGroup(put)) {
    IRMapping same(mapping);
    builder.clone(*put, same);
    return;
  }
  for (int64_t group = 0; group < role.getGroups(); ++group) {
    IRMapping mine(mapping);
    mine.map(role.getGroup(),
             arith::ConstantIntOp::create(builder, loc, group, 32));
    for (Operation *op : ofGroup)
      builder.clone(*op, mine);
    builder.clone(*put, mine);
  }
}

void RoleSplitter::copyLoop(ForOp loop, IRMapping &mapping) {
  auto mapped = [&](Value value) { return mapping.lookupOrDefault(value); };
  SmallVector<Value> bounds = llvm::map_to_vector(loop.getBounds(), mapped);
  auto copy = ForOp::create(builder, loop.getLoc(), TypeRange(),
                            mapped(loop.getStart()), bounds, ValueRange(),
                            loop.getStepAttr(), loop.getOnceAttr(),
                            loop.getRolledAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&copy.getBody());
  Block &old = loop.getBody().front();
  for (unsigned i = 0; i <= loop.getNumSegments(); ++i)
    mapping.map(old.getArgument(i),
                body->addArgument(old.getArgument(i).getType(), loc));
  copyBlock(old, mapping);
  fagpu::YieldOp::create(builder, loc, ValueRange());
}

void RoleSplitter::copyBlock(Block &from, IRMapping &mapping) {
  for (Operation &op : from) {
    if (!needed.contains(&op))
      continue;
    if (auto put = dyn_cast<PutOp>(op))
      copyPut(put, mapping);
    else if (auto loop = dyn_cast<ForOp>(op))
      copyLoop(loop, mapping);
    else
      copyScalar(&op, mapping);
  }
}

LogicalResult RoleSplitter::run() {
  if (failed(collect()))
    return failure();
  if (puts.empty())
    return success();
  auto kernel = role->getParentOfType<func::FuncOp>();
  RegisterShare registers =
      getRegisterShare(role.getGroups(), getGPUPart(kernel).copyingRegisters);
  // Without a loop over blocks or tiles little is held, and more blocks fit
  // beside each other.
  bool sharesRegisters =
      isPersistent(kernel) || !role.getBody().getOps<ForOp>().empty();
  builder.setInsertionPoint(role);
  auto load = RoleOp::create(
      builder, loc, builder.getStringAttr("load"), builder.getI32IntegerAttr(1),
      builder.getI32IntegerAttr(4),
      sharesRegisters
          ? builder.getI32IntegerAttr(static_cast<int32_t>(registers.copying))
          : IntegerAttr(),
      builder.getUnitAttr(), IntegerAttr());
  Block *body =
      builder.createBlock(&load.getBody(), {}, {builder.getI32Type()}, {loc});
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  copyBlock(role.getBody().front(), mapping);
  for (PutOp put : puts)
    put.erase();
  if (sharesRegisters)
    role.setRegsAttr(
        builder.getI32IntegerAttr(static_cast<int32_t>(registers.computing)));
  return success();
}

namespace {
struct SplitRolesPass
    : public fa::impl::FAGPUSplitRolesPassBase<SplitRolesPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!isKernel(kernel) || !hasWarpGroups(kernel))
      return;
    for (RoleOp role : llvm::to_vector(kernel.getOps<RoleOp>()))
      if (!role.getElect() && failed(RoleSplitter(role).run()))
        return signalPassFailure();
  }
};
} // namespace
