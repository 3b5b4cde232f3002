//===- FAGradientOps.td - Gradients of attention -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a whole attention, then what tiling makes of it: rows that
// every block reads, a step for a block of keys and one for a block of
// queries, and the end of both.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FAGRADIENTOPS_TD
#define FA_DIALECT_FA_IR_FAGRADIENTOPS_TD

// Common to the gradient of a whole problem and to its steps.
class FA_GradientLikeOp<string mnemonic, list<Trait> traits>
    : FA_Op<mnemonic, !listconcat([
        AttrSizedOperandSegments, IsolatedFromAbove, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
        FA_AttentionLikeOpInterface, FA_GradientLikeOpInterface], traits)> {
  let regions = (region AnyRegion:$score, AnyRegion:$score_gradient, AnyRegion:$mask);
  let results = (outs Variadic<AnyRankedTensor>:$gradients);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  code commonDeclarations = [{
    ::mlir::fa::DimsAttr getQueryOrder() { return orderOrDefault(getQueryDimsAttr()); }
    ::mlir::fa::DimsAttr getKeyOrder() { return orderOrDefault(getKeyDimsAttr()); }
    ::mlir::fa::DimsAttr getValueOrder() { return orderOrDefault(getValueDimsAttr()); }
    ::mlir::fa::DimsAttr getOutputGradientOrder() {
      return orderOrDefault(getOutputGradientDimsAttr());
    }
    ::mlir::fa::DimsAttr orderOrDefault(::mlir::fa::DimsAttr order) {
      return order ? order : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::llvm::SmallVector<::mlir::fa::PairRegion> getScoreAndMask() {
      ::llvm::SmallVector<::mlir::fa::PairRegion> regions;
      if (!getScore().empty())
        regions.push_back({&getScore(), 1, getScoreCaptures()});
      if (!getScoreGradient().empty())
        regions.push_back({&getScoreGradient(), 2, getScoreCaptures()});
      if (!getMask().empty())
        regions.push_back({&getMask(), 0, getMaskCaptures()});
      return regions;
    }
    bool hasPureTensorOperands() {
      return ::llvm::isa<::mlir::RankedTensorType>(getQuery().getType());
    }
  }];
}

def FA_AttentionGradientOp : FA_GradientLikeOp<"attention_gradient", []> {
  let summary = "Gradients of scaled dot product attention";
  let description = [{
    Computes gradients of `fa.attention` with the same operands, regions and
    lengths, from the gradients of its results. With `s = scale * <query, key>`,
    `x = score(s)`, the `lse` of the forward and `p = exp(x - lse)` where a key
    is visible, else 0 (Dao et al. 2022, appendix B):

    ```
    delta(i)     = sum over e of do(i, e) * o(i, e) - dlse(i)
    dx(i, j)     = p(i, j) * (<do(i), value(j)> - delta(i))
    ds(i, j)     = score_gradient(dx(i, j), s(i, j), batch, head, i, j)
    value(j)    += sum over i of p(i, j) * do(i)
    query(i)    += scale * sum over j of ds(i, j) * key(j)
    key(j)      += scale * sum over i of ds(i, j) * query(i)
    scale       += sum over i and j of ds(i, j) * <query(i), key(j)>
    ```

    | operand | shape | element type |
    |---|---|---|
    | `ins`: query, key, value | as of `fa.attention` | f16, bf16 or f32 |
    | `of`: o, lse | its results | as its results |
    | `gradients`: do, dlse (optional) | as o and lse | f16, bf16 or f32; f32 |
    | `outs`: any of `query`, `key`, `value` | as the operand | as the operand, or f32 |
    | `outs`: `capture[n]` | as capture `n` of the score | as the capture, or f32 |
    | `outs`: `scale` | none | f32 |
    | `outs`: `sink_capture[n]` | as capture `n` of the sink | as the capture, or f32 |

    `of(%lse) delta(%delta)` takes delta (f32, as lse) in place of o and `dlse`.

    Every element of a gradient is written. Rows past a length or of no sequence,
    and rows that see no key, have the gradient 0. Query heads that share a key
    head add up. Queries of a broken packed sequence have the gradient NaN.

    The `lse` of the forward includes a sink, so all else needs nothing of it. `sink`
    is written, as in the forward, where gradients of its captures are asked for:
    `sink_gradient` is given the gradient of the sink, `-exp(sink - lse) * delta`,
    then what `sink` is given, and yields nothing.

    `deterministic` promises that two runs give the same bits.

    `score_gradient` is given the gradient of `x`, then what `score` is given,
    and yields the gradient of `s`. It adds to gradients of captures by
    `fa.scatter_gradient`. `fa-differentiate-score` derives both from the forward.
    Offsets and extents are those of `fa.attention`: a piece yields its part of
    the sums.

    Example:

    ```mlir
    %dq, %dk, %dv, %dt = fa.attention_gradient
        ins(%q, %k, %v : tensor<2x?x8x64xf32>, tensor<2x?x8x64xf32>, tensor<2x?x8x64xf32>)
        of(%o, %lse : tensor<2x?x8x64xf32>, tensor<2x8x?xf32>)
        gradients(%do : tensor<2x?x8x64xf32>)
        outs(query = %dq0 : tensor<2x?x8x64xf32>, key = %dk0 : tensor<2x?x8x64xf32>,
             value = %dv0 : tensor<2x?x8x64xf32>, capture[0] = %dt0 : tensor<8xf32>)
        score(%s, %b, %h, %i, %j) captures(%table = %slopes : tensor<8xf32>) {
          %slope = tensor.extract %table[%h] : tensor<8xf32>
          %x = arith.addf %s, %slope : f32
          fa.yield %x : f32
        }
        score_gradient(%dx, %s, %b, %h, %i, %j, %table) {
          fa.scatter_gradient %dx to %table[%h] : f32, tensor<8xf32>
          fa.yield %dx : f32
        }
        mask causal
    ```
  }];
  let arguments = (ins
    FA_Shaped:$query, FA_Shaped:$key, FA_Shaped:$value,
    Optional<FA_Shaped>:$output, FA_Shaped:$lse, Optional<FA_Shaped>:$delta,
    FA_Shaped:$output_gradient, Optional<FA_Shaped>:$lse_gradient,
    Optional<F32>:$scale,
    Optional<FA_Shaped>:$query_lengths, Optional<FA_Shaped>:$key_lengths,
    Optional<FA_Shaped>:$query_starts, Optional<FA_Shaped>:$key_starts,
    Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$score_captures, Variadic<FA_Capture>:$mask_captures,
    Variadic<FA_Capture>:$sink_captures,
    Optional<FA_Shaped>:$query_gradient, Optional<FA_Shaped>:$key_gradient,
    Optional<FA_Shaped>:$value_gradient, Variadic<FA_Shaped>:$capture_gradients,
    Optional<FA_Shaped>:$scale_gradient, Variadic<FA_Shaped>:$sink_capture_gradients,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$differentiated,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$differentiated_sink,
    OptionalAttr<FA_DimsAttr>:$query_dims, OptionalAttr<FA_DimsAttr>:$key_dims,
    OptionalAttr<FA_DimsAttr>:$value_dims, OptionalAttr<FA_DimsAttr>:$output_dims,
    OptionalAttr<FA_DimsAttr>:$output_gradient_dims,
    OptionalAttr<FA_DimsAttr>:$query_gradient_dims,
    OptionalAttr<FA_DimsAttr>:$key_gradient_dims,
    OptionalAttr<FA_DimsAttr>:$value_gradient_dims,
    OptionalAttr<FA_ConfigAttr>:$config, UnitAttr:$deterministic);
  let regions = (region AnyRegion:$score, AnyRegion:$score_gradient, AnyRegion:$mask,
                        AnyRegion:$sink, AnyRegion:$sink_gradient);
  let extraClassDeclaration = commonDeclarations # [{
    ::llvm::SmallVector<::mlir::fa::PairRegion> getPairRegions() {
      ::llvm::SmallVector<::mlir::fa::PairRegion> regions = getScoreAndMask();
      if (!getSink().empty())
        regions.push_back({&getSink(), 0, getSinkCaptures(), 3});
      if (!getSinkGradient().empty())
        regions.push_back({&getSinkGradient(), 1, getSinkCaptures(), 3});
      return regions;
    }
    /// Whether sequences are packed.
    bool isRagged() { return getQueryStarts() || getKeyStarts(); }
    ::mlir::fa::DimsAttr getOutputOrder() { return orderOrDefault(getOutputDimsAttr()); }
    ::mlir::fa::DimsAttr getQueryGradientOrder() {
      return orderOrDefault(getQueryGradientDimsAttr());
    }
    ::mlir::fa::DimsAttr getKeyGradientOrder() {
      return orderOrDefault(getKeyGradientDimsAttr());
    }
    ::mlir::fa::DimsAttr getValueGradientOrder() {
      return orderOrDefault(getValueGradientDimsAttr());
    }
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
}

// Step of a block: operands of one batch and head, state in tensors.
class FA_GradientStepOp<string mnemonic> : FA_GradientLikeOp<mnemonic, []> {
  code stepDeclarations = commonDeclarations # [{
    ::llvm::SmallVector<::mlir::fa::PairRegion> getPairRegions() {
      return getScoreAndMask();
    }
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
}

def FA_GradientKeysOp : FA_GradientStepOp<"gradient_keys"> {
  let summary = "One step of the gradients of a block of keys";
  let description = [{
    Adds the queries of one block to the gradients of a block of keys, and of
    their values, of one batch and key head:

    ```
    x     = score(scale * key * query^T) where visible, else -inf
    p     = exp(x - lse)
    dx    = p * (value * do^T - delta)
    value = value + p * do
    key   = key + score_gradient(dx) * query
    query = query + score_gradient(dx)^T * key
    ```

    | operand | shape | element type |
    |---|---|---|
    | query, key, value, do | 1 x sequence x 1 x head dim | f16, bf16 or f32 |
    | `rows`: lse, delta | 1 x 1 x queries | f32 |
    | `outs`: `key`, `value` (either may be absent) | rows x head dim | f32 |
    | `outs`: `query` (optional, memory) | as query | f32 |

    Rows of the state are keys; those at or past the number of keys are
    padding. `lse` is +inf in rows that see no key (`fa.prepare_gradient`). The
    factor `scale` of the gradients is left to `fa.finalize_gradient`. Gradients
    of queries, of captures and of the scale are memory that is added to, as in
    `fa.gradient_queries`.

    Example:

    ```mlir
    %dk1, %dv1 = fa.gradient_keys ins(%q, %k, %v, %do : !q, !k, !k, !q)
        rows(%lse, %delta : !row, !row)
        outs(key = %dk0 : tensor<128x64xf32>, value = %dv0 : tensor<128x64xf32>)
        offsets(%b, %h, %query, %key) extents(%queries, %keys)
    ```
  }];
  let arguments = (ins
    FA_Shaped:$query, FA_Shaped:$key, FA_Shaped:$value, FA_Shaped:$output_gradient,
    FA_Shaped:$lse, FA_Shaped:$delta,
    Optional<F32>:$scale, Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$score_captures, Variadic<FA_Capture>:$mask_captures,
    Optional<FA_Shaped>:$key_accumulator, Optional<FA_Shaped>:$value_accumulator,
    Optional<AnyStridedMemRef>:$query_gradient,
    Variadic<AnyStridedMemRef>:$capture_gradients, Optional<AnyStridedMemRef>:$scale_gradient,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$differentiated,
    OptionalAttr<FA_DimsAttr>:$query_dims, OptionalAttr<FA_DimsAttr>:$key_dims,
    OptionalAttr<FA_DimsAttr>:$value_dims, OptionalAttr<FA_DimsAttr>:$output_gradient_dims,
    OptionalAttr<FA_DimsAttr>:$query_gradient_dims,
    OptionalAttr<FA_ConfigAttr>:$config);
  let extraClassDeclaration = stepDeclarations # [{
    ::mlir::fa::DimsAttr getQueryGradientOrder() {
      return orderOrDefault(getQueryGradientDimsAttr());
    }
  }];
}

