//===- BatchSharedKeys.cpp - Sequences that share keys as one -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries of all sequences become those of one where all have the same keys,
// which are then read once. `SharedMemory` proves that they are the same;
// `SequenceBatcher` views or copies the rows and moves what regions see. Read
// `batchSharedKeys`, at the end, first.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Dropout.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "fa/Support/MemoryWrites.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FABATCHSHAREDKEYS
#include "fa/Dialect/FA/Transforms/SharedKeyPasses.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Memory that is the same for all sequences
//===----------------------------------------------------------------------===//

namespace {
/// Memory of one sequence in place of that of all, if all have the same.
class SharedMemory {
public:
  /// `reader` reads the memory.
  SharedMemory(RewriterBase &rewriter, Operation *reader)
      : rewriter(rewriter), reader(reader), loc(reader->getLoc()) {}

  bool isShared(Value memory, int64_t dim);
  /// Of size 1 in `dim`; the memory is shared.
  Value getFirst(Value memory, int64_t dim);

private:
  linalg::BroadcastOp findBroadcast(Value memory, int64_t dim);
  DenseIntElementsAttr getConstant(Value memory);
  static DenseIntElementsAttr getRow(DenseIntElementsAttr constant);
  Value makeConstant(DenseIntElementsAttr value);
  Value expandUnit(Value memory, int64_t dim);
  Value cutFirst(Value memory, int64_t dim);

  RewriterBase &rewriter;
  Operation *reader;
  Location loc;
};
} // namespace

/// The broadcast over `dim` that alone writes memory, which still has what it
/// was made of.
linalg::BroadcastOp SharedMemory::findBroadcast(Value memory, int64_t dim) {
  if (!memory.getDefiningOp<memref::AllocOp>())
    return {};
  linalg::BroadcastOp broadcast;
  for (Operation *user : memory.getUsers()) {
    auto writer = dyn_cast<linalg::BroadcastOp>(user);
    if (writer && writer.getInit() == memory && !broadcast) {
      broadcast = writer;
      continue;
    }
    auto style = dyn_cast<DestinationStyleOpInterface>(user);
    bool isRead = isa<memref::DeallocOp>(user) ||
                  (style && llvm::none_of(style.getDpsInits(), [&](Value init) {
                     return init == memory;
                   }));
    if (!isRead)
      return {};
  }
  if (!broadcast || !llvm::is_contained(broadcast.getDimensions(), dim) ||
      broadcast->getBlock() != reader->getBlock() ||
      !broadcast->isBeforeInBlock(reader) ||
      mayWriteMemoryBetween(broadcast->getNextNode(), reader,
                            broadcast.getInput()))
    return {};
  return broadcast;
}

/// Numbers of a constant, such as a table of pages; null for other memory.
DenseIntElementsAttr SharedMemory::getConstant(Value memory) {
  auto get = memory.getDefiningOp<memref::GetGlobalOp>();
  if (!get)
    return {};
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      reader, get.getNameAttr());
  if (!global || !global.getConstant() || !global.getInitialValue())
    return {};
  return dyn_cast<DenseIntElementsAttr>(*global.getInitialValue());
}

/// The first of rows that are equal; null for other constants.
DenseIntElementsAttr SharedMemory::getRow(DenseIntElementsAttr constant) {
  int64_t rows = constant.getType().getDimSize(0);
  if (!rows)
    return {};
  SmallVector<int64_t> shape(constant.getType().getShape());
  shape[0] = 1;
  auto type = cast<ShapedType>(constant.getType().clone(shape));
  auto values = llvm::to_vector(constant.getValues<APInt>());
  size_t columns = values.size() / rows;
  for (size_t i = columns; i < values.size(); ++i)
    if (values[i] != values[i - columns])
      return {};
  return cast<DenseIntElementsAttr>(
      DenseElementsAttr::get(type, ArrayRef(values).take_front(columns)));
}

/// Views of constants are no constants to those who read them.
Value SharedMemory::makeConstant(DenseIntElementsAttr value) {
  Operation *table = SymbolTable::getNearestSymbolTable(reader);
  OpBuilder builder(table->getContext());
  auto type = MemRefType::get(value.getType().getShape(),
                              value.getType().getElementType());
  auto global = memref::GlobalOp::create(
      builder, loc, builder.getStringAttr("__constant_shared"),
      builder.getStringAttr("private"), TypeAttr::get(type), value,
      builder.getUnitAttr(), builder.getI64IntegerAttr(64));
  SymbolTable(table).insert(global, table->getRegion(0).front().begin());
  return memref::GetGlobalOp::create(rewriter, loc, type, global.getSymName());
}

