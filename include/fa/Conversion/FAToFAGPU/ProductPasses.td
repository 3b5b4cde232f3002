//===- ProductPasses.td - Products and their operands ------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How matrices are multiplied, in the order of the passes: in which parts and
// terms (split), out of which memory (share operands, form channels), by which
// instruction (select), and what happens while a product runs (sink waits,
// join).
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_FATOFAGPU_PRODUCTPASSES_TD
#define FA_CONVERSION_FATOFAGPU_PRODUCTPASSES_TD

include "mlir/Pass/PassBase.td"

def FAGPUSplitColumnsPass
    : Pass<"fagpu-split-columns", "::mlir::func::FuncOp"> {
  let summary = "Make f32 products of a part of the columns at once";
  let description = [{
    With `columns` in `terms`, a product that sums over more columns
    becomes a sum of products over as many, each with its own part of both
    operands, read where it is used; one that adds to a value of more columns
    becomes products that add to parts of it. Values that loops carry, elementwise
    operations and stores are split alike. The parts that a product reads are
    fetched ahead of the product before it. With `rolled` too, a sum of many parts
    is a loop over pairs of them.

    That bounds what f32 operands take of registers and shared memory, whatever
    the head dim. A first operand that was fetched before the loop is read again
    in each iteration. With `keep_queries` its parts are fetched where it was,
    each into a value of its own, and sums are written out.

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
    After, of a sum over 144 columns with `columns = 32` and `rolled`, two
    pairs of whole parts and the rest:
    ```mlir
    %s0 = fagpu.for %turn = %c0 step 1 rolled segments(%all: to %c2) iter(%x = %zero) -> (!s) {
      %first = arith.muli %turn, %c64 : i32
      %second = arith.addi %first, %c32 : i32
      %q0 = fagpu.fetch %query[..., %first] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      %k0 = fagpu.fetch %key[..., %first] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      ...
      %y = fagpu.product nt %q1, %k1 acc(%x0 : !s) : tensor<64x32xf32>, tensor<64x32xf32> -> !s
      fagpu.yield %y : !s
    }
    %q4 = fagpu.fetch %query[..., %c128] [1, 64, 1, 16] : !mem -> tensor<64x16xf32>
    %k4 = fagpu.fetch %key[..., %c128] [1, 64, 1, 16] : !mem -> tensor<64x16xf32>
    %s = fagpu.product nt %q4, %k4 acc(%s0 : !s) : tensor<64x16xf32>, tensor<64x16xf32> -> !s
    ```
    After, with `columns = 32` and `keep_queries`:
    ```mlir
    %q0 = fagpu.fetch %query[..., %c0] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
    %q1 = fagpu.fetch %query[..., %c32] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
    %o:2 = fagpu.for ... {
      %k0 = fagpu.fetch %key[..., %c0] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      %k1 = fagpu.fetch %key[..., %c32] [1, 64, 1, 32] : !mem -> tensor<64x32xf32>
      %s0 = fagpu.product nt %q0, %k0 : tensor<64x32xf32>, tensor<64x32xf32> -> !s
      %s = fagpu.product nt %q1, %k1 acc(%s0 : !s) : tensor<64x32xf32>, tensor<64x32xf32> -> !s
      ...
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

    With `warp_groups` the channels have the engine `threads`. What depends
    on the group has a bank for each; of what does not, each group computes and
    writes a part: rows of whole warps, or else columns of whole panels. Values of
    one type that are acquired together, as the terms of an f32 operand, lie below
    one another in one channel, so that groups wait for each other once. What
    groups exchange (`fagpu.exchange`) is written transposed, each group's rows
    beside those of the others, with a stage more where steps overlap.

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
    After, of two terms with `warp_groups`:
    ```mlir
    fagpu.write %channel part(%c0, %c0), %k0 : tensor<64x64xbf16> into <128x64xbf16, ...>
    fagpu.write %channel part(%c64, %c0), %k1 : tensor<64x64xbf16> into <128x64xbf16, ...>
    %view = fagpu.acquire %channel : <128x64xbf16, ...>
    %first = fagpu.slice %view[%c0, %c0] : ...
    %second = fagpu.slice %view[%c64, %c0] : ...
    ```
    After, of `%all = fagpu.exchange %ds : tensor<64x80xbf16> -> tensor<80x128xbf16>`:
    ```mlir
    fagpu.write %channel part(%c0, %g64), %ds transposed : tensor<64x80xbf16> into <80x128xbf16, ..., 2>
    %all = fagpu.acquire %channel : <80x128xbf16, ..., 2>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::fa::FADialect",
    "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUFormChannelsPass
    : Pass<"fagpu-form-channels", "::mlir::func::FuncOp"> {
  let summary = "Bring the operands of products through shared memory";
  let description = [{
    A fetch that products read becomes a put into a channel, an acquire of the
    stage where the fetch stood, and a release behind the last product that reads
    it. What reads it otherwise gets a load of the stage, ahead of the first that
    reads it where threads copy for themselves outside of loops. A store of a
    matrix goes through the memory of a channel that is no longer used where one
    has its shape. Threads start the copies (`cp_async`), or load where rows are
    aligned to less than 4 bytes (`loads`).

    With `warp_groups` channels are filled by bulk copies. A fetch in a loop has
    the `stages` of the configuration. One outside of it has two, so that the next
    tile's may come while this one's is read: if tiles overlap, or if keys do, in a
    kernel without clusters that has room. Where shared memory does not hold all
    stages, what one product alone reads has one.
    Of gradients in one pass, what is read beside operands that groups exchange
    alone has two with `overlap = tiles`, if there is room; then results may leave
    through what sums of the loop leave through. What is read
    transposed has one stage: it is free again as soon as it is in registers.
    Where the place of a fetch depends on the group, each group has a bank. A store
    has shared memory of its own if there is enough; where a block has one tile,
    that of a tile which is read for the last time before. Parts of a block value
    (`tensor.extract_slice`) become parts of a view, of whole panels.

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
    `warp_groups` a `fagpu.mma_async` and the wait for it. Products that
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

def FAGPUSinkWaitsPass : Pass<"fagpu-sink-waits", "::mlir::func::FuncOp"> {
  let summary = "Make the next operand while a product runs";
  let description = [{
    Where groups of warps write the operands of products themselves, what is
    computed, read and written behind the wait for a product and needs neither the
    product nor a stage that is released behind it runs before the wait, up to the
    next acquire or product. What is read for later comes last, so that no thread
    waits for it too soon, and a `fagpu.schedule_barrier` keeps the assembler from
    moving all of it to before the product. Kernels with an `overlap`, whose order
    is in slots, and waits behind which nothing is written stay as they are.

    Before:
    ```mlir
    %issued = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!s>
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    fagpu.release %k : !kv
    %p = math.exp2 %s : !s
    %v0 = arith.truncf %v : !vf to !v
    fagpu.write %channel, %v0 : !v into !vc
    %vv = fagpu.acquire %channel : !vc
    ```
    After:
    ```mlir
    %issued = fagpu.mma_async nt %q, %k : !qv, !kv -> !fagpu.inflight<!s>
    fagpu.schedule_barrier
    %v0 = arith.truncf %v : !vf to !v
    fagpu.write %channel, %v0 : !v into !vc
    %s = fagpu.wait %issued : !fagpu.inflight<!s>
    fagpu.release %k : !kv
    %p = math.exp2 %s : !s
    %vv = fagpu.acquire %channel : !vc
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

def FAGPUJoinProductsPass
    : Pass<"fagpu-join-products", "::mlir::func::FuncOp"> {
  let summary = "Let products that add to one sum share their operands";
  let description = [{
    Products by `fagpu.mma` that only add to one another, with operands of one
    type on either side of which some are common to two of them, become one
    `fagpu.mma_sum`, which reads a fragment of an operand once. An addition of the
    sum to another value is part of it. Releases of what they read follow.
    Products that have slots stay as they are.

    Before:
    ```mlir
    %x = fagpu.mma nt %q1, %k0 : !qv, !kv -> !s
    %y = fagpu.mma nt %q0, %k1 acc(%x : !s) : !qv, !kv -> !s
    %z = fagpu.mma nt %q0, %k0 acc(%y : !s) : !qv, !kv -> !s
    ```
    After:
    ```mlir
    %z = fagpu.mma_sum nt [%q1, %q0], [%k0, %k1] pairs [0, 1, 1], [0, 1, 0]
      : (!qv, !qv), (!kv, !kv) -> !s
    ```
  }];
  let dependentDialects = [
    "::mlir::fa::FADialect", "::mlir::fagpu::FAGPUDialect"
  ];
}

#endif // FA_CONVERSION_FATOFAGPU_PRODUCTPASSES_TD
