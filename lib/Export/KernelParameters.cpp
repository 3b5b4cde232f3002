//===- KernelParameters.cpp - What a launch passes to a kernel ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelParameters.h"

using namespace mlir;
using namespace mlir::fa;
using llvm::json::Array;
using llvm::json::Object;

/// Bytes that addresses and strides of a tensor map are multiples of.
static constexpr int64_t mapAlignment = 16;
/// docs/GPU/TensorMaps.md: rows of a bounded map, what undoes them, and the
/// most that a dim without a bound holds.
static constexpr int64_t boundedRows = int64_t(1) << 30;
static constexpr int64_t wrapBytes = int64_t(1) << 34;
static constexpr int64_t noLimit = 0x7fff0000;

static int64_t getNumber(DictionaryAttr parameter, StringRef key) {
  return cast<IntegerAttr>(parameter.get(key)).getInt();
}

static int64_t bytesPerElement(MemRefType type) {
  return type.getElementTypeBitWidth() / 8;
}

MemRefType KernelParameters::getType(unsigned argument) const {
  auto host = launch->getParentOfType<func::FuncOp>();
  return cast<MemRefType>(host.getArgument(argument).getType());
}

FailureOr<unsigned> KernelParameters::getArgument(Value value) {
  const HostMemRef *memref = values.getMemRef(value);
  if (memref && !memref->isFlat)
    return memref->argument;
  launch.emitOpError() << "passes " << value.getType()
                       << ", of which the kernel needs "
                       << (memref ? "strides, but it is a view"
                                  : "a tensor map or strides")
                       << "; expected an argument of the host function";
  return failure();
}

//===----------------------------------------------------------------------===//
// Strides in units of their common divisor
//===----------------------------------------------------------------------===//

const KernelParameters::UnitStrides &
KernelParameters::getUnitStrides(unsigned argument, unsigned row) {
  auto [entry, isNew] = unitStrides.try_emplace(argument);
  if (isNew) {
    entry->second = computeUnitStrides(argument, row);
    requireReach(argument, row, entry->second);
  }
  return entry->second;
}

KernelParameters::UnitStrides
KernelParameters::computeUnitStrides(unsigned argument, unsigned row) {
  MemRefType type = getType(argument);
  int64_t granule = mapAlignment / bytesPerElement(type);
  auto whereOne = [&](unsigned dim, Operand replacement) {
    Operand isOne = values.emit("equal", {values.getDim(argument, dim), 1});
    return values.emit("select", {isOne, std::move(replacement),
                                  values.getStride(argument, dim)});
  };
  UnitStrides result;
  result.strides.assign(type.getRank() - 1, nullptr);
  Operand common = 0;
  for (unsigned dim = 0; dim + 1 < type.getRank(); ++dim) {
    if (dim == row)
      continue;
    result.strides[dim] = whereOne(dim, 0);
    common = values.emit("gcd", {common, result.strides[dim]});
  }
  // Rows of a sequence of one are as far apart as suits the others.
  result.strides[row] = whereOne(row, values.emit("max", {common, granule}));
  common = values.emit("gcd", {common, result.strides[row]});
  result.unit = values.emit("max", {common, granule});
  return result;
}

