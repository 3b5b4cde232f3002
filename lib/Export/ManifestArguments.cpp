//===- ManifestArguments.cpp - Arguments as a manifest has them -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Export/ManifestArguments.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::fa;
using llvm::json::Array;
using llvm::json::Object;

StringRef mlir::fa::getTypeName(Type type) {
  // In memory a byte of 0 or 1.
  if (type.isInteger(1))
    return "i1";
  if (type.isIndex() || type.isInteger(64))
    return "i64";
  if (type.isInteger(32))
    return "i32";
  if (type.isInteger(8))
    return "i8";
  if (type.isF64())
    return "f64";
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "f8E4M3FN";
  return isa<Float8E5M2Type>(type) ? "f8E5M2" : "";
}

/// A dim that a launcher may name: dims of one name are equal.
static llvm::json::Value describeDim(MemRefType type, ArgumentDim place,
                                     ArrayRef<std::string> names,
                                     const DimNames &dimNames) {
  if (!type.isDynamicDim(place.second))
    return type.getDimSize(place.second);
  auto found = dimNames.find(place);
  if (found == dimNames.end())
    return "?";
  std::string name = found->second;
  while (llvm::is_contained(names, name))
    name += "_dim";
  return name;
}

FailureOr<Object> mlir::fa::describeArgument(func::FuncOp function,
                                             unsigned number,
                                             ArrayRef<std::string> names,
                                             const DimNames &dimNames) {
  Type type = function.getArgumentTypes()[number];
  auto memref = dyn_cast<MemRefType>(type);
  StringRef typeName = getTypeName(memref ? memref.getElementType() : type);
  if (typeName.empty() || (memref && !memref.isStrided()))
    return function.emitOpError()
           << "takes " << type << " as argument " << number
           << ", which a manifest cannot express; expected a strided memref or "
              "a scalar of i1, i8, i32, i64, f16, bf16, f32, f64 or f8";
  Object entry{{"name", names[number]}, {"dtype", typeName}};
  if (!memref)
    return entry;
  Array shape;
  for (unsigned dim = 0; dim < memref.getRank(); ++dim)
    shape.push_back(describeDim(memref, {number, dim}, names, dimNames));
  llvm::json::Value strides = "contiguous";
  if (!memref.getLayout().isIdentity()) {
    Array each;
    for (int64_t stride : memref.getStridesAndOffset().first)
      each.push_back(ShapedType::isDynamic(stride) ? llvm::json::Value("?")
                                                   : llvm::json::Value(stride));
    strides = std::move(each);
  }
  entry["shape"] = std::move(shape);
  entry["strides"] = std::move(strides);
  return entry;
}
