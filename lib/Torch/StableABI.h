//===- StableABI.h - Functions of torch's stable C interface ----*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the operators use of torch, by name, in the libraries that a process
// has loaded: so neither building nor loading needs a torch. These functions
// keep their meaning from torch 2.10 on (torch/csrc/stable).
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TORCH_STABLEABI_H
#define FA_LIB_TORCH_STABLEABI_H

#include <cstddef>
#include <cstdint>

namespace fa::torch {

/// A value between torch and a kernel: a number, or the address of an object.
using Value = uint64_t;
using Tensor = void *;
using List = void *;
using String = void *;
/// 0 for success.
using Error = int32_t;

/// The version whose conventions the operators follow: 2.10.
inline constexpr uint64_t abiVersion = (2ull << 56) | (10ull << 48);

// Name of the member, result, name in torch, parameters.
#define FA_TORCH_FUNCTIONS(X)                                                  \
  X(defineLibrary, Error, aoti_torch_library_init_def,                         \
    (const char *, const char *, uint32_t, void **))                           \
  X(implementLibrary, Error, aoti_torch_library_init_impl,                     \
    (const char *, const char *, const char *, uint32_t, void **))             \
  X(define, Error, aoti_torch_library_def, (void *, const char *))             \
  X(implement, Error, torch_library_impl,                                      \
    (void *, const char *, void (*)(Value *, uint64_t, uint64_t), uint64_t))   \
  X(deleteTensor, Error, aoti_torch_delete_tensor_object, (Tensor))            \
  X(getData, Error, aoti_torch_get_data_ptr, (Tensor, void **))                \
  X(getRank, Error, aoti_torch_get_dim, (Tensor, int64_t *))                   \
  X(getSizes, Error, aoti_torch_get_sizes, (Tensor, int64_t **))               \
  X(getStrides, Error, aoti_torch_get_strides, (Tensor, int64_t **))           \
  X(getType, Error, aoti_torch_get_dtype, (Tensor, int32_t *))                 \
  X(getDeviceType, Error, aoti_torch_get_device_type, (Tensor, int32_t *))     \
  X(getDeviceIndex, Error, aoti_torch_get_device_index, (Tensor, int32_t *))   \
  X(makeEmpty, Error, aoti_torch_empty_strided,                                \
    (int64_t, const int64_t *, const int64_t *, int32_t, int32_t, int32_t,     \
     Tensor *))                                                                \
  X(zero, Error, aoti_torch_zero_, (Tensor))                                   \
  X(makeList, Error, torch_new_list_reserve_size, (size_t, List *))            \
  X(getListSize, Error, torch_list_size, (List, size_t *))                     \
  X(getListItem, Error, torch_list_get_item, (List, size_t, Value *))          \
  X(appendToList, Error, torch_list_push_back, (List, Value))                  \
  X(deleteList, Error, torch_delete_list, (List))                              \
  X(getStringSize, Error, torch_string_length, (String, size_t *))             \
  X(getStringData, Error, torch_string_c_str, (String, const char **))         \
  X(deleteString, Error, torch_delete_string, (String))                        \
  X(parallelFor, Error, torch_parallel_for,                                    \
    (int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void *), void *))   \
  X(getCPU, int32_t, aoti_torch_device_type_cpu, ())                           \
  X(getCUDA, int32_t, aoti_torch_device_type_cuda, ())                         \
  X(getF16, int32_t, aoti_torch_dtype_float16, ())                             \
  X(getBF16, int32_t, aoti_torch_dtype_bfloat16, ())                           \
  X(getF32, int32_t, aoti_torch_dtype_float32, ())                             \
  X(getF64, int32_t, aoti_torch_dtype_float64, ())                             \
  X(getI8, int32_t, aoti_torch_dtype_int8, ())                                 \
  X(getU8, int32_t, aoti_torch_dtype_uint8, ())                                \
  X(getI32, int32_t, aoti_torch_dtype_int32, ())                               \
  X(getI64, int32_t, aoti_torch_dtype_int64, ())                               \
  X(getBool, int32_t, aoti_torch_dtype_bool, ())

struct StableABI {
#define X(member, result, name, parameters) result(*member) parameters;
  FA_TORCH_FUNCTIONS(X)
#undef X
  /// Of libtorch_cuda.so, which not every torch has: may be null.
  Error (*getCurrentStream)(int32_t device, void **stream);

  /// Finds the functions. Returns null, or the name of the one that is missing.
  const char *open();
};

} // namespace fa::torch

#endif // FA_LIB_TORCH_STABLEABI_H
