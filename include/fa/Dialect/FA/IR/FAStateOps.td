//===- FAStateOps.td - Operations on partial results -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a problem becomes by tiling, beside its steps. First operations on
// partial results: finalize, add, rows in pages, combine. Then the visits of
// the blocks that a mask leaves, with FA_BlockRangesOp for both directions, and
// last what a body may ask about its block: fa.summarize_mask, fa.is_partial,
// fa.is_first.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FASTATEOPS_TD
#define FA_DIALECT_FA_IR_FASTATEOPS_TD

def FA_FinalizeOp : FA_Op<"finalize", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Turns the state of online softmax into a result";
  let description = [{
    Writes, for each row below `rows` (all rows of the output tile where
    absent),

    ```
    output = accumulator / sum          0 where sum is 0
    lse    = maximum + log(sum)         -inf where sum is 0
    ```

    and leaves the other rows as the destination held them. A `sink`, of all rows
    or of each, is a score of one more key, of value zero: `exp(sink - maximum)`
    is added to the sum.

    | operand | shape | element type |
    |---|---|---|
    | `accumulator` | state rows x value head dim | f32 |
    | `maximum`, `sum` | state rows | f32 |
    | `output` | 1 x rows x 1 x value head dim, ordered by `output_dims` | f16, bf16 or f32 |
    | `lse` (optional) | 1 x 1 x rows | f32 |
    | `sink` (optional) | scalar or state rows | f32 |

    Example:

    ```mlir
    fa.finalize ins(%acc, %max, %sum : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        outs(%o, %lse : memref<1x?x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>,
                        memref<1x1x?xf32, strided<[?, ?, 1], offset: ?>>)
        rows(%rows)
    ```
  }];
  let arguments = (ins
    FA_Shaped:$accumulator, FA_Shaped:$maximum, FA_Shaped:$sum,
    FA_Shaped:$output, Optional<FA_Shaped>:$lse, Optional<Index>:$rows,
    Optional<FA_Sink>:$sink, OptionalAttr<FA_DimsAttr>:$output_dims);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    `ins` `(` $accumulator `,` $maximum `,` $sum `:` type($accumulator) `,`
    type($maximum) `,` type($sum) `)`
    `outs` `(` custom<OutputAndLse>($output, $lse, type($output), type($lse)) `)`
    (`rows` `(` $rows^ `)`)? (`sink` `(` $sink^ `:` type($sink) `)`)?
    attr-dict (`->` type($outputs)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::fa::DimsAttr getOutputOrder() {
      return getOutputDimsAttr() ? getOutputDimsAttr()
                                 : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 3, getLse() ? 2 : 1);
    }
  }];
}

def FA_AddPartialOp : FA_Op<"add_partial", [
    DestinationStyleOpInterface, AllTypesMatch<["accumulator", "new_accumulator"]>,
    AllTypesMatch<["maximum", "new_maximum"]>, AllTypesMatch<["sum", "new_sum"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Adds the result over some keys to a state of online softmax";
  let description = [{
    What `fa.online_attention` is to keys, this is to a result over other keys, an
    output and its lse in f32. For each row of the result:

    ```
    m'   = max(m, lse)
    w    = exp(lse - m')        0 where m' is -inf
    acc' = acc * exp(m - m') + w * output
    s'   = s * exp(m - m') + w
    ```

    An output whose weight `w` is 0 is not read into the state. Results of parts of
    the keys, added in ascending order, and `fa.finalize` give the result over all
    keys: `fa.combine` of any number of parts.

    | operand | shape | element type |
    |---|---|---|
    | `output` | 1 x rows x 1 x value head dim | f32 |
    | `lse` | 1 x 1 x rows | f32 |
    | `accumulator` | state rows x value head dim | f32 |
    | `maximum`, `sum` | state rows | f32 |

    Example:

    ```mlir
    %acc1, %max1, %sum1 = fa.add_partial
        ins(%o, %lse : memref<1x?x1x64xf32, strided<[?, ?, ?, 1], offset: ?>>,
                       memref<1x1x?xf32, strided<[?, ?, 1], offset: ?>>)
        outs(%acc0, %max0, %sum0 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let arguments = (ins
    FA_Shaped:$output, FA_Shaped:$lse,
    AnyRankedTensor:$accumulator, AnyRankedTensor:$maximum, AnyRankedTensor:$sum);
  let results = (outs AnyRankedTensor:$new_accumulator, AnyRankedTensor:$new_maximum,
                      AnyRankedTensor:$new_sum);
  let builders = [OpBuilder<(ins "::mlir::Value":$output, "::mlir::Value":$lse,
                                 "::mlir::ValueRange":$state), [{
    build($_builder, $_state, state.getTypes(), output, lse, state[0], state[1], state[2]);
  }]>];
  let assemblyFormat = [{
    `ins` `(` $output `,` $lse `:` type($output) `,` type($lse) `)`
    `outs` `(` $accumulator `,` $maximum `,` $sum `:` type($accumulator) `,`
    type($maximum) `,` type($sum) `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 2, 3);
    }
  }];
}

