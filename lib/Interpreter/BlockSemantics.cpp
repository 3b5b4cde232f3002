//===- BlockSemantics.cpp - Operations on block values --------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on block values in the interpreter, where a whole warpgroup is
// one worker. Floats are summed in the order in which the threads of a GPU do
// it. Read `Reduction` and `reduceRow`; the rest is element by element.
//
//===----------------------------------------------------------------------===//

#include "Channels.h"
#include "GPUSemantics.h"
#include "fa/Dialect/FAGPU/IR/TransposedReads.h"
#include "fa/Support/Philox.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;
using namespace mlir::fa::interpreter;

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Refuses an operation on a block value that has no layout.
static LogicalResult checkLayout(Operation *op, Value value) {
  if (fagpu::getBlockLayout(value.getType()))
    return success();
  return refuse(op, "without a layout; fagpu-infer-layouts gives it one");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// A reduction in f32 in the order in which threads do it.
struct Reduction {
  bool isMax;
  int64_t chains;

  float combine(float a, float b) const {
    return isMax ? std::fmax(a, b) : a + b;
  }

  /// What one thread makes of its elements, dealt to the chains in turn.
  float reduceThread(ArrayRef<float> elements) const {
    size_t count = std::min<size_t>(chains, elements.size());
    SmallVector<float> sums(elements.take_front(count));
    for (size_t i = count; i < elements.size(); ++i)
      sums[i % count] = combine(sums[i % count], elements[i]);
    float sum = sums.front();
    for (float other : ArrayRef<float>(sums).drop_front())
      sum = combine(sum, other);
    return sum;
  }

  /// What the four threads of a row make of theirs.
  float reduceQuad(const std::array<float, 4> &sums) const {
    return combine(combine(sums[0], sums[2]), combine(sums[1], sums[3]));
  }
};
} // namespace

/// The sums of the four threads that share a row: of an accumulator, columns
/// 8 j + 2 c and the next belong to thread c; of a quad, column c.
static std::array<float, 4> reduceRow(const Reduction &reduction,
                                      const Slot *row, int64_t columns,
                                      bool isQuad) {
  std::array<float, 4> sums;
  SmallVector<float> elements;
  for (int64_t thread = 0; thread < 4; ++thread) {
    elements.clear();
    for (int64_t column = 0; column < columns; ++column)
      if ((isQuad ? column : column % 8 / 2) == thread)
        elements.push_back(row[column].real);
    sums[thread] = reduction.reduceThread(elements);
  }
  return sums;
}

/// What the 32 threads of each warp make of an accumulator: each of its own
/// elements, in their order, and then all of them by exchange.
static LogicalResult compileReduceWarps(fagpu::ReduceOp op,
                                        const Reduction &reduction,
                                        ProgramBuilder &builder) {
  RankedTensorType type = getTensorType(op.getSource());
  fagpu::LayoutInterface layout = fagpu::getBlockLayout(type);
  int64_t perThread = layout.perThread(type.getShape());
  SmallVector<int64_t> positions;
  for (int64_t thread = 0; thread < 32 * layout.getWarps(); ++thread)
    for (int64_t element = 0; element < perThread; ++element) {
      SmallVector<int64_t> at =
          fagpu::coordinateOf(layout, type.getShape(), thread, element);
      positions.push_back(at[0] * type.getDimSize(1) + at[1]);
    }
  int64_t warps = layout.getWarps();
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr array = packArray(frame.arrayRef(source));
    ArrayRefPtr reduced = makeArray({warps});
    const int64_t *position = positions.begin();
    SmallVector<float> elements(perThread);
    for (int64_t warp = 0; warp < warps; ++warp) {
      std::array<float, 32> sums;
      for (float &sum : sums) {
        for (float &element : elements)
          element = array->data()[*position++].real;
        sum = reduction.reduceThread(elements);
      }
      for (size_t distance : {16, 8, 4, 2, 1}) {
        std::array<float, 32> before = sums;
        for (size_t lane = 0; lane < 32; ++lane)
          sums[lane] = reduction.combine(before[lane], before[lane ^ distance]);
      }
      reduced->data()[warp].real = sums[0];
    }
    frame[result] = reduced;
    return success();
  });
  return success();
}

