//===- ResultsToOutParameters.cpp - Functions on memrefs -----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The signature changes while the body is still on tensors: arguments become
// read-only memrefs, results are stored into new arguments. Computations are
// then made to write to where their result is stored, and one-shot
// bufferization turns the body into memrefs. Read
// `convertResultsToOutParameters`, near the end, first.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "ContiguousHeadDims.h"
#include "PlaceResults.h"
#include "PlaceTensors.h"
#include "fa/Dialect/FA/IR/FASequence.h"
#include "fa/Dialect/FA/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa/Dialect/FA/Transforms/DecomposeInterface.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FARESULTSTOOUTPARAMETERS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool hasTensor(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<TensorType>);
}

/// Whether attention on memory captures a table that is a tensor.
static bool capturesTensor(func::FuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa<AttentionOp, AttentionGradientOp, AppendOp,
                   SequenceErrorsOp>(op) &&
                       hasTensor(op->getOperandTypes())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult checkFunction(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError()
           << "has " << function.getBody().getBlocks().size()
           << " blocks, expected 1 to turn its results into out-parameters";
  FunctionType type = function.getFunctionType();
  for (Type each :
       llvm::concat<const Type>(type.getInputs(), type.getResults()))
    if (isa<UnrankedTensorType>(each))
      return function.emitOpError() << "has " << each
                                    << " in its signature, expected ranked "
                                       "tensors";
  WalkResult result = function.walk([&](Operation *op) {
    for (Type each : op->getResultTypes())
      if (isa<UnrankedTensorType>(each)) {
        op->emitOpError() << "makes " << each << ", expected ranked tensors";
        return WalkResult::interrupt();
      }
    if (isa<scf::WhileOp>(op) && hasTensor(op->getResultTypes())) {
      op->emitOpError() << "carries tensors, expected scf.for";
      return WalkResult::interrupt();
    }
    auto call = dyn_cast<func::CallOp>(op);
    if (!call || (!hasTensor(call.getOperandTypes()) &&
                  !hasTensor(call.getResultTypes())))
      return WalkResult::advance();
    call.emitOpError() << "passes tensors to '" << call.getCallee()
                       << "', expected no calls on tensors: inline it first";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

// Free offset and strides, but for the dimension `contiguous`, whose is 1.
static MemRefType getStridedType(RankedTensorType type, int64_t contiguous) {
  SmallVector<int64_t> strides(type.getRank(), ShapedType::kDynamic);
  if (type.getRank() == 0)
    return MemRefType::get({}, type.getElementType());
  strides[contiguous] = 1;
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides));
}

namespace {
/// An operand of four dimensions, with their order.
struct Tile {
  Value value;
  DimsAttr order;
};
} // namespace

/// What an attention or its gradient reads and writes.
static SmallVector<Tile> getTiles(Operation *user) {
  if (auto op = dyn_cast<AttentionOp>(user))
    return {{op.getQuery(), op.getQueryOrder()},
            {op.getKey(), op.getKeyOrder()},
            {op.getValue(), op.getValueOrder()},
            {op.getOutput(), op.getOutputOrder()}};
  if (auto op = dyn_cast<AppendOp>(user))
    return {{op.getKey(), op.getKeyOrder()},
            {op.getValue(), op.getValueOrder()},
            {op.getKeyCache(), op.getKeyCacheOrder()},
            {op.getValueCache(), op.getValueCacheOrder()}};
  if (auto op = dyn_cast<SequenceErrorsOp>(user))
    return {{op.getQuery(), op.getQueryOrder()},
            {op.getKey(), op.getKeyOrder()},
            {op.getValue(), op.getValueOrder()}};
  if (auto op = dyn_cast<AttentionGradientOp>(user))
    return {{op.getQuery(), op.getQueryOrder()},
            {op.getKey(), op.getKeyOrder()},
            {op.getValue(), op.getValueOrder()},
            {op.getOutput(), op.getOutputOrder()},
            {op.getOutputGradient(), op.getOutputGradientOrder()},
            {op.getQueryGradient(), op.getQueryGradientOrder()},
            {op.getKeyGradient(), op.getKeyGradientOrder()},
            {op.getValueGradient(), op.getValueGradientOrder()}};
  return {};
}

// The head dim of what an attention reads, else the last dimension.
static int64_t getContiguousDim(BlockArgument argument) {
  for (Operation *user : argument.getUsers())
    for (const Tile &tile : getTiles(user))
      if (tile.value == argument)
        return tile.order.positionOf(DimKind::HeadDim);
  return cast<RankedTensorType>(argument.getType()).getRank() - 1;
}

// The head dim of what an attention returns, in a branch or a loop too, else
// the last dimension.
static int64_t getContiguousDim(Value result) {
  if (auto branch = result.getDefiningOp<scf::IfOp>())
    return getContiguousDim(branch.thenYield().getOperand(
        cast<OpResult>(result).getResultNumber()));
  if (auto loop = result.getDefiningOp<scf::ForOp>())
    return getContiguousDim(
        loop.getYieldedValues()[cast<OpResult>(result).getResultNumber()]);
  if (auto op = result.getDefiningOp();
      isa_and_present<AttentionLikeOpInterface, AppendOp>(op)) {
    auto style = cast<DestinationStyleOpInterface>(op);
    Value destination = style.getTiedOpOperand(cast<OpResult>(result))->get();
    SmallVector<Tile> tiles = getTiles(op);
    for (const Tile &tile : llvm::reverse(tiles))
      if (tile.value == destination)
        return tile.order.positionOf(DimKind::HeadDim);
  }
  return cast<RankedTensorType>(result.getType()).getRank() - 1;
}

static void convertArguments(RewriterBase &rewriter, func::FuncOp function) {
  Block &entry = function.front();
  rewriter.setInsertionPointToStart(&entry);
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    MemRefType memref = getStridedType(type, getContiguousDim(argument));
    auto toTensor = bufferization::ToTensorOp::create(
        rewriter, argument.getLoc(), type, argument, /*restrict=*/true);
    rewriter.replaceAllUsesExcept(argument, toTensor, toTensor);
    argument.setType(memref);
  }
  function.setType(FunctionType::get(function.getContext(),
                                     entry.getArgumentTypes(),
                                     function.getResultTypes()));
}

/// Stores the results that are tensors into new arguments; returns the stores.
static FailureOr<SmallVector<StoreOp>> convertResults(RewriterBase &rewriter,
                                                      func::FuncOp function) {
  auto returnOp = cast<func::ReturnOp>(function.front().getTerminator());
  llvm::BitVector stored(function.getNumResults());
  SmallVector<Value> remaining;
  SmallVector<StoreOp> stores;
  rewriter.setInsertionPoint(returnOp);
  for (auto [number, value] : llvm::enumerate(returnOp.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type) {
      remaining.push_back(value);
      continue;
    }
    stored.set(number);
    unsigned position = function.getNumArguments();
    if (failed(function.insertArgument(
            position, getStridedType(type, getContiguousDim(value)),
            function.getResultAttrDict(number), value.getLoc())))
      return failure();
    stores.push_back(StoreOp::create(rewriter, value.getLoc(), Type(), value,
                                     function.getArgument(position),
                                     /*restrict=*/true, /*writable=*/true));
  }
  rewriter.modifyOpInPlace(
      returnOp, [&] { returnOp.getOperandsMutable().assign(remaining); });
  if (failed(function.eraseResults(stored)))
    return failure();
  return stores;
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

// A destination that is an argument cannot be written. It becomes an empty
// tensor, where it is read too after a copy, whose place an out-parameter may
// take.
static void freeDestination(RewriterBase &rewriter, Operation *op,
                            OpOperand &destination, bool isRead) {
  Value init = destination.get();
  auto type = dyn_cast<RankedTensorType>(init.getType());
  auto read = init.getDefiningOp<bufferization::ToTensorOp>();
  if (!type || !read || read.getWritable())
    return;
  rewriter.setInsertionPoint(op);
  Location loc = op->getLoc();
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, init),
      type.getElementType());
  if (empty.getType() != type)
    empty = tensor::CastOp::create(rewriter, loc, type, empty);
  if (isRead)
    empty = linalg::CopyOp::create(rewriter, loc, init, empty).getResult(0);
  rewriter.modifyOpInPlace(op, [&] { destination.set(empty); });
}

