//===- BufferizableOpInterfaceImpl.cpp - Bufferization of fa --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells one-shot bufferization what fa's operations read and write, and how
// each becomes one on memrefs. `DestinationStyleModel` serves all operations
// with destinations, `KeyRangesModel` the loop over keys. Begin with the
// former.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/BufferizableOpInterfaceImpl.h"
#include "fa/Dialect/FA/IR/FASequence.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::bufferization;

// The values with each tensor replaced by its buffer.
static FailureOr<SmallVector<Value>>
getBuffers(ValueRange values, RewriterBase &rewriter,
           const BufferizationOptions &options, BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value value : values) {
    if (!isa<TensorType>(value.getType())) {
      buffers.push_back(value);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, value, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return buffers;
}

//===----------------------------------------------------------------------===//
// Destination style operations
//===----------------------------------------------------------------------===//

// Whether the operation may leave a part of its destinations as it was, or
// computes from it.
static bool readsDestination(AttentionOp op) {
  return op.getQueryLengths() || op.getQueryStarts();
}
static bool readsDestination(AttentionGradientOp op) { return false; }
static bool readsDestination(AppendOp op) { return true; }
static bool readsDestination(SequenceErrorsOp op) { return false; }
static bool readsDestination(OnlineAttentionOp op) { return true; }
static bool readsDestination(GradientKeysOp op) { return true; }
static bool readsDestination(GradientQueriesOp op) { return true; }
static bool readsDestination(FinalizeGradientOp op) { return false; }
static bool readsDestination(FinalizeOp op) {
  return static_cast<bool>(op.getRows());
}
static bool readsDestination(CombineOp op) {
  return static_cast<bool>(op.getQueryLengths());
}

// The operand whose value an argument of a region on pairs stands for.
static Value getCapture(PairRegionsOpInterface op, BlockArgument argument) {
  for (const PairRegion &pairs : op.getPairRegions())
    if (pairs.region == argument.getOwner()->getParent())
      return pairs.captures[argument.getArgNumber() - pairs.getNumFixed()];
  llvm_unreachable("expected an argument of a region on pairs");
}

namespace {

template <typename OpTy>
struct DestinationStyleModel : public DstBufferizableOpInterfaceExternalModel<
                                   DestinationStyleModel<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) ||
           readsDestination(cast<OpTy>(op));
  }

  // A combined row depends on the same row of each partial result alone, so
  // the result may take the memory of one of them.
  bool bufferizesToElementwiseAccess(Operation *op, const AnalysisState &state,
                                     ArrayRef<OpOperand *> operands) const {
    auto combine = dyn_cast<CombineOp>(op);
    if (!combine)
      return false;
    auto isOneOf = [&](Value a, Value b, Value destination) {
      return llvm::all_of(operands, [&](OpOperand *operand) {
        return llvm::is_contained({a, b, destination}, operand->get());
      });
    };
    return isOneOf(combine.getOutputA(), combine.getOutputB(),
                   combine.getOutput()) ||
           isOneOf(combine.getLseA(), combine.getLseB(), combine.getLse());
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return bufferization::getBufferType(
          getCapture(cast<PairRegionsOpInterface>(op), argument), options,
          state, invocationStack);
    auto result = cast<OpResult>(value);
    return bufferization::getBufferType(
        cast<DestinationStyleOpInterface>(op).getTiedOpOperand(result)->get(),
        options, state, invocationStack);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> operands =
        getBuffers(op->getOperands(), rewriter, options, state);
    if (failed(operands))
      return failure();
    auto destinations = cast<DestinationStyleOpInterface>(op);
    SmallVector<Value> replacements;
    for (OpResult result : op->getResults())
      replacements.push_back((*operands)[destinations.getTiedOpOperand(result)
                                             ->getOperandNumber()]);

    OperationState newState(op->getLoc(), op->getName(), *operands, TypeRange(),
                            op->getAttrs());
    for (unsigned i = 0; i < op->getNumRegions(); ++i)
      newState.addRegion();
    Operation *newOp = rewriter.create(newState);
    for (auto [from, to] : llvm::zip(op->getRegions(), newOp->getRegions()))
      rewriter.inlineRegionBefore(from, to, to.end());
    if (auto ofPairs = dyn_cast<PairRegionsOpInterface>(newOp))
      convertRegionArguments(rewriter, ofPairs);
    replaceOpWithBufferizedValues(rewriter, op, replacements);
    return success();
  }

private:
  // Loads in the regions have been bufferized before: they read the argument
  // through a to_buffer, whose place the argument itself now takes.
  static void convertRegionArguments(RewriterBase &rewriter,
                                     PairRegionsOpInterface op) {
    for (const PairRegion &pairs : op.getPairRegions())
      for (BlockArgument argument : pairs.region->getArguments()) {
        if (!isa<TensorType>(argument.getType()))
          continue;
        argument.setType(getCapture(op, argument).getType());
        for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
          if (auto toBuffer = dyn_cast<ToBufferOp>(user))
            rewriter.replaceOp(toBuffer, argument);
      }
  }
};

//===----------------------------------------------------------------------===//
// fa.key_ranges and fa.query_ranges
//===----------------------------------------------------------------------===//

