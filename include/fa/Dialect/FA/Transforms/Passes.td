//===- Passes.td - Passes on the fa dialect ------------------------------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes to level 2; those on functions, problems and blocks are in the
// files included here. Read FASelectConfig, FATile, FAConvertToOnline and
// FASpecializeMask in this order, as fa-to-level2 runs them; FATileGradient and
// FAScatterToLoops are for gradients. FANaive is the way without tiling.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"
include "fa/Dialect/FA/Transforms/BlockPasses.td"
include "fa/Dialect/FA/Transforms/FunctionPasses.td"
include "fa/Dialect/FA/Transforms/ProblemPasses.td"

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
    (`fa.finalize_gradient`). Step 2 is there twice, and the numbers of heads choose
    where they come at run time: one query head a key head needs no loop.

    Gradients of captures, and of the scale, are added to in step 3, or in
    `one_pass` in step 2. Where batch, head or query index the same dimension of
    a capture in all its loads, no two iterations of that dimension share an
    element. Else iterations get tables of their own, which are added up in order
    behind the loops: batches and heads where at most one index differs between
    pairs, blocks of queries where none does. Dimensions with neither become
    sequential loops of their own. Gradients have the same bits in each run, but
    for those of queries in `one_pass` on a GPU. There all blocks add to one f32
    table in any order: blocks of queries, or of keys in `one_pass` and for elements
    that keys alone index. A 16-bit gradient whose elements are of one pair each, and
    whose rows bulk copies take, is stored instead: no table, no conversion.

    Gradients of what a sink captures are added row by row behind step 1. Heads are
    parallel where the head is an index of all that a capture is added to.

    Fails where a gradient has no config or is on tensors, or where a score, or a
    sink with a gradient, has no region of its gradient.

    Blocks of keys are those of `fa.gradient_keys` on the operation, a
    `#fa.config` that `fa-select-config` sets where a target wants others there.
    On a GPU numbers of query rows have memory for whole blocks.

    Packed sequences are a sequential loop around gradients of their rows. On a GPU
    loops go over slots instead, of which all rows of the operands have enough
    wherever sequences start, and each iteration finds its sequence. Numbers of query
    rows begin with a slot for each sequence. Rows of no sequence have slots too:
    their gradient is 0. With `warp_groups`, loops whose queries and keys are both
    packed, and that sum up nothing for captures, go over lists, in which a loop
    ahead writes the blocks that there are. The list of the loop that prepares rows
    is in the order of sequences; other lists begin with the longest sequence.

    Where a GPU's configuration is `deterministic`, no two threads add to one
    element of the gradient of a capture or of the scale. Pairs, rows of queries
    and rows of keys that index elements have these to themselves; of what all
    pairs of a block share each warp has a part. Batches, heads and blocks that
    share elements have parts too, which a `linalg.generic` adds up afterwards.

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
    one that is for them remains. Packed sequences without a mask and a score
    function have smaller key blocks where they are short in the mean.
    On this machine keys are split (`key_splits`) where types tell that query blocks
    are fewer than its threads and keys are many, or from so many keys on.
    A gradient also gets a form: on this machine `one_pass`, where key heads keep
    its threads busy, else `two_pass`. On sm_90a that of a causal mask has a
    `longer` one at head dim 128, of more queries a step. Packed sequences that are
    short in the mean take two passes there.
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
