//===- Passes.td - Passes on the fa dialect ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"
include "fa/Dialect/FA/Transforms/BlockPasses.td"
include "fa/Dialect/FA/Transforms/FunctionPasses.td"

def FAVersionBounds : Pass<"fa-version-bounds"> {
  let summary = "Choose a version of attention whose scores are known to be small";
  let description = [{
    An `fa.attention` on a GPU whose scores are a captured number times a tanh, and
    whose weights are rounded to 16 bits, becomes two: where the function runs with
    a number from -50 to 50, the first, in which it is held to that. Scores of this
    version have a bound, so that the tanh may be expanded (fagpu-expand-tanh), and
    weights of bf16 need no running maximum (fagpu-drop-maximum). A number that
    is not in the range, or that is no number, takes the other version.

    Weights of the first lie between e^-50 and e^50. Elements of `value` are to be
    0 or of magnitudes from 2^-48 to 2^24: products with smaller ones lose bits,
    sums of 2^30 products with larger ones overflow.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
        score(%s, %b, %h, %i, %j) captures(%c = %cap : f32) {
          %x = arith.divf %s, %c fastmath<arcp> : f32
          %t = math.tanh %x fastmath<arcp> : f32
          %y = arith.mulf %c, %t : f32
          fa.yield %y : f32
        } {config = #gpu}
    ```

    After:

    ```mlir
    %below = arith.cmpf ole, %cap, %c50 : f32
    %above = arith.cmpf oge, %cap, %cm50 : f32
    %isSmall = arith.andi %below, %above : i1
    scf.if %isSmall {
      fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
          score(%s, %b, %h, %i, %j) captures(%c = %cap : f32) {
            %m = arith.maximumf %c, %cm50 : f32
            %l = arith.minimumf %m, %c50 : f32
            %x = arith.divf %s, %l fastmath<arcp> : f32
            ...
    } else {
      fa.attention ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

def FAVersionLengths : Pass<"fa-version-lengths"> {
  let summary = "Choose between configurations by the numbers of keys and queries";
  let description = [{
    An `fa.attention` whose config has a `longer` one becomes two, each with a
    config of its own, and the numbers of keys and queries choose between them
    where the function runs: the `longer` one needs at least `from_keys` and
    `from_queries` of them. A `longer` one of the `longer` one is chosen inside.
    A number that is static is not asked for, and configs that it rules out get
    no version; where one remains there is no choice. Works on memrefs and on
    tensors.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : memref<1x?x8x64xf16>, memref<1x?x8x64xf16>, ...) outs(%o : ...)
        {config = #fa.config<query_block = 64, key_block = 64,
                             longer = #fa.config<query_block = 64, key_block = 256,
                                                 from_keys = 4096, from_queries = 512>>}
    ```

    After:

    ```mlir
    %keys = memref.dim %k, %c1 : memref<1x?x8x64xf16>
    %enoughKeys = arith.cmpi uge, %keys, %c4096 : index
    %queries = memref.dim %q, %c1 : memref<1x?x8x64xf16>
    %enoughQueries = arith.cmpi uge, %queries, %c512 : index
    %isLonger = arith.andi %enoughKeys, %enoughQueries : i1
    scf.if %isLonger {
      fa.attention ... {config = #fa.config<query_block = 64, key_block = 256>}
    } else {
      fa.attention ... {config = #fa.config<query_block = 64, key_block = 64>}
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FASplitKeys : Pass<"fa-split-keys"> {
  let summary = "Compute parts of the keys side by side, and merge them";
  let description = [{
    For few queries and many keys (Dao et al. 2023, "Flash-Decoding"). An attention
    whose config has `key_splits` above 1 or `split_keys` becomes two loops. The
    first one is over (part of the keys, batch, head, query block) around an
    attention on a part, with results in f32 in memory of the loop. The second one
    adds the parts of a query block in ascending order, by `fa.add_partial`.

    With `key_splits` each sequence has so many parts, by its own length. With
    `split_keys` a part has so many keys, and there are as many parts as the longest
    possible sequence has: a sequence gives the same bits in any batch. The last
    parts may be short or, of a short sequence, empty. A sink is of the first part.

    Packed sequences and pages are tiled here too. Left alone are tensors, and
    pieces of a problem, which have offsets: `fa-split-kv` splits them.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : memref<1x1x8x64xf16>, memref<1x?x8x64xf16>, memref<1x?x8x64xf16>)
        outs(%o : memref<1x1x8x64xf16>)
        {config = #fa.config<query_block = 16, key_block = 128, split_keys = 2048>}
    ```

    After (`...` for types):

    ```mlir
    %parts = affine.apply affine_map<()[s0] -> (s0 ceildiv 2048)>()[%keys] // at least 1
    %os = memref.alloc(%parts) : memref<?x1x8x64xf32>
    %lses = memref.alloc(%parts) : memref<?x8x1xf32>
    scf.forall (%p, %b, %h, %i) = (0, 0, 0, 0) to (%parts, 1, 8, 1) step (1, 1, 1, 1) {
      ... // %begin, %size: the keys of part %p
      %o1 = memref.subview %os[%p, %i, %h, 0] [1, 1, 1, 64] [1, 1, 1, 1] : ...
      fa.attention ins(%q1, %k1, %v1 : ...) outs(%o1, %lse1 : ...)
          offsets(%b, %h, %i, %begin) extents(%c1, %keys)
          {config = #fa.config<query_block = 16, key_block = 128>}
    }
    scf.forall (%b, %h, %i) = (0, 0, 0) to (1, 8, 1) step (1, 1, 1) {
      %s:3 = scf.for %p = %c0 to %parts step %c1 iter_args(%a = ..., %m = ..., %n = ...) {
        %t:3 = fa.add_partial ins(%o_p, %lse_p : ...) outs(%a, %m, %n : ...)
        scf.yield %t#0, %t#1, %t#2 : ...
      }
      fa.finalize ins(%s#0, %s#1, %s#2 : ...) outs(%o2 : ...)
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FASplitKV : Pass<"fa-split-kv"> {
  let summary = "Split the keys of attention into parts, before it is tiled";
  let description = [{
    For few queries and many keys. Replaces each `fa.attention` whose config has
    `key_splits` above 1 by an `scf.forall` over that many parts of the keys,
    each an `fa.attention` of its own that writes f32 results and an lse to
    temporary memory, and merges them by `fa.combine`, one part after the other,
    so that results are the same from run to run. A part is a multiple of
    `key_block` keys; the last ones may be short or empty. Offsets keep the
    indices absolute, and key lengths apply to them. Works on memrefs and on
    tensors. `fa-split-keys` splits whole problems on memrefs as they are tiled.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : memref<1x1x8x64xf16>, memref<1x?x8x64xf16>, memref<1x?x8x64xf16>)
        outs(%o : memref<1x1x8x64xf16>)
        {config = #fa.config<query_block = 16, key_block = 128, key_splits = 4>}
    ```

    After (`...` for types):

    ```mlir
    %part = affine.apply affine_map<()[s0] -> (((s0 ceildiv 4) ceildiv 128) * 128)>()[%keys]
    %os = memref.alloc() : memref<4x1x1x8x64xf32>
    %lses = memref.alloc() : memref<4x1x8x1xf32>
    scf.forall (%s) in (4) {
      ... // %begin, %size: the keys of part %s
      %o1 = memref.subview %os[%s, 0, 0, 0, 0] [1, 1, 1, 8, 64] [1, 1, 1, 1, 1] : ...
      %lse1 = memref.subview %lses[%s, 0, 0, 0] [1, 1, 8, 1] [1, 1, 1, 1] : ...
      %k1 = memref.subview %k[0, %begin, 0, 0] [1, %size, 8, 64] [1, 1, 1, 1] : ...
      %v1 = memref.subview %v[0, %begin, 0, 0] [1, %size, 8, 64] [1, 1, 1, 1] : ...
      fa.attention ins(%q, %k1, %v1 : ...) outs(%o1, %lse1 : ...)
          offsets(%c0, %c0, %c0, %begin) extents(%c1, %keys)
          {config = #fa.config<query_block = 16, key_block = 128>}
    }
    scf.for %s = %c1 to %c3 step %c1 {
      fa.combine a(%o_0, %lse_0 : ...) b(%o_s, %lse_s : ...) outs(%o_0, %lse_0 : ...)
    }
    fa.combine a(%o_0, %lse_0 : ...) b(%o_3, %lse_3 : ...) outs(%o : ...)
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAScatterToLoops : Pass<"fa-scatter-to-loops"> {
  let summary = "Add the numbers of pairs to memory in loops";
  let description = [{
    Replaces each `fa.scatter_add`. Where rows and columns each index at most one
    dimension, as they are, it becomes linalg on a part of the memory, which runs
    in vectors:

    | indices | what is added |
    |---|---|
    | row and column | the block |
    | row | the sums of rows |
    | neither | the sum of all pairs |

    Else it becomes two loops over the pairs, with what the pairs of a column
    share summed first. Indices out of bounds add nothing. The order of additions
    is fixed, which gives a sum the same bits in each run. Fails where the numbers
    or the captures are tensors.

    Before:

    ```mlir
    fa.scatter_add %x : memref<64x?xf32> to %rows : memref<256xf32>
        offsets(%b, %h, %i, %j) extents(%queries, %keys) pairs(%batch, %head, %query, %key) {
      fa.yield %query : index
    }
    ```

    After:

    ```mlir
    %sums = memref.alloc() : memref<64xf32>
    linalg.fill ins(%zero : f32) outs(%sums : memref<64xf32>)
    linalg.generic {iterator_types = ["parallel", "reduction"]} ins(%x : ...) outs(%sums : ...) {...}
    %part = memref.subview %rows[%i] [%count] [1] : ...
    linalg.generic {iterator_types = ["parallel"]} ins(%sums1 : ...) outs(%part : ...) {...}
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def FATileGradient : Pass<"fa-tile-gradient"> {
  let summary = "Tile gradients of attention into blocks of keys and of queries";
  let description = [{
    Replaces each `fa.attention_gradient` on memrefs by parallel loops, of
    which no two iterations add to the same element:

    1. over blocks of queries, `fa.prepare_gradient`: delta and lse of each row,
       into memory of two f32 a row;
    2. over blocks of keys, `fa.gradient_keys` for each query head of the key
       head, over all queries;
    3. over blocks of queries, `fa.gradient_queries` over all keys.

    That is `gradient_form = two_pass` of the config. `three_pass` has a loop for
    keys and one for values in step 2. In `one_pass` an iteration takes a whole
    key head: its blocks of keys also add to the gradients of queries, in memory
    of its own, and there is no step 3. On a GPU blocks of keys stay parallel: they
    add to memory that step 1 clears, in any order, and step 3 stores what is there
    (`fa.finalize_gradient`).

    Gradients of captures, and of the scale, are added to in step 3, or in
    `one_pass` in step 2. Where batch, head or query index the same dimension of
    a capture in all its loads, no two iterations of that dimension share an
    element. Else iterations get tables of their own, which are added up in order
    behind the loops: batches and heads where at most one index differs between
    pairs, blocks of queries where none does. Dimensions with neither become
    sequential loops of their own. Gradients have the same bits in each run, but
    for those of queries in `one_pass` on a GPU. There all blocks add to one f32
    table in any order: blocks of queries, or of keys in `one_pass` and for elements
    that keys alone index.

    Gradients of what a sink captures are added row by row behind step 1. Heads are
    parallel where the head is an index of all that a capture is added to.

    Fails where a gradient has no config or is on tensors, or where a score, or a
    sink with a gradient, has no region of its gradient.

    Blocks of keys are those of `fa.gradient_keys` on the operation, a
    `#fa.config` that `fa-select-config` sets where a target wants others there.
    On a GPU numbers of query rows have memory for whole blocks.

    Before:

    ```mlir
    fa.attention_gradient ins(%q, %k, %v : ...) of(%o, %lse : ...) gradients(%do : ...)
        outs(query = %dq : ..., key = %dk : ...) {config = #fa.config<query_block = 64, key_block = 128>}
    ```

    After:

    ```mlir
    scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 8, %queries) step (1, 1, 64) {
      fa.prepare_gradient of(%o1, %do1 : ...) lse(%lse1 : ...) outs(%delta1, %reference1 : ...) rows(%rows)
    }
    scf.forall (%b, %h, %j) = (0, 0, 0) to (2, 8, %keys) step (1, 1, 128) {
      %dk1 = fa.gradient_keys ins(%q1, %k1, %v1, %do1 : ...) rows(%reference1, %delta1 : ...)
          outs(key = %zeros : tensor<128x64xf32>) offsets(%b, %h, %c0, %j) extents(%queries, %keys)
      fa.finalize_gradient ins(%dk1 : tensor<128x64xf32>) scale(%scale) outs(%dk2 : ...) rows(%count)
    }
    scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 8, %queries) step (1, 1, 64) {
      %dq1 = fa.gradient_queries ...
      fa.finalize_gradient ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FAPackHeads : Pass<"fa-pack-heads"> {
  let summary = "Take query heads that share keys for rows of one block";
  let description = [{
    An attention of few queries reads the keys of a key head once for each query
    head that shares it. This pass takes these heads for queries of the key head:
    its keys are read once. Of one query, query, output and lse are viewed with the
    group of heads in place of the queries, and nothing is copied. Of several, the
    rows of a key head, queries x group, are copied to lie one behind the other; on
    a GPU fa-forward-copies lets kernels do without most of these copies.
    Regions compute head and query from the row, so masks go by the query.

    Left alone are attentions on tensors, with a dynamic number of heads or
    queries, with more queries, with `query_lengths` or `query_starts`, and pieces
    of a problem.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : memref<?x1x32x128xf16>, memref<?x?x4x128xf16>, memref<?x?x4x128xf16>)
        outs(%o : memref<?x1x32x128xf16>) mask causal
    ```

    After (`...` for strided types):

    ```mlir
    %q1 = memref.expand_shape %q [[0], [1], [2, 3], [4]] ... : ... into memref<?x1x4x8x128xf16>
    %q2 = memref.subview %q1[0, 0, 0, 0, 0] [%b, 1, 4, 8, 128] [1, 1, 1, 1, 1] : ... to memref<?x4x8x128xf16, ...>
    fa.attention ins(%q2, %k, %v : ...) outs(%o2 : ...) mask(...) {...}
        {query_dims = #fa.dims<b, h, s, d>, output_dims = #fa.dims<b, h, s, d>}
    ```

    and of four queries, in place of the subview:

    ```mlir
    %q2 = memref.transpose %q1 (b, s, h, g, d) -> (b, h, s, g, d) : ...
    %q3 = memref.alloc(%b) : memref<?x4x4x8x128xf16>
    linalg.copy ins(%q2 : ...) outs(%q3 : memref<?x4x4x8x128xf16>)
    %q4 = memref.collapse_shape %q3 [[0], [1], [2, 3], [4]] : ... into memref<?x4x32x128xf16>
    ```
  }];
  let options = [
    Option<"sinks", "sinks", "bool", "true",
           "Also attentions with a sink, which then depends on the row">,
    Option<"queries", "queries", "int64_t", "16",
           "Most queries of an attention; the rows of more than one are copied">];
  let dependentDialects = ["arith::ArithDialect", "linalg::LinalgDialect",
                           "memref::MemRefDialect"];
}

def FAAppendToLoops : Pass<"fa-append-to-loops"> {
  let summary = "Write new keys and values into a cache by loops";
  let description = [{
    Replaces each `fa.append` on memrefs by a parallel loop over (sequence, block
    of 64 new rows). A block checks what says where its sequence is, starts,
    lengths and pages, and does nothing where that is none that can be. Else it
    writes row by row: all key heads of one row lie in one page. Copies and turns
    of a row are `linalg.generic`, so any target can take what results.

    Fails where an append is on tensors: `fa-results-to-out-parameters` makes
    memrefs.

    Before:

    ```mlir
    fa.append ins(%k, %v : ...) outs(%keys, %values : ...) key_lengths(%lengths : ...)
        rotary halves(%cos, %sin : ...)
    ```

    After (`...` for strided types):

    ```mlir
    scf.forall (%b, %i) = (0, 0) to (%batches, %rows) step (1, 64) {
      ...
      scf.if %can_be {
        scf.for %row = %first to %end step %c1 {
          %x = memref.subview %k[%b, %row, 0, 0] [1, 1, 2, 32] [1, 1, 1, 1] : ...
          %y = memref.subview %k[%b, %row, 0, 32] [1, 1, 2, 32] [1, 1, 1, 1] : ...
          ...
          linalg.generic ... ins(%x, %y, %cos1, %sin1 : ...) outs(%x1, %y1 : ...)
          linalg.generic ... ins(%v1 : ...) outs(%v2 : ...)
        }
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def FAPlacePages : Pass<"fa-place-pages"> {
  let summary = "Find the memory of key blocks that lie in pages";
  let description = [{
    Replaces each slice of `fa.paged_rows` by memory that holds its rows. Where
    they lie in one page, that is a slice of the page, and nothing is copied. Where
    they do not, the rows are copied to scratch memory of the parallel loop, which
    each block uses again.

    Fails where `fa.paged_rows` is read other than by slices of a number of rows
    with a known bound: `fa-specialize-mask` makes such slices, a key block each.

    Before:

    ```mlir
    %k = fa.paged_rows %pool[%h] pages(%table[%b]) count(%n) ... : memref<?x16x2x64xf32>, ...
    %block = memref.subview %k[0, %j, 0, 0] [1, %rows, 1, 64] [1, 1, 1, 1] : ...
    ```

    After:

    ```mlir
    %memory = scf.if %is_in_one_page -> (memref<1x?x1x64xf32, strided<[?, ?, ?, 1], offset: ?>>) {
      %slice = memref.subview %pool[%page, %row, %h, 0] [1, %rows, 1, 64] [1, 1, 1, 1] : ...
      ...
    } else {
      ... // copies %rows rows to %scratch, by pages
    }
    %block = memref.subview %memory[0, 0, 0, 0] [1, %rows, 1, 64] [1, 1, 1, 1] : ...
    ```
  }];
  let dependentDialects = ["affine::AffineDialect", "arith::ArithDialect",
                           "memref::MemRefDialect", "scf::SCFDialect",
                           "vector::VectorDialect"];
}

def FATile : Pass<"fa-tile"> {
  let summary = "Tile attention into query blocks of one head";
  let description = [{
    Replaces each `fa.attention` by an `scf.forall` over (batch, query head,
    query block) around an `fa.attention` of one query block, by its
    `TilingInterface`; rows of a block come from its config. Works on memrefs
    and on tensors. The last query block holds what is left; where the queries
    are static and a multiple of the block, types stay static. Query head `h`
    reads key head `h floordiv (heads / key heads)`. Offsets and extents keep
    the indices that the regions see absolute; lengths and captures are not
    sliced. An attention in an `scf.forall` that is one query block already is
    left alone. An `fa.combine` outside of an `scf.forall` becomes one over
    (batch, head, block of queries) in the same way.

    Packed queries (on memrefs) have `rows / block + batch` slots of each head.
    Sequence `i` has those from `starts[i] / block + i` on, up to those of the
    next one, which a tile finds by binary search:

    ```mlir
    scf.forall (%t) in (%tiles) {           // before: (batch, head, all rows / block)
      %slot = arith.divui %t, %heads : index
      %b:2 = scf.while (%first = %c0, %end = %batch) : (index, index) -> (index, index) { ... }
      ...                                   // head and block, by the tile's place in the sequence
    }
    ```

    A tile of packed sequences or pages sees one sequence: slices of its rows, or
    `fa.paged_rows`. A sequence whose starts, lengths or pages are out of bounds
    has no keys and a sink of NaN.

    Fails where an attention has no config or still has `key_splits` above 1.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : memref<2x?x8x64xf32>, memref<2x?x2x64xf32>, memref<2x?x2x64xf32>)
        outs(%o : memref<2x?x8x64xf32>)
        {config = #fa.config<query_block = 64, key_block = 128>}
    ```

    After (`...` for strided types):

    ```mlir
    scf.forall (%b, %h, %i) = (0, 0, 0) to (2, 8, %queries) step (1, 1, 64) {
      %rows = affine.min affine_map<(d0)[s0] -> (-d0 + s0, 64)>(%i)[%queries]
      %kh = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%h)
      %q1 = memref.subview %q[%b, %i, %h, 0] [1, %rows, 1, 64] [1, 1, 1, 1] : ...
      %k1 = memref.subview %k[%b, 0, %kh, 0] [1, %keys, 1, 64] [1, 1, 1, 1] : ...
      %v1 = memref.subview %v[%b, 0, %kh, 0] [1, %keys, 1, 64] [1, 1, 1, 1] : ...
      %o1 = memref.subview %o[%b, %i, %h, 0] [1, %rows, 1, 64] [1, 1, 1, 1] : ...
      fa.attention ins(%q1, %k1, %v1 : ...) outs(%o1 : ...)
          offsets(%b, %h, %i, %c0) extents(%queries, %keys)
          {config = #fa.config<query_block = 64, key_block = 128>}
    }
    ```
  }];
  let options = [Option<"combineRows", "combine-rows", "int64_t", "64",
                        "Queries in a block of fa.combine, which has no config">];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAConvertToOnline : Pass<"fa-convert-to-online"> {
  let summary = "Turn attention on one query block into online softmax";
  let description = [{
    Replaces each `fa.attention` of one batch and one head by the initial state
    of online softmax, one `fa.online_attention` over all valid keys, and
    `fa.finalize`. The state has `query_block` rows of the config, so that its
    type is static; without a config it has a row for each query. Where the
    operation has lengths, those of its batch are read here: queries, keys and
    values shrink to the valid ones, the extents become the valid lengths, and
    `fa.finalize` leaves the other rows alone. Works on memrefs and on tensors.

    Of a piece of the keys, as by an offset or an extent that is not the size of
    the operand, the second extent is where its valid keys end among all of them;
    regions that ask for the number of all keys capture it.

    Fails where an attention has more than one batch or head, or where its
    queries are not proven to fit the query block: `fa-tile` comes first.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : memref<1x?x1x64xf32>, memref<1x?x1x64xf32>, memref<1x?x1x64xf32>)
        outs(%o : memref<1x?x1x64xf32>) key_lengths(%lengths : memref<2xi32>)
        offsets(%b, %h, %i, %c0) extents(%queries, %keys)
        {config = #fa.config<query_block = 64, key_block = 128>}
    ```

    After (`...` for types and the fills of the state):

    ```mlir
    %length = memref.load %lengths[%b] : memref<2xi32>
    %valid = ... // %length as index, within 0 and %keys
    %k1 = memref.subview %k[0, 0, 0, 0] [1, %valid, 1, 64] [1, 1, 1, 1] : ...
    %v1 = memref.subview %v[0, 0, 0, 0] [1, %valid, 1, 64] [1, 1, 1, 1] : ...
    %acc, %max, %sum = fa.online_attention ins(%q, %k1, %v1 : ...)
        outs(%acc0, %max0, %sum0 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>)
        offsets(%b, %h, %i, %c0) extents(%queries, %valid)
        {config = #fa.config<query_block = 64, key_block = 128>}
    fa.finalize ins(%acc, %max, %sum : ...) outs(%o : memref<1x?x1x64xf32>)
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FASpecializeMask : Pass<"fa-specialize-mask"> {
  let summary = "Visit only the keys that the mask leaves";
  let description = [{
    Replaces each `fa.online_attention` over all keys by `fa.key_ranges` around
    one over a key block. The ranges come from the mask: what no query of the
    block sees is in none of them, what every query sees is in a `full` one as
    far as whole key blocks go. They are computed in closed form over sizes,
    offsets, lengths and captured scalars, which may all be dynamic:

    | mask | ranges |
    |---|---|
    | none | full, partial (the ragged tail) |
    | causal, prefix | full, partial |
    | window | partial, full, partial |
    | first keys or window | partial, partial, full, partial |
    | documents | partial |
    | documents and causal | partial, to the diagonal |

    A query block without queries visits nothing. A part of the mask that is
    neither linear in the key nor monotonic in the query bounds nothing; a
    remark (`--remarks-filter=fa-specialize-mask`) names the operation, and the
    mask region decides inside the ranges that remain. Sums of fewer than 64
    bits may wrap: where nothing shows that they do not, as with a captured i32,
    the ranges hold if the sums at both ends of the block fit, and every key is
    visited otherwise.

    Before:

    ```mlir
    %acc, %max, %sum = fa.online_attention ins(%q, %k, %v : ...)
        outs(%acc0, %max0, %sum0 : ...) offsets(%b, %h, %row, %c0)
        extents(%queries, %keys) mask causal
        {config = #fa.config<query_block = 64, key_block = 128>}
    ```

    After:

    ```mlir
    // %diagonal: one past the last key that the last query sees;
    // %complete: what the first query sees, down to a multiple of 128.
    %acc, %max, %sum = fa.key_ranges (%key, %count) =
        [full %c0 to %complete, partial %complete to %diagonal] step 128
        iter_args(%a = %acc0, %m = %max0, %s = %sum0) -> (...) {
      %k1 = memref.subview %k[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : ...
      %v1 = memref.subview %v[0, %key, 0, 0] [1, %count, 1, 64] [1, 1, 1, 1] : ...
      %r:3 = fa.online_attention ins(%q, %k1, %v1 : ...) outs(%a, %m, %s : ...)
          offsets(%b, %h, %row, %key) extents(%queries, %keys) mask causal
      fa.yield %r#0, %r#1, %r#2 : ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FASelectConfig : Pass<"fa-select-config"> {
  let summary = "Choose how each attention is tiled";
  let description = [{
    Sets `config` where an `fa.attention` has none, from the tables of the
    target (`lib/Target/*.def`): by head dims, element type, on a CPU the number
    of queries where it is static, on a GPU whether there is a mask. Of a GPU's
    rows the first one is taken whose form the problem can have, and that fits
    the registers of a thread and the shared memory of a block; captured values
    that the regions read at each key or pair, and functions that they compute
    on pairs, count as registers. Rows from so many keys on become `longer`
    ones where that row has them and there is neither a score function nor a mask
    of several bounds; those in clusters also ask for so many queries that blocks
    that only fill up a cluster are few. Of static numbers of keys and queries the
    one that is for them remains.
    On this machine keys are split (`key_splits`) where types tell that query blocks
    are fewer than its threads and keys are many, or from so many keys on.
    A gradient also gets a form: on this machine `one_pass`, where key heads keep
    its threads busy, else `two_pass`.
    A config given by hand is kept; what it leaves to the target is filled in, and one that
    needs more than the target has is refused with the need, the limit and the
    nearest legal choice. A remark (`--remarks-filter=fa-select-config`) says
    which row was taken, which ones were not and why, and on a GPU what the
    config takes of what there is.

    `chip=cpu` is this machine; other names choose for a machine elsewhere.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
    ```

    After, with `chip=avx2`:

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
        {config = #fa.config<query_block = 64, key_block = 128,
                             target = #fa.cpu<lanes = 8, register_rows = 6, register_vectors = 2>>}
    ```

    With `chip=sm_90a` and head dim 128:

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
        {config = #fa.config<query_block = 128, key_block = 128,
            target = #fa.gpu<warp_groups<groups = 2, overlap = tiles<turns>, copying_registers = 40>, stages = 2>,
            longer = #fa.config<query_block = 128, key_block = 176,
                target = #fa.gpu<warp_groups<groups = 2, overlap = keys, cluster = 2, copying_registers = 40>, stages = 2>,
                from_keys = 6144, from_queries = 4096>>}
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"cpu\"",
           "cpu (this machine), avx512, avx2, sse, neon, sm_80, sm_86, sm_89, "
           "sm_90, sm_90a, sm_100 or sm_120">
  ];
}

def FANaive : Pass<"fa-naive"> {
  let summary = "Turn attention into standard attention with all scores";
  let description = [{
    Replaces each `fa.attention` by an `scf.forall` over batches and heads that
    computes attention in the order of its definition, with the scores of a
    whole head in memory (queries x keys, f32). It is the baseline that online
    softmax is measured against, and checks it: beyond the tiling of batches
    and heads it shares no code with the other passes. Works on tensors and on
    memrefs; a config is ignored. `fa-naive-to-cpu` makes machine code of it.

    Before:

    ```mlir
    fa.attention ins(%q, %k, %v : ...) outs(%o : ...) mask causal
    ```

    After (`...` for maps, types and bodies):

    ```mlir
    scf.forall (%b, %h) in (2, 8) {
      %kt = memref.alloc(%keys) : memref<64x?xf32>
      linalg.generic ... ins(%k2) outs(%kt)           // transpose
      %s = memref.alloc(%queries, %keys) : memref<?x?xf32>
      linalg.generic ... ins(%q2, %kt) outs(%s)       // products
      linalg.generic ... outs(%s)                     // scale, score, mask
      linalg.generic ... ins(%s) outs(%max)
      linalg.generic ... ins(%max) outs(%s)           // exp(s - max)
      linalg.generic ... ins(%s) outs(%sum)
      linalg.generic ... ins(%s, %v2) outs(%acc)      // products
      linalg.generic ... ins(%acc, %sum) outs(%o2)    // quotient
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // FA_DIALECT_FA_TRANSFORMS_PASSES_TD
