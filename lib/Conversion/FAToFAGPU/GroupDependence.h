//===- GroupDependence.h - What groups of a role may differ in --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_FATOFAGPU_GROUPDEPENDENCE_H
#define FA_LIB_CONVERSION_FATOFAGPU_GROUPDEPENDENCE_H

#include "fa/Dialect/FAGPU/IR/FAGPU.h"

namespace mlir::fa {

/// Whether the groups of a role may hold different numbers in `value`: whether
/// the number of the group takes part in it, by way of what branches yield and
/// loops carry too.
bool dependsOnGroup(Value value, fagpu::RoleOp role);

} // namespace mlir::fa

#endif // FA_LIB_CONVERSION_FATOFAGPU_GROUPDEPENDENCE_H
