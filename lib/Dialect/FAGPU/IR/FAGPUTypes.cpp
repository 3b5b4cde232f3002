//===- FAGPUTypes.cpp - Types of the fagpu dialect -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text form and checks of fagpu's types: channels and views of tiles in
// shared memory, mail, values in flight. Channel and view share `parseTile`
// and `verifyTile`, a shape with a swizzle; begin with these.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fagpu;

#define GET_TYPEDEF_CLASSES
#include "fa/Dialect/FAGPU/IR/FAGPUTypes.cpp.inc"

void FAGPUDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "fa/Dialect/FAGPU/IR/FAGPUTypes.cpp.inc"
      >();
}

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Tiles in shared memory: 64x128xbf16, #fagpu.smem<128>
//===----------------------------------------------------------------------===//

static ParseResult parseTile(AsmParser &parser, SmallVectorImpl<int64_t> &shape,
                             Type &elementType, SharedLayoutAttr &layout) {
  return failure(parser.parseLess() ||
                 parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(elementType) || parser.parseComma() ||
                 parser.parseAttribute(layout));
}

static void printTile(AsmPrinter &printer, ArrayRef<int64_t> shape,
                      Type elementType, SharedLayoutAttr layout) {
  printer << "<";
  for (int64_t size : shape)
    printer << size << "x";
  printer << elementType << ", " << layout;
}

static LogicalResult verifyTile(EmitError emitError, ArrayRef<int64_t> shape,
                                Type elementType, SharedLayoutAttr layout) {
  if (shape.empty() || shape.size() > 2)
    return emitError() << "a tile has rank " << shape.size()
                       << ", expected 1 or 2";
  for (int64_t size : shape)
    if (size < 1)
      return emitError() << "a tile has a size of " << size
                         << ", expected at least 1";
  if (!elementType.isIntOrFloat() || elementType.getIntOrFloatBitWidth() % 8)
    return emitError() << "a tile has elements of type " << elementType
                       << ", expected numbers of whole bytes";
  int64_t swizzle = layout.getSwizzle();
  if (!swizzle)
    return success();
  int64_t elementBytes = elementType.getIntOrFloatBitWidth() / 8;
  int64_t rowBytes = shape.back() * elementBytes;
  if (shape.size() == 1 || shape[0] % 8)
    return emitError() << "a swizzled tile has a multiple of 8 rows, got "
                       << (shape.size() == 1 ? 1 : shape[0]);
  if (rowBytes % swizzle == 0)
    return success();
  int64_t columns = swizzle / elementBytes;
  return emitError() << "a tile with swizzle " << swizzle
                     << " has a multiple of " << columns << " columns, got "
                     << shape.back() << "; nearest is "
                     << (shape.back() + columns - 1) / columns * columns;
}

Type ViewType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SharedLayoutAttr layout;
  SMLoc location = parser.getCurrentLocation();
  if (parseTile(parser, shape, elementType, layout) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(location); },
                    parser.getContext(), shape, elementType, layout);
}

void ViewType::print(AsmPrinter &printer) const {
  printTile(printer, getShape(), getElementType(), getLayout());
  printer << ">";
}

LogicalResult ViewType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                               Type elementType, SharedLayoutAttr layout) {
  return verifyTile(emitError, shape, elementType, layout);
}

int64_t ViewType::getBytes() {
  return ShapedType::getNumElements(getShape()) *
         (getElementType().getIntOrFloatBitWidth() / 8);
}

Type ChannelType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SharedLayoutAttr layout;
  unsigned depth;
  SMLoc location = parser.getCurrentLocation();
  if (parseTile(parser, shape, elementType, layout) || parser.parseComma() ||
      parser.parseInteger(depth) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(location); },
                    parser.getContext(), shape, elementType, layout, depth);
}

void ChannelType::print(AsmPrinter &printer) const {
  printTile(printer, getShape(), getElementType(), getLayout());
  printer << ", " << getDepth() << ">";
}

LogicalResult ChannelType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                                  Type elementType, SharedLayoutAttr layout,
                                  unsigned depth) {
  if (depth < 1)
    return emitError() << "a channel has depth 0, expected at least 1";
  return verifyTile(emitError, shape, elementType, layout);
}

ViewType ChannelType::getView() {
  return ViewType::get(getContext(), getShape(), getElementType(), getLayout());
}

//===----------------------------------------------------------------------===//
// Mail and values in flight
//===----------------------------------------------------------------------===//

LogicalResult MailType::verify(EmitError emitError, unsigned depth,
                               ArrayRef<Type> types) {
  if (depth < 1)
    return emitError() << "a mail has depth 0, expected at least 1";
  for (Type type : types)
    if (!type.isInteger(32) && !type.isF32())
      return emitError() << "a mail holds " << type << ", expected i32 or f32";
  return success();
}

LogicalResult InflightType::verify(EmitError emitError, RankedTensorType value,
                                   ArrayRef<RankedTensorType> keeps) {
  if ((value.getEncoding() &&
       !isa<AccumulatorLayoutAttr>(value.getEncoding())) ||
      !value.getElementType().isF32())
    return emitError() << "a value in flight is " << value
                       << ", expected f32 of layout #fagpu.acc";
  for (RankedTensorType kept : keeps)
    if (kept.getEncoding() && !isa<OperandLayoutAttr>(kept.getEncoding()))
      return emitError() << "a value in flight keeps " << kept
                         << ", expected layout #fagpu.opa";
  return success();
}