def FA_PagedRowsOp : FA_Op<"paged_rows", [Pure]> {
  let summary = "The rows of a sequence that lie in pages, as one memref";
  let description = [{
    Row `j` of the result is row `j mod s` of page `pages[batch, j floordiv s]`
    of `pool`, for one head, where `s` is the rows of a page. The result has
    `count` rows in the order `#fa.dims<b, s, h, d>`. It stands for them in tiled
    attention: only slices of it are read, and fa-place-pages finds the memory of
    each.

    Example:

    ```mlir
    %k = fa.paged_rows %pool[%head] pages(%table[%b]) count(%keys)
        {dims = #fa.dims<p, s, h, d>}
        : memref<?x16x2x64xf16>, memref<?x?xi32>
        -> memref<1x?x1x64xf16, strided<[?, ?, ?, 1], offset: ?>>
    ```
  }];
  let arguments = (ins AnyStridedMemRef:$pool, Index:$head, AnyStridedMemRef:$pages,
                       Index:$batch, Index:$count, FA_DimsAttr:$dims);
  let results = (outs AnyStridedMemRef:$rows);
  let assemblyFormat = [{
    $pool `[` $head `]` `pages` `(` $pages `[` $batch `]` `)` `count` `(` $count `)`
    attr-dict `:` type($pool) `,` type($pages) `->` type($rows)
  }];
  let hasVerifier = 1;
}

def FA_CombineOp : FA_Op<"combine", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
    DeclareOpInterfaceMethods<TilingInterface, [
      "getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
      "getResultTilePosition"]>]> {
  let summary = "Merges two partial attention results by their lse";
  let description = [{
    Given the results of the same queries over two disjoint sets of keys,
    computes the result over their union, row by row:

    ```
    m      = max(lse_a, lse_b)                  0 where both are -inf
    weight = exp(lse - m)
    output = (weight_a * o_a + weight_b * o_b) / (weight_a + weight_b)
    lse    = m + log(weight_a + weight_b)
    ```

    Where both lse are -inf, output is 0 and lse -inf. A partial result with
    lse -inf is not read into the output. Outputs may be the memory of `a`.

    The four results have the shapes of `fa.attention`: o batch x queries x
    heads x value head dim in the order `dims` (f16, bf16 or f32, each its own),
    lse batch x heads x queries f32.

    `query_lengths` (batch, i32; `batch_offset` and `query_offset` place this
    piece) keeps rows past a length as the destination held them.

    Example:

    ```mlir
    %o, %lse = fa.combine
        a(%o_a, %lse_a : tensor<2x512x8x64xf32>, tensor<2x8x512xf32>)
        b(%o_b, %lse_b : tensor<2x512x8x64xf32>, tensor<2x8x512xf32>)
        outs(%o0, %lse0 : tensor<2x512x8x64xbf16>, tensor<2x8x512xf32>)
        -> tensor<2x512x8x64xbf16>, tensor<2x8x512xf32>
    ```
  }];
  let arguments = (ins
    FA_Shaped:$output_a, FA_Shaped:$lse_a, FA_Shaped:$output_b, FA_Shaped:$lse_b,
    FA_Shaped:$output, Optional<FA_Shaped>:$lse, Optional<FA_Shaped>:$query_lengths,
    Optional<Index>:$batch_offset, Optional<Index>:$query_offset,
    OptionalAttr<FA_DimsAttr>:$dims);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    `a` `(` $output_a `,` $lse_a `:` type($output_a) `,` type($lse_a) `)`
    `b` `(` $output_b `,` $lse_b `:` type($output_b) `,` type($lse_b) `)`
    `outs` `(` custom<OutputAndLse>($output, $lse, type($output), type($lse)) `)`
    (`query_lengths` `(` $query_lengths^ `:` type($query_lengths) `)`)?
    (`batch_offset` `(` $batch_offset^ `)`)? (`query_offset` `(` $query_offset^ `)`)?
    attr-dict (`->` type($outputs)^)?
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::fa::DimsAttr getOrder() {
      return getDimsAttr() ? getDimsAttr() : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 4, getLse() ? 2 : 1);
    }
  }];
}

