//===- Passes.td - From tiled attention to GPU schedules -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FATOFAGPU_PASSES_TD
#define FA_CONVERSION_FATOFAGPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def FAListBlocksPass : Pass<"fa-list-blocks", "::mlir::func::FuncOp"> {
  let summary = "Visit key blocks by a table where a mask is known at run time";
  let description = [{
    Key ranges leave out what a mask is known to hide. Where a part of the mask is
    not affine, as of documents or of a captured table of blocks, nothing is known
    of it: with `block_table = true` in the configuration, a loop of its own asks
    the mask once, ahead of the attention (`fa.summarize_mask`), and writes for
    each query block which key blocks of its ranges have a visible pair. The
    ranges of the step then are over that list: full blocks, where every pair is
    visible, in a range without mask, and partial ones. No other block is loaded.

    A row of the table has the number of full and of partial blocks, and room for
    all key blocks: full ones are listed from the front, partial ones from the
    end. There is a row for each query block, and for each batch and each head
    only where the mask, or what bounds the ranges, depends on it. The memory is a
    `fagpu.workspace` of 4 bytes a word: (2 + key blocks) x rows.

    Before:
    ```mlir
    scf.forall (%b, %h, %i) = (0, 0, 0) to (%batches, %heads, %queries) step (1, 1, 128) {
      %r = fa.key_ranges (%key, %count) = [partial %c0 to %keys] step 128 ...
    ```
    After, for a mask that does not read `%h`:
    ```mlir
    %table = fagpu.workspace(%words) : memref<?xi32>
    scf.forall (%b, %i) = (0, 0) to (%batches, %queries) step (1, 128) {
      %n:2 = fa.key_ranges (%key, %count) = [partial %c0 to %keys] step 128 ... {
        %some, %every = fa.summarize_mask 128 by 128 offsets(%b, %c0, %i, %key) ...
        ...
    scf.forall (%b, %h, %i) = (0, 0, 0) to (%batches, %heads, %queries) step (1, 1, 128) {
      %full = memref.load %table[%row] : memref<?xi32>
      ...
      %r = fa.key_ranges (%place, %count) = [full %c0 to %f, partial %f to %all] step 128 ... {
        %block = memref.load %table[%word] : memref<?xi32>
        ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def FAPutHeadDimsLastPass
    : Pass<"fa-put-head-dims-last", "::mlir::func::FuncOp"> {
  let summary = "Read and write operands by views whose last dimension is the head dim";
  let description = [{
    The head dim of an operand is where its elements lie beside each other, at any
    place in the order of its dimensions. Operations on block values have the
    columns in the last one: a step, or a result, whose order is another one gets
    a transposed view of its memory, made where the memory is, and slices of that.
    Nothing is copied; a launch passes the view's address and strides.

    Before:
    ```mlir
    %k = memref.subview %key[%b, %h, 0, %j] [1, 1, 64, 128] [1, 1, 1, 1] : !mem to !tile
    fa.online_attention ins(%q, %k, %v : ...) ... {key_dims = #fa.dims<b, h, d, s>}
    ```
    After:
    ```mlir
    %rows = memref.transpose %key (d0, d1, d2, d3) -> (d0, d1, d3, d2) : !mem to !rows
    %k = memref.subview %rows[%b, %h, %j, 0] [1, 1, 128, 64] [1, 1, 1, 1] : !rows to !tile
    fa.online_attention ins(%q, %k, %v : ...) ... {key_dims = #fa.dims<b, h, s, d>}
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def FATileCopiesPass : Pass<"fa-tile-copies", "::mlir::func::FuncOp"> {
  let summary = "Make parallel loops over tiles of the copies of a function";
  let description = [{
    What a function copies in memory, as the rows past a query length of a
    destination that is another tensor, is copied by the GPU: a copy becomes a
    parallel loop over tiles, of which a kernel is made as of the others. A tile has
    64 rows of the longest dimension (of the second one of four where sizes are
    only known at run time) and up to 64 columns of the one whose elements lie
    beside each other.

    Refused: a destination without a dimension of stride 1, elements other than
    f16, bf16 and f32, and copies between element types.

    Before:
    ```mlir
    linalg.copy ins(%a : memref<2x3x200xf32>) outs(%b : memref<2x3x200xf32>)
    ```
    After:
    ```mlir
    scf.forall (%i, %r, %c) = (0, 0, 0) to (2, 3, 200) step (1, 64, 64) {
      %row = arith.addi %iota0, %rows : tensor<64x64xi32, #fagpu.acc<4>>
      %column = arith.addi %iota1, %columns : tensor<64x64xi32, #fagpu.acc<4>>
      ...
      %tile = fagpu.gather %a[%i0, %row, %column] mask(%inside : ...) : ...
      fagpu.store %tile, %b[%i0, %r0, %c0] sizes [1, 64, 64] rows(%c3) columns(%c200) align(4) : ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAIndexToArithPass : Pass<"fa-index-to-arith"> {
  let summary = "Operations of the index dialect as those of arith";
  let description = [{
    Score and mask regions may compute on indices by either dialect; what follows
    knows arith, whose operations take index values too.

    Before:
    ```mlir
    %distance = index.sub %i, %j
    %visible = index.cmp slt(%distance, %window)
    ```
    After:
    ```mlir
    %distance = arith.subi %i, %j : index
    %visible = arith.cmpi slt, %distance, %window : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAOutlineKernelsPass : Pass<"fa-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Make a kernel of each parallel loop over tiles";
  let description = [{
    A tile becomes a block of threads: the loop's indices are computed from the
    number of the block, the last one fastest and from its end (with a causal
    mask the longest rows come first, so that no block starts late with much to
    do). The function that held the loop is left as the host side; what it
    computes before the loop is passed to the kernel, sizes (of slices too) as
    i32, other indices that come from an argument, which may be any number, as
    i64. Views of arguments (slices, dims split, joined or transposed) are passed
    as they are: the launch gives their address and strides.

    What the attention in the loop is configured by stays with the kernel, as
    `fa.config`. With `form = warp_groups` its groups share the role. With
    `tile_order = longest_first` tiles come in groups of sequences whose keys and
    values stay in the L2 cache together, the group that may hold fewer first, and
    within a group the last query blocks of all its sequences first.

    Refused: a loop that yields values, memory that is neither an argument of the
    function nor a view of one, and steps of different configurations.

    Before:
    ```mlir
    func.func @f(%q: !mem, %o: !mem) {
      scf.forall (%b, %i) = (0, 0) to (%batches, %queries) step (1, 128) { ... }
      return
    }
    ```
    After, for `chip=sm_80`:
    ```mlir
    func.func @f_kernel(%q: !mem, %o: !mem, %n0: i32, %n1: i32)
        attributes {fagpu.kernel = "sm_80"} {
      %block = gpu.block_id x
      ...
      fagpu.role @compute groups(1) { ... }
      return
    }
    func.func @f(%q: !mem, %o: !mem) {
      ...
      fagpu.launch @f_kernel grid(%blocks) (%q, %o, %n0, %n1) : ...
      return
    }
    ```
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
           "The target that the kernels are for">,
    Option<"warps", "warps", "int64_t", /*default=*/"4",
           "Warps of a block">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect"
  ];
}

def FAGPUPredicateLaunchesPass
    : Pass<"fagpu-predicate-launches", "::mlir::func::FuncOp"> {
  let summary = "Turn branches around launches into conditions of launches";
  let description = [{
    A host function computes and launches, and a launcher reads it as one list. So
    what an `scf.if` around launches holds is moved in front of it: its launches
    run `if` the branch is taken, and assertions hold where it is not. What else
    is moved has no effect and may run in vain; anything that may not is refused,
    and so are results of the branch.

    Before:
    ```mlir
    %isLonger = arith.cmpi uge, %keys, %c8192 : index
    scf.if %isLonger {
      %blocks = arith.ceildivui %queries, %c128 : index
      fagpu.launch @attention_kernel grid(%blocks) (%q) : !mem
    } else {
      %blocks = arith.ceildivui %queries, %c64 : index
      fagpu.launch @attention_kernel_0 grid(%blocks) (%q) : !mem
    }
    ```
    After:
    ```mlir
    %isLonger = arith.cmpi uge, %keys, %c8192 : index
    %blocks = arith.ceildivui %queries, %c128 : index
    fagpu.launch @attention_kernel grid(%blocks) if(%isLonger) (%q) : !mem
    %isShorter = arith.xori %isLonger, %true : i1
    %blocks_0 = arith.ceildivui %queries, %c64 : index
    fagpu.launch @attention_kernel_0 grid(%blocks_0) if(%isShorter) (%q) : !mem
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

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

    Nothing is decided here: layouts, channels and roles come later. Groups of the
    role take equal parts of the rows, so all that stands here is of one group.
    The first block has nothing to rescale, which `fa.is_first` tells. Exponentials
    are of base 2; where the score is only scaled by a factor known to be
    positive, the factor is folded into the exponent. Where operands are of
    bf16 and the region's arithmetic shows exponents between -73 and 73, as those
    of a small multiple of a tanh, they are taken from 0: there is no running
    maximum, nothing is rescaled, and factors are multiplied before. Elements of
    values are then to be 0 or of magnitudes from 2^-48 to 2^24.

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
    %p = math.exp2 %e fastmath<afn> : tensor<128x64xf32>
    ...
    %acc1 = fagpu.product nn %ph, %v acc(%scaled : tensor<128x128xf32>) : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUMergeBoundsPass
    : Pass<"fagpu-merge-bounds", "::mlir::func::FuncOp"> {
  let summary = "Compare an index once where a mask bounds it several times";
  let description = [{
    Comparisons of one index of a block that have the same predicate and are
    joined by `arith.andi` or `arith.ori` become one comparison with the lesser or
    the greater bound. The bounds are joined as scalars or as vectors of rows where
    they are that, so one comparison of each element is left. A bound of all
    columns is compared as one of the matrix for that.

    Before:
    ```mlir
    %a = arith.cmpi slt, %column, %end : !iacc
    %b = arith.cmpi slt, %column, %diagonal : !iacc
    %visible = arith.andi %a, %b : tensor<128x64xi1>
    ```
    After:
    ```mlir
    %bound = arith.minsi %end_row, %diagonal_row : !irow
    %wide = fagpu.broadcast %bound : !irow -> !iacc
    %visible = arith.cmpi slt, %column, %wide : !iacc
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUNarrowConversionsPass
    : Pass<"fagpu-narrow-conversions", "::mlir::func::FuncOp"> {
  let summary = "Convert indices to floating point as scalars and vectors";
  let description = [{
    Where a matrix of sums of scalars, row numbers and column numbers is converted
    to f32, the parts are converted and added instead: one conversion for each
    row and column in place of one for each element. Numbers of rows and columns
    of a block are exact in f32, so the result is the same up to 2^24 and rounded
    once more beyond.

    Before:
    ```mlir
    %distance = arith.subi %query, %key : tensor<128x64xi32>
    %real = arith.sitofp %distance : tensor<128x64xi32> to tensor<128x64xf32>
    ```
    After, for `%query` of the rows from `%a` on, and `%key` of the columns from `%b` on:
    ```mlir
    %scalar = arith.subi %a, %b : i32
    %first = arith.sitofp %scalar : i32 to f32
    %rows = arith.addf %all_first, %row_numbers : tensor<128xf32, #fagpu.row<4>>
    %wide = fagpu.broadcast %rows : ... -> tensor<128x64xf32>
    %real = arith.subf %wide, %column_numbers : tensor<128x64xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUFuseProductsPass
    : Pass<"fagpu-fuse-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply and add at once where a product need not be rounded";
  let description = [{
    A product of blocks with `fastmath<contract>` that only a sum or a difference
    reads becomes a part of it, which is then rounded once: the scale of scores to
    which a bias is added takes no instruction of its own.

    Before:
    ```mlir
    %scaled = arith.mulf %s, %scale fastmath<contract> : !scores
    %x = arith.addf %scaled, %bias : !scores
    ```
    After:
    ```mlir
    %x = math.fma %s, %scale, %bias : !scores
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
}

def FAGPUExpandTanhPass : Pass<"fagpu-expand-tanh", "::mlir::func::FuncOp"> {
  let summary = "Write a bounded tanh of scores for 16-bit products";
  let description = [{
    In kernels all of whose products have 16-bit operands, a block's
    `math.tanh fastmath<arcp>` that is read by a product with one number alone, a
    cap c, becomes `c - 2 c / (exp2(2 log2(e) x) + 1)`. Four elements share a
    reciprocal, and factors of x that all elements have are multiplied first. That is
    2.25 instructions of the special function unit for an element and 9 others, where
    `math.tanh fastmath<arcp>` takes 2 and 17.

    The absolute error is below 8e-7 c (2^-22 of the exponential, 2^-21.6 of the
    shared reciprocal), while `math.tanh` has a relative error near 0: so the cap
    must be at most 80, for an error of 6.4e-5 of a score, which is a thirtieth of
    what rounding weights to f16 gives. A cap of run time is known to be so where it
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
    ranges, `fa.is_first` the flag of the first block.

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
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

def FANarrowIndicesPass : Pass<"fa-narrow-indices", "::mlir::func::FuncOp"> {
  let summary = "Compute with 32-bit indices in kernels";
  let description = [{
    Sizes and indices of one dimension fit 32 bits, and so do sums of a few of
    them; products with strides, which may not, are formed at 64 bits when
    addresses are. An index is only cast to `index` where an operation asks for it.

    What may need more stays `index` until it is bounded: 64-bit arguments,
    constants above 2^30, and sums with what is loaded from memory.

    Before: `%i = arith.addi %a, %b : index`
    After: `%i = arith.addi %a, %b : i32`
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGPUSplitColumnsPass
    : Pass<"fagpu-split-columns", "::mlir::func::FuncOp"> {
  let summary = "Make f32 products of a part of the columns at once";
  let description = [{
    With `columns` in the configuration, a product that sums over more columns
    becomes a sum of products over as many, each with its own part of both
    operands, read where it is used; one that adds to a value of more columns
    becomes products that add to parts of it. Values that loops carry, elementwise
    operations and stores are split alike. The parts that a product reads are
    fetched ahead of the product before it.

    That bounds what f32 operands take of registers and shared memory, whatever
    the head dim. A first operand that was fetched before the loop is read again
    in each iteration.

    Refused: values that are more than elementwise results, broadcasts of rows,
    and values that loops carry.

    Before, with `columns = 32`:
    ```mlir
    %q = fagpu.fetch %query[...] [1, 64, 1, 64] : !mem -> tensor<64x64xf32>
    %o = fagpu.for ... iter(%x = %zero) -> (tensor<64x64xf32>) {
      %k = fagpu.fetch %key[...] [1, 64, 1, 64] : !mem -> tensor<64x64xf32>
      %s = fagpu.product nt %q, %k : tensor<64x64xf32>, tensor<64x64xf32> -> !s
      %v = fagpu.fetch %value[...] [1, 64, 1, 64] : !mem -> tensor<64x64xf32>
      %y = fagpu.product nn %s, %v acc(%x : tensor<64x64xf32>) : !s, tensor<64x64xf32> -> tensor<64x64xf32>
      fagpu.yield %y : tensor<64x64xf32>
    }
    ```
    After:
    ```mlir
    %o:2 = fagpu.for ... iter(%x0 = %zero0, %x1 = %zero1) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
      %q0 = fagpu.fetch %query[..., %c0] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      %k0 = fagpu.fetch %key[..., %c0] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      %q1 = fagpu.fetch %query[..., %c32] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      %k1 = fagpu.fetch %key[..., %c32] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      %s0 = fagpu.product nt %q0, %k0 : tensor<64x32xf32>, tensor<64x32xf32> -> !s
      ...
      %s = fagpu.product nt %q1, %k1 acc(%s0 : !s) : tensor<64x32xf32>, tensor<64x32xf32> -> !s
      ...
      %y0 = fagpu.product nn %s, %v0 acc(%x0 : tensor<64x32xf32>) : ...
      %y1 = fagpu.product nn %s, %v1 acc(%x1 : tensor<64x32xf32>) : ...
      fagpu.yield %y0, %y1 : tensor<64x32xf32>, tensor<64x32xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUSplitProductsPass
    : Pass<"fagpu-split-products", "::mlir::func::FuncOp"> {
  let summary = "Make products of bf16 of a product of f32";
  let description = [{
    Matrix units multiply 16-bit floats. An f32 operand is written as the sum of
    three terms of bf16: itself rounded, what is left rounded, and what is left
    then; each holds 8 of its 24 bits, with the exponent range of f32. Six of the
    nine products of terms are computed, from the smallest to the largest, in one
    accumulator in f32; the three others are below 2^-24 of the result. What the
    product is added to is added in f32 outside, since sums in the matrix unit
    truncate.

    The terms of a `fagpu.fetch` are computed by the threads, so it becomes a
    `fagpu.gather` of the box, zero from `rows` on.

    An operand that is infinite has a term that is NaN, and so makes NaN where the
    f32 product would be infinite.

    Refused: groups of warps, whose operands no thread touches, and a second
    operand of which the rows are not a multiple of 16 for each warp.

    Sources: Henry, Tang and Heinecke 2019, "Leveraging the bfloat16 Artificial
    Intelligence Datatype For Higher-Precision Computations" (the terms and the six
    products); Ootomo and Yokota 2022, "Recovering single precision accuracy from
    Tensor Cores while surpassing the FP32 theoretical peak performance" (sums
    outside of the matrix unit).

    Before:
    ```mlir
    %o = fagpu.product nn %p, %v acc(%x : !o) : tensor<64x64xf32>, tensor<64x64xf32> -> !o
    ```
    After:
    ```mlir
    %p0 = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %w0 = arith.extf %p0 : tensor<64x64xbf16> to tensor<64x64xf32>
    %r0 = arith.subf %p, %w0 : tensor<64x64xf32>
    %p1 = arith.truncf %r0 : tensor<64x64xf32> to tensor<64x64xbf16>
    ...
    %s0 = fagpu.product nn %p1, %v1 : !h, !h -> !o
    %s1 = fagpu.product nn %p0, %v2 acc(%s0 : !o) : !h, !h -> !o
    %s2 = fagpu.product nn %p2, %v0 acc(%s1 : !o) : !h, !h -> !o
    %s3 = fagpu.product nn %p0, %v1 acc(%s2 : !o) : !h, !h -> !o
    %s4 = fagpu.product nn %p1, %v0 acc(%s3 : !o) : !h, !h -> !o
    %s5 = fagpu.product nn %p0, %v0 acc(%s4 : !o) : !h, !h -> !o
    %o = arith.addf %x, %s5 : !o
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect", "::mlir::tensor::TensorDialect"
  ];
}

def FAGPUShareOperandsPass
    : Pass<"fagpu-share-operands", "::mlir::func::FuncOp"> {
  let summary = "Bring computed operands of products through shared memory";
  let description = [{
    The second operand of a product is read by all warps, so one that the threads
    compute is written to a channel. So is a first operand from before the loop,
    which would take registers in it. Values that are there before the first
    product that reads one of them are acquired together, behind one barrier; each
    is released behind the last product that reads it.

    With `form = warp_groups` the channels have the engine `threads`. What depends
    on the group has a bank for each; of what does not, each group computes and
    writes a part: rows of whole warps, or else columns of whole panels.

    Before:
    ```mlir
    %k0 = arith.truncf %k : tensor<64x64xf32> to tensor<64x64xbf16>
    %s = fagpu.product nt %q0, %k0 : ...
    ```
    After:
    ```mlir
    %k0 = arith.truncf %k : tensor<64x64xf32> to tensor<64x64xbf16>
    fagpu.write %channel, %k0 : tensor<64x64xbf16> into !k
    %view = fagpu.acquire %channel : !k
    %s = fagpu.product nt %q0, %view : ...
    fagpu.release %view : !kv
    ```
  }];
  let dependentDialects = ["::mlir::fagpu::FAGPUDialect"];
}

def FAGPUFormChannelsPass
    : Pass<"fagpu-form-channels", "::mlir::func::FuncOp"> {
  let summary = "Bring the operands of products through shared memory";
  let description = [{
    A fetch that products read becomes a put into a channel, an acquire of the
    stage where the fetch stood, and a release behind the last product that reads
    it. What reads it otherwise gets a load of the stage. A store of a matrix goes through the memory of a channel that is no
    longer used where one has its shape. Threads start the copies (`cp_async`), or
    load where rows are aligned to less than 4 bytes (`loads`).

    With `form = warp_groups` channels are filled by bulk copies. A fetch in a
    loop has the `stages` of the configuration; one outside of it two if tiles
    overlap, so that the next tile's may come while this one's is read. Where
    the place of a fetch depends on the group, each group has a bank. A store
    has shared memory of its own if there is enough.

    Before:
    ```mlir
    %k = fagpu.fetch %key[%b, %j, %h, %c0] [1, 64, 1, 128] rows(%n) : !mem -> tensor<64x128xbf16>
    %s = fagpu.product nt %q, %k : ...
    ```
    After:
    ```mlir
    fagpu.put %channel, %key[%b, %j, %h, %c0] [1, 64, 1, 128] rows(%n) : !mem into !k
    %k = fagpu.acquire %channel : !k
    %s = fagpu.product nt %q, %k : ...
    fagpu.release %k : !kv
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUSelectProductsPass
    : Pass<"fagpu-select-products", "::mlir::func::FuncOp"> {
  let summary = "Choose the instruction of each matrix product";
  let description = [{
    A product becomes a `fagpu.mma`, which is complete at once, or with
    `form = warp_groups` a `fagpu.mma_async` and the wait for it. Products that
    only add to one sum, one after the other, are awaited once, behind the last of
    them; releases of what they read follow.

    Refused: a second operand in registers; for asynchronous products a chip that
    has none, groups of other than four warps or 64 rows, and columns that are no
    multiple of 8 up to 256.

    Before: `%s = fagpu.product nt %q, %k : !qv, !kv -> !s`

    After:
    ```mlir
    %issued = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUAssignSlotsPass
    : Pass<"fagpu-assign-slots", "::mlir::func::FuncOp"> {
  let summary = "Choose stage and order in the loops of a role that copies for itself";
  let description = [{
    In a loop in which one role fills channels and multiplies, three rules: what
    the first product reads is copied for the next iteration as soon as the
    product has read it; what later products read is copied while the first one
    runs; the wait for that copy stands before the statistics, where its barrier
    also says that every thread has read the first operand. A copy whose place
    depends on the segment is not made ahead. Loops that have slots already stay
    as they are.

    Before:
    ```mlir
    fagpu.put %keys, ...
    %k = fagpu.acquire %keys : !k
    %s = fagpu.mma nt %q, %k : ...
    fagpu.release %k : !kv
    ...
    fagpu.put %values, ...
    %v = fagpu.acquire %values : !k
    %o = fagpu.mma nn %p, %v acc(%scaled : !o) : ...
    ```
    After:
    ```mlir
    fagpu.put %keys, ... {fagpu.at = [-1, 4]}
    %k = fagpu.acquire %keys {fagpu.at = [0, 0]} : !k
    fagpu.put %values, ... {fagpu.at = [0, 1]}
    %s = fagpu.mma nt %q, %k {fagpu.at = [0, 2]} : ...
    fagpu.release %k : !kv
    %v = fagpu.acquire %values {fagpu.at = [0, 3]} : !k
    ... {fagpu.at = [0, 5]}
    %o = fagpu.mma nn %p, %v acc(%scaled : !o) : ...
    ```
  }];
}

def FAGPUAssignWriteSlotsPass
    : Pass<"fagpu-assign-write-slots", "::mlir::func::FuncOp"> {
  let summary = "Choose stage and order where groups make the operands of products";
  let description = [{
    In the loops of kernels of `form = warp_groups` with an `overlap`, in which
    groups compute what products read and write it to channels: what the first
    products of a step read is loaded before the wait for them and written, for
    the next step, while the second ones run; what the second ones read is loaded
    before the first ones are issued and written while those run. Sums are scaled
    behind the issue of what is added to them. Loops that have slots already stay
    as they are.

    Before:
    ```mlir
    %k = fagpu.gather %keys[...] : ...
    fagpu.write %kc, %k0 : ...
    %kv = fagpu.acquire %kc : !k
    %sf = fagpu.mma_async nt %q, %kv : ...
    %s = fagpu.wait %sf : !fagpu.inflight<!s>
    fagpu.release %kv : !kv
    ```
    After:
    ```mlir
    %k = fagpu.gather %keys[...] {fagpu.at = [0, 3]} : ...
    fagpu.write %kc, %k0 {fagpu.at = [0, 6]} : ...
    %kv = fagpu.acquire %kc {fagpu.at = [1, 1]} : !k
    %sf = fagpu.mma_async nt %q, %kv : ...
    %s = fagpu.wait %sf {fagpu.at = [1, 4]} : !fagpu.inflight<!s>
    fagpu.release %kv : !kv
    ```
  }];
  let dependentDialects = ["::mlir::fagpu::FAGPUDialect"];
}

def FAGPUShareScalarsPass
    : Pass<"fagpu-share-scalars", "::mlir::func::FuncOp"> {
  let summary = "Compute costly scalars once for all roles";
  let description = [{
    In kernels of `form = warp_groups`, loads of scalars and divisions by values
    of run time, and what they need, go before the roles: whoever makes the
    kernel persistent can then compute them once for each tile. Scalars that are
    cheap stay where they are, as they cost less than the registers that would
    carry them. What depends on the group stays too.

    Before:
    ```mlir
    fagpu.role @math(%g) groups(2) {
      %length = memref.load %lengths[%b] : memref<?xi32>
      %clamped = arith.minsi %length, %n : i32
    ```
    After:
    ```mlir
    %length = memref.load %lengths[%b] : memref<?xi32>
    fagpu.role @math(%g) groups(2) {
      %clamped = arith.minsi %length, %n : i32
    ```
  }];
  let dependentDialects = ["::mlir::fa::FADialect"];
}

def FAGPUSplitRolesPass : Pass<"fagpu-split-roles", "::mlir::func::FuncOp"> {
  let summary = "Let one thread copy for the groups that compute";
  let description = [{
    In kernels of `form = warp_groups` the puts of a role go to a role of one
    thread, with the loops around them and the scalars that they need. A put
    whose place depends on the group becomes one for each group. Registers are
    shared out between the two roles.

    Refused: puts inside of other operations than `fagpu.for`, and to places that
    depend on values that a loop carries or that are no scalars.

    Before:
    ```mlir
    fagpu.role @math(%g) groups(2) {
      %row = arith.muli %g, %c64 : i32
      fagpu.put %queries bank(%g), %query[%b, %row, %h, %c0] ...
      fagpu.for %i = %last step -1 segments(...) ... {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
        %k = fagpu.acquire %keys : !k
        ...
    ```
    After:
    ```mlir
    fagpu.role @load groups(1) regs(56) elect {
      fagpu.put %queries bank(%c0), %query[%b, %c0, %h, %c0] ...
      fagpu.put %queries bank(%c1), %query[%b, %c64, %h, %c0] ...
      fagpu.for %i = %last step -1 segments(...) {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
        fagpu.yield
      }
    }
    fagpu.role @math(%g) groups(2) regs(224) {
      fagpu.for %i = %last step -1 segments(...) ... {
        %k = fagpu.acquire %keys : !k
        ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUPersistPass : Pass<"fagpu-persist", "::mlir::ModuleOp"> {
  let summary = "Let each block compute one tile after the other";
  let description = [{
    In kernels of `form = warp_groups` the first tile of a block is that of its
    number; the others are taken from a counter by the role that copies, with the
    last block of its last loop, and sent to the other roles. With `tile_order =
    in_order`, where tiles are equally long, that is a block earlier, so that
    nothing waits for the number between tiles. What is computed
    from the number of the block is computed by the role that copies alone; what
    the others read of it travels with the tile's number. The host launches no
    more blocks than there are multiprocessors. A kernel that does not ask for
    the number of its block, as of a problem of one tile, stays as it is.

    Before:
    ```mlir
    func.func @kernel(...) attributes {fagpu.kernel = "sm_90a", ...} {
      %block = gpu.block_id x
      %row = ... %block
      fagpu.role @load elect { ... }
      fagpu.role @math(%g) groups(2) { ... }
    ```
    After:
    ```mlir
    func.func @kernel(..., %tiles: i32, %counter: memref<2xi32>) ... {
      %mail = fagpu.mail : !fagpu.mail<2, i32, i32>
      fagpu.role @load elect {
        %block = gpu.block_id x
        %row0 = ... %block
        fagpu.send %mail, %block, %row0 : ...
        fagpu.repeat iter(%row = %row0) : i32 {
          ...
          %next = fagpu.for ... {
            %taken = scf.if %end -> (i32) { %t = fagpu.ticket %counter ... } ...
            ...
          %row1 = ... %next
          fagpu.send %mail, %next, %row1 : ...
          %again = arith.cmpi slt, %next, %tiles : i32
          fagpu.yield %again, %row1 : i1, i32
        }
        fagpu.retire %counter : memref<2xi32>
      }
      fagpu.role @math(%g) groups(2) {
        %tile0:2 = fagpu.recv %mail : ...
        fagpu.repeat iter(%row = %tile0#1) : i32 {
          ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect", "::mlir::gpu::GPUDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def FAGPUComputeOnHostPass
    : Pass<"fagpu-compute-on-host", "::mlir::ModuleOp"> {
  let summary = "Compute scalars of a launch on the host";
  let description = [{
    32-bit arithmetic of a kernel whose operands are its arguments, constants and
    other such results is done by the host, once for a launch: the kernel gets
    the results as arguments. That frees the registers that would carry them
    through the loops, as arguments are read from constant memory. The host takes
    a divisor of 0 for 1: a launch with such a size has no tiles. A kernel that
    several operations launch stays as it is.

    Before:
    ```mlir
    func.func @kernel(%heads: i32, %kvHeads: i32, ...) attributes {fagpu.kernel = "sm_90a"} {
      %group = arith.divui %heads, %kvHeads : i32
      fagpu.role @load ... {
        %kvHead = arith.divui %head, %group : i32
    ...
      fagpu.launch @kernel grid(%tiles) (%h, %k) : i32, i32
    ```
    After:
    ```mlir
    func.func @kernel(%heads: i32, %kvHeads: i32, ..., %group: i32) ... {
      fagpu.role @load ... {
        %kvHead = arith.divui %head, %group : i32
    ...
      %c1 = arith.constant 1 : i32
      %divisor = arith.maxui %k, %c1 : i32
      %group = arith.divui %h, %divisor : i32
      fagpu.launch @kernel grid(%tiles) (%h, %k, %group) : i32, i32, i32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUDeferPutsPass : Pass<"fagpu-defer-puts", "::mlir::func::FuncOp"> {
  let summary = "Let copies that wait for the tile before come second";
  let description = [{
    A persistent role of one thread copies in order. A copy to a channel of one
    stage waits until the tile before has been read, and whatever stands behind
    it waits too, though its stages may be free. Such a copy, where it comes before
    the tile's loop, goes into the loop's first iteration, behind the first
    copy that has a stage to spare. A loop whose first iteration is no segment of
    its own (`once`) may have none, and stays as it is.

    Before:
    ```mlir
    fagpu.repeat iter(...) {
      fagpu.put %queries, %query[%b, %row, %h, %c0] ...
      fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) ... {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
    ```
    After:
    ```mlir
    fagpu.repeat iter(...) {
      fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) ... {
        fagpu.put %keys, %key[%b, %j, %h, %c0] ...
        fagpu.put %queries, %query[%b, %row, %h, %c0] ... if(%first) ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGPUAssignGroupSlotsPass
    : Pass<"fagpu-assign-group-slots", "::mlir::func::FuncOp"> {
  let summary = "Choose stage and order in the loops of groups of warps";
  let description = [{
    In kernels of `form = warp_groups` with an `overlap`. A product that needs
    another one of its iteration is a second product, any other a first one. The
    rules:

    1. First products and what depends on them alone are stage 0, of the newer
       key block; second products are stage 1, of the one before.
    2. A step issues first products, then second ones; each operand is acquired
       just before.
    3. What needs first products alone is computed while second ones run; then
       comes the wait for these.
    4. Behind that wait comes what writes registers that second products read:
       the narrowing of their register operands, and the rescaling of the sums
       (with `rescale = before_product` that stands before the second product).
    5. With `turns` a group has its turn from before the first product to behind
       the second one.
    6. With `overlap = tiles` the same numbers hold for the next tile: its first
       operands are acquired and multiplied with the last second product of this
       one, whose rows are finished behind the issue, and whose result is stored
       behind the wait.
    7. A role that copies fills channels in the order in which they are read;
       what stands behind the copies follows them.

    Before:
    ```mlir
    %k = fagpu.acquire %keys : !k
    %si = fagpu.mma_async nt %q, %k : ...
    %s = fagpu.wait %si : ...
    fagpu.release %k : !kv
    %p = math.exp2 %s : ...
    %pa = arith.truncf %p : ...
    %scaled = arith.mulf %o, %alpha : ...
    %v = fagpu.acquire %values : !k
    %oi = fagpu.mma_async nn %pa, %v acc(%scaled : !o) : ...
    %o1 = fagpu.wait %oi : ...
    fagpu.release %v : !kv
    ```
    After:
    ```mlir
    %k = fagpu.acquire %keys {fagpu.at = [0, 1]} : !k
    %si = fagpu.mma_async nt %q, %k {fagpu.at = [0, 3]} : ...
    %s = fagpu.wait %si {fagpu.at = [0, 6]} : ...
    fagpu.release %k {fagpu.at = [0, 6]} : !kv
    %p = math.exp2 %s {fagpu.at = [0, 6]} : ...
    %pa = arith.truncf %p {fagpu.at = [0, 8]} : ...
    %scaled = arith.mulf %o, %alpha {fagpu.at = [0, 8]} : ...
    %v = fagpu.acquire %values {fagpu.at = [1, 4]} : !k
    %oi = fagpu.mma_async nn %pa, %v acc(%scaled : !o) {fagpu.at = [1, 4]} : ...
    %o1 = fagpu.wait %oi {fagpu.at = [1, 7]} : ...
    fagpu.release %v {fagpu.at = [1, 7]} : !kv
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

#endif // FA_CONVERSION_FATOFAGPU_PASSES_TD
