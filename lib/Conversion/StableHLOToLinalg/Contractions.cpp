//===- Contractions.cpp - Contractions and reductions of StableHLO --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `dot_general` becomes a generic with the precision that its algorithm names,
// `reduce` one with the operation of its region. Read `importDotGeneral`, whose
// loops come from `readDims` and whose types from `readPrecision`; then
// `importReduce`, for which `computeRegion` copies the region.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "ScalarOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::stablehlo;

static constexpr auto parallel = utils::IteratorType::parallel;
static constexpr auto reduction = utils::IteratorType::reduction;

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

namespace {
/// Dimensions of the operands of a contraction by what they are for.
struct Dims {
  SmallVector<int64_t> batch[2], contracted[2], free[2];
};
/// The types that the operands are rounded to, and that of the sums.
struct Precision {
  Type operands[2], sum;
};
} // namespace

static FailureOr<Dims> readDims(Operation *op) {
  Fields fields(op, "dot_dimension_numbers");
  Dims dims;
  for (int i : {0, 1}) {
    StringRef side = i == 0 ? "lhs" : "rhs";
    auto read = [&](const char *name) {
      return fields.getIntegers((Twine(side) + name).str());
    };
    FailureOr<SmallVector<int64_t>> batch = read("_batching_dimensions");
    FailureOr<SmallVector<int64_t>> contracted =
        read("_contracting_dimensions");
    if (failed(batch) || failed(contracted))
      return failure();
    dims.batch[i] = *batch;
    dims.contracted[i] = *contracted;
    int64_t rank = Importer::getRank(op->getOperand(i));
    llvm::SmallBitVector used(rank);
    for (int64_t dim : llvm::concat<int64_t>(*batch, *contracted)) {
      if (dim < 0 || dim >= rank || used[dim])
        return refuse(op) << "has dimension " << dim << " of its " << side
                          << " in 'dot_dimension_numbers', expected each of "
                          << rank << " once at most";
      used.set(dim);
    }
    for (int64_t dim : llvm::seq(rank))
      if (!used[dim])
        dims.free[i].push_back(dim);
  }
  size_t rank =
      dims.batch[0].size() + dims.free[0].size() + dims.free[1].size();
  if (!fields.isPresent() || dims.batch[0].size() != dims.batch[1].size() ||
      dims.contracted[0].size() != dims.contracted[1].size() ||
      static_cast<size_t>(Importer::getType(op).getRank()) != rank)
    return refuse(op)
           << "has 'dot_dimension_numbers' that do not fit its types";
  return dims;
}

/// What sums are computed in without an `algorithm`: f32 at least, as XLA does.
static Type getDefaultSumType(Type element) {
  bool isNarrow =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isNarrow ? Float32Type::get(element.getContext()) : element;
}

static FailureOr<Precision> readPrecision(Operation *op) {
  Precision precision;
  for (int i : {0, 1})
    precision.operands[i] = getElementTypeOrSelf(op->getOperand(i).getType());
  precision.sum = getDefaultSumType(Importer::getType(op).getElementType());
  Fields fields(op, "algorithm");
  if (!fields.isPresent())
    return precision;
  for (StringRef key : {"lhs_component_count", "rhs_component_count",
                        "num_primitive_operations"})
    if (fields.get(key) != "1")
      return refuse(op) << "has '" << key << "' = " << fields.get(key)
                        << " in 'algorithm', expected 1";
  auto readType = [&](StringRef key, Type &type) -> LogicalResult {
    StringRef text = fields.get(key);
    type = text == "tf32" || text.empty() ? Type()
                                          : parseType(text, op->getContext());
    if (type && isa<FloatType>(type))
      return success();
    return refuse(op) << "has '" << key << "' = " << text
                      << " in 'algorithm', expected bf16, f16, f32 or f64";
  };
  if (failed(readType("lhs_precision_type", precision.operands[0])) ||
      failed(readType("rhs_precision_type", precision.operands[1])) ||
      failed(readType("accumulation_type", precision.sum)))
    return failure();
  precision.sum = getDefaultSumType(precision.sum);
  return precision;
}