bool SharedMemory::isShared(Value memory, int64_t dim) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto type = cast<MemRefType>(memory.getType());
  if (succeeded(type.getStridesAndOffset(strides, offset)) && strides[dim] == 0)
    return true;
  if (DenseIntElementsAttr constant = getConstant(memory))
    return dim == 0 && getRow(constant);
  return static_cast<bool>(findBroadcast(memory, dim));
}

/// A view with one more dimension, of size 1.
Value SharedMemory::expandUnit(Value memory, int64_t dim) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(rewriter, loc, memory);
  shape.insert(shape.begin() + dim, 1);
  sizes.insert(sizes.begin() + dim, rewriter.getIndexAttr(1));
  SmallVector<ReassociationIndices> groups;
  // The new dimension is beside the one that it stands before.
  for (int64_t each = 0, next = 0; each < type.getRank(); ++each) {
    ReassociationIndices &group = groups.emplace_back();
    if (each == std::min(dim, type.getRank() - 1))
      group.push_back(next++);
    group.push_back(next++);
  }
  return memref::ExpandShapeOp::create(rewriter, loc, shape, memory, groups,
                                       sizes);
}

Value SharedMemory::cutFirst(Value memory, int64_t dim) {
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(rewriter, loc, memory);
  SmallVector<OpFoldResult> offsets(sizes.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
  sizes[dim] = rewriter.getIndexAttr(1);
  return memref::SubViewOp::create(rewriter, loc, memory, offsets, sizes,
                                   strides);
}

Value SharedMemory::getFirst(Value memory, int64_t dim) {
  if (DenseIntElementsAttr constant = getConstant(memory))
    return makeConstant(getRow(constant));
  linalg::BroadcastOp broadcast = findBroadcast(memory, dim);
  if (!broadcast || broadcast.getDimensions().size() != 1)
    return cutFirst(memory, dim);
  Value source = broadcast.getInput();
  DenseIntElementsAttr constant = getConstant(source);
  if (!constant)
    return expandUnit(source, dim);
  SmallVector<int64_t> shape(constant.getType().getShape());
  shape.insert(shape.begin() + dim, 1);
  return makeConstant(cast<DenseIntElementsAttr>(
      constant.reshape(cast<ShapedType>(constant.getType().clone(shape)))));
}

/// Erases broadcasts to memory that nothing reads any more.
static void eraseUnread(RewriterBase &rewriter, Value memory) {
  auto allocation = memory.getDefiningOp<memref::AllocOp>();
  if (!allocation ||
      !llvm::all_of(memory.getUsers(),
                    llvm::IsaPred<memref::DeallocOp, linalg::BroadcastOp>))
    return;
  for (Operation *user : llvm::make_early_inc_range(memory.getUsers()))
    rewriter.eraseOp(user);
  rewriter.eraseOp(allocation);
}

//===----------------------------------------------------------------------===//
// Queries of all sequences
//===----------------------------------------------------------------------===//

namespace {
class SequenceBatcher {
public:
  SequenceBatcher(RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()), shared(rewriter, op) {}

  LogicalResult verify();
  void batch();

private:
  LogicalResult refuse(const Twine &reason);
  /// What all sequences have to have in common, with the dimension of theirs.
  SmallVector<std::pair<OpOperand *, int64_t>> getShared();
  int64_t getQueries();
  DimsAttr exchange(DimsAttr order);
  void view();
  Value copyRows(OpOperand &operand, ArrayRef<unsigned> order, int64_t first,
                 bool isRead);
  void copy();
  void moveRows(Region &region, MutableOperandRange captures,
                unsigned firstIndex, Value queries);

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
  SharedMemory shared;
};
} // namespace

LogicalResult SequenceBatcher::refuse(const Twine &reason) {
  remark::missed(
      loc,
      remark::RemarkOpts::name("SharedKeys").category("fa-batch-shared-keys"))
      << "keys of all sequences are the same, and are read for each: " +
             reason.str();
  return failure();
}

SmallVector<std::pair<OpOperand *, int64_t>> SequenceBatcher::getShared() {
  SmallVector<std::pair<OpOperand *, int64_t>> operands;
  if (op.getKeyPages()) {
    operands.emplace_back(&*op.getKeyPagesMutable().begin(), 0);
  } else {
    operands.emplace_back(&op.getKeyMutable(),
                          op.getKeyOrder().positionOf(DimKind::Batch));
    operands.emplace_back(&op.getValueMutable(),
                          op.getValueOrder().positionOf(DimKind::Batch));
  }
  if (op.getKeyLengths())
    operands.emplace_back(&*op.getKeyLengthsMutable().begin(), 0);
  return operands;
}

int64_t SequenceBatcher::getQueries() {
  return cast<ShapedType>(op.getQuery().getType())
      .getDimSize(op.getQueryOrder().positionOf(DimKind::Sequence));
}

LogicalResult SequenceBatcher::verify() {
  // Packed keys are of one sequence each.
  if (!isa<MemRefType>(op.getQuery().getType()) || op.getKeyStarts() ||
      (!op.getQueryStarts() &&
       cast<ShapedType>(op.getQuery().getType())
               .getDimSize(op.getQueryOrder().positionOf(DimKind::Batch)) == 1))
    return failure();
  for (auto [operand, dim] : getShared())
    if (!shared.isShared(operand->get(), dim))
      return failure();
  if (op.getQueryStarts())
    return refuse("queries are packed");
  if (op.getQueryLengths())
    return refuse("it has query_lengths");
  if (drawsDropout(op.getScore()))
    return refuse("it has dropout");
  if (op.getBatchInvariant())
    return refuse("it is batch_invariant");
  if (!op.getOffsets().empty() || !op.getExtents().empty())
    return refuse("it is a piece of a problem");
  return success();
}

/// A view in which dimensions `first` and the next one are one dimension.
static Value collapseTwo(RewriterBase &rewriter, Location loc, Value memory,
                         int64_t first) {
  SmallVector<ReassociationIndices> groups;
  int64_t rank = cast<MemRefType>(memory.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    ReassociationIndices &group = groups.emplace_back();
    group.push_back(dim);
    if (dim == first)
      group.push_back(++dim);
  }
  return memref::CollapseShapeOp::create(rewriter, loc, memory, groups);
}

/// A view with a dimension of size 1 before dimension `dim`.
static Value expandBefore(RewriterBase &rewriter, Location loc, Value memory,
                          int64_t dim) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> sizes;
  SmallVector<ReassociationIndices> groups;
  for (int64_t each = 0; each < type.getRank(); ++each) {
    ReassociationIndices &group = groups.emplace_back();
    if (each == dim) {
      group.push_back(shape.size());
      shape.push_back(1);
      sizes.push_back(rewriter.getIndexAttr(1));
    }
    group.push_back(shape.size());
    shape.push_back(type.getDimSize(each));
    sizes.push_back(memref::getMixedSize(rewriter, loc, memory, each));
  }
  return memref::ExpandShapeOp::create(rewriter, loc, shape, memory, groups,
                                       sizes);
}