/// The offsets of all dims together are one coordinate of a bounded map.
void KernelParameters::requireReach(unsigned argument, unsigned row,
                                    const UnitStrides &strides) {
  Operand extent = 0;
  for (unsigned dim = 0; dim < strides.strides.size(); ++dim)
    extent = values.emit(
        "add", {extent, values.emit("mul", {values.getDim(argument, dim),
                                            strides.strides[dim]})});
  Operand reach = values.emit("mul", {strides.unit, noLimit});
  values.addRequirement(
      values.emit("less_equal", {extent, reach}),
      "'" + Twine(names[argument]) +
          "' spans more memory than copies with bounded rows reach, " +
          Twine(noLimit) + " times the greatest common divisor of its strides");
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

LogicalResult KernelParameters::addTensorMap(unsigned argument,
                                             DictionaryAttr parameter) {
  MemRefType type = getType(argument);
  auto box = parameter.getAs<ArrayAttr>("box");
  auto boxOf = [&](unsigned dim) {
    return cast<IntegerAttr>(box[dim]).getInt();
  };
  int64_t columns = getNumber(parameter, "columns");
  int64_t panels = getNumber(parameter, "panels");
  unsigned last = type.getRank() - 1;
  Array dims;
  auto add = [&](Operand size, Operand stride, int64_t inBox) {
    dims.push_back(Object{{"size", std::move(size)},
                          {"stride", std::move(stride)},
                          {"box", inBox}});
  };
  dims.push_back(Object{
      {"size", panels > 1 ? Operand(columns) : values.getDim(argument, last)},
      {"box", columns}});
  auto addPanels = [&] {
    if (panels > 1)
      add(type.getDimSize(last) / columns, columns, panels);
  };
  if (cast<BoolAttr>(parameter.get("bounded")).getValue()) {
    unsigned row = getNumber(parameter, "row");
    const UnitStrides &strides = getUnitStrides(argument, row);
    Operand undo = values.emit(
        "sub", {wrapBytes / bytesPerElement(type), strides.strides[row]});
    add(boundedRows, strides.strides[row], boxOf(row));
    addPanels();
    add(noLimit, undo, 1);
    add(noLimit, strides.unit, 1);
  } else {
    auto addDims = [&](bool large) {
      for (unsigned dim = last; dim-- > 0;)
        if ((boxOf(dim) > 1) == large)
          add(values.getDim(argument, dim), values.getStride(argument, dim),
              boxOf(dim));
    };
    addDims(/*large=*/true);
    addPanels();
    addDims(/*large=*/false);
  }
  parameters.push_back(Object{{"tensor_map", names[argument]},
                              {"dims", std::move(dims)},
                              {"swizzle", getNumber(parameter, "swizzle")}});
  alignments[argument] = {mapAlignment, mapAlignment};
  return success();
}

LogicalResult KernelParameters::addPointer(Value value,
                                           DictionaryAttr parameter) {
  if (auto counter = value.getDefiningOp<fagpu::CounterOp>()) {
    int64_t words =
        cast<MemRefType>(counter.getCounter().getType()).getDimSize(0);
    parameters.push_back(Object{{"counter", words}});
    return success();
  }
  const HostMemRef *memref = values.getMemRef(value);
  parameters.push_back(Object{{"pointer", names[memref->argument]}});
  Alignment &alignment = alignments[memref->argument];
  int64_t element = bytesPerElement(getType(memref->argument));
  alignment.address = std::max(alignment.address, element);
  if (auto given = parameter.getAs<IntegerAttr>("alignment")) {
    alignment.address = std::max(alignment.address, given.getInt());
    alignment.strides = std::max(alignment.strides, given.getInt());
  }
  return success();
}

LogicalResult KernelParameters::addScalar(Value value) {
  Type type = value.getType();
  StringRef kind = type.isInteger(32)                     ? "i32"
                   : type.isInteger(64) || type.isIndex() ? "i64"
                   : type.isF32()                         ? "f32"
                   : type.isF64()                         ? "f64"
                                                          : "";
  if (kind.empty())
    return launch.emitOpError() << "passes a scalar of type " << type
                                << ", expected i32, i64, index, f32 or f64";
  parameters.push_back(Object{{kind, values.get(value)}});
  return success();
}

LogicalResult KernelParameters::add(DictionaryAttr parameter) {
  StringRef kind = parameter.getAs<StringAttr>("kind").getValue();
  Value value = launch.getArguments()[getNumber(parameter, "argument")];
  if (kind == "scalar")
    return addScalar(value);
  if (kind == "pointer")
    return addPointer(value, parameter);
  FailureOr<unsigned> argument = getArgument(value);
  if (failed(argument))
    return failure();
  if (kind == "tensor_map")
    return addTensorMap(*argument, parameter);
  unsigned dim = getNumber(parameter, "dim");
  if (kind == "stride") {
    parameters.push_back(Object{{"i64", values.getStride(*argument, dim)}});
    return success();
  }
  if (kind == "size") {
    parameters.push_back(Object{{"i64", values.getDim(*argument, dim)}});
    return success();
  }
  assert(kind == "unit_stride" && "every kind of parameter is handled");
  // The map of the argument comes before its strides.
  const UnitStrides &strides = unitStrides.at(*argument);
  Operand inUnits =
      values.emit("floordiv", {strides.strides[dim], strides.unit});
  parameters.push_back(Object{{"i32", std::move(inUnits)}});
  return success();
}

LogicalResult KernelParameters::add(ArrayAttr described) {
  for (Attribute parameter : described)
    if (failed(add(cast<DictionaryAttr>(parameter))))
      return failure();
  return success();
}
