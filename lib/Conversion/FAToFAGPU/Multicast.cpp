//===- Multicast.cpp - Copies that the blocks of a cluster share ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUMULTICASTPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fagpu;

namespace {
/// What is not the same in all blocks of a cluster: what is computed from the
/// number of the block, but for its quotient by the size of the cluster.
class ClusterDifferences {
public:
  ClusterDifferences(func::FuncOp kernel, int64_t blocks) : blocks(blocks) {
    kernel.walk([&](gpu::BlockIdOp id) {
      if (id.getDimension() == gpu::Dimension::x)
        addNumber(id.getResult());
    });
  }

  bool contains(Value value) const { return values.contains(value); }
  /// Whether blocks may run an operation unequally often.
  bool isAround(Operation *op) const {
    for (Operation *parent = op->getParentOp(); parent;
         parent = parent->getParentOp())
      if (branches.contains(parent))
        return true;
    return false;
  }

private:
  bool isCluster(Operation *op, Value number) {
    APInt divisor;
    return isa<arith::DivUIOp>(op) && op->getOperand(0) == number &&
           matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
           divisor.urem(blocks) == 0;
  }

  /// The number of the block itself.
  void addNumber(Value number) {
    if (!values.insert(number).second)
      return;
    for (Operation *user : number.getUsers()) {
      if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(user))
        addNumber(user->getResult(0));
      else if (!isCluster(user, number))
        addUse(user, number);
    }
  }

  void add(ValueRange added) {
    for (Value value : added)
      if (values.insert(value).second)
        for (Operation *user : value.getUsers())
          addUse(user, value);
  }

  void addUse(Operation *user, Value value) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return addYield(user, value);
    if (user->getNumRegions() == 0)
      return add(user->getResults());
    // What a loop starts with is in what it carries; bounds and conditions are
    // in how often all of it runs.
    if (isControl(user, value))
      branches.insert(user);
    add(user->getResults());
    for (Region &region : user->getRegions())
      for (Block &block : region)
        add(block.getArguments());
  }

  static bool isControl(Operation *op, Value value) {
    if (auto loop = dyn_cast<ForOp>(op))
      return loop.getStart() == value ||
             llvm::is_contained(loop.getBounds(), value);
    return !isa<RepeatOp>(op);
  }

  void addYield(Operation *yield, Value value) {
    Operation *parent = yield->getParentOp();
    if (isa<RepeatOp>(parent) && yield->getOperand(0) == value)
      branches.insert(parent);
    add(parent->getResults());
    if (isa<ForOp, RepeatOp>(parent))
      add(parent->getRegion(0).getArguments());
  }

  int64_t blocks;
  llvm::DenseSet<Value> values;
  llvm::DenseSet<Operation *> branches;
};
} // namespace

/// Whether all blocks of a cluster put the same box.
static bool putsSameBox(PutOp put, const ClusterDifferences &differences) {
  return !differences.isAround(put) &&
         llvm::none_of(put->getOperands(), [&](Value operand) {
           return differences.contains(operand);
         });
}

/// Whether the rows of a box can be shared out among the blocks.
static bool isDivisible(PutOp put, int64_t blocks) {
  constexpr int64_t rowsPerSwizzle = 8;
  ArrayRef<int64_t> tile = put.getChannel().getType().getShape();
  return tile.size() == 2 && tile.front() % (rowsPerSwizzle * blocks) == 0 &&
         put.getPart().empty() &&
         put.getSizes()[put.getRowDim()] == tile.front();
}

static bool isReleasedByWarps(AcquireOp acquire) {
  return !acquire->getParentOfType<RoleOp>().getElect() &&
         llvm::any_of(acquire.getView().getUsers(), llvm::IsaPred<ReleaseOp>);
}

static bool isShared(ChannelOp channel, int64_t blocks,
                     const ClusterDifferences &differences) {
  return channel.getEngine() == Engine::tma &&
         llvm::all_of(channel->getUsers(), [&](Operation *user) {
           if (auto put = dyn_cast<PutOp>(user))
             return isDivisible(put, blocks) && putsSameBox(put, differences);
           auto acquire = dyn_cast<AcquireOp>(user);
           return acquire && isReleasedByWarps(acquire);
         });
}

namespace {
struct MulticastPass : public fa::impl::FAGPUMulticastPassBase<MulticastPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    int64_t blocks = getClusterSize(kernel);
    if (!isKernel(kernel) || blocks == 1)
      return;
    ClusterDifferences differences(kernel, blocks);
    bool isAnyShared = false;
    for (ChannelOp channel : kernel.getOps<ChannelOp>()) {
      if (!isShared(channel, blocks, differences))
        continue;
      channel.setMulticast(true);
      isAnyShared = true;
    }
    if (!isAnyShared)
      kernel.emitRemark() << "clusters of " << blocks
                          << " blocks share no copies: what each block copies "
                             "depends on its own query block";
  }
};
} // namespace
