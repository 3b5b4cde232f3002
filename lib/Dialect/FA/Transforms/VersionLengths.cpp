//===- VersionLengths.cpp - A version of attention for each length -------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A configuration may name others for longer sequences, and for equal numbers
// of heads. Where these numbers are dynamic, this makes one version of
// attention, or of its gradient, for each, in branches on them; of packed
// sequences on their mean. Read `LengthVersioner::build`, then `isFor`.
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
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

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

/// One configuration of several. More queries a step than another one pass by
/// groups of warps ask for as many key heads as query heads: where blocks of
/// keys add for several query heads they take 1.04 to 1.09 of the time
/// (measured on an H200).
struct Version {
  ConfigAttr config;
  bool asksForHeads = false;
};

/// Builds the versions of one attention, or of one gradient.
template <typename OpTy> class LengthVersioner {
public:
  LengthVersioner(RewriterBase &rewriter, OpTy op)
      : rewriter(rewriter), op(op), loc(op.getLoc()) {
    if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads))
      sameHeads = heads == keyHeads;
  }

  /// What of the configuration and its longer ones the types leave, the
  /// shortest first, which is for all that the others are not for.
  SmallVector<Version> getPossible();
  /// The results of the attention by the last of `versions` that suits it.
  SmallVector<Value> build(ArrayRef<Version> versions);

private:
  std::optional<bool> isKnownFor(const Version &version);
  Value getLength(Value operand, int64_t dim);
  Value isAtLeast(Value operand, DimsAttr order, Value starts, int64_t length);
  Value hasSameHeads();
  Value isFor(const Version &version);
  void buildBranch(Region &region, ArrayRef<Version> versions);

  RewriterBase &rewriter;
  OpTy op;
  Location loc;
  int64_t heads =
      getKnownSize(op.getQuery(), op.getQueryOrder(), DimKind::Heads);
  int64_t keyHeads =
      getKnownSize(op.getKey(), op.getKeyOrder(), DimKind::Heads);
  /// Whether there are as many key heads as query heads, where types say so.
  std::optional<bool> sameHeads;
  /// Sizes of sequences and heads, by operand and dimension.
  DenseMap<std::pair<Value, int64_t>, Value> lengths;
};

} // namespace

/// The number of rows of an operand, where it is known. The mean of packed
/// sequences is left to folding, where types say that.
static int64_t getKnownLength(Value operand, DimsAttr order, Value starts) {
  return starts ? ShapedType::kDynamic
                : getKnownSize(operand, order, DimKind::Sequence);
}

/// The configuration and its longer ones, the shortest first.
static SmallVector<Version> getVersions(ConfigAttr config) {
  SmallVector<Version> versions;
  bool hasOnePass = false;
  for (; config; config = config.getLonger()) {
    auto target = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
    bool isOnePass = target && target.getPart().hasGroups() &&
                     config.getGradientForm() == GradientForm::one_pass;
    versions.push_back({config, /*asksForHeads=*/isOnePass && hasOnePass});
    hasOnePass |= isOnePass;
  }
  return versions;
}

/// Whether types say that a version is for the operation, or that it is not.
template <typename OpTy>
std::optional<bool> LengthVersioner<OpTy>::isKnownFor(const Version &version) {
  auto isLong = [](int64_t length, int64_t least) -> std::optional<bool> {
    if (least != 0 && ShapedType::isDynamic(length))
      return std::nullopt;
    return least == 0 || length >= least;
  };
  std::optional<bool> parts[] = {
      isLong(getKnownLength(op.getKey(), op.getKeyOrder(), op.getKeyStarts()),
             version.config.getFromKeys()),
      isLong(getKnownLength(op.getQuery(), op.getQueryOrder(),
                            op.getQueryStarts()),
             version.config.getFromQueries()),
      version.asksForHeads ? sameHeads : true};
  if (llvm::is_contained(parts, std::optional<bool>(false)))
    return false;
  return llvm::is_contained(parts, std::nullopt) ? std::nullopt
                                                 : std::optional<bool>(true);
}

