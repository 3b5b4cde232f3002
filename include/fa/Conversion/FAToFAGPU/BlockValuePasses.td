//===- BlockValuePasses.td - Steps as block values ---------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step computes, as arithmetic on block values. FADecomposeToBlocksPass
// makes it; the passes behind it, up to FAGPUSkipFirstRescalePass, rewrite the
// online softmax in the order in which they run, and two more are peepholes.
// FAFormSegmentsPass makes the loop over key blocks, at the end.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FATOFAGPU_BLOCKVALUEPASSES_TD
#define FA_CONVERSION_FATOFAGPU_BLOCKVALUEPASSES_TD

include "mlir/Pass/PassBase.td"

def FADecomposeToBlocksPass
    : Pass<"fa-decompose-to-blocks", "::mlir::func::FuncOp"> {
  let summary = "Turn steps of online softmax into operations on block values";
  let description = [{
    In kernels, a step becomes: fetch the keys, multiply, apply the score region,
    hide what the mask region hides, update the statistics, fetch the values,
    multiply. Regions become arithmetic on block values: what depends on neither
    query nor key stays a scalar, what depends on one of them is a vector.
    Head dims are filled up with zeros to multiples of 16, by `columns`; `align`
    is what rows are that lie one after the other.
    Captured tensors are loaded by `fagpu.gather`, guarded by their bounds; with
    `captures = tiles` what the score region reads of them at (query, key) is a
    padded `fagpu.fetch`. The mask stands under `fa.is_partial`. Operands keep the order of their
    dimensions, the head dim last: a box has its rows where the sequence lies.

    Nothing is decided here. The step is written as the algorithm has it: scores
    times their scale, a running maximum, exponentials, one sum a row. The passes
    that follow rewrite it: fagpu-drop-maximum, fagpu-exponents-to-base2,
    fagpu-skip-empty-row-check, fagpu-partial-sums and fagpu-skip-first-rescale.
    Groups of the role take equal parts of the rows: what stands here is of one
    group. A default scale is marked by `fa.default_scale`.

    Steps of gradients become both products of their pairs, the weights, the
    gradients of scores, and the products that add to the state. Rows are queries
    (`fa.gradient_queries`) or keys (`fa.gradient_keys`, where lse and delta come
    as vectors of columns). Exponents are of base 2: `fa.prepare_gradient` stores
    lse times log2(e). What a mask hides is set to 0 behind the products. Blocks
    of query rows are stored and fetched whole: fa-tile-gradient gives them
    memory. What the region scatters to gradients of captures, and gradients times
    products for the scale, are summed up by warps or rows where their pairs share
    an element, and added by `fagpu.scatter_add`. The captures of
    `fa.capture_boxes` take boxes of pairs, by `fagpu.store`.

    Before:
    ```mlir
    %acc1, %m1, %l1 = fa.online_attention ins(%q, %k, %v : ...)
        outs(%acc, %m, %l : tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>) ...
    ```
    After:
    ```mlir
    %k = fagpu.fetch %key[%b, %j, %h, %c0] [1, 64, 1, 128] rows(%end) : !mem -> tensor<64x128xbf16>
    %s = fagpu.product nt %q, %k : tensor<128x128xbf16>, tensor<64x128xbf16> -> tensor<128x64xf32>
    ...
    %m1 = arith.maxnumf %m, %blockMaximum : !row
    %p = math.exp %shifted fastmath<afn> : tensor<128x64xf32>
    %l1 = math.fma %l, %alpha, %blockSum : !row
    ...
    %acc1 = fagpu.product nn %ph, %v acc(%scaled : tensor<128x128xf32>) : ...
    ```
    Before:
    ```mlir
    %dk1, %dv1 = fa.gradient_keys ins(%q, %k, %v, %do : ...) rows(%lse, %delta : ...)
        outs(key = %dk, value = %dv : tensor<128x128xf32>, tensor<128x128xf32>) ...
    ```
    After:
    ```mlir
    %q1 = fagpu.fetch %q[%b, %i, %h, %c0] [1, 80, 1, 128] rows(%end) : !mem -> tensor<80x128xbf16>
    %s = fagpu.product nt %k1, %q1 : tensor<64x128xbf16>, tensor<80x128xbf16> -> tensor<64x80xf32>
    %l = fagpu.fetch %lse[%b, %h, %i] [1, 1, 80] : memref<?x?x?xf32> -> !col
    ...
    %p = math.exp2 %x fastmath<afn> : tensor<64x80xf32>
    %do1 = fagpu.fetch %do[%b, %i, %h, %c0] [1, 80, 1, 128] rows(%end) : !mem -> tensor<80x128xbf16>
    %dp = fagpu.product nt %v1, %do1 : ...
    ...
    %ds = arith.mulf %p, %centered : tensor<64x80xf32>
    %dv1 = fagpu.product nn %ph, %do1 acc(%dv : tensor<64x128xf32>) : ...
    %dk1 = fagpu.product nn %dsh, %q1 acc(%dk : tensor<64x128xf32>) : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUDropMaximumPass
    : Pass<"fagpu-drop-maximum", "::mlir::func::FuncOp"> {
  let summary = "Take exponents of bounded scores from 0";
  let description = [{
    A step needs no running maximum where its scores have a small bound, such as a
    multiple of a tanh. Exponents are then taken from 0, weights are powers of 2,
    and nothing is rescaled. Factors of scores are multiplied with log2(e) before.

    It applies to weights of bf16 whose exponents to base 2 lie between -73 and 73:
    powers and sums stay in the range. Elements of values are then to be 0 or of
    magnitudes from 2^-48 to 2^24. A remark says whether it applies.

    The largest weight of a row is no 1 then, and rounded for the product. Where lse
    is stored, the result is divided by a sum that has this weight rounded too, so
    that one key gives its value exactly. With an approximate tanh it is not.

    Before:
    ```mlir
    %m1 = arith.maxnumf %m, %blockMaximum : !row
    %shifted = arith.subf %hidden, %references : !scores
    %p = math.exp %shifted fastmath<afn> : !scores
    %l1 = math.fma %l, %alpha, %sum : !row
    %a1 = arith.mulf %a, %alphas : !acc
    ```
    After, where `%hidden` is of scores times log2(e):
    ```mlir
    %p = math.exp2 %hidden fastmath<afn> : !scores
    %l1 = arith.addf %l, %sum : !row
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FAGPUExponentsToBase2Pass
    : Pass<"fagpu-exponents-to-base2", "::mlir::func::FuncOp"> {
  let summary = "Write weights as powers of 2";
  let description = [{
    A GPU computes powers of 2. Exponents are multiplied with log2(e), and what is
    subtracted from them with it: one `math.fma`. A last factor of all scores joins
    log2(e) where it is known not to be negative, is the same for all key blocks,
    and its product has `fastmath<reassoc>`. The maximum is then one of scores
    without the factor, which lse is multiplied with. With `fa.default_scale` the
    factor is 1/sqrt(head dim) and not rounded before.

    Scores of a function may be so large that the rounding of their maximum times
    log2(e) overflows. A row whose maximum has a size above 2^27 has the factor 1
    for log2(e): scores are 16 apart there. A factor of all scores stays then.

    Before:
    ```mlir
    %x = arith.mulf %s, %scales fastmath<contract, reassoc> : !scores
    %d = arith.subf %x, %references : !scores
    %p = math.exp %d fastmath<afn> : !scores
    %lse = arith.addf %m, %ln : !row
    ```
    After, with `%c` = scale times log2(e):
    ```mlir
    %e = math.fma %s, %c, %minusReferencesTimesC : !scores
    %p = math.exp2 %e fastmath<afn> : !scores
    %lse2 = math.fma %m, %c, %log2 : !row
    %lse = arith.mulf %lse2, %ln2 : !row
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::fagpu::FAGPUDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FAGPUSkipEmptyRowCheckPass
    : Pass<"fagpu-skip-empty-row-check", "::mlir::func::FuncOp"> {
  let summary = "Look for rows without a key in partial blocks only";
  let description = [{
    Exponents are taken from the maximum of a row, or from 0 while the row has seen
    no key. Where scores are products, perhaps times one number, each row of a full
    block has a key, so that only partial blocks choose. Any other score may be
    -inf by its function, and the choice stays.

    Before:
    ```mlir
    %isNone = arith.cmpf oeq, %m1, %none : !row
    %reference = arith.select %isNone, %zero, %m1 : !rowBits, !row
    ```
    After:
    ```mlir
    %partial = fa.is_partial : i1
    %reference = scf.if %partial -> (!row) {
      %isNone = arith.cmpf oeq, %m1, %none : !row
      %chosen = arith.select %isNone, %zero, %m1 : !rowBits, !row
      scf.yield %chosen : !row
    } else {
      scf.yield %m1 : !row
    }
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect", "::mlir::scf::SCFDialect"];
}

def FAGPUPartialSumsPass
    : Pass<"fagpu-partial-sums", "::mlir::func::FuncOp"> {
  let summary = "Carry sums of rows per thread";
  let description = [{
    Four threads hold a row of a block. Each carries a sum of its own through the
    loop over keys, and they are added behind it: no thread waits for another one
    in the loop. A sum takes two chains of additions where the result and the
    weights leave a thread registers for it, else one. The sum must begin at 0.
    A largest number of rows that nothing else reads is carried so too.

    Before:
    ```mlir
    %sum = fagpu.reduce add %p : !scores -> tensor<64xf32, #row>
    %l1 = math.fma %l, %alpha, %sum : tensor<64xf32, #row>
    ```
    After:
    ```mlir
    %sum = fagpu.reduce add %p : !scores -> tensor<64x4xf32>
    %alphas = fagpu.broadcast %alpha : tensor<64xf32, #row> -> tensor<64x4xf32>
    %l1 = math.fma %l, %alphas, %sum : tensor<64x4xf32>
    ...
    %whole = fagpu.reduce add %loop#2 : tensor<64x4xf32> -> tensor<64xf32, #row>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::fagpu::FAGPUDialect"];
}

def FAGPUSkipFirstRescalePass
    : Pass<"fagpu-skip-first-rescale", "::mlir::func::FuncOp"> {
  let summary = "Rescale nothing in the first block";
  let description = [{
    The first key block has nothing to rescale: sum and result are 0. The flag
    `fa.is_first` chooses the block's own sum there, and the result as it is where
    `rescale = after_product`. With `rolled` in the configuration the loop has one
    body and the flag is no constant: then the factor of a row is chosen as 1.

    Before:
    ```mlir
    %l1 = math.fma %l, %alphas, %sum : !parts
    %a1 = arith.mulf %a, %wide : !acc
    ```
    After:
    ```mlir
    %first = fa.is_first : i1
    %l1 = math.fma %l, %alphas, %sum : !parts
    %l2 = arith.select %first, %sum, %l1 : !parts
    %a1 = arith.mulf %a, %wide : !acc
    %a2 = arith.select %first, %a, %a1 : !acc
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::fa::FADialect"];
}

def FAGPUExpandTanhPass : Pass<"fagpu-expand-tanh", "::mlir::func::FuncOp"> {
  let summary = "Write a bounded tanh of scores for 16-bit products";
  let description = [{
    In kernels all of whose products have 16-bit operands, a block's
    `math.tanh fastmath<arcp>` that is read by a product with one number alone, a
    cap c, becomes `c - 2 c / (exp2(2 log2(e) x) + 1)`, and factors of x that all elements
    have are multiplied first.

    Where the selection that hides scores alone reads the product, elements of a row share
    a reciprocal, as many as `tanh<sharers>` of `#fa.gpu` says: hidden scores, which may be
    no numbers, become 0 before. With four that is 1.25 instructions of the special function
    unit for an element and 9 others, where `math.tanh fastmath<arcp>` takes 2 and 17.
    `tanh<interleave_rows>` becomes `fagpu.interleave_rows`. Elsewhere, as where another score
    function follows, each element has its own reciprocal: 2 and 4.

    The absolute error is below 1e-6 c, while `math.tanh` has a relative error near
    0. The largest that an emulation in f32 found is 7.8e-7 c for four and 9.1e-7 c for
    five, with 2 units in the last place for the exponential and 1 for the reciprocal.
    So the cap must be at most 80, for an error of 8e-5 of a score: a sixth of what
    rounding weights to f16 gives. A cap of run time is known to be so where it
    is held to that (fa-version-bounds); with any other, `math.tanh` stays.

    Before:
    ```mlir
    %t = math.tanh %x fastmath<arcp> : !scores
    %y = arith.mulf %t, %cap : !scores
    ```
    After, for a cap of 30:
    ```mlir
    %e = arith.mulf %x, %twiceLog2e : !scores
    %m = arith.minimumf %e, %thirty : !scores
    %p = math.exp2 %m fastmath<afn> : !scores
    %d = arith.addf %p, %one : !scores
    %r = arith.divf %one, %d fastmath<arcp,afn> {fagpu.sharers = 4 : i64} : !scores
    %y = math.fma %r, %minusTwiceCap, %cap : !scores
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUHoistGathersPass
    : Pass<"fagpu-hoist-gathers", "::mlir::func::FuncOp"> {
  let summary = "Load what a mask compares before the product that it hides";
  let description = [{
    In kernels of groups of warps that overlap products, a gather of column values
    in the branch of partial blocks moves to a branch of its own before the first
    product, where it depends on none: it then waits for memory while the product
    runs, and not behind it. Values of rows are loaded once for all blocks anyway.
    What is loaded ahead is live beside the products: it moves as long as all of
    it takes 192 registers of a thread at most.

    Before:
    ```mlir
    %s = fagpu.product nt %q, %k : ...
    %partial = fa.is_partial : i1
    %x = scf.if %partial -> (!scores) {
      %ids = fagpu.gather %documents[%b, %at] mask(%ok : !ok) : ... -> !col
      ...
    ```
    After:
    ```mlir
    %early = fa.is_partial : i1
    %ids = scf.if %early -> (!col) {
      %loaded = fagpu.gather %documents[%b, %at] mask(%ok : !ok) : ... -> !col
      scf.yield %loaded : !col
    } else {
      scf.yield %zeros : !col
    }
    %s = fagpu.product nt %q, %k : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect", "::mlir::scf::SCFDialect"
  ];
}

def FAFormSegmentsPass : Pass<"fa-form-segments", "::mlir::func::FuncOp"> {
  let summary = "Turn key ranges into loops with segments";
  let description = [{
    Blocks are visited from the last to the first: the block at the end is
    visited once in any case, under the mask; then come the ranges from the last
    one back, each a segment. A last range that is the rest of its end by the
    step has one block at most and needs no segment. `fa.is_partial` becomes the flags of the partial
    ranges, `fa.is_first` the flag of the first block. Where nothing asks for the
    former, one segment has all blocks. With `rolled` in the configuration the
    loop is too.

    Ranges of queries become loops in the same way. In `one_pass` with `warp_groups`
    a loop through one head begins with the first block: under a causal mask blocks
    of keys then add to different queries at a time. A loop over the query heads of
    a key head joins the one over their blocks: the head is the quotient of the
    number by the blocks of a head, and flags become comparisons. Under
    `longest_first` with `overlap = tiles`, if all tiles end with the same block, the
    block is the quotient by the heads, and tiles of every other wave rise.

    Before:
    ```mlir
    %r = fa.key_ranges (%key, %count) = [full %c0 to %d, partial %d to %end] step 64 ...
    ```
    After:
    ```mlir
    %r = fagpu.for %kb = %last step -1
        segments(%first: once, %partial: to %diagonal, %full: to %c0) ... {
      %key = arith.muli %kb, %c64 : i32
      ...
    ```
    With `rolled`, whose one copy of the body asks for the flags:
    ```mlir
    %r = fagpu.for %kb = %last step -1 rolled
        segments(%first: once, %partial: to %diagonal, %full: to %c0) ... {
      %key = arith.muli %kb, %c64 : i32
      %masked = arith.ori %first, %partial : i1
      ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect"
  ];
}

#endif // FA_CONVERSION_FATOFAGPU_BLOCKVALUEPASSES_TD
