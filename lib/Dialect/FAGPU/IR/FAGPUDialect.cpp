//===- FAGPUDialect.cpp - The fagpu dialect ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect itself: registration, and the attributes that it puts on
// operations of others, such as stage and order (`getSlot`), kernel, cluster.
// `verifyOperationAttribute`, at the end, lists them all; begin there.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/IR/Outside.h"
#include "fa/Dialect/FAGPU/IR/OwnedSums.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "fa/Dialect/FAGPU/IR/TransposedReads.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::fagpu;

#include "fa/Dialect/FAGPU/IR/FAGPUDialect.cpp.inc"
#include "fa/Dialect/FAGPU/IR/FAGPUEnums.cpp.inc"

namespace {
/// Lets functions such as a tile order be inlined into roles and loops.
struct FAGPUInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void FAGPUDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "fa/Dialect/FAGPU/IR/FAGPUOps.cpp.inc"
      >();
  addInterfaces<FAGPUInlinerInterface>();
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

std::optional<Slot> mlir::fagpu::getSlot(Operation *op) {
  auto slot = op->getAttrOfType<ArrayAttr>(FAGPUDialect::slotAttrName);
  if (!slot)
    return std::nullopt;
  return Slot{cast<IntegerAttr>(slot[0]).getInt(),
              cast<IntegerAttr>(slot[1]).getInt()};
}

void mlir::fagpu::setSlot(Operation *op, Slot slot) {
  Builder builder(op->getContext());
  op->setAttr(FAGPUDialect::slotAttrName,
              builder.getI64ArrayAttr({slot.stage, slot.order}));
}

void mlir::fagpu::removeSlot(Operation *op) {
  op->removeAttr(FAGPUDialect::slotAttrName);
}

bool mlir::fagpu::isKernel(func::FuncOp function) {
  return function->hasAttr(FAGPUDialect::kernelAttrName);
}

int64_t mlir::fagpu::getClusterSize(func::FuncOp kernel) {
  auto size = kernel->getAttrOfType<IntegerAttr>(FAGPUDialect::clusterAttrName);
  return size ? size.getInt() : 1;
}

LogicalResult mlir::fagpu::verifyInRole(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (!function || !isKernel(function) || op->getParentOfType<RoleOp>())
    return success();
  return op->emitOpError() << "stands in the kernel @" << function.getSymName()
                           << " outside of its roles, expected it in a "
                              "'fagpu.role', whose warps run it";
}

LogicalResult mlir::fagpu::verifyOrderOfAdds(Operation *op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  if (!kernel || !kernel->hasAttr(FAGPUDialect::deterministicAttrName))
    return success();
  return op->emitOpError()
         << "adds to memory in an order that a run decides, but @"
         << kernel.getSymName() << " is '"
         << FAGPUDialect::deterministicAttrName
         << "'; expected a plain store of what one group has summed up";
}

LaunchOp mlir::fagpu::findLaunch(func::FuncOp function) {
  LaunchOp found;
  function.walk([&](LaunchOp launch) {
    found = launch;
    return WalkResult::interrupt();
  });
  return found;
}

SmallVector<LaunchOp> mlir::fagpu::findLaunches(func::FuncOp function) {
  SmallVector<LaunchOp> launches;
  function.walk([&](LaunchOp launch) { launches.push_back(launch); });
  return launches;
}

bool mlir::fagpu::hasLayouts(RoleOp role) {
  WalkResult complete = role->walk([](Operation *op) {
    return hasLayouts(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !complete.wasInterrupted();
}

std::string mlir::fagpu::describePlace(Operation *op) {
  Location location = op->getLoc();
  while (auto call = dyn_cast<CallSiteLoc>(location))
    location = call.getCallee();
  if (auto place = location->findInstanceOf<FileLineColLoc>())
    return "line " + std::to_string(place.getLine());
  return "an unknown line";
}

static LogicalResult verifySlot(Operation *op, Attribute value) {
  auto slot = dyn_cast<ArrayAttr>(value);
  if (!slot || slot.size() != 2 ||
      !llvm::all_of(slot, llvm::IsaPred<IntegerAttr>))
    return op->emitOpError() << "'" << FAGPUDialect::slotAttrName << "' is "
                             << value << ", expected [stage, order]";
  return success();
}

static LogicalResult verifyKernel(Operation *op, Attribute value) {
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError()
           << "'" << FAGPUDialect::kernelAttrName << "' is for functions only";
  auto chip = dyn_cast<StringAttr>(value);
  if (!chip || !fa::lookupGPUTarget(chip.getValue()))
    return op->emitOpError()
           << "'" << FAGPUDialect::kernelAttrName << "' is " << value
           << ", expected one of " << fa::listGPUTargets();
  return success();
}

static LogicalResult verifyDeterministic(Operation *op, Attribute value) {
  if (isa<FunctionOpInterface>(op) && isa<UnitAttr>(value) &&
      op->hasAttr(FAGPUDialect::kernelAttrName))
    return success();
  return op->emitOpError() << "'" << FAGPUDialect::deterministicAttrName
                           << "' is " << value
                           << ", expected it without a value on a kernel";
}

static LogicalResult verifyPinned(Operation *op, Attribute value) {
  if (!isa<UnitAttr>(value))
    return op->emitOpError() << "'" << FAGPUDialect::pinnedAttrName << "' is "
                             << value << ", expected no value";
  if (llvm::none_of(op->getOperandTypes(), isBlockType))
    return op->emitOpError()
           << "has '" << FAGPUDialect::pinnedAttrName
           << "', but no operand that is a block value; expected it on an "
              "operation that computes with one";
  return success();
}

/// Clusters of more than 8 blocks are not portable (PTX ISA, "Cluster of
/// Cooperative Thread Arrays"), and rows are shared out evenly.
static LogicalResult verifyCluster(Operation *op, Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  constexpr int64_t mostBlocks = 8;
  auto chip = op->getAttrOfType<StringAttr>(FAGPUDialect::kernelAttrName);
  const fa::GPUTarget *target =
      chip ? fa::lookupGPUTarget(chip.getValue()) : nullptr;
  if (!isa<FunctionOpInterface>(op) || !target)
    return op->emitOpError() << "has '" << FAGPUDialect::clusterAttrName
                             << "', expected it on a kernel";
  if (!number || number.getInt() < 1 || number.getInt() > mostBlocks ||
      !llvm::isPowerOf2_64(number.getInt()))
    return op->emitOpError() << "'" << FAGPUDialect::clusterAttrName << "' is "
                             << value << ", expected 1, 2, 4 or 8";
  if (number.getInt() == 1 || target->hasTMA)
    return success();
  return op->emitOpError() << "'" << FAGPUDialect::clusterAttrName << "' is "
                           << value << ", but " << target->chip
                           << " has no clusters, expected 1";
}

/// Threads that copy fill with zeros only.
static LogicalResult verifyNaN(Operation *op, Attribute value) {
  if (!isa<UnitAttr>(value))
    return op->emitOpError()
           << "'" << nanAttrName << "' is " << value << ", expected no value";
  if (auto put = dyn_cast<PutOp>(op)) {
    auto channel = put.getChannel().getDefiningOp<ChannelOp>();
    if (channel &&
        !llvm::is_contained({Engine::tma, Engine::pages}, channel.getEngine()))
      return op->emitOpError()
             << "has '" << nanAttrName << "' and a channel of "
             << stringifyEngine(channel.getEngine())
             << ", expected tma or pages, which alone fill with NaN";
  } else if (!isa<FetchOp>(op)) {
    return op->emitOpError() << "has '" << nanAttrName
                             << "', expected it on a fagpu.put or fagpu.fetch";
  }
  auto memory = cast<MemRefType>(isa<PutOp>(op)
                                     ? cast<PutOp>(op).getSource().getType()
                                     : cast<FetchOp>(op).getSource().getType());
  if (isa<FloatType>(memory.getElementType()))
    return success();
  return op->emitOpError() << "has '" << nanAttrName << "' and elements of "
                           << memory.getElementType()
                           << ", which have no NaN; expected floats";
}

static LogicalResult verifyOwned(Operation *op, Attribute value) {
  if (isa<ScatterAddOp>(op) && isa<UnitAttr>(value))
    return success();
  return op->emitOpError() << "'" << ownedAttrName << "' is " << value
                           << ", expected it without a value on a "
                              "fagpu.scatter_add";
}

static LogicalResult verifyIsTransposed(Operation *op, Attribute value) {
  if (isa<FetchOp, LoadOp>(op) && isa<UnitAttr>(value))
    return success();
  return op->emitOpError() << "'" << transposedAttrName << "' is " << value
                           << ", expected it without a value on a fagpu.fetch "
                              "or fagpu.load";
}

/// A word of shared memory.
static LogicalResult verifyToldAt(Operation *op, Attribute value) {
  constexpr int64_t wordBytes = 4;
  auto at = dyn_cast<IntegerAttr>(value);
  if (isa<TicketOp>(op) && at && at.getType().isSignlessInteger(32) &&
      at.getInt() >= 0 && at.getInt() % wordBytes == 0)
    return success();
  return op->emitOpError() << "'" << toldAtAttrName << "' is " << value
                           << ", expected the i32 of a word in shared memory, "
                              "a multiple of "
                           << wordBytes << " bytes, on a fagpu.ticket";
}

static LogicalResult verifyRunByLanes(Operation *op, Attribute value) {
  auto role = dyn_cast<RoleOp>(op);
  if (role && role.getElect() && isa<UnitAttr>(value))
    return success();
  return op->emitOpError() << "'" << runByLanesAttrName << "' is " << value
                           << ", expected it without a value on a fagpu.role "
                              "of one thread (elect)";
}

static LogicalResult verifySharers(Operation *op, Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  if (isa<arith::DivFOp>(op) && number &&
      number.getType().isSignlessInteger(64) && number.getInt() > 0)
    return success();
  return op->emitOpError() << "'" << FAGPUDialect::sharersAttrName << "' is "
                           << value
                           << ", expected an i64 of 1 or more on an arith.divf";
}

static LogicalResult verifyInterleaveRows(Operation *op, Attribute value) {
  StringRef name = FAGPUDialect::interleaveRowsAttrName;
  if (!isa<UnitAttr>(value))
    return op->emitOpError()
           << "'" << name << "' is " << value << ", expected no value";
  if (op->hasAttr(FAGPUDialect::sharersAttrName))
    return success();
  return op->emitOpError() << "has '" << name << "', expected '"
                           << FAGPUDialect::sharersAttrName << "' beside it";
}

LogicalResult FAGPUDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == slotAttrName)
    return verifySlot(op, attribute.getValue());
  if (name == nanAttrName)
    return verifyNaN(op, attribute.getValue());
  if (name == ownedAttrName)
    return verifyOwned(op, attribute.getValue());
  if (name == transposedAttrName)
    return verifyIsTransposed(op, attribute.getValue());
  if (name == toldAtAttrName)
    return verifyToldAt(op, attribute.getValue());
  if (name == runByLanesAttrName)
    return verifyRunByLanes(op, attribute.getValue());
  if (name == pinnedAttrName)
    return verifyPinned(op, attribute.getValue());
  if (name == deterministicAttrName)
    return verifyDeterministic(op, attribute.getValue());
  if (name == kernelAttrName)
    return verifyKernel(op, attribute.getValue());
  if (name == sharersAttrName)
    return verifySharers(op, attribute.getValue());
  if (name == interleaveRowsAttrName)
    return verifyInterleaveRows(op, attribute.getValue());
  if (name == clusterAttrName)
    return verifyCluster(op, attribute.getValue());
  if (name == blocksPerSMAttrName || name == sharedMemoryAttrName) {
    auto number = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!number || number.getInt() < 1)
      return op->emitOpError() << "'" << name << "' is " << attribute.getValue()
                               << ", expected a positive integer";
  }
  return success();
}
