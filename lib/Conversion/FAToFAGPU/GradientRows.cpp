//===- GradientRows.cpp - Begin and end of gradients on block values ------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What comes before and after the products of a gradient. First the end: sums
// of a block are scaled and stored (`GradientResult::run`), and those that
// blocks of keys have added to memory (`runSums`). Then the begin: the sum of
// do * o for each row, and memory that is cleared to be added to
// (`GradientRows::run`).
//
//===----------------------------------------------------------------------===//

#include "GradientBlock.h"
#include "IndexWidths.h"
#include "KernelConfig.h"
#include "SoftmaxStep.h"
#include "SplitSum.h"
#include "fa/Target/GradientWarps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::fa;

LogicalResult GradientResult::run(Value sums, Type element, int64_t columns) {
  this->element = element;
  this->columns = columns;
  auto state = cast<RankedTensorType>(finalize.getAccumulator().getType());
  if (failed(findRole()) || failed(divideRows(state.getDimSize(0))) ||
      failed(checkOrders(finalize, finalize.getOrder())))
    return failure();
  OpBuilder builder(finalize);
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  findGroupRow(builder);
  FailureOr<Tile> tile = resolve(builder, finalize, finalize.getOutput());
  if (failed(tile))
    return failure();
  int64_t headDim = state.getDimSize(1);
  if (!sums)
    sums =
        blocks.constant(0.0f, RankedTensorType::get({rows, getColumns(headDim)},
                                                    state.getElementType()));
  if (Value factor = finalize.getScale())
    sums = arith::MulFOp::create(builder, loc, sums,
                                 blocks.splat(factor, sums.getType()));
  int64_t sequence = finalize.getOrder().positionOf(DimKind::Sequence);
  // Rows behind the last one of the batch item are 0.
  if (!isEqualConstantIntOrValue(tile->sizes[sequence],
                                 getAsOpFoldResult(finalize.getRows()))) {
    RankedTensorType indexType = rowType.clone(builder.getI32Type());
    Value last = finalize.getRows();
    if (groupRow)
      last = arith::SubIOp::create(builder, loc, last, groupRow);
    Value isRow =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                              fagpu::IotaOp::create(builder, loc, indexType, 0,
                                                    fagpu::IndexPart::all),
                              blocks.splat(blocks.cast32(last), indexType));
    auto bits =
        cast<RankedTensorType>(sums.getType()).clone(builder.getI1Type());
    sums = blocks.select(blocks.broadcast(isRow, bits), sums,
                         blocks.constant(0.0f, sums.getType()));
  }
  Type stored = cast<MemRefType>(tile->memory.getType()).getElementType();
  store(builder, blocks.truncate(sums, stored), *tile, sequence, headDim,
        /*valid=*/Value());
  finalize.erase();
  return success();
}

