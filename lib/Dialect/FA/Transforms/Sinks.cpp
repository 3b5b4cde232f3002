//===- Sinks.cpp - Scores that count as one more key ----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sink is a score that counts as one more key. The forward takes a row of
// sinks as a tensor (`buildSink`). The gradient adds up what they capture, row
// by row: read `addSinkGradients`, then `SinkGradients::build` and `addRow`.
// Both copy the sink's region for one query (`inlineForRow`).
//
//===----------------------------------------------------------------------===//

#include "Sinks.h"
#include "Lengths.h"
#include "fa/Dialect/FA/IR/ShortSpellings.h"
#include "fa/Dialect/FA/IR/Slicing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::fa;

/// Copies the body of a region for one query, which its arguments place. Loads
/// out of bounds read 0; `scatter` makes what adds to gradients. Returns where
/// the copies are.
static IRMapping
inlineForRow(OpBuilder &builder, Region &region, ValueRange arguments,
             ValueRange lengths,
             function_ref<void(ScatterGradientOp, const IRMapping &)> scatter =
                 nullptr) {
  Block &body = region.front();
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &nested : body.without_terminator()) {
    if (isa<QueryLengthOp, KeyLengthOp>(nested)) {
      mapping.map(nested.getResult(0), lengths[isa<KeyLengthOp>(nested)]);
    } else if (auto stop = dyn_cast<StopGradientOp>(nested)) {
      mapping.map(stop.getResult(), mapping.lookup(stop.getValue()));
    } else if (isa<memref::LoadOp, tensor::ExtractOp>(nested)) {
      SmallVector<Value> operands =
          llvm::map_to_vector(nested.getOperands(), [&](Value value) {
            return mapping.lookupOrDefault(value);
          });
      mapping.map(nested.getResult(0),
                  buildGuardedLoad(builder, nested.getLoc(), operands.front(),
                                   ArrayRef(operands).drop_front()));
    } else if (auto add = dyn_cast<ScatterGradientOp>(nested)) {
      scatter(add, mapping);
    } else {
      builder.clone(nested, mapping);
    }
  }
  return mapping;
}

/// The sink of one query.
static Value inlineSink(OpBuilder &builder, Region &sink, ValueRange place,
                        ValueRange captures, ValueRange lengths) {
  SmallVector<Value> arguments(place);
  llvm::append_range(arguments, captures);
  IRMapping mapping = inlineForRow(builder, sink, arguments, lengths);
  return mapping.lookupOrDefault(sink.front().getTerminator()->getOperand(0));
}

static Value inlineSink(OpBuilder &builder, AttentionOp op, Value query,
                        ValueRange lengths) {
  return inlineSink(builder, op.getSink(),
                    {op.getOffsets()[0], op.getOffsets()[1], query},
                    op.getSinkCaptures(), lengths);
}

Value mlir::fa::buildSink(OpBuilder &builder, AttentionOp op, OpFoldResult rows,
                          ValueRange lengths) {
  if (op.getSink().empty())
    return {};
  Location loc = op.getLoc();
  Value first = op.getOffsets()[2];
  if (op.getSink().getArgument(2).use_empty())
    return inlineSink(builder, op, first, lengths);
  Value empty =
      tensor::EmptyOp::create(builder, loc, rows, builder.getF32Type());
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), ValueRange(), empty,
             builder.getMultiDimIdentityMap(1), utils::IteratorType::parallel,
             [&](OpBuilder &nested, Location at, ValueRange) {
               Value row = linalg::IndexOp::create(nested, at, 0);
               Value query = arith::AddIOp::create(nested, at, first, row);
               linalg::YieldOp::create(nested, at,
                                       inlineSink(nested, op, query, lengths));
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {
/// Adds up the gradients of what a sink captures, row by row, so that sums have
/// one order. Heads are parallel where none adds to what another one adds to.
class SinkGradients {
public:
  SinkGradients(RewriterBase &rewriter, AttentionGradientOp op, Value delta,
                Value reference)
      : rewriter(rewriter), op(op), loc(op.getLoc()), delta(delta),
        reference(reference) {}

  void build();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value number(float value) {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getF32FloatAttr(value));
  }
  Value addIndices(Value a, Value b) {
    return rewriter.createOrFold<arith::AddIOp>(loc, a, b);
  }
  Value enter(Value size);
  bool ownsElements();
  void addRow(Value batch, Value head, Value query, ValueRange lengths);
  void scatter(ScatterGradientOp add, const IRMapping &mapping);

  RewriterBase &rewriter;
  AttentionGradientOp op;
  Location loc;
  Value delta, reference;
  /// Of each destination, in f32.
  SmallVector<Value> sums;
};
} // namespace

/// A loop that the builder goes into.
Value SinkGradients::enter(Value size) {
  auto loop = scf::ForOp::create(rewriter, loc, index(0), size, index(1));
  rewriter.setInsertionPoint(loop.getBody()->getTerminator());
  return loop.getInductionVar();
}

/// Whether no two heads add to one element: the head itself is the same index
/// of all that is added to a capture.
bool SinkGradients::ownsElements() {
  BlockArgument head = op.getSinkGradient().getArgument(2);
  DenseMap<Value, size_t> places;
  for (auto add : op.getSinkGradient().getOps<ScatterGradientOp>()) {
    auto indices = llvm::to_vector(add.getIndices());
    size_t place = llvm::find(indices, Value(head)) - indices.begin();
    if (place == indices.size() ||
        places.try_emplace(add.getCapture(), place).first->second != place)
      return false;
  }
  return true;
}

