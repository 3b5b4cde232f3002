//===- KernelConfig.h - What a kernel is configured by ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_KERNELCONFIG_H
#define FA_LIB_CONVERSION_FATOFAGPU_KERNELCONFIG_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// The GPU part of a kernel's configuration; the default one where it has none.
inline GPUConfigAttr getGPUConfig(func::FuncOp kernel) {
  auto config = kernel->getAttrOfType<ConfigAttr>(FADialect::configAttrName);
  if (config)
    if (auto part = dyn_cast_if_present<GPUConfigAttr>(config.getTarget()))
      return part;
  return GPUConfigAttr::get(kernel.getContext(), KernelForm::warps,
                            /*groups=*/1, /*stages=*/1, Overlap::none,
                            RescalePlace::after_product, /*turns=*/false,
                            TileOrder::in_order, /*blockTable=*/false,
                            Captures::elements, /*copying_registers=*/0,
                            /*columns=*/0, /*keepsQueries=*/false,
                            /*commonStages=*/false,
                            /*rolled=*/false, /*cluster=*/1);
}

/// Whether one thread of the kernel copies and groups of warps multiply.
inline bool hasWarpGroups(func::FuncOp kernel) {
  return getGPUConfig(kernel).getForm() == KernelForm::warp_groups;
}

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_KERNELCONFIG_H
