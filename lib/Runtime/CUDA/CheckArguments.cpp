//===- CheckArguments.cpp - Arguments against their specification ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the arguments of a call with their specification in the manifest:
// kind, element type, rank, strides, alignment. A message names the argument
// and what is expected. Read `checkArguments`, at the end, then
// `checkTensor`.
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Driver.h"
#include "fa/Runtime/CUDA/KernelDescription.h"
#include "fa/Runtime/CUDA/RoundNumbers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::fa::runtime;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Twine;

/// In elements; far beyond any memory, and no overflow when turned into bytes.
static constexpr int64_t maxStride = int64_t(1) << 48;

static std::string formatList(const int64_t *values, int rank) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "(";
  llvm::interleaveComma(ArrayRef(values, rank), stream);
  stream << ")";
  return text;
}

static Error invalid(const ArgumentSpec &spec, const Twine &message) {
  return makeError(FA_INVALID_ARGUMENT,
                   "argument '" + Twine(spec.name) + "' " + message);
}

static Error checkScalar(const ArgumentSpec &spec, const FaArgument &argument) {
  if (argument.rank != FA_SCALAR)
    return invalid(spec, "is a number of type " + getName(spec.type) +
                             ", got a tensor of rank " + Twine(argument.rank));
  bool isReal = isFloat(spec.type);
  if (argument.type != FA_TYPE_I64 && !(argument.type == FA_TYPE_F64 && isReal))
    return invalid(spec, "is a number of type " + getName(spec.type) +
                             ", got one of type " + getName(argument.type) +
                             "; numbers are passed as i64 or f64");
  auto [least, greatest] = getIntegerRange(spec.type);
  int64_t number = argument.value.integer;
  if (!isReal && (number < least || number > greatest))
    return invalid(spec, "is a number of type " + getName(spec.type) +
                             ", got " + Twine(number) + "; expected " +
                             Twine(least) + " to " + Twine(greatest));
  return Error::success();
}

static Error checkShape(const KernelDescription &description,
                        const ArgumentSpec &spec,
                        ArrayRef<FaArgument> arguments,
                        const FaArgument &argument) {
  for (int i = 0; i != argument.rank; ++i) {
    int64_t size = argument.shape[i];
    if (size < 0)
      return invalid(spec, "has a negative dim " + Twine(i) + ": shape " +
                               formatList(argument.shape, argument.rank));
    const DimSpec &dim = spec.shape[i];
    if (dim.kind == DimSpec::Static && size != dim.size)
      return invalid(spec, "has dim " + Twine(i) + " of size " + Twine(size) +
                               ", expected " + Twine(dim.size) + ": shape " +
                               formatList(argument.shape, argument.rank));
    if (dim.kind != DimSpec::Symbol)
      continue;
    const DimSymbol &symbol = description.symbols[dim.symbol];
    int64_t expected = arguments[symbol.argument].shape[symbol.dim];
    if (size != expected)
      return invalid(spec,
                     "has dim " + Twine(i) + " (" + symbol.name + ") of size " +
                         Twine(size) + ", expected " + Twine(expected) +
                         ", as dim " + Twine(symbol.dim) + " of argument '" +
                         description.arguments[symbol.argument].name + "'");
  }
  return Error::success();
}

