//===- Manifest.cpp - A launcher's manifest from a host function ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the manifest of a host function: JSON that says what arguments it
// takes, what is computed from them, and which kernels are launched
// (docs/Runtime.md). Read `build`, at the end, then `translateBody` and
// `describeLaunch`.
//
//===----------------------------------------------------------------------===//

#include "fa/Export/Manifest.h"
#include "KernelParameters.h"
#include "fa/Dialect/FA/IR/FADialect.h"
#include "fa/Export/ManifestArguments.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fa;
using fagpu::FAGPUDialect;
using llvm::json::Array;
using llvm::json::Object;

/// The function that a host function implements, null if none.
static func::FuncOp findImplemented(func::FuncOp host) {
  auto name =
      host->getAttrOfType<FlatSymbolRefAttr>(FADialect::implementsAttrName);
  return name ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(host, name)
              : func::FuncOp();
}

/// The arguments that the kernel writes, by their numbers.
static llvm::SmallDenseSet<unsigned> findOutputs(func::FuncOp kernel) {
  llvm::SmallDenseSet<unsigned> outputs;
  auto add = [&](Value memory) {
    if (auto argument = dyn_cast<BlockArgument>(memory))
      if (argument.getOwner() == &kernel.getBody().front())
        outputs.insert(argument.getArgNumber());
  };
  kernel.walk([&](Operation *op) {
    if (auto store = dyn_cast<fagpu::StoreOp>(op))
      add(store.getDestination());
    if (auto drain = dyn_cast<fagpu::DrainOp>(op))
      add(drain.getDestination());
    if (auto scatter = dyn_cast<fagpu::ScatterAddOp>(op))
      add(scatter.getDestination());
  });
  return outputs;
}

namespace {
class ManifestBuilder {
public:
  ManifestBuilder(func::FuncOp host, ArrayRef<gpu::ObjectAttr> objects,
                  ArrayRef<CubinImage> cubins, const ManifestNames &names)
      : host(host), objects(objects), cubins(cubins), ptxFile(names.ptx),
        names(names.arguments), implemented(findImplemented(host)) {
    if (implemented)
      dimNames = findDimNames(implemented);
    for (unsigned i = this->names.size(); i < host.getNumArguments(); ++i)
      this->names.push_back("arg" + std::to_string(i));
  }

  FailureOr<Object> build();

private:
  LogicalResult translateBody();
  void requireWholeGroups();
  gpu::KernelMetadataAttr findMetadata(StringAttr kernel) const;
  FailureOr<Object> describeLaunch(fagpu::LaunchOp launch);
  FailureOr<Array> describeArguments();
  Object describeImages() const;

  func::FuncOp host;
  ArrayRef<gpu::ObjectAttr> objects;
  ArrayRef<CubinImage> cubins;
  StringRef ptxFile;
  SmallVector<std::string> names;
  /// Null where the function implements none.
  func::FuncOp implemented;
  DimNames dimNames;
  std::optional<HostValues> values;
  SmallVector<fagpu::LaunchOp> launches;
  /// Of the arguments: what the kernels need, and those that they write.
  DenseMap<unsigned, Alignment> alignments;
  llvm::SmallDenseSet<unsigned> outputs;
};
} // namespace

LogicalResult ManifestBuilder::translateBody() {
  if (!llvm::hasSingleElement(host.getBody()))
    return host.emitOpError(
        "has control flow, which a manifest cannot express");
  for (Operation &op : host.getBody().front().without_terminator()) {
    if (auto launch = dyn_cast<fagpu::LaunchOp>(op))
      launches.push_back(launch);
    else if (failed(values->add(&op)))
      return failure();
  }
  if (launches.empty())
    return host.emitOpError("launches no kernel at its top level");
  return success();
}

/// Query heads are a multiple of key heads, as the attention's verifier says of
/// static sizes.
void ManifestBuilder::requireWholeGroups() {
  if (!implemented)
    return;
  llvm::SmallDenseSet<std::pair<ArgumentDim, ArgumentDim>> required;
  for (auto [heads, kvHeads] : findGroupedHeads(implemented)) {
    if (!required.insert({heads, kvHeads}).second)
      continue;
    Operand rest =
        values->emit("rem", {values->getDim(heads.first, heads.second),
                             values->getDim(kvHeads.first, kvHeads.second)});
    values->addRequirement(values->emit("equal", {rest, 0}),
                           "the heads of '" + names[heads.first] +
                               "' are no multiple of those of '" +
                               names[kvHeads.first] + "'");
  }
}

FailureOr<Array> ManifestBuilder::describeArguments() {
  Array arguments;
  for (BlockArgument argument : host.getArguments()) {
    unsigned number = argument.getArgNumber();
    FailureOr<Object> entry = describeArgument(host, number, names, dimNames);
    if (failed(entry))
      return failure();
    if (isa<MemRefType>(argument.getType())) {
      Alignment alignment = alignments.lookup(number);
      (*entry)["alignment"] = alignment.address;
      (*entry)["stride_alignment"] = alignment.strides;
    }
    if (outputs.contains(number))
      (*entry)["output"] = true;
    arguments.push_back(std::move(*entry));
  }
  return arguments;
}

