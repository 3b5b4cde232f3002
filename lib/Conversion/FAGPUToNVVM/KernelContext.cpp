//===- KernelContext.cpp - What the patterns know of a kernel -------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the memrefs of a kernel's signature into what a launch can pass:
// pointers, strides, sizes and TMA tensor maps, each described in an
// attribute for the launcher. Read `prepare` first, then `collectNeeds` and
// `replaceArguments`.
//
//===----------------------------------------------------------------------===//

#include "KernelContext.h"
#include "Emitter.h"
#include "ThreadLoops.h"
#include "VerifyPlanned.h"
#include "fa/Conversion/FAGPUToNVVM/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fagpu;

void KernelContext::collectNeeds() {
  auto addMap = [&](Operation *op, const TensorMap &map) {
    mapOf[op] = map;
    Needs &needed = needs[map.argument];
    needed.unitStrides |= map.bounded;
    if (!llvm::any_of(needed.maps, [&](const TensorMap &other) {
          return !(other < map) && !(map < other);
        }))
      needed.maps.push_back(map);
  };
  auto addElements = [&](Value memory, int64_t alignment = 1) {
    if (auto argument = dyn_cast<BlockArgument>(memory)) {
      Needs &needed = needs[argument.getArgNumber()];
      needed.elements = true;
      needed.alignment = std::max(needed.alignment, alignment);
    }
  };
  // Moved without bounds, 16 bytes at a time.
  auto addPieces = [&](Value memory, int64_t count) {
    addElements(memory, 16);
    if (auto argument = dyn_cast<BlockArgument>(memory))
      needs[argument.getArgNumber()].pieces.insert(count);
  };
  // A dynamic size is a parameter.
  auto addSize = [&](Value memory, int64_t dim) {
    auto argument = dyn_cast<BlockArgument>(memory);
    if (argument && argument.getOwner()->getParentOp() == kernel &&
        cast<MemRefType>(memory.getType()).isDynamicDim(dim))
      needs[argument.getArgNumber()].sizes.insert(dim);
  };
  auto isStaged = [](StoreOp store) {
    return store.getVia() &&
           store.getVia().getDefiningOp<ChannelOp>().getEngine() ==
               Engine::tma_store;
  };
  kernel.walk([&](Operation *op) {
    if (auto put = dyn_cast<PutOp>(op)) {
      if (Value table = put.getPages()) {
        addSize(put.getSource(), *put.getPageDim());
        addSize(put.getSource(), put.getRowDim());
        addSize(table, 1);
        addElements(table);
        if (put.getChannel().getDefiningOp<ChannelOp>().getEngine() ==
            Engine::tma)
          return addMap(put, *makeTensorMap(put));
        return addElements(put.getSource(), put.getAlignment());
      }
      if (isVectorInBulk(put))
        return addPieces(put.getSource(), put.getSizes().back());
      if (!isCopiedByThreads(put.getChannel()))
        return addMap(put, *makeTensorMap(put));
      // Rows without a bound end with their dimension.
      if (!put.getRows())
        addSize(put.getSource(), put.getRowDim());
      return addElements(put.getSource(), put.getAlignment());
    }
    if (auto store = dyn_cast<StoreOp>(op)) {
      if (store.getFragments())
        return addPieces(store.getDestination(), store.getBox().back());
      if (isStaged(store))
        return addMap(store, *makeTensorMap(store));
      // Rows of matrices are stored by pieces.
      bool isMatrix =
          cast<RankedTensorType>(store.getValue().getType()).getRank() == 2;
      return addElements(store.getDestination(),
                         isMatrix ? store.getAlignment() : 1);
    }
    if (auto drain = dyn_cast<DrainOp>(op))
      return addMap(drain, *makeTensorMap(drain));
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return addElements(load.getMemRef());
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return addElements(store.getMemRef());
    if (auto load = dyn_cast<vector::LoadOp>(op))
      return addElements(load.getBase(),
                         getVectorAlignment(load.getVectorType()));
    if (auto store = dyn_cast<vector::StoreOp>(op))
      return addElements(store.getBase(),
                         getVectorAlignment(store.getVectorType()));
    if (auto dim = dyn_cast<memref::DimOp>(op))
      if (std::optional<int64_t> number = dim.getConstantIndex())
        return addSize(dim.getSource(), *number);
    if (auto gather = dyn_cast<GatherOp>(op))
      return addElements(gather.getSource(),
                         gather.getPairs()
                             ? gather.getType().getElementTypeBitWidth() / 4
                             : 1);
    if (auto scatter = dyn_cast<ScatterAddOp>(op))
      return addElements(scatter.getDestination());
    if (isa<ExtremesOp, TicketOp, RetireOp>(op))
      return addElements(op->getOperand(0));
  });
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
                                      int64_t alignment,
                                      ArrayRef<int64_t> pieces) {
  Builder builder(context);
  NamedAttrList entries(describe(context, "pointer", argument));
  if (alignment != 1)
    entries.set("alignment", builder.getI64IntegerAttr(alignment));
  if (!pieces.empty())
    entries.set("pieces", builder.getDenseI64ArrayAttr(pieces));
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
  values.pointer =
      addParameter(LLVM::LLVMPointerType::get(context, 1),
                   describePointer(context, number, needed.alignment,
                                   needed.pieces.getArrayRef()),
                   parameters);
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
  if (failed(verifyHasLowering(kernel)) || failed(verifyPlanned(kernel)))
    return failure();
  collectNeeds();
  replaceConstants();
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
