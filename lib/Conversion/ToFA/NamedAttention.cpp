//===- NamedAttention.cpp - Attention operations of others ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention operations of others as generics. First operands and attributes
// (`readNamedAttention`, with a reader for torch-mlir and one for IREE), then
// the decomposition (`Decomposition::write`). Only the matcher reads what it
// writes, so that it does without the maximum of a row.
//
//===----------------------------------------------------------------------===//

#include "NamedAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool isTensorOfRank(Value value, int64_t rank) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == rank;
}

/// tm_tensor.attention(query, key, value, [mask], destination): batches, then
/// sequence and head dim. Rows whose weights add up to 0 are 0.
static std::optional<NamedAttention> readTMTensor(Operation *op,
                                                  std::string &reason) {
  unsigned numOperands = op->getNumOperands();
  if (numOperands < 4 || numOperands > 5 || op->getNumResults() != 1) {
    reason = "it has " + std::to_string(numOperands) +
             " operands, expected query, key, value, a mask perhaps, and a "
             "destination";
    return std::nullopt;
  }
  NamedAttention attention;
  attention.op = op;
  attention.query = op->getOperand(0);
  attention.key = op->getOperand(1);
  attention.value = op->getOperand(2);
  auto type = dyn_cast<RankedTensorType>(attention.query.getType());
  int64_t rank = type ? type.getRank() : 0;
  bool hasMask = numOperands == 5;
  if (rank < 2 ||
      llvm::any_of(
          op->getOperands(),
          [&](Value operand) { return !isTensorOfRank(operand, rank); })) {
    reason = "its operands are not all tensors of one rank";
    return std::nullopt;
  }
  int64_t headDim = type.getDimSize(rank - 1);
  if (auto scale = op->getAttrOfType<FloatAttr>("scale")) {
    attention.scaleNumber = scale.getValueAsDouble();
  } else if (ShapedType::isStatic(headDim)) {
    attention.scaleNumber = 1 / std::sqrt(double(headDim));
  } else {
    reason = "its head dim is dynamic";
    return std::nullopt;
  }
  // Loops: batches, query, key, head dim, value head dim.
  MLIRContext *context = op->getContext();
  unsigned batches = rank - 2, numLoops = batches + 4;
  auto getMap = [&](unsigned row, unsigned column) {
    SmallVector<AffineExpr> results;
    for (unsigned batch = 0; batch < batches; ++batch)
      results.push_back(getAffineDimExpr(batch, context));
    results.push_back(getAffineDimExpr(batches + row, context));
    results.push_back(getAffineDimExpr(batches + column, context));
    return AffineMap::get(numLoops, 0, results, context);
  };
  attention.queryMap = getMap(0, 2);
  attention.keyMap = getMap(1, 2);
  attention.valueMap = getMap(1, 3);
  attention.outputMap = getMap(0, 3);
  if (hasMask) {
    attention.mask = op->getOperand(3);
    attention.maskMap = getMap(0, 1);
  }
  attention.isZeroWithoutKeys = true;
  return attention;
}