static void freeDestinations(RewriterBase &rewriter, func::FuncOp function) {
  function.walk([&](Operation *op) {
    bool isRead = true;
    MutableArrayRef<OpOperand> destinations;
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      destinations = attention.getDpsInitsMutable();
      isRead = attention.getQueryLengths() || attention.getQueryStarts();
    } else if (auto gradient = dyn_cast<AttentionGradientOp>(op)) {
      destinations = gradient.getDpsInitsMutable();
      isRead = false;
    } else if (auto append = dyn_cast<AppendOp>(op)) {
      destinations = append.getDpsInitsMutable();
    } else if (auto check = dyn_cast<SequenceErrorsOp>(op)) {
      destinations = check.getDpsInitsMutable();
      isRead = false;
    } else if (auto combine = dyn_cast<CombineOp>(op)) {
      destinations = combine.getDpsInitsMutable();
      isRead = static_cast<bool>(combine.getQueryLengths());
    } else if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      destinations = fill.getOutputsMutable();
      isRead = false;
    } else if (auto loop = dyn_cast<scf::ForallOp>(op)) {
      destinations = loop.getOutputsMutable();
    }
    for (OpOperand &destination : destinations)
      freeDestination(rewriter, op, destination, isRead);
  });
}

/// A choice of one of two tensors, whose sizes need not be the same, becomes a
/// branch.
static void convertChoices(RewriterBase &rewriter, func::FuncOp function) {
  function.walk([&](arith::SelectOp op) {
    if (!isa<RankedTensorType>(op.getType()) ||
        !op.getCondition().getType().isInteger(1))
      return;
    rewriter.setInsertionPoint(op);
    auto yield = [](Value value) {
      return [value](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc, value);
      };
    };
    rewriter.replaceOp(op, scf::IfOp::create(rewriter, op.getLoc(),
                                             op.getCondition(),
                                             yield(op.getTrueValue()),
                                             yield(op.getFalseValue())));
  });
}

