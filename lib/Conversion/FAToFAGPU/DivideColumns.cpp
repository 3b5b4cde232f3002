//===- DivideColumns.cpp - Groups of warps that divide columns ------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps that are stacked over rows each read all of the second operand of a
// product. Here they become groups that stand side by side: each has all rows
// of a block value and a share of its columns, and reads that of the second
// operand. First operands that threads compute come from all groups by way of
// shared memory, all behind one barrier. Read `run`, then `divide`, which has
// one case for each kind of operation.
//
//===----------------------------------------------------------------------===//

#include "ColumnShares.h"
#include "KernelConfig.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAGPUDIVIDECOLUMNSPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fagpu;

namespace {
/// Divides the columns of all block values of a role among groups.
class ColumnDivider {
public:
  ColumnDivider(RoleOp role, int64_t groups)
      : role(role), groups(groups), builder(role.getContext()) {}
  LogicalResult run();

private:
  /// A value that groups read of each other, and the view of all of it.
  struct Exchanged {
    Value value;
    WriteOp write;
    AcquireOp acquire;
  };

  void takeConstants();
  void exchange(Block &body);
  Exchanged writeOf(Value value);
  void readExchanged(Block &body, MutableArrayRef<Exchanged> exchanged);
  void divide(Operation *op);
  void divideType(Value value);
  void divideProduct(MmaOp op);
  void divideStore(StoreOp op);
  void dividePut(PutOp op);
  void divideWrite(WriteOp op);
  void divideIota(IotaOp op);
  void divideConstant(arith::ConstantOp op);
  void narrowPanels(ChannelOp channel, int64_t columns);
  Value getFirst(int64_t share);
  Value addFirst(Value offset, int64_t share);
  Value getNumber(int64_t number) {
    return arith::ConstantIntOp::create(builder, role.getLoc(), number, 32);
  }

  RoleOp role;
  int64_t groups;
  OpBuilder builder;
  /// Multiples of the group's number, made where the role begins.
  DenseMap<int64_t, Value> multiples;
};
} // namespace

//===----------------------------------------------------------------------===//
// What groups read of each other
//===----------------------------------------------------------------------===//

/// The value in shared memory: where it is written already, or a channel of its
/// own.
ColumnDivider::Exchanged ColumnDivider::writeOf(Value value) {
  for (Operation *user : value.getUsers())
    if (auto write = dyn_cast<WriteOp>(user))
      for (Operation *reader : write.getChannel().getUsers())
        if (auto acquire = dyn_cast<AcquireOp>(reader))
          return {value, write, acquire};
  Location loc = value.getLoc();
  auto tile = cast<RankedTensorType>(value.getType());
  builder.setInsertionPoint(role);
  auto type = ChannelType::get(
      builder.getContext(), tile.getShape(), tile.getElementType(),
      SharedLayoutAttr::get(builder.getContext(), 128), /*depth=*/1);
  Value channel =
      ChannelOp::create(builder, loc, type, Engine::cp_async,
                        /*multicast=*/false, /*banks=*/1, Value(),
                        IntegerAttr(), IntegerAttr(), DenseI32ArrayAttr());
  builder.setInsertionPointAfterValue(value);
  auto write = WriteOp::create(
      builder, loc, channel, Value(), ValueRange(), value, /*transposed=*/false,
      /*continues=*/false, /*unfinished=*/false, Value(), Value());
  auto acquire = AcquireOp::create(builder, loc, type.getView(), channel,
                                   Value(), Value(), Value(), IntegerAttr());
  return {value, write, acquire};
}

/// First operands that the body computes are read by all groups. They are
/// acquired together where the last of them is there: one barrier serves all.
void ColumnDivider::exchange(Block &body) {
  SmallVector<Exchanged> exchanged;
  for (auto product : body.getOps<MmaOp>()) {
    Value first = product.getA();
    if (isa<ViewType>(first.getType()) ||
        llvm::any_of(exchanged, [&](const Exchanged &other) {
          return other.value == first;
        }))
      continue;
    exchanged.push_back({first, WriteOp(), AcquireOp()});
  }
  for (Exchanged &each : exchanged)
    each = writeOf(each.value);
  if (!exchanged.empty())
    readExchanged(body, exchanged);
}