/// Null where no object has the kernel.
gpu::KernelMetadataAttr ManifestBuilder::findMetadata(StringAttr kernel) const {
  for (gpu::ObjectAttr object : objects)
    if (object.getKernels())
      if (auto metadata = object.getKernels().lookup(kernel))
        return metadata;
  return nullptr;
}

/// What a manifest says of one launch.
FailureOr<Object> ManifestBuilder::describeLaunch(fagpu::LaunchOp launch) {
  gpu::KernelMetadataAttr metadata =
      findMetadata(launch.getKernelAttr().getAttr());
  auto described =
      metadata ? metadata.getAttr<ArrayAttr>(FAGPUDialect::parametersAttrName)
               : nullptr;
  auto block =
      metadata ? metadata.getAttr<DenseI32ArrayAttr>("nvvm.maxntid") : nullptr;
  if (!described || !block) {
    launch.emitOpError() << "runs " << launch.getKernelAttr()
                         << ", which the compiled object does not have";
    return failure();
  }
  values->enterLaunch(launch);
  KernelParameters parameters(launch, *values, names);
  if (failed(parameters.add(described)))
    return failure();
  for (unsigned number = 0; number < host.getNumArguments(); ++number) {
    Alignment more = parameters.getAlignment(number);
    Alignment &known = alignments[number];
    known = {std::max(known.address, more.address),
             std::max(known.strides, more.strides)};
  }
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      launch, launch.getKernelAttr());
  for (unsigned number : findOutputs(kernel))
    if (const HostMemRef *memref =
            values->getMemRef(launch.getArguments()[number]))
      outputs.insert(memref->argument);
  Array grid, threads;
  for (Value size : launch.getGrid())
    grid.push_back(values->get(size));
  // A launcher leaves out what has no blocks.
  if (Value condition = launch.getCondition())
    grid[0] = values->emit("select", {values->get(condition), grid[0], 0});
  for (int32_t size : block.asArrayRef())
    threads.push_back(size);
  auto sharedMemory =
      metadata.getAttr<IntegerAttr>(FAGPUDialect::sharedMemoryAttrName);
  Object description{
      {"kernel", launch.getKernel()},
      {"block", std::move(threads)},
      {"shared_memory", sharedMemory ? sharedMemory.getInt() : 0},
      {"parameters", parameters.take()},
      {"grid", std::move(grid)}};
  if (int64_t blocks = fagpu::getClusterSize(kernel); blocks > 1)
    description["cluster"] = Array{blocks, 1, 1};
  if (launch.getDependent())
    description["dependent"] = true;
  return description;
}

/// The files of the images, where they have any. Where each kernel has machine
/// code of its own, also how long that is: in memory the images follow each
/// other.
Object ManifestBuilder::describeImages() const {
  Object images;
  if (!ptxFile.empty())
    images["ptx"] = ptxFile.str();
  if (cubins.empty())
    return images;
  if (cubins.front().kernel.empty()) {
    if (!cubins.front().file.empty())
      images["cubin"] = cubins.front().file;
    return images;
  }
  Array list;
  for (const CubinImage &image : cubins) {
    Object listed{{"kernel", image.kernel},
                  {"bytes", int64_t(image.bytes.size())}};
    if (!image.file.empty())
      listed["file"] = image.file;
    list.push_back(std::move(listed));
  }
  images["cubin"] = std::move(list);
  return images;
}

FailureOr<Object> ManifestBuilder::build() {
  values.emplace(host, names);
  requireWholeGroups();
  if (failed(translateBody()))
    return failure();
  // The last launch is the kernel's own.
  Array before;
  Object manifest;
  for (fagpu::LaunchOp launch : launches) {
    FailureOr<Object> described = describeLaunch(launch);
    if (failed(described))
      return failure();
    if (launch == launches.back())
      manifest = std::move(*described);
    else
      before.push_back(std::move(*described));
  }
  FailureOr<Array> arguments = describeArguments();
  if (failed(arguments))
    return failure();
  Object images = describeImages();
  // Lists of images are new in version 2.
  manifest["version"] = images.getArray("cubin") ? 2 : 1;
  manifest["chip"] =
      cast<NVVM::NVVMTargetAttr>(objects.front().getTarget()).getChip();
  manifest["images"] = std::move(images);
  manifest["arguments"] = std::move(*arguments);
  manifest["requirements"] = values->takeRequirements();
  manifest["values"] = values->takeValues();
  if (Array workspaces = values->takeWorkspaces(); !workspaces.empty())
    manifest["workspaces"] = std::move(workspaces);
  if (!before.empty())
    manifest["before"] = std::move(before);
  return manifest;
}

FailureOr<Object> mlir::fa::buildManifest(func::FuncOp host,
                                          ArrayRef<gpu::ObjectAttr> objects,
                                          ArrayRef<CubinImage> cubins,
                                          const ManifestNames &names) {
  return ManifestBuilder(host, objects, cubins, names).build();
}