/// Adds to an element of a sum, if it is one.
void SinkGradients::scatter(ScatterGradientOp add, const IRMapping &mapping) {
  const auto *found =
      llvm::find(op.getDifferentiatedSink(), add.getCaptureNumber());
  if (found == op.getDifferentiatedSink().end())
    return;
  Value sum = sums[found - op.getDifferentiatedSink().begin()];
  SmallVector<Value> indices =
      llvm::map_to_vector(add.getIndices(), [&](Value value) {
        return mapping.lookupOrDefault(value);
      });
  Value isElement = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
  for (auto [dim, at] : llvm::enumerate(indices)) {
    Value size = memref::DimOp::create(rewriter, loc, sum, dim);
    Value isBelow = arith::CmpIOp::create(rewriter, loc,
                                          arith::CmpIPredicate::ult, at, size);
    isElement = arith::AndIOp::create(rewriter, loc, isElement, isBelow);
  }
  auto branch = scf::IfOp::create(rewriter, loc, isElement);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  Value before = memref::LoadOp::create(rewriter, loc, sum, indices);
  Value after = arith::AddFOp::create(rewriter, loc, before,
                                      mapping.lookupOrDefault(add.getValue()));
  memref::StoreOp::create(rewriter, loc, after, sum, indices);
}

void SinkGradients::addRow(Value batch, Value head, Value query,
                           ValueRange lengths) {
  Value place[] = {addIndices(op.getOffsets()[0], batch),
                   addIndices(op.getOffsets()[1], head),
                   addIndices(op.getOffsets()[2], query)};
  Value row[] = {batch, head, query};
  Value ofRow = memref::LoadOp::create(rewriter, loc, reference, row);
  Value deltaOfRow = memref::LoadOp::create(rewriter, loc, delta, row);
  Value sink =
      inlineSink(rewriter, op.getSink(), place, op.getSinkCaptures(), lengths);
  // A row of lse +inf has no weights, whatever its sink is.
  Value hasWeights =
      arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNE, ofRow,
                            number(std::numeric_limits<float>::infinity()));
  Value weight = math::ExpOp::create(
      rewriter, loc, arith::SubFOp::create(rewriter, loc, sink, ofRow));
  weight =
      arith::SelectOp::create(rewriter, loc, hasWeights, weight, number(0));
  Value gradient = arith::MulFOp::create(
      rewriter, loc, arith::NegFOp::create(rewriter, loc, weight), deltaOfRow);
  SmallVector<Value> arguments = {gradient};
  llvm::append_range(arguments, place);
  llvm::append_range(arguments, op.getSinkCaptures());
  inlineForRow(rewriter, op.getSinkGradient(), arguments, lengths,
               [&](ScatterGradientOp add, const IRMapping &mapping) {
                 scatter(add, mapping);
               });
}

void SinkGradients::build() {
  OpBuilder::InsertionGuard guard(rewriter);
  Value zero = number(0);
  for (Value destination : op.getSinkCaptureGradients()) {
    Value sum = destination;
    if (!getElementTypeOrSelf(destination.getType()).isF32())
      sum = memref::AllocOp::create(
          rewriter, loc, memref::getMixedSizes(rewriter, loc, destination),
          rewriter.getF32Type());
    linalg::FillOp::create(rewriter, loc, zero, sum);
    sums.push_back(sum);
  }
  auto getSize = [&](DimKind kind) {
    return getMixedSize(rewriter, loc, op.getQuery(), op.getQueryOrder(), kind);
  };
  auto toValue = [&](OpFoldResult value) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, value);
  };
  Value batches = toValue(getSize(DimKind::Batch));
  Value queries = toValue(getSize(DimKind::Sequence));
  {
    OpBuilder::InsertionGuard inside(rewriter);
    Value head;
    if (ownsElements()) {
      auto heads = scf::ForallOp::create(
          rewriter, loc, ArrayRef<OpFoldResult>{getSize(DimKind::Heads)},
          /*outputs=*/ValueRange(), /*mapping=*/std::nullopt);
      rewriter.setInsertionPoint(heads.getTerminator());
      head = heads.getInductionVar(0);
    } else {
      head = enter(toValue(getSize(DimKind::Heads)));
    }
    Value batch = enter(batches);
    Value absolute = addIndices(op.getOffsets()[0], batch);
    Value lengths[] = {getValidLength(rewriter, loc, op.getQueryLengths(),
                                      absolute, op.getExtents()[0]),
                       getValidLength(rewriter, loc, op.getKeyLengths(),
                                      absolute, op.getExtents()[1])};
    Value query = enter(queries);
    addRow(batch, head, query, lengths);
  }
  for (auto [destination, sum] :
       llvm::zip_equal(op.getSinkCaptureGradients(), sums)) {
    if (sum == destination)
      continue;
    auto type = cast<MemRefType>(destination.getType());
    SmallVector<AffineMap> maps(
        2, rewriter.getMultiDimIdentityMap(type.getRank()));
    SmallVector<utils::IteratorType> loops(type.getRank(),
                                           utils::IteratorType::parallel);
    linalg::GenericOp::create(
        rewriter, loc, sum, destination, maps, loops,
        [&](OpBuilder &nested, Location at, ValueRange x) {
          linalg::YieldOp::create(
              nested, at,
              convertScalarToDtype(nested, at, x[0], type.getElementType(),
                                   /*isUnsignedCast=*/false));
        });
    memref::DeallocOp::create(rewriter, loc, sum);
  }
}

void mlir::fa::addSinkGradients(RewriterBase &rewriter, AttentionGradientOp op,
                                Value delta, Value reference) {
  if (!op.getSinkCaptureGradients().empty())
    SinkGradients(rewriter, op, delta, reference).build();
}