/// iree_linalg_ext.attention(query, key, value, scale, [mask], destination),
/// with a map for each operand and a region on the scaled score.
static std::optional<NamedAttention> readIREE(Operation *op,
                                              std::string &reason) {
  auto maps = op->getAttrOfType<ArrayAttr>("indexing_maps");
  unsigned numOperands = op->getNumOperands();
  if (!maps || maps.size() != numOperands || numOperands < 5 ||
      numOperands > 6 || op->getNumResults() != 1 ||
      !llvm::all_of(maps, llvm::IsaPred<AffineMapAttr>)) {
    reason = "it has no map for each of query, key, value, scale, a mask "
             "perhaps, and a destination";
    return std::nullopt;
  }
  auto getMap = [&](unsigned position) {
    return cast<AffineMapAttr>(maps[position]).getValue();
  };
  NamedAttention attention;
  attention.op = op;
  attention.query = op->getOperand(0);
  attention.key = op->getOperand(1);
  attention.value = op->getOperand(2);
  attention.scale = op->getOperand(3);
  attention.queryMap = getMap(0);
  attention.keyMap = getMap(1);
  attention.valueMap = getMap(2);
  attention.outputMap = getMap(numOperands - 1);
  if (numOperands == 6) {
    attention.mask = op->getOperand(4);
    attention.maskMap = getMap(4);
  }
  if (!attention.scale.getType().isF32()) {
    reason = "its scale is not f32";
    return std::nullopt;
  }
  for (unsigned position : {0u, 1u, 2u, numOperands - 1}) {
    AffineMap map = getMap(position);
    if (!isTensorOfRank(op->getOperand(position), map.getNumResults()) ||
        !map.isProjectedPermutation()) {
      reason = "an operand is no tensor with a permutation of loops";
      return std::nullopt;
    }
  }
  if (op->getNumRegions() == 1 && !op->getRegion(0).empty()) {
    Region &region = op->getRegion(0);
    Operation *yield = region.hasOneBlock() && !region.front().empty()
                           ? &region.front().back()
                           : nullptr;
    if (!yield || region.getNumArguments() != 1 ||
        !region.getArgument(0).getType().isF32() ||
        yield->getName().getStringRef() != "iree_linalg_ext.yield" ||
        yield->getNumOperands() != 1 ||
        !yield->getOperand(0).getType().isF32()) {
      reason = "its region is not on one f32";
      return std::nullopt;
    }
    for (Operation &nested : llvm::drop_end(region.front()))
      if (!isPure(&nested)) {
        reason = "its region has an operation with side effects";
        return std::nullopt;
      }
    attention.score = &region;
  }
  return attention;
}

