//===- Manifest.h - Kernel descriptions as JSON ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is described in docs/Runtime.md.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDA_MANIFEST_H
#define FA_RUNTIME_CUDA_MANIFEST_H

#include "fa/Runtime/CUDA/KernelDescription.h"
#include "llvm/Support/JSON.h"

namespace mlir::fa::runtime {

/// A file of machine code, by its name relative to the manifest's folder.
/// "" where it is in memory alone.
struct CubinFile {
  std::string name;
  /// The only kernel in it, and how long it is; "" where one file has all.
  std::string kernel;
  size_t bytes = 0;
};

struct Manifest {
  KernelDescription kernel;
  llvm::SmallVector<CubinFile, 1> cubins;
  /// "" where there is none.
  std::string ptxFile;
};

/// Reads the text of a manifest. An error gives the path of the field in it.
llvm::Expected<Manifest> readManifest(llvm::StringRef text);

/// The images that follow each other in `bytes`, as the manifest lists them.
llvm::Error splitCubins(const Manifest &manifest, llvm::StringRef bytes,
                        KernelImages &images);

/// Reads the field `arguments` of an object that has it as a manifest does,
/// with the dims that they name.
llvm::Error readArguments(const llvm::json::Object &object,
                          KernelDescription &description);

/// Reads a manifest from a file, and the images that it names.
llvm::Error readManifestFile(llvm::StringRef path,
                             KernelDescription &description,
                             KernelImages &images);

} // namespace mlir::fa::runtime

#endif // FA_RUNTIME_CUDA_MANIFEST_H
