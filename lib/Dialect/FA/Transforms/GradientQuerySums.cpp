//===- GradientQuerySums.cpp - What blocks of keys add for queries --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `one_pass`: blocks of keys add to the gradients of the queries that they
// visit. On a CPU an iteration owns a key head, and its blocks follow each
// other. On a GPU blocks add in parallel to sums of all queries, in the order
// of the kernels, and a loop over blocks of queries stores them.
//
//===----------------------------------------------------------------------===//

#include "GradientTiler.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::fa;

/// Stores what was added up for a block of queries of a head: rows from
/// `firstSum` on x head dim.
void GradientTiler::finalizeSums(Value ofHead, OpFoldResult firstSum,
                                 const BatchItem &item, Value head,
                                 Value firstQuery, int64_t block,
                                 ConfigAttr withConfig) {
  // Nothing was added to rows past a length: their sums are 0.
  ItemRows all = item.queries;
  all.hasLength = false;
  SequenceBlock rows =
      getSequenceBlock(firstQuery, all, block, op.getOffsets()[2]);
  OpFoldResult none = rewriter.getIndexAttr(0);
  OpFoldResult headDim =
      size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim);
  Value ofBlock = createSlice(rewriter, loc, ofHead, {firstSum, none},
                              {rows.count, headDim});
  finalize(ofBlock, getScaleOf(item), op.getQueryGradient(),
           op.getQueryGradientOrder(), item.queries, head, rows, withConfig);
}

/// Sums for the query heads of one key head: 1 x group x queries x head dim.
Value GradientTiler::createQuerySums() {
  OpFoldResult one = rewriter.getIndexAttr(1);
  OpFoldResult group = isEqualConstantIntOrValue(heads, keyHeads)
                           ? one
                           : getAsOpFoldResult(getGroup());
  Value sums = memref::AllocOp::create(
      rewriter, loc,
      SmallVector<OpFoldResult>{
          one, group, queries,
          size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim)},
      rewriter.getF32Type());
  Value zero =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(0.0f));
  linalg::FillOp::create(rewriter, loc, zero, sums);
  return sums;
}

void GradientTiler::finalizeQuerySums(Value querySums, const BatchItem &item,
                                      Value keyHead) {
  int64_t block = getBlock(queries, config.getQueryBlock());
  Value zero = toValue(rewriter.getIndexAttr(0));
  OpBuilder::InsertionGuard guard(rewriter);
  Value member = zero;
  if (!isEqualConstantIntOrValue(heads, keyHeads)) {
    auto members = scf::ForOp::create(rewriter, loc, zero, getGroup(),
                                      toValue(rewriter.getIndexAttr(1)));
    rewriter.setInsertionPoint(members.getBody()->getTerminator());
    member = members.getInductionVar();
  }
  auto blocks = scf::ForOp::create(rewriter, loc, zero, toValue(queries),
                                   toValue(rewriter.getIndexAttr(block)));
  rewriter.setInsertionPoint(blocks.getBody()->getTerminator());
  Value none = toValue(rewriter.getIndexAttr(0));
  Value ofHead = createLeadingSlice(
      rewriter, loc,
      createLeadingSlice(rewriter, loc, querySums, getAsOpFoldResult(none)),
      getAsOpFoldResult(member));
  finalizeSums(ofHead, blocks.getInductionVar(), item,
               getQueryHead(keyHead, member), blocks.getInductionVar(), block,
               /*withConfig=*/{});
}

/// Key heads in parallel: each iteration owns the gradients of the queries that
/// its blocks of keys add to.
void GradientTiler::tileKeyHeads(const KeyGradients &gradients) {
  int64_t block = getBlock(keys, keysConfig.getKeyBlock());
  scf::ForallOp forall = scf::ForallOp::create(
      rewriter, loc, ArrayRef<OpFoldResult>{batches, keyHeads},
      /*outputs=*/ValueRange(), /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(forall.getTerminator());
  BatchItem item = findItem(forall.getInductionVar(0));
  Value keyHead = forall.getInductionVar(1);
  Value querySums = gradients.query ? createQuerySums() : Value();
  Value zero = toValue(rewriter.getIndexAttr(0));
  auto blocks = scf::ForOp::create(rewriter, loc, zero, toValue(keys),
                                   toValue(rewriter.getIndexAttr(block)));
  rewriter.setInsertionPoint(blocks.getBody()->getTerminator());
  addKeyBlock(gradients, item, keyHead, blocks.getInductionVar(), block,
              querySums);
  rewriter.setInsertionPointAfter(blocks);
  if (!querySums)
    return;
  finalizeQuerySums(querySums, item, keyHead);
  memref::DeallocOp::create(rewriter, loc, querySums);
}

/// The sums as batch x heads x queries x head dim.
Value GradientTiler::viewSums(OpFoldResult rows) {
  OpFoldResult headDim =
      size(op.getQuery(), op.getQueryOrder(), DimKind::HeadDim);
  OpFoldResult items = queryStarts ? rewriter.getIndexAttr(1) : batches;
  SmallVector<OpFoldResult> sizes = {items, heads, rows, headDim};
  auto [shape, dynamic] = decomposeMixedValues(sizes);
  SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
  return memref::ExpandShapeOp::create(
      rewriter, loc, MemRefType::get(shape, rewriter.getF32Type()), sums,
      groups, sizes);
}

/// Blocks of queries in parallel, behind those of keys.
void GradientTiler::tileSums() {
  int64_t block = keysConfig.getQueryBlock();
  loopOverNumbers(queries, block,
                  [&](const BatchItem &item, Value head, Value firstQuery) {
                    Value ofHead = createLeadingSlice(
                        rewriter, loc,
                        createLeadingSlice(rewriter, loc, viewSums(padRows()),
                                           item.queries.batch),
                        getAsOpFoldResult(head));
                    finalizeSums(ofHead, getBlockNumber(item, firstQuery), item,
                                 head, firstQuery, block, keysConfig);
                  });
}