/// Strides of dims with a single element are never used to form an address, and
/// frameworks put anything there; the same holds for tensors without elements.
static Error checkStrides(const ArgumentSpec &spec,
                          const FaArgument &argument) {
  int64_t elementSize = getSize(spec.type);
  int64_t dense = 1;
  for (int i = argument.rank - 1; i >= 0; --i) {
    int64_t stride = argument.strides[i];
    std::optional<int64_t> expected = spec.strides[i];
    if (spec.contiguous)
      expected = dense;
    if (__builtin_mul_overflow(dense, argument.shape[i], &dense))
      return invalid(spec, "has more than 2^63 elements: shape " +
                               formatList(argument.shape, argument.rank));
    if (argument.shape[i] == 1)
      continue;
    if (expected && stride != *expected)
      return invalid(spec, "has stride " + Twine(stride) + " in dim " +
                               Twine(i) + ", expected " + Twine(*expected) +
                               ": strides " +
                               formatList(argument.strides, argument.rank));
    if (stride < 0 || stride > maxStride)
      return invalid(spec, "has stride " + Twine(stride) + " in dim " +
                               Twine(i) + ", expected 0 to " +
                               Twine(maxStride));
    if (stride != 1 && (stride * elementSize) % spec.strideAlignment != 0)
      return invalid(
          spec, "has stride " + Twine(stride) + " in dim " + Twine(i) +
                    ", which is " + Twine(stride * elementSize) +
                    " bytes; a multiple of " + Twine(spec.strideAlignment) +
                    " bytes (" + Twine(spec.strideAlignment / elementSize) +
                    " elements of " + getName(spec.type) + ") is needed");
  }
  // One row has no stride, and kernels take its length for one.
  int64_t row = argument.rank ? argument.shape[argument.rank - 1] : 0;
  if (spec.contiguous && argument.rank > 1 && dense == row &&
      (row * elementSize) % spec.strideAlignment != 0)
    return invalid(spec,
                   "has a row of " + Twine(row) + " elements, which is " +
                       Twine(row * elementSize) + " bytes; a multiple of " +
                       Twine(spec.strideAlignment) + " bytes (" +
                       Twine(spec.strideAlignment / elementSize) +
                       " elements of " + getName(spec.type) + ") is needed");
  return Error::success();
}

bool mlir::fa::runtime::isEmptyTensor(const ArgumentSpec &spec,
                                      const FaArgument &argument) {
  return !spec.isScalar &&
         llvm::is_contained(ArrayRef(argument.shape, argument.rank), 0);
}

static Error checkAddress(const ArgumentSpec &spec,
                          const FaArgument &argument) {
  if (!argument.value.data)
    return invalid(spec, "is a null pointer, with shape " +
                             formatList(argument.shape, argument.rank));
  auto address = reinterpret_cast<uintptr_t>(argument.value.data);
  if (address % spec.alignment != 0)
    return invalid(spec, "is at address 0x" + llvm::utohexstr(address, true) +
                             ", which is no multiple of " +
                             Twine(spec.alignment) + " bytes");
  return Error::success();
}

static Error checkTensor(const KernelDescription &description,
                         const ArgumentSpec &spec,
                         ArrayRef<FaArgument> arguments,
                         const FaArgument &argument) {
  if (argument.rank == FA_SCALAR)
    return invalid(spec, "is a tensor of rank " + Twine(spec.shape.size()) +
                             ", got a number");
  if (argument.rank != int(spec.shape.size()))
    return invalid(spec, "has rank " + Twine(argument.rank) + ", expected " +
                             Twine(spec.shape.size()));
  // Other bytes than 0 and 1 are no i1.
  bool isFlagAsByte = argument.type == FA_TYPE_I1 && spec.type == FA_TYPE_I8;
  if (argument.type != spec.type && !isFlagAsByte)
    return invalid(spec, "has type " + getName(argument.type) + ", expected " +
                             getName(spec.type));
  if (Error error = checkShape(description, spec, arguments, argument))
    return error;
  if (isEmptyTensor(spec, argument))
    return Error::success();
  if (Error error = checkStrides(spec, argument))
    return error;
  return checkAddress(spec, argument);
}

Error mlir::fa::runtime::checkArguments(const KernelDescription &description,
                                        ArrayRef<FaArgument> arguments) {
  if (arguments.size() != description.arguments.size())
    return makeError(FA_INVALID_ARGUMENT,
                     "kernel '" + description.name + "' takes " +
                         Twine(description.arguments.size()) +
                         " arguments, got " + Twine(arguments.size()));
  for (auto [spec, argument] : llvm::zip(description.arguments, arguments)) {
    Error error = spec.isScalar
                      ? checkScalar(spec, argument)
                      : checkTensor(description, spec, arguments, argument);
    if (error)
      return error;
  }
  return Error::success();
}

Error mlir::fa::runtime::checkAddresses(const KernelDescription &description,
                                        ArrayRef<FaArgument> arguments) {
  for (auto [spec, argument] : llvm::zip(description.arguments, arguments))
    if (!spec.isScalar && !isEmptyTensor(spec, argument))
      if (Error error = checkAddress(spec, argument))
        return error;
  return Error::success();
}
