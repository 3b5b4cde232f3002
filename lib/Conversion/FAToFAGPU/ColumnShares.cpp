//===- ColumnShares.cpp - What groups have of columns ---------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One rule for types, one for the places in memory of each operation. Read
// `verifyColumnShares`, then `verifyOperation`, then the rule of an operation.
// Whoever divides (DivideColumns.cpp) relies on them and checks nothing.
//
//===----------------------------------------------------------------------===//

#include "ColumnShares.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

/// Columns of a fragment, and rows of a swizzle.
static constexpr int64_t columnsOfFragment = 8, rowsOfSwizzle = 8;

Type mlir::fa::getColumnShare(Type type, int64_t groups, unsigned warps) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  Attribute layout = tensor.getEncoding();
  if (isa_and_present<RowLayoutAttr>(layout))
    return RankedTensorType::get(shape, tensor.getElementType(),
                                 RowLayoutAttr::get(type.getContext(), warps));
  if (shape.back() % (columnsOfFragment * groups))
    return {};
  shape.back() /= groups;
  if (isa_and_present<ColumnLayoutAttr>(layout))
    layout = ColumnLayoutAttr::get(type.getContext(), warps);
  else if (layout || shape.size() != 2)
    return {};
  return RankedTensorType::get(shape, tensor.getElementType(), layout);
}

/// Operations that know nothing of where their elements are, and those that
/// have a rule of their own.
static bool isDivided(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<MmaOp, StoreOp, WriteOp, IotaOp, tensor::SplatOp, BroadcastOp,
             GatherOp, ForOp, fagpu::YieldOp, scf::IfOp, scf::YieldOp>(op);
}

/// Columns of a panel of what threads copy. What they write gets panels that
/// suit its shares.
static int64_t getPanel(MmaOp op) {
  auto view = cast<ViewType>(op.getB().getType());
  auto acquire = getWholeView(op.getB()).getDefiningOp<AcquireOp>();
  bool isWritten = acquire && llvm::any_of(acquire.getChannel().getUsers(),
                                           [](Operation *user) {
                                             return isa<WriteOp>(user);
                                           });
  unsigned swizzle = isWritten ? narrowestPanel : view.getLayout().getSwizzle();
  return swizzle * 8 / view.getElementType().getIntOrFloatBitWidth();
}

static LogicalResult verifyProduct(MmaOp op, int64_t groups) {
  Value first = op.getA();
  bool isOfLoop = isa<ForOp>(op->getParentOp()) && first.getDefiningOp() &&
                  first.getParentBlock() == op->getBlock();
  if (isBlockType(first.getType()) && !isOfLoop)
    return op.emitOpError() << "multiplies a block value that " << groups
                            << " column_groups do not exchange; expected one "
                               "that the same body of a loop computes";
  int64_t multiple = groups * (isSecondTransposed(op.getForm()) ? rowsOfSwizzle
                                                                : getPanel(op));
  int64_t columns = cast<ShapedType>(op.getResult().getType()).getDimSize(1);
  if (columns % multiple == 0)
    return success();
  return op.emitOpError() << "has " << columns << " columns in " << groups
                          << " column_groups, expected a multiple of "
                          << multiple;
}

static LogicalResult verifyStore(StoreOp op, int64_t groups) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  if (type.getRank() == 2 && !op.getTransposed() && op.getSizes())
    return success();
  return op.emitOpError()
         << "stores " << type << (op.getTransposed() ? " transposed" : "")
         << ", which " << groups
         << " column_groups do not divide; expected a matrix by rows";
}

static LogicalResult verifyWrite(WriteOp op, int64_t groups) {
  if (!op.getTransposed() && !op.getBank() && op.getPart().empty())
    return success();
  return op.emitOpError() << "is transposed, or of a bank or part(...), which "
                          << groups
                          << " column_groups do not divide; expected all of a "
                             "stage";
}

static LogicalResult verifyPut(PutOp op, int64_t groups) {
  ArrayRef<int64_t> tile = op.getChannel().getType().getShape();
  int64_t rows = op.getSizes()[op.getRowDim()],
          multiple = rowsOfSwizzle * groups;
  bool isWhole = !op.getBank() && op.getPart().empty() && !op.getPages() &&
                 tile.size() == 2 && tile.front() == rows;
  if (isWhole && rows % multiple == 0)
    return success();
  return op.emitOpError() << "copies " << rows << " rows, which " << groups
                          << " column_groups do not divide; expected all rows "
                             "of a stage without banks and pages, a multiple "
                             "of "
                          << multiple;
}

static LogicalResult verifyOperation(Operation *op, int64_t groups) {
  auto isBlock = [](Type type) { return isBlockType(type); };
  bool hasBlocks = llvm::any_of(op->getOperandTypes(), isBlock) ||
                   llvm::any_of(op->getResultTypes(), isBlock);
  if (hasBlocks && !isDivided(op))
    return op->emitOpError() << "is in a kernel of " << groups
                             << " column_groups, which do not divide its block "
                                "values; expected column_groups = 1";
  for (Type type : op->getResultTypes())
    if (isBlock(type) && !getColumnShare(type, groups, /*warps=*/1))
      return op->emitOpError() << "makes " << type << ", which " << groups
                               << " column_groups do not divide; expected "
                                  "rows, columns or a matrix of a multiple of "
                               << columnsOfFragment * groups << " columns";
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](MmaOp product) { return verifyProduct(product, groups); })
      .Case([&](StoreOp store) { return verifyStore(store, groups); })
      .Case([&](WriteOp write) { return verifyWrite(write, groups); })
      .Case([&](PutOp put) { return verifyPut(put, groups); })
      .Default([](Operation *) { return success(); });
}

LogicalResult mlir::fa::verifyColumnShares(RoleOp role, int64_t groups) {
  if (role.getGroups() != 1 || role.getWarps() % groups)
    return role.emitOpError()
           << "has groups(" << role.getGroups() << ") warps(" << role.getWarps()
           << "), which " << groups
           << " column_groups do not divide; expected one group of a multiple "
              "of "
           << groups << " warps";
  WalkResult result = role.getBody().walk(
      [&](Operation *op) { return WalkResult(verifyOperation(op, groups)); });
  return success(!result.wasInterrupted());
}
