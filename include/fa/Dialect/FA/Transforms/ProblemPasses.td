//===- ProblemPasses.td - What becomes of a problem before tiling ---------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention into other attention: versions by bounds and lengths, parts of the
// keys, rows of several heads, keys in pages, appended rows. fa-to-level2 runs
// FAPackHeads first, then versions, parts of the keys and FAAppendToLoops.
// FAPlacePages belongs to the CPU pipeline and runs behind tiling.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PROBLEMPASSES_TD
#define FA_DIALECT_FA_TRANSFORMS_PROBLEMPASSES_TD

include "mlir/Pass/PassBase.td"

def FAVersionBounds : Pass<"fa-version-bounds"> {
  let summary = "Choose a version of attention whose scores are known to be small";
  let description = [{
    An `fa.attention` on a GPU whose scores are a captured number times a tanh, and
    whose weights are rounded to 16 bits, becomes two: where the function runs with
    a number from -50 to 50, the first, in which it is held to that. Scores of this
    version have a bound, so that the tanh may be expanded (fagpu-expand-tanh), and
    weights of bf16 need no running maximum (fagpu-drop-maximum). A number that
    is not in the range, or that is no number, takes the other version. Few calls
    do, and all wait for its machine code: on groups of warps its key blocks have 64
    keys where they would have 128, and a remark says so.

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
    An `fa.attention`, or `fa.attention_gradient`, whose config has `longer` ones
    becomes one version for each, and numbers choose between them where the
    function runs. The longest comes first that has at least `from_keys` keys and
    `from_queries` queries, of packed sequences in the mean. A `one_pass` by groups
    of warps behind another is for as many key heads as query heads
    (`fa.same_heads`): others are slower with more queries a step. A static number
    is not asked for, and configs that it rules out get no version; a remark names
    those that heads rule out. Each version compiles kernels of its own, which
    takes up to 1.7 times as long. Works on memrefs and on tensors.

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
    Parts by number are of one size: of whole key blocks on a CPU, and on a GPU of
    a multiple of 8 keys, or of the pages that one copy takes.

    Where only the device knows lengths, groups of warps on a GPU compute *shares*,
    unless results are `batch_invariant` or the host sees one sequence. The keys of
    all sequences stand in a line, which is cut every `multiprocessors / (heads x
    query blocks)`-th part: every block of threads has as many keys, of one or of
    several sequences. A loop of its own lists the parts (`fagpu.work_list`), with
    an iteration for each sequence. An item has the sequence, its length, head,
    query, first key, keys and slot. One that is its whole sequence stores the
    result, and no partial one. The others are merged: a merge for each sequence,
    or for each share if there are fewer. No number comes back to the host. Memory:
    (sequences + shares) results in f32 of all heads and queries, and as many items of 32 bytes
    for each head and query block. At least two thirds of the device have to have a
    share; else parts are as they are for the longest possible sequence.

    Few sequences, whose queries two groups of warps have, get blocks of one group
    each. Two of them read the same keys, and half as many parts are merged, or none.
    All blocks fit the device. Up to head dim 128 they fill five sixths of it, if there
    are keys enough.

    | head dim | most keys of all heads and sequences | without parts |
    |---|---|---|
    | to 64 | 65,536 | 131,072 |
    | to 128 | 262,144 | 524,288 |
    | above | 524,288 | 1,048,576 |

    Not in pages, and not of f32. Of sequences that would have a list just one.

    After, for shares:

    ```mlir
    %list = fagpu.workspace(%words) {fagpu.work_list} : memref<?xi32>
    scf.forall (%b) in (%sequences) {
      %before, %all = scf.parallel (%other) = ... // units of keys ahead, and of all
      scf.parallel (%item) = ... { memref.store %b, %list[%word] ... }
    }
    %n = memref.load %list[%c0] : memref<?xi32>
    scf.forall (%item) in (%count) { // at most %n
      %b = memref.load %list[...] ...
      fa.attention ... outs(%o1, %lse1 : ...) // slot
      %t:3 = fa.add_partial ins(%o1, %lse1 : ...) outs(...)
      fa.finalize ins(%t#0, %t#1, %t#2 : ...) outs(%o2 : ...) // no rows, if not whole
    }
    scf.forall (%b, %h, %i) ... // as below, of the sequence's own slots
    ```

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

    Left alone are attentions on tensors, with a dynamic number of heads, with
    `query_lengths` or `query_starts`, and pieces of a problem; where no sequences
    share keys, with more or a dynamic number of queries, too.

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

#endif // FA_DIALECT_FA_TRANSFORMS_PROBLEMPASSES_TD
