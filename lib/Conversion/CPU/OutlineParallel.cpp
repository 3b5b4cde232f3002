//===- OutlineParallel.cpp - Parallel loops to calls of the runtime -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The outermost scf.forall becomes a call of `fa_parallel_for` with a
// function of its body; values from outside go there in a struct, temporary
// buffers lie in one scratch area per thread. Read `LoopOutliner::outline`
// first, then `buildBody` and `buildCall`.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/CPU/Passes.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAOUTLINEPARALLEL
#include "fa/Conversion/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static constexpr StringLiteral parallelForName = "fa_parallel_for";
static constexpr int64_t scratchAlignment = 64;

namespace {
/// Turns one parallel loop into a function of its body and a call.
class LoopOutliner {
public:
  LoopOutliner(ModuleOp module, scf::ForallOp loop);
  LogicalResult outline();

private:
  void collectCaptures();
  LogicalResult checkCaptures();
  LLVM::LLVMStructType getContextType();
  int64_t placeScratch();
  void buildBody(func::FuncOp function);
  void mapLoopIndices(Value linear, IRMapping &inside);
  Value countIterations();
  void buildCall(func::FuncOp function, int64_t scratchBytes);

  ModuleOp module;
  scf::ForallOp loop;
  OpBuilder builder;
  Location loc;
  LLVMTypeConverter converter;
  /// Values from outside that the body uses; constants are copied instead.
  SmallVector<Value> captures;
  SmallVector<Operation *> constants;
  /// Memory of the body and where it lies in the scratch of a thread.
  SmallVector<std::pair<Operation *, int64_t>> buffers;
};
} // namespace

LoopOutliner::LoopOutliner(ModuleOp module, scf::ForallOp loop)
    : module(module), loop(loop), builder(loop), loc(loop.getLoc()),
      converter(module.getContext()) {}

void LoopOutliner::collectCaptures() {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  // Bounds and steps turn a number into the loop's indices.
  for (ArrayRef<OpFoldResult> list :
       {loop.getMixedLowerBound(), loop.getMixedUpperBound(),
        loop.getMixedStep()})
    for (OpFoldResult bound : list)
      if (auto value = dyn_cast<Value>(bound))
        used.insert(value);
  for (Value value : used) {
    Operation *source = value.getDefiningOp();
    if (source && source->hasTrait<OpTrait::ConstantLike>())
      constants.push_back(source);
    else
      captures.push_back(value);
  }
}

/// The context of a call holds what LLVM has a type for.
LogicalResult LoopOutliner::checkCaptures() {
  for (Value capture : captures)
    if (Type type = converter.convertType(capture.getType());
        !type || !LLVM::isCompatibleType(type))
      return loop.emitError("parallel loop reads a value of type ")
             << capture.getType()
             << ", expected numbers and memory: bufferize before outlining";
  return success();
}

LLVM::LLVMStructType LoopOutliner::getContextType() {
  SmallVector<Type> types;
  for (Value capture : captures)
    types.push_back(converter.convertType(capture.getType()));
  return LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
}

/// Whether something frees `memory` by way of another value: the result of a
/// branch, a view.
static bool isFreedAsAnother(Value memory) {
  llvm::SetVector<Value> names;
  names.insert(memory);
  // Values come behind those that they name again.
  for (size_t i = 0; i < names.size(); ++i)
    for (Operation *user : names[i].getUsers()) {
      if (i != 0 && isa<memref::DeallocOp>(user))
        return true;
      bool ends = user->hasTrait<OpTrait::IsTerminator>();
      Operation *handing = ends ? user->getParentOp() : user;
      if (ends && isa<func::FuncOp>(handing))
        return true;
      for (Value result : handing->getResults())
        if (isa<MemRefType>(result.getType()))
          names.insert(result);
    }
  return false;
}

/// Gives every buffer of static size in the body its place in the scratch and
/// returns the bytes of all of them.
int64_t LoopOutliner::placeScratch() {
  int64_t bytes = 0;
  loop.walk([&](Operation *op) {
    if (!isa<memref::AllocOp, memref::AllocaOp>(op))
      return;
    auto type = cast<MemRefType>(op->getResult(0).getType());
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
        !type.getElementType().isIntOrFloat() ||
        isFreedAsAnother(op->getResult(0)))
      return;
    buffers.push_back({op, bytes});
    // An element of 24 bits lies in 4 bytes.
    int64_t size =
        type.getNumElements() *
        llvm::PowerOf2Ceil(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    bytes += llvm::alignTo(size, scratchAlignment);
  });
  return bytes;
}

