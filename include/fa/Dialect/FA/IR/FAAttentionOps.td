//===- FAAttentionOps.td - The attention operations -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two operations with a score and a mask region: `fa.attention`, the
// problem, and `fa.online_attention`, a step of it over a block of keys. Read
// the description of FA_AttentionOp, which says what the results are; the step
// refers to it. FA_AttentionLikeOp has what both share.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAATTENTIONOPS_TD
#define FA_DIALECT_FA_IR_FAATTENTIONOPS_TD

// Common to the whole problem and to one step of it.
class FA_AttentionLikeOp<string mnemonic, list<Trait> traits>
    : FA_Op<mnemonic, !listconcat([
        AttrSizedOperandSegments, IsolatedFromAbove, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
        FA_AttentionLikeOpInterface], traits)> {
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  code commonDeclarations = [{
    ::mlir::fa::DimsAttr getQueryOrder() { return orderOrDefault(getQueryDimsAttr()); }
    ::mlir::fa::DimsAttr getKeyOrder() { return orderOrDefault(getKeyDimsAttr()); }
    ::mlir::fa::DimsAttr getValueOrder() { return orderOrDefault(getValueDimsAttr()); }
    ::mlir::fa::DimsAttr orderOrDefault(::mlir::fa::DimsAttr order) {
      return order ? order : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::llvm::SmallVector<::mlir::fa::PairRegion> getScoreAndMask() {
      ::llvm::SmallVector<::mlir::fa::PairRegion> regions;
      if (!getScore().empty())
        regions.push_back({&getScore(), 1, getScoreCaptures()});
      if (!getMask().empty())
        regions.push_back({&getMask(), 0, getMaskCaptures()});
      return regions;
    }
    bool hasPureTensorOperands() {
      return ::llvm::isa<::mlir::RankedTensorType>(getQuery().getType());
    }
  }];
}

def FA_AttentionOp : FA_AttentionLikeOp<"attention", [
    DeclareOpInterfaceMethods<TilingInterface, [
      "getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
      "getResultTilePosition", "getIterationDomainTileFromResultTile",
      "generateResultTileValue"]>,
    DeclareOpInterfaceMethods<PartialReductionOpInterface, [
      "generateInitialTensorForPartialReduction", "tileToPartialReduction",
      "mergeReductions", "getPartialResultTilePosition"]>]> {
  let summary = "Scaled dot product attention";
  let description = [{
    Computes, for every batch, query head and query `i`,

    ```
    x(i, j) = score(scale * <query i, key j>, batch, head, i, j)
    o(i)    = sum over visible j of softmax(x)(i, j) * value j
    lse(i)  = log(sum over visible j of exp(x(i, j)))        natural logarithm
    ```

    where key `j` is visible when `j` is below the number of keys of the batch
    and `mask(batch, head, i, j)` is true. A row without a visible key gives
    `o = 0` and `lse = -inf`.

    | operand | shape | element type |
    |---|---|---|
    | `query` | batch x queries x heads x head dim | f16, bf16 or f32 |
    | `key` | batch x keys x key heads x head dim | as `query` |
    | `value` | batch x keys x key heads x value head dim | as `query` |
    | output | batch x queries x heads x value head dim | as `query`, or f32 |
    | lse (optional) | batch x heads x queries | f32 |
    | `query_lengths`, `key_lengths` (optional) | batch | i32 |
    | `query_starts`, `key_starts` (optional) | batch + 1 | i32 |
    | `key_pages` (optional) | batch x pages of a sequence | i32 |

    Query, key, value and output each may name another order of dimensions by
    `query_dims`, `key_dims`, `value_dims` and `output_dims`. Heads are a
    multiple of key heads: query head `h` reads key head
    `h floordiv (heads / key heads)`. Head dims are static, 1 to 512. On
    memrefs strides are free but for the head dim's, which is 1.

    `scale` defaults to `1 / sqrt(head dim)`. Rows past a query length keep
    what the destination held; keys past a key length are masked and never
    read. The score region sees the scaled natural-log score in f32 and the
    absolute indices; both regions see captured tensors and scalars as further
    arguments and hold only arithmetic, `select` and loads from captures.

    Packed sequences lie one behind the other: sequence `b` has the rows from
    `starts[b]` to `starts[b + 1]`. Operands then have an order without `b`, such
    as `#fa.dims<s, h, d>`: with `query_starts` query and output, and lse is heads
    x rows; with `key_starts` key and value. With `key_pages` keys and values lie
    in pages of a pool, in an order such as `#fa.dims<p, s, h, d>`: key `j` of
    sequence `b` is row `j mod s` of page `key_pages[b, j floordiv s]`, and
    `key_lengths` are needed. Regions see positions within a sequence.

    ```mlir
    fa.attention ins(%q, %k, %v : memref<?x8x64xf16>, memref<?x16x2x64xf16>, memref<?x16x2x64xf16>)
        outs(%o : memref<?x8x64xf16>) key_lengths(%lengths : memref<?xi32>)
        query_starts(%starts : memref<?xi32>) key_pages(%table : memref<?x?xi32>) mask causal
        {query_dims = #fa.dims<s, h, d>, key_dims = #fa.dims<p, s, h, d>,
         value_dims = #fa.dims<p, s, h, d>, output_dims = #fa.dims<s, h, d>}
    ```

    `sink` gives a score, of a batch, head and query, that counts as one more key,
    of value zero:

    ```mlir
    sink(%b, %h, %i) captures(%table = %sinks : memref<8xf32>) {
      %x = memref.load %table[%h] : memref<8xf32>
      fa.yield %x : f32
    }
    ```

    `batch_invariant` promises that a sequence has the same bits alone and in any
    batch, packed or in pages.

    `offsets` are the absolute (batch, head, query, key) of the first element
    and `extents` the (queries, keys) of the whole problem; tiling sets both, so
    that indices stay absolute. Lengths and captures are indexed absolutely and
    are never sliced.

    Short spellings build the regions while parsing: after `mask`, any of
    the following, a pair being visible when all of them allow it:

    | mask | visible |
    |---|---|
    | `causal` | `j <= i + keys - queries`: the last query sees the last key |
    | `causal_top_left` | `j <= i` |
    | `window(%left, %right)` | `i + keys - queries - left <= j <= i + keys - queries + right`; a negative size is unlimited; index values |
    | `prefix(%keys : type)` | causal, or `j` below the prefix: index, or i32 of shape batch |
    | `documents(%ids : type)` | equal document ids: i32 of shape batch x positions |
    | `documents(%query_ids, %key_ids : type, type)` | the same with one table for each side |

    and after `score`, any of the following, applied in the order written:

    | score | result |
    |---|---|
    | `softcap(%cap)` | `cap * tanh(s / cap)`; f32 |
    | `approx_softcap(%cap)` | the same, where a target may approximate: on a GPU `tanh.approx.f32`, with a relative error of up to 2^-11 |
    | `alibi(%slopes : type)` | `s - slope * abs(i + keys - queries - j)`; f32 of shape heads or batch x heads |
    | `bias(%bias : type)` | `s + bias`; batch x heads x queries x keys, where a static size of 1 broadcasts |

    `dropout(%p, %seed, %offset)` behind both makes the score region yield a
    second value, the factor of the weight that `fa.dropout` draws. Seed and
    offset are i64, or tables of rank 0 of i64.

    While the text is parsed these become one `mask` and one `score` region,
    which the operation prints. A region may be among them:
    `mask causal (%b, %h, %i, %j) {...}`,
    `score(%s, %b, %h, %i, %j) {...} softcap(%cap)`. Their tensors are memrefs
    where the operands are. A type is written where more than one is legal.
    Elsewhere it may be left out: `window(%l, %r)`, `softcap(%cap)`, `scale(%s)`,
    `offsets`, `extents` and the arguments of regions.

    A load from a capture whose index is out of bounds reads 0.

    Operations of regions: all of arith on integers, index and floats, and all
    of index but divisions and remainders. Of math: `absf`, `absi`, `ceil`,
    `clampf`, `copysign`, `ctlz`, `ctpop`, `cttz`, `floor`, `fma`, `ipowi`,
    `isfinite`, `isinf`, `isnan`, `isnormal`, `round`, `roundeven`, `rsqrt`,
    `sqrt`, `trunc`, and functions on floats such as `exp` and `powf`. Floats are
    f16, bf16, f32 and f64.

    | operations | limit |
    |---|---|
    | `arith.divui`, `ceildivui`, `divsi`, `ceildivsi` | constant divisor: not 0, nor -1 if signed |
    | `arith.remui`, `remsi`, `floordivsi` | divisor not 0 for a visible key |
    | `math.ipowi` | no i1 |
    | `arith.mulsi_extended`, `mului_extended` on a GPU | to 32 bits |
    | `arith.select`, `math.fma` on a GPU | no f16, bf16 |
    | `math.exp`, `powf` and the like on a GPU | no f64 |

    What has no form is refused when a schedule is derived.

    Example:

    ```mlir
    %o, %lse = fa.attention
        ins(%q, %k, %v : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>)
        outs(%o0, %lse0 : tensor<2x?x8x64xbf16>, tensor<2x8x?xf32>)
        scale(%scale)
        score(%s, %b, %h, %i, %j) captures(%table = %slopes : tensor<8xf32>) {
          %slope = tensor.extract %table[%h] : tensor<8xf32>
          %x = arith.addf %s, %slope : f32
          fa.yield %x : f32
        }
        mask causal
    ```
  }];
  let arguments = (ins
    FA_Shaped:$query, FA_Shaped:$key, FA_Shaped:$value,
    Optional<F32>:$scale,
    Optional<FA_Shaped>:$query_lengths, Optional<FA_Shaped>:$key_lengths,
    Optional<FA_Shaped>:$query_starts, Optional<FA_Shaped>:$key_starts,
    Optional<FA_Shaped>:$key_pages,
    Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$score_captures, Variadic<FA_Capture>:$mask_captures,
    Variadic<FA_Capture>:$sink_captures,
    FA_Shaped:$output, Optional<FA_Shaped>:$lse,
    OptionalAttr<FA_DimsAttr>:$query_dims, OptionalAttr<FA_DimsAttr>:$key_dims,
    OptionalAttr<FA_DimsAttr>:$value_dims, OptionalAttr<FA_DimsAttr>:$output_dims,
    OptionalAttr<FA_ConfigAttr>:$config, UnitAttr:$batch_invariant);
  let regions = (region AnyRegion:$score, AnyRegion:$mask, AnyRegion:$sink);
  let extraClassDeclaration = commonDeclarations # [{
    ::llvm::SmallVector<::mlir::fa::PairRegion> getPairRegions() {
      ::llvm::SmallVector<::mlir::fa::PairRegion> regions = getScoreAndMask();
      if (!getSink().empty())
        regions.push_back({&getSink(), 0, getSinkCaptures(), 3});
      return regions;
    }
    /// Whether rows of a sequence are found by starts or pages. Such an
    /// operation is tiled as a whole (fa-tile); its tiles are not ragged.
    bool isRagged() { return getQueryStarts() || getKeyStarts() || getKeyPages(); }

    ::mlir::fa::DimsAttr getOutputOrder() { return orderOrDefault(getOutputDimsAttr()); }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), getOutputMutable().getOperandNumber(),
                                         getLse() ? 2 : 1);
    }
  }];
}

