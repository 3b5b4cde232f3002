//===- OutlineKernels.cpp - Parallel loops over tiles to kernels ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

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
        symbols(symbols), chip(chip), warps(warps), loc(loop.getLoc()),
        builder(loop) {}

  LogicalResult run();

private:
  void hoistSizes();
  LogicalResult collectArguments();
  void passArgument(Value value);
  SmallVector<Value> countTiles();
  func::FuncOp makeKernel();
  SmallVector<Value> decodeTile(ArrayRef<Value> counts);
  Value inKernel(Value value);
  void launch(func::FuncOp kernel, ArrayRef<Value> counts);

  scf::ForallOp loop;
  func::FuncOp host;
  SymbolTable &symbols;
  StringRef chip;
  int64_t warps;
  Location loc;
  OpBuilder builder;
  /// What the kernel takes, as the host has it; i32 for an index.
  SmallVector<Value> captured, passed;
  IRMapping mapping;
};
} // namespace

/// Sizes of memory from outside are computed on the host.
void Outliner::hoistSizes() {
  SmallVector<memref::DimOp> sizes;
  loop.walk([&](memref::DimOp dim) {
    if (dim.getConstantIndex() &&
        !loop.getRegion().isAncestor(dim.getSource().getParentRegion()))
      sizes.push_back(dim);
  });
  for (memref::DimOp dim : sizes) {
    builder.setInsertionPoint(loop);
    dim.replaceAllUsesWith(memref::DimOp::create(builder, loc, dim.getSource(),
                                                 *dim.getConstantIndex())
                               .getResult());
    dim.erase();
  }
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
    if (isa<MemRefType>(value.getType()) && source)
      return source->emitOpError()
             << "makes memory for a kernel, expected an argument of '"
             << host.getName() << "'";
    passArgument(value);
  }
  return success();
}

void Outliner::passArgument(Value value) {
  captured.push_back(value);
  if (value.getType().isIndex())
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value);
  passed.push_back(value);
}

/// Tiles along each dimension, index.
SmallVector<Value> Outliner::countTiles() {
  SmallVector<Value> counts;
  for (auto [lower, upper, step] :
       llvm::zip_equal(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                       loop.getMixedStep())) {
    Value low = getValueOrCreateConstantIndexOp(builder, loc, lower);
    Value high = getValueOrCreateConstantIndexOp(builder, loc, upper);
    Value by = getValueOrCreateConstantIndexOp(builder, loc, step);
    Value extent = builder.createOrFold<arith::SubIOp>(loc, high, low);
    counts.push_back(builder.createOrFold<arith::CeilDivUIOp>(loc, extent, by));
  }
  return counts;
}

func::FuncOp Outliner::makeKernel() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(host);
  auto type =
      builder.getFunctionType(TypeRange(ValueRange(passed)), TypeRange());
  auto kernel = func::FuncOp::create(builder, loc,
                                     (host.getName() + "_kernel").str(), type);
  kernel->setAttr(fagpu::FAGPUDialect::kernelAttrName,
                  builder.getStringAttr(chip));
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

/// The loop's indices, from the number of the block.
SmallVector<Value> Outliner::decodeTile(ArrayRef<Value> counts) {
  Value rest = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  SmallVector<Value> numbers(counts.size());
  for (size_t dim = counts.size(); dim-- > 1;) {
    Value count = inKernel(counts[dim]);
    numbers[dim] = arith::RemUIOp::create(builder, loc, rest, count);
    rest = arith::DivUIOp::create(builder, loc, rest, count);
  }
  numbers.front() = rest;
  // The last dimension from its end.
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value end = arith::SubIOp::create(builder, loc, inKernel(counts.back()), one);
  numbers.back() = arith::SubIOp::create(builder, loc, end, numbers.back());
  SmallVector<Value> indices;
  auto getValue = [&](OpFoldResult bound) -> Value {
    if (auto value = dyn_cast<Value>(bound))
      return inKernel(value);
    return getValueOrCreateConstantIndexOp(builder, loc, bound);
  };
  for (auto [number, lower, step] : llvm::zip_equal(
           numbers, loop.getMixedLowerBound(), loop.getMixedStep())) {
    Value scaled =
        builder.createOrFold<arith::MulIOp>(loc, number, getValue(step));
    indices.push_back(
        builder.createOrFold<arith::AddIOp>(loc, scaled, getValue(lower)));
  }
  return indices;
}

void Outliner::launch(func::FuncOp kernel, ArrayRef<Value> counts) {
  builder.setInsertionPoint(loop);
  Value blocks = counts.front();
  for (Value count : counts.drop_front())
    blocks = builder.createOrFold<arith::MulIOp>(loc, blocks, count);
  fagpu::LaunchOp::create(builder, loc, kernel.getName(), blocks, passed);
  loop.erase();
}

LogicalResult Outliner::run() {
  hoistSizes();
  builder.setInsertionPoint(loop);
  SmallVector<Value> counts = countTiles();
  if (failed(collectArguments()))
    return failure();
  auto needs = [&](Value value) {
    if (!value.getDefiningOp<arith::ConstantOp>() &&
        !llvm::is_contained(captured, value))
      passArgument(value);
  };
  // The first count is only needed for the grid.
  llvm::for_each(ArrayRef(counts).drop_front(), needs);
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
    mapping.map(value, inside);
  }
  SmallVector<Value> indices = decodeTile(counts);
  auto role = fagpu::RoleOp::create(
      builder, loc, builder.getStringAttr("compute"),
      builder.getI32IntegerAttr(1), builder.getI32IntegerAttr(warps),
      IntegerAttr(), UnitAttr(), IntegerAttr());
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
  launch(kernel, counts);
  return success();
}

/// A problem of one tile has no loop: all of the function becomes one
/// iteration.
static void wrapSingleTile(func::FuncOp function) {
  Block &body = function.getBody().front();
  if (body.getOps<KeyRangesOp>().empty())
    return;
  Operation *end = body.getTerminator();
  OpBuilder builder(end);
  Location loc = function.getLoc();
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  auto loop = scf::ForallOp::create(builder, loc, ArrayRef(zero), ArrayRef(one),
                                    ArrayRef(one), ValueRange(), std::nullopt);
  SmallVector<Operation *> moved;
  for (Operation &op : body)
    if (&op != loop && &op != end && !op.hasTrait<OpTrait::ConstantLike>())
      moved.push_back(&op);
  for (Operation *op : moved)
    op->moveBefore(loop.getBody()->getTerminator());
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
      wrapSingleTile(function);
      for (auto loop : llvm::to_vector(function.getOps<scf::ForallOp>()))
        if (failed(Outliner(loop, symbols, chip, warps).run()))
          return signalPassFailure();
    }
  }
};
} // namespace
