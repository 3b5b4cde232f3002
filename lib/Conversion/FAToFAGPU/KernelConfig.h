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

/// The GPU's part of a configuration; the default one where there is none.
inline GPUPart getGPUPart(ConfigAttr config) {
  auto part = config ? dyn_cast_if_present<GPUConfigAttr>(config.getTarget())
                     : GPUConfigAttr();
  return part ? part.getPart() : GPUPart();
}

/// That of a kernel's configuration.
inline GPUPart getGPUPart(func::FuncOp kernel) {
  return getGPUPart(
      kernel->getAttrOfType<ConfigAttr>(FADialect::configAttrName));
}

/// Whether one thread of the kernel copies and groups of warps multiply.
inline bool hasWarpGroups(func::FuncOp kernel) {
  return getGPUPart(kernel).hasGroups();
}

/// Whether the kernel adds gradients up in one pass.
inline bool isOnePass(func::FuncOp kernel) {
  auto config = kernel->getAttrOfType<ConfigAttr>(FADialect::configAttrName);
  return config && config.getGradientForm() == GradientForm::one_pass;
}

/// Whether the blocks of a kernel take one tile after the other. Gradients in
/// one pass leave the choice to `overlap`: shared memory may not hold what a
/// tile stores beside what the next one loads.
inline bool isPersistent(func::FuncOp kernel) {
  return hasWarpGroups(kernel) &&
         (!isOnePass(kernel) || getGPUPart(kernel).overlap != Overlap::keys);
}

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_KERNELCONFIG_H