// The carried values behave as those of scf.for.
template <typename OpTy>
struct BlockRangesModel
    : public BufferizableOpInterface::ExternalModel<BlockRangesModel<OpTy>,
                                                    OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    return state.isValueRead(getCarried(op, getNumber(op, operand)));
  }

  // Each block may write its carried values.
  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &state) const {
    return true;
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &state) const {
    unsigned number = getNumber(op, operand);
    bool equivalent = isEquivalent(op, number, state);
    return {{op->getResult(number),
             equivalent ? BufferRelation::Equivalent : BufferRelation::Unknown,
             /*isDefinite=*/equivalent}};
  }

  bool isWritable(Operation *op, Value value,
                  const AnalysisState &state) const {
    return true;
  }

  bool isRepetitiveRegion(Operation *op, unsigned index) const { return true; }

  LogicalResult verifyAnalysis(Operation *op,
                               const AnalysisState &state) const {
    for (auto [number, type] : llvm::enumerate(op->getResultTypes()))
      if (isa<TensorType>(type) && !isEquivalent(op, number, state))
        return op->emitOpError()
               << "yields as value " << number
               << " another buffer than it carries, expected an update in "
                  "place of the carried one";
    return success();
  }

  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    unsigned number = isa<BlockArgument>(value)
                          ? cast<BlockArgument>(value).getArgNumber() - 2
                          : cast<OpResult>(value).getResultNumber();
    return bufferization::getBufferType(cast<OpTy>(op).getInits()[number],
                                        options, state, invocationStack);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto ranges = cast<OpTy>(op);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    FailureOr<SmallVector<Value>> inits =
        getBuffers(ranges.getInits(), rewriter, options, state);
    if (failed(inits))
      return failure();
    auto newOp = OpTy::create(rewriter, op->getLoc(), ranges.getBegins(),
                              ranges.getEnds(), ranges.getFull(),
                              ranges.getStep(), *inits, nullptr);
    Block *body = &newOp.getBodyRegion().front();
    rewriter.setInsertionPointToStart(body);
    SmallVector<Value> arguments(body->getArguments());
    for (auto [argument, old] :
         llvm::zip(arguments, ranges.getBodyRegion().front().getArguments()))
      if (isa<TensorType>(old.getType()))
        argument =
            ToTensorOp::create(rewriter, op->getLoc(), old.getType(), argument);
    rewriter.mergeBlocks(&ranges.getBodyRegion().front(), body, arguments);
    replaceOpWithBufferizedValues(rewriter, op, newOp->getResults());
    return success();
  }

private:
  static unsigned getNumber(Operation *op, OpOperand &operand) {
    return operand.getOperandNumber() -
           cast<OpTy>(op).getInits().getBeginOperandIndex();
  }
  static Value getCarried(Operation *op, unsigned number) {
    return cast<OpTy>(op).getRegionIterArgs()[number];
  }
  static bool isEquivalent(Operation *op, unsigned number,
                           const AnalysisState &state) {
    Operation *yield = cast<OpTy>(op).getBodyRegion().front().getTerminator();
    return state.areEquivalentBufferizedValues(yield->getOperand(number),
                                               getCarried(op, number));
  }
};

// An operation that reads its tensors and returns nothing.
template <typename OpTy>
struct ReaderModel
    : public BufferizableOpInterface::ExternalModel<ReaderModel<OpTy>, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    return true;
  }

  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &state) const {
    return false;
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &state) const {
    return {};
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType()))
        continue;
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      rewriter.modifyOpInPlace(op, [&] { operand.set(*buffer); });
    }
    return success();
  }
};

struct YieldModel
    : public BufferizableOpInterface::ExternalModel<YieldModel, YieldOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &state) const {
    return true;
  }

  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &state) const {
    return false;
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &state) const {
    return {};
  }

  // A copy here would yield another buffer than the carried one.
  bool mustBufferizeInPlace(Operation *op, OpOperand &operand,
                            const AnalysisState &state) const {
    return true;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<SmallVector<Value>> operands =
        getBuffers(op->getOperands(), rewriter, options, state);
    if (failed(operands))
      return failure();
    replaceOpWithNewBufferizedOp<YieldOp>(rewriter, op, *operands);
    return success();
  }
};

} // namespace

void mlir::fa::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, FADialect *dialect) {
    AttentionOp::attachInterface<DestinationStyleModel<AttentionOp>>(*context);
    AppendOp::attachInterface<DestinationStyleModel<AppendOp>>(*context);
    SequenceErrorsOp::attachInterface<DestinationStyleModel<SequenceErrorsOp>>(
        *context);
    AttentionGradientOp::attachInterface<
        DestinationStyleModel<AttentionGradientOp>>(*context);
    GradientKeysOp::attachInterface<DestinationStyleModel<GradientKeysOp>>(
        *context);
    GradientQueriesOp::attachInterface<
        DestinationStyleModel<GradientQueriesOp>>(*context);
    FinalizeGradientOp::attachInterface<
        DestinationStyleModel<FinalizeGradientOp>>(*context);
    ScatterAddOp::attachInterface<ReaderModel<ScatterAddOp>>(*context);
    ScatterGradientOp::attachInterface<ReaderModel<ScatterGradientOp>>(
        *context);
    OnlineAttentionOp::attachInterface<
        DestinationStyleModel<OnlineAttentionOp>>(*context);
    FinalizeOp::attachInterface<DestinationStyleModel<FinalizeOp>>(*context);
    CombineOp::attachInterface<DestinationStyleModel<CombineOp>>(*context);
    KeyRangesOp::attachInterface<BlockRangesModel<KeyRangesOp>>(*context);
    QueryRangesOp::attachInterface<BlockRangesModel<QueryRangesOp>>(*context);
    YieldOp::attachInterface<YieldModel>(*context);
    // The models create operations of these dialects.
    context->loadDialect<BufferizationDialect>();
  });
}
