//===- VersionLengths.cpp - A version of attention for each length -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A configuration may name others for longer sequences. Where the lengths are
// dynamic, this makes one version of attention, or of its gradient, for each,
// in branches on the lengths; of packed sequences on their mean. Read
// `LengthVersioner::build`, then `isLonger`.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/SameHeads.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/SaveAndRestore.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAVERSIONLENGTHS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static int64_t getKnownSize(Value operand, DimsAttr order, DimKind kind) {
  return cast<ShapedType>(operand.getType()).getDimSize(order.positionOf(kind));
}

namespace {

/// Builds the versions of one attention, or of one gradient.
template <typename OpTy> class LengthVersioner {
public:
  LengthVersioner(RewriterBase &rewriter, OpTy op)
      : rewriter(rewriter), op(op), loc(op.getLoc()) {
    int64_t ofQuery =
        getKnownSize(op.getQuery(), op.getQueryOrder(), DimKind::Heads);
    int64_t ofKey = getKnownSize(op.getKey(), op.getKeyOrder(), DimKind::Heads);
    if (!ShapedType::isDynamic(ofQuery) && !ShapedType::isDynamic(ofKey))
      sameHeads = ofQuery == ofKey;
  }

  /// What of `config` and its longer ones the known lengths leave.
  ConfigAttr getPossible(ConfigAttr config);
  /// The results of the attention by `config` or one of its longer ones.
  SmallVector<Value> build(ConfigAttr config);

private:
  /// Packed gradients go by the mean of their sequences, attentions by all rows
  /// (each as it was timed).
  static Value getMeanOver(Value starts) {
    return std::is_same_v<OpTy, AttentionGradientOp> ? starts : Value();
  }
  Value getLength(Value operand, int64_t dim);
  Value isAtLeast(Value operand, DimsAttr order, Value starts, int64_t length);
  Value hasSameHeads(ConfigAttr config, ConfigAttr longer);
  Value isLonger(ConfigAttr config, ConfigAttr longer);
  void buildBranch(Region &region, ConfigAttr config);

  RewriterBase &rewriter;
  OpTy op;
  Location loc;
  /// Whether there are as many key heads as query heads, where types say so or
  /// the branch that is built is for these.
  std::optional<bool> sameHeads;
  bool isBranchForOneHead = false;
  /// Sizes of sequences and heads, by operand and dimension.
  DenseMap<std::pair<Value, int64_t>, Value> lengths;
};

} // namespace

/// The number of rows of an operand, where it is known. Of packed sequences no
/// type says how many there are.
static int64_t getKnownLength(Value operand, DimsAttr order, Value starts) {
  return starts ? ShapedType::kDynamic
                : getKnownSize(operand, order, DimKind::Sequence);
}

/// Whether `longer` in place of `config` is for one query head of each key
/// head. Where groups of warps add blocks of keys for several, more queries a
/// step take 1.04 to 1.09 of the time (measured on an H200).
static bool isForOneHead(ConfigAttr config, ConfigAttr longer) {
  auto target = dyn_cast_if_present<GPUConfigAttr>(longer.getTarget());
  auto isOnePass = [](ConfigAttr one) {
    return one.getGradientForm() == GradientForm::one_pass;
  };
  return target && target.getPart().hasGroups() && isOnePass(config) &&
         isOnePass(longer);
}

/// Null where it is known.
template <typename OpTy>
Value LengthVersioner<OpTy>::hasSameHeads(ConfigAttr config,
                                          ConfigAttr longer) {
  if (!isForOneHead(config, longer) || sameHeads)
    return {};
  auto getHeads = [&](Value operand, DimsAttr order) {
    return getLength(operand, order.positionOf(DimKind::Heads));
  };
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                               getHeads(op.getQuery(), op.getQueryOrder()),
                               getHeads(op.getKey(), op.getKeyOrder()));
}

template <typename OpTy>
ConfigAttr LengthVersioner<OpTy>::getPossible(ConfigAttr config) {
  int64_t queries = getKnownLength(op.getQuery(), op.getQueryOrder(),
                                   getMeanOver(op.getQueryStarts()));
  int64_t keys = getKnownLength(op.getKey(), op.getKeyOrder(),
                                getMeanOver(op.getKeyStarts()));
  while (ConfigAttr longer = config.getLonger()) {
    ConfigAttr alone = longer.withLengths(
        longer.getFromKeys(), longer.getFromQueries(), /*longer=*/{});
    ConfigAttr known =
        config.withLengths(0, 0, alone).getForLengths(queries, keys);
    bool isOfHeads = isForOneHead(config, longer);
    bool isOpen = isOfHeads && !sameHeads;
    if (isOfHeads && sameHeads == false)
      config = config.withLengths(0, 0, longer.getLonger());
    else if (known.getLonger() || (isOpen && known == longer.forAnyLengths()))
      return config.withLengths(0, 0, longer);
    else if (known != longer.forAnyLengths())
      return config.forAnyLengths();
    else
      config = longer;
  }
  return config.forAnyLengths();
}