static LogicalResult compileReduce(fagpu::ReduceOp op,
                                   ProgramBuilder &builder) {
  if (failed(checkLayout(op, op.getSource())))
    return failure();
  Reduction reduction{op.getKind() == fagpu::ReductionKind::max,
                      static_cast<int64_t>(op.getChains())};
  if (isa<fagpu::WarpLayoutAttr>(getTensorType(op.getResult()).getEncoding()))
    return compileReduceWarps(op, reduction, builder);
  RankedTensorType type = getTensorType(op.getSource());
  bool isQuad = isa<fagpu::QuadLayoutAttr>(type.getEncoding());
  bool toQuad = op.getType().getRank() == 2;
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  builder.emit([=](Frame &frame) {
    ArrayRefPtr array = packArray(frame.arrayRef(source));
    ArrayRefPtr reduced = makeArray(toQuad ? SmallVector<int64_t>{rows, 4}
                                           : SmallVector<int64_t>{rows});
    for (int64_t row = 0; row < rows; ++row) {
      auto sums =
          reduceRow(reduction, array->data() + row * columns, columns, isQuad);
      if (!toQuad) {
        reduced->data()[row].real = reduction.reduceQuad(sums);
        continue;
      }
      for (int64_t thread = 0; thread < 4; ++thread)
        reduced->data()[row * 4 + thread].real = sums[thread];
    }
    frame[result] = reduced;
    return success();
  });
  return success();
}

static LogicalResult compileAny(fagpu::AnyOp op, ProgramBuilder &builder) {
  if (failed(checkLayout(op, op.getSource())))
    return failure();
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  int64_t count = getTensorType(op.getSource()).getNumElements();
  builder.emit([=](Frame &frame) {
    ArrayRefPtr array = packArray(frame.arrayRef(source));
    frame.slot(result).integer =
        llvm::any_of(ArrayRef<Slot>(array->data(), count),
                     [](const Slot &slot) { return slot.integer != 0; });
    return success();
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Broadcasts, indices and layouts
//===----------------------------------------------------------------------===//

static LogicalResult compileBroadcast(fagpu::BroadcastOp op,
                                      ProgramBuilder &builder) {
  if (failed(checkLayout(op, op.getSource())))
    return failure();
  bool alongRows =
      isa<fagpu::ColumnLayoutAttr>(getTensorType(op.getSource()).getEncoding());
  RankedTensorType type = getTensorType(op.getResult());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  // Rows of a warp come by sixteens.
  int64_t warps =
      isa<fagpu::WarpLayoutAttr>(getTensorType(op.getSource()).getEncoding())
          ? getTensorType(op.getSource()).getDimSize(0)
          : 0;
  unsigned source = builder.getRegister(op.getSource());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr array = packArray(frame.arrayRef(source));
    Slot *target = getResultArray(frame, result, {rows, columns}).data();
    for (int64_t row = 0; row < rows; ++row, target += columns) {
      if (alongRows)
        std::copy_n(array->data(), columns, target);
      else
        std::fill_n(target, columns,
                    array->data()[warps ? row / 16 % warps : row]);
    }
    return success();
  });
  return success();
}

/// The index of each element along a dimension, or the part of it that the
/// thread or the element has in the layout.
static ArrayRefPtr makeIndices(RankedTensorType type, int64_t dim,
                               fagpu::IndexPart part) {
  fagpu::LayoutInterface layout = fagpu::getBlockLayout(type);
  ArrayRef<int64_t> shape = type.getShape();
  ArrayRefPtr indices = makeArray(shape);
  int64_t numElements = layout.perThread(shape);
  for (int64_t thread = 0; thread < 32 * layout.getWarps(); ++thread) {
    SmallVector<int64_t> first = layout.coordinate(shape, thread, 0);
    for (int64_t element = 0; element < numElements; ++element) {
      SmallVector<int64_t> offset = layout.getElementOffset(shape, element);
      int64_t position = 0;
      for (auto [size, start, more] : llvm::zip_equal(shape, first, offset))
        position = position * size + start + more;
      int64_t ofThread = part == fagpu::IndexPart::element ? 0 : first[dim];
      int64_t ofElement = part == fagpu::IndexPart::thread ? 0 : offset[dim];
      indices->data()[position].integer = ofThread + ofElement;
    }
  }
  return indices;
}

static LogicalResult compileIota(fagpu::IotaOp op, ProgramBuilder &builder) {
  if (failed(checkLayout(op, op.getResult())))
    return failure();
  ArrayRefPtr indices =
      makeIndices(getTensorType(op.getResult()), op.getDim(), op.getPart());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    frame[result] = indices;
    return success();
  });
  return success();
}