/// Heads alone make others of versions, which nobody may see from the lengths.
static void reportHeads(Operation *op, ConfigAttr config, int64_t heads,
                        int64_t keyHeads) {
  remark::missed(op->getLoc(), remark::RemarkOpts::name("Config").category(
                                   "fa-version-lengths"))
      << llvm::formatv("no version of query_block = {0} and key_block = {1} "
                       "from {2} keys on: it is for as many key heads as query "
                       "heads, and there are {3} for {4}",
                       config.getQueryBlock(), config.getKeyBlock(),
                       config.getFromKeys(), keyHeads, heads)
             .str();
}

template <typename OpTy>
SmallVector<Version> LengthVersioner<OpTy>::getPossible() {
  SmallVector<Version> possible;
  for (const Version &version : getVersions(op.getConfigAttr())) {
    std::optional<bool> isKnown = isKnownFor(version);
    // Those ahead are for fewer.
    if (isKnown == true)
      possible.clear();
    if (isKnown != false)
      possible.push_back(version);
    else if (version.asksForHeads && sameHeads == false &&
             isKnownFor({version.config}) != false)
      reportHeads(op, version.config, heads, keyHeads);
  }
  return possible;
}

/// Null where it is known.
template <typename OpTy> Value LengthVersioner<OpTy>::hasSameHeads() {
  if (sameHeads)
    return {};
  auto getHeads = [&](Value operand, DimsAttr order) {
    return getLength(operand, order.positionOf(DimKind::Heads));
  };
  return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                               getHeads(op.getQuery(), op.getQueryOrder()),
                               getHeads(op.getKey(), op.getKeyOrder()));
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

/// Whether the call has the lengths and heads of a version, as far as types
/// leave that open.
template <typename OpTy>
Value LengthVersioner<OpTy>::isFor(const Version &version) {
  Value enoughKeys = isAtLeast(op.getKey(), op.getKeyOrder(), op.getKeyStarts(),
                               version.config.getFromKeys());
  Value enoughQueries =
      isAtLeast(op.getQuery(), op.getQueryOrder(), op.getQueryStarts(),
                version.config.getFromQueries());
  Value all;
  for (Value part : {enoughKeys, enoughQueries,
                     version.asksForHeads ? hasSameHeads() : Value()})
    if (part)
      all = all ? arith::AndIOp::create(rewriter, loc, all, part) : part;
  return all;
}

template <typename OpTy>
void LengthVersioner<OpTy>::buildBranch(Region &region,
                                        ArrayRef<Version> versions) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.createBlock(&region);
  SmallVector<Value> results = build(versions);
  scf::YieldOp::create(rewriter, loc, results);
}

template <typename OpTy>
SmallVector<Value> LengthVersioner<OpTy>::build(ArrayRef<Version> versions) {
  const Version &longest = versions.back();
  if (versions.size() == 1) {
    auto version = cast<OpTy>(rewriter.clone(*op));
    version.setConfigAttr(longest.config.forAnyLengths());
    // One pass has no other configuration for its blocks of keys.
    if (longest.config.getGradientForm() == GradientForm::one_pass)
      version->removeAttr(gradientKeysAttrName);
    if (longest.asksForHeads && !sameHeads)
      version->setAttr(sameHeadsAttrName, rewriter.getUnitAttr());
    return llvm::to_vector_of<Value>(version->getResults());
  }
  auto branch = scf::IfOp::create(rewriter, loc, op->getResultTypes(),
                                  isFor(longest), /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  buildBranch(branch.getThenRegion(), longest);
  buildBranch(branch.getElseRegion(), versions.drop_back());
  return llvm::to_vector_of<Value>(branch.getResults());
}

template <typename OpTy>
static void versionByLengths(RewriterBase &rewriter, OpTy op) {
  if (!op.getConfigAttr() || !op.getConfigAttr().getLonger())
    return;
  LengthVersioner<OpTy> versioner(rewriter, op);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  SmallVector<Version> versions = versioner.getPossible();
  rewriter.replaceOp(op, versioner.build(versions));
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