/// Each loop has one size, in all operands that have one.
static bool hasEqualSizes(const NamedAttention &attention) {
  SmallVector<int64_t> sizes(attention.queryMap.getNumDims(),
                             ShapedType::kDynamic);
  auto take = [&](Value value, AffineMap map) {
    auto type = value ? dyn_cast<RankedTensorType>(value.getType())
                      : RankedTensorType();
    if (!value)
      return true;
    if (!type || type.getRank() != map.getNumResults())
      return false;
    for (auto [size, expr] :
         llvm::zip_equal(type.getShape(), map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        return false;
      int64_t &known = sizes[loop.getPosition()];
      if (ShapedType::isDynamic(known))
        known = size;
      if (ShapedType::isStatic(size) && size != known)
        return false;
    }
    return true;
  };
  return take(attention.query, attention.queryMap) &&
         take(attention.key, attention.keyMap) &&
         take(attention.value, attention.valueMap) &&
         take(attention.mask, attention.maskMap) &&
         take(attention.op->getResult(0), attention.outputMap);
}

std::optional<NamedAttention>
mlir::fa::readNamedAttention(Operation *op, std::string &reason) {
  StringRef name = op->getName().getStringRef();
  std::optional<NamedAttention> attention;
  if (name == "tm_tensor.attention")
    attention = readTMTensor(op, reason);
  else if (name == "iree_linalg_ext.attention")
    attention = readIREE(op, reason);
  if (attention && !hasEqualSizes(*attention)) {
    reason = "the sizes of its operands do not agree";
    return std::nullopt;
  }
  return attention;
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

namespace {
/// Writes generics over sets of the attention's loops.
class Decomposition {
public:
  Decomposition(const NamedAttention &attention, OpBuilder &builder)
      : attention(attention), builder(builder), loc(attention.op->getLoc()) {}

  linalg::GenericOp write();

private:
  using Body = function_ref<Value(OpBuilder &, ValueRange)>;
  struct Operand {
    Value value;
    AffineMap map;
  };
  /// A generic over `loops`, with the result's dimensions `dims`, started from
  /// 0 where loops are added up.
  linalg::GenericOp write(ArrayRef<unsigned> loops, ArrayRef<unsigned> dims,
                          Type element, ArrayRef<Operand> inputs, Body body);
  AffineMap restrict(AffineMap map, ArrayRef<unsigned> loops);
  AffineMap getMap(ArrayRef<unsigned> dims);
  OpFoldResult getSize(unsigned loop);
  Value widen(OpBuilder &nested, Value value);

  const NamedAttention &attention;
  OpBuilder &builder;
  Location loc;
};
} // namespace

static bool holds(AffineMap map, unsigned loop) {
  return map.isFunctionOfDim(loop);
}

AffineMap Decomposition::getMap(ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(attention.queryMap.getNumDims(), 0, results,
                        builder.getContext());
}

/// The map on some of the loops.
AffineMap Decomposition::restrict(AffineMap map, ArrayRef<unsigned> loops) {
  SmallVector<AffineExpr> dims(map.getNumDims(),
                               builder.getAffineConstantExpr(0));
  for (auto [position, loop] : llvm::enumerate(loops))
    dims[loop] = builder.getAffineDimExpr(position);
  return map.replaceDimsAndSymbols(dims, {}, loops.size(), 0);
}

OpFoldResult Decomposition::getSize(unsigned loop) {
  for (auto [value, map] :
       {std::make_pair(attention.query, attention.queryMap),
        std::make_pair(attention.key, attention.keyMap),
        std::make_pair(attention.value, attention.valueMap)})
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (expr == builder.getAffineDimExpr(loop))
        return tensor::getMixedSize(builder, loc, value, dim);
  llvm_unreachable("each loop is one of query, key or value");
}

Value Decomposition::widen(OpBuilder &nested, Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(nested, loc, nested.getF32Type(), value);
}

linalg::GenericOp Decomposition::write(ArrayRef<unsigned> loops,
                                       ArrayRef<unsigned> dims, Type element,
                                       ArrayRef<Operand> inputs, Body body) {
  SmallVector<OpFoldResult> sizes;
  for (unsigned dim : dims)
    sizes.push_back(getSize(dim));
  Value init = tensor::EmptyOp::create(builder, loc, sizes, element);
  bool reduces = loops.size() != dims.size();
  if (reduces) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
    init = linalg::FillOp::create(builder, loc, zero, init).getResult(0);
  }
  SmallVector<AffineMap> maps;
  SmallVector<Value> values;
  for (const Operand &input : inputs) {
    maps.push_back(restrict(input.map, loops));
    values.push_back(input.value);
  }
  maps.push_back(restrict(getMap(dims), loops));
  SmallVector<utils::IteratorType> kinds;
  for (unsigned loop : loops)
    kinds.push_back(llvm::is_contained(dims, loop)
                        ? utils::IteratorType::parallel
                        : utils::IteratorType::reduction);
  return linalg::GenericOp::create(
      builder, loc, init.getType(), values, init, maps, kinds,
      [&](OpBuilder &nested, Location at, ValueRange arguments) {
        Value result = body(nested, arguments);
        if (reduces)
          result = arith::AddFOp::create(nested, at, arguments.back(), result);
        linalg::YieldOp::create(nested, at, result);
      });
}

linalg::GenericOp Decomposition::write() {
  SmallVector<unsigned> scoreLoops, scoreDims, rowDims, outputLoops, outputDims;
  for (AffineExpr expr : attention.outputMap.getResults())
    outputDims.push_back(cast<AffineDimExpr>(expr).getPosition());
  for (unsigned loop = 0; loop < attention.queryMap.getNumDims(); ++loop) {
    bool ofQuery = holds(attention.queryMap, loop),
         ofKey = holds(attention.keyMap, loop),
         ofValue = holds(attention.valueMap, loop),
         ofOutput = holds(attention.outputMap, loop);
    bool isHeadDim = ofQuery && ofKey && !ofValue && !ofOutput;
    if (ofQuery || ofKey)
      scoreLoops.push_back(loop);
    if ((ofQuery || ofKey) && !isHeadDim) {
      scoreDims.push_back(loop);
      if (ofOutput)
        rowDims.push_back(loop);
    }
    if (!isHeadDim)
      outputLoops.push_back(loop);
  }
  Type f32 = builder.getF32Type();
  AffineMap scoreMap = getMap(scoreDims), rowMap = getMap(rowDims);
  Value scores = write(scoreLoops, scoreDims, f32,
                       {{attention.query, attention.queryMap},
                        {attention.key, attention.keyMap}},
                       [&](OpBuilder &nested, ValueRange values) -> Value {
                         return arith::MulFOp::create(nested, loc,
                                                      widen(nested, values[0]),
                                                      widen(nested, values[1]));
                       })
                     .getResult(0);
  SmallVector<Operand> inputs{{scores, scoreMap}};
  if (attention.mask)
    inputs.push_back({attention.mask, attention.maskMap});
  auto getScore = [&](OpBuilder &nested, ValueRange values) -> Value {
    Value factor = attention.scale;
    if (!factor) {
      // Not rounded: the number may be one of f64.
      Value number = arith::ConstantOp::create(
          nested, loc, nested.getF64FloatAttr(attention.scaleNumber));
      factor = arith::TruncFOp::create(nested, loc, f32, number);
    }
    Value score = arith::MulFOp::create(nested, loc, values[0], factor);
    if (attention.score) {
      IRMapping mapping;
      Block &block = attention.score->front();
      mapping.map(block.getArgument(0), score);
      // The last one is of a dialect that is not registered.
      for (Operation &op : llvm::drop_end(block))
        nested.clone(op, mapping);
      score = mapping.lookupOrDefault(block.back().getOperand(0));
    }
    if (!attention.mask)
      return score;
    Value mask = values[1];
    if (mask.getType().isInteger(1)) {
      Value infinity = arith::ConstantOp::create(
          nested, loc,
          FloatAttr::get(f32, -std::numeric_limits<double>::infinity()));
      return arith::SelectOp::create(nested, loc, mask, score, infinity);
    }
    return arith::AddFOp::create(nested, loc, score, widen(nested, mask));
  };
  Value weights =
      write(scoreDims, scoreDims, f32, inputs,
            [&](OpBuilder &nested, ValueRange values) -> Value {
              return math::ExpOp::create(nested, loc, getScore(nested, values));
            })
          .getResult(0);
  Value sums =
      write(scoreDims, rowDims, f32, {{weights, scoreMap}},
            [&](OpBuilder &, ValueRange values) -> Value { return values[0]; })
          .getResult(0);
  Value softmax =
      write(scoreDims, scoreDims, f32, {{weights, scoreMap}, {sums, rowMap}},
            [&](OpBuilder &nested, ValueRange values) -> Value {
              Value quotient =
                  arith::DivFOp::create(nested, loc, values[0], values[1]);
              if (!attention.isZeroWithoutKeys)
                return quotient;
              Value zero = arith::ConstantOp::create(nested, loc,
                                                     nested.getF32FloatAttr(0));
              Value isEmpty = arith::CmpFOp::create(
                  nested, loc, arith::CmpFPredicate::OEQ, values[1], zero);
              return arith::SelectOp::create(nested, loc, isEmpty, zero,
                                             quotient);
            })
          .getResult(0);
  Type element = getElementTypeOrSelf(attention.op->getResult(0).getType());
  return write(outputLoops, outputDims, element,
               {{softmax, scoreMap}, {attention.value, attention.valueMap}},
               [&](OpBuilder &nested, ValueRange values) -> Value {
                 Value product = arith::MulFOp::create(
                     nested, loc, values[0], widen(nested, values[1]));
                 if (element.isF32())
                   return product;
                 return arith::TruncFOp::create(nested, loc, element, product);
               });
}

linalg::GenericOp
mlir::fa::decomposeNamedAttention(const NamedAttention &attention,
                                  OpBuilder &builder) {
  return Decomposition(attention, builder).write();
}
