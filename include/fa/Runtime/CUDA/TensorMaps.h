//===- TensorMaps.h - Tensor maps, encoded once ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_TENSORMAPS_H
#define FA_RUNTIME_CUDA_TENSORMAPS_H

#include "fa-c/Runtime.h"
#include "fa/Runtime/CUDA/DriverAPI.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <mutex>

namespace mlir::fa::runtime {

class Driver;

/// What a tensor map is encoded from: dims innermost first. Compared and hashed
/// by its bytes, so it has no padding and unused dims are zero.
struct TensorMapRequest {
  uint64_t address = 0;
  uint64_t sizes[5] = {};
  /// In bytes, of dims 1 to 4. What a dim of one element has here is ignored.
  uint64_t strides[4] = {};
  uint32_t box[5] = {};
  uint32_t rank = 0;
  int32_t type = 0;
  int32_t swizzle = 0;
  int32_t promotion = 0;
  /// Whether what is outside of the sizes reads as NaN.
  int32_t fillsNaN = 0;
};
static_assert(sizeof(TensorMapRequest) ==
                  10 * sizeof(uint64_t) + 10 * sizeof(uint32_t),
              "a request is compared by its bytes");

cuda::TensorMapDataType getTensorMapType(FaDataType type);

/// Checks what the hardware asks of a map: address and strides in multiples of
/// 16 bytes, strides below 2^40 bytes, dims from 1 to 2^32. Strides of dims of
/// one element are replaced by a legal one. The error names the tensor `name`.
llvm::Error normalize(TensorMapRequest &request, llvm::StringRef name);

/// Makes the map one of a single element, so that copies read that and zeros
/// around it.
void describeOneElement(TensorMapRequest &request);

/// Maps of the requests of late, shared by all kernels and threads. A map
/// depends on its request alone, so an entry never becomes stale.
class TensorMapCache {
public:
  explicit TensorMapCache(const Driver &driver);

  /// Writes the map of a normalized request to `map`.
  llvm::Error get(const TensorMapRequest &request, llvm::StringRef name,
                  cuda::TensorMap &map);

private:
  struct Entry {
    cuda::TensorMap map;
    TensorMapRequest request;
  };
  /// Entries that one hash may use, replaced in turn.
  struct Set {
    static constexpr unsigned ways = 4;
    std::mutex mutex;
    unsigned next = 0;
    Entry entries[ways];
  };
  static constexpr unsigned setCount = 256;

  llvm::Error encode(const TensorMapRequest &request, llvm::StringRef name,
                     cuda::TensorMap &map) const;

  const Driver &driver;
  std::unique_ptr<Set[]> sets;
};

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_TENSORMAPS_H
