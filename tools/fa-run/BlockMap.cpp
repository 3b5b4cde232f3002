//===- BlockMap.cpp - Which key blocks a query block visits ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The map shows what runs: the function is tiled by the passes that both
// targets start from, and the evaluator walks its loops without computing.
// Begin with `makeBlockMap`, which calls `tile` and records the visits;
// `getRows` draws them, for `print` and `toJSON`.
//
//===----------------------------------------------------------------------===//

#include "BlockMap.h"
#include "Program.h"
#include "Reference.h"
#include "fa/Pipelines/Level2Pipeline.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::executor;

/// A copy of the function's module at level 2; the results are arguments there.
static FailureOr<OwningOpRef<ModuleOp>> tile(func::FuncOp function,
                                             StringRef chip) {
  OwningOpRef<ModuleOp> module = function->getParentOfType<ModuleOp>().clone();
  Level2Options options;
  options.chip = chip.str();
  PassManager manager(module->getContext());
  buildFAToLevel2Pipeline(manager, options);
  if (failed(manager.run(*module)))
    return failure();
  return module;
}

/// The size of a dimension of the query, which may be an argument or a cast of
/// one; nothing where it is computed.
static std::optional<int64_t> getQuerySize(AttentionOp attention, DimKind kind,
                                           ArrayRef<HostBuffer> arguments) {
  int64_t position = attention.getQueryOrder().positionOf(kind);
  for (Value query = attention.getQuery(); query;) {
    int64_t size = cast<ShapedType>(query.getType()).getDimSize(position);
    if (!ShapedType::isDynamic(size))
      return size;
    if (auto argument = dyn_cast<BlockArgument>(query))
      return arguments[argument.getArgNumber()].shape[position];
    Operation *source = query.getDefiningOp();
    if (!isa<tensor::CastOp, memref::CastOp>(source))
      break;
    query = source->getOperand(0);
  }
  return std::nullopt;
}

static LogicalResult checkPlace(AttentionOp attention, StringRef name,
                                DimKind kind, int64_t number,
                                ArrayRef<HostBuffer> arguments) {
  // The sequences that are packed are as many as a table says.
  if (!attention.getQueryOrder().has(kind))
    return success();
  std::optional<int64_t> size = getQuerySize(attention, kind, arguments);
  if (!size || number < *size)
    return success();
  return reportError(
      "--block-map has " + name + " " + Twine(number) + ", but the query has " +
      Twine(*size) + ": expected " +
      (*size == 0 ? "one that has some" : "0 to " + std::to_string(*size - 1)));
}

FailureOr<BlockMap> fa::makeBlockMap(func::FuncOp function, StringRef chip,
                                     ArrayRef<HostBuffer> arguments,
                                     ArrayRef<HostBuffer> results,
                                     int64_t batch, int64_t head) {
  SmallVector<AttentionOp> attentions;
  function.walk([&](AttentionOp op) { attentions.push_back(op); });
  if (attentions.size() != 1)
    return function.emitError("'")
           << function.getName() << "' holds " << attentions.size()
           << " fa.attention, expected one to draw the block map of";
  if (failed(checkPlace(attentions[0], "batch", DimKind::Batch, batch,
                        arguments)) ||
      failed(
          checkPlace(attentions[0], "head", DimKind::Heads, head, arguments)))
    return failure();
  auto module = tile(function, chip);
  if (failed(module))
    return failure();
  BlockMap map;
  map.batch = batch;
  map.head = head;
  auto record = [&](const KeyBlockVisit &visit) {
    if (visit.batch != batch || visit.head != head)
      return;
    map.queries = visit.allQueries;
    map.keys = visit.allKeys;
    map.queryBlock = std::max(map.queryBlock, visit.queries);
    map.visits.push_back(visit);
  };
  auto tiled = (*module)->lookupSymbol<func::FuncOp>(function.getName());
  tiled.walk([&](KeyRangesOp ranges) { map.keyBlock = ranges.getStep(); });
  if (failed(
          Reference(**module).visitBlocks(tiled, arguments, results, record)))
    return failure();
  return map;
}

std::vector<std::string> BlockMap::getRows() const {
  std::vector<std::string> rows(
      llvm::divideCeil(queries, queryBlock),
      std::string(llvm::divideCeil(keys, keyBlock), '.'));
  for (const KeyBlockVisit &visit : visits) {
    char &cell = rows[visit.query / queryBlock][visit.key / keyBlock];
    if (cell != '+')
      cell = visit.isFull ? '#' : '+';
  }
  return rows;
}

void BlockMap::print(raw_ostream &stream) const {
  stream << "batch " << batch << ", head " << head << ": ";
  if (visits.empty()) {
    stream << "no key block is visited\n";
    return;
  }
  std::vector<std::string> rows = getRows();
  int64_t all = rows.size() * rows.front().size(), full = 0, partial = 0;
  for (const std::string &row : rows) {
    full += llvm::count(row, '#');
    partial += llvm::count(row, '+');
  }
  stream << queries << " queries by " << keys << " keys, in blocks of "
         << queryBlock << " by " << keyBlock << '\n';
  for (auto [i, row] : llvm::enumerate(rows))
    stream << llvm::formatv("{0,8}  {1}\n", i * queryBlock, row);
  stream << "# full: " << full << ", + partial (the mask is asked): " << partial
         << ", . skipped: " << all - full - partial << '\n';
}

std::string BlockMap::toJSON() const {
  llvm::json::Array rows;
  if (!visits.empty())
    rows = llvm::json::Array(getRows());
  llvm::json::Object object{{"batch", batch},
                            {"head", head},
                            {"queries", queries},
                            {"keys", keys},
                            {"query_block", queryBlock},
                            {"key_block", keyBlock},
                            {"rows", std::move(rows)}};
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object))).str();
}
