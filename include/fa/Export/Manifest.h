//===- Manifest.h - A launcher's manifest from a host function --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is described in docs/Runtime.md.
//
//===----------------------------------------------------------------------===//

#ifndef FA_EXPORT_MANIFEST_H
#define FA_EXPORT_MANIFEST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/JSON.h"

namespace mlir::fa {

/// Machine code, in a file of its own.
struct CubinImage {
  /// The only kernel in it; "" where one image has all.
  std::string kernel;
  /// Relative to the manifest; "" where it is in memory alone.
  std::string file;
  std::string bytes;
};

/// What a manifest says besides what the IR holds.
struct ManifestNames {
  /// Names of the host function's arguments, for callers and messages; those
  /// that are missing are arg0, arg1, ...
  SmallVector<std::string> arguments;
  /// File names of the images, relative to the manifest; "" where there is
  /// none. Machine code of several images is NAME.KERNEL.cubin for NAME.cubin.
  std::string cubin, ptx;
};

/// The manifest that launches what `host` launches. `objects` hold the compiled
/// kernels with their metadata, `cubins` their machine code. `host` has one
/// `fagpu.launch` at its top level, and computes by arith on dims, scalars and
/// constants; `cf.assert` becomes a requirement. Fails with a diagnostic at the
/// operation that a manifest cannot express.
///
/// Dims of the arguments that `fa.attention` of the function's reference says
/// are equal get one name, so that a launcher checks them and can allocate
/// outputs.
FailureOr<llvm::json::Object> buildManifest(func::FuncOp host,
                                            ArrayRef<gpu::ObjectAttr> objects,
                                            ArrayRef<CubinImage> cubins,
                                            const ManifestNames &names);

} // namespace mlir::fa

#endif // FA_EXPORT_MANIFEST_H