template <typename OpTy>
Value LengthVersioner<OpTy>::getLength(Value operand, int64_t dim) {
  Value &length = lengths[{operand, dim}];
  if (length)
    return length;
  if (isa<MemRefType>(operand.getType()))
    return length = memref::DimOp::create(rewriter, loc, operand, dim);
  return length = tensor::DimOp::create(rewriter, loc, operand, dim);
}

/// Whether an operand has so many rows, or sequences that begin at `starts` so
/// many in the mean; null where that is known to hold.
template <typename OpTy>
Value LengthVersioner<OpTy>::isAtLeast(Value operand, DimsAttr order,
                                       Value starts, int64_t length) {
  if (length == 0 ||
      !ShapedType::isDynamic(getKnownLength(operand, order, starts)))
    return {};
  Value least = arith::ConstantIndexOp::create(rewriter, loc, length);
  Value found = getLength(operand, order.positionOf(DimKind::Sequence));
  if (starts) {
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value sequences =
        arith::SubIOp::create(rewriter, loc, getLength(starts, 0), one);
    sequences = arith::MaxSIOp::create(rewriter, loc, sequences, one);
    found = arith::DivUIOp::create(rewriter, loc, found, sequences);
  }
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::uge, found,
                               least);
}

/// Whether the lengths of the call are those that `config`, which known ones
/// leave open, is for.
template <typename OpTy>
Value LengthVersioner<OpTy>::isLonger(ConfigAttr config, ConfigAttr longer) {
  Value enoughKeys =
      isAtLeast(op.getKey(), op.getKeyOrder(), getMeanOver(op.getKeyStarts()),
                longer.getFromKeys());
  Value enoughQueries =
      isAtLeast(op.getQuery(), op.getQueryOrder(),
                getMeanOver(op.getQueryStarts()), longer.getFromQueries());
  Value all;
  for (Value part : {enoughKeys, enoughQueries, hasSameHeads(config, longer)})
    if (part)
      all = all ? arith::AndIOp::create(rewriter, loc, all, part) : part;
  return all;
}

template <typename OpTy>
void LengthVersioner<OpTy>::buildBranch(Region &region, ConfigAttr config) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.createBlock(&region);
  SmallVector<Value> results = build(config);
  scf::YieldOp::create(rewriter, loc, results);
}

template <typename OpTy>
SmallVector<Value> LengthVersioner<OpTy>::build(ConfigAttr config) {
  ConfigAttr longer = config.getLonger();
  if (!longer) {
    auto version = cast<OpTy>(rewriter.clone(*op));
    version.setConfigAttr(config.forAnyLengths());
    // One pass has no other configuration for its blocks of keys.
    if (config.getGradientForm() == GradientForm::one_pass)
      version->removeAttr(gradientKeysAttrName);
    if (isBranchForOneHead)
      version->setAttr(sameHeadsAttrName, rewriter.getUnitAttr());
    return llvm::to_vector_of<Value>(version->getResults());
  }
  auto branch =
      scf::IfOp::create(rewriter, loc, op->getResultTypes(),
                        isLonger(config, longer), /*addThenBlock=*/false,
                        /*addElseBlock=*/false);
  {
    bool asksForHeads = isForOneHead(config, longer) && !sameHeads;
    llvm::SaveAndRestore known(sameHeads, asksForHeads ? true : sameHeads);
    llvm::SaveAndRestore forOneHead(isBranchForOneHead,
                                    isBranchForOneHead || asksForHeads);
    buildBranch(branch.getThenRegion(), getPossible(longer));
  }
  buildBranch(branch.getElseRegion(), config.forAnyLengths());
  return llvm::to_vector_of<Value>(branch.getResults());
}

template <typename OpTy>
static void versionByLengths(RewriterBase &rewriter, OpTy op) {
  if (!op.getConfigAttr() || !op.getConfigAttr().getLonger())
    return;
  LengthVersioner<OpTy> versioner(rewriter, op);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  rewriter.replaceOp(
      op, versioner.build(versioner.getPossible(op.getConfigAttr())));
}

void mlir::fa::versionLengths(RewriterBase &rewriter, AttentionOp op) {
  versionByLengths(rewriter, op);
}

void mlir::fa::versionLengths(RewriterBase &rewriter, AttentionGradientOp op) {
  versionByLengths(rewriter, op);
}

template <typename OpTy> static LogicalResult verifyIsForAnyKeys(OpTy op) {
  ConfigAttr config = op.getConfigAttr();
  if (!config || !config.getLonger())
    return success();
  return op.emitOpError() << "config has a longer one from "
                          << config.getLonger().getFromKeys()
                          << " keys on, expected one for all lengths: choose "
                             "by the keys first, with fa-version-lengths";
}

LogicalResult mlir::fa::verifyForAnyKeys(AttentionOp op) {
  return verifyIsForAnyKeys(op);
}

LogicalResult mlir::fa::verifyForAnyKeys(AttentionGradientOp op) {
  return verifyIsForAnyKeys(op);
}

namespace {
struct VersionLengthsPass
    : public mlir::fa::impl::FAVersionLengthsBase<VersionLengthsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionGradientOp>(op))
        all.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : all)
      if (auto attention = dyn_cast<AttentionOp>(op))
        versionLengths(rewriter, attention);
      else
        versionLengths(rewriter, cast<AttentionGradientOp>(op));
  }
};
} // namespace
