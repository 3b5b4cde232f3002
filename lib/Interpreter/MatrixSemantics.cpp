//===- MatrixSemantics.cpp - Matrix products and waits --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix multiplication in the interpreter. An asynchronous product is
// computed at its wait, not at its issue, so that a stage released too early
// shows. Read `compileIssue` and `compileWait`; the other forms compute at
// once.
//
//===----------------------------------------------------------------------===//

#include "GPUSemantics.h"
#include "Products.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

namespace {
/// The registers of a product.
struct ProductRegisters {
  unsigned a, b;
  std::optional<unsigned> accumulator;
  fagpu::MatrixForm form;
  bool addsToInflight;
  int64_t rows, columns;

  template <typename OpT>
  ProductRegisters(OpT op, RankedTensorType type, ProgramBuilder &builder)
      : a(builder.getRegister(op.getA())), b(builder.getRegister(op.getB())),
        accumulator(getOptionalRegister(builder, op.getAcc())),
        form(op.getForm()),
        addsToInflight(op.getAcc() &&
                       isa<fagpu::InflightType>(op.getAcc().getType())),
        rows(type.getDimSize(0)), columns(type.getDimSize(1)) {}

  ProductOperands read(Frame &frame) const {
    return {frame[a].object,
            ViewRef(static_cast<ViewValue *>(frame[b].object.get())),
            accumulator && !addsToInflight ? frame.arrayRef(*accumulator)
                                           : nullptr,
            addsToInflight
                ? &static_cast<InflightValue &>(*frame[*accumulator].object)
                : nullptr,
            form,
            rows,
            columns};
  }
};
} // namespace

/// Refuses to read stages that may not be read.
static LogicalResult checkHeld(Worker &worker, Operation *op,
                               const ProductOperands &operands) {
  for (Object *operand :
       {operands.a.get(), static_cast<Object *>(operands.b.get())}) {
    auto *view = llvm::dyn_cast<ViewValue>(operand);
    if (view && failed(view->token->checkReadable(worker, op)))
      return failure();
  }
  return success();
}

static LogicalResult compileIssue(fagpu::MmaAsyncOp op,
                                  ProgramBuilder &builder) {
  ProductRegisters registers(op, op.getType().getValue(), builder);
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    llvm::IntrusiveRefCntPtr<InflightValue> product(new InflightValue());
    product->issue = op;
    product->operands = registers.read(frame);
    if (failed(checkHeld(**worker, op, product->operands)) ||
        failed((*worker)->step(op)))
      return failure();
    (*worker)->products.push_back(product);
    (*worker)->record(op, "issued a product");
    frame[result].object = product;
    return success();
  });
  return success();
}

/// Completes products in the order of their issue: all but the last `pending`,
/// or those up to the one that is waited for.
static LogicalResult compileWait(fagpu::WaitOp op, ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getInflight());
  unsigned result = builder.getRegister(op.getValue());
  std::optional<size_t> pending;
  if (op.getPending())
    pending = *op.getPending();
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker) || failed((*worker)->step(op)))
      return failure();
    auto &product = static_cast<InflightValue &>(*frame[source].object);
    auto &products = (*worker)->products;
    while (pending ? products.size() > *pending : !product.value)
      if (failed(completeOldestProduct(**worker)))
        return failure();
    if (!product.value)
      return (*worker)->fail(
          op, "with pending(" + Twine(*pending) +
                  ") leaves in flight the product that it waits for, issued "
                  "at " +
                  describePlace(product.issue));
    (*worker)->record(op, "waited for a product");
    frame[result] = product.value;
    return success();
  });
  return success();
}

static LogicalResult compileProduct(fagpu::MmaOp op, ProgramBuilder &builder) {
  ProductRegisters registers(op, cast<RankedTensorType>(op.getType()), builder);
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    auto value = multiply(**worker, op, registers.read(frame));
    if (failed(value))
      return failure();
    frame[result] = *value;
    return success();
  });
  return success();
}

static ArrayRefPtr addArrays(const ArrayRefPtr &a, const ArrayRefPtr &b,
                             ArrayRef<int64_t> shape) {
  ArrayRefPtr left = packArray(a), right = packArray(b);
  ArrayRefPtr sum = makeArray(shape);
  for (int64_t i = 0, end = sum->getNumElements(); i < end; ++i)
    sum->data()[i].real = static_cast<float>(left->data()[i].real) +
                          static_cast<float>(right->data()[i].real);
  return sum;
}

/// One product after the other; each adds to those before it.
static LogicalResult compileSum(fagpu::MmaSumOp op, ProgramBuilder &builder) {
  auto type = cast<RankedTensorType>(op.getType());
  auto getRegisters = [&](ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value value) { return builder.getRegister(value); });
  };
  SmallVector<unsigned> a = getRegisters(op.getA()),
                        b = getRegisters(op.getB());
  SmallVector<int32_t> left(op.getLeft()), right(op.getRight());
  std::optional<unsigned> accumulator =
      getOptionalRegister(builder, op.getAcc());
  unsigned result = builder.getRegister(op.getResult());
  fagpu::MatrixForm form = op.getForm();
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    ArrayRefPtr sum;
    for (auto [numberA, numberB] : llvm::zip(left, right)) {
      auto value = multiply(
          **worker, op,
          {frame[a[numberA]].object,
           ViewRef(static_cast<ViewValue *>(frame[b[numberB]].object.get())),
           sum, nullptr, form, type.getDimSize(0), type.getDimSize(1)});
      if (failed(value))
        return failure();
      sum = *value;
    }
    if (accumulator)
      sum = addArrays(frame.arrayRef(*accumulator), sum, type.getShape());
    frame[result] = sum;
    return success();
  });
  return success();
}

void interpreter::addMatrixSemantics(Semantics &semantics) {
  semantics.add<fagpu::MmaAsyncOp>(compileIssue);
  semantics.add<fagpu::WaitOp>(compileWait);
  semantics.add<fagpu::MmaOp>(compileProduct);
  semantics.add<fagpu::MmaSumOp>(compileSum);
}
