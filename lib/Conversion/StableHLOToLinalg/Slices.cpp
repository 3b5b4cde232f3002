//===- Slices.cpp - Slices, concatenations and paddings of StableHLO ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each operation, and a table of them at the end. Starts that
// are known at run time are clamped, as StableHLO says (`clampStarts`). Slices
// come first, then concatenations, of tensors and of shapes
// (`concatenateSizes`), then paddings.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

/// Integers, one for each dimension of the first operand.
static FailureOr<SmallVector<int64_t>> readForDims(Operation *op,
                                                   StringRef name) {
  FailureOr<SmallVector<int64_t>> list = readIntegers(op, name);
  if (failed(list))
    return failure();
  if (list->size() != Importer::getRank(op->getOperand(0)))
    return refuse(op) << "has " << list->size() << " numbers in '" << name
                      << "', expected one for each dimension of "
                      << op->getOperand(0).getType();
  return list;
}

static Value extract(Importer &importer, RankedTensorType type, Value source,
                     ArrayRef<OpFoldResult> offsets,
                     ArrayRef<OpFoldResult> sizes,
                     ArrayRef<OpFoldResult> strides) {
  Value result =
      tensor::ExtractSliceOp::create(importer.builder, type, source, offsets,
                                     importer.fit(type, sizes), strides);
  importer.sizes.record(result, importer.fit(type, sizes));
  return result;
}

static Value insert(Importer &importer, Value part, Value whole,
                    ArrayRef<OpFoldResult> offsets) {
  SizeList sizes = importer.sizes.get(importer.builder, part);
  SizeList ones(sizes.size(), importer.builder.getIndexAttr(1));
  Value result = tensor::InsertSliceOp::create(importer.builder, part, whole,
                                               offsets, sizes, ones);
  importer.sizes.record(result, importer.sizes.get(importer.builder, whole));
  return result;
}

/// Operands from `first` on have to be single numbers.
static LogicalResult checkNumbers(Operation *op, unsigned first) {
  for (unsigned i : llvm::seq(first, op->getNumOperands()))
    if (failed(checkNumber(op, i)))
      return failure();
  return success();
}

static LogicalResult importSlice(Operation *op, Importer &importer) {
  FailureOr<SmallVector<int64_t>> starts = readForDims(op, "start_indices");
  if (failed(starts))
    return failure();
  FailureOr<SmallVector<int64_t>> strides = readForDims(op, "strides");
  if (failed(strides))
    return failure();
  RankedTensorType type = Importer::getType(op);
  if (!type.hasStaticShape() ||
      static_cast<size_t>(type.getRank()) != starts->size())
    return refuse(op) << "has a result of type " << type
                      << ", expected a static shape of rank " << starts->size();
  Value result =
      extract(importer, type, op->getOperand(0),
              getAsIndexOpFoldResult(op->getContext(), *starts),
              getAsIndexOpFoldResult(op->getContext(), type.getShape()),
              getAsIndexOpFoldResult(op->getContext(), *strides));
  return importer.replace(op, result);
}

/// Where a slice of run-time position begins: StableHLO moves it into the
/// tensor.
static SizeList clampStarts(Importer &importer, ValueRange starts,
                            ArrayRef<OpFoldResult> whole,
                            ArrayRef<OpFoldResult> part) {
  ImplicitLocOpBuilder &builder = importer.builder;
  SizeList offsets;
  for (auto [start, size, length] : llvm::zip_equal(starts, whole, part)) {
    OpFoldResult offset = importer.sizes.getIndex(builder, start);
    std::optional<int64_t> known = getConstantIntValue(offset);
    std::optional<int64_t> total = getConstantIntValue(size);
    std::optional<int64_t> taken = getConstantIntValue(length);
    if (known && total && taken) {
      offsets.push_back(builder.getIndexAttr(std::clamp<int64_t>(
          *known, 0, std::max<int64_t>(*total - *taken, 0))));
      continue;
    }
    auto toValue = [&](OpFoldResult number) {
      return getValueOrCreateConstantIndexOp(builder, builder.getLoc(), number);
    };
    Value zero = arith::ConstantIndexOp::create(builder, 0);
    Value last =
        builder.createOrFold<arith::SubIOp>(toValue(size), toValue(length));
    Value above = arith::MaxSIOp::create(builder, toValue(offset), zero);
    offsets.push_back(arith::MinSIOp::create(builder, above, last).getResult());
  }
  return offsets;
}

static LogicalResult importDynamicSlice(Operation *op, Importer &importer) {
  RankedTensorType type = Importer::getType(op);
  Value source = op->getOperand(0);
  if (op->getNumOperands() != 1 + type.getRank() || !type.hasStaticShape() ||
      Importer::getRank(source) != type.getRank())
    return refuse(op) << "has " << op->getNumOperands() - 1
                      << " start indices for a result of type " << type;
  if (failed(checkNumbers(op, 1)))
    return failure();
  SizeList whole = importer.sizes.get(importer.builder, source);
  SizeList part = getAsIndexOpFoldResult(op->getContext(), type.getShape());
  SizeList ones(part.size(), importer.builder.getIndexAttr(1));
  SizeList offsets =
      clampStarts(importer, op->getOperands().drop_front(), whole, part);
  return importer.replace(op,
                          extract(importer, type, source, offsets, part, ones));
}