/// Fills `function` (context, index, scratch) with the body of the loop.
void LoopOutliner::buildBody(func::FuncOp function) {
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  Value context = entry->getArgument(0), scratch = entry->getArgument(2);

  IRMapping inside;
  for (Operation *constant : constants)
    builder.clone(*constant, inside);
  LLVM::LLVMStructType contextType = getContextType();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  for (auto [index, capture] : llvm::enumerate(captures)) {
    SmallVector<LLVM::GEPArg> place{0, static_cast<int32_t>(index)};
    Value slot =
        LLVM::GEPOp::create(builder, loc, pointer, contextType, context, place);
    Value value =
        LLVM::LoadOp::create(builder, loc, contextType.getBody()[index], slot);
    inside.map(capture, UnrealizedConversionCastOp::create(
                            builder, loc, capture.getType(), value)
                            .getResult(0));
  }
  for (auto [op, offset] : buffers) {
    auto type = cast<MemRefType>(op->getResult(0).getType());
    Value start = LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), scratch,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
    Value descriptor = mlir::MemRefDescriptor::fromStaticShape(
        builder, loc, converter, type, start);
    inside.map(op->getResult(0), UnrealizedConversionCastOp::create(
                                     builder, loc, type, descriptor)
                                     .getResult(0));
  }
  mapLoopIndices(entry->getArgument(1), inside);

  Block *body = loop.getBody();
  loop.getTerminator()->erase();
  entry->getOperations().splice(entry->end(), body->getOperations());
  for (auto [outer, inner] : inside.getValueMap())
    replaceAllUsesInRegionWith(outer, inner, function.getBody());
  for (auto [op, offset] : buffers)
    op->erase();
  builder.setInsertionPointToEnd(entry);
  func::ReturnOp::create(builder, loc);
}

/// Maps the loop's indices to what iteration `linear` of all stands for; the
/// last dimension runs fastest.
void LoopOutliner::mapLoopIndices(Value linear, IRMapping &inside) {
  Value rest =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), linear);
  auto value = [&](OpFoldResult fold) {
    if (auto outer = dyn_cast<Value>(fold))
      return inside.lookup(outer);
    return getValueOrCreateConstantIndexOp(builder, loc, fold);
  };
  SmallVector<OpFoldResult> lower = loop.getMixedLowerBound();
  SmallVector<OpFoldResult> upper = loop.getMixedUpperBound();
  SmallVector<OpFoldResult> step = loop.getMixedStep();
  for (int64_t dim = loop.getRank() - 1; dim >= 0; --dim) {
    Value first = value(lower[dim]), stride = value(step[dim]);
    Value ordinal = rest;
    if (dim) {
      Value length =
          arith::SubIOp::create(builder, loc, value(upper[dim]), first);
      Value count = arith::CeilDivSIOp::create(builder, loc, length, stride);
      ordinal = arith::RemUIOp::create(builder, loc, rest, count);
      rest = arith::DivUIOp::create(builder, loc, rest, count);
    }
    Value distance = arith::MulIOp::create(builder, loc, ordinal, stride);
    inside.map(
        loop.getInductionVar(dim),
        arith::AddIOp::create(builder, loc, first, distance).getResult());
  }
}

/// Iterations of all dimensions together, as i64.
Value LoopOutliner::countIterations() {
  Value total = arith::ConstantIndexOp::create(builder, loc, 1);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  auto value = [&](OpFoldResult fold) {
    return getValueOrCreateConstantIndexOp(builder, loc, fold);
  };
  for (auto [lower, upper, step] :
       llvm::zip(loop.getMixedLowerBound(), loop.getMixedUpperBound(),
                 loop.getMixedStep())) {
    Value length =
        arith::SubIOp::create(builder, loc, value(upper), value(lower));
    length = arith::MaxSIOp::create(builder, loc, length, zero);
    Value count = arith::CeilDivSIOp::create(builder, loc, length, value(step));
    total = arith::MulIOp::create(builder, loc, total, count);
  }
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), total);
}

static func::FuncOp getOrDeclareRuntime(ModuleOp module) {
  if (auto function = module.lookupSymbol<func::FuncOp>(parallelForName))
    return function;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type integer = builder.getI64Type();
  auto function = func::FuncOp::create(
      builder, module.getLoc(), parallelForName,
      builder.getFunctionType({pointer, pointer, integer, integer}, {}));
  function.setPrivate();
  return function;
}