void ColumnDivider::readExchanged(Block &body,
                                  MutableArrayRef<Exchanged> exchanged) {
  Operation *last = exchanged.front().write;
  for (Exchanged &each : exchanged)
    if (last->isBeforeInBlock(each.write))
      last = each.write;
  for (Exchanged &each : exchanged) {
    each.acquire->moveAfter(last);
    last = each.acquire;
  }
  for (auto product : llvm::make_early_inc_range(body.getOps<MmaOp>()))
    for (Exchanged &each : exchanged) {
      if (product.getA() != each.value)
        continue;
      product.getAMutable().assign(each.acquire.getView());
      if (!product->isBeforeInBlock(last))
        continue;
      product->moveAfter(last);
      last = product;
    }
  // Views are read longer, and new ones are to be released.
  for (auto acquire : llvm::make_early_inc_range(body.getOps<AcquireOp>())) {
    Operation *reader = acquire, *release = nullptr;
    for (Operation *user : acquire.getView().getUsers()) {
      if (isa<ReleaseOp>(user))
        release = user;
      else if (reader->isBeforeInBlock(user))
        reader = user;
    }
    builder.setInsertionPointAfter(reader);
    if (!release)
      ReleaseOp::create(builder, acquire.getLoc(), acquire.getView());
    else if (release->isBeforeInBlock(reader))
      release->moveAfter(reader);
  }
}

//===----------------------------------------------------------------------===//
// Shares of the columns
//===----------------------------------------------------------------------===//

/// The group's number times `share`.
Value ColumnDivider::getFirst(int64_t share) {
  Value &multiple = multiples[share];
  if (!multiple) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&role.getBody().front());
    multiple = arith::MulIOp::create(builder, role.getLoc(), role.getGroup(),
                                     getNumber(share));
  }
  return multiple;
}

Value ColumnDivider::addFirst(Value offset, int64_t share) {
  return builder.createOrFold<arith::AddIOp>(role.getLoc(), offset,
                                             getFirst(share));
}

void ColumnDivider::divideType(Value value) {
  auto warps = static_cast<unsigned>(role.getWarps());
  value.setType(getColumnShare(value.getType(), groups, warps));
}

/// A share of the columns begins with a panel.
void ColumnDivider::narrowPanels(ChannelOp channel, int64_t columns) {
  ChannelType type = channel.getType();
  int64_t bytes = columns * type.getElementType().getIntOrFloatBitWidth() / 8;
  unsigned swizzle = type.getLayout().getSwizzle();
  while (swizzle > narrowestPanel && bytes % swizzle)
    swizzle /= 2;
  auto narrow = ChannelType::get(
      builder.getContext(), type.getShape(), type.getElementType(),
      SharedLayoutAttr::get(builder.getContext(), swizzle), type.getDepth());
  channel.getResult().setType(narrow);
  for (Operation *user : channel->getUsers())
    if (auto acquire = dyn_cast<AcquireOp>(user))
      acquire.getView().setType(narrow.getView());
}

/// A product reads those rows, or columns, of its second operand that are
/// columns of its result.
void ColumnDivider::divideProduct(MmaOp op) {
  auto whole = cast<ViewType>(op.getB().getType());
  bool isTransposed = isSecondTransposed(op.getForm());
  SmallVector<int64_t> shape(whole.getShape());
  int64_t &size = shape[isTransposed ? 0 : 1];
  size /= groups;
  Value first = getFirst(size), zero = getNumber(0);
  auto type = ViewType::get(builder.getContext(), shape, whole.getElementType(),
                            whole.getLayout());
  Value share = SliceOp::create(builder, op.getLoc(), type, op.getB(),
                                isTransposed ? ValueRange{first, zero}
                                             : ValueRange{zero, first});
  op.getBMutable().assign(share);
  divideType(op.getResult());
}

/// In the order of threads, the elements of a group are beside each other.
void ColumnDivider::divideStore(StoreOp op) {
  SmallVector<int64_t> sizes(*op.getSizes());
  sizes.back() /= groups;
  op.setSizes(sizes);
  MutableOperandRange offsets = op.getOffsetsMutable();
  OpOperand &last = offsets[offsets.size() - 1];
  last.set(addFirst(last.get(), sizes.back()));
  // Parts of a tile are not staged.
  op.getViaMutable().clear();
}

