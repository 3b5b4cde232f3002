//===- BufferizableOpInterfaceImpl.h - Bufferization of fa ----------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define FA_DIALECT_FA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace fa {
/// Registers the models by which one-shot bufferization handles the operations
/// of the fa dialect: each updates the buffers of its destinations in place.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);
} // namespace fa
} // namespace mlir

#endif // FA_DIALECT_FA_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