/// Sums that were added as threads held them, by columns: of 16 rows a warp and
/// 8 columns at a time, a lane has two columns of two rows 8 apart in four
/// words, beside each other or each beside those of the other threads. Groups
/// that divide columns have their own one behind the other. Rows become columns
/// again.
Value GradientResult::gatherFragments(const QuerySums &place,
                                      const QuerySumsPart &part) {
  OpBuilder builder(finalize);
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  auto type =
      RankedTensorType::get({part.queries, part.columns}, builder.getF32Type());
  RankedTensorType indexType = type.clone(builder.getI32Type());
  auto number = [&](int32_t dim) -> Value {
    return fagpu::IotaOp::create(builder, loc, indexType, dim,
                                 fagpu::IndexPart::all);
  };
  // `number / by % modulo * factor`, all powers of 2.
  auto digit = [&](Value number, int32_t by, int32_t modulo,
                   int32_t factor) -> Value {
    auto constant = [&](int32_t value) {
      return blocks.splat(arith::ConstantIntOp::create(builder, loc, value, 32),
                          indexType);
    };
    if (by > 1)
      number = arith::DivUIOp::create(builder, loc, number, constant(by));
    if (modulo)
      number = arith::RemUIOp::create(builder, loc, number, constant(modulo));
    return arith::MulIOp::create(builder, loc, number, constant(factor));
  };
  Value column = number(0), row = number(1);
  // Of the kernel that adds them.
  ConfigAttr config = finalize.getConfigAttr();
  auto groups = static_cast<int32_t>(getGPUPart(config).columnGroups);
  auto warps = static_cast<int32_t>(getWarpsOfOnePass(config.getKeyBlock(),
                                                      config.getQueryBlock())) /
               groups;
  int32_t queries = static_cast<int32_t>(part.queries) / groups;
  int32_t rowsAtOnce = 16 * warps, threads = 32 * warps, ofEight = 4 * threads;
  bool byWords = addsByWords(finalize->getParentOfType<func::FuncOp>());
  int32_t ofWord = byWords ? threads : 1, ofThread = byWords ? 1 : 4;
  Value index = blocks.splat(
      place.getOffsets(builder, loc, /*group=*/Value(), 0).back(), indexType);
  if (groups > 1)
    index = arith::AddIOp::create(
        builder, loc, index,
        digit(column, queries, 0,
              queries * static_cast<int32_t>(part.columns)));
  int32_t eights = groups > 1 ? queries / 8 : 0;
  for (Value part :
       {digit(row, rowsAtOnce, 0, queries / 8 * ofEight),
        digit(row, 16, warps, 32 * ofThread), digit(row, 8, 2, 2 * ofWord),
        digit(row, 1, 8, 4 * ofThread), digit(column, 8, eights, ofEight),
        digit(column, 2, 4, ofThread), digit(column, 1, 2, ofWord)})
    index = arith::AddIOp::create(builder, loc, index, part);
  SmallVector<Value> indices =
      place.getOffsets(builder, loc, /*group=*/Value(), 0);
  indices.back() = index;
  return fagpu::GatherOp::create(builder, loc, type, place.memory, indices,
                                 /*mask=*/Value(), /*pairs=*/false,
                                 /*in_order=*/false);
}

LogicalResult GradientResult::runSums() {
  if (failed(findRole()))
    return failure();
  ConfigAttr config = finalize.getConfigAttr();
  if (!config)
    return finalize.emitOpError("has its sums in memory and no config, "
                                "expected one that gives the query block");
  auto from = cast<MemRefType>(finalize.getAccumulator().getType());
  FailureOr<QuerySumsPart> part = QuerySumsPart::get(
      finalize, config.getQueryBlock(), from.getDimSize(1), role.getGroups());
  if (failed(part) || failed(checkOrders(finalize, finalize.getOrder())))
    return failure();
  OpBuilder builder(finalize);
  Location loc = finalize.getLoc();
  Blocks blocks(builder, loc);
  FailureOr<QuerySums> place =
      QuerySums::resolve(builder, finalize, finalize.getAccumulator());
  FailureOr<Tile> tile = resolve(builder, finalize, finalize.getOutput());
  if (failed(place) || failed(tile))
    return failure();
  int64_t elements = part->getNumElements();
  Value group = role.getGroups() > 1 ? role.getGroup() : Value();
  bool hasGroups = hasWarpGroups(role->getParentOfType<func::FuncOp>());
  Value sums;
  if (hasGroups)
    sums = fagpu::FetchOp::create(
        builder, loc, part->getType(builder.getContext()), place->memory,
        place->getOffsets(builder, loc, group, elements),
        ArrayRef<int64_t>{1, 1, elements}, /*rows=*/Value(),
        /*columns=*/Value(), /*alignment=*/16, /*padded=*/false,
        /*fragments=*/true);
  else
    sums = gatherFragments(*place, *part);
  if (Value factor = finalize.getScale())
    sums = arith::MulFOp::create(builder, loc, sums,
                                 blocks.splat(factor, sums.getType()));

  int64_t sequence = finalize.getOrder().positionOf(DimKind::Sequence);
  auto memory = cast<MemRefType>(tile->memory.getType());
  SmallVector<int64_t> box(memory.getRank(), 1);
  box[sequence] = part->queries;
  box.back() = part->columns;
  Value limit = blocks.cast32(getEnd(builder, *tile, sequence));
  SmallVector<Value> offsets;
  for (Value offset : tile->offsets)
    offsets.push_back(blocks.cast32(offset));
  if (group) {
    Value &shifted = part->ofColumns ? offsets.back() : offsets[sequence];
    Value size = arith::ConstantIntOp::create(
        builder, loc, part->ofColumns ? part->columns : part->queries, 32);
    shifted = arith::AddIOp::create(builder, loc, shifted,
                                    multiplyShort(builder, loc, group, size));
  }
  fagpu::StoreOp::create(
      builder, loc, blocks.truncate(sums, memory.getElementType()),
      tile->memory, offsets, builder.getDenseI64ArrayAttr(box), limit,
      /*columns=*/Value(), /*via=*/Value(), /*bank=*/Value(),
      getAlignment(memory, from.getDimSize(1)),
      /*padded=*/false, /*add=*/false, hasGroups && part->transposed,
      /*fragments=*/false, /*cache=*/fagpu::CachePriorityAttr());
  finalize.erase();
  return success();
}

