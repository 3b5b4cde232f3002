//===- Multicast.cpp - Copies that the blocks of a cluster share ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a cluster that copy the same tiles share them by TMA multicast.
// `ClusterDifferences` follows the block number through the kernel: what it
// does not reach is the same in all blocks. Read `shareCopies`, then both
// `getObstacle`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fagpu {
#define GEN_PASS_DEF_FAGPUMULTICASTPASS
#include "fa/Dialect/FAGPU/Transforms/Passes.h.inc"
} // namespace mlir::fagpu

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
    // Values come behind what they are found from.
    for (size_t i = 0; i < pending.size(); ++i) {
      Value value = pending[i];
      for (Operation *user : value.getUsers())
        addUse(user, value);
    }
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
        pending.push_back(value);
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
  /// Of `values`, those whose users are asked for.
  SmallVector<Value> pending;
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

/// Why the rows of a box cannot be shared out among the blocks; empty if they
/// can.
static std::string getObstacle(PutOp put, int64_t blocks) {
  constexpr int64_t rowsPerSwizzle = 8;
  int64_t multiple = rowsPerSwizzle * blocks;
  ArrayRef<int64_t> tile = put.getChannel().getType().getShape();
  if (tile.size() != 2)
    return "a tile of one dimension has no rows";
  if (tile.front() % multiple)
    return llvm::formatv("the {0} rows of a tile are no multiple of {1}, {2} "
                         "for each block",
                         tile.front(), multiple, rowsPerSwizzle);
  if (!put.getPart().empty())
    return "a tile is put in parts";
  if (put.getPages())
    return "the rows of a tile are in pages";
  int64_t rows = put.getSizes()[put.getRowDim()];
  if (rows != tile.front())
    return llvm::formatv("the rows of a tile are {0} of dimension {1} and "
                         "others, and not of one dimension",
                         rows, put.getRowDim());
  return "";
}

static bool isReleasedByWarps(AcquireOp acquire) {
  return !acquire->getParentOfType<RoleOp>().getElect() &&
         llvm::any_of(acquire.getView().getUsers(), llvm::IsaPred<ReleaseOp>);
}

/// Why the blocks cannot share what a channel is filled with, the same in all
/// of them; empty if they can.
static std::string getObstacle(ChannelOp channel, int64_t blocks) {
  if (channel.getOver() ||
      llvm::any_of(channel->getUsers(), llvm::IsaPred<ChannelOp>))
    return "a channel shares its memory with another one";
  for (Operation *user : channel->getUsers()) {
    if (auto put = dyn_cast<PutOp>(user)) {
      if (std::string obstacle = getObstacle(put, blocks); !obstacle.empty())
        return obstacle;
      continue;
    }
    auto acquire = dyn_cast<AcquireOp>(user);
    if (!acquire)
      return llvm::formatv("'{0}' uses a channel", user->getName());
    if (!isReleasedByWarps(acquire))
      return "a stage is not released by all warps of a role";
  }
  return "";
}

/// Shares what can be shared; says why if that is nothing.
static std::string shareCopies(func::FuncOp kernel, int64_t blocks) {
  ClusterDifferences differences(kernel, blocks);
  bool isAnyShared = false;
  std::string obstacle;
  StringRef otherwise = "no channel is filled by the engine 'tma'";
  for (ChannelOp channel : kernel.getOps<ChannelOp>()) {
    if (channel.getEngine() != Engine::tma)
      continue;
    if (!llvm::all_of(channel->getUsers(), [&](Operation *user) {
          auto put = dyn_cast<PutOp>(user);
          return !put || putsSameBox(put, differences);
        })) {
      otherwise = "what each block copies depends on the number of the block";
      continue;
    }
    std::string reason = getObstacle(channel, blocks);
    if (reason.empty()) {
      channel.setMulticast(true);
      isAnyShared = true;
    } else if (obstacle.empty()) {
      obstacle = reason;
    }
  }
  if (isAnyShared)
    return "";
  return obstacle.empty() ? otherwise.str() : obstacle;
}

namespace {
struct MulticastPass
    : public fagpu::impl::FAGPUMulticastPassBase<MulticastPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    int64_t blocks = getClusterSize(kernel);
    if (!isKernel(kernel) || blocks == 1)
      return;
    std::string obstacle = shareCopies(kernel, blocks);
    if (obstacle.empty())
      return;
    remark::missed(
        kernel.getLoc(),
        remark::RemarkOpts::name("Multicast").category("fagpu-multicast"))
        << llvm::formatv("clusters of {0} blocks share no copies: ", blocks)
                   .str() +
               obstacle;
  }
};
} // namespace
