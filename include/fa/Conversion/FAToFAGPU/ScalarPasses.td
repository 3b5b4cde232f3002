//===- ScalarPasses.td - Scalars of kernels and launches ---*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Arithmetic on scalars: the width of indices, what the host computes and by
// what it chooses launches.

#ifndef FA_CONVERSION_FATOFAGPU_SCALARPASSES_TD
#define FA_CONVERSION_FATOFAGPU_SCALARPASSES_TD

include "mlir/Pass/PassBase.td"

def FAIndexToArithPass : Pass<"fa-index-to-arith"> {
  let summary = "Operations of the index and affine dialects as those of arith";
  let description = [{
    Score and mask regions may compute on indices by any of these dialects; what
    follows knows arith, whose operations take index values too. Where an index is
    marked not to wrap the mark goes, except in kernels: it speaks of 64 bits, and
    `fa-narrow-indices` takes it for 32.

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

def FASeparateResultsPass : Pass<"fa-separate-results"> {
  let summary = "Operations of several results as operations of one";
  let description = [{
    A value of a score or mask region on blocks is the one result of an operation.
    `math.sincos` becomes two functions, `arith.addui_extended` a sum and a
    comparison, and `arith.mulsi_extended` and `arith.mului_extended` of up to 32
    bits products of their type and of 64 bits, which hold them whole. Of more
    bits they are refused in regions.

    Before:
    ```mlir
    %low, %high = arith.mulsi_extended %a, %b : i32
    ```
    After:
    ```mlir
    %low = arith.muli %a, %b : i32
    %0 = arith.extsi %a : i32 to i64
    %1 = arith.extsi %b : i32 to i64
    %2 = arith.muli %0, %1 : i64
    %3 = arith.shrsi %2, %c32_i64 : i64
    %high = arith.trunci %3 : i64 to i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FAWidenUnsignedIndicesPass : Pass<"fa-widen-unsigned-indices"> {
  let summary = "Read indices that may be below 0 as unsigned in 64 bits";
  let description = [{
    Kernels compute with indices of 32 bits where numbers fit them. What an
    unsigned division, rest or shift makes of a number below 0 depends on its
    bits: in score and mask regions these become operations on 64-bit integers
    where they are the same for all queries and keys. Those that are not get 64
    bits when the region is computed on blocks.

    Before:
    ```mlir
    %distance = arith.subi %head, %number : index
    %group = arith.divui %distance, %c8 : index
    ```
    After:
    ```mlir
    %distance = arith.subi %head, %number : index
    %0 = arith.index_cast %distance : index to i64
    %1 = arith.divui %0, %c8_i64 : i64
    %group = arith.index_cast %1 : i64 to index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FANarrowIndicesPass : Pass<"fa-narrow-indices", "::mlir::func::FuncOp"> {
  let summary = "Compute with 32-bit indices in kernels";
  let description = [{
    Sizes and indices of one dimension fit 32 bits, and so do sums of a few of
    them; products with strides, which may not, are formed at 64 bits when
    addresses are. An index is only cast to `index` where an operation asks for it.

    What may need more stays `index` until it is bounded: 64-bit arguments,
    constants above 2^30, sums with what is loaded from memory or is an argument
    that `fa.captured` marks as a captured number, products that are not marked
    `nsw`, what is shifted to the left, and what is computed in i64. Products that
    passes know to be sizes, as a number of blocks times their size, are marked.
    The marks of arguments go.

    Before: `%i = arith.addi %a, %b : index`
    After: `%i = arith.addi %a, %b : i32`
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGPUComputeOnHostPass
    : Pass<"fagpu-compute-on-host", "::mlir::ModuleOp"> {
  let summary = "Compute scalars of a launch on the host";
  let description = [{
    32-bit arithmetic of a kernel whose operands are its arguments, constants and
    other such results is done by the host, once for a launch: the kernel gets
    the results as arguments. That frees the registers that would carry them
    through the loops, as arguments are read from constant memory. What roles
    compute in the same way from the same arguments becomes one of them. The host
    takes a divisor of 0 for 1: a launch with such a size has no tiles.

    A launcher computes exactly, on numbers with a sign, and refuses an argument
    that 32 bits do not hold. So only what cannot leave these is moved, and no
    unsigned operation on what may be below 0: ranges of the arguments tell, with
    sizes of memory, and index arguments of the host that are passed as i32
    (sizes of slices), between 0 and 2^30, or `nsw` on a product; the host's sums and
    products are marked so, which a launcher then need not check. A ceiling of a
    quotient is moved where the divisor is a constant above 0. All else stays in
    the kernel, where it wraps around. A kernel that several operations launch
    stays as it is.

    Before:
    ```mlir
    func.func @kernel(%heads: i32, %kvHeads: i32, ...) attributes {fagpu.kernel = "sm_90a"} {
      %group = arith.divui %heads, %kvHeads : i32
      fagpu.role @load ... {
        %kvHead = arith.divui %head, %group : i32
    ...
      %h = arith.index_cast %queryHeads : index to i32
      %k = arith.index_cast %keyHeads : index to i32
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

def FAGPUCarryQuotientsPass
    : Pass<"fagpu-carry-quotients", "::mlir::func::FuncOp"> {
  let summary = "Count quotients of a loop's index up or down";
  let description = [{
    A loop through the blocks of several heads divides its index by the number of
    blocks of a head. Where the divisor is the same in all iterations of a
    `fagpu.for` of a kernel, the loop carries the quotient and the remainder
    instead: a division takes some twenty instructions, in each role and each
    stage of a pipeline. A remainder is `arith.remui`, or the index less the
    quotient times the divisor.

    Loops stay as they are that may divide negative numbers, that is whose least
    index is not known to be at least 0, or that may have no iteration (without
    `once`), and loops of roles that copy for themselves: their copies run ahead.
    So do divisions by constants.

    Before:
    ```mlir
    fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0) {
      %head = arith.divui %i, %blocks : i32
      %before = arith.muli %head, %blocks : i32
      %block = arith.subi %i, %before : i32
      ...
    ```
    After:
    ```mlir
    %head0 = arith.divui %last, %blocks : i32
    %block0 = ... // %last - %head0 * %blocks
    fagpu.for %i = %last step -1 segments(%first: once, %rest: to %c0)
        iter(%head = %head0, %block = %block0) -> (i32, i32) {
      ...
      %isLast = arith.cmpi eq, %block, %c0 : i32
      %nextHead = arith.select %isLast, %headBelow, %head : i32
      %nextBlock = arith.select %isLast, %lastBlock, %blockBelow : i32
      fagpu.yield %nextHead, %nextBlock : i32, i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def FAGPUPredicateLaunchesPass
    : Pass<"fagpu-predicate-launches", "::mlir::func::FuncOp"> {
  let summary = "Turn branches around launches into conditions of launches";
  let description = [{
    A host function computes and launches, and a launcher reads it as one list. So
    what an `scf.if` around launches holds is moved in front of it: its launches
    run `if` the branch is taken, and assertions hold where it is not. Divisors
    that may be 0 are 1 where it is not. What else is moved has no effect and may
    run in vain; anything that may not is refused, and so are results of the
    branch. Branches may stand in branches, before and behind launches.

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

def FAGPUOverlapLaunchesPass
    : Pass<"fagpu-overlap-launches", "::mlir::ModuleOp"> {
  let summary = "Let a kernel start before the one ahead of it has ended";
  let description = [{
    Of two launches of sm_90a kernels, one behind the other in a host function,
    the second is made `dependent` where one of them adds to memory, as gradients
    in one pass do: its blocks come to the multiprocessors as those of the first
    one leave, and wait for memory there (`fagpu.await_previous`). The first
    kernel says before its roles, or behind their loops, that they may come.
    Two launches under opposite conditions, one behind the other, are one of
    these; other launches under a condition stay as they are.

    Before:
    ```mlir
    fagpu.launch @rows grid(%n) (%o, %delta) : !mem, !row
    fagpu.launch @keys grid(%m) (%q, %delta, %dk) : !mem, !row, !mem
    ```
    After, and `fagpu.release_dependents` in `@rows`, `fagpu.await_previous` in
    `@keys`:
    ```mlir
    fagpu.launch @rows grid(%n) (%o, %delta) : !mem, !row
    fagpu.launch @keys grid(%m) dependent (%q, %delta, %dk) : !mem, !row, !mem
    ```
  }];
  let dependentDialects = ["::mlir::fagpu::FAGPUDialect"];
}

#endif // FA_CONVERSION_FATOFAGPU_SCALARPASSES_TD
