//===- FAGPUBlockOps.td - Operations on block values -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise arithmetic on block values is arith, math and tensor.splat. Here
// is what these do not have: reductions and broadcasts, indices and masks,
// layouts, and then memory: views and boxes into registers, gathers and
// additions, and fagpu.store. FAGPUAttributes.td has the layouts themselves.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_IR_FAGPUBLOCKOPS_TD
#define FA_DIALECT_FAGPU_IR_FAGPUBLOCKOPS_TD

def FAGPU_ReduceOp : FAGPU_NamedOp<"reduce", [Pure]> {
  let summary = "Reduction over the columns, or over all that a warp holds";
  let description = [{
    From `acc` to `row`, from `acc` to `quad` (each thread alone, no exchange),
    from `quad` to `row`, or from `acc` to `warp` (all that a warp holds).
    `chains` independent chains per row are combined at the
    end, so the order of an addition is fixed by it.

    Example: `%m = fagpu.reduce max %s : !acc -> !row`
  }];
  let arguments = (ins FAGPU_ReductionKind:$kind, FAGPU_BlockValue:$source,
                       DefaultValuedAttr<I32Attr, "2">:$chains);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat = [{
    $kind $source (`chains` `(` $chains^ `)`)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def FAGPU_AnyOp : FAGPU_NamedOp<"any"> {
  let summary = "Whether an element is true";
  let description = [{
    The same answer in all threads of the group, which wait for each other for it.

    Example: `%some = fagpu.any %visible : tensor<128x128xi1, #acc>`
  }];
  let arguments = (ins FAGPU_BlockValue:$source);
  let results = (outs I1:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def FAGPU_BroadcastOp : FAGPU_NamedOp<"broadcast", [Pure]> {
  let summary = "Repeats row or column values; costs nothing";
  let description = [{
    From `row`, `col` or `warp` to `acc`, or from `row` to `quad`.

    Example: `%x = fagpu.broadcast %m : !row -> !acc`
  }];
  let arguments = (ins FAGPU_BlockValue:$source);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat =
      "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def FAGPU_IotaOp : FAGPU_NamedOp<"iota", [Pure]> {
  let summary = "Index of each element along a dimension";
  let description = [{
    `part` selects an addend of the index: the thread's, or the element's, which
    is a constant in each element (fagpu-split-iota uses it).

    Example: `%column = fagpu.iota 1 : !iacc`
  }];
  let arguments = (ins I32Attr:$dim,
                       DefaultValuedAttr<FAGPU_IndexPart,
                         "::mlir::fagpu::IndexPart::all">:$part);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat =
      "$dim (`part` `(` $part^ `)`)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def FAGPU_BetweenOp : FAGPU_NamedOp<"between", [Pure, SameTypeOperands]> {
  let summary = "Whether a column lies between two limits of its row";
  let description = [{
    From `row` to `acc`: an element is true if its column is at least the row's
    `first` and less than its `end`. A thread computes the columns of a row that
    are true as bits of a word, of which each element asks one: that takes fewer
    instructions than two comparisons. fagpu-join-limits makes it of these.

    Example: `%seen = fagpu.between %first, %end : !irow -> !bacc`
  }];
  let arguments = (ins FAGPU_BlockValue:$first, FAGPU_BlockValue:$end);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat =
      "$first `,` $end attr-dict `:` type($first) `->` type($result)";
  let hasVerifier = 1;
}

def FAGPU_DropoutOp : FAGPU_NamedOp<"dropout", [Pure]> {
  let summary = "Which pairs of a block dropout keeps";
  let description = [{
    Element (r, c) is true if the number of query `query` + r and key `key` + c
    is at least `threshold`; with `keys_are_rows` rows are keys and columns are
    queries. Numbers are those of `fa.dropout`: 16 bits of Philox 4x32-10, whose
    key is `words` and whose counter ends with `counter`.

    With `whole` both first indices are multiples of 16; where they are not, the
    result is any. Two threads then share the 16 pairs of a draw; else each pair
    is drawn alone. The result costs a register for 32 pairs; one that only
    selects 16-bit elements, three for 32.

    Example: `%kept = fagpu.dropout %threshold words(%k0, %k1) counter(%c2, %c3)
      at(%i0, %j0) whole : !bacc`
  }];
  let arguments = (ins I32:$threshold, I32:$word0, I32:$word1, I32:$counter2,
                       I32:$counter3, I32:$query, I32:$key, UnitAttr:$whole,
                       UnitAttr:$keys_are_rows);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat = [{
    $threshold `words` `(` $word0 `,` $word1 `)`
    `counter` `(` $counter2 `,` $counter3 `)` `at` `(` $query `,` $key `)`
    (`whole` $whole^)? (`keys_are_rows` $keys_are_rows^)? attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

def FAGPU_ConvertOp : FAGPU_NamedOp<"convert", [Pure]> {
  let summary = "Changes the layout of a block value";
  let description = [{
    Of 16-bit floats, `acc` to `opa` and back costs nothing.

    Example: `%p = fagpu.convert %h : !hacc -> !p`
  }];
  let arguments = (ins FAGPU_BlockValue:$source);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat =
      "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def FAGPU_PinOp : FAGPU_NamedOp<"pin", [
    RangedTypesMatchWith<"the results are the values", "values", "pinned",
      "::llvm::to_vector($_self)">]> {
  let summary = "Keeps values at their place between asynchronous operations";
  let description = [{
    The results are the values. They are computed before this operation, what uses
    the results comes after it, and it stays where it is between issues, waits and
    the other operations with effects. Made by fagpu-pin.

    Example: `%p = fagpu.pin %x : !acc`
  }];
  let arguments = (ins Variadic<FAGPU_BlockValue>:$values);
  let results = (outs Variadic<FAGPU_BlockValue>:$pinned);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def FAGPU_LoadOp : FAGPU_NamedOp<"load"> {
  let summary = "Reads a view into registers";
  let description = [{
    The view has the shape of the result. With `fragments` it is a vector of as
    many f32, which a `fagpu.store` of `fragments` has brought to memory: a thread
    reads what it holds, 16 bytes at a time, and the result has layout `acc`.

    Example: `%l = fagpu.load %v : !lv -> !col`, and
    `%x = fagpu.load %v fragments : !fagpu.view<4096xf32, #pl> -> !acc`
  }];
  let arguments = (ins FAGPU_ViewType:$view, UnitAttr:$fragments);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat = [{
    $view (`fragments` $fragments^)? attr-dict `:` type($view) `->` type($result)
  }];
  let hasVerifier = 1;
}

def FAGPU_FetchOp : FAGPU_NamedOp<"fetch", [AttrSizedOperandSegments]> {
  let summary = "Reads a box of global memory";
  let description = [{
    The box of `sizes` at `offsets`; leading sizes collapse into the rows of the
    result. `rows` bounds the dimension that it bounds in `fagpu.put`: indices
    from it on read as zero and touch no memory; without `rows` the dimension's
    size is the limit. `columns` bounds the last dimension alike; `align`, `padded`
    and `pages` are those of `fagpu.put`. With `fragments` the box is one piece of the
    last dimension, which a `fagpu.store` of `fragments` has written. What brings
    the box to the threads is decided later: fagpu-form-channels makes a channel
    of it.

    Example: `%k = fagpu.fetch %key[%b, %j, %h, %c0] [1, 64, 1, 128] rows(%n)
      : !mem -> tensor<64x128xbf16>`
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Variadic<I32>:$offsets, DenseI64ArrayAttr:$sizes,
                       Optional<I32>:$rows, Optional<I32>:$columns,
                       DefaultValuedAttr<I64Attr, "16">:$alignment,
                       UnitAttr:$padded, UnitAttr:$fragments,
                       Arg<Optional<AnyMemRef>, "", [MemRead]>:$pages,
                       OptionalAttr<I64Attr>:$pageDim);
  let results = (outs FAGPU_BlockValue:$result);
  let builders = [OpBuilder<(ins "Type":$result, "Value":$source,
      "ValueRange":$offsets, "ArrayRef<int64_t>":$sizes, "Value":$rows,
      "Value":$columns, "int64_t":$alignment, "bool":$padded,
      CArg<"bool", "false">:$fragments)>];
  let assemblyFormat = [{
    $source `[` $offsets `]` $sizes
    (`pages` `(` $pages^ `:` type($pages) `at` $pageDim `)`)? (`rows` `(` $rows^ `)`)?
    (`columns` `(` $columns^ `)`)? (`align` `(` $alignment^ `)`)?
    (`padded` $padded^)? (`fragments` $fragments^)? attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def FAGPU_ExchangeOp : FAGPU_NamedOp<"exchange", [Pure]> {
  let summary = "Joins the values of all groups of a role";
  let description = [{
    Rows and columns change place: of G groups, element (j, R g + i) of the result
    is element (i, j) of the value, of R rows, that group g gives. All groups get
    the same result. fagpu-share-operands brings it to products by way of shared
    memory.

    Example: `%all = fagpu.exchange %ds
      : tensor<64x80xbf16> -> tensor<80x128xbf16>`
  }];
  let arguments = (ins FAGPU_BlockValue:$source);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat =
      "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def FAGPU_GatherOp : FAGPU_NamedOp<"gather", [AttrSizedOperandSegments]> {
  let summary = "Reads elements of global memory at indices of their own";
  let description = [{
    Each index is a scalar or a block value with the result's shape and layout.
    Elements whose `mask` is false touch no memory and are zero. The memory is
    only read while the kernel runs. `pairs` states that the elements of a row lie
    beside each other in memory, the first of them at a multiple of the size of
    two, and that the columns 2 i and 2 i + 1 have one mask: they are read at once,
    and a launch refuses memory whose address or strides are no such multiples.
    `in_order` keeps the read behind the barrier before it: what does not change
    in a loop is then read again instead of being held in registers.

    Example: `%x = fagpu.gather %bias[%h, %i, %j] mask(%ok : !ok)
      : memref<?x?x?xf32>[i32, !iacc, !iacc] -> !acc`
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source,
                       Variadic<AnyTypeOf<[I32, FAGPU_BlockValue]>>:$indices,
                       Optional<FAGPU_BlockValue>:$mask, UnitAttr:$pairs,
                       UnitAttr:$in_order);
  let results = (outs FAGPU_BlockValue:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`pairs` $pairs^)? (`in_order` $in_order^)? attr-dict
    `:` type($source) `[` type($indices) `]` `->` type($result)
  }];
  let hasVerifier = 1;
}

def FAGPU_ScatterAddOp
    : FAGPU_Op<"scatter_add", [AttrSizedOperandSegments]> {
  let summary = "Adds elements to global memory at indices of their own";
  let description = [{
    The mirror of `fagpu.gather`: each index is a scalar or a block value with the
    shape and layout of `value`, and elements whose `mask` is false touch no
    memory. Several elements may go to one place. They come in any order, so the
    last bits of a sum may differ from run to run; a kernel that is
    `fagpu.deterministic` has no such operation. Nothing else in the kernel reads
    or writes the memory.

    Example: `fagpu.scatter_add %ds, %db[%h, %i, %j] mask(%ok : !ok)
      : !acc into memref<?x?x?xf32>[i32, !iacc, !iacc]`
  }];
  let arguments = (ins FAGPU_BlockValue:$value, AnyMemRef:$destination,
                       Variadic<AnyTypeOf<[I32, FAGPU_BlockValue]>>:$indices,
                       Optional<FAGPU_BlockValue>:$mask);
  let assemblyFormat = [{
    $value `,` $destination `[` $indices `]`
    (`mask` `(` $mask^ `:` type($mask) `)`)? attr-dict
    `:` type($value) `into` type($destination) (`[` type($indices)^ `]`)?
  }];
  let hasVerifier = 1;
}

def FAGPU_ExtremesOp : FAGPU_NamedOp<"extremes"> {
  let summary = "The least and the greatest of consecutive elements of memory";
  let description = [{
    Of the elements from `indices` on along the last dimension, whose elements are
    beside each other: `count` of them, and no more than `size`. No element has the
    least 2147483647 and the greatest -2147483648. All threads get the same answer
    and none waits for another. The memory is only read while the kernel runs.

    Example: `%least, %greatest = fagpu.extremes %ids[%b, %first] 128 count(%n)
      : memref<?x?xi32>`
  }];
  let arguments = (ins Arg<MemRefOf<[I32]>, "", [MemRead]>:$source,
                       Variadic<I32>:$indices,
                       ConfinedAttr<I64Attr, [IntPositive]>:$size, I32:$count);
  let results = (outs I32:$least, I32:$greatest);
  let assemblyFormat = [{
    $source `[` $indices `]` $size `count` `(` $count `)` attr-dict
    `:` type($source)
  }];
  let hasVerifier = 1;
}

def FAGPU_StoreOp : FAGPU_Op<"store", [AttrSizedOperandSegments]> {
  let summary = "Stores a block value to global memory";
  let description = [{
    The value goes to the box of `sizes` at `offsets`. When absent, a vector goes
    to the last dimension, a matrix to the last two. `rows` bounds the first dimension whose size
    is above 1, apart from the last one if the value is a matrix (`getRowDim`):
    indices from `rows` on are not written. `columns` bounds the last dimension of
    a matrix alike; `align` is that of `fagpu.put`, for a matrix. With `via`, the value is staged in that
    channel's shared memory and leaves by a bulk store (engine `tma_store`) or by
    the threads, 16 bytes each (engine `threads`). Of a `padded` box, indices from
    the size of any dimension on are not written; only `tma_store` does that, and
    without `rows` and `columns`. `cache` is that of `fagpu.put`, for boxes by
    `tma_store` without `add`.

    With `add` the elements, f32, are added to those in memory, which nothing else
    in the kernel reads or writes. They come in any order, so the last bits of a
    sum may differ from run to run; a kernel that is `fagpu.deterministic` has no
    such store. With `transposed`, of a channel of `tma_store` or of f32 by threads, row and
    column change places. With `fragments` the box is one piece of the last
    dimension and takes the elements in the order in which threads hold them, so
    that each stores 16 bytes beside those of the next: of T threads, register r
    of thread t is element 4 T (r / 4) + 4 t + r mod 4. `via` is then a channel of
    a vector. With `by_words`, of threads without `via`, it is element T r + t: a
    chip that adds no vectors adds a word at a time, and those of a warp then are
    one piece of 128 bytes.

    Example: `fagpu.store %l, %lse[%b, %h, %r] rows(%n) : !row into !lse`, and
    `fagpu.store %g, %dq[%b, %h, %i, %c0] sizes [1, 1, 1, 4096] add fragments
      via(%ch : !fagpu.channel<4096xf32, #pl, 1>) : !acc into !mem`
  }];
  let arguments = (ins FAGPU_BlockValue:$value, AnyMemRef:$destination,
                       Variadic<I32>:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$sizes,
                       Optional<I32>:$rows, Optional<I32>:$columns,
                       Optional<FAGPU_ChannelType>:$via, Optional<I32>:$bank,
                       DefaultValuedAttr<I64Attr, "16">:$alignment,
                       UnitAttr:$padded, UnitAttr:$add,
                       UnitAttr:$transposed, UnitAttr:$fragments,
                       OptionalAttr<FAGPU_CachePriority>:$cache,
                       UnitAttr:$by_words);
  let assemblyFormat = [{
    $value `,` $destination `[` $offsets `]` (`sizes` $sizes^)?
    (`rows` `(` $rows^ `)`)? (`columns` `(` $columns^ `)`)?
    (`align` `(` $alignment^ `)`)? (`cache` `(` $cache^ `)`)?
    (`padded` $padded^)? (`add` $add^)? (`transposed` $transposed^)? (`fragments` $fragments^)?
    (`by_words` $by_words^)? (`via` `(` $via^ `:` type($via) `)`)? (`bank` `(` $bank^ `)`)? attr-dict
    `:` type($value) `into` type($destination)
  }];
  let extraClassDeclaration = [{
    /// The tile of the value in memory: its shape, transposed, or all its
    /// elements in one row.
    SmallVector<int64_t> getTile();
    /// The box of the memory that the value covers: `sizes`, or its tile.
    SmallVector<int64_t> getBox();
    /// The dimension of the memory that `rows` bounds.
    unsigned getRowDim();
  }];
  let hasVerifier = 1;
}

#endif // FA_DIALECT_FAGPU_IR_FAGPUBLOCKOPS_TD