/// Each group copies a share of the rows.
void ColumnDivider::dividePut(PutOp op) {
  SmallVector<int64_t> sizes(op.getSizes());
  int64_t &rows = sizes[op.getRowDim()];
  rows /= groups;
  OpOperand &offset = op.getOffsetsMutable()[op.getRowDim()];
  offset.set(addFirst(offset.get(), rows));
  op.getPartMutable().assign({getFirst(rows), getNumber(0)});
  op.setSizes(sizes);
}

/// The value has its share already.
void ColumnDivider::divideWrite(WriteOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  op.getPartMutable().assign({getNumber(0), getFirst(type.getDimSize(1))});
}

/// Numbers of columns begin with the group's first one.
void ColumnDivider::divideIota(IotaOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  bool isOfRows = type.getRank() == 2 && op.getDim() == 0;
  divideType(op.getResult());
  if (isOfRows || isa_and_present<RowLayoutAttr>(type.getEncoding()))
    return;
  builder.setInsertionPointAfter(op);
  auto share = cast<RankedTensorType>(op.getType());
  Value first = tensor::SplatOp::create(
      builder, op.getLoc(), getFirst(share.getShape().back()), share);
  auto sum = arith::AddIOp::create(builder, op.getLoc(), op.getResult(), first);
  op.getResult().replaceAllUsesExcept(sum, sum);
}

void ColumnDivider::divideConstant(arith::ConstantOp op) {
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return;
  divideType(op);
  op.setValueAttr(splat.resizeSplat(cast<ShapedType>(op.getType())));
}

void ColumnDivider::divide(Operation *op) {
  builder.setInsertionPoint(op);
  auto divideAll = [&](ValueRange values) {
    for (Value value : values)
      if (isBlockType(value.getType()))
        divideType(value);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](MmaOp product) { divideProduct(product); })
      .Case([&](StoreOp store) { divideStore(store); })
      .Case([&](PutOp put) { dividePut(put); })
      .Case([&](WriteOp write) { divideWrite(write); })
      .Case([&](IotaOp iota) { divideIota(iota); })
      .Case([&](arith::ConstantOp constant) { divideConstant(constant); })
      .Default([&](Operation *other) {
        if (auto loop = dyn_cast<ForOp>(other))
          divideAll(loop.getIterArguments());
        divideAll(other->getResults());
      });
}

//===----------------------------------------------------------------------===//
// The role
//===----------------------------------------------------------------------===//

/// Constants from before the roles become the role's own.
void ColumnDivider::takeConstants() {
  DenseMap<Operation *, Operation *> own;
  builder.setInsertionPointToStart(&role.getBody().front());
  role.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *source = operand.get().getDefiningOp();
      if (!source || !isBlockType(operand.get().getType()) ||
          role->isAncestor(source))
        continue;
      Operation *&constant = own[source];
      if (!constant)
        constant = builder.clone(*source);
      operand.set(constant->getResult(0));
    }
  });
}

LogicalResult ColumnDivider::run() {
  if (failed(verifyColumnShares(role, groups)))
    return failure();
  role.setWarps(role.getWarps() / groups);
  role.setGroups(groups);
  SmallVector<Block *> bodies;
  role.walk([&](ForOp loop) { bodies.push_back(&loop.getBody().front()); });
  for (Block *body : bodies)
    exchange(*body);
  takeConstants();
  SmallVector<Operation *> ops;
  role.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (auto write = dyn_cast<WriteOp>(op))
      narrowPanels(write.getChannel().getDefiningOp<ChannelOp>(),
                   cast<ShapedType>(write.getValue().getType()).getDimSize(1) /
                       groups);
  for (Operation *op : ops)
    divide(op);
  return success();
}

namespace {
struct DivideColumnsPass
    : public fa::impl::FAGPUDivideColumnsPassBase<DivideColumnsPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    int64_t groups = getGPUPart(kernel).columnGroups;
    if (!isKernel(kernel) || groups == 1)
      return;
    auto multiplies = [](RoleOp role) {
      return role.walk([](MmaOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
    };
    for (RoleOp role : kernel.getOps<RoleOp>())
      if (multiplies(role) && failed(ColumnDivider(role, groups).run()))
        return signalPassFailure();
    // What results were staged in.
    for (ChannelOp channel :
         llvm::make_early_inc_range(kernel.getOps<ChannelOp>()))
      if (channel->use_empty())
        channel.erase();
  }
};
} // namespace