static Value multiplyAndAdd(ImplicitLocOpBuilder &builder, Operation *op,
                            const Precision &precision, ValueRange elements) {
  Value factors[2];
  for (int i : {0, 1}) {
    Value rounded = convertElement(builder, elements[i], precision.operands[i]);
    factors[i] = convertElement(builder, rounded, precision.sum);
  }
  if (isa<FloatType>(precision.sum)) {
    Value product = arith::MulFOp::create(builder, factors[0], factors[1]);
    return arith::AddFOp::create(builder, elements[2], product);
  }
  if (precision.sum.isInteger(1)) {
    Value product = arith::AndIOp::create(builder, factors[0], factors[1]);
    return arith::OrIOp::create(builder, elements[2], product);
  }
  Value product = arith::MulIOp::create(builder, factors[0], factors[1]);
  return arith::AddIOp::create(builder, elements[2], product);
}

/// Loops are the result's dimensions, then the contracted ones.
static LogicalResult importDotGeneral(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  FailureOr<Dims> dims = readDims(op);
  if (failed(dims))
    return failure();
  FailureOr<Precision> precision = readPrecision(op);
  if (failed(precision))
    return failure();
  RankedTensorType type = Importer::getType(op);
  unsigned numLoops = type.getRank() + dims->contracted[0].size();
  SizeList sizes;
  SmallVector<SmallVector<AffineExpr>, 2> places(2);
  SizeList ofOperand[2];
  for (int i : {0, 1}) {
    ofOperand[i] = importer.sizes.get(builder, op->getOperand(i));
    places[i].resize(ofOperand[i].size());
  }
  unsigned loop = 0;
  auto pair = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
    for (auto [first, second] : llvm::zip_equal(left, right)) {
      places[0][first] = places[1][second] = builder.getAffineDimExpr(loop++);
      importer.sizes.unite(ofOperand[0][first], ofOperand[1][second]);
    }
  };
  pair(dims->batch[0], dims->batch[1]);
  for (int64_t dim : dims->batch[0])
    sizes.push_back(ofOperand[0][dim]);
  for (int i : {0, 1})
    for (int64_t dim : dims->free[i]) {
      places[i][dim] = builder.getAffineDimExpr(loop++);
      sizes.push_back(ofOperand[i][dim]);
    }
  pair(dims->contracted[0], dims->contracted[1]);

  SmallVector<AffineMap> maps;
  for (ArrayRef<AffineExpr> place : places)
    maps.push_back(AffineMap::get(numLoops, 0, place, op->getContext()));
  SmallVector<AffineExpr> ofResult;
  for (unsigned dim : llvm::seq<unsigned>(type.getRank()))
    ofResult.push_back(builder.getAffineDimExpr(dim));
  maps.push_back(AffineMap::get(numLoops, 0, ofResult, op->getContext()));
  SmallVector<utils::IteratorType> loops(type.getRank(), parallel);
  loops.resize(numLoops, reduction);
  auto sumType = type.clone(precision->sum);
  Value zero =
      arith::ConstantOp::create(builder, builder.getZeroAttr(precision->sum));
  Value init = importer.makeFilled(sumType, sizes, zero);
  auto generic = linalg::GenericOp::create(
      builder, sumType, op->getOperands(), init, maps, loops,
      [&](OpBuilder &inner, Location loc, ValueRange elements) {
        ImplicitLocOpBuilder body(loc, inner);
        Value sum = multiplyAndAdd(body, op, *precision, elements);
        linalg::YieldOp::create(body, sum);
      });
  Value result = generic.getResult(0);
  importer.sizes.record(result, importer.fit(sumType, sizes));
  return importer.replace(op,
                          importer.castElements(result, type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Computes a reduction's region on elements. The region's operations stay.
static FailureOr<SmallVector<Value>>
computeRegion(ImplicitLocOpBuilder &builder, Importer &importer, Block &block,
              ValueRange arguments) {
  IRMapping elements;
  elements.map(block.getArguments(), arguments);
  auto getElements = [&](Operation &op) -> FailureOr<SmallVector<Value>> {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      if (!elements.contains(operand))
        return refuse(&op) << "uses a value from outside of a reduction, "
                              "expected its elements and constants";
      operands.push_back(elements.lookup(operand));
    }
    return operands;
  };
  for (Operation &op : block) {
    FailureOr<SmallVector<Value>> operands = getElements(op);
    if (failed(operands))
      return failure();
    StringRef name = op.getName().getStringRef();
    if (name == "stablehlo.return")
      return operands;
    auto type = op.getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op.getResult(0).getType())
                    : RankedTensorType();
    if (!type || type.getRank() != 0)
      return refuse(&op) << "is not imported in a reduction, expected an "
                            "operation on numbers";
    if (auto value = op.getAttrOfType<DenseElementsAttr>("value");
        value && name == "stablehlo.constant") {
      elements.map(
          op.getResult(0),
          arith::ConstantOp::create(
              builder, cast<TypedAttr>(value.getSplatValue<Attribute>())));
      continue;
    }
    if (!isElementwise(name))
      return refuse(&op) << "is not imported in a reduction, expected an "
                            "elementwise operation";
    if (failed(checkElementTypes(&op)))
      return failure();
    FailureOr<Value> element =
        computeElement(builder, &op, *operands, type.getElementType());
    if (failed(element))
      return failure();
    elements.map(op.getResult(0), *element);
  }
  return refuse(block.getParentOp()) << "has a region without stablehlo.return";
}

