//===- SelectConfig.cpp - Choose how an attention is tiled ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target's tables choose a configuration; what it does not fit is said.
// Then it is suited to pages and packed sequences, and to machines that few
// query blocks would leave idle. Attention first, then gradients.
//
//===----------------------------------------------------------------------===//

#include "KeySplitter.h"
#include "fa/Dialect/FA/IR/MissingPages.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/FA/Transforms/SharedKeys.h"
#include "fa/Dialect/FA/Transforms/Transforms.h"
#include "fa/Target/OrderedSums.h"
#include "fa/Target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FASELECTCONFIG
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

static void report(Operation *op, ConfigAttr config, const Twine &reason) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << config << ": " << reason;
  remark::analysis(op->getLoc(), remark::RemarkOpts::name("Config").category(
                                     "fa-select-config"))
      << text;
}

/// Tables that score and mask regions read are of elements that a GPU's threads
/// load and a launch passes.
template <typename OpTy>
static LogicalResult verifyTables(OpTy op, StringRef target) {
  for (Value capture :
       llvm::concat<Value>(op.getScoreCaptures(), op.getMaskCaptures())) {
    auto type = dyn_cast<ShapedType>(capture.getType());
    if (!type)
      continue;
    Type element = type.getElementType();
    bool isReal = isa<FloatType>(element);
    unsigned bits = element.isIndex() ? 0 : element.getIntOrFloatBitWidth();
    if (isReal ? bits >= 16 && !element.isTF32()
               : llvm::is_contained({1u, 8u, 32u, 64u}, bits))
      continue;
    return op.emitOpError()
           << "captures a table of " << element
           << ", expected f16, bf16, f32, f64, i1, i8, i32 or i64 on " << target
           << "; the nearest is "
           << (isReal              ? "f32"
               : bits && bits < 32 ? "i32"
                                   : "i64");
  }
  return success();
}

/// Rows of a page; dynamic where its type does not say.
static int64_t getPageRows(AttentionOp op) {
  return cast<ShapedType>(op.getKey().getType())
      .getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
}

/// What key blocks in pages are multiples of.
static constexpr int64_t keyUnit = 16;

static bool joinsPages(AttentionOp op, ConfigAttr config) {
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  return gpu && joinsPages(gpu.getPart(), op.getKey().getType());
}

/// Keys of a block that is a part of one page, so that nothing is copied: the
/// most that are below `keyBlock`, and a multiple of 16. A CPU copies small
/// pages.
static int64_t fitPages(AttentionOp op, ConfigAttr config) {
  bool isGPU = isa_and_present<GPUConfigAttr>(config.getTarget());
  int64_t fewest = isGPU ? keyUnit : 32, keyBlock = config.getKeyBlock();
  if (!op.getKeyPages())
    return keyBlock;
  int64_t rows = getPageRows(op);
  if (ShapedType::isDynamic(rows))
    return keyBlock;
  // Whole pages are boxes, which are copied faster than rows one by one.
  if (joinsPages(op, config) && rows < keyBlock && rows % keyUnit == 0)
    return keyBlock / rows * rows;
  if (joinsPages(op, config) && (rows < keyBlock || rows % keyUnit))
    return keyBlock;
  for (int64_t block = std::min(rows, keyBlock); block >= fewest; --block)
    if (rows % block == 0 && block % keyUnit == 0)
      return block;
  return keyBlock;
}

/// Threads copy a block of keys as one box, so it lies in one page.
static LogicalResult verifyPages(AttentionOp op, ConfigAttr config,
                                 bool isGiven, StringRef target) {
  if (!op.getKeyPages())
    return success();
  int64_t rows = getPageRows(op), keyBlock = config.getKeyBlock();
  if (joinsPages(op, config))
    return success();
  if (ShapedType::isDynamic(rows))
    return op.emitOpError() << "has pages of ? rows, expected a static number "
                               "of them on "
                            << target << "; the nearest is a version for each "
                            << "size of a page";
  if (rows % keyBlock == 0)
    return success();
  return op.emitOpError() << "has pages of " << rows
                          << " rows and key_block = " << keyBlock
                          << ", expected pages of whole key blocks on "
                          << target << "; the nearest is pages of "
                          << llvm::alignTo(rows, isGiven ? keyBlock : keyUnit)
                          << " rows";
}

