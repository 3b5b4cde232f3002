//===- OutlineKernels.cpp - Parallel loops over tiles to kernels ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each scf.forall over tiles becomes a kernel with one role, and a launch
// with one block a tile. Values of the host become arguments; the loop's
// indices are decoded from the block number. Read `Outliner::run`, whose
// steps stand above it in order.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"
#include "EmptyKernels.h"
#include "HostLoops.h"
#include "IndexRanges.h"
#include "IndexWidths.h"
#include "KernelKind.h"
#include "SummarizeMask.h"
#include "TileBodies.h"
#include "TileNumbers.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Dialect/FAGPU/IR/WorkList.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAOUTLINEKERNELSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
class Outliner {
public:
  Outliner(scf::ForallOp loop, SymbolTable &symbols, StringRef chip,
           int64_t warps)
      : loop(loop), host(loop->getParentOfType<func::FuncOp>()),
        symbols(symbols), chip(chip), kind{warps}, loc(loop.getLoc()),
        builder(loop) {}

  LogicalResult run();

private:
  void chooseCluster();
  LogicalResult checkView(Value memory);
  LogicalResult collectArguments();
  void passArgument(Value value, bool isCount = false);
  LogicalResult countTiles();
  func::FuncOp makeKernel();
  fagpu::RoleOp makeRole();
  SmallVector<Value> decodeTile();
  bool isPassed(Value count);
  Value inKernel(Value value);
  bool isDependent();
  void launch(func::FuncOp kernel);

  scf::ForallOp loop;
  func::FuncOp host;
  SymbolTable &symbols;
  StringRef chip;
  KernelKind kind;
  /// What lists the tiles of the loop; null for most.
  Value tileList;
  Location loc;
  OpBuilder builder;
  TileCounts grid;
  /// What scalars of the host lie between.
  IndexRanges ranges;
  /// What the kernel takes, as the host has it; i32 for an index that is
  /// short, i64 for any other.
  SmallVector<Value> captured, passed;
  IRMapping mapping;
};
} // namespace

/// Blocks of a cluster are consecutive query blocks: without a loop over those,
/// the last dimension is not theirs.
void Outliner::chooseCluster() {
  if (kind.part.cluster == 1)
    return;
  if (getConstantIntValue(loop.getMixedStep().back()) ==
      kind.config.getQueryBlock()) {
    grid.cluster = kind.part.cluster;
    return;
  }
  remark::missed(
      loc, remark::RemarkOpts::name("Cluster").category("fa-outline-kernels"))
      << llvm::formatv("no clusters of {0} blocks: each sequence is one query "
                       "block, of up to {1} queries",
                       kind.part.cluster, kind.config.getQueryBlock())
             .str();
}

/// Memory that a kernel is given is the caller's: an argument of the function,
/// or a view of one; or the device's.
LogicalResult Outliner::checkView(Value memory) {
  while (Operation *source = memory.getDefiningOp()) {
    if (isa<fagpu::WorkspaceOp>(source))
      return success();
    if (isa<memref::AllocOp>(source))
      if (Operation *user = findHostUser(memory))
        return user->emitOpError()
               << "is no kernel, but shares memory with one of '"
               << host.getName() << "', expected it in a function of its own";
    if (!isa<memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::TransposeOp, memref::CastOp>(source))
      return source->emitOpError()
             << "makes memory for a kernel, expected an argument of '"
             << host.getName() << "' or a view of one";
    memory = source->getOperand(0);
  }
  return success();
}

