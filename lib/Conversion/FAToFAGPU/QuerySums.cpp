//===- QuerySums.cpp - Gradients of queries that blocks of keys add up ----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuerySums.h"
#include "Blocks.h"
#include "IndexWidths.h"
#include "fa/Target/GPUTarget.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fa;

/// Rows of a product of a group, and the columns of the narrowest panel.
static constexpr int64_t productRows = 64, panelColumns = 16;

FailureOr<QuerySumsPart> QuerySumsPart::get(Operation *op, int64_t queries,
                                            int64_t columns, int64_t groups) {
  QuerySumsPart part;
  // Warps of one group divide the columns.
  if (groups == 1 && columns % productRows == 0 &&
      queries % panelColumns == 0) {
    part.ofColumns = part.transposed = true;
    part.queries = queries;
    part.columns = columns;
    return part;
  }
  if (queries == productRows && columns % (panelColumns * groups) == 0) {
    part.ofColumns = true;
    part.queries = queries;
    part.columns = columns / groups;
    return part;
  }
  if (queries == productRows * groups) {
    part.queries = productRows;
    part.columns = columns;
    return part;
  }
  if (columns == productRows * groups && queries % 8 == 0) {
    part.ofColumns = part.transposed = true;
    part.queries = queries;
    part.columns = productRows;
    return part;
  }
  return op->emitOpError() << "adds to the gradient of blocks of " << queries
                           << " queries of " << columns << " head dims, which "
                           << groups << " groups cannot divide; expected "
                           << productRows * groups << " queries, "
                           << productRows << " queries and a multiple of "
                           << panelColumns * groups << " head dims, or "
                           << productRows * groups << " head dims";
}

bool mlir::fa::addsByWords(func::FuncOp kernel) {
  auto chip =
      kernel->getAttrOfType<StringAttr>(fagpu::FAGPUDialect::kernelAttrName);
  return !lookupGPUTarget(chip.getValue())->hasVectorAdds;
}

FailureOr<QuerySums> QuerySums::resolve(OpBuilder &builder, Operation *user,
                                        Value slice) {
  Location loc = user->getLoc();
  // By dimension of the slice; null for 0.
  SmallVector<Value> offsets(cast<MemRefType>(slice.getType()).getRank());
  auto add = [&](Value &sum, OpFoldResult more) {
    Value by = getValueOrCreateConstantIndexOp(builder, loc, more);
    sum = sum ? builder.createOrFold<arith::AddIOp>(loc, sum, by) : by;
  };
  Value at = slice;
  while (Operation *source = at.getDefiningOp()) {
    if (auto cast = dyn_cast<memref::CastOp>(source)) {
      at = cast.getSource();
      continue;
    }
    auto view = dyn_cast<memref::SubViewOp>(source);
    if (!view || !view.hasUnitStride())
      break;
    SmallVector<Value> outer;
    llvm::SmallBitVector dropped = view.getDroppedDims();
    unsigned next = 0;
    for (auto [dim, offset] : llvm::enumerate(view.getMixedOffsets())) {
      outer.push_back(dropped[dim] ? Value() : offsets[next++]);
      add(outer.back(), offset);
    }
    offsets = outer;
    at = view.getSource();
  }
  auto expand = at.getDefiningOp<memref::ExpandShapeOp>();
  if (!expand || expand.getSrcType().getRank() != 3 || offsets.size() != 4 ||
      !isa<BlockArgument>(expand.getSrc()))
    return user->emitOpError()
           << "adds up gradients of queries in memory that is no view of "
              "batch x heads x elements, as fa-tile-gradient makes them";
  for (Value &offset : offsets)
    if (!offset)
      offset = arith::ConstantIndexOp::create(builder, loc, 0);
  int64_t headDim = expand.getResultType().getDimSize(3);
  Value element =
      multiplyShort(builder, loc, offsets[2],
                    arith::ConstantIndexOp::create(builder, loc, headDim));
  element = builder.createOrFold<arith::AddIOp>(loc, element, offsets[3]);
  return QuerySums{expand.getSrc(), offsets[0], offsets[1], element};
}

SmallVector<Value> QuerySums::getOffsets(OpBuilder &builder, Location loc,
                                         Value group, int64_t elements) const {
  Blocks blocks(builder, loc);
  Value first = blocks.cast32(element);
  if (group) {
    Value size = arith::ConstantIntOp::create(builder, loc, elements, 32);
    first = builder.createOrFold<arith::AddIOp>(
        loc, first, multiplyShort(builder, loc, group, size));
  }
  return {blocks.cast32(batch), blocks.cast32(head), first};
}