/// The dimensions that are reduced, as bits.
static FailureOr<llvm::SmallBitVector> readReduced(Operation *op,
                                                   unsigned rank) {
  FailureOr<SmallVector<int64_t>> dims = readIntegers(op, "dimensions");
  if (failed(dims))
    return failure();
  llvm::SmallBitVector reduced(rank);
  for (int64_t dim : *dims) {
    if (dim < 0 || dim >= rank)
      return refuse(op) << "has dimension " << dim
                        << " in 'dimensions', expected 0 to " << rank - 1;
    reduced.set(dim);
  }
  return reduced;
}

static LogicalResult importReduce(Operation *op, Importer &importer) {
  ImplicitLocOpBuilder &builder = importer.builder;
  unsigned count = op->getNumResults();
  if (count == 0 || op->getNumOperands() != 2 * count ||
      !op->getRegion(0).hasOneBlock() ||
      op->getRegion(0).getNumArguments() != 2 * count)
    return refuse(op) << "has " << op->getNumOperands() << " operands and "
                      << count
                      << " results, expected two operands for each "
                         "result and one region of one block";
  ValueRange inputs = op->getOperands().take_front(count);
  unsigned rank = Importer::getRank(inputs[0]);
  FailureOr<llvm::SmallBitVector> reduced = readReduced(op, rank);
  if (failed(reduced))
    return failure();
  SizeList sizes;
  SmallVector<AffineExpr> places;
  SmallVector<utils::IteratorType> loops(rank, parallel);
  SizeList before = importer.sizes.get(builder, inputs[0]);
  for (unsigned dim : llvm::seq(rank)) {
    if ((*reduced)[dim]) {
      loops[dim] = reduction;
      continue;
    }
    sizes.push_back(before[dim]);
    places.push_back(builder.getAffineDimExpr(dim));
  }
  MLIRContext *context = op->getContext();
  SmallVector<AffineMap> maps(count,
                              AffineMap::getMultiDimIdentityMap(rank, context));
  maps.append(count, AffineMap::get(rank, 0, places, context));
  SmallVector<Value> inits;
  for (unsigned i : llvm::seq(count)) {
    auto type = cast<RankedTensorType>(op->getResult(i).getType());
    if (failed(checkNumber(op, count + i)))
      return failure();
    auto inputType = cast<RankedTensorType>(inputs[i].getType());
    if (static_cast<size_t>(type.getRank()) != places.size() ||
        failed(verifyCompatibleShape(inputType, inputs[0].getType())) ||
        type.getElementType() != getElementTypeOrSelf(inputs[i].getType()))
      return refuse(op) << "has a result of type " << type
                        << " for an operand of type " << inputs[i].getType();
    inits.push_back(importer.makeFilled(
        type, sizes,
        importer.sizes.getElement(builder, op->getOperand(count + i))));
  }
  bool isValid = true;
  auto generic = linalg::GenericOp::create(
      builder, op->getResultTypes(), inputs, inits, maps, loops,
      [&](OpBuilder &inner, Location loc, ValueRange elements) {
        ImplicitLocOpBuilder body(loc, inner);
        // StableHLO has what is accumulated first.
        SmallVector<Value> arguments(elements.drop_front(count));
        llvm::append_range(arguments, elements.take_front(count));
        FailureOr<SmallVector<Value>> results =
            computeRegion(body, importer, op->getRegion(0).front(), arguments);
        isValid = succeeded(results);
        linalg::YieldOp::create(body,
                                isValid ? *results : SmallVector<Value>());
      });
  if (!isValid)
    return failure();
  for (Value result : generic.getResults())
    importer.sizes.record(
        result, importer.fit(cast<RankedTensorType>(result.getType()), sizes));
  return importer.replace(op, generic.getResults());
}

void stablehlo::addContractions(ImportTable &table) {
  table["stablehlo.dot_general"] = {importDotGeneral, 2};
  table["stablehlo.reduce"] = {importReduce, -1, -1, /*numRegions=*/1};
}
