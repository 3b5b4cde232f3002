//===- SumParts.cpp - Sums of parts in their order ------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fa-tile-copies makes of a sum of parts: parallel loops over its
// elements, one for each dimension that is summed up. `isSumOfParts` says what
// it takes. Read `PartsSummer::run`, then `sumAlong` for one dimension, and
// `addParts`, which reads several parts before it adds them.
//
//===----------------------------------------------------------------------===//

#include "SumParts.h"
#include "Blocks.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa;

/// Elements of a block, 16 for each of its warps.
static constexpr unsigned warpsOfBlock = 4;
static constexpr int64_t elementsOfBlock = 16 * warpsOfBlock;
/// Parts that are read before they are added: memory takes its time once.
static constexpr int64_t partsAtOnce = 8;

bool mlir::fa::isSumOfParts(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInputs() != 1 ||
      op.getNumDpsInits() != 1)
    return false;
  unsigned rank = op.getNumLoops();
  unsigned leading = op.getNumReductionLoops();
  auto maps = op.getIndexingMapsArray();
  MLIRContext *context = op.getContext();
  AffineMap elements =
      leading == rank
          ? AffineMap::get(rank, 0, context)
          : AffineMap::getMinorIdentityMap(rank, rank - leading, context);
  if (leading == 0 || !maps[0].isIdentity() || maps[1] != elements)
    return false;
  Block &body = op.getRegion().front();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  return sum && body.getOperations().size() == 2 && sum.getType().isF32() &&
         llvm::is_contained(sum.getOperands(), body.getArgument(0)) &&
         llvm::is_contained(sum.getOperands(), body.getArgument(1));
}

namespace {
class PartsSummer {
public:
  explicit PartsSummer(linalg::GenericOp op)
      : op(op), loc(op.getLoc()), builder(op) {}

  LogicalResult run();

private:
  Value flatten(Value memory);
  void sumAlong(Value parts, Value count, Value sums, Value elements);
  Value addParts(OpBuilder &at, Value sums, Value parts, Value first,
                 Value count, Value elements, Value element, Value isElement);

  linalg::GenericOp op;
  Location loc;
  OpBuilder builder;
};
} // namespace

/// All elements, one behind the other.
Value PartsSummer::flatten(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  if (type.getRank() == 0)
    return memref::ExpandShapeOp::create(
        builder, loc, MemRefType::get({1}, type.getElementType()), memory,
        ArrayRef<ReassociationIndices>(),
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  if (type.getRank() == 1)
    return memory;
  ReassociationIndices all =
      llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return memref::CollapseShapeOp::create(builder, loc, memory,
                                         ArrayRef<ReassociationIndices>{all});
}

/// Adds some parts of each element from part `first` on, all read at once.
Value PartsSummer::addParts(OpBuilder &at, Value sums, Value parts, Value first,
                            Value count, Value elements, Value element,
                            Value isElement) {
  Blocks blocks(at, loc);
  Type numbers = element.getType();
  SmallVector<Value> values;
  for (int64_t ahead = 0; ahead < partsAtOnce; ++ahead) {
    Value part = arith::AddIOp::create(
        at, loc, first, arith::ConstantIntOp::create(at, loc, ahead, 32));
    Value isPart =
        arith::CmpIOp::create(at, loc, arith::CmpIPredicate::slt, part, count);
    Value before = arith::MulIOp::create(at, loc, part, elements);
    Value index =
        arith::AddIOp::create(at, loc, element, blocks.splat(before, numbers));
    Value isRead = arith::AndIOp::create(
        at, loc, isElement, blocks.splat(isPart, isElement.getType()));
    values.push_back(fagpu::GatherOp::create(at, loc, sums.getType(), parts,
                                             index, isRead, /*pairs=*/false,
                                             /*in_order=*/false));
  }
  for (Value value : values)
    sums = arith::AddFOp::create(at, loc, sums, value);
  return sums;
}

/// sums(e) = sum over k of parts(k, e), for `count` parts of `elements` each.
void PartsSummer::sumAlong(Value parts, Value count, Value sums,
                           Value elements) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForallOp::create(
      builder, loc, ArrayRef<OpFoldResult>{builder.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{getAsOpFoldResult(elements)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(elementsOfBlock)},
      ValueRange(), std::nullopt);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Blocks blocks(builder, loc);
  auto type = RankedTensorType::get(
      {elementsOfBlock}, builder.getF32Type(),
      fagpu::RowLayoutAttr::get(builder.getContext(), warpsOfBlock));
  RankedTensorType numbers = type.clone(builder.getI32Type());
  Value first = blocks.cast32(loop.getInductionVar(0));
  Value total = blocks.cast32(elements), all = blocks.cast32(count);
  Value element = arith::AddIOp::create(
      builder, loc,
      fagpu::IotaOp::create(builder, loc, numbers, 0, fagpu::IndexPart::all),
      blocks.splat(first, numbers));
  Value isElement =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, element,
                            blocks.splat(total, numbers));
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value step = arith::ConstantIndexOp::create(builder, loc, partsAtOnce);
  auto overParts = scf::ForOp::create(builder, loc, zero, count, step,
                                      blocks.constant(0.0f, type));
  {
    OpBuilder inside = OpBuilder::atBlockEnd(overParts.getBody());
    Value sum =
        addParts(inside, overParts.getRegionIterArg(0), parts,
                 Blocks(inside, loc).cast32(overParts.getInductionVar()), all,
                 total, element, isElement);
    scf::YieldOp::create(inside, loc, sum);
  }
  fagpu::StoreOp::create(
      builder, loc, overParts.getResult(0), sums, first,
      /*sizes=*/DenseI64ArrayAttr(), total, /*columns=*/Value(),
      /*via=*/Value(), /*bank=*/Value(), /*alignment=*/16, /*padded=*/false,
      /*add=*/false, /*transposed=*/false, /*fragments=*/false,
      fagpu::CachePriorityAttr());
}