static LogicalResult importDynamicUpdate(Operation *op, Importer &importer) {
  Value whole = op->getOperand(0), part = op->getOperand(1);
  if (op->getNumOperands() != 2 + Importer::getRank(whole) ||
      Importer::getRank(part) != Importer::getRank(whole))
    return refuse(op) << "has " << op->getNumOperands()
                      << " operands for an update of " << whole.getType();
  if (failed(checkNumbers(op, 2)))
    return failure();
  SizeList offsets = clampStarts(importer, op->getOperands().drop_front(2),
                                 importer.sizes.get(importer.builder, whole),
                                 importer.sizes.get(importer.builder, part));
  return importer.replace(op, insert(importer, part, whole, offsets));
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

/// The shape of a dynamic operation: few integers, which stay by themselves.
static Value concatenateSizes(Operation *op, Importer &importer) {
  RankedTensorType type = Importer::getType(op);
  if (type.getRank() != 1 || !type.hasStaticShape() ||
      type.getDimSize(0) > 16 || !isa<IntegerType>(type.getElementType()) ||
      llvm::any_of(op->getOperandTypes(), [](Type type) {
        return !cast<RankedTensorType>(type).hasStaticShape();
      }))
    return {};
  SmallVector<Value> elements;
  for (Value operand : op->getOperands())
    for (int64_t i :
         llvm::seq(cast<RankedTensorType>(operand.getType()).getDimSize(0)))
      elements.push_back(
          importer.sizes.getElement(importer.builder, operand, i));
  return tensor::FromElementsOp::create(importer.builder, type, elements);
}

static LogicalResult importConcatenate(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  RankedTensorType type = Importer::getType(op);
  FailureOr<int64_t> dim = readInteger(op, "dimension");
  if (failed(dim))
    return failure();
  if (*dim < 0 || *dim >= type.getRank())
    return refuse(op) << "has 'dimension' = " << *dim
                      << ", expected a dimension of " << type;
  for (Value operand : op->getOperands())
    if (Importer::getRank(operand) != type.getRank() ||
        getElementTypeOrSelf(operand) != type.getElementType())
      return refuse(op) << "has an operand of type " << operand.getType()
                        << " for a result of type " << type;
  if (Value result = concatenateSizes(op, importer))
    return importer.replace(op, result);
  auto add = [&](OpFoldResult first, OpFoldResult second) -> OpFoldResult {
    auto known = getConstantIntValue(first),
         other = getConstantIntValue(second);
    if (known && other)
      return builder.getIndexAttr(*known + *other);
    return builder.createOrFold<arith::AddIOp>(
        getValueOrCreateConstantIndexOp(builder, builder.getLoc(), first),
        getValueOrCreateConstantIndexOp(builder, builder.getLoc(), second));
  };
  SmallVector<OpFoldResult> places = {builder.getIndexAttr(0)};
  for (Value operand : op->getOperands())
    places.push_back(
        add(places.back(), importer.sizes.get(builder, operand)[*dim]));
  SizeList sizes = importer.sizes.get(builder, op->getOperand(0));
  sizes[*dim] = places.back();
  Value result = importer.makeEmpty(type, sizes);
  SizeList offsets(type.getRank(), builder.getIndexAttr(0));
  for (auto [operand, place] : llvm::zip(op->getOperands(), places)) {
    offsets[*dim] = place;
    result = insert(importer, operand, result, offsets);
  }
  return importer.replace(op, result);
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

static LogicalResult importPad(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  SmallVector<SmallVector<int64_t>, 3> amounts;
  for (StringRef name :
       {"edge_padding_low", "edge_padding_high", "interior_padding"}) {
    FailureOr<SmallVector<int64_t>> list = readForDims(op, name);
    if (failed(list))
      return failure();
    for (int64_t amount : *list)
      if (amount < 0 || (amount && name == "interior_padding"))
        return refuse(op) << "has " << amount << " in '" << name
                          << "', expected "
                          << (name == "interior_padding" ? "0" : "0 or more");
    amounts.push_back(*list);
  }
  RankedTensorType type = Importer::getType(op);
  if (failed(checkNumber(op, 1)))
    return failure();
  Value number = importer.sizes.getElement(builder, op->getOperand(1));
  Value result = tensor::PadOp::create(
      builder, type, op->getOperand(0),
      getAsIndexOpFoldResult(op->getContext(), amounts[0]),
      getAsIndexOpFoldResult(op->getContext(), amounts[1]), number);
  return importer.replace(op, result);
}

void stablehlo::addSlices(ImportTable &table) {
  table["stablehlo.slice"] = {importSlice, 1};
  table["stablehlo.dynamic_slice"] = {importDynamicSlice, -1};
  table["stablehlo.dynamic_update_slice"] = {importDynamicUpdate, -1};
  table["stablehlo.concatenate"] = {importConcatenate, -1};
  table["stablehlo.pad"] = {importPad, 2};
}
