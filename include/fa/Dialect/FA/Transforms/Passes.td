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

def FAResultsToOutParameters
    : Pass<"fa-results-to-out-parameters", "::mlir::ModuleOp"> {
  let summary = "Turn the tensors of functions into memrefs";
  let description = [{
    Level 0 to 1. Tensor arguments become memrefs that are only read; tensor
    results become further arguments, after the others and in their order, whose
    first values are not read; scalar results stay. Attributes of a result move to
    its argument. The caller keeps arguments and out-parameters apart in memory.

    All these memrefs have free offset and strides, but for one dimension of
    stride 1: the head dim of an operand or result of `fa.attention`, the last
    dimension of anything else.

    An attention whose result is returned writes to the out-parameter, without
    a copy or a temporary: whatever its destination was where all of it is
    overwritten; else (with `query_lengths`) the destination is copied into the
    out-parameter first, unless it is a `tensor.empty`. What is no result, and
    does not become one by updates in place, lies in temporary memory, freed at
    the end. The rest of the body goes through upstream's one-shot bufferization;
    copies are `linalg.copy`.

    Arithmetic on whole tensors beside an attention becomes `linalg.generic`. An
    attention may be in an `scf.for`, which then updates what it carries in
    place, or in an `scf.if`, both branches of which write to the same memory.

    Fails on functions of several blocks, on unranked tensors, on calls
    that pass tensors, which are to be inlined first, and where another
    operation with regions returns a tensor.

    Before:

    ```mlir
    func.func @attention(%q: tensor<2x?x8x64xf32>, %k: tensor<2x?x8x64xf32>, %v: tensor<2x?x8x64xf32>,
                         %n: index) -> tensor<2x?x8x64xf32> {
      %init = tensor.empty(%n) : tensor<2x?x8x64xf32>
      %o = fa.attention ins(%q, %k, %v : ...) outs(%init : tensor<2x?x8x64xf32>)
      return %o : tensor<2x?x8x64xf32>
    }
    ```

    After (`...` for the same types):

    ```mlir
    func.func @attention(%q: memref<2x?x8x64xf32, strided<[?, ?, ?, 1], offset: ?>>, %k: ..., %v: ...,
                         %n: index, %o: memref<2x?x8x64xf32, strided<[?, ?, ?, 1], offset: ?>>) {
      fa.attention ins(%q, %k, %v : ...) outs(%o : ...)
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAVerifyLowered : Pass<"fa-verify-lowered", "::mlir::ModuleOp"> {
  let summary = "Refuse what a lowering has left over";
  let description = [{
    Ends each pipeline that leads to the LLVM dialect. Changes nothing. The first
    operation that is not of the LLVM or NVVM dialect is an error, which says how
    to lower it; `builtin.unrealized_conversion_cast` only if nothing else is left.
    Transform scripts are skipped. With `kernels-only` functions of the LLVM dialect
    alone are looked at, as host functions beside kernels stay what they are.

    Before, from `fa-to-cpu`:

    ```mlir
    linalg.softmax dimension(1) ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
    ```

    After:

    ```
    error: 'linalg.softmax' op has no lowering to the LLVM dialect; lower it to
    linalg.generic before, or write the attention it is part of as fa.attention
    ```
  }];
  let options = [
    Option<"kernelsOnly", "kernels-only", "bool", /*default=*/"false",
           "Look at functions of the LLVM dialect alone">
  ];
}

def FADifferentiate : Pass<"fa-differentiate", "::mlir::ModuleOp"> {
  let summary = "Make the gradients of functions with attention";
  let description = [{
    For a function `@f` on tensors makes `@f_vjp`: given the arguments and the
    gradients of the float results, it returns those of the float arguments. It
    holds a copy of `@f` and saves the `lse` of each attention; nothing has the
    size of queries times keys.

    Known are `fa.attention`, arith and math on scalars and tensors, linalg whose
    destinations are overwritten or added to, slices, casts, `expand_shape` and
    `collapse_shape`. Anything else between an argument and a result is an error
    at its place. Gradients of linalg are `linalg.generic` over the same loops,
    summed in f32 where elements are narrower.

    Before:

    ```mlir
    func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
      %o = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%init : !q)
      return %o : !q
    }
    ```

    After:

    ```mlir
    func.func @f_vjp(%q: !q, %k: !k, %v: !k, %do: !q) -> (!q, !k, !k) {
      %o, %lse = fa.attention ins(%q, %k, %v : !q, !k, !k) outs(%init, %init_lse : !q, !row)
      %dq, %dk, %dv = fa.attention_gradient ins(%q, %k, %v : !q, !k, !k) of(%o, %lse : !q, !row)
          gradients(%do : !q) outs(query = %0 : !q, key = %1 : !k, value = %2 : !k)
      return %dq, %dk, %dv : !q, !k, !k
    }
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"",
           "Function to differentiate; all with an attention if not given">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FADifferentiateScore : Pass<"fa-differentiate-score"> {
  let summary = "Derive gradients of score functions";
  let description = [{
    Gives `fa.attention_gradient` the region `score_gradient` where its score has
    none: reverse mode over the operations of `score`. Loads of captures that have
    a gradient among `outs` become `fa.scatter_gradient`.

    Comparisons, integers, `floor`, `ceil`, `round`, `roundeven` and `trunc` have
    the gradient 0. Of equal operands a maximum or minimum chooses the first. A
    gradient of 0, as that of a value that `select` leaves out, stays 0 where the
    derivative is infinite or NaN. Gradients of f16 and bf16 values are f32. What
    has no gradient, as a cast to integers that reaches the result, is an error at
    its place.

    Before:

    ```mlir
    score(%s, %b, %h, %i, %j) {
      %x = math.tanh %s : f32
      fa.yield %x : f32
    }
    ```

    After:

    ```mlir
    score(...) {...} score_gradient(%dx, %s, %b, %h, %i, %j) {
      %x = math.tanh %s : f32
      %one = arith.constant 1.0 : f32
      %square = arith.mulf %x, %x : f32
      %slope = arith.subf %one, %square : f32
      %ds = arith.mulf %dx, %slope : f32
      fa.yield %ds : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FATruncateIndices : Pass<"fa-truncate-indices"> {
  let summary = "Cut indices to fewer bits by truncations";
  let description = [{
    A cast of an index to fewer bits cuts it, but folds away with one back to
    `index`. In score and mask regions what may be cut is cast to i64 and then
    truncated, which does not fold. Batches, heads, queries, keys and lengths are
    below 2^30: casts of them to 31 bits and more stay.

    To run before anything that folds.

    Before:
    ```mlir
    %byte = arith.index_cast %j : index to i8
    %rest = arith.index_cast %byte : i8 to index
    ```
    After:
    ```mlir
    %0 = arith.index_cast %j : index to i64
    %byte = arith.trunci %0 : i64 to i8
    %rest = arith.index_cast %byte : i8 to index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGuardDivisors : Pass<"fa-guard-divisors"> {
  let summary = "Hold divisors of regions to what a processor divides by";
  let description = [{
    Score and mask regions are evaluated for pairs that do not exist, too, where
    what is loaded reads as 0, and a captured number may be 0. An
    `arith.remsi`, `remui` or `floordivsi` by a divisor that is not known to
    be another number divides by 1 in place of 0, and in place of -1 where the dividend
    may be the least number of its type, which has no opposite. A quotient by -1
    is then the difference of 0 and the dividend. Other divisions have constants
    for divisors.

    To run before what expands regions: fa-apply-to-linalg, fa-naive and
    fa-decompose-to-blocks. Pipelines do.

    Before:
    ```mlir
    %rest = arith.remui %j, %stride : index
    ```
    After:
    ```mlir
    %none = arith.cmpi eq, %stride, %c0 : index
    %divisor = arith.select %none, %c1, %stride : index
    %rest = arith.remui %j, %divisor : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

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

def FASplitKV : Pass<"fa-split-kv"> {
  let summary = "Split the keys of attention into parts";
  let description = [{
    For few queries and many keys. Replaces each `fa.attention` whose config has
    `key_splits` above 1 by an `scf.forall` over that many parts of the keys,
    each an `fa.attention` of its own that writes f32 results and an lse to
    temporary memory, and merges them by `fa.combine`, one part after the other,
    so that results are the same from run to run. A part is a multiple of
    `key_block` keys; the last ones may be short or empty. Offsets keep the
    indices absolute, and key lengths apply to them. Works on memrefs and on
    tensors.

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
    Replaces each `fa.scatter_add` by two loops over the pairs of its block. The
    indices of a pair are computed in the inner one, and compared with the sizes
    of the memory. What the pairs of a row, or all pairs, add to one element is
    summed first. The order of rows, then columns, gives a sum the same bits in
    each run. Fails where the numbers or the captures
    are tensors.

    Before:

    ```mlir
    fa.scatter_add %x : memref<64x?xf32> to %rows : memref<256xf32>
        offsets(%b, %h, %i, %j) extents(%queries, %keys) pairs(%batch, %head, %query, %key) {
      fa.yield %query : index
    }
    ```

    After:

    ```mlir
    scf.for %r = %c0 to %c64 step %c1 {
      %value = scf.for %c = %c0 to %columns step %c1 iter_args(%s = %zero) -> (f32) {
        %x1 = memref.load %x[%r, %c] : memref<64x?xf32>
        %s1 = arith.addf %s, %x1 : f32
        scf.yield %s1 : f32
      }
      %query = arith.addi %i, %r : index
      %inside = arith.cmpi ult, %query, %c256 : index
      scf.if %inside {
        %old = memref.load %rows[%query] : memref<256xf32>
        %sum = arith.addf %old, %value : f32
        memref.store %sum, %rows[%query] : memref<256xf32>
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
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

    Gradients of captures, and of the scale, are added to in step 3. Where batch,
    head or query index the same dimension of a capture in all its loads, no two
    iterations of that dimension share an element, and it stays parallel; the
    others become sequential loops. Gradients have the same bits in each run.

    Fails where a gradient has no config or is on tensors, or where a score has
    no region of its gradient.

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
