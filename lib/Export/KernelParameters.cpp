//===- KernelParameters.cpp - What a launch passes to a kernel ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the parameters of a launch into a manifest: pointers, strides,
// scalars, tensor maps, each with the alignment and the limits that calls
// must meet. Read `add`, at the end, then `addTensorMap`;
// docs/GPU/TensorMaps.md explains bounded maps.
//
//===----------------------------------------------------------------------===//

#include "KernelParameters.h"
#include "fa/Export/ManifestArguments.h"
#include <numeric>

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

static int64_t bytesPerElement(Value memref) {
  return bytesPerElement(cast<MemRefType>(memref.getType()));
}

const HostMemRef *KernelParameters::getMemRef(Value value) {
  const HostMemRef *memref = values.getMemRef(value);
  if (!memref)
    memref = values.getWorkspaceView(value);
  if (auto made = value.getDefiningOp<fagpu::WorkspaceOp>(); made && !memref) {
    auto [entry, isNew] = workspaces.try_emplace(value.getAsOpaquePointer());
    if (isNew)
      entry->second = values.describe(made);
    memref = &entry->second;
  }
  if (!memref)
    launch.emitOpError() << "passes " << value.getType()
                         << ", of which the kernel needs a tensor map or "
                            "strides; expected an argument of the host "
                            "function or a view of one";
  return memref;
}

/// Strides of a view may be other numbers than those of its argument.
LogicalResult KernelParameters::alignViewStrides(const HostMemRef &memref,
                                                 int64_t elements,
                                                 int64_t alignment) {
  for (auto [size, stride] : llvm::zip_equal(memref.sizes, memref.strides)) {
    std::optional<int64_t> known = stride.getAsInteger();
    if (known == 1 || (known && *known % elements == 0) ||
        size.getAsInteger() == 1)
      continue;
    Operand isMultiple =
        values.emit("equal", {values.emit("rem", {stride, elements}), 0});
    values.addRequirement(
        values.emit("select", {values.emit("equal", {size, 1}), 1, isMultiple}),
        "a stride of a view of '" + names[memref.argument] +
            "' is no multiple of " + Twine(alignment) + " bytes");
  }
  return success();
}

LogicalResult KernelParameters::alignOffset(Value value,
                                            const HostMemRef &memref,
                                            int64_t alignment) {
  int64_t bytes = bytesPerElement(value);
  int64_t elements = alignment / std::gcd(alignment, bytes);
  if (value.getDefiningOp() &&
      failed(alignViewStrides(memref, elements, alignment)))
    return failure();
  if (std::optional<int64_t> offset = memref.offset.getAsInteger()) {
    if (*offset % elements == 0)
      return success();
    return launch.emitOpError()
           << "passes a view of '" << names[memref.argument]
           << "' from element " << *offset << " on, " << *offset * bytes
           << " bytes, but the kernel copies from multiples of " << alignment
           << "; the nearest is element " << *offset / elements * elements;
  }
  Operand rest = values.emit("rem", {memref.offset, elements});
  values.addRequirement(values.emit("equal", {rest, 0}),
                        "a view of '" + names[memref.argument] +
                            "' does not start at a multiple of " +
                            Twine(alignment) + " bytes");
  return success();
}

//===----------------------------------------------------------------------===//
// Strides in units of their common divisor
//===----------------------------------------------------------------------===//

const KernelParameters::UnitStrides &
KernelParameters::getUnitStrides(Value value, unsigned row) {
  auto [entry, isNew] = unitStrides.try_emplace(value);
  if (isNew) {
    const HostMemRef &memref = *getMemRef(value);
    entry->second = computeUnitStrides(value, memref, row);
    requireReach(memref, entry->second);
  }
  return entry->second;
}

