//===- DLPackExchange.h - DLPack's exchange functions ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The binary interface of DLPack 1.3 (https://dmlc.github.io/dlpack), as far as
// a launch uses it: a table of functions that a framework's tensor type has as
// the capsule __dlpack_c_exchange_api__. Debian's dlpack.h is older.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_RUNTIME_CUDA_DLPACKEXCHANGE_H
#define FA_LIB_RUNTIME_CUDA_DLPACKEXCHANGE_H

#include <cstdint>

namespace mlir::fa::runtime::dlpack {

/// The major version that the declarations below belong to.
inline constexpr uint32_t majorVersion = 1;

enum DeviceType : int32_t { CPU = 1, CUDA = 2, CUDAManaged = 13 };

enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Bool = 6,
  Float8E4M3FN = 10,
  Float8E5M2 = 12
};

/// DLTensor: what one tensor is. Strides are in elements, null where it is
/// dense.
struct Tensor {
  void *data;
  DeviceType deviceType;
  int32_t device;
  int32_t rank;
  TypeCode code;
  uint8_t bits;
  uint16_t lanes;
  const int64_t *shape;
  const int64_t *strides;
  uint64_t byteOffset;
};
static_assert(sizeof(Tensor) == 48, "a binary interface");

/// DLPackExchangeAPI. Functions return 0, or -1 with a Python exception set.
struct ExchangeFunctions {
  uint32_t major;
  uint32_t minor;
  const ExchangeFunctions *older;
  int (*allocate)(...);
  int (*fromObject)(...);
  int (*toObject)(...);
  /// Describes a tensor without owning it. May be null.
  int (*describe)(void *object, Tensor *tensor);
  int (*getCurrentStream)(DeviceType type, int32_t device, void **stream);
};

} // namespace mlir::fa::runtime::dlpack

#endif // FA_LIB_RUNTIME_CUDA_DLPACKEXCHANGE_H
