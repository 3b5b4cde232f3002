//===- ScalarPasses.td - Scalars of kernels and launches --*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Scalars that loops carry, and by what launches run.

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_SCALARPASSES_TD
#define FA_DIALECT_FAGPU_TRANSFORMS_SCALARPASSES_TD

include "mlir/Pass/PassBase.td"

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
    Under conditions several launches may be the one ahead: `dependent` is what
    is known to have one of them ahead, by conditions that exclude each other or
    hold together. What may be the first launch of a call stays as it is.

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

#endif // FA_DIALECT_FAGPU_TRANSFORMS_SCALARPASSES_TD