// Visits of the blocks that a mask leaves of one of its two indices.
class FA_BlockRangesOp<string mnemonic, string first> : FA_Op<mnemonic, [
    AttrSizedOperandSegments, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
    FA_BlockRangesOpInterface,
    SingleBlockImplicitTerminator<"::mlir::fa::YieldOp">]> {
  let arguments = (ins
    Variadic<Index>:$begins, Variadic<Index>:$ends, Variadic<AnyType>:$inits,
    DenseBoolArrayAttr:$full, I64Attr:$step);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$bodyRegion);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins
    "::mlir::ValueRange":$begins, "::mlir::ValueRange":$ends,
    "::llvm::ArrayRef<bool>":$full, "int64_t":$step, "::mlir::ValueRange":$inits,
    "::llvm::function_ref<void(::mlir::OpBuilder &, ::mlir::Location, "
    "::mlir::Value, ::mlir::Value, ::mlir::ValueRange)>":$body)>];
  let extraClassDeclaration = [{
    /// The most ranges that one operation holds.
    static constexpr unsigned maxRanges = 4;
    unsigned getNumRanges() { return getFull().size(); }
    /// The first one of the visited block.
    ::mlir::BlockArgument get}] # first # [{() {
      return getBodyRegion().front().getArgument(0);
    }
    /// How many the visited block has.
    ::mlir::BlockArgument getCount() { return getBodyRegion().front().getArgument(1); }
    ::mlir::Block::BlockArgListType getRegionIterArgs() {
      return getBodyRegion().front().getArguments().drop_front(2);
    }
  }];
}

def FA_KeyRangesOp : FA_BlockRangesOp<"key_ranges", "Key"> {
  let summary = "Visits the key blocks that a mask leaves, in ordered ranges";
  let description = [{
    Runs the body for every block of `step` keys in each range, in the order
    written, and carries values from one block to the next. What lies between
    the ranges is empty: no query of this block sees it.

    A range is `full`, when every query of the block sees every key of it and
    its length is a multiple of `step`: there the mask regions in the body are
    known to be true. Otherwise it is `partial`, its last block may hold fewer
    than `step` keys, and the mask regions decide. At most four ranges; a
    range whose begin is not below its end is not visited.

    The body's first two arguments are the first key of the block and the
    number of keys in it (`step`, or what is left of the range), then the
    carried values. One body stays one entity until the target's own pass
    expands it, into loops on a CPU, into segments on a GPU.

    Example:

    ```mlir
    %acc, %max, %sum = fa.key_ranges (%key, %count) =
        [full %c0 to %diagonal, partial %diagonal to %end] step 128
        iter_args(%a = %a0, %m = %m0, %s = %s0)
        -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
      ...
      fa.yield %a1, %m1, %s1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
    }
    ```
  }];
}