/// Columns that threads load to registers at once, of two blocks. Fewer
/// registers leave a multiprocessor more blocks, whose copies come meanwhile.
static constexpr int64_t columnsAtOnce = 64;

namespace {
/// The rows of one block of queries.
class GradientRows : PairsTile {
public:
  explicit GradientRows(PrepareGradientOp op) : PairsTile(op), op(op) {}
  LogicalResult run();

private:
  FailureOr<Value> gather(Value numbers);
  FailureOr<Value> multiply();
  LogicalResult storeNumbers(Value numbers, Value memory);
  LogicalResult clear(Value slice);

  PrepareGradientOp op;
  /// The number of each row in the block, and whether it is a query.
  Value row, isRow;
};
} // namespace

/// Numbers of rows; 0 where there is no query.
FailureOr<Value> GradientRows::gather(Value numbers) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Blocks blocks(builder, loc);
  FailureOr<Tile> tile = resolve(builder, op, numbers);
  if (failed(tile))
    return failure();
  Value first = blocks.splat(blocks.cast32(tile->offsets[2]), row.getType());
  SmallVector<Value> indices = {
      blocks.cast32(tile->offsets[0]), blocks.cast32(tile->offsets[1]),
      arith::AddIOp::create(builder, loc, row, first)};
  return fagpu::GatherOp::create(builder, loc, rowType, tile->memory, indices,
                                 isRow, /*pairs=*/false, /*in_order=*/false)
      .getResult();
}

/// The sum over e of do(e) * o(e), by parts of the columns. Threads load f32
/// themselves.
FailureOr<Value> GradientRows::multiply() {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Blocks blocks(builder, loc);
  SmallVector<fagpu::FetchOp, 2> operands;
  for (auto [memory, order] :
       {std::pair(op.getOutput(), op.getOutputOrder()),
        std::pair(op.getOutputGradient(), op.getOutputGradientOrder())}) {
    FailureOr<Value> tile =
        fetch(builder, op, memory, order, rows, std::nullopt);
    if (failed(tile))
      return failure();
    operands.push_back(tile->getDefiningOp<fagpu::FetchOp>());
  }
  auto getPart = [&](fagpu::FetchOp operand, int64_t first, int64_t columns) {
    Value from = arith::ConstantIntOp::create(builder, loc, first, 32);
    return fagpu::fetchPart(builder, operand, from, columns);
  };
  auto extend = [&](Value part) -> Value {
    auto type =
        cast<RankedTensorType>(part.getType()).clone(builder.getF32Type());
    return part.getType() == type
               ? part
               : arith::ExtFOp::create(builder, loc, type, part).getResult();
  };
  Value all;
  auto add = [&](std::pair<Value, Value> part) {
    Value products = arith::MulFOp::create(builder, loc, extend(part.first),
                                           extend(part.second));
    Value sum = blocks.reduce(fagpu::ReductionKind::add, products, rowType);
    all = all ? arith::AddFOp::create(builder, loc, all, sum).getResult() : sum;
  };
  RankedTensorType type = operands[0].getType();
  bool isFloat = type.getElementType().isF32();
  SmallVector<std::pair<Value, Value>> parts;
  for (int64_t first = 0, end = type.getDimSize(1); first < end;
       first += columnsAtOnce) {
    int64_t columns = std::min(columnsAtOnce, end - first);
    Value output = getPart(operands[0], first, columns);
    parts.emplace_back(output, getPart(operands[1], first, columns));
    if (isFloat)
      add(parts.pop_back_val());
  }
  // Copies of 16 bits to shared memory all start first.
  llvm::for_each(parts, add);
  return all;
}

