//===- KernelContext.cpp - What the patterns know of a kernel -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelContext.h"
#include "Emitter.h"
#include "VerifyLowered.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::fagpu;

LogicalResult KernelContext::collectNeeds() {
  auto addMap = [&](Operation *op, FailureOr<TensorMap> map) -> LogicalResult {
    if (failed(map))
      return failure();
    mapOf[op] = *map;
    Needs &needed = needs[map->argument];
    needed.unitStrides |= map->bounded;
    if (!llvm::any_of(needed.maps, [&](const TensorMap &other) {
          return !(other < *map) && !(*map < other);
        }))
      needed.maps.push_back(*map);
    return success();
  };
  auto addElements = [&](Value memory, int64_t alignment = 1) {
    if (auto argument = dyn_cast<BlockArgument>(memory)) {
      Needs &needed = needs[argument.getArgNumber()];
      needed.elements = true;
      needed.alignment = std::max(needed.alignment, alignment);
    }
    return success();
  };
  // Rows of matrices are stored by pieces.
  auto addStore = [&](StoreOp store) {
    auto type = cast<RankedTensorType>(store.getValue().getType());
    return addElements(store.getDestination(),
                       type.getRank() == 2 ? store.getAlignment() : 1);
  };
  auto usesEngine = [](Value channel, Engine engine) {
    auto made = channel ? channel.getDefiningOp<ChannelOp>() : ChannelOp();
    return made && made.getEngine() == engine;
  };
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (auto put = dyn_cast<PutOp>(op)) {
      if (!isCopiedByThreads(put.getChannel()))
        return addMap(put, makeTensorMap(put));
      if (failed(verifyCopiedTile(put)))
        return WalkResult::interrupt();
      // Rows without a bound end with their dimension.
      if (auto type = cast<MemRefType>(put.getSource().getType());
          !put.getRows() && type.isDynamicDim(put.getRowDim()))
        needs[cast<BlockArgument>(put.getSource()).getArgNumber()].sizes.insert(
            put.getRowDim());
      return addElements(put.getSource(), put.getAlignment());
    }
    if (auto store = dyn_cast<StoreOp>(op))
      return usesEngine(store.getVia(), Engine::tma_store)
                 ? addMap(store, makeTensorMap(store))
                 : addStore(store);
    if (auto drain = dyn_cast<DrainOp>(op))
      return addMap(drain, makeTensorMap(drain));
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return addElements(load.getMemRef());
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return addElements(store.getMemRef());
    if (auto dim = dyn_cast<memref::DimOp>(op))
      return addSize(dim);
    if (auto gather = dyn_cast<GatherOp>(op);
        gather && failed(verifyGather(gather)))
      return WalkResult::interrupt();
    if (auto gather = dyn_cast<GatherOp>(op))
      return addElements(gather.getSource(),
                         gather.getPairs()
                             ? gather.getType().getElementTypeBitWidth() / 4
                             : 1);
    if (auto extremes = dyn_cast<ExtremesOp>(op);
        extremes && failed(verifySource(extremes, extremes.getSource())))
      return WalkResult::interrupt();
    if (isa<ExtremesOp, TicketOp, RetireOp>(op))
      return addElements(op->getOperand(0));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The size of an argument's dimension, of which a dynamic one is a parameter.
LogicalResult KernelContext::addSize(memref::DimOp op) {
  auto argument = dyn_cast<BlockArgument>(op.getSource());
  if (!argument || argument.getOwner()->getParentOp() != kernel)
    return success();
  auto type = cast<MemRefType>(argument.getType());
  std::optional<int64_t> dim = op.getConstantIndex();
  if (!dim || *dim < 0 || *dim >= type.getRank()) {
    InFlightDiagnostic error = op.emitOpError() << "reads the size of ";
    if (dim)
      error << "dimension " << *dim;
    else
      error << "a dimension that is no constant";
    return error << " of " << type << ", expected 0 to " << type.getRank() - 1;
  }
  if (type.isDynamicDim(*dim))
    needs[argument.getArgNumber()].sizes.insert(*dim);
  return success();
}

BlockArgument
KernelContext::addParameter(Type type, DictionaryAttr description,
                            SmallVectorImpl<Attribute> &parameters) {
  parameters.push_back(description);
  return kernel.getBody().front().addArgument(type, kernel.getLoc());
}

static DictionaryAttr describe(MLIRContext *context, StringRef kind,
                               unsigned argument,
                               std::optional<unsigned> dim = std::nullopt) {
  Builder builder(context);
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("kind", builder.getStringAttr(kind)),
      builder.getNamedAttr("argument", builder.getI64IntegerAttr(argument))};
  if (dim)
    entries.push_back(
        builder.getNamedAttr("dim", builder.getI64IntegerAttr(*dim)));
  return builder.getDictionaryAttr(entries);
}

static DictionaryAttr describePointer(MLIRContext *context, unsigned argument,
                                      int64_t alignment) {
  DictionaryAttr pointer = describe(context, "pointer", argument);
  if (alignment == 1)
    return pointer;
  NamedAttrList entries(pointer);
  entries.set("alignment", Builder(context).getI64IntegerAttr(alignment));
  return entries.getDictionary(context);
}