LogicalResult Outliner::collectArguments() {
  if (loop.getNumResults())
    return loop.emitOpError() << "yields " << loop.getNumResults()
                              << " values, expected none in a loop that is to "
                                 "become a kernel";
  SetVector<Value> outside;
  getUsedValuesDefinedAbove(loop.getRegion(), outside);
  // The function's own arguments first, in their order.
  SmallVector<Value> ordered;
  for (BlockArgument argument : host.getArguments())
    if (outside.remove(argument))
      ordered.push_back(argument);
  llvm::append_range(ordered, outside);
  for (Value value : ordered) {
    Operation *source = value.getDefiningOp();
    if (source && (source->hasTrait<OpTrait::ConstantLike>() ||
                   isa<memref::GetGlobalOp>(source)))
      continue;
    if (isa<MemRefType>(value.getType()) && failed(checkView(value)))
      return failure();
    passArgument(value);
  }
  return success();
}

void Outliner::passArgument(Value value, bool isCount) {
  captured.push_back(value);
  if (value.getType().isIndex()) {
    constexpr int64_t limit = IndexWidths::shortLimit;
    // What is computed from sizes, or given, need not be short. A number of
    // tiles is: a launcher refuses a greater one.
    bool isShort = isCount || ranges.isWithin(value, -limit, limit);
    Type type = isShort ? builder.getI32Type() : builder.getI64Type();
    value = arith::IndexCastOp::create(builder, loc, type, value);
  }
  passed.push_back(value);
}

/// The list whose first word bounds a loop, as `min` of it and of what the host
/// knows, which is then the bound.
static Value takeTileList(OpFoldResult &bound) {
  auto least = dyn_cast_if_present<arith::MinSIOp>(
      dyn_cast<Value>(bound) ? cast<Value>(bound).getDefiningOp() : nullptr);
  auto cast = least ? least.getLhs().getDefiningOp<arith::IndexCastOp>()
                    : arith::IndexCastOp();
  auto load =
      cast ? cast.getIn().getDefiningOp<memref::LoadOp>() : memref::LoadOp();
  if (!load || !load.getMemRef().getDefiningOp<fagpu::WorkspaceOp>())
    return {};
  bound = least.getRhs();
  return load.getMemRef();
}

/// How blocks take the tiles of a list.
static StringRef getListAttrName(Value list) {
  Operation *memory = list.getDefiningOp();
  return memory->hasAttr(fagpu::workListAttrName)
             ? StringRef(fagpu::workListAttrName)
             : StringRef(tileListAttrName);
}

LogicalResult Outliner::countTiles() {
  for (auto [lower, upper, step] :
       llvm::zip_equal(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                       loop.getMixedStep())) {
    if (Value list = takeTileList(upper))
      tileList = list;
    Value low = getValueOrCreateConstantIndexOp(builder, loc, lower);
    Value high = getValueOrCreateConstantIndexOp(builder, loc, upper);
    Value by = getValueOrCreateConstantIndexOp(builder, loc, step);
    Value extent = builder.createOrFold<arith::SubIOp>(loc, high, low);
    grid.counts.push_back(
        builder.createOrFold<arith::CeilDivUIOp>(loc, extent, by));
  }
  // A list is in the order in which its tiles are to come.
  grid.isAscending = kind.isAscending || kind.isPlan || tileList;
  if (kind.part.tileOrder != TileOrder::longest_first || !kind.step ||
      grid.counts.size() == 1)
    return success();
  Value sequences = grid.counts.front();
  for (Value count : ArrayRef(grid.counts).drop_front().drop_back())
    sequences = multiplyShort(builder, loc, sequences, count);
  grid.together =
      countTogether(builder, loop, kind.step, sequences, grid.counts.back());
  if (grid.together)
    return success();
  return kind.step->emitOpError()
         << "has keys that are no argument of '" << host.getName()
         << "', expected them for tile_order = "
            "longest_first; in_order needs none";
}

