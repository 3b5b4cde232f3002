//===- AttentionVerifiers.h - Checks shared by the operations of fa ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_IR_ATTENTIONVERIFIERS_H
#define FA_LIB_DIALECT_FA_IR_ATTENTIONVERIFIERS_H

#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::fa {

LogicalResult verifyRank(Operation *op, StringRef name, Type type,
                         int64_t rank);
LogicalResult verifyElementType(Operation *op, StringRef name, Type type,
                                Type expected);
/// Two sizes that are both static must be equal.
LogicalResult verifySameSize(Operation *op, StringRef what, StringRef nameA,
                             int64_t sizeA, StringRef nameB, int64_t sizeB);
LogicalResult verifyHeadDim(Operation *op, StringRef name, int64_t size);
/// The head dim of a memref must have stride 1.
LogicalResult verifyContiguousHeadDim(Operation *op, StringRef name, Type type,
                                      DimsAttr order);
/// Types and sizes of query, key and value among themselves, and whether the
/// configuration can serve them; without one, null.
LogicalResult verifyInputs(AttentionLikeOpInterface op, ConfigAttr config);
/// Query, key and value of a step are those of one batch and head.
LogicalResult verifyOneHead(AttentionLikeOpInterface op);
/// An attribute whose name is nearly one of `names` is a mistake.
LogicalResult verifyAttributeNames(Operation *op, ArrayRef<StringRef> names);
/// An order with b: only a whole attention has packed sequences or pages.
LogicalResult verifyHasBatches(Operation *op, StringRef name, DimsAttr order);
/// Starts of packed sequences, tables of pages, and the orders that belong to
/// them.
LogicalResult verifySequences(AttentionOp op);
LogicalResult verifySequences(AttentionGradientOp op);
/// A table of `batch` + `more` rows, or null; sets `batches`, a name and its
/// number, where that is known.
LogicalResult verifyTable(Operation *op, StringRef name, Value table,
                          int64_t rank, int64_t more,
                          std::pair<StringRef, int64_t> &batches);
/// `interleaved` or `halves`.
ParseResult parseRotary(OpAsmParser &parser, RotaryAttr &rotary);
void printRotary(OpAsmPrinter &printer, Operation *op, RotaryAttr rotary);
/// A configuration whose results have the same bits in each run.
LogicalResult verifyDeterministic(AttentionGradientOp op);
/// A configuration by which a sequence gives the same bits in any batch.
LogicalResult verifyBatchInvariant(AttentionOp op);
/// Lengths of a batch, or null.
LogicalResult verifyLengths(AttentionLikeOpInterface op, StringRef name,
                            Value lengths);
/// Shapes and types of the state of online softmax.
LogicalResult verifyState(Operation *op, Value accumulator, Value maximum,
                          Value sum);
/// The state must have a row for each of `rows` rows of the operand `name`.
LogicalResult verifyStateHolds(Operation *op, StringRef name, int64_t rows,
                               Value accumulator);
/// Four offsets or none, two extents or none.
LogicalResult verifyPlace(PairRegionsOpInterface op);
/// The score region yields the score, and may yield a factor of the weight.
LogicalResult verifyScore(AttentionLikeOpInterface op);

/// Whether a value depends on an argument of its block.
bool dependsOn(Value value, BlockArgument argument);
/// A region whose elements and yielded values have these types.
LogicalResult verifyPairRegion(Operation *op, StringRef name,
                               const PairRegion &region,
                               ArrayRef<Type> elements, ArrayRef<Type> results);

/// Size of the dimension `kind` of an operand; dynamic where it has none.
int64_t sizeOf(Value value, DimsAttr order, DimKind kind);

/// Memory operands are read, destinations read and written.
void addDestinationStyleEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects);
/// Results have the shapes of the destinations.
LogicalResult reifyDestinationShapes(DestinationStyleOpInterface op,
                                     OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes);

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_IR_ATTENTIONVERIFIERS_H
