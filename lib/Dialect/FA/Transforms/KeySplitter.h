//===- KeySplitter.h - Parts of the keys side by side -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_FA_TRANSFORMS_KEYSPLITTER_H
#define FA_LIB_DIALECT_FA_TRANSFORMS_KEYSPLITTER_H

#include "PlanParts.h"
#include "TileSequences.h"

namespace mlir::fa {

/// Splits the keys of one attention on memrefs into parts, whose results it
/// adds.
class KeySplitter {
public:
  /// Builds where the rewriter stands.
  KeySplitter(RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), op(op), loc(op.getLoc()), tiler(rewriter, op),
        config(op.getConfigAttr()) {}

  void run();

private:
  /// HalfBlocks.cpp. A block for each of two groups of warps, where these have
  /// the queries of a sequence; null where there is no such thing.
  ConfigAttr getHalfBlocks();
  Value isFasterInHalves(ConfigAttr half);
  void splitHalves(ConfigAttr half);
  void split();
  void buildParts();
  void buildListed();
  void listNumbers(scf::ForallOp loop, Value sequence);
  bool isOnGPU();
  bool fillsDevice();
  bool isRagged();
  PartsPlan makePlan();
  /// Query blocks of all sequences and heads, blocks that the device runs at a
  /// time, and how many parts each query block may have for all to fit.
  struct Room {
    Value blocks, places, parts;
  };
  Room findRoom(ConfigAttr config);
  OpFoldResult countParts();
  Value createMemory(ArrayRef<OpFoldResult> sizes);
  OpFoldResult countSlots();
  void createMemory(OpFoldResult slots);
  void freeMemory();
  TileResults getResults(Value batch, Value part);
  TileResults getResults(Value slot);
  int64_t getHeadDim();
  /// MergeParts.cpp. The loop that adds the parts of each query block.
  void addParts();
  void buildMerge(const TilePlace &place, int64_t block, Value columnBlock,
                  const PartsPlan::Merge *merge);
  void storeWhole(const PartsPlan::Item &item);
  int64_t getMergedRows();
  int64_t getMergedColumns();
  Value takeColumns(Value slice, DimsAttr order, Value first, int64_t count);
  SmallVector<Value> createState(int64_t rows, int64_t columns);

  RewriterBase &rewriter;
  AttentionOp op;
  Location loc;
  SequenceTiler tiler;
  ConfigAttr config;
  /// As an attribute where it is known.
  OpFoldResult parts;
  /// The list of parts; null where all sequences have as many.
  PartsPlan *plan = nullptr;
  /// (batch, part) x queries x heads x value head dim, and (batch, part) x
  /// heads x queries, in f32. Packed queries are one batch.
  Value outputs, lses;
};

} // namespace mlir::fa

#endif // FA_LIB_DIALECT_FA_TRANSFORMS_KEYSPLITTER_H