func::FuncOp Outliner::makeKernel() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(host);
  auto type =
      builder.getFunctionType(TypeRange(ValueRange(passed)), TypeRange());
  auto kernel = func::FuncOp::create(
      builder, loc, (host.getName() + kind.suffix).str(), type);
  kernel->setAttr(fagpu::FAGPUDialect::kernelAttrName,
                  builder.getStringAttr(chip));
  if (kind.config)
    kernel->setAttr(FADialect::configAttrName, kind.config);
  if (kind.isOrdered)
    kernel->setAttr(fagpu::FAGPUDialect::deterministicAttrName,
                    builder.getUnitAttr());
  if (kind.part.blocksPerSM > 1)
    kernel->setAttr(fagpu::FAGPUDialect::blocksPerSMAttrName,
                    builder.getI64IntegerAttr(kind.part.blocksPerSM));
  if (grid.cluster > 1)
    kernel->setAttr(fagpu::FAGPUDialect::clusterAttrName,
                    builder.getI64IntegerAttr(grid.cluster));
  kernel.addEntryBlock();
  symbols.insert(kernel);
  return kernel;
}

/// The kernel's form of a host value: an argument, or a copy of a constant.
Value Outliner::inKernel(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *copy = builder.clone(*value.getDefiningOp());
  mapping.map(value, copy->getResult(0));
  return copy->getResult(0);
}

/// Where tiles come in order, the first count is only needed for the grid.
bool Outliner::isPassed(Value count) {
  return grid.together || grid.counts.size() == 1 ||
         count != grid.counts.front() ||
         llvm::is_contained(ArrayRef(grid.counts).drop_front(), count);
}

/// The loop's indices, from the number of the block.
SmallVector<Value> Outliner::decodeTile() {
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  TileCounts inside;
  for (Value count : grid.counts)
    inside.counts.push_back(isPassed(count) ? inKernel(count) : Value());
  if (grid.together)
    inside.together = inKernel(grid.together);
  inside.cluster = grid.cluster;
  inside.isAscending = grid.isAscending;
  SmallVector<Value> numbers = decodeTileNumber(builder, loc, block, inside);
  SmallVector<Value> indices;
  auto getValue = [&](OpFoldResult bound) -> Value {
    if (auto value = dyn_cast<Value>(bound))
      return inKernel(value);
    return getValueOrCreateConstantIndexOp(builder, loc, bound);
  };
  for (auto [number, lower, step] : llvm::zip_equal(
           numbers, loop.getMixedLowerBound(), loop.getMixedStep())) {
    Value scaled = multiplyShort(builder, loc, number, getValue(step));
    indices.push_back(
        builder.createOrFold<arith::AddIOp>(loc, scaled, getValue(lower)));
  }
  return indices;
}

/// The role that all of the body belongs to.
fagpu::RoleOp Outliner::makeRole() {
  return fagpu::RoleOp::create(
      builder, loc,
      builder.getStringAttr(kind.part.hasGroups() ? "math" : "compute"),
      builder.getI32IntegerAttr(kind.part.groups),
      builder.getI32IntegerAttr(kind.warps), IntegerAttr(), UnitAttr(),
      IntegerAttr());
}

/// A merge, and a plan, are so short that starting a kernel counts: blocks of
/// these start as those of the launch ahead end, and planned ones beside the
/// plan.
bool Outliner::isDependent() {
  return (kind.isMerge || kind.isPlan || tileList) && chip == "sm_90a";
}

void Outliner::launch(func::FuncOp kernel) {
  builder.setInsertionPoint(loop);
  SmallVector<Value> counts(grid.counts);
  counts.back() = countInClusters(builder, loc, counts.back(), grid.cluster);
  Value blocks = counts.front();
  for (Value count : ArrayRef(counts).drop_front())
    blocks = multiplyShort(builder, loc, blocks, count);
  auto launch = fagpu::LaunchOp::create(builder, loc, kernel.getName(), blocks,
                                        /*condition=*/Value(), passed);
  launch.setDependent(isDependent());
  SmallVector<Value> bounds(loop.getDynamicUpperBound());
  loop.erase();
  // The host reads no memory of the device.
  while (tileList && !bounds.empty()) {
    Operation *source = bounds.pop_back_val().getDefiningOp();
    if (!source || !isOpTriviallyDead(source))
      continue;
    llvm::append_range(bounds, source->getOperands());
    source->erase();
  }
}

