//===- TensorMaps.cpp - Tensor maps, encoded once -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/TensorMaps.h"

#include "fa/Runtime/CUDA/Driver.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

static constexpr uint64_t granule = 16;
static constexpr uint64_t maxStride = uint64_t(1) << 40;
static constexpr uint64_t maxSize = uint64_t(1) << 32;

cuda::TensorMapDataType mlir::fa::runtime::getTensorMapType(FaDataType type) {
  switch (type) {
  case FA_TYPE_F16:
    return cuda::TensorMapFloat16;
  case FA_TYPE_BF16:
    return cuda::TensorMapBFloat16;
  case FA_TYPE_F32:
    return cuda::TensorMapFloat32;
  case FA_TYPE_F64:
    return cuda::TensorMapFloat64;
  case FA_TYPE_I32:
    return cuda::TensorMapInt32;
  case FA_TYPE_I64:
    return cuda::TensorMapInt64;
  case FA_TYPE_I1:
  case FA_TYPE_I8:
  case FA_TYPE_F8E4M3FN:
  case FA_TYPE_F8E5M2:
    return cuda::TensorMapUInt8;
  }
  llvm_unreachable("every type has a tensor-map type");
}

static Error invalid(StringRef name, const Twine &message) {
  return makeError(FA_INVALID_ARGUMENT,
                   "tensor map of argument '" + name + "': " + message);
}

Error mlir::fa::runtime::normalize(TensorMapRequest &request, StringRef name) {
  if (request.address % granule != 0)
    return invalid(name, "the address 0x" +
                             llvm::utohexstr(request.address, true) +
                             " is no multiple of 16 bytes");
  for (uint32_t i = 0; i != request.rank; ++i) {
    uint64_t size = request.sizes[i];
    if (size == 0 || size > maxSize)
      return invalid(name, "dim " + Twine(i) + " (0 is innermost) has size " +
                               Twine(int64_t(size)) +
                               ", expected 1 to 4294967296");
    if (i == 0)
      continue;
    uint64_t &stride = request.strides[i - 1];
    if (size == 1)
      stride = granule;
    if (stride % granule != 0 || stride >= maxStride)
      return invalid(name, "dim " + Twine(i) +
                               " (0 is innermost) has a stride of " +
                               Twine(int64_t(stride)) +
                               " bytes, expected a multiple of 16 below 2^40; "
                               "the nearest are " +
                               Twine(stride / granule * granule) + " and " +
                               Twine((stride / granule + 1) * granule));
  }
  return Error::success();
}

void mlir::fa::runtime::describeOneElement(TensorMapRequest &request) {
  for (uint32_t i = 0; i != request.rank; ++i)
    request.sizes[i] = 1;
}

TensorMapCache::TensorMapCache(const Driver &driver)
    : driver(driver), sets(std::make_unique<Set[]>(setCount)) {}

Error TensorMapCache::encode(const TensorMapRequest &request, StringRef name,
                             cuda::TensorMap &map) const {
  static constexpr uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  return driver.check(
      driver.cuTensorMapEncodeTiled(
          &map, cuda::TensorMapDataType(request.type), request.rank,
          reinterpret_cast<void *>(request.address), request.sizes,
          request.strides, request.box, elementStrides,
          cuda::TensorMapInterleaveNone,
          cuda::TensorMapSwizzle(request.swizzle),
          cuda::TensorMapL2Promotion(request.promotion),
          request.fillsNaN ? cuda::TensorMapFillNaN : cuda::TensorMapFillZero),
      "encoding the tensor map of argument '" + name + "'");
}

Error TensorMapCache::get(const TensorMapRequest &request, StringRef name,
                          cuda::TensorMap &map) {
  uint64_t hash = llvm::xxh3_64bits(llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(&request), sizeof(request)));
  Set &set = sets[hash % setCount];
  std::lock_guard<std::mutex> lock(set.mutex);
  for (Entry &entry : set.entries) {
    if (std::memcmp(&entry.request, &request, sizeof(request)) == 0) {
      map = entry.map;
      return Error::success();
    }
  }
  // An empty entry has rank 0, which no request has.
  Entry &entry = set.entries[set.next];
  if (Error error = encode(request, name, map))
    return error;
  entry = {map, request};
  set.next = (set.next + 1) % Set::ways;
  return Error::success();
}
