//===- ManifestReader.h - Typed access to the fields of a manifest -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_RUNTIME_CUDA_MANIFESTREADER_H
#define FA_LIB_RUNTIME_CUDA_MANIFESTREADER_H

#include "fa/Runtime/CUDA/Manifest.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace mlir::fa::runtime {

/// A JSON object and where it stands in the manifest. Getters return nothing
/// after reporting an error; only the first error is kept.
class ManifestObject {
public:
  ManifestObject(const llvm::json::Object &object, std::string path,
                 std::string &error)
      : object(object), path(std::move(path)), error(error) {}

  bool has(llvm::StringRef key) const { return object.get(key); }
  const llvm::json::Value *get(llvm::StringRef key) const {
    return object.get(key);
  }

  /// Reports any field whose name is not among `keys`.
  bool checkKeys(llvm::ArrayRef<llvm::StringRef> keys) const;
  std::optional<llvm::StringRef> getString(llvm::StringRef key) const;
  std::optional<int64_t> getInteger(llvm::StringRef key, int64_t least,
                                    int64_t most) const;
  const llvm::json::Array *getArray(llvm::StringRef key) const;
  std::optional<bool> getBoolean(llvm::StringRef key) const;
  /// Up to three sizes, each from 1 to `most`; those left out are 1.
  bool getSizes(llvm::StringRef key, unsigned most,
                std::array<unsigned, 3> &sizes) const;
  std::optional<ManifestObject> getObject(llvm::StringRef key) const;
  /// The element `index` of the array at `key`.
  std::optional<ManifestObject> getObject(llvm::StringRef key,
                                          const llvm::json::Value &element,
                                          size_t index) const;

  /// The path of a field, for example parameters[2].box.
  std::string at(llvm::StringRef key) const;
  std::string at(llvm::StringRef key, size_t index) const;
  /// Keeps the first error. Returns false.
  bool fail(const llvm::Twine &where, const llvm::Twine &message) const;

private:
  const llvm::json::Object &object;
  std::string path;
  std::string &error;
};

/// How an error shows a value of the wrong type.
std::string show(const llvm::json::Value &value);

/// Reads the parts of a manifest into a description. Names of arguments, dims
/// and values share one scope; a value may use all that stand before it.
class DescriptionReader {
public:
  DescriptionReader(KernelDescription &description)
      : description(description) {}

  bool readKernel(const ManifestObject &root);
  bool readArguments(const ManifestObject &root);

private:
  bool readArgument(const ManifestObject &object);
  bool readShape(const ManifestObject &object, ArgumentSpec &spec);
  bool readStrides(const ManifestObject &object, ArgumentSpec &spec);
  bool readValues(const ManifestObject &root);
  bool readRequirements(const ManifestObject &root);
  bool readFunction(const ManifestObject &object, LaunchDescription &launch);
  bool readWorkspaces(const ManifestObject &root);
  bool readBefore(const ManifestObject &root);
  bool readParameters(const ManifestObject &root, LaunchDescription &launch);
  bool readParameter(const ManifestObject &object, LaunchDescription &launch);
  bool readTensorMap(const ManifestObject &object, ParameterSpec &parameter);
  bool readMappedMemory(const ManifestObject &object, ParameterSpec &parameter);
  bool readWorkspaceName(const ManifestObject &object, llvm::StringRef key,
                         ParameterSpec &parameter);
  bool readMapDim(const ManifestObject &object, bool isInnermost,
                  ParameterSpec &parameter);
  bool checkInnerBox(const ManifestObject &object,
                     const ParameterSpec &parameter);
  bool readGrid(const ManifestObject &root, LaunchDescription &launch);

  bool define(const ManifestObject &object, llvm::StringRef key,
              llvm::StringRef name, Slot slot);
  std::optional<unsigned> readTensorName(const ManifestObject &object,
                                         llvm::StringRef key);
  /// Argument and offset of a parameter that is an address.
  bool readPlace(const ManifestObject &object, llvm::StringRef key,
                 ParameterSpec &parameter);
  std::optional<Slot> readOperand(const ManifestObject &object,
                                  const llvm::json::Value &value,
                                  const llvm::Twine &where);
  std::optional<Slot> readOperand(const ManifestObject &object,
                                  llvm::StringRef key);
  std::optional<Slot> readNamedOperand(const ManifestObject &object,
                                       llvm::StringRef name,
                                       const llvm::Twine &where);
  std::optional<unsigned> findArgument(llvm::StringRef name) const;
  std::optional<unsigned> findWorkspace(llvm::StringRef name) const;

  KernelDescription &description;
  llvm::StringMap<Slot> names;
};

} // namespace mlir::fa::runtime

#endif // FA_LIB_RUNTIME_CUDA_MANIFESTREADER_H