def FA_GradientQueriesOp : FA_GradientStepOp<"gradient_queries"> {
  let summary = "One step of the gradients of a block of queries";
  let description = [{
    Adds the keys of one block to the gradient of a block of queries of one
    batch and head, and to gradients of captures and of the scale:

    ```
    x     = score(scale * query * key^T) where visible, else -inf
    p     = exp(x - lse)
    dx    = p * (do * value^T - delta)
    query = query + score_gradient(dx) * key
    scale = scale + sum of score_gradient(dx) * (query * key^T)
    ```

    Operands are those of `fa.gradient_keys`. Rows of the state (rows x head
    dim, f32) are queries. Gradients of captures and of the scale are memory
    that is added to: on a CPU no other iteration of a parallel loop may add to
    the same elements. On a GPU `fa.capture_boxes` names captures whose gradients
    take whole boxes of pairs: f32 is added to, 16 bits are stored.

    Example:

    ```mlir
    %dq1 = fa.gradient_queries ins(%q, %k, %v, %do : !q, !k, !k, !q)
        rows(%lse, %delta : !row, !row)
        outs(query = %dq0 : tensor<64x64xf32>)
        offsets(%b, %h, %query, %key) extents(%queries, %keys)
    ```
  }];
  let arguments = (ins
    FA_Shaped:$query, FA_Shaped:$key, FA_Shaped:$value, FA_Shaped:$output_gradient,
    FA_Shaped:$lse, FA_Shaped:$delta,
    Optional<F32>:$scale, Variadic<Index>:$offsets, Variadic<Index>:$extents,
    Variadic<FA_Capture>:$score_captures, Variadic<FA_Capture>:$mask_captures,
    Optional<FA_Shaped>:$query_accumulator,
    Variadic<AnyStridedMemRef>:$capture_gradients, Optional<AnyStridedMemRef>:$scale_gradient,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$differentiated,
    OptionalAttr<FA_DimsAttr>:$query_dims, OptionalAttr<FA_DimsAttr>:$key_dims,
    OptionalAttr<FA_DimsAttr>:$value_dims, OptionalAttr<FA_DimsAttr>:$output_gradient_dims,
    OptionalAttr<FA_ConfigAttr>:$config);
  let extraClassDeclaration = stepDeclarations;
}