LogicalResult Outliner::run() {
  if (failed(kind.read(loop)))
    return failure();
  chooseCluster();
  hoistSizes(loop);
  sinkReals(loop);
  builder.setInsertionPoint(loop);
  if (failed(countTiles()))
    return failure();
  ranges.setSizes(host);
  if (failed(collectArguments()))
    return failure();
  auto needs = [&](Value value, bool isCount = false) {
    if (!value.getDefiningOp<arith::ConstantOp>() &&
        !llvm::is_contained(captured, value))
      passArgument(value, isCount);
  };
  for (Value count : grid.counts)
    if (isPassed(count))
      needs(count, /*isCount=*/true);
  if (grid.together)
    needs(grid.together);
  for (OpFoldResult bound : llvm::concat<OpFoldResult>(
           loop.getMixedLowerBound(), loop.getMixedStep()))
    if (auto value = dyn_cast<Value>(bound))
      needs(value);

  func::FuncOp kernel = makeKernel();
  builder.setInsertionPointToStart(&kernel.getBody().front());
  for (auto [value, argument] :
       llvm::zip_equal(captured, kernel.getArguments())) {
    Value inside = argument;
    if (value.getType().isIndex())
      inside = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                          argument);
    else if (value.getType().isInteger())
      kernel.setArgAttr(argument.getArgNumber(), FADialect::capturedAttrName,
                        builder.getUnitAttr());
    mapping.map(value, inside);
    if (value == tileList)
      kernel.setArgAttr(argument.getArgNumber(), getListAttrName(tileList),
                        builder.getUnitAttr());
  }
  SmallVector<Value> indices = decodeTile();
  if (isDependent())
    fagpu::AwaitPreviousOp::create(builder, loc);
  if (kind.isPlan && chip == "sm_90a")
    fagpu::ReleaseDependentsOp::create(builder, loc);
  fagpu::RoleOp role = makeRole();
  func::ReturnOp::create(builder, loc);
  Block *body =
      builder.createBlock(&role.getBody(), {}, {builder.getI32Type()}, {loc});
  builder.setInsertionPointToStart(body);
  mapping.map(loop.getInductionVars(), indices);
  for (Operation &op : loop.getBody()->without_terminator()) {
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (!loop.getRegion().isAncestor(operand.getParentRegion()))
          inKernel(operand);
    });
    builder.clone(op, mapping);
  }
  launch(kernel);
  return success();
}

/// The blocks of a host function that tiles stand in: its own, and those of the
/// branches that choose between versions of an attention.
static void collectBlocks(Region &region, SmallVectorImpl<Block *> &blocks) {
  if (region.empty())
    return;
  blocks.push_back(&region.front());
  for (auto branch : region.front().getOps<scf::IfOp>())
    for (Region &inner : branch->getRegions())
      collectBlocks(inner, blocks);
}

namespace {
struct OutlineKernelsPass
    : public fa::impl::FAOutlineKernelsPassBase<OutlineKernelsPass> {
  using FAOutlineKernelsPassBase::FAOutlineKernelsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!lookupGPUTarget(chip)) {
      module.emitError() << "chip is '" << chip << "', expected one of "
                         << listGPUTargets();
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (function.isDeclaration() || fagpu::isKernel(function))
        continue;
      if (isOverNothing(function)) {
        launchNothing(function, chip, warps, symbols);
        continue;
      }
      allocateOnDevice(function);
      SmallVector<Block *> blocks;
      collectBlocks(function.getBody(), blocks);
      for (Block *block : blocks) {
        if (failed(wrapSingleTile(*block)))
          return signalPassFailure();
        for (auto loop : llvm::to_vector(block->getOps<scf::ForallOp>()))
          if (failed(Outliner(loop, symbols, chip, warps).run()))
            return signalPassFailure();
      }
    }
  }
};
} // namespace
