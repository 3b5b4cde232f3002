//===- FAGPULayouts.cpp - Register layouts -------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Register layouts: which thread holds which element of a block value. Each
// is a map from the thread to a first place (`getThreadMap`) and an offset
// per element. The accumulator of mma is the basis; the others are parts of
// it.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

#include "fa/Dialect/FAGPU/IR/FAGPUAttrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fa/Dialect/FAGPU/IR/FAGPUAttributes.cpp.inc"

void FAGPUDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fa/Dialect/FAGPU/IR/FAGPUAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

SmallVector<int64_t> mlir::fagpu::coordinateOf(LayoutInterface layout,
                                               ArrayRef<int64_t> shape,
                                               int64_t thread,
                                               int64_t element) {
  MLIRContext *context = layout.getContext();
  Attribute number = IntegerAttr::get(IndexType::get(context), thread);
  SmallVector<Attribute> parts;
  [[maybe_unused]] LogicalResult folded =
      layout.getThreadMap().constantFold({number}, parts);
  assert(succeeded(folded) && "the map of a constant is constant");
  SmallVector<int64_t> coordinate = layout.getElementOffset(shape, element);
  for (auto [sum, part] : llvm::zip_equal(coordinate, parts))
    sum += cast<IntegerAttr>(part).getInt();
  return coordinate;
}

SmallVector<int64_t> mlir::fagpu::getFragmentOrder(RankedTensorType type,
                                                   int64_t words) {
  LayoutInterface layout = getBlockLayout(type);
  int64_t threads = 32 * layout.getWarps();
  SmallVector<int64_t> order(type.getNumElements());
  for (int64_t thread = 0; thread < threads; ++thread) {
    SmallVector<int64_t> first =
        coordinateOf(layout, type.getShape(), thread, 0);
    for (int64_t i = 0, e = layout.perThread(type.getShape()); i < e; ++i) {
      SmallVector<int64_t> more = layout.getElementOffset(type.getShape(), i);
      order[words * (threads * (i / words) + thread) + i % words] =
          (first[0] + more[0]) * type.getDimSize(1) + first[1] + more[1];
    }
  }
  return order;
}

bool mlir::fagpu::isBlockType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() &&
         (!tensor.getEncoding() || isa<LayoutInterface>(tensor.getEncoding()));
}

bool mlir::fagpu::hasLayouts(Operation *op) {
  auto leavesOut = [](Type type) {
    return isBlockType(type) && !getBlockLayout(type);
  };
  return llvm::none_of(op->getOperandTypes(), leavesOut) &&
         llvm::none_of(op->getResultTypes(), leavesOut);
}

LayoutInterface mlir::fagpu::getBlockLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return {};
  return dyn_cast_or_null<LayoutInterface>(tensor.getEncoding());
}

bool mlir::fagpu::isPackedElement(Type elementType) {
  return isa<FloatType>(elementType) &&
         elementType.getIntOrFloatBitWidth() == 16;
}