/// The sums are 0 before: a fill of them goes.
LogicalResult PartsSummer::run() {
  Value parts = op.getDpsInputs().front(), sums = op.getDpsInits().front();
  auto made = parts.getDefiningOp<fagpu::WorkspaceOp>();
  auto fill = dyn_cast_or_null<linalg::FillOp>(op->getPrevNode());
  if (!made || !sums.getDefiningOp<fagpu::WorkspaceOp>() || !fill ||
      fill.getDpsInits().front() != sums ||
      !matchPattern(fill.getInputs().front(), m_AnyZeroFloat()))
    return op.emitOpError()
           << "adds parts of " << parts.getType() << " to " << sums.getType()
           << ", expected memory of the device, and sums that a 'linalg.fill' "
              "ahead sets to 0";
  auto sizes = llvm::map_to_vector(
      getMixedValues(made.getType().getShape(), made.getSizes(), builder),
      [&](OpFoldResult size) {
        return getValueOrCreateConstantIndexOp(builder, loc, size);
      });
  // Places in the parts are computed in 32 bits.
  Value whole = arith::ConstantIndexOp::create(builder, loc, 1);
  for (Value size : sizes)
    whole = builder.createOrFold<arith::MulIOp>(loc, whole, size);
  Value fits = builder.createOrFold<arith::CmpIOp>(
      loc, arith::CmpIPredicate::sle, whole,
      arith::ConstantIndexOp::create(builder, loc,
                                     std::numeric_limits<int32_t>::max()));
  cf::AssertOp::create(builder, loc, fits,
                       "the parts of a gradient of captures have more than "
                       "2147483647 elements; without deterministic none are "
                       "stored");
  int64_t leading = op.getNumReductionLoops();
  Value from = flatten(parts), to = flatten(sums);
  for (int64_t dim = 0; dim < leading; ++dim) {
    Value elements = arith::ConstantIndexOp::create(builder, loc, 1);
    for (Value size : ArrayRef(sizes).drop_front(dim + 1))
      elements = builder.createOrFold<arith::MulIOp>(loc, elements, size);
    Value next = to;
    if (dim + 1 < leading)
      next = fagpu::WorkspaceOp::create(
          builder, loc,
          MemRefType::get({ShapedType::kDynamic}, builder.getF32Type()),
          elements);
    sumAlong(from, sizes[dim], next, elements);
    from = next;
  }
  fill.erase();
  op.erase();
  return success();
}

LogicalResult mlir::fa::tileSumOfParts(linalg::GenericOp op) {
  return PartsSummer(op).run();
}
