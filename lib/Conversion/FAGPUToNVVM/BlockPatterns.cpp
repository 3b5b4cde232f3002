//===- BlockPatterns.cpp - Block values to the scalars of a thread --------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers operations on block values to the registers of one thread:
// reductions by shuffles, votes, broadcasts, indices, layout changes. The
// layout says which elements a thread holds; `matchElements` pairs those of
// two layouts. Begin there, then read `ReducePattern`.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fagpu;

void mlir::fagpu::populateRegisterTypes(TypeConverter &converter) {
  using Types = SmallVectorImpl<Type>;
  using Result = std::optional<LogicalResult>;
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](RankedTensorType type, Types &types) -> Result {
    if (!getBlockLayout(type))
      return std::nullopt;
    Type element = type.getElementType();
    if (isPackedElement(element))
      element = IntegerType::get(type.getContext(), 32);
    types.append(registersPerThread(type), element);
    return success();
  });
  converter.addConversion([](ViewType type, Types &types) -> Result {
    types.append(2, IntegerType::get(type.getContext(), 32));
    return success();
  });
  converter.addConversion(
      [&converter](InflightType type, Types &types) -> Result {
        if (failed(converter.convertType(type.getValue(), types)))
          return failure();
        for (RankedTensorType kept : type.getKeeps())
          if (failed(converter.convertType(kept, types)))
            return failure();
        return success();
      });
}

/// For each element of `to`, the element of `from` at the same place along
/// `toDim` and `fromDim`, relative to the thread.
static SmallVector<int64_t> matchElements(RankedTensorType from,
                                          unsigned fromDim, RankedTensorType to,
                                          unsigned toDim) {
  LayoutInterface source = getBlockLayout(from), target = getBlockLayout(to);
  DenseMap<int64_t, int64_t> elementAt;
  for (int64_t i = 0, e = source.perThread(from.getShape()); i < e; ++i)
    elementAt[source.getElementOffset(from.getShape(), i)[fromDim]] = i;
  SmallVector<int64_t> matches;
  for (int64_t i = 0, e = target.perThread(to.getShape()); i < e; ++i)
    matches.push_back(
        elementAt.at(target.getElementOffset(to.getShape(), i)[toDim]));
  return matches;
}

/// Whether the elements of a block are powers, of which the larger one has the
/// larger bits as an integer.
static bool arePowers(Value block) {
  return isa_and_nonnull<math::Exp2Op>(block.getDefiningOp());
}

/// The larger of two numbers that are not negative: an instruction takes three
/// integers, and no more than two floats.
static Value createMaxOfBits(Emitter &emit, Value a, Value b) {
  OpBuilder &builder = emit.builder;
  auto toBits = [&](Value value) -> Value {
    return arith::BitcastOp::create(builder, emit.location,
                                    builder.getI32Type(), value);
  };
  Value larger =
      arith::MaxSIOp::create(builder, emit.location, toBits(a), toBits(b));
  return arith::BitcastOp::create(builder, emit.location, a.getType(), larger);
}

namespace {

struct ReducePattern : public LoweringPattern<ReduceOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(ReduceOp op, Adaptor adaptor, Emitter &emit) const override {
    RankedTensorType source = blockType(op.getSource()), type = blockType(op);
    bool ofBits =
        op.getKind() == ReductionKind::max && arePowers(op.getSource());
    auto combine = [&](Value a, Value b) -> Value {
      if (ofBits)
        return createMaxOfBits(emit, a, b);
      if (op.getKind() == ReductionKind::max)
        return arith::MaxNumFOp::create(emit.builder, emit.location, a, b);
      return arith::AddFOp::create(emit.builder, emit.location, a, b);
    };

    // The elements of each row, dealt to the chains in turn.
    bool isOfWarp = isa<WarpLayoutAttr>(type.getEncoding());
    SmallVector<int64_t> rowOf(adaptor.getSource().size(), 0);
    if (!isOfWarp)
      rowOf = matchElements(type, 0, source, 0);
    SmallVector<SmallVector<Value>> rows(registersPerThread(type));
    for (auto [element, row] : llvm::zip_equal(adaptor.getSource(), rowOf))
      rows[row].push_back(element);
    // Rows advance together: their chains are independent of each other.
    size_t length = rows.front().size();
    size_t numChains = std::min<size_t>(op.getChains(), length);
    for (size_t index = numChains; index < length; ++index)
      for (SmallVector<Value> &row : rows)
        row[index % numChains] = combine(row[index % numChains], row[index]);
    SmallVector<Value> results;
    for (SmallVector<Value> &row : rows) {
      Value sum = row.front();
      for (size_t chain = 1; chain < numChains; ++chain)
        sum = combine(sum, row[chain]);
      results.push_back(sum);
    }
    // The four lanes of a quad share a row, all lanes what is of their warp.
    SmallVector<int64_t> distances;
    if (isOfWarp)
      distances = {16, 8, 4, 2, 1};
    else if (isa<RowLayoutAttr>(type.getEncoding()))
      distances = {2, 1};
    for (int64_t lanes : distances) {
      SmallVector<Value> others;
      for (Value value : results)
        others.push_back(emit.shuffleButterfly(value, lanes));
      for (auto [value, other] : llvm::zip_equal(results, others))
        value = combine(value, other);
    }
    return {results};
  }
};