int64_t mlir::fagpu::registersPerThread(RankedTensorType type) {
  int64_t elements = getBlockLayout(type).perThread(type.getShape());
  return isPackedElement(type.getElementType()) ? elements / 2 : elements;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

static std::string nearest(ArrayRef<int64_t> shape,
                           ArrayRef<int64_t> multiples) {
  std::string text;
  for (auto [index, multiple] : llvm::enumerate(multiples)) {
    int64_t size = index < shape.size() ? shape[index] : multiple;
    int64_t rounded = ShapedType::isDynamic(size) || size <= 0
                          ? multiple
                          : llvm::divideNearest(size, multiple) * multiple;
    text += (index ? "x" : "") + std::to_string(std::max(rounded, multiple));
  }
  return text;
}

/// Sizes are positive multiples of `multiples`, or `exact` where that is set.
static LogicalResult verifyShape(Attribute layout, ArrayRef<int64_t> shape,
                                 ArrayRef<int64_t> multiples,
                                 EmitError emitError) {
  bool fits = shape.size() == multiples.size();
  for (auto [size, multiple] : llvm::zip(shape, multiples))
    fits &= size > 0 && size % multiple == 0;
  if (fits)
    return success();
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "layout " << layout << " holds a shape of rank "
             << multiples.size() << " of multiples of ";
  llvm::interleave(multiples, diagnostic, " x ");
  diagnostic << ", got ";
  llvm::interleave(
      shape,
      [&](int64_t size) {
        if (ShapedType::isDynamic(size))
          diagnostic << "?";
        else
          diagnostic << size;
      },
      [&] { diagnostic << "x"; });
  return diagnostic << "; nearest is " << nearest(shape, multiples);
}

static LogicalResult verifyWarps(EmitError emitError, StringRef name,
                                 unsigned warps) {
  if (warps >= 1 && warps <= 32)
    return success();
  return emitError() << "layout " << name << " has " << warps
                     << " warps, expected 1 to 32";
}

LogicalResult AccumulatorLayoutAttr::verify(EmitError emitError,
                                            unsigned warps) {
  return verifyWarps(emitError, getMnemonic(), warps);
}
LogicalResult RowLayoutAttr::verify(EmitError emitError, unsigned warps) {
  return verifyWarps(emitError, getMnemonic(), warps);
}
LogicalResult ColumnLayoutAttr::verify(EmitError emitError, unsigned warps) {
  return verifyWarps(emitError, getMnemonic(), warps);
}
LogicalResult QuadLayoutAttr::verify(EmitError emitError, unsigned warps) {
  return verifyWarps(emitError, getMnemonic(), warps);
}
LogicalResult WarpLayoutAttr::verify(EmitError emitError, unsigned warps) {
  return verifyWarps(emitError, getMnemonic(), warps);
}
LogicalResult OperandLayoutAttr::verify(EmitError emitError, unsigned warps) {
  return verifyWarps(emitError, getMnemonic(), warps);
}

LogicalResult SharedLayoutAttr::verify(EmitError emitError, unsigned swizzle) {
  if (llvm::is_contained({0u, 32u, 64u, 128u}, swizzle))
    return success();
  return emitError() << "swizzle is " << swizzle
                     << " bytes, expected 0, 32, 64 or 128";
}

//===----------------------------------------------------------------------===//
// Accumulator: rows 16 w + r (+ 8), columns 8 j + 2 c (+ 1)
//===----------------------------------------------------------------------===//

/// Row and first column of a thread of an accumulator.
static std::pair<AffineExpr, AffineExpr>
accumulatorThread(MLIRContext *context) {
  AffineExpr thread = getAffineDimExpr(0, context);
  AffineExpr lane = thread % 32;
  AffineExpr row = thread.floorDiv(32) * 16 + lane.floorDiv(4);
  return {row, (thread % 4) * 2};
}

static AffineMap accumulatorThreadMap(MLIRContext *context) {
  auto [row, column] = accumulatorThread(context);
  return AffineMap::get(1, 0, {row, column}, context);
}

static SmallVector<int64_t>
accumulatorOffset(unsigned warps, ArrayRef<int64_t> shape, int64_t element) {
  int64_t perRowBlock = shape[1] / 2;
  int64_t rowBlock = element / perRowBlock, inBlock = element % perRowBlock;
  return {16 * warps * rowBlock + 8 * (inBlock / 2 % 2),
          8 * (inBlock / 4) + inBlock % 2};
}

LogicalResult AccumulatorLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                                    Type elementType,
                                                    EmitError emitError) const {
  return verifyShape(*this, shape, {16 * getWarps(), 8}, emitError);
}
int64_t AccumulatorLayoutAttr::perThread(ArrayRef<int64_t> shape) const {
  return shape[0] * shape[1] / (32 * getWarps());
}
AffineMap AccumulatorLayoutAttr::getThreadMap() const {
  return accumulatorThreadMap(getContext());
}
SmallVector<int64_t>
AccumulatorLayoutAttr::getElementOffset(ArrayRef<int64_t> shape,
                                        int64_t element) const {
  return accumulatorOffset(getWarps(), shape, element);
}

//===----------------------------------------------------------------------===//
// Operand: the order of a packed accumulator
//===----------------------------------------------------------------------===//