/// What suits sequences of their own: keys of a block lie in one page, unless
/// results may not depend on pages. Query blocks have keys of their own each,
/// so a GPU neither sorts them nor shares what they read.
static ConfigAttr fitSequences(ConfigAttr config, AttentionOp op) {
  TargetConfigAttrInterface target = config.getTarget();
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(target);
  if (gpu) {
    GPUPart part = gpu.getPart();
    part.tileOrder = TileOrder::in_order;
    part.cluster = 1;
    target = GPUConfigAttr::get(config.getContext(), part);
  }
  int64_t keyBlock = config.getKeyBlock();
  if (!op.getBatchInvariant())
    keyBlock = fitPages(op, config);
  int64_t splitKeys = llvm::alignTo(config.getSplitKeys(), keyBlock);
  ConfigAttr longer = config.getLonger();
  if (longer)
    longer = fitSequences(longer, op);
  return ConfigAttr::get(config.getContext(), config.getQueryBlock(), keyBlock,
                         config.getKeySplits(), config.getDeterministic(),
                         target)
      .withKeySplits(config.getKeySplits(), splitKeys)
      .withLengths(config.getFromKeys(), config.getFromQueries(), longer);
}

/// Query blocks of a problem; nothing where types do not say.
static std::optional<int64_t> countQueryBlocks(AttentionOp op,
                                               int64_t queryBlock) {
  DimsAttr order = op.getQueryOrder();
  if (op.getQueryStarts())
    return std::nullopt;
  auto type = cast<ShapedType>(op.getQuery().getType());
  int64_t blocks = 1;
  for (DimKind kind : {DimKind::Batch, DimKind::Heads, DimKind::Sequence}) {
    int64_t size = type.getDimSize(order.positionOf(kind));
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    blocks *=
        kind == DimKind::Sequence ? llvm::divideCeil(size, queryBlock) : size;
  }
  return blocks;
}

/// The keys that a sequence has room for; dynamic where types do not say.
static int64_t getKeyCapacity(AttentionOp op) {
  int64_t rows =
      cast<ShapedType>(op.getKey().getType())
          .getDimSize(op.getKeyOrder().positionOf(DimKind::Sequence));
  if (!op.getKeyPages() || ShapedType::isDynamic(rows))
    return rows;
  int64_t pages = cast<ShapedType>(op.getKeyPages().getType()).getDimSize(1);
  return ShapedType::isDynamic(pages) ? pages : rows * pages;
}

/// Parts of the keys for threads that query blocks leave without work, where
/// keys are so many that a part is long. Never where blocks keep all busy.
static ConfigAttr fillThreads(ConfigAttr config, AttentionOp op,
                              const Target &target, std::string &reason) {
  constexpr int64_t leastBlocks = 4;
  if (!target.isCPU() || op.getBatchInvariant() || !op.getOffsets().empty())
    return config;
  int64_t threads = target.getCPU().threads;
  std::optional<int64_t> blocks = countQueryBlocks(op, config.getQueryBlock());
  if (!blocks || *blocks == 0 || *blocks >= threads)
    return config;
  int64_t parts = llvm::divideCeil(threads, *blocks);
  int64_t least = parts * leastBlocks * config.getKeyBlock();
  int64_t keys = getKeyCapacity(op);
  // What a sequence in pages, or a packed one, has is known at run time only.
  bool isRagged = op.isRagged();
  if (ShapedType::isDynamic(keys) ? isRagged : keys < least)
    return config;
  reason += llvm::formatv("; {0} parts of at least {1} keys, for {2} threads "
                          "and {3} query blocks",
                          parts, least / parts, threads, *blocks);
  ConfigAttr split = config.withKeySplits(parts, /*splitKeys=*/0);
  if (isRagged || !ShapedType::isDynamic(keys))
    return split;
  return config.withLengths(
      /*fromKeys=*/0, /*fromQueries=*/0,
      split.withLengths(least, /*fromQueries=*/0, /*longer=*/{}));
}

