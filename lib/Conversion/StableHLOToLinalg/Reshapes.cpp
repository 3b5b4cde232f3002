//===- Reshapes.cpp - Reshapes of StableHLO -------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A reshape is split into groups of dimensions that hold as many elements
// before as after: they are collapsed, then expanded. Sizes known at run time
// only have to be the same by what the program says, else it is a
// `tensor.reshape`. Read `importReshape`, at the end, first.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

namespace {
/// Which dimensions before become which ones after.
struct Groups {
  SmallVector<ReassociationIndices> source, result;
};
} // namespace

/// Whether a group is complete, or which side needs another dimension.
enum class Side { None, Source, Result, Unknown };

static Side compare(const Sizes &sizes, ArrayRef<OpFoldResult> source,
                    ArrayRef<OpFoldResult> result) {
  Sizes::Factors before, after;
  for (OpFoldResult size : source)
    Sizes::multiply(before, size);
  for (OpFoldResult size : result)
    Sizes::multiply(after, size);
  sizes.cancel(before, after);
  if (!before.others.empty() && !after.others.empty())
    return Side::Unknown;
  if (!before.others.empty())
    return Side::Result;
  if (!after.others.empty())
    return Side::Source;
  if (before.constant == after.constant)
    return Side::None;
  return before.constant < after.constant ? Side::Source : Side::Result;
}

/// The smallest groups, or nothing if they are not known.
static std::optional<Groups> findGroups(const Sizes &sizes,
                                        ArrayRef<OpFoldResult> source,
                                        ArrayRef<OpFoldResult> result) {
  Groups groups;
  int64_t i = 0, j = 0;
  int64_t numSource = source.size(), numResult = result.size();
  while (i < numSource && j < numResult) {
    int64_t first = i++, firstResult = j++;
    while (true) {
      Side missing = compare(sizes, source.slice(first, i - first),
                             result.slice(firstResult, j - firstResult));
      if (missing == Side::None)
        break;
      if (missing == Side::Source && i < numSource)
        ++i;
      else if (missing == Side::Result && j < numResult)
        ++j;
      else
        return std::nullopt;
    }
    groups.source.push_back(llvm::to_vector<2>(llvm::seq(first, i)));
    groups.result.push_back(llvm::to_vector<2>(llvm::seq(firstResult, j)));
  }
  // Sizes of 1 at the end.
  bool isRestOne = llvm::all_of(
      llvm::concat<const OpFoldResult>(source.drop_front(i),
                                       result.drop_front(j)),
      [](OpFoldResult size) { return getConstantIntValue(size) == 1; });
  if (!isRestOne)
    return std::nullopt;
  if (!groups.source.empty()) {
    llvm::append_range(groups.source.back(), llvm::seq(i, numSource));
    llvm::append_range(groups.result.back(), llvm::seq(j, numResult));
  }
  return groups;
}

static bool isOneToOne(ArrayRef<ReassociationIndices> groups, int64_t rank) {
  return static_cast<int64_t>(groups.size()) == rank;
}

/// The groups' dimensions collapsed, then expanded. Null where a size is static
/// on one side only, which these operations do not allow.
static Value reshapeByGroups(Importer &importer, Value source,
                             RankedTensorType type,
                             ArrayRef<OpFoldResult> sizes,
                             const Groups &groups) {
  ImplicitLocOpBuilder &builder = importer.builder;
  auto sourceType = cast<RankedTensorType>(source.getType());
  auto collapse = [](RankedTensorType type,
                     ArrayRef<ReassociationIndices> groups) {
    SmallVector<int64_t> shape;
    for (const ReassociationIndices &group : groups) {
      int64_t size = 1;
      for (int64_t dim : group)
        size = ShapedType::isDynamic(size) || type.isDynamicDim(dim)
                   ? ShapedType::kDynamic
                   : size * type.getDimSize(dim);
      shape.push_back(size);
    }
    return RankedTensorType::get(shape, type.getElementType());
  };
  RankedTensorType between = collapse(sourceType, groups.source);
  if (between != collapse(type, groups.result))
    return {};
  Value value = source;
  if (!isOneToOne(groups.source, sourceType.getRank()))
    value =
        tensor::CollapseShapeOp::create(builder, between, value, groups.source);
  if (!isOneToOne(groups.result, type.getRank()))
    value = tensor::ExpandShapeOp::create(builder, type, value, groups.result,
                                          importer.fit(type, sizes));
  return value;
}

/// A reshape of sizes known at run time.
static Value reshapeAtRunTime(Importer &importer, Value source,
                              RankedTensorType type,
                              ArrayRef<OpFoldResult> sizes) {
  ImplicitLocOpBuilder &builder = importer.builder;
  SmallVector<Value> numbers =
      getValueOrCreateConstantIndexOp(builder, builder.getLoc(), sizes);
  auto shapeType =
      RankedTensorType::get({type.getRank()}, builder.getIndexType());
  Value shape = tensor::FromElementsOp::create(builder, shapeType, numbers);
  return tensor::ReshapeOp::create(builder, type, source, shape);
}

/// Few integers by themselves, such as a size made a tensor of one element.
static Value reshapeIntegers(Importer &importer, Value source,
                             RankedTensorType type) {
  auto isOne = [](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.hasStaticShape() && tensor.getNumElements() == 1 &&
           tensor.getRank() <= 1;
  };
  if (!isOne(type) || !isOne(source.getType()))
    return {};
  Value element = importer.sizes.getElement(importer.builder, source);
  return tensor::FromElementsOp::create(importer.builder, type, element);
}

static LogicalResult importReshape(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  RankedTensorType type = Importer::getType(op);
  Value source = op->getOperand(0);
  if (Value result = reshapeIntegers(importer, source, type))
    return importer.replace(op, result);
  bool isDynamic = op->getNumOperands() == 2;
  if (isDynamic && failed(checkShape(op, 1)))
    return failure();
  if (!isDynamic && !type.hasStaticShape())
    return refuse(op) << "has a result of type " << type
                      << ", expected a static shape";
  SizeList sizes;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    sizes.push_back(ShapedType::isDynamic(size)
                        ? importer.sizes.getIndex(builder, op->getOperand(1), i)
                        : OpFoldResult(builder.getIndexAttr(size)));
  SizeList before = importer.sizes.get(builder, source);
  auto sourceType = cast<RankedTensorType>(source.getType());
  if (sourceType.hasStaticShape() && type.hasStaticShape() &&
      sourceType.getNumElements() != type.getNumElements())
    return refuse(op) << "makes " << type << " of " << sourceType
                      << ", expected as many elements";
  Value result;
  if (std::optional<Groups> groups = findGroups(importer.sizes, before, sizes))
    result = reshapeByGroups(importer, source, type, sizes, *groups);
  if (!result)
    result = reshapeAtRunTime(importer, source, type, sizes);
  importer.sizes.record(result, importer.fit(type, sizes));
  return importer.replace(op, result);
}

void stablehlo::addReshapes(ImportTable &table) {
  table["stablehlo.reshape"] = {importReshape, 1};
  table["stablehlo.dynamic_reshape"] = {importReshape, 2};
}