LogicalResult OperandLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                                Type elementType,
                                                EmitError emitError) const {
  if (!isPackedElement(elementType))
    return emitError() << "layout " << *this << " holds f16 or bf16, got "
                       << elementType;
  return verifyShape(*this, shape, {16 * getWarps(), 16}, emitError);
}
int64_t OperandLayoutAttr::perThread(ArrayRef<int64_t> shape) const {
  return shape[0] * shape[1] / (32 * getWarps());
}
AffineMap OperandLayoutAttr::getThreadMap() const {
  return accumulatorThreadMap(getContext());
}
SmallVector<int64_t>
OperandLayoutAttr::getElementOffset(ArrayRef<int64_t> shape,
                                    int64_t element) const {
  return accumulatorOffset(getWarps(), shape, element);
}

//===----------------------------------------------------------------------===//
// Row, quad, warp and column: what is left of an accumulator
//===----------------------------------------------------------------------===//

static int64_t rowOffset(unsigned warps, int64_t element) {
  return 16 * warps * (element / 2) + 8 * (element % 2);
}

LogicalResult RowLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                            Type elementType,
                                            EmitError emitError) const {
  return verifyShape(*this, shape, {16 * getWarps()}, emitError);
}
int64_t RowLayoutAttr::perThread(ArrayRef<int64_t> shape) const {
  return shape[0] / (8 * getWarps());
}
AffineMap RowLayoutAttr::getThreadMap() const {
  return AffineMap::get(1, 0, accumulatorThread(getContext()).first);
}
SmallVector<int64_t> RowLayoutAttr::getElementOffset(ArrayRef<int64_t> shape,
                                                     int64_t element) const {
  return {rowOffset(getWarps(), element)};
}

LogicalResult QuadLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                             Type elementType,
                                             EmitError emitError) const {
  if (shape.size() == 2 && shape[1] != 4)
    return emitError() << "layout " << *this << " has 4 columns, got "
                       << shape[1];
  return verifyShape(*this, shape, {16 * getWarps(), 4}, emitError);
}
int64_t QuadLayoutAttr::perThread(ArrayRef<int64_t> shape) const {
  return shape[0] / (8 * getWarps());
}
AffineMap QuadLayoutAttr::getThreadMap() const {
  AffineExpr column = getAffineDimExpr(0, getContext()) % 4;
  return AffineMap::get(1, 0, {accumulatorThread(getContext()).first, column},
                        getContext());
}
SmallVector<int64_t> QuadLayoutAttr::getElementOffset(ArrayRef<int64_t> shape,
                                                      int64_t element) const {
  return {rowOffset(getWarps(), element), 0};
}

LogicalResult WarpLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                             Type elementType,
                                             EmitError emitError) const {
  if (shape.size() == 1 && shape[0] > getWarps())
    return emitError() << "layout " << *this << " has " << getWarps()
                       << " elements, one a warp, got " << shape[0];
  return verifyShape(*this, shape, {getWarps()}, emitError);
}
int64_t WarpLayoutAttr::perThread(ArrayRef<int64_t> shape) const { return 1; }
AffineMap WarpLayoutAttr::getThreadMap() const {
  return AffineMap::get(1, 0, getAffineDimExpr(0, getContext()).floorDiv(32));
}
SmallVector<int64_t> WarpLayoutAttr::getElementOffset(ArrayRef<int64_t> shape,
                                                      int64_t element) const {
  return {0};
}

LogicalResult ColumnLayoutAttr::verifyEncoding(ArrayRef<int64_t> shape,
                                               Type elementType,
                                               EmitError emitError) const {
  return verifyShape(*this, shape, {8}, emitError);
}
int64_t ColumnLayoutAttr::perThread(ArrayRef<int64_t> shape) const {
  return shape[0] / 4;
}
AffineMap ColumnLayoutAttr::getThreadMap() const {
  return AffineMap::get(1, 0, accumulatorThread(getContext()).second);
}
SmallVector<int64_t> ColumnLayoutAttr::getElementOffset(ArrayRef<int64_t> shape,
                                                        int64_t element) const {
  return {8 * (element / 2) + element % 2};
}
