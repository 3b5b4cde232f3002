//===- Value.h - Run-time values of the executor ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scalar lives in a Slot; everything else is a reference-counted Object.
// Tensors, memrefs and vectors are one kind of object, Array: a strided view of
// a Storage. Other libraries add kinds by deriving from Object.
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXECUTOR_VALUE_H
#define FA_EXECUTOR_VALUE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/Support/ExtensibleRTTI.h"
#include <memory>

namespace mlir::fa::executor {

/// One number. A float of any type is `real`; an integer or index is `integer`,
/// sign-extended from its width, except i1, which is 0 or 1.
union Slot {
  double real;
  int64_t integer;

  static Slot ofReal(double value) {
    Slot slot;
    slot.real = value;
    return slot;
  }
  static Slot ofInteger(int64_t value) {
    Slot slot;
    slot.integer = value;
    return slot;
  }
};

/// Brings `value` into the stored form of an integer of `width` bits, dropping
/// the higher bits.
int64_t wrapInteger(int64_t value, unsigned width);
/// The value read as signed (differs from the stored form for i1 only) and as
/// unsigned.
int64_t asSigned(int64_t stored, unsigned width);
uint64_t asUnsigned(int64_t stored, unsigned width);

/// The bits of a float rounded to `semantics`, and the float of such bits.
uint64_t floatToBits(double value, const llvm::fltSemantics &semantics);
double floatFromBits(uint64_t bits, const llvm::fltSemantics &semantics);
/// `value` rounded once to `semantics`, nearest even.
double roundToFloat(double value, const llvm::fltSemantics &semantics);

/// True for float types and for integers of up to 64 bits and index: what a
/// Slot holds.
bool isSlotType(Type type);
/// Width of an integer or index type: index counts 64.
unsigned getIntegerWidth(Type type);
/// The value of an integer or float attribute.
Slot getSlot(TypedAttr attribute);
/// What memory holds before it is written: NaN for floats, the most negative
/// integer otherwise.
Slot getPoison(Type elementType);

/// Base of everything that does not fit a slot. Not thread-safe: a value
/// belongs to one run.
class Object : public llvm::RTTIExtends<Object, llvm::RTTIRoot>,
               public llvm::RefCountedBase<Object> {
public:
  static char ID;
};

/// A flat block of slots that arrays view.
class Storage : public llvm::RefCountedBase<Storage> {
public:
  explicit Storage(int64_t size) : slots(new Slot[size]), size(size) {}

  Slot *data() { return slots.get(); }
  int64_t getSize() const { return size; }

  /// Set by memref.dealloc; any later access is an error of the program.
  bool released = false;

private:
  std::unique_ptr<Slot[]> slots;
  int64_t size;
};

using StorageRef = llvm::IntrusiveRefCntPtr<Storage>;

/// A tensor, memref or vector: element (i, j, ...) is slot
/// `offset + i * strides[0] + j * strides[1] + ...` of the storage. Whoever
/// makes an array guarantees that all its elements lie within the storage.
class Array : public llvm::RTTIExtends<Array, Object> {
public:
  static char ID;

  SmallVector<int64_t, 4> shape;
  SmallVector<int64_t, 4> strides;
  int64_t offset = 0;
  StorageRef storage;

  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const;
  /// Row-major without gaps.
  bool isContiguous() const;
  Slot *data() { return storage->data() + offset; }
  const Slot *data() const { return storage->data() + offset; }
};

using ArrayRefPtr = llvm::IntrusiveRefCntPtr<Array>;

/// What a register holds.
struct RuntimeValue {
  Slot slot = Slot::ofInteger(0);
  llvm::IntrusiveRefCntPtr<Object> object;

  RuntimeValue() = default;
  RuntimeValue(Slot slot) : slot(slot) {}
  RuntimeValue(llvm::IntrusiveRefCntPtr<Object> object)
      : object(std::move(object)) {}
  RuntimeValue(ArrayRefPtr array) : object(std::move(array)) {}

  Array &array() const { return static_cast<Array &>(*object); }
};

SmallVector<int64_t, 4> getRowMajorStrides(ArrayRef<int64_t> shape);
int64_t getNumElements(ArrayRef<int64_t> shape);

/// A row-major array with storage of its own, not initialised.
ArrayRefPtr makeArray(ArrayRef<int64_t> shape);
/// The same with every element set to `value`.
ArrayRefPtr makeFilledArray(ArrayRef<int64_t> shape, Slot value);
/// Another view of the storage of `source`.
ArrayRefPtr makeView(const Array &source, int64_t offset,
                     ArrayRef<int64_t> shape, ArrayRef<int64_t> strides);
/// A row-major copy with storage of its own.
ArrayRefPtr copyArray(const Array &source);
/// `source` itself if it is row-major, else a row-major copy.
ArrayRefPtr packArray(ArrayRefPtr source);
/// Copies elements between arrays of one shape. Overlap is allowed.
void copyElements(const Array &source, Array &target);
void fillElements(Array &target, Slot value);

/// Calls `body(offset)` for each innermost row of a view, with the offset of
/// its first element in the storage, in row-major order.
void forEachRow(const Array &array, llvm::function_ref<void(int64_t)> body);

} // namespace mlir::fa::executor

#endif // FA_EXECUTOR_VALUE_H