/// The order in which the batch stands for the queries, of which there is one.
DimsAttr SequenceBatcher::exchange(DimsAttr order) {
  SmallVector<int64_t> kinds(order.getOrder());
  std::swap(kinds[order.positionOf(DimKind::Batch)],
            kinds[order.positionOf(DimKind::Sequence)]);
  auto exchanged = DimsAttr::get(op.getContext(), kinds);
  return exchanged.isDefault() ? DimsAttr() : exchanged;
}

/// Of one query each: batch and queries change places.
void SequenceBatcher::view() {
  Value lse = op.getLse();
  if (lse) {
    auto swap = AffineMap::getPermutationMap(ArrayRef<unsigned>{2, 1, 0},
                                             rewriter.getContext());
    lse = memref::TransposeOp::create(rewriter, loc, lse,
                                      AffineMapAttr::get(swap));
  }
  rewriter.modifyOpInPlace(op, [&] {
    if (lse)
      op.getLseMutable().assign(lse);
    op.setQueryDimsAttr(exchange(op.getQueryOrder()));
    op.setOutputDimsAttr(exchange(op.getOutputOrder()));
  });
}

/// Gives an operand memory in which its dimensions are in `order`, and
/// dimension `first`, the batch, and the next one are one. Returns the memory.
Value SequenceBatcher::copyRows(OpOperand &operand, ArrayRef<unsigned> order,
                                int64_t first, bool isRead) {
  auto map = AffineMap::getPermutationMap(order, rewriter.getContext());
  Value whole = memref::TransposeOp::create(rewriter, loc, operand.get(),
                                            AffineMapAttr::get(map));
  auto [shape, sizes] =
      decomposeMixedValues(memref::getMixedSizes(rewriter, loc, whole));
  Type element = cast<MemRefType>(whole.getType()).getElementType();
  Value memory =
      memref::AllocOp::create(rewriter, loc, MemRefType::get(shape, element),
                              sizes, rewriter.getI64IntegerAttr(64));
  Value rows =
      expandBefore(rewriter, loc, collapseTwo(rewriter, loc, memory, first), 0);
  rewriter.modifyOpInPlace(op, [&] { operand.set(rows); });
  if (isRead) {
    linalg::CopyOp::create(rewriter, loc, whole, memory);
    return memory;
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(op);
  linalg::CopyOp::create(rewriter, loc, memory, whole);
  return memory;
}

void SequenceBatcher::copy() {
  auto getOrder = [](DimsAttr order) {
    SmallVector<unsigned> positions;
    for (DimKind kind :
         {DimKind::Batch, DimKind::Sequence, DimKind::Heads, DimKind::HeadDim})
      positions.push_back(order.positionOf(kind));
    return positions;
  };
  SmallVector<Value> copies = {
      copyRows(op.getQueryMutable(), getOrder(op.getQueryOrder()), 0,
               /*isRead=*/true),
      copyRows(op.getOutputMutable(), getOrder(op.getOutputOrder()), 0,
               /*isRead=*/false)};
  for (OpOperand &lse : op.getLseMutable())
    copies.push_back(copyRows(lse, {1, 0, 2}, 1, /*isRead=*/false));
  op.setQueryDimsAttr({});
  op.setOutputDimsAttr({});
  Operation *last = op;
  for (Value copied : ArrayRef(copies).drop_front())
    for (Operation *user : copied.getUsers())
      if (isa<linalg::CopyOp>(user) && last->isBeforeInBlock(user))
        last = user;
  rewriter.setInsertionPointAfter(last);
  for (Value copied : copies)
    memref::DeallocOp::create(rewriter, loc, copied);
}

/// Lets a region, which is given rows of one sequence, see sequence and query.
void SequenceBatcher::moveRows(Region &region, MutableOperandRange captures,
                               unsigned firstIndex, Value queries) {
  if (region.empty())
    return;
  BlockArgument batch = region.getArgument(firstIndex);
  BlockArgument row = region.getArgument(firstIndex + 2);
  auto lengths = llvm::to_vector(region.getOps<QueryLengthOp>());
  if (batch.use_empty() && row.use_empty() && lengths.empty())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&region.front());
  Value count;
  if (int64_t known = getQueries(); !ShapedType::isDynamic(known)) {
    count = arith::ConstantIndexOp::create(rewriter, loc, known);
  } else {
    captures.append(queries);
    count = region.addArgument(queries.getType(), loc);
  }
  // The uses before those that are made here.
  SmallVector<OpOperand *> ofBatch, ofRow;
  for (OpOperand &use : batch.getUses())
    ofBatch.push_back(&use);
  for (OpOperand &use : row.getUses())
    ofRow.push_back(&use);
  Value sequence = row, query;
  if (getQueries() == 1) {
    query = arith::ConstantIndexOp::create(rewriter, loc, 0);
  } else {
    // Only floordivsi has divisors that are no constants.
    sequence = arith::FloorDivSIOp::create(rewriter, loc, row, count);
    query = arith::RemUIOp::create(rewriter, loc, row, count);
  }
  for (OpOperand *use : ofBatch)
    use->set(sequence);
  for (OpOperand *use : ofRow)
    use->set(query);
  for (QueryLengthOp length : lengths)
    rewriter.replaceOp(length, count);
}

