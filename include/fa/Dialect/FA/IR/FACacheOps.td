//===- FACacheOps.td - Operations on caches of keys and values -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_IR_FACACHEOPS_TD
#define FA_DIALECT_FA_IR_FACACHEOPS_TD

def FA_AppendOp : FA_Op<"append", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "Writes new keys and values behind those of a cache";
  let description = [{
    Writes the `n` new keys and values of each sequence, in their order, to the last
    `n` of the `key_lengths[b]` rows that its cache has then: new row `i` to row
    `key_lengths[b] - n + i`. Other rows stay as they were. So the lengths, and
    the table of pages, are those of an `fa.attention` over the cache that follows.

    | operand | shape | element type |
    |---|---|---|
    | key, value | batch x new rows x key heads x head dim | f16, bf16 or f32 |
    | key cache, value cache | batch x rows x key heads x head dim | as key |
    | `key_lengths`: with the new rows | batch | i32 |
    | `new_lengths` (optional): how many rows are new | batch | i32 |
    | `key_starts` (optional) | batch + 1 | i32 |
    | `key_pages` (optional) | batch x pages of a sequence | i32 |
    | `rotary` (optional): cosines, sines | positions x turned dims / 2 | f16, bf16 or f32 |

    `key_dims`, `value_dims`, `key_cache_dims` and `value_cache_dims` name other
    orders of dimensions. With `key_starts` new rows are packed, in an order
    without `b`; with `key_pages` the caches are pools of pages, in one with `p`:
    both as in `fa.attention`. Without `new_lengths` all rows there is room for are
    new.

    `rotary` turns the first dims of each key, twice as many as the tables have
    columns (Su et al. 2021). Pair `d` of the key at row `p` of the cache becomes

    ```
    x' = x * cosines[p, d] - y * sines[p, d]
    y' = x * sines[p, d] + y * cosines[p, d]
    ```

    in f32, rounded once. A pair is elements `2 d` and `2 d + 1` where
    `interleaved`, and `d` and `d + columns` where `halves`.

    A sequence is left as it was where its starts fall or end past the rows, where
    there are fewer new rows than none, more than there is room for or than its
    length, and where its length is past the cache, a page of a new row not in
    the pools or a position past the tables.

    Example:

    ```mlir
    fa.append ins(%k, %v : memref<?x2x64xf16>, memref<?x2x64xf16>)
        outs(%keys, %values : memref<?x16x2x64xf16>, memref<?x16x2x64xf16>)
        key_lengths(%lengths : memref<?xi32>) key_starts(%starts : memref<?xi32>)
        key_pages(%table : memref<?x?xi32>)
        rotary halves(%cos, %sin : memref<4096x32xf32>, memref<4096x32xf32>)
        {key_dims = #fa.dims<s, h, d>, value_dims = #fa.dims<s, h, d>,
         key_cache_dims = #fa.dims<p, s, h, d>, value_cache_dims = #fa.dims<p, s, h, d>}
    ```
  }];
  let arguments = (ins
    FA_Shaped:$key, FA_Shaped:$value, FA_Shaped:$key_lengths,
    Optional<FA_Shaped>:$new_lengths, Optional<FA_Shaped>:$key_starts,
    Optional<FA_Shaped>:$key_pages,
    Optional<FA_Shaped>:$cosines, Optional<FA_Shaped>:$sines,
    FA_Shaped:$key_cache, FA_Shaped:$value_cache,
    OptionalAttr<FA_RotaryAttr>:$rotary,
    OptionalAttr<FA_DimsAttr>:$key_dims, OptionalAttr<FA_DimsAttr>:$value_dims,
    OptionalAttr<FA_DimsAttr>:$key_cache_dims, OptionalAttr<FA_DimsAttr>:$value_cache_dims);
  let results = (outs Variadic<AnyRankedTensor>:$caches);
  let assemblyFormat = [{
    `ins` `(` $key `,` $value `:` type($key) `,` type($value) `)`
    `outs` `(` $key_cache `,` $value_cache `:` type($key_cache) `,` type($value_cache) `)`
    `key_lengths` `(` $key_lengths `:` type($key_lengths) `)`
    (`new_lengths` `(` $new_lengths^ `:` type($new_lengths) `)`)?
    (`key_starts` `(` $key_starts^ `:` type($key_starts) `)`)?
    (`key_pages` `(` $key_pages^ `:` type($key_pages) `)`)?
    (`rotary` custom<Rotary>($rotary) `(` $cosines^ `,` $sines `:` type($cosines) `,` type($sines) `)`)?
    attr-dict (`->` type($caches)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::fa::DimsAttr getKeyOrder() { return orderOrDefault(getKeyDimsAttr()); }
    ::mlir::fa::DimsAttr getValueOrder() { return orderOrDefault(getValueDimsAttr()); }
    ::mlir::fa::DimsAttr getKeyCacheOrder() { return orderOrDefault(getKeyCacheDimsAttr()); }
    ::mlir::fa::DimsAttr getValueCacheOrder() {
      return orderOrDefault(getValueCacheDimsAttr());
    }
    ::mlir::fa::DimsAttr orderOrDefault(::mlir::fa::DimsAttr order) {
      return order ? order : ::mlir::fa::DimsAttr::getDefault(getContext());
    }
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(),
                                         getKeyCacheMutable().getOperandNumber(), 2);
    }
  }];
}

#endif // FA_DIALECT_FA_IR_FACACHEOPS_TD