void KernelContext::replaceArgument(unsigned number, Needs &needed,
                                    SmallVectorImpl<Attribute> &parameters) {
  MLIRContext *context = kernel.getContext();
  BlockArgument argument = kernel.getArgument(number);
  auto type = dyn_cast<MemRefType>(argument.getType());
  if (!type) {
    argument.replaceAllUsesWith(addParameter(
        argument.getType(), describe(context, "scalar", number), parameters));
    return;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto placeholder = UnrealizedConversionCastOp::create(
      builder, kernel.getLoc(), type, ValueRange());
  placeholders.push_back(placeholder);
  argument.replaceAllUsesWith(placeholder.getResult(0));
  MemRefParameters &values = memrefs[placeholder.getResult(0)];
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  for (const TensorMap &map : needed.maps)
    maps[map] = addParameter(LLVM::LLVMPointerType::get(context),
                             map.toAttribute(context), parameters);
  for (int64_t dim = 0; needed.unitStrides && dim + 1 < type.getRank(); ++dim)
    values.unitStrides.push_back(addParameter(
        i32, describe(context, "unit_stride", number, dim), parameters));
  for (unsigned dim : needed.sizes)
    values.sizes[dim] =
        addParameter(i64, describe(context, "size", number, dim), parameters);
  if (!needed.elements)
    return;
  values.pointer = addParameter(
      LLVM::LLVMPointerType::get(context, 1),
      describePointer(context, number, needed.alignment), parameters);
  auto [strides, offset] = type.getStridesAndOffset();
  for (auto [dim, stride] : llvm::enumerate(strides))
    values.strides.push_back(
        ShapedType::isDynamic(stride)
            ? addParameter(i64, describe(context, "stride", number, dim),
                           parameters)
            : Value());
}

void KernelContext::replaceArguments() {
  MLIRContext *context = kernel.getContext();
  Block &entry = kernel.getBody().front();
  unsigned numArguments = entry.getNumArguments();
  SmallVector<Attribute> parameters;
  for (unsigned number = 0; number < numArguments; ++number)
    replaceArgument(number, needs[number], parameters);
  entry.eraseArguments(0, numArguments);
  kernel.setFunctionType(
      FunctionType::get(context, entry.getArgumentTypes(), {}));
  kernel.removeArgAttrsAttr();
  Builder builder(context);
  kernel->setAttr(FAGPUDialect::parametersAttrName,
                  builder.getArrayAttr(parameters));
  for (auto &[map, value] : maps) {
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    kernel.setArgAttr(number, "llvm.align", builder.getI64IntegerAttr(64));
    kernel.setArgAttr(
        number, "llvm.byval",
        TypeAttr::get(LLVM::LLVMArrayType::get(builder.getI8Type(), 128)));
  }
}

Value KernelContext::getTensorMapParameter(const TensorMap &map) const {
  return maps.at(map);
}

Value KernelContext::getUnitStride(Value placeholder, unsigned dim) const {
  return memrefs.at(placeholder).unitStrides[dim];
}

Value KernelContext::getPointer(Value placeholder) const {
  auto found = memrefs.find(placeholder);
  return found == memrefs.end() ? Value() : found->second.pointer;
}

Value KernelContext::getStride(OpBuilder &builder, Value placeholder,
                               unsigned dim) const {
  if (Value stride = memrefs.at(placeholder).strides[dim])
    return stride;
  auto [strides, offset] =
      cast<MemRefType>(placeholder.getType()).getStridesAndOffset();
  return Emitter(builder, placeholder.getLoc()).constant64(strides[dim]);
}

Value KernelContext::getSize(OpBuilder &builder, Value memory,
                             unsigned dim) const {
  auto found = memrefs.find(memory);
  if (found == memrefs.end())
    return {};
  if (Value size = found->second.sizes.lookup(dim))
    return size;
  return Emitter(builder, memory.getLoc())
      .constant64(cast<MemRefType>(memory.getType()).getDimSize(dim));
}

LogicalResult KernelContext::prepare() {
  if (!kernel->hasAttr(FAGPUDialect::sharedMemoryAttrName))
    return kernel.emitOpError()
           << "has no '" << FAGPUDialect::sharedMemoryAttrName
           << "'; run fagpu-plan-resources before";
  if (kernel.getOps<RoleOp>().empty())
    return kernel.emitOpError() << "has no 'fagpu.role'";
  if (failed(collectNeeds()) || failed(verifyLowered(kernel)) ||
      failed(replaceConstants()))
    return failure();
  replaceArguments();
  emitSharedBase();
  emitThreads();
  emitBarriers();
  frameRoles();
  return success();
}

void KernelContext::finish() {
  SmallVector<Operation *> resources;
  for (Operation &op : kernel.getBody().front())
    if (isa<ChannelOp, MailOp, TurnsOp>(op))
      resources.push_back(&op);
  for (Operation *op : llvm::reverse(resources))
    op->erase();
  for (Operation *op : placeholders)
    op->erase();
}
