//===- BlockOps.cpp - Operations on block values -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and result names of the operations on block values: reductions,
// broadcasts, indices, layout changes, loads and gathers. One section each.
// The helpers at the top say how layouts of operand and result are related.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "fa/Dialect/FAGPU/IR/OwnedSums.h"
#include "fa/Dialect/FAGPU/IR/TransposedReads.h"
#include "fa/Support/Philox.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fagpu;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static LogicalResult emitLayouts(Operation *op, Value source, Value result,
                                 StringRef expected) {
  return op->emitOpError() << "goes from " << tensorOf(source) << " to "
                           << tensorOf(result) << ", expected " << expected;
}

template <typename Layout> static bool has(Value value) {
  return isa_and_nonnull<Layout>(tensorOf(value).getEncoding());
}

/// Also where a layout is left out.
static bool sameWarps(Value a, Value b) {
  LayoutInterface first = getBlockLayout(a.getType()),
                  second = getBlockLayout(b.getType());
  return !first || !second || first.getWarps() == second.getWarps();
}

/// Whether `values` may have one value for each warp that holds `matrix`.
static bool isOfWarps(RankedTensorType matrix, RankedTensorType values) {
  return (!values.getEncoding() || isa<WarpLayoutAttr>(values.getEncoding())) &&
         matrix.getRank() == 2 && values.getRank() == 1 &&
         matrix.getDimSize(0) % (16 * values.getDimSize(0)) == 0;
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

void ReduceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getKind() == ReductionKind::max ? "max" : "sum");
}

LogicalResult ReduceOp::verify() {
  Value source = getSource(), result = getResult();
  RankedTensorType from = tensorOf(source), to = tensorOf(result);
  bool ofWarps = has<AccumulatorLayoutAttr>(source) && isOfWarps(from, to);
  bool legal = (has<AccumulatorLayoutAttr>(source) &&
                (has<RowLayoutAttr>(result) || has<QuadLayoutAttr>(result) ||
                 has<WarpLayoutAttr>(result))) ||
               (has<QuadLayoutAttr>(source) && has<RowLayoutAttr>(result));
  if (!hasLayouts(*this)) {
    legal = from.getRank() == 2 &&
            (to.getRank() == 1 || (to.getRank() == 2 && to.getDimSize(1) == 4));
    ofWarps = legal && isOfWarps(from, to);
  }
  if (!legal || !sameWarps(source, result) ||
      (!ofWarps && from.getDimSize(0) != to.getDimSize(0)) ||
      from.getElementType() != to.getElementType())
    return emitLayouts(*this, source, result,
                       "acc to row, acc to quad or quad to row, of the same "
                       "rows, elements and warps, or acc to warp, of one "
                       "element a warp");
  if (!tensorOf(source).getElementType().isF32())
    return emitOpError() << "reduces " << tensorOf(source).getElementType()
                         << ", expected f32";
  if (int64_t chains = static_cast<int32_t>(getChains()); chains < 1)
    return emitOpError() << "has " << chains << " chains, expected at least 1";
  return success();
}

//===----------------------------------------------------------------------===//
// AnyOp
//===----------------------------------------------------------------------===//

void AnyOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "any");
}

LogicalResult AnyOp::verify() {
  Type element = tensorOf(getSource()).getElementType();
  if (!element.isInteger(1))
    return emitOpError() << "asks elements of " << element << ", expected i1";
  return success();
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

void BroadcastOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "broadcast");
}