/// Whole blocks: fa-pad-row-numbers gives the memory that many rows.
LogicalResult GradientRows::storeNumbers(Value numbers, Value memory) {
  OpBuilder builder(op);
  FailureOr<Tile> tile = resolve(builder, op, memory);
  if (failed(tile))
    return failure();
  Value all = arith::ConstantIndexOp::create(builder, op.getLoc(), rows);
  store(builder, numbers, *tile, 2, /*headDim=*/0, all);
  return success();
}

/// All of a block, or nothing.
LogicalResult GradientRows::clear(Value slice) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  FailureOr<QuerySums> place = QuerySums::resolve(builder, op, slice);
  if (failed(place))
    return failure();
  int64_t headDim = cast<MemRefType>(slice.getType()).getShape().back();
  auto type = RankedTensorType::get({rows, headDim}, builder.getF32Type());
  SmallVector<Value> offsets =
      place->getOffsets(builder, loc, /*group=*/Value(), rows * headDim);
  Value zeros = Blocks(builder, loc).constant(0.0f, type);
  if (constexpr int64_t rowDim = 2;
      cast<MemRefType>(slice.getType()).isDynamicDim(rowDim)) {
    Value isAny = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne,
        builder.createOrFold<memref::DimOp>(loc, slice, rowDim),
        arith::ConstantIndexOp::create(builder, loc, 0));
    builder = scf::IfOp::create(builder, loc, isAny, /*withElseRegion=*/false)
                  .getThenBodyBuilder();
  }
  fagpu::StoreOp::create(
      builder, loc, zeros, place->memory, offsets,
      builder.getDenseI64ArrayAttr({1, 1, rows * headDim}), /*rows=*/Value(),
      /*columns=*/Value(), /*via=*/Value(), /*bank=*/Value(), /*alignment=*/16,
      /*padded=*/false, /*add=*/false, /*transposed=*/false,
      /*fragments=*/true, /*cache=*/fagpu::CachePriorityAttr());
  return success();
}

LogicalResult GradientRows::run() {
  if (!op.getConfigAttr())
    return op.emitOpError("has no config, expected one that gives the query "
                          "block");
  if (failed(findRole()) ||
      failed(divideRows(op.getConfigAttr().getQueryBlock())) ||
      failed(
          checkOrders(op, {op.getOutputOrder(), op.getOutputGradientOrder()})))
    return failure();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Blocks blocks(builder, loc);
  RankedTensorType indexType = rowType.clone(builder.getI32Type());
  if (op.getQuerySums() && failed(clear(op.getQuerySums())))
    return failure();
  row =
      fagpu::IotaOp::create(builder, loc, indexType, 0, fagpu::IndexPart::all);
  isRow = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, row,
      blocks.splat(blocks.cast32(op.getRows()), indexType));
  FailureOr<Value> lse = gather(op.getLse());
  FailureOr<Value> delta =
      op.getGivenDelta() ? gather(op.getGivenDelta()) : multiply();
  if (failed(lse) || failed(delta))
    return failure();
  if (op.getLseGradient()) {
    FailureOr<Value> gradient = gather(op.getLseGradient());
    if (failed(gradient))
      return failure();
    *delta = arith::SubFOp::create(builder, loc, *delta, *gradient);
  }
  // delta = 0 and lse = inf, in base 2, where no key is seen.
  Value isSeen =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, *lse,
                            blocks.constant(-infinity, rowType));
  isSeen = arith::AndIOp::create(builder, loc, isSeen, isRow);
  constexpr float log2e = 1.44269504f;
  Value reference = arith::MulFOp::create(builder, loc, *lse,
                                          blocks.constant(log2e, rowType));
  // NaN stays.
  Value isKnown =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::ULE,
                            math::AbsFOp::create(builder, loc, *lse),
                            blocks.constant(largestKnownLse, rowType));
  isKnown = arith::AndIOp::create(builder, loc, isKnown, isRow);
  reference =
      blocks.select(isKnown, reference, blocks.constant(infinity, rowType));
  Value numbers = blocks.select(isSeen, *delta, blocks.constant(0.0f, rowType));
  if (failed(storeNumbers(numbers, op.getDelta())) ||
      failed(storeNumbers(reference, op.getReference())))
    return failure();
  op.erase();
  return success();
}

LogicalResult mlir::fa::decomposeRows(PrepareGradientOp op) {
  return GradientRows(op).run();
}