/// The threads meet at a barrier that combines what they bring along.
struct AnyPattern : public LoweringPattern<AnyOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(AnyOp op, Adaptor adaptor, Emitter &emit) const override {
    ValueRange elements = adaptor.getSource();
    auto either = [&](Value a, Value b) -> Value {
      return arith::OrIOp::create(emit.builder, emit.location, a, b);
    };
    // A comparison takes another predicate along, but waits for it: several
    // chains, which do not wait for each other.
    size_t numChains = std::min<size_t>(4, elements.size());
    SmallVector<Value> chains(elements.take_front(numChains));
    for (auto [index, element] :
         llvm::enumerate(elements.drop_front(numChains)))
      chains[index % numChains] = either(chains[index % numChains], element);
    Value mine = chains.front();
    for (Value chain : ArrayRef(chains).drop_front())
      mine = either(mine, chain);
    auto role = op->getParentOfType<RoleOp>();
    // A role that is the whole block has its barrier.
    Value barrier = role.getBarrier()
                        ? emit.add(role.getGroup(), *role.getBarrier())
                        : emit.constant(0);
    return {emit.inlinePTX(
        "bar.red.or.pred $0, $1, $2, $3;", "=b,r,r,b",
        {barrier, emit.constant(role.getThreadsPerGroup()), mine},
        emit.builder.getI1Type())};
  }
};

struct BroadcastPattern : public LoweringPattern<BroadcastOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(BroadcastOp op, Adaptor adaptor,
                  Emitter &emit) const override {
    RankedTensorType source = blockType(op.getSource()), type = blockType(op);
    if (isa<WarpLayoutAttr>(source.getEncoding()))
      return {SmallVector<Value>(registersPerThread(type),
                                 adaptor.getSource().front())};
    unsigned dim = isa<ColumnLayoutAttr>(source.getEncoding()) ? 1 : 0;
    SmallVector<Value> results;
    for (int64_t element : matchElements(source, 0, type, dim))
      results.push_back(adaptor.getSource()[element]);
    return {results};
  }
};

} // namespace

Value mlir::fagpu::expandIndex(Emitter &emit, AffineExpr expression,
                               Value thread) {
  if (isa<AffineDimExpr>(expression))
    return thread;
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return emit.constant(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expression);
  Value left = expandIndex(emit, binary.getLHS(), thread);
  if (binary.getKind() == AffineExprKind::Add)
    return emit.add(left, expandIndex(emit, binary.getRHS(), thread));
  int64_t right = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  if (binary.getKind() == AffineExprKind::Mul)
    return emit.multiply(left, right);
  assert(llvm::isPowerOf2_64(right) && "layouts divide by powers of two");
  return binary.getKind() == AffineExprKind::Mod
             ? emit.bitAnd(left, right - 1)
             : emit.shiftRight(left, llvm::Log2_64(right));
}

Value mlir::fagpu::getThreadIndex(Emitter &emit, const KernelContext &kernel,
                                  Operation *op, RankedTensorType type,
                                  unsigned dim) {
  Value thread = kernel.getThreads(op).thread;
  OpBuilder::InsertionGuard guard(emit.builder);
  emit.builder.setInsertionPointAfter(thread.getDefiningOp());
  return expandIndex(emit, getBlockLayout(type).getThreadMap().getResult(dim),
                     thread);
}

namespace {

/// An index does not wrap around, so that an address made of it is one of the
/// thread and an immediate.
static Value addExactly(Emitter &emit, Value threadPart, int64_t offset) {
  auto flags =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  return arith::AddIOp::create(emit.builder, emit.location, threadPart,
                               emit.constant(offset), flags);
}

struct IotaPattern : public LoweringPattern<IotaOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(IotaOp op, Adaptor adaptor, Emitter &emit) const override {
    RankedTensorType type = blockType(op);
    LayoutInterface layout = getBlockLayout(type);
    Value threadPart;
    if (op.getPart() != IndexPart::element)
      threadPart = getThreadIndex(emit, kernel, op, type, op.getDim());
    SmallVector<Value> results;
    for (int64_t i = 0, e = layout.perThread(type.getShape()); i < e; ++i) {
      int64_t offset = layout.getElementOffset(type.getShape(), i)[op.getDim()];
      if (!threadPart)
        results.push_back(emit.constant(offset));
      else if (op.getPart() == IndexPart::thread)
        results.push_back(threadPart);
      else
        results.push_back(addExactly(emit, threadPart, offset));
    }
    return {results};
  }
};

/// Between layouts of the same elements in the same order.
struct ConvertPattern : public LoweringPattern<ConvertOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(ConvertOp op, Adaptor adaptor, Emitter &emit) const override {
    return {SmallVector<Value>(adaptor.getSource())};
  }
};

/// An assembly statement without text, whose results are its operands.
struct PinPattern : public LoweringPattern<PinOp> {
  using LoweringPattern::LoweringPattern;

  Registers lower(PinOp op, Adaptor adaptor, Emitter &emit) const override {
    SmallVector<Value> inputs;
    SmallVector<Type> types;
    std::string outputs, ties;
    for (ValueRange registers : adaptor.getValues())
      for (Value value : registers) {
        outputs += value.getType().isF32() ? "=f," : "=r,";
        ties += (ties.empty() ? "" : ",") + std::to_string(inputs.size());
        inputs.push_back(value);
        types.push_back(value.getType());
      }
    SmallVector<Value> pinned =
        emit.inlinePTX("", outputs + ties, inputs, types);
    SmallVector<SmallVector<Value>> results;
    ArrayRef<Value> rest = pinned;
    for (ValueRange registers : adaptor.getValues()) {
      results.emplace_back(rest.take_front(registers.size()));
      rest = rest.drop_front(registers.size());
    }
    return results;
  }
};

} // namespace

void mlir::fagpu::populateBlockPatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        const KernelContext &kernel) {
  patterns.add<ReducePattern, AnyPattern, BroadcastPattern, IotaPattern,
               ConvertPattern, PinPattern>(converter, patterns.getContext(),
                                           kernel);
}
