//===- MatrixPatterns.cpp - Products of warp groups -----------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A whole product is one piece of inline PTX, so that its steps share their
// registers; accumulators are tied from input to output, there and in the
// wait. Without a tie an output must not share a register with an input that
// is still read (the constraint &). Read `OperandTile`, then
// `MmaAsyncPattern`.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "SharedTile.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

/// "{$first, ..., $last}"
static std::string registerList(int64_t first, int64_t count) {
  std::string text;
  for (int64_t index = first; index < first + count; ++index)
    text += (index == first ? "{$" : ", $") + std::to_string(index);
  return text + "}";
}

static void append(std::string &constraints, StringRef constraint,
                   int64_t count) {
  for (int64_t index = 0; index < count; ++index)
    constraints += (constraints.empty() ? "" : ",") + constraint.str();
}

/// Ties inputs to the outputs 0 to count - 1.
static void appendTies(std::string &constraints, int64_t count) {
  for (int64_t index = 0; index < count; ++index)
    constraints += "," + std::to_string(index);
}

namespace {

/// How the tile of a matrix operand lies in shared memory: swizzled panels, one
/// after the other, of which eight rows are a unit. Source: PTX ISA, matrix
/// descriptors of wgmma and their canonical layouts.
struct OperandTile {
  /// Rows of the whole tile: a panel has as many.
  int64_t rows;
  Panels panels;
  /// Whether the summed dimension is the contiguous one.
  bool depthContiguous;

  OperandTile(Value view, bool depthContiguous)
      : OperandTile(cast<ViewType>(getWholeView(view).getType()),
                    depthContiguous) {}
  OperandTile(ViewType whole, bool depthContiguous)
      : rows(whole.getShape()[0]), panels(whole.getLayout()),
        depthContiguous(depthContiguous) {}

  /// Offset of a step of 16 along the summed dimension, in units of 16 bytes.
  int64_t stepOffset(int64_t step) const {
    if (!depthContiguous)
      return step * 16 * panels.rowBytes / 16;
    int64_t stepsInPanel = panels.getColumns() / 16;
    int64_t panel = step / stepsInPanel, inPanel = step % stepsInPanel;
    return panel * rows * panels.rowBytes / 16 + inPanel * 2;
  }

