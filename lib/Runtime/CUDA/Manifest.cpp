//===- Manifest.cpp - Kernel descriptions as JSON -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CUDA/Manifest.h"

#include "ManifestReader.h"
#include "fa/Runtime/CUDA/Driver.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir::fa::runtime;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace json = llvm::json;

static constexpr int64_t manifestVersion = 1;

static bool readRoot(const ManifestObject &root, Manifest &manifest) {
  // The version comes first: a later one may have other fields.
  std::optional<int64_t> version = root.getInteger("version", 1, INT32_MAX);
  if (!version)
    return false;
  if (*version != manifestVersion)
    return root.fail(root.at("version"), "this runtime reads version " +
                                             Twine(manifestVersion) + ", got " +
                                             Twine(*version));
  if (!root.checkKeys({"version", "kernel", "chip", "images", "block",
                       "cluster", "dependent", "shared_memory", "arguments",
                       "values", "requirements", "workspaces", "before",
                       "parameters", "grid"}))
    return false;
  if (root.has("images")) {
    std::optional<ManifestObject> images = root.getObject("images");
    if (!images || !images->checkKeys({"cubin", "ptx"}))
      return false;
    for (auto [key, file] : {std::pair("cubin", &manifest.cubinFile),
                             std::pair("ptx", &manifest.ptxFile)}) {
      if (!images->has(key))
        continue;
      std::optional<StringRef> name = images->getString(key);
      if (!name)
        return false;
      *file = name->str();
    }
  }
  return DescriptionReader(manifest.kernel).readKernel(root);
}

Expected<Manifest> mlir::fa::runtime::readManifest(StringRef text) {
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return makeError(FA_INVALID_MANIFEST,
                     "the manifest is no JSON: " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return makeError(FA_INVALID_MANIFEST, "the manifest is " + show(*value) +
                                              ", expected a JSON object");
  std::string error;
  Manifest manifest;
  if (!readRoot(ManifestObject(*object, "", error), manifest))
    return makeError(FA_INVALID_MANIFEST, "manifest field " + error);
  return std::move(manifest);
}

Error mlir::fa::runtime::readArguments(const json::Object &object,
                                       KernelDescription &description) {
  std::string error;
  ManifestObject root(object, "", error);
  if (DescriptionReader(description).readArguments(root))
    return Error::success();
  return makeError(FA_INVALID_MANIFEST, "manifest field " + error);
}

static Error readFile(StringRef path, FaStatus status, std::string &contents) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (std::error_code code = buffer.getError())
    return makeError(status,
                     "cannot read '" + Twine(path) + "': " + code.message());
  contents = (*buffer)->getBuffer().str();
  return Error::success();
}

static Error readImage(StringRef manifestPath, StringRef file,
                       std::string &image) {
  if (file.empty())
    return Error::success();
  llvm::SmallString<128> path(file);
  if (llvm::sys::path::is_relative(path)) {
    path = llvm::sys::path::parent_path(manifestPath);
    llvm::sys::path::append(path, file);
  }
  return readFile(path, FA_INVALID_IMAGE, image);
}

Error mlir::fa::runtime::readManifestFile(StringRef path,
                                          KernelDescription &description,
                                          KernelImages &images) {
  std::string text;
  if (Error error = readFile(path, FA_INVALID_MANIFEST, text))
    return error;
  Expected<Manifest> manifest = readManifest(text);
  if (!manifest)
    return makeError(FA_INVALID_MANIFEST,
                     Twine(path) + ": " + toString(manifest.takeError()));
  if (manifest->cubinFile.empty() && manifest->ptxFile.empty())
    return makeError(FA_INVALID_MANIFEST,
                     Twine(path) + ": manifest field images: expected the "
                                   "file name of a cubin, of ptx or of both");
  if (Error error = readImage(path, manifest->cubinFile, images.cubin))
    return error;
  if (Error error = readImage(path, manifest->ptxFile, images.ptx))
    return error;
  description = std::move(manifest->kernel);
  return Error::success();
}