/// Parts of the keys for multiprocessors that few queries leave without work:
/// so many keys each at least, or exactly where results may not depend on the
/// batch.
static ConfigAttr fillDevice(ConfigAttr config, AttentionOp op,
                             const Target &target, std::string &reason) {
  constexpr int64_t leastKeys = 256, exactKeys = 2048;
  // No GPU has as many multiprocessors.
  constexpr int64_t mostBlocks = 256;
  // As 16 tokens of 8 heads, where a block has fewer.
  constexpr int64_t fewQueries = 128;
  if (target.isCPU() || op.getQueryStarts() || !op.getOffsets().empty() ||
      !op.getExtents().empty() || !isa<MemRefType>(op.getQuery().getType()))
    return config;
  int64_t queries =
      cast<ShapedType>(op.getQuery().getType())
          .getDimSize(op.getQueryOrder().positionOf(DimKind::Sequence));
  int64_t keys = getKeyCapacity(op), rows = config.getQueryBlock();
  GPUPart part = cast<GPUConfigAttr>(config.getTarget()).getPart();
  int64_t headDim =
      cast<ShapedType>(op.getValue().getType())
          .getDimSize(op.getValueOrder().positionOf(DimKind::HeadDim));
  int64_t size = llvm::alignTo(op.getBatchInvariant() ? exactKeys : leastKeys,
                               config.getKeyBlock());
  // Sequences that share keys are one, of few query blocks.
  bool isOne = op->hasAttr(sharedKeysAttrName);
  bool isShort = !ShapedType::isDynamic(queries) &&
                 queries <= std::max(rows, fewQueries) &&
                 part.overlap != Overlap::tiles;
  if ((!isOne && !isShort) || part.blockTable ||
      !KeySplitter::mergesOnGPU(headDim) ||
      (!ShapedType::isDynamic(keys) && keys < 2 * size))
    return config;
  std::optional<int64_t> blocks = countQueryBlocks(op, rows);
  if (blocks && *blocks > mostBlocks && !op.getBatchInvariant())
    return config;
  reason += llvm::formatv("; parts of {0} keys{1}, for {2}", size,
                          op.getBatchInvariant() ? "" : " at least",
                          isOne ? "sequences that share them"
                                : llvm::formatv("{0} queries", queries).str());
  if (part.overlap == Overlap::tiles) {
    part.overlap = Overlap::keys;
    part.turns = false;
  }
  // Parts of the keys have a tile each.
  part.tileOrder = TileOrder::in_order;
  part.cluster = 1;
  return ConfigAttr::get(op.getContext(), rows, config.getKeyBlock(),
                         /*keySplits=*/1, config.getDeterministic(),
                         GPUConfigAttr::get(op.getContext(), part))
      .withKeySplits(/*keySplits=*/1, size);
}

/// Blocks that share a multiprocessor, where parts of the keys are made for as
/// many as fill the device.
static ConfigAttr shareProcessors(ConfigAttr config, AttentionOp op,
                                  const Target &target,
                                  const AttentionProblem &problem) {
  auto gpu = dyn_cast_if_present<GPUConfigAttr>(config.getTarget());
  if (!gpu || !config.getSplitKeys() || op.getBatchInvariant() ||
      op.getQueryStarts())
    return config;
  GPUPart part = gpu.getPart();
  part.blocksPerSM = target.chooseBlocksPerSM(config, problem);
  return ConfigAttr::get(op.getContext(), config.getQueryBlock(),
                         config.getKeyBlock(), config.getKeySplits(),
                         config.getDeterministic(),
                         GPUConfigAttr::get(op.getContext(), part))
      .withKeySplits(config.getKeySplits(), config.getSplitKeys())
      .withLengths(config.getFromKeys(), config.getFromQueries(),
                   config.getLonger());
}

LogicalResult mlir::fa::selectConfig(AttentionOp op, const Target &target) {
  if (!target.isCPU() && failed(verifyTables(op, target.getName())))
    return failure();
  AttentionProblem problem = AttentionProblem::get(op);
  ConfigAttr given = op.getConfigAttr();
  if (given && given.getGradientForm())
    return op.emitOpError() << "config has gradient_form = "
                            << stringifyGradientForm(*given.getGradientForm())
                            << ", expected none: only fa.attention_gradient "
                               "has a form";
  std::string reason = "given by hand";
  ConfigAttr config =
      given ? target.completeConfig(given, problem)
            : target.selectConfig(op.getContext(), problem, reason);
  auto emitMisfit = [&] { return op.emitOpError("config does not fit: "); };
  if (failed(target.verifyConfig(emitMisfit, config, problem)))
    return failure();
  if (!target.isCPU() && config.splitsKeys() &&
      !KeySplitter::mergesOnGPU(problem.valueHeadDim))
    return emitMisfit() << "splits keys of head dim " << problem.valueHeadDim
                        << ", whose rows fit no registers where parts are "
                           "merged, expected at most "
                        << KeySplitter::mostMergedColumns
                        << " or a multiple of "
                        << KeySplitter::leastMergedColumns
                        << "; the nearest is no parts";
  // The rows of all sequences are not those of one, and what depends on the
  // longest one is not the same in any batch. Packed ones go by their mean.
  if (!given && (op.isRagged() || op.getBatchInvariant()))
    config =
        (problem.isPacked ? config : config.forAnyLengths()).withoutKeySplits();
  if (!given && op.isRagged())
    config = fitSequences(config, op);
  if (!given) {
    config = fillThreads(config, op, target, reason);
    config = fillDevice(config, op, target, reason);
  }
  if (!target.isCPU() && (!given || !given.getTarget()))
    config = shareProcessors(config, op, target, problem);
  if (!target.isCPU() &&
      failed(
          verifyPages(op, config, static_cast<bool>(given), target.getName())))
    return failure();
  op.setConfigAttr(config);
  if (given)
    reason += target.describeFit(config, problem);
  report(op, config, reason);
  return success();
}