  /// The shared memory descriptor of the tile at a 32-bit address.
  Value getDescriptor(Emitter &emit, Value address) const {
    int64_t leading = depthContiguous ? 16 : rows * panels.rowBytes;
    Value low = emit.bitAnd(emit.shiftRight(address, 4), 0x3fff);
    low = emit.bitOr(low, emit.constant((leading >> 4) << 16));
    Value wide = LLVM::ZExtOp::create(emit.builder, emit.location,
                                      emit.builder.getI64Type(), low);
    // The swizzle is 1, 2 or 3 for panels of 128, 64 or 32 bytes.
    int64_t stride = 8 * panels.rowBytes, swizzle = 8 - panels.getRowBits();
    auto high = static_cast<uint64_t>(swizzle) << 62 |
                static_cast<uint64_t>(stride >> 4) << 32;
    return emit.bitOr(wide, emit.constant64(static_cast<int64_t>(high)));
  }
};

/// Bytes from the start of a stage to a slice of it; 0 where they are not
/// known.
static int64_t getKnownOffset(Value view) {
  auto slice = view.getDefiningOp<SliceOp>();
  if (!slice)
    return 0;
  std::optional<int64_t> row = getConstantIntValue(slice.getOffsets()[0]),
                         column = getConstantIntValue(slice.getOffsets()[1]);
  if (!row || !column)
    return 0;
  auto whole = cast<ViewType>(getWholeView(view).getType());
  Panels panels(whole.getLayout());
  int64_t panel = *column / panels.getColumns();
  return (panel * whole.getShape()[0] + *row) * panels.rowBytes +
         getKnownOffset(slice.getView());
}

struct MmaAsyncPattern : public LoweringPattern<MmaAsyncOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(MmaAsyncOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    RankedTensorType type = op.getType().getValue();
    int64_t numResults = registersPerThread(type);
    bool transposed = isSecondTransposed(op.getForm());
    bool transposedA = isFirstTransposed(op.getForm());
    ViewType b = op.getB().getType();
    OperandTile tileB(op.getB(), transposed);
    int64_t steps = b.getShape()[transposed ? 1 : 0] / 16;

    SmallVector<Value> inputs;
    std::string constraints;
    append(constraints, op.getAcc() ? "=f" : "=&f", numResults);
    if (op.getAcc()) {
      appendTies(constraints, numResults);
      llvm::append_range(inputs, adaptor.getAcc().take_front(numResults));
    }
    auto view = dyn_cast<ViewType>(op.getA().getType());
    int64_t firstA = numResults + inputs.size(), offsetA = 0;
    if (view) {
      OperandTile tileA(op.getA(), /*depthContiguous=*/!transposedA);
      int64_t bytes = getKnownOffset(op.getA());
      offsetA = bytes / 16;
      inputs.push_back(
          tileA.getDescriptor(emit, emit.add(adaptor.getA()[0], -bytes)));
      append(constraints, "l", 1);
    } else {
      llvm::append_range(inputs, adaptor.getA());
      append(constraints, "r", adaptor.getA().size());
    }
    std::string descriptorB = "$" + std::to_string(numResults + inputs.size());
    // What slices of a stage have in common is computed once.
    int64_t bytesB = getKnownOffset(op.getB());
    inputs.push_back(
        tileB.getDescriptor(emit, emit.add(adaptor.getB()[0], -bytesB)));
    append(constraints, "l", 1);

    std::string element = b.getElementType().isBF16() ? "bf16" : "f16";
    std::string text = "{ .reg .pred zero, add; .reg .b64 a, b; "
                       "setp.ne.b32 zero, 0, 0; setp.ne.b32 add, 1, 0; "
                       "wgmma.fence.sync.aligned; ";
    for (int64_t step = 0; step < steps; ++step) {
      std::string a = "a";
      if (view)
        text += "add.s64 a, $" + std::to_string(firstA) + ", " +
                std::to_string(offsetA +
                               OperandTile(op.getA(),
                                           /*depthContiguous=*/!transposedA)
                                   .stepOffset(step)) +
                "; ";
      else
        a = registerList(firstA + 4 * step, 4);
      text += "add.s64 b, " + descriptorB + ", " +
              std::to_string(bytesB / 16 + tileB.stepOffset(step)) + "; ";
      text += "wgmma.mma_async.sync.aligned.m64n" +
              std::to_string(type.getDimSize(1)) + "k16.f32." + element + "." +
              element + " " + registerList(0, numResults) + ", " + a + ", b, ";
      text += step || op.getAcc() ? "add" : "zero";
      // Signs, then for operands in memory whether they are transposed.
      StringRef transposeA = transposedA ? ", 1" : ", 0";
      text += ", 1, 1";
      text += view ? transposeA : "";
      text += transposed ? ", 0; " : ", 1; ";
    }
    text += "wgmma.commit_group.sync.aligned; }";
    SmallVector<Type> types(numResults, emit.builder.getF32Type());
    SmallVector<Value> results =
        emit.inlinePTX(text, constraints + ",~{memory}", inputs, types);
    if (op.getPrevious())
      llvm::append_range(results, adaptor.getAcc().drop_front(numResults));
    if (!view)
      llvm::append_range(results, adaptor.getA());
    return {results};
  }
};

/// The registers that the product still read are inputs too: they are alive up
/// to the wait.
struct WaitPattern : public LoweringPattern<WaitOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(WaitOp op, Adaptor adaptor, Emitter &emit) const override {
    auto type = cast<RankedTensorType>(op.getType());
    int64_t numResults = registersPerThread(type);
    ValueRange inputs = adaptor.getInflight();
    std::string constraints;
    append(constraints, "=f", numResults);
    appendTies(constraints, numResults);
    append(constraints, "r", inputs.size() - numResults);
    SmallVector<Type> types(numResults, emit.builder.getF32Type());
    SmallVector<Value> results =
        emit.inlinePTX("wgmma.wait_group.sync.aligned " +
                           std::to_string(*op.getPending()) + ";",
                       constraints, inputs, types);
    return {results};
  }
};

} // namespace

void mlir::fagpu::populateMatrixPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         const KernelContext &kernel) {
  patterns.add<MmaAsyncPattern, WaitPattern>(converter, patterns.getContext(),
                                             kernel);
}
