//===- FABlockOps.td - Operations on the pairs of a block -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FABLOCKOPS_TD
#define FA_DIALECT_FA_IR_FABLOCKOPS_TD

def FA_ApplyOp : FA_Op<"apply", [
    AttrSizedOperandSegments, IsolatedFromAbove,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    FA_PairRegionsOpInterface]> {
  let summary = "Evaluates a region for every pair of a block";
  let description = [{
    Evaluates its region once for each (query, key) pair of a block. The region
    sees the pair's element of each input, then the absolute batch, head, query
    and key, then the captures. Each value that it yields is an element of one
    result.

    Inputs and results are matrices of one shape. Rows are queries and columns
    are keys; with `rows_are_keys` it is the other way round. The first element
    is the pair at `offsets` (batch, head, query, key). `extents` are the valid
    queries and keys of the batch: a pair behind the last of them is evaluated
    there, so that a block may be padded. Without inputs, `sizes` gives each
    dynamic size of the results.

    The rules for regions of `fa.attention` hold: arithmetic, `select` and loads
    from captures, where a load out of bounds reads 0.

    A score function is an apply on scores. A mask is one without inputs:

    ```mlir
    %visible = fa.apply sizes(%count) offsets(%b, %h, %i, %j) extents(%queries, %keys)
        pairs(%batch, %head, %query, %key) {
      %x = arith.cmpi sle, %key, %query : index
      fa.yield %x : i1
    } -> tensor<128x?xi1>
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes,
    Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$captures, UnitAttr:$rows_are_keys);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::fa::PairRegion> getPairRegions() {
      return {{&getBody(), static_cast<unsigned>(getInputs().size()), getCaptures()}};
    }
    /// The shape of every input and result.
    ::mlir::RankedTensorType getBlockType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getResult(0).getType());
    }
  }];
}

def FA_ScatterAddOp : FA_Op<"scatter_add", [
    AttrSizedOperandSegments, IsolatedFromAbove,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    FA_PairRegionsOpInterface]> {
  let summary = "Adds the numbers of a block to elements of memory";
  let description = [{
    For each (query, key) pair of a block, adds the pair's number to the element
    of `destination` at the indices that the region yields for the pair. An index
    out of bounds adds nothing. Pairs may share elements. With `scores`, a matrix
    of the same shape, the region sees the pair's score in front of its place.

    Place, captures and order of rows are those of `fa.apply`.

    Example:

    ```mlir
    fa.scatter_add %dx : tensor<64x?xf32> to %slopes : memref<8xf32>
        offsets(%b, %h, %i, %j) extents(%queries, %keys)
        pairs(%batch, %head, %query, %key) {
      fa.yield %head : index
    }
    fa.scatter_add %dx : tensor<64x?xf32> to %levels : memref<16xf32>
        scores(%s : tensor<64x?xf32>)
        offsets(%b, %h, %i, %j) extents(%queries, %keys)
        pairs(%score, %batch, %head, %query, %key) {
      %level = arith.fptosi %score : f32 to i32
      %at = arith.index_cast %level : i32 to index
      fa.yield %at : index
    }
    ```
  }];
  let arguments = (ins
    FA_Shaped:$input, AnyStridedMemRef:$destination, Optional<FA_Shaped>:$scores,
    Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$captures, UnitAttr:$rows_are_keys);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::fa::PairRegion> getPairRegions() {
      return {{&getBody(), getScores() ? 1u : 0u, getCaptures()}};
    }
  }];
}

#endif // FA_DIALECT_FA_IR_FABLOCKOPS_TD