def FA_OnlineAttentionOp : FA_AttentionLikeOp<"online_attention", [
    DeclareOpInterfaceMethods<TilingInterface, [
      "getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
      "getResultTilePosition"]>]> {
  let summary = "One step of online softmax attention over a block of keys";
  let description = [{
    Adds the keys of one block to the state of one query block of one batch and
    one head (Milakov and Gimelshein 2018; Dao et al. 2022):

    ```
    x    = score(scale * query * key^T) where visible, else -inf
    m'   = max(m, max over keys of x)
    p    = exp(x - m')          0 where m' is -inf
    s'   = s * exp(m - m') + sum over keys of p
    acc' = acc * exp(m - m') + p * value
    ```

    | operand | shape | element type |
    |---|---|---|
    | `query` | 1 x queries x 1 x head dim | f16, bf16 or f32 |
    | `key` | 1 x keys x 1 x head dim | as `query` |
    | `value` | 1 x keys x 1 x value head dim | as `query` |
    | `accumulator` | rows x value head dim | f32 |
    | `maximum`, `sum` | rows | f32 |

    Rows of the state at or past the number of queries are padding: they hold
    no defined value and are never used. The state starts as accumulator 0,
    maximum -inf, sum 0, and `fa.finalize` turns it into a result.

    `offsets`, `extents` and the regions are those of `fa.attention`; here
    `extents` are where the valid queries and keys of this batch end: with their
    numbers, or earlier for keys where the operand holds a piece of them.

    Example:

    ```mlir
    %acc1, %max1, %sum1 = fa.online_attention
        ins(%q, %k, %v : memref<1x?x1x64xf32, strided<[?, ?, ?, 1], offset: ?>>,
                         memref<1x128x1x64xf32, strided<[?, ?, ?, 1], offset: ?>>,
                         memref<1x128x1x64xf32, strided<[?, ?, ?, 1], offset: ?>>)
        outs(%acc0, %max0, %sum0 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        offsets(%b, %h, %row, %key) extents(%queries, %keys)
    ```
  }];
  let arguments = (ins
    FA_Shaped:$query, FA_Shaped:$key, FA_Shaped:$value,
    Optional<F32>:$scale,
    Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$score_captures, Variadic<FA_Capture>:$mask_captures,
    FA_Shaped:$accumulator, FA_Shaped:$maximum, FA_Shaped:$sum,
    OptionalAttr<FA_DimsAttr>:$query_dims, OptionalAttr<FA_DimsAttr>:$key_dims,
    OptionalAttr<FA_DimsAttr>:$value_dims,
    OptionalAttr<FA_ConfigAttr>:$config);
  let extraClassDeclaration = commonDeclarations # [{
    ::llvm::SmallVector<::mlir::fa::PairRegion> getPairRegions() {
      return getScoreAndMask();
    }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(),
                                         getAccumulatorMutable().getOperandNumber(), 3);
    }
  }];
}

#endif // FA_DIALECT_FA_IR_FAATTENTIONOPS_TD
