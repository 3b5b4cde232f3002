//===- Patterns.h - Patterns from fagpu to NVVM -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all patterns of this conversion share. A block value is converted 1:N,
// to the registers of one thread. Read `KernelPattern` and `LoweringPattern`,
// the bases of all patterns; then the `populate` functions, one for each
// file.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FAGPUTONVVM_PATTERNS_H
#define FA_LIB_CONVERSION_FAGPUTONVVM_PATTERNS_H

#include "Emitter.h"
#include "KernelContext.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::fagpu {

/// A pattern whose operands may each stand for several values.
template <typename Op> class KernelPattern : public OpConversionPattern<Op> {
public:
  KernelPattern(const TypeConverter &converter, MLIRContext *context,
                const KernelContext &kernel)
      : OpConversionPattern<Op>(converter, context), kernel(kernel) {}

  using Adaptor = typename OpConversionPattern<Op>::OneToNOpAdaptor;

protected:
  const KernelContext &kernel;
};

/// What an operation becomes: the registers of each result.
using Registers = SmallVector<SmallVector<Value>>;

/// A pattern for all operations of a kind, or for those that `matches` says:
/// what has no lowering was refused before.
template <typename Op> class LoweringPattern : public KernelPattern<Op> {
public:
  using KernelPattern<Op>::KernelPattern;
  using Adaptor = typename KernelPattern<Op>::Adaptor;

  LogicalResult
  matchAndRewrite(Op op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const final {
    if (!matches(op))
      return rewriter.notifyMatchFailure(op, "of another kind");
    Emitter emit(rewriter, op.getLoc());
    rewriter.replaceOpWithMultiple(op, lower(op, adaptor, emit));
    return success();
  }

protected:
  virtual bool matches(Op op) const { return true; }
  virtual Registers lower(Op op, Adaptor adaptor, Emitter &emit) const = 0;
};

/// Block values, views and values in flight become the registers of a thread.
void populateRegisterTypes(TypeConverter &converter);

/// Each takes the patterns of one kind of operation.
void populateBetweenPatterns(RewritePatternSet &patterns,
                             const TypeConverter &converter,
                             const KernelContext &kernel);
/// Whether the lower and the upper half of a word are ones, where each is ones
/// or zeros. A selection of packed elements by both takes the word.
std::pair<Value, Value> testHalves(Emitter &emit, Value halves);
/// Moves what tests a bit for one operation in front of that operation.
void sinkBitTests(func::FuncOp kernel);
void populateBlockPatterns(RewritePatternSet &patterns,
                           const TypeConverter &converter,
                           const KernelContext &kernel);
void populateBulkStorePatterns(RewritePatternSet &patterns,
                               const TypeConverter &converter,
                               const KernelContext &kernel);
void populateChannelPatterns(RewritePatternSet &patterns,
                             const TypeConverter &converter,
                             const KernelContext &kernel);
void populateCopyPatterns(RewritePatternSet &patterns,
                          const TypeConverter &converter,
                          const KernelContext &kernel);
void populateDrainPatterns(RewritePatternSet &patterns,
                           const TypeConverter &converter,
                           const KernelContext &kernel);
void populateDropoutPatterns(RewritePatternSet &patterns,
                             const TypeConverter &converter,
                             const KernelContext &kernel);
void populateElementwisePatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter,
                                 const KernelContext &kernel);
void populateFragmentPatterns(RewritePatternSet &patterns,
                              const TypeConverter &converter,
                              const KernelContext &kernel);
void populateGatherPatterns(RewritePatternSet &patterns,
                            const TypeConverter &converter,
                            const KernelContext &kernel);
void populateMatrixPatterns(RewritePatternSet &patterns,
                            const TypeConverter &converter,
                            const KernelContext &kernel);
void populateMatrixStorePatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter,
                                 const KernelContext &kernel);
void populateMemoryPatterns(RewritePatternSet &patterns,
                            const TypeConverter &converter,
                            const KernelContext &kernel);
void populateMmaPatterns(RewritePatternSet &patterns,
                         const TypeConverter &converter,
                         const KernelContext &kernel);
void populatePagePatterns(RewritePatternSet &patterns,
                          const TypeConverter &converter,
                          const KernelContext &kernel);
void populateScatterPatterns(RewritePatternSet &patterns,
                             const TypeConverter &converter,
                             const KernelContext &kernel);
void populateStorePatterns(RewritePatternSet &patterns,
                           const TypeConverter &converter,
                           const KernelContext &kernel);
void populateViewPatterns(RewritePatternSet &patterns,
                          const TypeConverter &converter,
                          const KernelContext &kernel);
void populateWritePatterns(RewritePatternSet &patterns,
                           const TypeConverter &converter,
                           const KernelContext &kernel);

/// The type of a value that is spread over threads.
inline RankedTensorType blockType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether a store goes through a channel of this engine.
inline bool isStagedBy(StoreOp op, Engine engine) {
  return op.getVia() &&
         op.getVia().getDefiningOp<ChannelOp>().getEngine() == engine;
}

/// A layout's index expression of the thread's number.
Value expandIndex(Emitter &emit, AffineExpr expression, Value thread);

/// The thread's part of the index along `dim` of a block value, at the kernel's
/// entry, so that loops do not compute it again.
Value getThreadIndex(Emitter &emit, const KernelContext &kernel, Operation *op,
                     RankedTensorType type, unsigned dim);

/// Whether each thread holds the same elements in the same order.
bool keepsElementsInPlace(RankedTensorType source, RankedTensorType type);

/// Where a stage of a channel lies, and the barriers that guard it.
struct StageAddress {
  Value data, full, empty;
};

/// In a role of one thread that the lanes of a warp run, opens a branch of the
/// one that acts for it.
void enterElected(Emitter &emit, const RoleThreads &threads);

/// The stage of a planned channel; `bank` is null where it has one bank.
StageAddress addressStage(Emitter &emit, const KernelContext &kernel,
                          Value channel, Value stage, Value bank);

/// The address of an element of a parameter. Indices are i32 or index; offsets
/// are 64 bits, as 2^31 elements may be passed.
Value getAddress(OpBuilder &builder, Location location,
                 const KernelContext &kernel, Value memory, ValueRange indices);

/// Coordinates of a bulk copy at `offsets` of a memref, in dimensions of its
/// map, where rows end at `rows` (null: the dimension's size).
SmallVector<Value> getCoordinates(Emitter &emit, const KernelContext &kernel,
                                  const TensorMap &map, Value memory,
                                  ValueRange offsets, Value rows);

/// The value of an optional operand; null if there is none.
inline Value getOptional(ValueRange range) {
  return range.empty() ? Value() : range.front();
}

/// The values of a range of one-value ranges.
inline SmallVector<Value> flatten(ArrayRef<ValueRange> ranges) {
  SmallVector<Value> values;
  for (ValueRange range : ranges)
    llvm::append_range(values, range);
  return values;
}

} // namespace mlir::fagpu

#endif // FA_LIB_CONVERSION_FAGPUTONVVM_PATTERNS_H
