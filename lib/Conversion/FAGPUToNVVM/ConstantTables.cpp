//===- ConstantTables.cpp - Constants of a module in device memory --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelContext.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::fagpu;

/// The address space of global memory.
static constexpr unsigned globalSpace = 1;
/// Bytes that the address of a table is a multiple of.
static constexpr int64_t tableAlignment = 16;

/// The elements as integers of their size, row-major; an i1 takes a byte. Null
/// where they have no such form.
static DenseElementsAttr getWords(DenseElementsAttr elements) {
  Type element = elements.getElementType();
  if (!element.isIntOrFloat())
    return {};
  MLIRContext *context = elements.getContext();
  unsigned bits = element.getIntOrFloatBitWidth();
  auto integer = IntegerType::get(context, bits == 1 ? 8 : bits);
  if (bits == 1)
    elements = elements.mapValues(
        integer, [](const APInt &value) { return value.zext(8); });
  else if (bits % 8 == 0)
    elements = elements.bitcast(integer);
  else
    return {};
  return elements.reshape(
      RankedTensorType::get({elements.getNumElements()}, integer));
}

/// The elements of a constant as words; null if it has no table.
static DenseElementsAttr getTable(memref::GetGlobalOp op) {
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      op, op.getNameAttr());
  auto elements = global && global.getConstant() && global.getInitialValue()
                      ? dyn_cast<DenseElementsAttr>(*global.getInitialValue())
                      : DenseElementsAttr();
  DenseElementsAttr words = elements ? getWords(elements) : elements;
  return op.getType().getLayout().isIdentity() ? words : DenseElementsAttr();
}

LogicalResult mlir::fagpu::verifyTable(memref::GetGlobalOp op) {
  if (!getTable(op))
    return op.emitOpError()
           << "reads '@" << op.getName() << "' of type " << op.getType()
           << " in a kernel, expected a constant with dense elements of i1 or "
              "of whole bytes";
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    auto put = dyn_cast<PutOp>(user);
    bool isPages =
        put && use.get() == put.getPages() && use.get() != put.getSource();
    if (!isPages &&
        !isa<memref::LoadOp, memref::DimOp, GatherOp, ExtremesOp, func::CallOp>(
            user))
      return user->emitOpError()
             << "uses the constant '@" << op.getName()
             << "', which a kernel reads by 'fagpu.gather', 'fagpu.extremes', "
                "'memref.load' and as pages of a 'fagpu.put' only";
  }
  return success();
}

/// The table on the device; kernels of a module share it.
static LLVM::GlobalOp getOrCreateGlobal(memref::GetGlobalOp op,
                                        DenseElementsAttr words) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string name = ("fagpu_table_" + op.getName()).str();
  if (auto known = module.lookupSymbol<LLVM::GlobalOp>(name))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type =
      LLVM::LLVMArrayType::get(words.getElementType(), words.getNumElements());
  return LLVM::GlobalOp::create(builder, op.getLoc(), type, /*isConstant=*/true,
                                LLVM::Linkage::Internal, name, words,
                                tableAlignment, globalSpace);
}

void KernelContext::replaceConstants() {
  SmallVector<memref::GetGlobalOp> constants;
  kernel.walk([&](memref::GetGlobalOp op) { constants.push_back(op); });
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  for (memref::GetGlobalOp op : constants) {
    auto placeholder = UnrealizedConversionCastOp::create(
        builder, op.getLoc(), op.getType(), ValueRange());
    placeholders.push_back(placeholder);
    MemRefParameters &values = memrefs[placeholder.getResult(0)];
    values.pointer = LLVM::AddressOfOp::create(
        builder, op.getLoc(), getOrCreateGlobal(op, getTable(op)));
    values.strides.resize(op.getType().getRank());
    op.replaceAllUsesWith(placeholder.getResult(0));
    op.erase();
  }
}