/// Arithmetic on whole tensors becomes structured, which has destinations.
static void convertElementwiseOps(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
  walkAndApplyPatterns(function, std::move(patterns));
}

/// Bufferization would say only that there was none.
static LogicalResult checkBufferizable(func::FuncOp function) {
  WalkResult result = function.walk<WalkOrder::PreOrder>([](Operation *op) {
    if ((!hasTensor(op->getOperandTypes()) &&
         !hasTensor(op->getResultTypes())) ||
        isa<bufferization::BufferizableOpInterface>(op))
      return WalkResult::advance();
    op->emitOpError() << "is on tensors and has no form on memrefs; "
                      << suggestLowering(op);
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Upstream's elimination replaces one use of an empty tensor, whichever comes
/// first in memory. One that several blocks use becomes one for each.
static void splitSharedEmptyTensors(RewriterBase &rewriter,
                                    func::FuncOp function) {
  function.walk([&](tensor::EmptyOp empty) {
    DenseMap<Block *, Value> ofBlock;
    for (OpOperand &use : llvm::make_early_inc_range(empty->getUses())) {
      Value &own = ofBlock[use.getOwner()->getBlock()];
      if (!own && ofBlock.size() == 1)
        own = empty;
      rewriter.setInsertionPoint(empty);
      if (!own)
        own = rewriter.clone(*empty)->getResult(0);
      rewriter.modifyOpInPlace(use.getOwner(), [&] { use.set(own); });
    }
  });
}

/// Upstream's elimination, for slices. Of what is stored or copied as a whole
/// it would put more in one place than can be there.
static LogicalResult eliminateEmptyTensors(RewriterBase &rewriter,
                                           func::FuncOp function) {
  splitSharedEmptyTensors(rewriter, function);
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  bufferization::OneShotAnalysisState state(function, options);
  if (failed(bufferization::analyzeOp(function, state)))
    return failure();
  return bufferization::eliminateEmptyTensors(
      rewriter, function, state,
      [](RewriterBase &rewriter, SubsetInsertionOpInterface op,
         tensor::EmptyOp empty, Operation *user) -> Value {
        if (isa<StoreOp, linalg::CopyOp>(op.getOperation()))
          return Value();
        return bufferization::buildSubsetExtraction(rewriter, op, empty, user);
      });
}

static LogicalResult bufferizeBody(func::FuncOp function) {
  bufferization::OneShotBufferizationOptions options;
  // Strided copies are loops of linalg: memref.copy would need a runtime.
  options.memCpyFn = [](OpBuilder &builder, Location loc, Value from,
                        Value to) {
    linalg::CopyOp::create(builder, loc, from, to);
    return success();
  };
  bufferization::BufferizationState state;
  return bufferization::runOneShotBufferize(function, options, state);
}

// Whether two values are the same memory: one view, or two equal ones.
static bool isSameMemory(Value a, Value b) {
  if (a == b)
    return true;
  auto viewA = a.getDefiningOp<memref::SubViewOp>();
  auto viewB = b.getDefiningOp<memref::SubViewOp>();
  return viewA && viewB &&
         OperationEquivalence::isEquivalentTo(
             viewA, viewB, OperationEquivalence::IgnoreLocations);
}

/// The values that `use` makes the same memory known by.
static SmallVector<Value> getNextNames(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return use.getOperandNumber() < loop.getNumControlOperands()
               ? SmallVector<Value>()
               : SmallVector<Value>{loop.getTiedLoopResult(&use),
                                    loop.getTiedLoopRegionIterArg(&use)};
  auto yield = dyn_cast<scf::YieldOp>(user);
  if (yield && isa<scf::ForOp, scf::IfOp>(yield->getParentOp()))
    return {yield->getParentOp()->getResult(use.getOperandNumber())};
  return SmallVector<Value>(user->hasTrait<OpTrait::IsTerminator>()
                                ? user->getParentOp()->getResults()
                                : user->getResults());
}

/// Whether the end of `block` hands on `memory`, which is made there, as it is
/// or by way of other operations.
static bool isHandedOn(Value memory, Block *block) {
  return llvm::any_of(memory.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (user->getBlock() == block && user->hasTrait<OpTrait::IsTerminator>())
      return true;
    return llvm::any_of(getNextNames(use), [&](Value next) {
      return isa<BaseMemRefType>(next.getType()) && isHandedOn(next, block);
    });
  });
}

// Removes what stores a value into itself, and frees temporary memory at the
// end of the block that allocated it, but for the function's `own`.
static LogicalResult cleanUp(RewriterBase &rewriter, func::FuncOp function,
                             const DenseSet<Operation *> &own) {
  SmallVector<linalg::CopyOp> copies;
  SmallVector<memref::AllocOp> allocations;
  function.walk([&](Operation *op) {
    if (auto copy = dyn_cast<linalg::CopyOp>(op))
      copies.push_back(copy);
    auto allocation = dyn_cast<memref::AllocOp>(op);
    if (allocation && !own.contains(op))
      allocations.push_back(allocation);
  });
  for (linalg::CopyOp copy : copies)
    if (copy->getNumResults() == 0 &&
        isSameMemory(copy.getInputs()[0], copy.getOutputs()[0]))
      rewriter.eraseOp(copy);
  for (memref::AllocOp allocation : allocations) {
    if (isHandedOn(allocation, allocation->getBlock()))
      return allocation->getParentOp()->emitOpError()
             << "returns a tensor of " << allocation.getType().getElementType()
             << " in memory of its own, which nothing would free: expected "
                "scf.for, scf.if or scf.forall";
    rewriter.setInsertionPoint(allocation->getBlock()->getTerminator());
    memref::DeallocOp::create(rewriter, allocation.getLoc(), allocation);
  }
  return success();
}

LogicalResult mlir::fa::convertResultsToOutParameters(RewriterBase &rewriter,
                                                      func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  if (function.isExternal() ||
      (!hasTensor(type.getInputs()) && !hasTensor(type.getResults()) &&
       !capturesTensor(function)))
    return success();
  if (failed(checkFunction(function)))
    return failure();
  OpBuilder::InsertionGuard guard(rewriter);
  DenseSet<Operation *> own;
  function.walk([&](memref::AllocOp allocation) { own.insert(allocation); });
  convertArguments(rewriter, function);
  auto stores = convertResults(rewriter, function);
  if (failed(stores))
    return failure();
  makeHeadDimsContiguous(rewriter, function);
  convertChoices(rewriter, function);
  convertElementwiseOps(function);
  if (failed(checkBufferizable(function)))
    return failure();
  freeDestinations(rewriter, function);
  if (failed(eliminateEmptyTensors(rewriter, function)))
    return failure();
  SmallVector<StoreOp> sunk = sinkIntoBranches(rewriter, *stores);
  if (failed(placeBranchTensors(rewriter, function)))
    return failure();
  writeInPlace(rewriter, sunk);
  if (failed(placeLoopTensors(rewriter, function)) ||
      failed(bufferizeBody(function)))
    return failure();
  return cleanUp(rewriter, function, own);
}

void mlir::fa::registerTransformDependencies(DialectRegistry &registry) {
  registerBoundsDependencies(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
  registerDecomposeExternalModels(registry);
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
}

namespace {
struct ResultsToOutParametersPass
    : public mlir::fa::impl::FAResultsToOutParametersBase<
          ResultsToOutParametersPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    FAResultsToOutParametersBase::getDependentDialects(registry);
    registerTransformDependencies(registry);
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions)
      if (failed(convertResultsToOutParameters(rewriter, function)))
        return signalPassFailure();
  }
};
} // namespace