static LogicalResult compileBetween(fagpu::BetweenOp op,
                                    ProgramBuilder &builder) {
  if (failed(checkLayout(op, op.getResult())))
    return failure();
  RankedTensorType type = getTensorType(op.getResult());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  unsigned first = builder.getRegister(op.getFirst());
  unsigned end = builder.getRegister(op.getEnd());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    ArrayRefPtr from = packArray(frame.arrayRef(first));
    ArrayRefPtr to = packArray(frame.arrayRef(end));
    Slot *target = getResultArray(frame, result, {rows, columns}).data();
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        (target++)->integer = from->data()[row].integer <= column &&
                              column < to->data()[row].integer;
    return success();
  });
  return success();
}

static LogicalResult compileDropout(fagpu::DropoutOp op,
                                    ProgramBuilder &builder) {
  if (failed(checkLayout(op, op.getResult())))
    return failure();
  RankedTensorType type = getTensorType(op.getResult());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  SmallVector<unsigned> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value value) {
        return builder.getRegister(value);
      });
  unsigned result = builder.getRegister(op.getResult());
  bool isWhole = op.getWhole(), keysAreRows = op.getKeysAreRows();
  builder.emit([=](Frame &frame) -> LogicalResult {
    auto word = [&](unsigned operand) {
      return static_cast<uint32_t>(frame[operands[operand]].slot.integer);
    };
    uint32_t threshold = word(0), query = word(5), key = word(6);
    // Of a wrong promise nothing is kept, which a result shows.
    if (isWhole && (query | key) % philox::blockMultiple)
      threshold = 1u << philox::numberBits;
    Slot *target = getResultArray(frame, result, {rows, columns}).data();
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t column = 0; column < columns; ++column)
        (target++)->integer =
            philox::getNumber(query + (keysAreRows ? column : row),
                              key + (keysAreRows ? row : column), word(3),
                              word(4), {word(1), word(2)}) >= threshold;
    return success();
  });
  return success();
}

static LogicalResult compileConvert(fagpu::ConvertOp op,
                                    ProgramBuilder &builder) {
  Use source = builder.getUse(op.getSourceMutable());
  unsigned result = builder.getRegister(op.getResult());
  builder.emit([=](Frame &frame) {
    frame[result] = source.take(frame);
    return success();
  });
  return success();
}

static LogicalResult compilePin(fagpu::PinOp op, ProgramBuilder &builder) {
  for (auto [operand, pinned] :
       llvm::zip_equal(op.getValuesMutable(), op.getPinned())) {
    Use source = builder.getUse(operand);
    unsigned result = builder.getRegister(pinned);
    builder.emit([=](Frame &frame) {
      frame[result] = source.take(frame);
      return success();
    });
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult compileLoad(fagpu::LoadOp op, ProgramBuilder &builder) {
  unsigned source = builder.getRegister(op.getView());
  unsigned result = builder.getRegister(op.getResult());
  SmallVector<int64_t> shape(getTensorType(op.getResult()).getShape());
  SmallVector<int64_t> order;
  if (op.getFragments()) {
    if (failed(checkLayout(op, op.getResult())))
      return failure();
    order = fagpu::getFragmentOrder(getTensorType(op.getResult()), /*words=*/4);
  }
  if (fagpu::isTransposed(op))
    for (int64_t place = 0; place < shape[0] * shape[1]; ++place)
      order.push_back(place % shape[0] * shape[1] + place / shape[0]);
  builder.emit([=](Frame &frame) -> LogicalResult {
    FailureOr<Worker *> worker = getWorker(op, frame);
    if (failed(worker))
      return failure();
    std::vector<Slot> elements;
    auto &view = static_cast<ViewValue &>(*frame[source].object);
    if (failed(view.read(**worker, op, elements)))
      return failure();
    ArrayRefPtr array = makeArray(shape);
    if (order.empty())
      llvm::copy(elements, array->data());
    for (auto [place, element] : llvm::zip(order, elements))
      array->data()[place] = element;
    frame[result] = array;
    return success();
  });
  return success();
}

void interpreter::addBlockSemantics(Semantics &semantics) {
  semantics.add<fagpu::ReduceOp>(compileReduce);
  semantics.add<fagpu::AnyOp>(compileAny);
  semantics.add<fagpu::BetweenOp>(compileBetween);
  semantics.add<fagpu::BroadcastOp>(compileBroadcast);
  semantics.add<fagpu::DropoutOp>(compileDropout);
  semantics.add<fagpu::IotaOp>(compileIota);
  semantics.add<fagpu::ConvertOp>(compileConvert);
  semantics.add<fagpu::PinOp>(compilePin);
  semantics.add<fagpu::LoadOp>(compileLoad);
}
