//===- DescribeObjects.cpp - Tensors of a framework as arguments ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DLPackExchange.h"
#include "fa/Runtime/CUDA/Kernel.h"
#include <cstring>

using namespace mlir::fa::runtime;
using llvm::ArrayRef;

/// The FaDataType of an element, or -1.
static int32_t getDataType(const dlpack::Tensor &tensor) {
  if (tensor.lanes != 1)
    return -1;
  switch (tensor.code << 8 | tensor.bits) {
  case dlpack::Float << 8 | 16:
    return FA_TYPE_F16;
  case dlpack::BFloat << 8 | 16:
    return FA_TYPE_BF16;
  case dlpack::Float << 8 | 32:
    return FA_TYPE_F32;
  case dlpack::Float << 8 | 64:
    return FA_TYPE_F64;
  case dlpack::Int << 8 | 8:
  case dlpack::UInt << 8 | 8:
    return FA_TYPE_I8;
  case dlpack::Bool << 8 | 8:
    return FA_TYPE_I1;
  case dlpack::Int << 8 | 32:
    return FA_TYPE_I32;
  case dlpack::Int << 8 | 64:
    return FA_TYPE_I64;
  case dlpack::Float8E4M3FN << 8 | 8:
    return FA_TYPE_F8E4M3FN;
  case dlpack::Float8E5M2 << 8 | 8:
    return FA_TYPE_F8E5M2;
  default:
    return -1;
  }
}

/// Whether `tensor` is what an FaArgument can say, and then that.
static bool convert(const dlpack::Tensor &tensor, FaArgument &argument) {
  bool isOnDevice = tensor.deviceType == dlpack::CUDA ||
                    tensor.deviceType == dlpack::CUDAManaged;
  argument = {};
  argument.type = getDataType(tensor);
  if (!isOnDevice || argument.type < 0 || tensor.rank < 0 ||
      tensor.rank > FA_MAX_RANK)
    return false;
  argument.value.data = static_cast<char *>(tensor.data) + tensor.byteOffset;
  argument.rank = tensor.rank;
  argument.device = tensor.device;
  llvm::copy(ArrayRef(tensor.shape, tensor.rank), argument.shape);
  if (tensor.strides) {
    llvm::copy(ArrayRef(tensor.strides, tensor.rank), argument.strides);
    return true;
  }
  int64_t dense = 1;
  for (int i = tensor.rank - 1; i >= 0; --i) {
    argument.strides[i] = dense;
    dense *= std::max<int64_t>(tensor.shape[i], 1);
  }
  return true;
}

static FaArgument convertNumber(const ArgumentSpec &spec, const char *bytes) {
  FaArgument argument = {};
  argument.rank = FA_SCALAR;
  argument.type = isFloat(spec.type) ? FA_TYPE_F64 : FA_TYPE_I64;
  memcpy(&argument.value, bytes, sizeof(argument.value));
  return argument;
}

FaStatus faKernelDescribeObjects(FaKernel kernel, const void *exchange,
                                 void *const *objects, size_t object_count,
                                 const void *numbers, FaArgument *arguments,
                                 FaStream *current_stream) {
  auto *functions = static_cast<const dlpack::ExchangeFunctions *>(exchange);
  if (!kernel || !functions || !objects || !arguments || !current_stream ||
      functions->major != dlpack::majorVersion || !functions->describe)
    return FA_NOT_TAKEN;
  ArrayRef<ArgumentSpec> specs =
      reinterpret_cast<Kernel *>(kernel)->getDescription().arguments;
  if (object_count != specs.size())
    return FA_NOT_TAKEN;

  const char *number = static_cast<const char *>(numbers);
  const FaArgument *first = nullptr;
  dlpack::DeviceType type = dlpack::CUDA;
  for (size_t i = 0; i != object_count; ++i) {
    if (specs[i].isScalar) {
      if (!number)
        return FA_NOT_TAKEN;
      arguments[i] = convertNumber(specs[i], number);
      number += sizeof(arguments[i].value);
      continue;
    }
    dlpack::Tensor tensor = {};
    if (functions->describe(objects[i], &tensor) ||
        !convert(tensor, arguments[i]))
      return FA_NOT_TAKEN;
    if (!first) {
      first = &arguments[i];
      type = tensor.deviceType;
    }
  }
  if (!first ||
      functions->getCurrentStream(type, first->device, current_stream))
    return FA_NOT_TAKEN;
  return FA_SUCCESS;
}
