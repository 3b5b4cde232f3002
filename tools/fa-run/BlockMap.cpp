//===- BlockMap.cpp - Which key blocks a query block visits ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The map shows what runs: the function is tiled by the passes that both
// targets start from, and the evaluator walks its loops without computing.
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

FailureOr<BlockMap> fa::makeBlockMap(func::FuncOp function, StringRef chip,
                                     ArrayRef<HostBuffer> arguments,
                                     ArrayRef<HostBuffer> results,
                                     int64_t batch, int64_t head) {
  int64_t attentions = 0;
  function.walk([&](AttentionOp) { ++attentions; });
  if (attentions != 1)
    return function.emitError("'")
           << function.getName() << "' holds " << attentions
           << " fa.attention, expected one to draw the block map of";
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