void SequenceBatcher::batch() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  int64_t known = getQueries();
  Value queries;
  if (ShapedType::isDynamic(known)) {
    // Rows are divided by it, also where there are none.
    Value size =
        memref::DimOp::create(rewriter, loc, op.getQuery(),
                              op.getQueryOrder().positionOf(DimKind::Sequence));
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    queries = arith::MaxSIOp::create(rewriter, loc, size, one);
  }
  rewriter.modifyOpInPlace(op, [&] {
    moveRows(op.getScore(), op.getScoreCapturesMutable(), 1, queries);
    moveRows(op.getMask(), op.getMaskCapturesMutable(), 0, queries);
    moveRows(op.getSink(), op.getSinkCapturesMutable(), 0, queries);
  });
  // Keys and values may be one.
  llvm::MapVector<std::pair<Value, int64_t>, Value> ofOne;
  for (auto [operand, dim] : getShared()) {
    Value &first = ofOne[{operand->get(), dim}];
    if (!first)
      first = shared.getFirst(operand->get(), dim);
    rewriter.modifyOpInPlace(op,
                             [&, operand = operand] { operand->set(first); });
  }
  op->setAttr(sharedKeysAttrName, rewriter.getUnitAttr());
  if (known == 1)
    view();
  else
    copy();
  llvm::SmallSetVector<Value, 4> before;
  for (auto &[memory, first] : ofOne)
    before.insert(memory.first);
  for (Value memory : before)
    eraseUnread(rewriter, memory);
}

LogicalResult mlir::fa::batchSharedKeys(RewriterBase &rewriter,
                                        AttentionOp op) {
  SequenceBatcher batcher(rewriter, op);
  if (failed(batcher.verify()))
    return failure();
  batcher.batch();
  return success();
}

namespace {
struct BatchSharedKeysPass
    : public mlir::fa::impl::FABatchSharedKeysBase<BatchSharedKeysPass> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation()->walk([&](AttentionOp op) { attentions.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : attentions)
      (void)batchSharedKeys(rewriter, op);
  }
};
} // namespace
