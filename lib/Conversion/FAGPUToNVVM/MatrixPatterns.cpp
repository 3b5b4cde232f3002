//===- MatrixPatterns.cpp - Products of warp groups
//---------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A whole product is one piece of inline PTX, so that its steps share their
// registers; accumulators are tied from input to output, there and in the
// wait. Without a tie an output must not share a register with an input that
// is still read (the constraint &).
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
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

/// Rows of the tile that an operand is, or is a slice of.
static int64_t getWholeRows(Value view) {
  return cast<ViewType>(getWholeView(view).getType()).getShape()[0];
}

namespace {

/// How the tile of a matrix operand lies in shared memory: panels of 128 bytes
/// a row, swizzled, eight rows in 1024 bytes.
struct OperandTile {
  static constexpr int64_t panelBytes = 128;

  int64_t rows;
  /// Whether the summed dimension is the contiguous one.
  bool depthContiguous;

  /// Offset of a step of 16 along the summed dimension, in units of 16 bytes.
  int64_t stepOffset(int64_t step) const {
    if (!depthContiguous)
      return step * 16 * panelBytes / 16;
    int64_t panel = step / 4, inPanel = step % 4;
    return panel * rows * panelBytes / 16 + inPanel * 2;
  }

  /// The shared memory descriptor of the tile at a 32-bit address.
  Value getDescriptor(Emitter &emit, Value address) const {
    int64_t leading = depthContiguous ? 16 : rows * panelBytes;
    Value low = emit.bitAnd(emit.shiftRight(address, 4), 0x3fff);
    low = emit.bitOr(low, emit.constant((leading >> 4) << 16));
    Value wide = LLVM::ZExtOp::create(emit.builder, emit.location,
                                      emit.builder.getI64Type(), low);
    constexpr int64_t strideBytes = 1024, swizzle128 = int64_t(1) << 62;
    return emit.bitOr(wide,
                      emit.constant64((strideBytes >> 4) << 32 | swizzle128));
  }
};

struct MmaAsyncPattern : public LoweringPattern<MmaAsyncOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(MmaAsyncOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    RankedTensorType type = op.getType().getValue();
    int64_t numResults = registersPerThread(type);
    bool transposed = op.getForm() == MatrixForm::nt;
    ViewType b = op.getB().getType();
    OperandTile tileB{getWholeRows(op.getB()), transposed};
    int64_t steps = b.getShape()[transposed ? 1 : 0] / 16;

    SmallVector<Value> inputs;
    std::string constraints;
    append(constraints, op.getAcc() ? "=f" : "=&f", numResults);
    if (op.getAcc()) {
      appendTies(constraints, numResults);
      llvm::append_range(inputs, adaptor.getAcc());
    }
    auto view = dyn_cast<ViewType>(op.getA().getType());
    int64_t firstA = numResults + inputs.size();
    if (view) {
      OperandTile tileA{getWholeRows(op.getA()), true};
      inputs.push_back(tileA.getDescriptor(emit, adaptor.getA()[0]));
      append(constraints, "l", 1);
    } else {
      llvm::append_range(inputs, adaptor.getA());
      append(constraints, "r", adaptor.getA().size());
    }
    std::string descriptorB = "$" + std::to_string(numResults + inputs.size());
    inputs.push_back(tileB.getDescriptor(emit, adaptor.getB()[0]));
    append(constraints, "l", 1);

    std::string element = b.getElementType().isBF16() ? "bf16" : "f16";
    std::string text = "{ .reg .pred zero, add; .reg .b64 a, b; "
                       "setp.ne.b32 zero, 0, 0; setp.ne.b32 add, 1, 0; "
                       "wgmma.fence.sync.aligned; ";
    for (int64_t step = 0; step < steps; ++step) {
      std::string a = "a";
      if (view)
        text +=
            "add.s64 a, $" + std::to_string(firstA) + ", " +
            std::to_string(
                OperandTile{getWholeRows(op.getA()), true}.stepOffset(step)) +
            "; ";
      else
        a = registerList(firstA + 4 * step, 4);
      text += "add.s64 b, " + descriptorB + ", " +
              std::to_string(tileB.stepOffset(step)) + "; ";
      text += "wgmma.mma_async.sync.aligned.m64n" +
              std::to_string(type.getDimSize(1)) + "k16.f32." + element + "." +
              element + " " + registerList(0, numResults) + ", " + a + ", b, ";
      text += step || op.getAcc() ? "add" : "zero";
      // Signs, then for operands in memory whether they are transposed.
      text += std::string(", 1, 1") + (view ? ", 0" : "") +
              (transposed ? ", 0; " : ", 1; ");
    }
    text += "wgmma.commit_group.sync.aligned; }";
    SmallVector<Type> types(numResults, emit.builder.getF32Type());
    SmallVector<Value> results =
        emit.inlinePTX(text, constraints + ",~{memory}", inputs, types);
    if (op.getType().getKeeps())
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
