//===- RegionWork.cpp - What score and mask regions hold ------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// What a value of a region varies with, and whether a value of pairs comes
/// from a score or from memory.
struct Varies {
  bool query = false, key = false, isHeld = false;

  bool byPair() const { return query && key; }
  void operator|=(Varies other) {
    query |= other.query;
    key |= other.key;
    isHeld |= other.isHeld && other.byPair();
  }
};

/// Goes through the regions of one attention.
class RegionReader {
public:
  RegionWork read(AttentionOp op);

private:
  void readRegion(Region &region, unsigned firstIndex);
  void readOperation(Operation *op);
  bool isProduct(Operation *op);
  bool takesRegisters(Value value);
  int64_t countLive(Block &block);

  DenseMap<Value, Varies> varies;
  RegionWork work;
};
} // namespace

/// Whether the target has an instruction for what the flags allow.
static bool isApproximate(Operation *op) {
  return isa<math::TanhOp, math::Exp2Op, math::Log2Op>(op) &&
         bitEnumContainsAll(cast<arith::ArithFastMathInterface>(op)
                                .getFastMathFlagsAttr()
                                .getValue(),
                            arith::FastMathFlags::afn);
}

/// See RegionWork::quartersOnTheWay.
static int64_t getQuarters(Operation *op) {
  if (isApproximate(op))
    return 0;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
          arith::RemUIOp>(op))
    return 2;
  bool isExpanded =
      isa<math::MathDialect>(op->getDialect()) ||
      isa<arith::DivFOp, arith::RemFOp, arith::SIToFPOp, arith::UIToFPOp>(op);
  return isExpanded ? 1 : 0;
}

void RegionReader::readOperation(Operation *op) {
  Varies result;
  for (Value operand : op->getOperands())
    result |= varies.lookup(operand);
  if (isa<tensor::ExtractOp, memref::LoadOp>(op))
    result.isHeld = true;
  for (Value value : op->getResults())
    varies[value] = result;
  if (isa<arith::CmpIOp>(op) && result.key)
    ++work.comparisons;
  if (isa<tensor::ExtractOp, memref::LoadOp>(op)) {
    // Elements of 64 bits take two registers.
    Type element = op->getResult(0).getType();
    int64_t count = element.isF64() || element.isInteger(64) ? 2 : 1;
    if (result.byPair())
      work.pairLoads += count;
    else if (result.key)
      work.keyLoads += count;
  } else if (result.byPair() && !isProduct(op)) {
    work.quartersOnTheWay = std::max(work.quartersOnTheWay, getQuarters(op));
    work.hasFunctions |= isa<math::MathDialect>(op->getDialect()) &&
                         !isa<math::FmaOp, math::AbsFOp>(op);
  }
}

/// Whether a division is by a reciprocal that is taken apart from the pairs.
bool RegionReader::isProduct(Operation *op) {
  auto division = dyn_cast<arith::DivFOp>(op);
  return division &&
         bitEnumContainsAll(division.getFastmath(),
                            arith::FastMathFlags::arcp) &&
         !varies.lookup(division.getRhs()).byPair();
}

/// Whether each thread holds the value of its pairs.
bool RegionReader::takesRegisters(Value value) {
  Varies of = varies.lookup(value);
  return of.byPair() && of.isHeld && !value.getType().isInteger(1);
}

/// The most values of pairs that are live behind an operation.
int64_t RegionReader::countLive(Block &block) {
  llvm::SmallDenseSet<Value> live;
  int64_t most = 0;
  for (Operation &op : llvm::reverse(block)) {
    most = std::max(most, static_cast<int64_t>(live.size()));
    for (Value result : op.getResults())
      live.erase(result);
    for (Value operand : op.getOperands())
      if (takesRegisters(operand))
        live.insert(operand);
  }
  return std::max(most, static_cast<int64_t>(live.size()));
}

/// `firstIndex` is the argument of the batch, which head, query and key follow.
void RegionReader::readRegion(Region &region, unsigned firstIndex) {
  if (region.empty())
    return;
  Block &block = region.front();
  for (unsigned i = 0; i < firstIndex; ++i)
    varies[block.getArgument(i)] = {true, true, true};
  varies[block.getArgument(firstIndex + 2)].query = true;
  varies[block.getArgument(firstIndex + 3)].key = true;
  block.walk<WalkOrder::PreOrder>([&](Operation *op) { readOperation(op); });
  // A mask is computed beside the scores that it hides.
  bool isMask = firstIndex == 0;
  work.pairsBeside =
      std::max(work.pairsBeside, countLive(block) - (isMask ? 0 : 1));
}

RegionWork RegionReader::read(AttentionOp op) {
  readRegion(op.getScore(), /*firstIndex=*/1);
  readRegion(op.getMask(), /*firstIndex=*/0);
  return work;
}

RegionWork RegionWork::get(AttentionOp op) { return RegionReader().read(op); }
