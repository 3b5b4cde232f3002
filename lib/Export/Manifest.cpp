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
#include "DimNames.h"
#include "KernelParameters.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fa;
using fagpu::FAGPUDialect;
using llvm::json::Array;
using llvm::json::Object;

/// The name of a type in a manifest; "" where it has none.
static StringRef getTypeName(Type type) {
  // In memory a byte of 0 or 1.
  if (type.isInteger(1))
    return "i1";
  if (type.isIndex() || type.isInteger(64))
    return "i64";
  if (type.isInteger(32))
    return "i32";
  if (type.isInteger(8))
    return "i8";
  if (type.isF64())
    return "f64";
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (isa<Float8E4M3FNType>(type))
    return "f8E4M3FN";
  return isa<Float8E5M2Type>(type) ? "f8E5M2" : "";
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
  });
  return outputs;
}

namespace {
class ManifestBuilder {
public:
  ManifestBuilder(func::FuncOp host, gpu::ObjectAttr object,
                  const ManifestNames &names)
      : host(host), object(object), files(names), names(names.arguments),
        dimNames(findDimNames(host)) {
    for (unsigned i = this->names.size(); i < host.getNumArguments(); ++i)
      this->names.push_back("arg" + std::to_string(i));
  }

  FailureOr<Object> build();

private:
  LogicalResult translateBody();
  void requireWholeGroups();
  FailureOr<Object> describeLaunch(fagpu::LaunchOp launch);
  FailureOr<Array> describeArguments();
  Object describeTensor(unsigned number, Alignment alignment);
  Operand describeDim(unsigned number, unsigned dim);

  func::FuncOp host;
  gpu::ObjectAttr object;
  const ManifestNames &files;
  SmallVector<std::string> names;
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
  std::optional<std::pair<unsigned, unsigned>> heads, kvHeads;
  for (auto [place, name] : dimNames) {
    if (name == "heads" && !heads)
      heads = place;
    if (name == "kv_heads" && !kvHeads)
      kvHeads = place;
  }
  if (!heads || !kvHeads)
    return;
  Operand rest =
      values->emit("rem", {values->getDim(heads->first, heads->second),
                           values->getDim(kvHeads->first, kvHeads->second)});
  values->addRequirement(values->emit("equal", {rest, 0}),
                         "the heads of '" + names[heads->first] +
                             "' are no multiple of those of '" +
                             names[kvHeads->first] + "'");
}

/// A dim that a launcher may name: dims of one name are equal.
Operand ManifestBuilder::describeDim(unsigned number, unsigned dim) {
  auto type = cast<MemRefType>(host.getArgument(number).getType());
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  auto found = dimNames.find({number, dim});
  if (found == dimNames.end())
    return "?";
  std::string name = found->second.str();
  while (llvm::is_contained(names, name))
    name += "_dim";
  return name;
}

Object ManifestBuilder::describeTensor(unsigned number, Alignment alignment) {
  auto type = cast<MemRefType>(host.getArgument(number).getType());
  Array shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    shape.push_back(describeDim(number, dim));
  Operand strides = "contiguous";
  if (!type.getLayout().isIdentity()) {
    Array each;
    for (int64_t stride : type.getStridesAndOffset().first)
      each.push_back(ShapedType::isDynamic(stride) ? Operand("?")
                                                   : Operand(stride));
    strides = std::move(each);
  }
  return Object{{"shape", std::move(shape)},
                {"strides", std::move(strides)},
                {"alignment", alignment.address},
                {"stride_alignment", alignment.strides}};
}

FailureOr<Array> ManifestBuilder::describeArguments() {
  Array arguments;
  for (BlockArgument argument : host.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto memref = dyn_cast<MemRefType>(argument.getType());
    StringRef type =
        getTypeName(memref ? memref.getElementType() : argument.getType());
    if (type.empty() || (memref && !memref.isStrided())) {
      host.emitOpError() << "takes " << argument.getType() << " as argument "
                         << number
                         << ", which a manifest cannot express; expected a "
                            "strided memref or a scalar of i1, i8, i32, i64, "
                            "f16, bf16, f32, f64 or f8";
      return failure();
    }
    Object entry;
    if (memref)
      entry = describeTensor(number, alignments.lookup(number));
    entry["name"] = names[number];
    entry["dtype"] = type;
    if (outputs.contains(number))
      entry["output"] = true;
    arguments.push_back(std::move(entry));
  }
  return arguments;
}

/// What a manifest says of one launch.
FailureOr<Object> ManifestBuilder::describeLaunch(fagpu::LaunchOp launch) {
  gpu::KernelMetadataAttr metadata =
      object.getKernels() ? object.getKernels().lookup(launch.getKernel())
                          : nullptr;
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
  return description;
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
  Object images;
  if (!files.cubin.empty())
    images["cubin"] = files.cubin;
  if (!files.ptx.empty())
    images["ptx"] = files.ptx;
  manifest["version"] = 1;
  manifest["chip"] = cast<NVVM::NVVMTargetAttr>(object.getTarget()).getChip();
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
                                          gpu::ObjectAttr object,
                                          const ManifestNames &names) {
  return ManifestBuilder(host, object, names).build();
}
