//===- CaptureSizes.cpp - Sizes of what short spellings capture -----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureSizes.h"

using namespace mlir;
using namespace mlir::fa;

static StringRef getName(CaptureDim dim) {
  switch (dim) {
  case CaptureDim::Batch:
    return "batches";
  case CaptureDim::Heads:
    return "heads";
  case CaptureDim::Queries:
    return "queries";
  case CaptureDim::Keys:
    return "keys";
  case CaptureDim::Positions:
    return "positions";
  }
  llvm_unreachable("unknown dimension");
}

ParseResult CaptureSizes::check(OpAsmParser &parser, Type query,
                                DimsAttr queryOrder, Type key,
                                DimsAttr keyOrder) const {
  auto queryType = dyn_cast<ShapedType>(query);
  auto keyType = dyn_cast<ShapedType>(key);
  // The verifier says what is wrong with these.
  if (!queryType || !keyType || !queryType.hasRank() || !keyType.hasRank() ||
      queryType.getRank() != 4 || keyType.getRank() != 4)
    return success();
  // Of packed sequences and pages the types give no numbers of a batch.
  if (!queryOrder.has(DimKind::Batch) || !keyOrder.has(DimKind::Batch))
    return success();
  auto querySize = [&](DimKind kind) {
    return queryType.getDimSize(queryOrder.positionOf(kind));
  };
  int64_t queries = querySize(DimKind::Sequence);
  int64_t keys = keyType.getDimSize(keyOrder.positionOf(DimKind::Sequence));
  auto getExpected = [&](CaptureDim dim) {
    switch (dim) {
    case CaptureDim::Batch:
      return querySize(DimKind::Batch);
    case CaptureDim::Heads:
      return querySize(DimKind::Heads);
    case CaptureDim::Queries:
      return queries;
    case CaptureDim::Keys:
      return keys;
    case CaptureDim::Positions:
      // One table serves both sides. A dynamic size is below any other.
      return std::max(queries, keys);
    }
    llvm_unreachable("unknown dimension");
  };
  for (const Table &table : tables) {
    auto type = dyn_cast<ShapedType>(table.type);
    if (!type)
      continue;
    for (auto [position, dim] : llvm::enumerate(table.dims)) {
      int64_t size = type.getDimSize(position), expected = getExpected(dim);
      bool fits = size == expected || ShapedType::isDynamic(size) ||
                  ShapedType::isDynamic(expected) ||
                  (table.isBroadcast && size == 1) ||
                  (dim == CaptureDim::Positions && size >= expected);
      if (fits)
        continue;
      return parser.emitError(table.loc)
             << table.name << " has " << size << ' ' << getName(dim)
             << ", expected "
             << (dim == CaptureDim::Positions ? "at least " : "") << expected
             << (table.isBroadcast ? " or 1" : "");
    }
  }
  return success();
}