/// Stores the captured values and calls the runtime with `function`.
void LoopOutliner::buildCall(func::FuncOp function, int64_t scratchBytes) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  LLVM::LLVMStructType contextType = getContextType();
  Value one = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), 1);
  Value context =
      LLVM::AllocaOp::create(builder, loc, pointer, contextType, one);
  for (auto [index, capture] : llvm::enumerate(captures)) {
    SmallVector<LLVM::GEPArg> place{0, static_cast<int32_t>(index)};
    Value slot =
        LLVM::GEPOp::create(builder, loc, pointer, contextType, context, place);
    Value value = UnrealizedConversionCastOp::create(
                      builder, loc, contextType.getBody()[index], capture)
                      .getResult(0);
    LLVM::StoreOp::create(builder, loc, value, slot);
  }
  Value address = func::ConstantOp::create(
      builder, loc, function.getFunctionType(), function.getSymName());
  address = UnrealizedConversionCastOp::create(builder, loc, pointer, address)
                .getResult(0);
  Value bytes = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                             scratchBytes);
  func::CallOp::create(builder, loc, getOrDeclareRuntime(module),
                       ValueRange{address, context, countIterations(), bytes});
}

LogicalResult LoopOutliner::outline() {
  collectCaptures();
  if (failed(checkCaptures()))
    return failure();
  auto parent = loop->getParentOfType<func::FuncOp>();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SymbolTable symbols(module);
  OpBuilder atParent(parent);
  auto function = func::FuncOp::create(
      atParent, loc, (parent.getSymName() + "_block").str(),
      builder.getFunctionType({pointer, builder.getI64Type(), pointer}, {}));
  function.setPrivate();
  symbols.insert(function);

  int64_t scratchBytes = placeScratch();
  for (const auto &[op, offset] : buffers)
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
  buildCall(function, scratchBytes);
  buildBody(function);
  loop.erase();
  return success();
}

// A problem of one block has no parallel loop: upstream folds a loop of one
// iteration. Its buffers of static size then lie on the stack, once for the
// function: in a loop each iteration would take more of the stack, and an
// allocation would never be freed. Memory of the program is left to it.
static void placeOnStack(RewriterBase &rewriter, func::FuncOp function) {
  SmallVector<Operation *> buffers;
  function.walk([&](Operation *op) {
    if (!isa<memref::AllocOp, memref::AllocaOp>(op) ||
        op->removeAttr(programMemoryName) ||
        !cast<MemRefType>(op->getResult(0).getType()).hasStaticShape())
      return;
    bool isFreed =
        llvm::any_of(op->getUsers(), llvm::IsaPred<memref::DeallocOp>) ||
        isFreedAsAnother(op->getResult(0));
    bool isInLoop = op->getParentOfType<scf::ForOp>() != nullptr;
    if (!isFreed && (isa<memref::AllocOp>(op) || isInLoop))
      buffers.push_back(op);
  });
  for (Operation *buffer : buffers) {
    rewriter.setInsertionPointToStart(&function.front());
    rewriter.replaceOpWithNewOp<memref::AllocaOp>(
        buffer, cast<MemRefType>(buffer->getResult(0).getType()), ValueRange(),
        rewriter.getI64IntegerAttr(scratchAlignment));
  }
}

namespace {
struct OutlineParallelPass
    : public fa::impl::FAOutlineParallelBase<OutlineParallelPass> {
  void runOnOperation() override {
    // Threads take the outermost loops; what is inside one runs in order.
    SmallVector<scf::ForallOp> outermost, nested;
    WalkResult result = getOperation()->walk([&](scf::ForallOp loop) {
      if (loop.getNumResults()) {
        loop.emitError("parallel loop returns ")
            << loop.getNumResults()
            << " tensors, expected none: bufferize before outlining";
        return WalkResult::interrupt();
      }
      (loop->getParentOfType<scf::ForallOp>() ? nested : outermost)
          .push_back(loop);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (scf::ForallOp loop : nested)
      if (failed(scf::forallToForLoop(rewriter, loop)))
        return signalPassFailure();
    for (scf::ForallOp loop : outermost)
      if (failed(LoopOutliner(getOperation(), loop).outline()))
        return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        placeOnStack(rewriter, function);
  }
};
} // namespace
