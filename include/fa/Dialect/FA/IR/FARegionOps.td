//===- FARegionOps.td - Operations inside regions on pairs -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAREGIONOPS_TD
#define FA_DIALECT_FA_IR_FAREGIONOPS_TD

class FA_LengthOp<string mnemonic>
    : FA_Op<mnemonic, [
        Pure, ParentOneOf<["ApplyOp", "AttentionGradientOp", "AttentionOp",
                           "GradientKeysOp", "GradientQueriesOp", "OnlineAttentionOp",
                           "ScatterAddOp", "SummarizeMaskOp"]>]> {
  let results = (outs Index:$length);
  let assemblyFormat = "attr-dict `:` type($length)";
}

def FA_QueryLengthOp : FA_LengthOp<"query_length"> {
  let summary = "Number of valid queries of the current batch";
  let description = [{
    Inside a region on pairs: the entry of `query_lengths` for the current
    batch where the operation has them, else the number of queries of the whole
    problem.

    Example: `%queries = fa.query_length : index`
  }];
}

def FA_KeyLengthOp : FA_LengthOp<"key_length"> {
  let summary = "Number of valid keys of the current batch";
  let description = [{
    Inside a region on pairs: the entry of `key_lengths` for the current
    batch where the operation has them, else the number of keys of the whole
    problem.

    Example: `%keys = fa.key_length : index`
  }];
}

def FA_DropoutOp : FA_Op<"dropout", [
    Pure, ParentOneOf<["ApplyOp", "AttentionGradientOp", "AttentionOp",
                       "GradientKeysOp", "GradientQueriesOp", "OnlineAttentionOp"]>]> {
  let summary = "Factor of the weight of a pair under dropout";
  let description = [{
    Inside `score`, as its second result: 0 with probability `p`, else
    `1 / (1 - p)`. The random words, of 32 bits, are those of Philox 4x32-10
    (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"):

    | word | value |
    |---|---|
    | counter 0 | key, its bits 0 and 3 cleared |
    | counter 1 | query, its bits 0 and 3 cleared |
    | counter 2 | (batch mod 2^16) * 2^16 + head |
    | counter 3 | low half of `offset` + batch / 2^16 |
    | key 0 | low half of `seed` |
    | key 1 | high half of `seed` + high half of `offset` |

    Sixteen pairs share a draw. A pair has word 2 * (bit 3 of query) + bit 3 of
    key, and of it byte 2 * (bit 0 of query) + bit 0 of key. `u` is 256 times this
    byte, plus the lowest byte of the exclusive or of all four words. The pair is
    dropped where `u / 2^16 < p`.

    A mask depends on absolute indices, seed and offset alone, so backward draws
    what forward drew. Heads are below 2^16. A constant `p` of 0 folds to the
    factor 1. A `p` outside of [0, 1) is an error of the caller.

    Example:

    ```mlir
    %keep = fa.dropout %p, %seed, %offset at(%b, %h, %i, %j)
    ```
  }];
  let arguments = (ins F32:$p, I64:$seed, I64:$offset,
                       Index:$batch, Index:$head, Index:$query, Index:$key);
  let results = (outs F32:$factor);
  let assemblyFormat = [{
    $p `,` $seed `,` $offset `at` `(` $batch `,` $head `,` $query `,` $key `)` attr-dict
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// `p` where it, or what it is captured from, is a constant.
    ::std::optional<double> getKnownProbability();
  }];
}

def FA_StopGradientOp : FA_Op<"stop_gradient", [Pure, SameOperandsAndResultType]> {
  let summary = "Its operand, with the gradient 0";
  let description = [{
    Yields `value`. `fa-differentiate-score` and `fa-differentiate` take the result
    for a constant, so `value` has no gradient from here. It is torch's `detach` and
    JAX's `stop_gradient`.

    `fa-differentiate-score` replaces it by its operand once gradients are derived.

    Example, of which `%w` has the gradient `%s` and `%s` has 0:

    ```mlir
    %fixed = fa.stop_gradient %s : f32
    %x = arith.mulf %fixed, %w : f32
    ```
  }];
  let arguments = (ins AnyTypeOf<[F16, BF16, F32, F64]>:$value);
  let results = (outs AnyTypeOf<[F16, BF16, F32, F64]>:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def FA_YieldOp : FA_Op<"yield", [
    Pure, ReturnLike, Terminator,
    ParentOneOf<["ApplyOp", "AttentionGradientOp", "AttentionOp", "GradientKeysOp",
                 "GradientQueriesOp", "KeyRangesOp", "OnlineAttentionOp",
                 "QueryRangesOp", "ScatterAddOp", "SummarizeMaskOp"]>]> {
  let summary = "Ends a score region, a mask region or a key range body";
  let arguments = (ins Variadic<AnyType>:$results);
  let assemblyFormat = "($results^ `:` type($results))? attr-dict";
  let builders = [OpBuilder<(ins), [{ /* no operands */ }]>];
}

def FA_ScatterGradientOp : FA_Op<"scatter_gradient", [
    ParentOneOf<["AttentionGradientOp", "GradientKeysOp", "GradientQueriesOp"]>,
    MemoryEffects<[MemWrite]>]> {
  let summary = "Adds to the gradient of an element of a capture";
  let description = [{
    Inside `score_gradient` or `sink_gradient`: adds `value` to the gradient of the element of a
    capture at `indices`, where the capture has a gradient among the
    operation's `outs`, else does nothing. A scalar capture has no indices. An
    index out of bounds adds nothing, as its load reads 0.

    Example: `fa.scatter_gradient %dx to %table[%h] : f32, tensor<8xf32>`
  }];
  let arguments = (ins F32:$value, FA_Capture:$capture, Variadic<Index>:$indices);
  let assemblyFormat = [{
    $value `to` $capture `[` $indices `]` attr-dict `:` type($value) `,` type($capture)
  }];
  let extraClassDeclaration = [{
    /// Whether it adds to the gradient of what a sink captures, not a score.
    bool isOfSink();
    /// Which capture of the score or of the sink it is, from 0 on.
    int64_t getCaptureNumber();
  }];
  let hasVerifier = 1;
}

#endif // FA_DIALECT_FA_IR_FAREGIONOPS_TD
