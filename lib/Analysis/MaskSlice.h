//===- MaskSlice.h - Values of a mask region outside of it ---------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_ANALYSIS_MASKSLICE_H
#define FA_LIB_ANALYSIS_MASKSLICE_H

#include "fa/Analysis/KeyRangeAnalysis.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::fa {

/// The two ends of a block of queries.
enum class BlockEnd { First, Last };

/// Recomputes values of a mask region that do not depend on the key at the
/// first or the last query of a block, outside the region.
class MaskSlice {
public:
  MaskSlice(OpBuilder &builder, Location loc, Region &region,
            MaskNormalizer &normalizer, const QueryBlockPlace &place);

  /// The value at one end of the block.
  Value get(Value value, BlockEnd end);
  /// The smallest and the largest value over the block of a form without key,
  /// as index values. Exact where the form is monotonic, else on the safe
  /// side. One value twice where the form does not depend on the query.
  std::pair<Value, Value> getExtremes(const LinearForm &form);

private:
  IRMapping &getMapping(BlockEnd end) {
    return end == BlockEnd::First ? first : last;
  }
  Value copyLastQuery();
  Value copyResult(OpResult result, BlockEnd end);
  Value getExtreme(const LinearForm &form, bool largest);
  Value getAsIndex(Value value, BlockEnd end);
  Value saturate(Value term, int64_t coefficient);

  OpBuilder &builder;
  Location loc;
  MaskNormalizer &normalizer;
  const QueryBlockPlace &place;
  IRMapping first, last;
};

} // namespace mlir::fa

#endif // FA_LIB_ANALYSIS_MASKSLICE_H
