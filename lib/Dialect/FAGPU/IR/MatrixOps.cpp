//===- MatrixOps.cpp - Matrix operations ----------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of matrix multiplication in its forms: fagpu.product (not yet
// selected), asynchronous with its wait (wgmma), and of warps (mma.sync).
// `verifyProduct` checks what all share: sizes, elements, layouts. Begin
// there.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FAGPU/IR/FAGPU.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fagpu;

static ArrayRef<int64_t> shapeOf(Type type) {
  if (auto view = dyn_cast<ViewType>(type))
    return view.getShape();
  return cast<RankedTensorType>(type).getShape();
}

static Type elementOf(Type type) {
  if (auto view = dyn_cast<ViewType>(type))
    return view.getElementType();
  return cast<RankedTensorType>(type).getElementType();
}

/// A first operand that is stored by columns is read from shared memory.
static LogicalResult verifyForm(Operation *op, MatrixForm form, Type a) {
  if (!isFirstTransposed(form))
    return success();
  // Which instruction a product becomes is decided behind fagpu-form-channels.
  if (isa<ProductOp>(op))
    return success();
  if (!isa<MmaAsyncOp, MmaOp>(op))
    return op->emitOpError()
           << "has the form '" << stringifyMatrixForm(form)
           << "', which only 'fagpu.mma_async' and 'fagpu.mma' have; expected "
              "'nt' or 'nn'";
  if (isa<ViewType>(a))
    return success();
  return op->emitOpError() << "has a first operand " << a << " in the form '"
                           << stringifyMatrixForm(form)
                           << "', expected a view of K x "
                           << (isa<MmaAsyncOp>(op) ? "64" : "rows");
}

/// Operands and result of any matrix operation: sizes, elements, layouts.
template <typename Op>
static LogicalResult verifyProduct(Op op, Type a, Type b,
                                   RankedTensorType result) {
  if (shapeOf(a).size() != 2 || shapeOf(b).size() != 2)
    return op.emitOpError()
           << "multiplies " << a << " and " << b << ", expected rank 2";
  if (auto tensor = dyn_cast<RankedTensorType>(a))
    if (tensor.getEncoding() && !isa<OperandLayoutAttr>(tensor.getEncoding()))
      return op.emitOpError()
             << "has a first operand of layout " << tensor.getEncoding()
             << ", expected #fagpu.opa (by fagpu.convert) or a "
                "view";
  Type element = elementOf(a);
  // A product that is not selected yet may be split into some of bf16.
  constexpr bool takesF32 = std::is_same_v<Op, ProductOp>;
  if (element != elementOf(b) ||
      !(isPackedElement(element) || (takesF32 && element.isF32())))
    return op.emitOpError()
           << "multiplies elements of type " << element << " and "
           << elementOf(b) << ", expected f16"
           << (takesF32 ? ", bf16 or f32" : " or bf16") << " on both sides";
  MatrixForm form = op.getForm();
  if (failed(verifyForm(op, form, a)))
    return failure();
  bool transposed = isSecondTransposed(form);
  int64_t rows = shapeOf(a)[0], depth = shapeOf(a)[1];
  if (isFirstTransposed(form))
    std::swap(rows, depth);
  int64_t columns = shapeOf(b)[transposed ? 0 : 1];
  int64_t otherDepth = shapeOf(b)[transposed ? 1 : 0];
  if (depth != otherDepth)
    return op.emitOpError()
           << "sums over " << depth << " in its first operand, but over "
           << otherDepth << " in its second";
  if (depth % 16)
    return op.emitOpError() << "sums over " << depth
                            << ", expected a multiple of 16; nearest is "
                            << (depth + 8) / 16 * 16;
  if ((result.getEncoding() &&
       !isa<AccumulatorLayoutAttr>(result.getEncoding())) ||
      !result.getElementType().isF32() || result.getDimSize(0) != rows ||
      result.getDimSize(1) != columns)
    return op.emitOpError() << "makes " << result << ", expected " << rows
                            << "x" << columns << " f32 of layout #fagpu.acc";
  if (Value accumulator = op.getAcc()) {
    Type added = accumulator.getType();
    if (auto inflight = dyn_cast<InflightType>(added))
      added = inflight.getValue();
    if (added != result)
      return op.emitOpError() << "adds to " << accumulator.getType()
                              << ", expected the type of its value, " << result;
  }
  return success();
}

void MmaAsyncOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "inflight");
}

MmaAsyncOp MmaAsyncOp::getPrevious() {
  return getAcc() ? getAcc().getDefiningOp<MmaAsyncOp>() : MmaAsyncOp();
}

WaitOp MmaAsyncOp::getWait() {
  Operation *user = *getResult().user_begin();
  while (auto next = dyn_cast<MmaAsyncOp>(user))
    user = *next.getResult().user_begin();
  return cast<WaitOp>(user);
}

