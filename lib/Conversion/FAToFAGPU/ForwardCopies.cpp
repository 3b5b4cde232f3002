//===- ForwardCopies.cpp - Copies of packed rows to boxes of the whole ----===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels read queries x group rows, which the host copies to lie one behind
// the other, by boxes of both dimensions where they lie, and write results
// alike; the copies go. Read `CopyForwarder::run`, then `canMove` and `move`.
//
//===----------------------------------------------------------------------===//

#include "Multiples.h"
#include "PairsTile.h"
#include "fa/Conversion/FAToFAGPU/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAFORWARDCOPIESPASS
#include "fa/Conversion/FAToFAGPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
/// One copy, of batch x key heads x queries x group (x head dim).
class CopyForwarder {
public:
  explicit CopyForwarder(linalg::CopyOp copy) : copy(copy) {}

  /// Whether the copy is gone.
  bool run();

private:
  bool matchCopy();
  bool matchMemory();
  bool findUses();
  bool canMove(OpOperand &use);
  template <typename OpTy>
  bool canMoveBox(OpTy op, ArrayRef<int64_t> box, int64_t alignment);
  Value getMemory();
  void move(fagpu::FetchOp fetch);
  void move(fagpu::StoreOp store);
  SmallVector<Value> moveOffsets(OpBuilder &at, Location loc,
                                 ValueRange offsets);
  SmallVector<int64_t> moveBox(ArrayRef<int64_t> box);
  MemRefType getType() { return cast<MemRefType>(memory.getType()); }

  linalg::CopyOp copy;
  fagpu::WorkspaceOp workspace;
  /// Where the rows lie, batch x queries x heads (x head dim) by `order`.
  Value memory;
  SmallVector<unsigned> order;
  int64_t group = 0, queries = 0;
  bool isRead = false;
  /// Views of the copy as rows, their sizes that the host asks for, and
  /// arguments of kernels that they are.
  SmallVector<Operation *> views;
  SmallVector<memref::DimOp> sizes;
  SmallVector<std::pair<fagpu::LaunchOp, unsigned>> launches;
  SmallVector<BlockArgument> arguments;
};
} // namespace

bool CopyForwarder::matchCopy() {
  Value source = copy.getInputs().front(), target = copy.getOutputs().front();
  workspace = target.getDefiningOp<fagpu::WorkspaceOp>();
  isRead = workspace != nullptr;
  if (!isRead)
    workspace = source.getDefiningOp<fagpu::WorkspaceOp>();
  memory = isRead ? source : target;
  return workspace && matchMemory();
}

/// The memory whose heads a view splits into key heads and the group.
bool CopyForwarder::matchMemory() {
  int64_t rank = cast<MemRefType>(memory.getType()).getRank();
  if (rank != 4 && rank != 5)
    return false;
  auto places = llvm::to_vector(llvm::seq<int64_t>(rank));
  if (auto transpose = memory.getDefiningOp<memref::TransposeOp>()) {
    for (auto [dim, from] :
         llvm::enumerate(transpose.getPermutation().getResults()))
      places[dim] = cast<AffineDimExpr>(from).getPosition();
    memory = transpose.getIn();
  }
  auto split = memory.getDefiningOp<memref::ExpandShapeOp>();
  if (!split)
    return false;
  MemRefType type = split.getResultType();
  SmallVector<unsigned> from(rank);
  for (auto [dim, parts] : llvm::enumerate(split.getReassociationIndices()))
    for (int64_t part : parts)
      from[part] = dim;
  // Key heads and group come from one dimension, in this order.
  if (from[places[1]] != from[places[3]] || places[3] != places[1] + 1 ||
      split.getSrcType().getRank() != rank - 1)
    return false;
  queries = type.getDimSize(places[2]);
  group = type.getDimSize(places[3]);
  if (ShapedType::isDynamic(queries) || ShapedType::isDynamic(group) ||
      group < 2)
    return false;
  order = {from[places[0]], from[places[2]], from[places[1]]};
  if (rank == 5)
    order.push_back(from[places[4]]);
  memory = split.getSrc();
  return true;
}

/// Nothing but kernels sees the rows, each in one launch.
bool CopyForwarder::findUses() {
  for (Operation *user : workspace->getUsers()) {
    if (user == copy)
      continue;
    auto view = dyn_cast<memref::CollapseShapeOp>(user);
    SmallVector<ReassociationIndices> rows = {{0}, {1}, {2, 3}};
    if (order.size() == 4)
      rows.push_back({4});
    if (!view || view.getReassociationIndices() != ArrayRef(rows))
      return false;
    views.push_back(view);
  }
  for (size_t i = 0; i < views.size(); ++i)
    for (OpOperand &use : views[i]->getUses()) {
      // What is known of strides does not matter.
      if (isa<memref::CastOp>(use.getOwner())) {
        views.push_back(use.getOwner());
        continue;
      }
      if (auto size = dyn_cast<memref::DimOp>(use.getOwner());
          size && size.getConstantIndex() == 0) {
        sizes.push_back(size);
        continue;
      }
      auto launch = dyn_cast<fagpu::LaunchOp>(use.getOwner());
      if (!launch)
        return false;
      auto module = launch->getParentOfType<ModuleOp>();
      auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
      auto uses = SymbolTable::getSymbolUses(kernel, module);
      if (!uses || !llvm::hasSingleElement(*uses))
        return false;
      unsigned number =
          use.getOperandNumber() - launch.getArguments().getBeginOperandIndex();
      launches.push_back({launch, number});
      arguments.push_back(kernel.getArgument(number));
    }
  return !launches.empty();
}

static Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  return value;
}

/// A null value is 0 too.
static bool isZero(Value value) {
  return !value || isConstantIntValue(value, 0);
}

/// Rows of a tile from `first` on that ends at `end`; null where it is no sum.
static Value getCount(Value end, Value first) {
  if (isZero(first))
    return skipCasts(end);
  auto sum = skipCasts(end).getDefiningOp<arith::AddIOp>();
  if (!sum)
    return {};
  if (skipCasts(sum.getLhs()) == skipCasts(first))
    return skipCasts(sum.getRhs());
  return skipCasts(sum.getRhs()) == skipCasts(first) ? skipCasts(sum.getLhs())
                                                     : Value();
}

/// Where a tile has its rows or none: when it has them; null where it always
/// does. `count` becomes the number of them.
static Value takeCondition(Value &count) {
  auto select = count ? count.getDefiningOp<arith::SelectOp>() : nullptr;
  if (!select || !isConstantIntValue(select.getFalseValue(), 0))
    return {};
  count = skipCasts(select.getTrueValue());
  return select.getCondition();
}

/// Whether `end` of a tile of `rows` from `first` on is min(total - first,
/// rows) behind it, or `rows` or `total` themselves.
static bool isEndOfTile(Value end, Value first, int64_t rows, int64_t total) {
  Value count = getCount(end, first);
  if (!count)
    return false;
  takeCondition(count);
  if (isZero(first) && getConstantIntValue(count) == total)
    return true;
  auto isRows = [&](Value value) { return getConstantIntValue(value) == rows; };
  auto isLeft = [&](Value value) {
    auto left = skipCasts(value).getDefiningOp<arith::SubIOp>();
    return left && first && getConstantIntValue(left.getLhs()) == total &&
           skipCasts(left.getRhs()) == skipCasts(first);
  };
  auto least = count.getDefiningOp<arith::MinSIOp>();
  return isRows(count) ||
         (least && ((isRows(least.getLhs()) && isLeft(least.getRhs())) ||
                    (isLeft(least.getLhs()) && isRows(least.getRhs()))));
}

/// Where the rows of all groups of warps begin (null: 0), and how many they
/// are, where those of a group begin at `first`.
static std::pair<Value, int64_t> findTile(Operation *op, Value first,
                                          int64_t rows) {
  auto role = op->getParentOfType<fagpu::RoleOp>();
  if (role.getGroups() == 1)
    return {first, rows};
  auto isOfGroup = [&](Value value) {
    auto product = skipCasts(value).getDefiningOp<arith::MulIOp>();
    return product && skipCasts(product.getLhs()) == role.getGroup() &&
           getConstantIntValue(product.getRhs()) == rows;
  };
  if (isOfGroup(first))
    return {Value(), rows * role.getGroups()};
  auto sum = skipCasts(first).getDefiningOp<arith::AddIOp>();
  if (!sum)
    return {first, rows};
  if (isOfGroup(sum.getRhs()))
    return {sum.getLhs(), rows * role.getGroups()};
  if (isOfGroup(sum.getLhs()))
    return {sum.getRhs(), rows * role.getGroups()};
  return {first, rows};
}

/// Boxes of whole groups of several queries, up to the last one.
template <typename OpTy>
bool CopyForwarder::canMoveBox(OpTy op, ArrayRef<int64_t> box,
                               int64_t alignment) {
  int64_t rows = box[2], total = queries * group;
  auto isOne = [](int64_t size) { return size == 1; };
  if (!llvm::all_of(box.take_front(2), isOne) || op.getFragments() ||
      op.getPadded() || rows % group || rows / group < 2 ||
      !isMultipleOf(op.getOffsets()[2], group))
    return false;
  if (Value end = op.getRows();
      end && getConstantIntValue(end).value_or(0) < total) {
    auto [first, all] = findTile(op, op.getOffsets()[2], rows);
    if (!isEndOfTile(end, first, all, total))
      return false;
  }
  // Rows of other tensors may be apart by less.
  return order.size() == 3 ||
         getAlignment(getType(), getType().getDimSize(order.back())) >=
             alignment;
}

