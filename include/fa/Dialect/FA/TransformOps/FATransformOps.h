//===- FATransformOps.h - Strategies for attention -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Operations of the transform dialect that call the same functions as the
// passes, so that a script can mix them with upstream's.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMOPS_FATRANSFORMOPS_H
#define FA_DIALECT_FA_TRANSFORMOPS_FATRANSFORMOPS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.h"
#include "mlir/IR/OpImplementation.h"

namespace mlir::fa {
/// Applies an operation to each payload of its target, of which there must be
/// some.
template <typename OpTy>
class ApplyToEachFound : public transform::TransformEachOpTrait<OpTy> {
public:
  DiagnosedSilenceableFailure apply(transform::TransformRewriter &rewriter,
                                    transform::TransformResults &results,
                                    transform::TransformState &state) {
    auto op = cast<OpTy>(this->getOperation());
    if (state.getPayloadOps(op.getTarget()).empty())
      return emitSilenceableFailure(op.getOperation())
             << "'" << op.getOperationName()
             << "' has no operation to apply to: what gave its handle matched "
                "none";
    return transform::TransformEachOpTrait<OpTy>::apply(rewriter, results,
                                                        state);
  }
};
} // namespace mlir::fa

#define GET_OP_CLASSES
#include "fa/Dialect/FA/TransformOps/FATransformOps.h.inc"

namespace mlir::fa {
/// Adds the `transform.fa` operations to the transform dialect, with the
/// interface implementations that their functions need.
void registerTransformDialectExtension(DialectRegistry &registry);
} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMOPS_FATRANSFORMOPS_H
