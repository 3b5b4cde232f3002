//===- KernelPasses.td - Kernels of the loops over tiles ---*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What becomes a kernel: parallel loops over tiles, their operands as views and
// their blocks of keys, up to the function and its launch.
// FAOutlineKernelsPass, the last one, makes the kernels. Before it
// FAPlanWorkPass and FAListBlocksPass add loops that fill tables, and
// FATileCopiesPass makes loops of copies.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FATOFAGPU_KERNELPASSES_TD
#define FA_CONVERSION_FATOFAGPU_KERNELPASSES_TD

include "mlir/Pass/PassBase.td"

def FAPlanWorkPass : Pass<"fa-plan-work", "::mlir::func::FuncOp"> {
  let summary = "List the query blocks of packed sequences ahead";
  let description = [{
    Which query blocks packed sequences have is known on the device only. Where
    groups of warps take one tile after the other, a loop of its own, with an
    iteration for each sequence, lists them ahead of attention, the sequences with
    most keys first. An item has the sequence, the head, the first query, and what
    else the tile loads for its sequence. Heads whose keys and values stay in the
    L2 cache are worked on together, the last query block first. The first word of
    the list says how many items there are, and bounds the loop over tiles: no
    number is read back, so that a captured CUDA graph serves other lengths. Loops
    over other sequences are left alone.

    The memory is a `fagpu.workspace` of 4 bytes a word: 8 words, and 4 to 12 an
    item, for (rows / query block + sequences) x heads items.

    Before:
    ```mlir
    scf.forall (%b, %h, %i) = (0, 0, 0) to (%sequences, %heads, %rows) step (1, 1, 128) {
      %start = memref.load %starts[%b] : memref<?xi32>
      ...
    ```
    After:
    ```mlir
    %list = fagpu.workspace(%words) : memref<?xi32>
    scf.forall (%b) in (%sequences) {
      %ahead, %all = scf.parallel (%other) = (%c0) to (%sequences) step (%c1) init (...) { ... }
      scf.parallel (%item) = (%c0) to (%items) step (%c1) {
        memref.store %sequence, %list[%word] : memref<?xi32>
        ...
    %n = memref.load %list[%c0] : memref<?xi32>
    %count = arith.minsi %n, %most : index
    scf.forall (%t) in (%count) {
      %start = memref.load %list[%word] : memref<?xi32>
      ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def FAListBlocksPass : Pass<"fa-list-blocks", "::mlir::func::FuncOp"> {
  let summary = "Visit blocks by a table where a mask is known at run time";
  let description = [{
    Key ranges leave out what a mask is known to hide. Where a part of the mask is
    not affine, as of documents or of a captured table of blocks, nothing is known
    of it: with `block_table` in the configuration, a loop of its own asks
    the mask once, ahead of the attention (`fa.summarize_mask`), and writes for
    each query block which key blocks of its ranges have a visible pair. The
    ranges of the step then are over that list: full blocks, where every pair is
    visible, in a range without mask, and partial ones. No other block is loaded.
    The loop goes by groups of eight key blocks: one that bounds of what the mask
    compares leave nothing of is passed over at once.

    A gradient of queries visits key blocks in the same way. For a gradient of keys
    the table is transposed: a row for each key block, which lists the query blocks
    that see it. All query heads of a key head go by one list; a mask that differs
    between them has no table.

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
      %n:2 = fa.key_ranges (%group, %left) = [partial %c0 to %keys] step 1024 ... {
        %maybe, %all = fa.summarize_mask 128 by 1024 by_bounds offsets(%b, %c0, %i, %group) ...
        scf.if %maybe ... {
          fa.key_ranges (%key, %count) = [partial %group to %end] step 128 ... {
            %some, %every = fa.summarize_mask 128 by 128 offsets(%b, %c0, %i, %key) ...
            ...
    scf.forall (%b, %h, %i) = (0, 0, 0) to (%batches, %heads, %queries) step (1, 1, 128) {
      %full = memref.load %table[%row] : memref<?xi32>
      ...
      %r = fa.key_ranges (%place, %count) = [full %c0 to %f, partial %f to %all] step 128 ... {
        %block = memref.load %table[%word] : memref<?xi32>
        ...
    ```
    Of a gradient of keys, before and after:
    ```mlir
    scf.forall (%b, %h, %j) = (0, 0, 0) to (%batches, %heads, %keys) step (1, 1, 128) {
      %r:2 = fa.query_ranges (%query, %count) = [partial %c0 to %queries] step 64 ...
    ```
    ```mlir
    scf.forall (%b, %j) = (0, 0) to (%batches, %keys) step (1, 128) {
      %n:2 = fa.query_ranges (%group, %left) = [partial %c0 to %queries] step 512 ... {
        %maybe, %all = fa.summarize_mask 512 by 128 by_bounds offsets(%b, %c0, %group, %j) ...
        ...
    scf.forall (%b, %h, %j) = (0, 0, 0) to (%batches, %heads, %keys) step (1, 1, 128) {
      ...
      %r:2 = fa.query_ranges (%place, %count) = [full %c0 to %f, partial %f to %all] step 64 ... {
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

def FAForwardCopiesPass : Pass<"fa-forward-copies", "::mlir::ModuleOp"> {
  let summary = "Let kernels read and write what the host copies for them where it lies";
  let description = [{
    fa-pack-heads copies the queries of a key head, queries x group rows, to lie one
    behind the other, and results back. A box of a kernel can have both dimensions:
    a kernel that reads such a copy by boxes of whole groups reads the memory that
    it is made of, and one that writes it writes where it is copied to. The copy
    goes. Numbers of rows become numbers of queries; a bulk copy reads a box up to
    the ends of the memory (`padded`).

    Copies stay where a group does not divide the rows of a box, a kernel gathers
    from the copy, or rows end between two queries: fa-tile-copies makes kernels of
    them.

    Before:
    ```mlir
    func.func @kernel(%q: memref<?x2x16x64xf16>) attributes {fagpu.kernel = "sm_90a"} {
      ...
      %0 = fagpu.fetch %q[%b, %h, %c0, %c0] [1, 1, 64, 64] rows(%c16) : ... -> tensor<64x64xf16>
    }
    %rows = memref.collapse_shape %workspace [[0], [1], [2, 3], [4]] : memref<?x2x4x4x64xf16> into memref<?x2x16x64xf16>
    linalg.copy ins(%split : memref<?x2x4x4x64xf16, ...>) outs(%workspace : memref<?x2x4x4x64xf16>)
    fagpu.launch @kernel grid(%n) (%rows) : memref<?x2x16x64xf16>
    ```
    After:
    ```mlir
    func.func @kernel(%q: memref<?x4x8x64xf16>) attributes {fagpu.kernel = "sm_90a"} {
      ...
      %0 = fagpu.fetch %q[%b, %c0, %h4, %c0] [1, 16, 4, 64] padded : ... -> tensor<64x64xf16>
    }
    fagpu.launch @kernel grid(%n) (%query) : memref<?x4x8x64xf16>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def FATileElementwisePass : Pass<"fa-tile-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Make parallel loops over tiles of what a function computes for each element";
  let description = [{
    A bias, a residual, an activation or the factors of dropout, which linalg
    operations compute for each element beside attention, become kernels. An
    operation becomes a parallel loop over tiles: up to 64 columns of the dimension
    of stride 1, and 64 rows of the longest other one. The body becomes that of an
    `fa.apply` on a tile, one for each result, which loads its operands.

    Refused: results of other elements than f16, bf16 and f32, other types than an
    error names, more than four dimensions, quotients by numbers known at run time,
    and operands at sums of dimensions. Loops of the host and sums stay.

    Before:
    ```mlir
    linalg.generic {indexing_maps = [(r, c) -> (r, c), (r, c) -> (c), (r, c) -> (r, c)], ...}
        ins(%x, %bias : memref<200x96xf32>, memref<96xf32>) outs(%y : memref<200x96xf32>) {
      ^bb0(%a: f32, %b: f32, %_: f32):
        %sum = arith.addf %a, %b : f32
        linalg.yield %sum : f32
    }
    ```
    After:
    ```mlir
    scf.forall (%r, %c) = (0, 0) to (200, 96) step (64, 64) {
      %tile = fa.apply offsets(%c0, %c0, %r, %c) extents(%c200, %c96)
          pairs(%b, %h, %i, %j) captures(%x0 = %x : memref<200x96xf32>, %bias0 = %bias : memref<96xf32>) {
        %a = memref.load %x0[%i, %j] : memref<200x96xf32>
        %b = memref.load %bias0[%j] : memref<96xf32>
        %sum = arith.addf %a, %b : f32
        fa.yield %sum : f32
      } -> tensor<64x64xf32>
      fagpu.store %tile, %y[%r0, %c0] sizes [64, 64] rows(%c200) columns(%c96) align(4) : ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
                           "::mlir::fagpu::FAGPUDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def FATileCopiesPass : Pass<"fa-tile-copies", "::mlir::func::FuncOp"> {
  let summary = "Make parallel loops over tiles of what a function copies and fills";
  let description = [{
    What a function copies in memory, as the rows past a query length of a
    destination that is another tensor, is copied by the GPU: a copy becomes a
    parallel loop over tiles, of which a kernel is made as of the others. A tile has
    64 rows of the longest dimension (of the second one of four where only the
    head dim is known before run time) and up to 64 columns of the one whose elements lie
    beside each other; of f32 where they do in none, it has 64 rows alone. What is
    filled, as results over no keys, becomes such a loop too, whose tiles are one
    number. Copies of memory that the function allocates wait until
    fa-forward-copies has run: the allocation is the device's then. So do sums of
    parts, as `fa-tile-gradient` makes of gradients whose additions have one order:
    each dimension that is summed up becomes a loop over 64 elements at a time,
    which adds their parts one after the other. They begin with 0, so that the fill
    ahead goes.

    Refused: elements other than f16, bf16 and f32, 16-bit elements without a
    dimension of stride 1, copies between element types but from f32, and sums of
    other memory than the device's.

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

    Before, without and with a dimension whose elements lie beside each other:
    ```mlir
    linalg.fill ins(%none : f32) outs(%lse : memref<2x3x200xf32, strided<[?, ?, ?]>>)
    linalg.fill ins(%zero : bf16) outs(%o : memref<2x200x3x64xbf16>)
    ```
    After:
    ```mlir
    scf.forall (%b, %h, %r) = (0, 0, 0) to (2, 3, 200) step (1, 1, 64) {
      %tile = tensor.splat %none : tensor<64xf32, #fagpu.row<4>>
      fagpu.store %tile, %lse[%b0, %h0, %r0] rows(%c200) : ...
    }
    scf.forall (%b, %r, %h, %c) = (0, 0, 0, 0) to (2, 200, 3, 64) step (1, 64, 1, 64) {
      %tile = tensor.splat %zero : tensor<64x64xbf16, #fagpu.acc<4>>
      fagpu.store %tile, %o[%b0, %r0, %h0, %c0] sizes [1, 64, 1, 64] rows(%c200) align(2) : ...
    }
    ```

    Before:
    ```mlir
    linalg.fill ins(%zero : f32) outs(%sums : memref<4xf32>)
    linalg.generic {iterator_types = ["reduction", "parallel"], ...}
        ins(%parts : memref<?x4xf32>) outs(%sums : memref<4xf32>) { ... arith.addf ... }
    ```
    After:
    ```mlir
    %all = memref.collapse_shape %parts [[0, 1]] : memref<?x4xf32> into memref<?xf32>
    scf.forall (%e) = (0) to (4) step (64) {
      %sum = scf.for %k = %c0 to %count step %c8 iter_args(%s = %zeros) -> (tensor<64xf32, #fagpu.row<4>>) {
        %part0 = fagpu.gather %all[%element0] mask(%inside0 : ...) : ...
        ...
      }
      fagpu.store %sum, %sums[%e0] rows(%c4) : ...
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fagpu::FAGPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def FAOutlineKernelsPass : Pass<"fa-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Make a kernel of each parallel loop over tiles";
  let description = [{
    A tile becomes a block of threads: the loop's indices are computed from the
    number of the block, the last one fastest and, without clusters, from its end
    (with a causal mask the longest rows come first, so that no block starts late
    with much to do; blocks of keys come from the first one on). The function that held the loop is left as the host side;
    what it computes before the loop is passed to the kernel, sizes (of slices
    too) as i32, other indices that come from an argument, which may be any
    number, as i64. Integers that the host has as they are keep their type, and
    their argument has `fa.captured`: it may be any number, as no size is. Views
    of arguments (slices, dims split, joined or transposed) are passed as they
    are: the launch gives their address and strides. Memory that the function
    allocates, and that kernels alone write and read, becomes a `fagpu.workspace`:
    results of one attention that another one, or its gradient, reads.

    What the attention in the loop is configured by stays with the kernel, as
    `fa.config`. With `warp_groups` its groups share the role. With
    `tile_order = longest_first` tiles come in groups of sequences whose keys and
    values stay in the L2 cache together, the group that may hold fewer first, and
    within a group the last query blocks of all its sequences first. Of a window
    the keys that a query block sees at a time count, of a table of blocks an
    eighth of the keys: larger groups leave shorter tiles for the end. Of sequences
    of which one or two would be a group, so many are that it has three tiles for
    each multiprocessor, and the last group ends evenly.

    A loop up to the least of a number of the host and the first word of a
    `fagpu.workspace` has its tiles in that memory (`fa-plan-work`), in the order in
    which they are to come: the launch is for the host's number, and the kernel's
    argument has `fa.tile_list`. Launches of the list and of its tiles wait for the
    one ahead on the device.

    With `cluster = n` the kernel gets `fagpu.cluster = n`. Blocks of a cluster
    are consecutive query blocks of a sequence, in their order: the grid has a
    multiple of `n` for each sequence, of which the last ones may start behind its
    last row and store nothing. A loop whose last dimension does not step by the
    query block, where each sequence is one, gets no clusters, and a remark of the
    category `fa-outline-kernels` says so.

    A problem of one tile has no loop. Its kernel runs where its result is written:
    what the host, or another kernel, does with memory before stays before, and the
    rest behind. Numbers that several kernels load are loaded by each.

    A function that computes nothing, as memory that it is given has no elements,
    launches a kernel on no blocks.

    Refused: a loop that yields values, memory that is neither an argument of the
    function nor a view of one, steps of different configurations, a result of a
    single tile that leaves it, memory that the host writes between where a single
    tile reads it and where it runs, and with `tile_order = longest_first` keys that
    are no memory of the host, whose number is then not known.

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
    With `cluster = 2` and `chip=sm_90a`:
    ```mlir
    func.func @f_kernel(...) attributes {fagpu.cluster = 2 : i64, fagpu.kernel = "sm_90a"} {
      %block = gpu.block_id x
      %cluster = arith.divui %block, %c2 : index
      %in_cluster = ... // %block - 2 * %cluster
      %b = arith.divui %cluster, %clusters_of_sequence : index
      %place = ... // %cluster - %b * %clusters_of_sequence
      %first = arith.muli %place, %c2 : index
      %number = arith.addi %first, %in_cluster : index
      %i = arith.muli %number, %c128 : index
      ...
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

#endif // FA_CONVERSION_FATOFAGPU_KERNELPASSES_TD