bool CopyForwarder::canMove(OpOperand &use) {
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case([&](fagpu::FetchOp fetch) {
        // Boxes of f32 are split into terms, with rows in one dimension.
        return isRead && !fetch.getPages() &&
               !getType().getElementType().isF32() &&
               canMoveBox(fetch, fetch.getSizes(), fetch.getAlignment());
      })
      .Case([&](fagpu::StoreOp store) {
        return !isRead && !store.getAdd() && !store.getTransposed() &&
               store.getDestination() == use.get() &&
               canMoveBox(store, store.getBox(),
                          order.size() == 4 ? store.getAlignment() : 0);
      })
      .Case([&](memref::DimOp dim) { return dim.getConstantIndex() == 0; })
      .Default([](Operation *) { return false; });
}

/// The memory as batch x queries x heads (x head dim).
Value CopyForwarder::getMemory() {
  if (llvm::equal(order, llvm::seq<unsigned>(0, order.size())))
    return memory;
  OpBuilder builder(memory.getContext());
  builder.setInsertionPointAfterValue(memory);
  auto map = AffineMap::getPermutationMap(order, builder.getContext());
  return memref::TransposeOp::create(builder, copy.getLoc(), memory,
                                     AffineMapAttr::get(map));
}

/// (batch, key head, row) as (batch, query, head).
SmallVector<Value> CopyForwarder::moveOffsets(OpBuilder &at, Location loc,
                                              ValueRange offsets) {
  Value size = arith::ConstantIntOp::create(at, loc, group, /*width=*/32);
  SmallVector<Value> moved(offsets);
  moved[1] = at.createOrFold<arith::DivUIOp>(loc, offsets[2], size);
  moved[2] = at.createOrFold<arith::MulIOp>(loc, offsets[1], size);
  return moved;
}

SmallVector<int64_t> CopyForwarder::moveBox(ArrayRef<int64_t> box) {
  SmallVector<int64_t> moved(box);
  moved[1] = box[2] / group;
  moved[2] = group;
  return moved;
}

void CopyForwarder::move(fagpu::FetchOp fetch) {
  OpBuilder at(fetch);
  Location loc = fetch.getLoc();
  fetch.getOffsetsMutable().assign(moveOffsets(at, loc, fetch.getOffsets()));
  fetch.setSizes(moveBox(fetch.getSizes()));
  fetch.getRowsMutable().assign(
      arith::ConstantIntOp::create(at, loc, queries, /*width=*/32).getResult());
}

void CopyForwarder::move(fagpu::StoreOp store) {
  OpBuilder at(store);
  Location loc = store.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(at, loc, value, /*width=*/32);
  };
  Value rows = number(queries), condition;
  if (Value end = store.getRows()) {
    Value first = store.getOffsets()[2];
    Value count =
        getCount(end, findTile(store, first, store.getBox()[2]).first);
    condition = takeCondition(count);
  }
  if (condition)
    rows = arith::SelectOp::create(at, loc, condition, rows, number(0));
  SmallVector<int64_t> box = moveBox(store.getBox());
  store.getOffsetsMutable().assign(moveOffsets(at, loc, store.getOffsets()));
  store.setSizes(box);
  store.getRowsMutable().assign(rows);
}

bool CopyForwarder::run() {
  if (!matchCopy() || !findUses())
    return false;
  for (BlockArgument argument : arguments)
    if (!llvm::all_of(argument.getUses(),
                      [&](OpOperand &use) { return canMove(use); }))
      return false;
  Value whole = getMemory();
  for (auto [argument, launch] : llvm::zip_equal(arguments, launches)) {
    for (Operation *user : llvm::to_vector(argument.getUsers())) {
      if (auto fetch = dyn_cast<fagpu::FetchOp>(user))
        move(fetch);
      else if (auto store = dyn_cast<fagpu::StoreOp>(user))
        move(store);
    }
    argument.setType(whole.getType());
    auto kernel = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    kernel.setFunctionType(FunctionType::get(
        kernel.getContext(), kernel.getBody().front().getArgumentTypes(), {}));
    launch.first.getArgumentsMutable()[launch.second].set(whole);
  }
  for (memref::DimOp size : sizes)
    size.getSourceMutable().assign(whole);
  remark::passed(copy.getLoc(),
                 remark::RemarkOpts::name("Copy").category("fa-forward-copies"))
      << llvm::formatv("{0} queries x {1} heads are {2} where they lie",
                       queries, group, isRead ? "read" : "written")
             .str();
  copy.erase();
  for (Operation *view : llvm::reverse(views))
    view->erase();
  workspace.erase();
  return true;
}

namespace {
struct ForwardCopiesPass
    : public fa::impl::FAForwardCopiesPassBase<ForwardCopiesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration() || fagpu::isKernel(function))
        continue;
      for (auto copy :
           llvm::to_vector(function.getBody().front().getOps<linalg::CopyOp>()))
        CopyForwarder(copy).run();
    }
  }
};
} // namespace