def FA_QueryRangesOp : FA_BlockRangesOp<"query_ranges", "Query"> {
  let summary = "Visits the query blocks that see a block of keys";
  let description = [{
    `fa.key_ranges` with queries and keys exchanged: runs the body for every
    block of `step` queries that a mask leaves for one block of keys. In a
    `full` range every query sees every key of the block.

    Example:

    ```mlir
    %dk, %dv = fa.query_ranges (%query, %count) =
        [partial %diagonal to %below, full %below to %end] step 64
        iter_args(%k = %k0, %v = %v0) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
      ...
      fa.yield %k1, %v1 : tensor<128x64xf32>, tensor<128x64xf32>
    }
    ```
  }];
}

def FA_SummarizeMaskOp : FA_Op<"summarize_mask", [
    AttrSizedOperandSegments, IsolatedFromAbove, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "Whether a mask leaves some, and all, pairs of a block";
  let description = [{
    Evaluates a mask region at the `queries` times `keys` pairs from `offsets`
    (batch, head, query, key) on. `some` is true where a pair is visible,
    `every` where all pairs are. Pairs at or past `extents`, the valid queries and
    keys of the batch, count as the region has them or not at all: it may be asked
    for any pair, and a load from a capture whose index is out of bounds reads 0.

    With `by_bounds` the answer comes from bounds of what the mask compares, and no
    pair is looked at: `some` may be true where no pair is visible, and `every`
    false where all are.

    What an analysis cannot say of a mask ahead of time, this says at run time
    (fa-list-blocks). In `fa.query_ranges` the keys stay the same and queries are
    visited; elsewhere it is the other way round.

    Example:

    ```mlir
    %some, %every = fa.summarize_mask 128 by 128 offsets(%b, %h, %i, %j)
        extents(%queries, %keys) captures(%ids : memref<?x?xi32>) {
    ^bb0(%batch: index, %head: index, %query: index, %key: index, %table: memref<?x?xi32>):
      ...
      fa.yield %visible : i1
    }
    ```
  }];
  let arguments = (ins
    ConfinedAttr<I64Attr, [IntPositive]>:$queries,
    ConfinedAttr<I64Attr, [IntPositive]>:$keys,
    Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$captures, UnitAttr:$by_bounds);
  let results = (outs I1:$some, I1:$every);
  let regions = (region SizedRegion<1>:$mask);
  let assemblyFormat = [{
    $queries `by` $keys (`by_bounds` $by_bounds^)?
    `offsets` `(` $offsets `)` `extents` `(` $extents `)`
    (`captures` `(` $captures^ `:` type($captures) `)`)? $mask attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def FA_IsPartialOp : FA_Op<"is_partial", [Pure]> {
  let summary = "Whether the visited block is of a partial range";
  let description = [{
    Inside the body of `fa.key_ranges` or `fa.query_ranges`. It lets one body hold the mask for the
    ranges that need it; what expands the ranges makes a constant or a flag of it.

    Example: `%partial = fa.is_partial : i1`
  }];
  let results = (outs I1:$partial);
  let assemblyFormat = "attr-dict `:` type($partial)";
  let hasVerifier = 1;
}

def FA_IsFirstOp : FA_Op<"is_first", [Pure]> {
  let summary = "Whether the visited block is the first one";
  let description = [{
    Inside the body of `fa.key_ranges` or `fa.query_ranges`, where every carried value still is its
    initial one in the first block. It lets a body leave out work with neutral
    values there; what expands the ranges makes a constant or a flag of it, or
    false, which costs the work and no more: a body means the same with it.

    Example: `%first = fa.is_first : i1`
  }];
  let results = (outs I1:$first);
  let assemblyFormat = "attr-dict `:` type($first)";
  let hasVerifier = 1;
}

#endif // FA_DIALECT_FA_IR_FASTATEOPS_TD
