//===- TensorMaps.cpp - Tensor maps of the fake driver --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstring>

using namespace fake;

FAKE(cuTensorMapEncodeTiled, TensorMap *map, TensorMapDataType type,
     uint32_t rank, void *address, const uint64_t *sizes,
     const uint64_t *strides, const uint32_t *box, const uint32_t *,
     TensorMapInterleave, TensorMapSwizzle swizzle,
     TensorMapL2Promotion promotion, TensorMapFill) {
  ENTER(cuTensorMapEncodeTiled)
  FakeTensorMap fake = {};
  fake.address = reinterpret_cast<uint64_t>(address);
  if (rank == 0 || rank > 5 || fake.address % 16 != 0)
    return InvalidValue;
  for (uint32_t i = 0; i != rank; ++i) {
    if (sizes[i] == 0 || box[i] == 0 || box[i] > 256 ||
        (i != 0 && strides[i - 1] % 16 != 0))
      return InvalidValue;
    fake.sizes[i] = sizes[i];
    fake.box[i] = box[i];
    if (i != 0)
      fake.strides[i - 1] = strides[i - 1];
  }
  fake.type = type;
  fake.rank = rank;
  fake.swizzle = swizzle;
  fake.promotion = promotion;
  static_assert(sizeof(fake) <= sizeof(*map), "the fake map fits");
  memcpy(map, &fake, sizeof(fake));
  return Success;
}
