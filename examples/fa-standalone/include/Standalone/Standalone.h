//===- Standalone.h - The dialect and passes of this compiler ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STANDALONE_STANDALONE_H
#define STANDALONE_STANDALONE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

#include "Standalone/StandaloneDialect.h.inc"

#define GET_OP_CLASSES
#include "Standalone/StandaloneOps.h.inc"

namespace standalone {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Standalone/Passes.h.inc"

/// Registers `standalone-to-gpu`.
void registerStandalonePipelines();
} // namespace standalone

#endif // STANDALONE_STANDALONE_H