def FA_PrepareGradientOp : FA_Op<"prepare_gradient", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Numbers of each query row that gradients read";
  let description = [{
    Writes, for each row of one batch and head,

    ```
    delta     = sum over e of do(e) * o(e) - dlse
    reference = lse
    ```

    and `delta = 0`, `reference = +inf` where lse is -inf and in rows at or past
    `rows`: their weights `exp(x - reference)` are 0. Given delta itself in place
    of o, it is copied. All of `clears`, to which blocks of keys will add the
    gradient of the rows, is set to 0. A `config` says how many rows a block has
    at most.

    | operand | shape | element type |
    |---|---|---|
    | `of`: o, do | 1 x rows x 1 x value head dim | f16, bf16 or f32 |
    | lse, dlse (optional), delta | 1 x 1 x rows | f32 |
    | `clears` (optional) | any rank | f32 |

    Example:

    ```mlir
    fa.prepare_gradient of(%o, %do : !o, !o) lse(%lse : !row)
        outs(%delta, %reference : !row, !row) rows(%rows)
    ```
  }];
  let arguments = (ins
    Optional<AnyStridedMemRef>:$output, Optional<AnyStridedMemRef>:$output_gradient,
    Optional<AnyStridedMemRef>:$given_delta,
    AnyStridedMemRef:$lse, Optional<AnyStridedMemRef>:$lse_gradient,
    AnyStridedMemRef:$delta, AnyStridedMemRef:$reference,
    Optional<AnyStridedMemRef>:$query_sums, Index:$rows,
    OptionalAttr<FA_DimsAttr>:$output_dims,
    OptionalAttr<FA_DimsAttr>:$output_gradient_dims,
    OptionalAttr<FA_ConfigAttr>:$config);
  let assemblyFormat = [{
    (`of` `(` $output^ `,` $output_gradient `:` type($output) `,` type($output_gradient) `)`)?
    (`delta` `(` $given_delta^ `:` type($given_delta) `)`)?
    `lse` `(` $lse `:` type($lse) `)`
    (`lse_gradient` `(` $lse_gradient^ `:` type($lse_gradient) `)`)?
    `outs` `(` $delta `,` $reference `:` type($delta) `,` type($reference) `)`
    (`clears` `(` $query_sums^ `:` type($query_sums) `)`)?
    `rows` `(` $rows `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::fa::DimsAttr getOutputOrder() {
      return getOutputDimsAttr() ? getOutputDimsAttr()
                                 : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::mlir::fa::DimsAttr getOutputGradientOrder() {
      return getOutputGradientDimsAttr() ? getOutputGradientDimsAttr()
                                         : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(),
                                         getDeltaMutable().getOperandNumber(),
                                         getQuerySums() ? 3 : 2);
    }
  }];
}

def FA_FinalizeGradientOp : FA_Op<"finalize_gradient", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Writes the gradient of a block";
  let description = [{
    Writes `scale * accumulator` (without `scale`: `accumulator`) to the rows
    below `rows`, and 0 to the rows of the output behind them. A `config` says how
    a kernel is made that does nothing else.

    | operand | shape | element type |
    |---|---|---|
    | accumulator | state rows x head dim | f32 |
    | output | 1 x rows x 1 x head dim, ordered by `dims` | f16, bf16 or f32 |

    Example:

    ```mlir
    fa.finalize_gradient ins(%dk : tensor<128x64xf32>) scale(%scale)
        outs(%out : memref<1x?x1x64xbf16, strided<[?, ?, ?, 1], offset: ?>>) rows(%rows)
    ```
  }];
  let arguments = (ins
    FA_Shaped:$accumulator, Optional<F32>:$scale, AnyStridedMemRef:$output,
    Index:$rows, OptionalAttr<FA_DimsAttr>:$dims, OptionalAttr<FA_ConfigAttr>:$config);
  let assemblyFormat = [{
    `ins` `(` $accumulator `:` type($accumulator) `)` (`scale` `(` $scale^ `)`)?
    `outs` `(` $output `:` type($output) `)` `rows` `(` $rows `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::fa::DimsAttr getOrder() {
      return getDimsAttr() ? getDimsAttr() : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(),
                                         getOutputMutable().getOperandNumber(), 1);
    }
  }];
}

#endif // FA_DIALECT_FA_IR_FAGRADIENTOPS_TD
