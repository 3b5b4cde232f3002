//===- FAAttentionOps.td - The attention operations -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
    ::llvm::SmallVector<::mlir::fa::PairRegion> getPairRegions() {
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

    A load from a capture whose index is out of bounds reads 0.

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
    Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$score_captures, Variadic<FA_Capture>:$mask_captures,
    FA_Shaped:$output, Optional<FA_Shaped>:$lse,
    OptionalAttr<FA_DimsAttr>:$query_dims, OptionalAttr<FA_DimsAttr>:$key_dims,
    OptionalAttr<FA_DimsAttr>:$value_dims, OptionalAttr<FA_DimsAttr>:$output_dims,
    OptionalAttr<FA_ConfigAttr>:$config);
  let extraClassDeclaration = commonDeclarations # [{
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
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(),
                                         getAccumulatorMutable().getOperandNumber(), 3);
    }
  }];
}

#endif // FA_DIALECT_FA_IR_FAATTENTIONOPS_TD
