//===- TensorMap.cpp - Views that bulk copies have of memory --------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMap.h"
#include "fa/Dialect/FAGPU/IR/Outside.h"
#include "fa/Dialect/FAGPU/IR/PageCopies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fagpu;

DictionaryAttr TensorMap::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("kind", builder.getStringAttr("tensor_map")),
      builder.getNamedAttr("argument", builder.getI64IntegerAttr(argument)),
      builder.getNamedAttr("box", builder.getI64ArrayAttr(box)),
      builder.getNamedAttr("columns", builder.getI64IntegerAttr(columns)),
      builder.getNamedAttr("panels", builder.getI64IntegerAttr(panels)),
      builder.getNamedAttr("swizzle", builder.getI64IntegerAttr(swizzle)),
      builder.getNamedAttr("l2_promotion",
                           builder.getI64IntegerAttr(l2Promotion)),
      builder.getNamedAttr("bounded", builder.getBoolAttr(bounded))};
  if (bounded)
    entries.push_back(
        builder.getNamedAttr("row", builder.getI64IntegerAttr(row)));
  if (fillsNaN)
    entries.push_back(builder.getNamedAttr("nan", builder.getUnitAttr()));
  return builder.getDictionaryAttr(entries);
}

/// A map knows one end of the columns, that of the memory.
static LogicalResult verifyColumnBound(Operation *op, Value columns,
                                       MemRefType memory) {
  int64_t size = memory.getShape().back();
  APInt bound;
  if (matchPattern(columns, m_ConstantInt(&bound)) &&
      bound.getSExtValue() == size)
    return success();
  InFlightDiagnostic error = op->emitOpError() << "copies in bulk up to ";
  if (matchPattern(columns, m_ConstantInt(&bound)))
    error << "column " << bound.getSExtValue();
  else
    error << "a column that is no constant";
  return error << " of " << memory
               << ", expected the constant size of the last dimension, where a "
                  "tensor map ends";
}

/// The map that copies `box` of `memory` from or to tiles of `tile`.
static FailureOr<TensorMap> makeBoxMap(Operation *op, Value memory,
                                       ValueRange offsets,
                                       ArrayRef<int64_t> box, unsigned rowDim,
                                       ViewType tile, bool bounded,
                                       Value columns, int64_t sharers = 1) {
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return op->emitOpError() << "copies memory that is no argument of the "
                                "kernel, so there is no tensor map of it";
  int64_t swizzle = tile.getLayout().getSwizzle();
  int64_t elementBits = tile.getElementType().getIntOrFloatBitWidth();
  if (!swizzle || (elementBits != 16 && elementBits != 32))
    return op->emitOpError() << "copies a tile " << tile
                             << " in bulk, expected elements of 16 or 32 bits "
                                "and a swizzle of 32, 64 or 128 bytes";
  TensorMap map;
  map.argument = argument.getArgNumber();
  map.box.assign(box.begin(), box.end());
  map.columns = swizzle * 8 / elementBits;
  map.panels = box.back() / map.columns;
  map.swizzle = swizzle;
  map.bounded = bounded;
  map.row = rowDim;
  if (box.back() % map.columns)
    return op->emitOpError()
           << "copies " << box.back() << " columns, expected a multiple of "
           << map.columns;
  if (columns && failed(verifyColumnBound(op, columns,
                                          cast<MemRefType>(memory.getType()))))
    return failure();
  // A dimension of panels has no end of columns, and starts at whole panels.
  APInt column;
  bool startsAtPanel = matchPattern(offsets.back(), m_ConstantInt(&column)) &&
                       column.getSExtValue() % map.columns == 0;
  // A box of part of the rows is not contiguous in the tile across panels.
  bool isPart =
      ShapedType::getNumElements(box.drop_back()) != tile.getShape()[0];
  if (columns || !startsAtPanel || sharers > 1 || isPart) {
    map.copies = map.panels;
    map.panels = 1;
    map.box.back() = map.columns;
  }
  map.box[rowDim] /= sharers;
  for (auto [dim, size] : llvm::enumerate(box.drop_back()))
    if (bounded && size > 1 && dim != rowDim)
      return op->emitOpError()
             << "copies " << size << " of dimension " << dim
             << " with rows(...), expected 1; a tensor map has no dimension "
                "left for the bound";
  return map;
}

int64_t mlir::fagpu::getNumSharers(Value channel) {
  auto made = channel.getDefiningOp<ChannelOp>();
  return made && made.getMulticast()
             ? getClusterSize(made->getParentOfType<func::FuncOp>())
             : 1;
}

FailureOr<TensorMap> mlir::fagpu::makeTensorMap(PutOp put) {
  SmallVector<int64_t> box(put.getSizes());
  if (put.getPages())
    box[put.getRowDim()] = PageBoxes(put).rows;
  FailureOr<TensorMap> map =
      makeBoxMap(put, put.getSource(), put.getOffsets(), box, put.getRowDim(),
                 put.getChannel().getType().getView(), put.getRows() != nullptr,
                 put.getColumns(), getNumSharers(put.getChannel()));
  if (succeeded(map))
    map->l2Promotion = put.getL2Promotion();
  if (succeeded(map))
    map->fillsNaN = fagpu::fillsNaN(put);
  return map;
}

FailureOr<TensorMap> mlir::fagpu::makeTensorMap(StoreOp store) {
  return makeBoxMap(store, store.getDestination(), store.getOffsets(),
                    store.getBox(), store.getRowDim(),
                    store.getVia().getType().getView(),
                    store.getRows() != nullptr, store.getColumns());
}

FailureOr<TensorMap> mlir::fagpu::makeTensorMap(DrainOp drain) {
  return makeBoxMap(drain, drain.getDestination(), drain.getOffsets(),
                    drain.getBox(), drain.getRowDim(),
                    drain.getView().getType(), drain.getRows() != nullptr,
                    /*columns=*/Value());
}