LogicalResult BroadcastOp::verify() {
  Value source = getSource(), result = getResult();
  if (!hasLayouts(*this)) {
    if (tensorOf(source).getRank() == 1 && tensorOf(result).getRank() == 2 &&
        (isOfWarps(tensorOf(result), tensorOf(source)) ||
         llvm::is_contained(tensorOf(result).getShape(),
                            tensorOf(source).getDimSize(0))) &&
        tensorOf(source).getElementType() == tensorOf(result).getElementType())
      return success();
    return emitLayouts(*this, source, result,
                       "a vector of the rows or columns of a matrix with the "
                       "same elements");
  }
  bool fromRow =
      has<RowLayoutAttr>(source) &&
      (has<AccumulatorLayoutAttr>(result) || has<QuadLayoutAttr>(result)) &&
      tensorOf(source).getDimSize(0) == tensorOf(result).getDimSize(0);
  bool fromColumn =
      has<ColumnLayoutAttr>(source) && has<AccumulatorLayoutAttr>(result) &&
      tensorOf(source).getDimSize(0) == tensorOf(result).getDimSize(1);
  bool fromWarp = has<AccumulatorLayoutAttr>(result) &&
                  has<WarpLayoutAttr>(source) &&
                  isOfWarps(tensorOf(result), tensorOf(source));
  if ((fromRow || fromColumn || fromWarp) && sameWarps(source, result) &&
      tensorOf(source).getElementType() == tensorOf(result).getElementType())
    return success();
  return emitLayouts(*this, source, result,
                     "row to acc, row to quad or col to acc, of the same rows "
                     "or columns, elements and warps, or warp to acc, of one "
                     "element a warp");
}

//===----------------------------------------------------------------------===//
// BetweenOp
//===----------------------------------------------------------------------===//

void BetweenOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "between");
}

LogicalResult BetweenOp::verify() {
  RankedTensorType limits = tensorOf(getFirst()),
                   result = tensorOf(getResult());
  bool legal = hasLayouts(*this)
                   ? has<RowLayoutAttr>(getFirst()) &&
                         has<AccumulatorLayoutAttr>(getResult())
                   : limits.getRank() == 1 && result.getRank() == 2;
  if (!legal || !sameWarps(getFirst(), getResult()) ||
      limits.getDimSize(0) != result.getDimSize(0))
    return emitLayouts(*this, getFirst(), getResult(),
                       "row to acc, of the same rows and warps");
  if (!limits.getElementType().isInteger(32) ||
      !result.getElementType().isInteger(1))
    return emitLayouts(*this, getFirst(), getResult(), "i32 to i1");
  return success();
}

//===----------------------------------------------------------------------===//
// DropoutOp
//===----------------------------------------------------------------------===//

void DropoutOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "kept");
}

/// Whether a value is no multiple of `factor`, where it is a constant.
static bool isOther(Value value, int64_t factor) {
  APInt number;
  return matchPattern(value, m_ConstantInt(&number)) &&
         number.getSExtValue() % factor != 0;
}

LogicalResult DropoutOp::verify() {
  RankedTensorType type = tensorOf(getResult());
  bool isLaidOut =
      !type.getEncoding() || isa<AccumulatorLayoutAttr>(type.getEncoding());
  if (type.getRank() != 2 || !type.getElementType().isInteger(1) || !isLaidOut)
    return emitOpError() << "makes " << type
                         << ", expected a matrix of i1 in layout #fagpu.acc";
  constexpr int64_t multiple = fa::philox::blockMultiple;
  for (auto [name, first] :
       {std::pair("query", getQuery()), std::pair("key", getKey())})
    if (getWhole() && isOther(first, multiple))
      return emitOpError() << "is 'whole' from a " << name
                           << " that is no multiple of " << multiple
                           << "; leave out 'whole'";
  return success();
}

//===----------------------------------------------------------------------===//
// IotaOp, ConvertOp, LoadOp
//===----------------------------------------------------------------------===//

void IotaOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "index");
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = tensorOf(getResult());
  if (int64_t dim = static_cast<int32_t>(getDim());
      dim < 0 || dim >= type.getRank())
    return emitOpError() << "is along dimension " << dim << " of " << type
                         << ", expected 0 to " << type.getRank() - 1;
  if (!type.getElementType().isInteger(32))
    return emitOpError() << "makes " << type.getElementType()
                         << ", expected i32";
  return success();
}

void ConvertOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "converted");
}

LogicalResult ConvertOp::verify() {
  RankedTensorType source = tensorOf(getSource()),
                   result = tensorOf(getResult());
  if (source.getShape() == result.getShape() &&
      source.getElementType() == result.getElementType())
    return success();
  return emitLayouts(*this, getSource(), getResult(),
                     "the same shape and elements");
}

void PinOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults())
    setName(getResult(0), "pinned");
}

void LoadOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "loaded");
}

LogicalResult LoadOp::verify() {
  ViewType view = getView().getType();
  RankedTensorType result = tensorOf(getResult());
  if (getFragments() && isTransposed(*this))
    return emitOpError() << "reads fragments transposed, expected a matrix of "
                            "16-bit elements, without fragments";
  if (getFragments()) {
    bool isLaidOut = !result.getEncoding() ||
                     isa<AccumulatorLayoutAttr>(result.getEncoding());
    if (view.getShape().size() == 1 && result.getRank() == 2 && isLaidOut &&
        view.getShape()[0] == result.getNumElements() &&
        view.getElementType().isF32() && result.getElementType().isF32())
      return success();
    return emitOpError() << "reads fragments of " << view << " into " << result
                         << ", expected a vector of as many f32 and a result "
                            "of layout #fagpu.acc";
  }
  SmallVector<int64_t> shape(view.getShape());
  if (isTransposed(*this)) {
    if (shape.size() != 2 ||
        view.getElementType().getIntOrFloatBitWidth() != 16)
      return emitOpError()
             << "reads " << view
             << " transposed, expected a matrix of 16-bit elements";
    std::reverse(shape.begin(), shape.end());
  }
  if (result.getShape() == ArrayRef(shape) &&
      view.getElementType() == result.getElementType())
    return success();
  return emitOpError() << "reads " << view << " into " << result
                       << (isTransposed(*this)
                               ? ", expected its columns as rows"
                               : ", expected the same shape and elements");
}

//===----------------------------------------------------------------------===//
// GatherOp, ScatterAddOp
//===----------------------------------------------------------------------===//

void GatherOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "gathered");
}

/// Whether `type` has the shape and layout of `result`, and elements `element`.
static bool isLike(Type type, RankedTensorType result, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getShape() == result.getShape() &&
         tensor.getElementType() == element &&
         (!tensor.getEncoding() || !result.getEncoding() ||
          tensor.getEncoding() == result.getEncoding());
}

/// Indices and mask of elements of memory that a value consists of.
template <typename Op>
static LogicalResult verifyIndices(Op op, MemRefType memory,
                                   RankedTensorType value, StringRef name) {
  MLIRContext *context = op.getContext();
  if (int64_t indices = op.getIndices().size(); indices != memory.getRank())
    return op.emitOpError() << "has " << indices << " indices into " << memory
                            << ", expected " << memory.getRank();
  for (auto [dim, index] : llvm::enumerate(op.getIndices()))
    if (!index.getType().isInteger(32) &&
        !isLike(index.getType(), value, IntegerType::get(context, 32)))
      return op.emitOpError()
             << "has index " << dim << " of type " << index.getType()
             << ", expected i32 or i32 elements in the shape and layout of the "
             << name << " " << value;
  if (op.getMask() &&
      !isLike(op.getMask().getType(), value, IntegerType::get(context, 1)))
    return op.emitOpError()
           << "has a mask of type " << op.getMask().getType()
           << ", expected i1 elements in the shape and layout of the " << name
           << " " << value;
  return success();
}

LogicalResult GatherOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  RankedTensorType result = tensorOf(getResult());
  if (source.getElementType() != result.getElementType())
    return emitOpError() << "reads elements of " << source << " into " << result
                         << ", expected the same elements";
  return verifyIndices(*this, source, result, "result");
}

LogicalResult ScatterAddOp::verify() {
  auto memory = cast<MemRefType>(getDestination().getType());
  RankedTensorType value = tensorOf(getValue());
  if (!memory.getElementType().isF32() || !value.getElementType().isF32())
    return emitOpError() << "adds elements of " << value << " to " << memory
                         << ", expected f32 on both sides";
  if (!(*this)->hasAttr(ownedAttrName) && failed(verifyOrderOfAdds(*this)))
    return failure();
  return verifyIndices(*this, memory, value, "value");
}