/// A GPU has no kernels that add to gradients of a sink's captures, and none
/// whose products have two types.
static LogicalResult verifyGradientsOfGPU(AttentionGradientOp op,
                                          StringRef target) {
  Type element = getElementTypeOrSelf(op.getQuery().getType()),
       ofOutput = getElementTypeOrSelf(op.getOutputGradient().getType());
  if (ofOutput != element)
    return op.emitOpError()
           << "has an output gradient of " << ofOutput << " beside a query of "
           << element << ", which has no lowering for " << target
           << "; the nearest is an output gradient of " << element
           << " there, and this one on a CPU";
  if (!op.getSinkCaptureGradients().empty())
    return op.emitOpError()
           << "asks for the gradient of a capture of the sink, which has no "
              "lowering for "
           << target
           << "; the nearest is query, key, value and captures of the score "
              "there, and this one on a CPU";
  ConfigAttr given = op.getConfigAttr();
  bool isOrdered = op.getDeterministic() || (given && given.getDeterministic());
  if (!isOrdered)
    return success();
  for (int64_t capture : op.getDifferentiated())
    if (getOrderedSum(op, capture) == OrderedSum::none)
      return op.emitOpError()
             << "asks for the gradient of capture " << capture
             << ", whose elements pairs of a block share and add to in any "
                "order on "
             << target << ", but "
             << (op.getDeterministic() ? "is deterministic"
                                       : "its config has deterministic = true")
             << "; the nearest is an index of query alone, of key alone beside "
                "the gradient of key or value, of neither, or of batch, head, "
                "query and key, or deterministic = false there, and this one "
                "on a CPU";
  return success();
}

/// Each configuration of the chain with a form, and without parts of the keys.
static ConfigAttr forGradients(ConfigAttr config, GradientForm form) {
  if (ConfigAttr longer = config.getLonger())
    config = config.withLengths(config.getFromKeys(), config.getFromQueries(),
                                forGradients(longer, form));
  return config.withoutKeySplits().withGradientForm(
      config.getGradientForm().value_or(form));
}

/// Whether blocks of keys of some version have a configuration of their own.
static bool visitsKeysApart(ConfigAttr config) {
  for (; config; config = config.getLonger())
    if (config.getGradientForm() != GradientForm::one_pass)
      return true;
  return false;
}

LogicalResult mlir::fa::selectConfig(AttentionGradientOp op,
                                     const Target &target) {
  if (!target.isCPU() && (failed(verifyTables(op, target.getName())) ||
                          failed(verifyGradientsOfGPU(op, target.getName()))))
    return failure();
  AttentionProblem problem = AttentionProblem::get(op);
  ConfigAttr given = op.getConfigAttr();
  std::string reason = "given by hand";
  ConfigAttr config =
      given ? target.completeConfig(given, problem)
            : target.selectConfig(op.getContext(), problem, reason);
  auto emitMisfit = [&] { return op.emitOpError("config does not fit: "); };
  for (ConfigAttr one = given; one; one = one.getLonger())
    if (one.getKeySplits() != 1)
      return emitMisfit() << "key_splits is " << one.getKeySplits()
                          << ", expected 1 for gradients";
  if (failed(target.verifyConfig(emitMisfit, config, problem)))
    return failure();
  config = forGradients(config, target.selectGradientForm(op));
  op.setConfigAttr(config);
  if (ConfigAttr keys = visitsKeysApart(config)
                            ? target.selectKeysConfig(op.getContext(), problem)
                            : ConfigAttr())
    op->setAttr(gradientKeysAttrName, keys);
  report(op, config, reason);
  return success();
}

namespace {
struct SelectConfigPass
    : public mlir::fa::impl::FASelectConfigBase<SelectConfigPass> {
  using FASelectConfigBase::FASelectConfigBase;

  void runOnOperation() override {
    FailureOr<Target> selected =
        Target::get(chip, [&] { return emitError(getOperation()->getLoc()); });
    if (failed(selected))
      return signalPassFailure();
    WalkResult result = getOperation()->walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (auto function = dyn_cast<func::FuncOp>(op))
            return verifyAlignments(function);
          if (auto attention = dyn_cast<AttentionOp>(op))
            return selectConfig(attention, *selected);
          if (auto gradient = dyn_cast<AttentionGradientOp>(op))
            return selectConfig(gradient, *selected);
          return success();
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
