//===- Manifest.cpp - Kernel descriptions as JSON -------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads manifests: what a function launches, in JSON, and which files have its
// machine code, one for all kernels or one for each. Read `readManifest`, which
// reads the text, then `readManifestFile`, which also reads these files.
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

/// Version 2 has lists of cubins, and is what version 1 is else.
static constexpr int64_t lastVersion = 2;

static StringRef getKernel(const CubinFile &file) { return file.kernel; }

/// An element of the list of cubins.
static bool readCubin(const ManifestObject &object,
                      const KernelDescription &description,
                      llvm::ArrayRef<CubinFile> others, CubinFile &file) {
  if (!object.checkKeys({"kernel", "file", "bytes"}))
    return false;
  std::optional<StringRef> kernel = object.getString("kernel");
  // What is in memory alone has none.
  std::optional<StringRef> name =
      object.has("file") ? object.getString("file") : StringRef();
  std::optional<int64_t> bytes = object.getInteger("bytes", 1, INT64_MAX);
  if (!kernel || !name || !bytes)
    return false;
  if (!llvm::is_contained(description.listFunctions(), *kernel))
    return object.fail(object.at("kernel"),
                       "no launch of '" + *kernel + "' is described");
  if (llvm::is_contained(llvm::map_range(others, getKernel), *kernel))
    return object.fail(object.at("kernel"),
                       "'" + *kernel + "' has a cubin above");
  file = {name->str(), kernel->str(), size_t(*bytes)};
  return true;
}

static bool readCubins(const ManifestObject &images, int64_t version,
                       Manifest &manifest) {
  if (!images.has("cubin"))
    return true;
  if (version == 1 || !images.get("cubin")->getAsArray()) {
    std::optional<StringRef> name = images.getString("cubin");
    if (name)
      manifest.cubins.push_back({name->str(), "", 0});
    return name.has_value();
  }
  for (auto [index, value] : llvm::enumerate(*images.getArray("cubin"))) {
    std::optional<ManifestObject> object =
        images.getObject("cubin", value, index);
    CubinFile file;
    if (!object || !readCubin(*object, manifest.kernel, manifest.cubins, file))
      return false;
    manifest.cubins.push_back(std::move(file));
  }
  for (StringRef kernel : manifest.kernel.listFunctions())
    if (!llvm::is_contained(llvm::map_range(manifest.cubins, getKernel),
                            kernel))
      return images.fail(images.at("cubin"),
                         "expected a cubin of each kernel, there is none of '" +
                             kernel + "'");
  return true;
}

static bool readImages(const ManifestObject &root, int64_t version,
                       Manifest &manifest) {
  if (!root.has("images"))
    return true;
  std::optional<ManifestObject> images = root.getObject("images");
  if (!images || !images->checkKeys({"cubin", "ptx"}) ||
      !readCubins(*images, version, manifest))
    return false;
  if (!images->has("ptx"))
    return true;
  std::optional<StringRef> name = images->getString("ptx");
  if (name)
    manifest.ptxFile = name->str();
  return name.has_value();
}

static bool readRoot(const ManifestObject &root, Manifest &manifest) {
  // The version comes first: a later one may have other fields.
  std::optional<int64_t> version = root.getInteger("version", 1, INT32_MAX);
  if (!version)
    return false;
  if (*version > lastVersion)
    return root.fail(root.at("version"), "this runtime reads versions up to " +
                                             Twine(lastVersion) + ", got " +
                                             Twine(*version));
  if (!root.checkKeys({"version", "kernel", "chip", "images", "block",
                       "cluster", "dependent", "shared_memory", "arguments",
                       "values", "requirements", "workspaces", "before",
                       "parameters", "grid"}))
    return false;
  return DescriptionReader(manifest.kernel).readKernel(root) &&
         readImages(root, *version, manifest);
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
  llvm::SmallString<128> path(file);
  if (llvm::sys::path::is_relative(path)) {
    path = llvm::sys::path::parent_path(manifestPath);
    llvm::sys::path::append(path, file);
  }
  return readFile(path, FA_INVALID_IMAGE, image);
}

static Error readImages(StringRef path, const Manifest &manifest,
                        KernelImages &images) {
  for (const CubinFile &file : manifest.cubins) {
    KernelImages::Cubin cubin = {file.kernel, ""};
    if (Error error = readImage(path, file.name, cubin.bytes))
      return error;
    if (!file.kernel.empty() && cubin.bytes.size() != file.bytes)
      return makeError(FA_INVALID_IMAGE,
                       "the cubin of kernel '" + file.kernel + "' has " +
                           Twine(cubin.bytes.size()) + " bytes, expected " +
                           Twine(file.bytes));
    if (!cubin.bytes.empty())
      images.cubins.push_back(std::move(cubin));
  }
  return manifest.ptxFile.empty()
             ? Error::success()
             : readImage(path, manifest.ptxFile, images.ptx);
}

Error mlir::fa::runtime::splitCubins(const Manifest &manifest, StringRef bytes,
                                     KernelImages &images) {
  if (bytes.empty())
    return Error::success();
  if (manifest.cubins.empty() || manifest.cubins.front().kernel.empty()) {
    images.cubins.push_back({"", bytes.str()});
    return Error::success();
  }
  size_t sum = 0;
  for (const CubinFile &file : manifest.cubins) {
    if (file.bytes > bytes.size() - sum)
      return makeError(FA_INVALID_IMAGE,
                       "the cubin of kernel '" + file.kernel + "' has " +
                           Twine(bytes.size() - sum) + " bytes, expected " +
                           Twine(file.bytes));
    images.cubins.push_back({file.kernel, bytes.substr(sum, file.bytes).str()});
    sum += file.bytes;
  }
  if (sum == bytes.size())
    return Error::success();
  return makeError(FA_INVALID_IMAGE, "the cubins have " + Twine(bytes.size()) +
                                         " bytes, expected " + Twine(sum));
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
  if (manifest->cubins.empty() && manifest->ptxFile.empty())
    return makeError(FA_INVALID_MANIFEST,
                     Twine(path) + ": manifest field images: expected the "
                                   "file name of a cubin, of ptx or of both");
  for (const CubinFile &file : manifest->cubins)
    if (file.name.empty())
      return makeError(FA_INVALID_MANIFEST,
                       Twine(path) +
                           ": manifest field images.cubin: expected the file "
                           "name of the cubin of '" +
                           file.kernel + "'");
  if (Error error = readImages(path, *manifest, images))
    return error;
  description = std::move(manifest->kernel);
  return Error::success();
}