//===----------------------------------------------------------------------===//
// ExtremesOp
//===----------------------------------------------------------------------===//

void ExtremesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getLeast(), "least");
  setName(getGreatest(), "greatest");
}

LogicalResult ExtremesOp::verify() {
  MemRefType source = getSource().getType();
  if (int64_t indices = getIndices().size();
      indices != source.getRank() || indices == 0)
    return emitOpError() << "has " << indices << " indices into " << source
                         << ", expected "
                         << std::max<int64_t>(source.getRank(), 1);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(source.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return emitOpError() << "reads " << source
                         << ", expected elements of the last dimension beside "
                            "each other";
  return success();
}

//===----------------------------------------------------------------------===//
// FetchOp, ExchangeOp
//===----------------------------------------------------------------------===//

void FetchOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "fetched");
}

void FetchOp::build(OpBuilder &builder, OperationState &state, Type result,
                    Value source, ValueRange offsets, ArrayRef<int64_t> sizes,
                    Value rows, Value columns, int64_t alignment, bool padded,
                    bool fragments) {
  build(builder, state, result, source, offsets, sizes, rows, columns,
        alignment, padded, fragments, /*pages=*/Value(),
        /*pageDim=*/IntegerAttr());
}

LogicalResult FetchOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  RankedTensorType result = tensorOf(getResult());
  int64_t rank = source.getRank(), offsets = getOffsets().size(),
          sizes = getSizes().size();
  if (offsets != rank || sizes != rank)
    return emitOpError() << "has " << offsets << " offsets and " << sizes
                         << " sizes into " << source << ", expected " << rank;
  if (source.getElementType() != result.getElementType())
    return emitOpError() << "reads elements of " << source << " into " << result
                         << ", expected the same elements";
  int64_t elements = 1;
  for (int64_t size : getSizes())
    elements *= size;
  if (isTransposed(*this) &&
      (result.getRank() != 2 || getFragments() || getPages() ||
       result.getElementType().getIntOrFloatBitWidth() != 16))
    return emitOpError() << "is transposed into " << result
                         << ", expected a matrix of 16-bit elements, without "
                            "fragments and pages";
  int64_t row = getFragments()        ? elements
                : isTransposed(*this) ? result.getDimSize(0)
                                      : result.getShape().back();
  if (elements != result.getNumElements() || getSizes().back() != row)
    return emitOpError() << "reads a box of " << elements << " elements, "
                         << getSizes().back() << " a row, into " << result
                         << ", expected as many";
  if (getColumns() && result.getRank() != 2)
    return emitOpError() << "has columns(...) of a vector " << result
                         << ", expected a matrix; rows(...) bounds a vector";
  if (getPadded() && (getRows() || getColumns()))
    return emitOpError() << "is padded at all ends of " << source
                         << ", expected no rows(...) or columns(...)";
  if (getFragments() && (!result.getElementType().isF32() || getRows() ||
                         getColumns() || getPadded()))
    return emitOpError() << "reads fragments of " << result.getElementType()
                         << (getRows() || getColumns() || getPadded()
                                 ? " with rows(...), columns(...) or padded"
                                 : "")
                         << ", expected f32 and all of the box";
  if (failed(verifyPages(*this, getPages(), getPageDim(), getSizes(), getRows(),
                         !getPadded())))
    return failure();
  return verifyInRole(*this);
}

void ExchangeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "exchanged");
}

LogicalResult ExchangeOp::verify() {
  RankedTensorType source = tensorOf(getSource()),
                   result = tensorOf(getResult());
  auto role = (*this)->getParentOfType<RoleOp>();
  int64_t groups = role ? role.getGroups() : 1;
  if (source.getRank() != 2 || result.getRank() != 2 ||
      source.getElementType() != result.getElementType() ||
      result.getDimSize(0) != source.getDimSize(1) ||
      result.getDimSize(1) != source.getDimSize(0) * groups)
    return emitOpError() << "joins " << source << " of " << groups
                         << " groups into " << result
                         << ", expected a matrix, transposed, with the rows of "
                            "all groups as its columns";
  return verifyInRole(*this);
}