/// What a product and those in flight that it adds to read in registers.
static SmallVector<RankedTensorType> getKept(MmaAsyncOp product) {
  SmallVector<RankedTensorType> kept;
  if (Value acc = product.getAcc())
    if (auto before = dyn_cast<InflightType>(acc.getType()))
      llvm::append_range(kept, before.getKeeps());
  if (auto registers = dyn_cast<RankedTensorType>(product.getA().getType()))
    kept.push_back(registers);
  return kept;
}

LogicalResult MmaAsyncOp::verify() {
  InflightType type = getType();
  RankedTensorType value = type.getValue();
  if (failed(verifyProduct(*this, getA().getType(), getB().getType(), value)))
    return failure();
  LayoutInterface layout = getBlockLayout(value);
  if (value.getDimSize(0) != 64 || (layout && layout.getWarps() != 4))
    return emitOpError() << "makes " << value
                         << ", expected 64 rows over 4 warps";
  if (value.getDimSize(1) > 256)
    return emitOpError() << "makes " << value.getDimSize(1)
                         << " columns, expected at most 256";
  auto registers = dyn_cast<RankedTensorType>(getA().getType());
  if (SmallVector<RankedTensorType> kept = getKept(*this);
      ArrayRef(kept) != type.getKeeps())
    return emitOpError() << "has a first operand of type " << getA().getType()
                         << (registers ? ", which its result does not keep"
                                       : ", which its result cannot keep");
  // A constant has no register to update: each product starts from a copy.
  if (getAcc() && !getAcc().hasOneUse() &&
      !matchPattern(getAcc(), m_Constant()))
    return emitOpError() << "updates an accumulator in place that has another "
                            "use; expected one use";
  if (!getResult().hasOneUse())
    return emitOpError() << "has a result with "
                         << std::distance(getResult().use_begin(),
                                          getResult().use_end())
                         << " uses, expected one 'fagpu.wait'";
  OpOperand &use = *getResult().use_begin();
  Operation *user = use.getOwner();
  if (!isa<WaitOp, MmaAsyncOp>(user) || user->getBlock() != (*this)->getBlock())
    return emitOpError() << "has a result used by '" << user->getName()
                         << "', expected 'fagpu.wait' in the same block";
  return success();
}

void WaitOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getValue(), "value");
}

void MmaOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "product");
}

/// A product that the warps compute at once.
template <typename Op>
static LogicalResult verifySynchronous(Op op, Type typeA, Type typeB) {
  auto result = cast<RankedTensorType>(op.getType());
  if (failed(verifyProduct(op, typeA, typeB, result)))
    return failure();
  // Fragments of the second operand are 16 columns.
  if (int64_t columns = result.getDimSize(1); columns % 16)
    return op.emitOpError()
           << "makes " << columns
           << " columns, expected a multiple of 16; nearest is "
           << (columns + 8) / 16 * 16;
  // Either layout may still have to be inferred.
  auto a = dyn_cast<RankedTensorType>(typeA);
  LayoutInterface layoutA = a ? getBlockLayout(a) : LayoutInterface();
  LayoutInterface layout = getBlockLayout(result);
  if (layoutA && layout && layoutA.getWarps() != layout.getWarps())
    return op.emitOpError()
           << "has a first operand of layout " << a.getEncoding()
           << ", expected the warps of its result, " << layout.getWarps();
  return success();
}

LogicalResult MmaOp::verify() {
  return verifySynchronous(*this, getA().getType(), getB().getType());
}

void MmaSumOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "sum");
}

/// The numbers of one side's operands, of which each is one.
static LogicalResult verifyNumbers(MmaSumOp op, StringRef name,
                                   ArrayRef<int32_t> numbers,
                                   OperandRange operands) {
  for (int32_t number : numbers)
    if (number < 0 || number >= static_cast<int32_t>(operands.size()))
      return op.emitOpError()
             << "multiplies " << name << " operand " << number
             << ", expected one of 0 to " << operands.size() - 1;
  for (Type type : operands.getTypes())
    if (type != operands.front().getType())
      return op.emitOpError() << "has " << name << " operands of types "
                              << operands.front().getType() << " and " << type
                              << ", expected one type";
  return success();
}

LogicalResult MmaSumOp::verify() {
  if (getA().empty() || getB().empty() || getLeft().empty())
    return emitOpError() << "has no product, expected at least one";
  if (getLeft().size() != getRight().size())
    return emitOpError() << "pairs " << getLeft().size() << " operands with "
                         << getRight().size() << ", expected as many";
  if (failed(verifyNumbers(*this, "first", getLeft(), getA())) ||
      failed(verifyNumbers(*this, "second", getRight(), getB())))
    return failure();
  return verifySynchronous(*this, getA().front().getType(),
                           getB().front().getType());
}

void ProductOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "product");
}

LogicalResult ProductOp::verify() {
  if (failed(verifyProduct(*this, getA().getType(), getB().getType(),
                           cast<RankedTensorType>(getType()))))
    return failure();
  return verifyInRole(*this);
}
