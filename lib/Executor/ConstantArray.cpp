//===- ConstantArray.cpp - Arrays of constant attributes ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantArray.h"
#include "fa/Executor/ProgramBuilder.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

static void fill(Array &array, DenseElementsAttr elements) {
  Slot *target = array.data();
  if (elements.isSplat())
    std::fill_n(target, array.getNumElements(),
                getSlot(cast<TypedAttr>(elements.getSplatValue<Attribute>())));
  else
    for (Attribute value : elements.getValues<Attribute>())
      *target++ = getSlot(cast<TypedAttr>(value));
}

/// The number whose bits are `bytes`, the lowest first.
static Slot readNumber(ArrayRef<char> bytes, Type type) {
  uint64_t bits = 0;
  for (char byte : llvm::reverse(bytes))
    bits = bits << 8 | static_cast<uint8_t>(byte);
  if (auto real = dyn_cast<FloatType>(type))
    return Slot::ofReal(floatFromBits(bits, real.getFloatSemantics()));
  return Slot::ofInteger(
      wrapInteger(static_cast<int64_t>(bits), getIntegerWidth(type)));
}

/// Elements of a blob take whole bytes, a power of two of them, as in memory.
static LogicalResult fill(Operation *op, Array &array,
                          DenseResourceElementsAttr elements) {
  const AsmResourceBlob *blob = elements.getRawHandle().getBlob();
  StringRef key = elements.getRawHandle().getKey();
  if (!blob)
    return op->emitOpError()
           << "reads the resource '" << key << "', which is not in the file";
  Type type = elements.getElementType();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  int64_t size = llvm::PowerOf2Ceil(llvm::divideCeil(width, 8));
  ArrayRef<char> data = blob->getData();
  int64_t count = array.getNumElements();
  if (static_cast<int64_t>(data.size()) != count * size)
    return op->emitOpError() << "reads the resource '" << key << "' of "
                             << data.size() << " bytes, expected "
                             << count * size << " for " << elements.getType();
  for (int64_t i = 0; i < count; ++i)
    array.data()[i] = readNumber(data.slice(i * size, size), type);
  return success();
}

FailureOr<ArrayRefPtr> executor::makeConstantArray(Operation *op,
                                                   Attribute value) {
  auto elements = dyn_cast_or_null<ElementsAttr>(value);
  if (!elements || !isSlotType(elements.getElementType()))
    return refuse(op, "of anything but constant numbers");
  ArrayRefPtr array = makeArray(elements.getShapedType().getShape());
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    fill(*array, dense);
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (failed(fill(op, *array, resource)))
      return failure();
  } else
    return refuse(op, "whose elements are not listed");
  return array;
}