KernelParameters::UnitStrides
KernelParameters::computeUnitStrides(Value value, const HostMemRef &memref,
                                     unsigned row) {
  int64_t granule = mapAlignment / bytesPerElement(value);
  auto whereOne = [&](unsigned dim, Operand replacement) {
    Operand isOne = values.emit("equal", {memref.sizes[dim], 1});
    return values.emit("select",
                       {isOne, std::move(replacement), memref.strides[dim]});
  };
  UnitStrides result;
  result.strides.assign(memref.sizes.size() - 1, nullptr);
  Operand common = 0;
  for (unsigned dim = 0; dim + 1 < memref.sizes.size(); ++dim) {
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
void KernelParameters::requireReach(const HostMemRef &memref,
                                    const UnitStrides &strides) {
  Operand extent = 0;
  for (unsigned dim = 0; dim < strides.strides.size(); ++dim)
    extent = values.emit(
        "add", {extent,
                values.emit("mul", {memref.sizes[dim], strides.strides[dim]})});
  Operand reach = values.emit("mul", {strides.unit, noLimit});
  values.addRequirement(
      values.emit("less_equal", {extent, reach}),
      Twine(values.getName(memref)) +
          " spans more memory than copies with bounded rows reach, " +
          Twine(noLimit) + " times the greatest common divisor of its strides");
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

LogicalResult KernelParameters::addTensorMap(Value value,
                                             const HostMemRef &memref,
                                             DictionaryAttr parameter) {
  auto type = cast<MemRefType>(value.getType());
  // A workspace begins at more than that, and strides of it are rows.
  bool isArgument = memref.workspace.empty();
  if (isArgument && failed(alignOffset(value, memref, mapAlignment)))
    return failure();
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
  dims.push_back(
      Object{{"size", panels > 1 ? Operand(columns) : memref.sizes[last]},
             {"box", columns}});
  auto addPanels = [&] {
    if (panels > 1)
      add(type.getDimSize(last) / columns, columns, panels);
  };
  if (cast<BoolAttr>(parameter.get("bounded")).getValue()) {
    unsigned row = getNumber(parameter, "row");
    const UnitStrides &strides = getUnitStrides(value, row);
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
          add(memref.sizes[dim], memref.strides[dim], boxOf(dim));
    };
    addDims(/*large=*/true);
    addPanels();
    addDims(/*large=*/false);
  }
  Object map{
      {"tensor_map", isArgument ? names[memref.argument] : memref.workspace},
      {"dims", std::move(dims)},
      {"swizzle", getNumber(parameter, "swizzle")},
      {"l2_promotion", getNumber(parameter, "l2_promotion")}};
  if (parameter.get("nan"))
    map["nan"] = true;
  if (memref.offset != 0)
    map["offset"] = memref.offset;
  if (!isArgument)
    map["dtype"] = getTypeName(type.getElementType());
  parameters.push_back(std::move(map));
  if (isArgument)
    alignments[memref.argument] = {mapAlignment, mapAlignment};
  return success();
}

/// The last dimension of memory that is moved in whole pieces is a multiple of
/// each.
LogicalResult KernelParameters::requirePieces(Value value, Operand size,
                                              StringRef name,
                                              DictionaryAttr parameter) {
  auto pieces = parameter.getAs<DenseI64ArrayAttr>("pieces");
  for (int64_t piece : pieces ? pieces.asArrayRef() : ArrayRef<int64_t>()) {
    std::optional<int64_t> known = size.getAsInteger();
    if (known && *known % piece == 0)
      continue;
    if (known)
      return launch.emitOpError()
             << "passes " << value.getType() << ", of whose last dimension the "
             << "kernel moves " << piece << " elements at once; expected a "
             << "multiple of them, the nearest is "
             << std::max<int64_t>(*known / piece, 1) * piece;
    values.addRequirement(
        values.emit("equal", {values.emit("rem", {size, piece}), 0}),
        "the last dim of " + name + " is no multiple of " + Twine(piece) +
            ", which the kernel moves at once");
  }
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
  if (StringRef workspace = values.getWorkspace(value); !workspace.empty()) {
    // A reference would outlive the names.
    parameters.push_back(Object{{"workspace", workspace.str()}});
    auto type = cast<MemRefType>(value.getType());
    auto made = value.getDefiningOp<fagpu::WorkspaceOp>();
    Operand size = type.getShape().back();
    if (const HostMemRef *view = values.getWorkspaceView(value))
      size = view->sizes.back();
    else if (type.isDynamicDim(type.getRank() - 1))
      size = values.get(made.getSizes().back());
    return requirePieces(value, size, "a workspace", parameter);
  }
  const HostMemRef *memref = values.getMemRef(value);
  if (failed(requirePieces(value, memref->sizes.back(),
                           "'" + names[memref->argument] + "'", parameter)))
    return failure();
  Object pointer{{"pointer", names[memref->argument]}};
  if (memref->offset != 0)
    pointer["offset"] = memref->offset;
  parameters.push_back(std::move(pointer));
  Alignment &alignment = alignments[memref->argument];
  alignment.address = std::max(alignment.address, bytesPerElement(value));
  auto given = parameter.getAs<IntegerAttr>("alignment");
  if (!given)
    return success();
  alignment.address = std::max(alignment.address, given.getInt());
  alignment.strides = std::max(alignment.strides, given.getInt());
  return alignOffset(value, *memref, given.getInt());
}

LogicalResult KernelParameters::addScalar(Value value) {
  Type type = value.getType();
  StringRef kind = type.isInteger(1)                      ? "i1"
                   : type.isInteger(8)                    ? "i8"
                   : type.isInteger(32)                   ? "i32"
                   : type.isInteger(64) || type.isIndex() ? "i64"
                   : type.isF16()                         ? "f16"
                   : type.isBF16()                        ? "bf16"
                   : type.isF32()                         ? "f32"
                   : type.isF64()                         ? "f64"
                                                          : "";
  if (kind.empty())
    return launch.emitOpError()
           << "passes a scalar of type " << type
           << ", expected i1, i8, i32, i64, index, f16, bf16, f32 or f64";
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
  const HostMemRef *memref = getMemRef(value);
  if (!memref)
    return failure();
  if (kind == "tensor_map")
    return addTensorMap(value, *memref, parameter);
  unsigned dim = getNumber(parameter, "dim");
  if (kind == "stride") {
    parameters.push_back(Object{{"i64", memref->strides[dim]}});
    return success();
  }
  if (kind == "size") {
    parameters.push_back(Object{{"i64", memref->sizes[dim]}});
    return success();
  }
  assert(kind == "unit_stride" && "every kind of parameter is handled");
  // The map of the argument comes before its strides.
  const UnitStrides &strides = unitStrides.at(value);
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
