//===- Passes.td - Passes on the fagpu dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a written schedule to a planned one, in the order in which fagpu-plan
// runs them: layouts, slots, the pipelined loop, the check of its rules, then
// counts of products and copies in flight, stages and shared memory. The first
// and the last pass here stand around it, in fagpu-to-llvm. Passes that make a
// schedule faster are in the files included here.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_PASSES_TD
#define FA_DIALECT_FAGPU_TRANSFORMS_PASSES_TD

include "fa/Dialect/FAGPU/Transforms/BlockValuePasses.td"
include "fa/Dialect/FAGPU/Transforms/RolePasses.td"
include "fa/Dialect/FAGPU/Transforms/ScalarPasses.td"
include "mlir/Pass/PassBase.td"

def FAGPUIsolateKernelsPass : Pass<"fagpu-isolate-kernels", "::mlir::ModuleOp"> {
  let summary = "Erase what does not run on the device";
  let description = [{
    Leaves kernels and what they use by name. Host functions launch kernels with
    the arguments of the source, so they go before a kernel's arguments become
    parameters. A module without kernels stays as it is.

    Before:
    ```mlir
    func.func private @tile(%t: i32) -> i32 { ... }
    func.func @fwd(%n: i32) attributes {fagpu.kernel = "sm_90a"} { ... @tile ... }
    func.func @host(%n: i32, %grid: index) {
      fagpu.launch @fwd grid(%grid) (%n) : i32
      return
    }
    ```
    After:
    ```mlir
    func.func private @tile(%t: i32) -> i32 { ... }
    func.func @fwd(%n: i32) attributes {fagpu.kernel = "sm_90a"} { ... @tile ... }
    ```
  }];
}

def FAGPUInferLayoutsPass : Pass<"fagpu-infer-layouts", "::mlir::func::FuncOp"> {
  let summary = "Give block values the layouts that a text leaves out";
  let description = [{
    Layouts follow from the shapes, the operations and the number of warps of the
    role: a matrix is an accumulator, or a value per quad where it has four
    columns; a vector has the rows or the columns of the matrix that it is reduced
    from or broadcast to; the first operand of a product in registers is an
    operand, by a conversion that costs nothing behind the operation that makes
    it. Values that an elementwise operation, a loop or a branch joins have one
    layout. Layouts in the text are kept.

    Time is linear in the operations. Refused: a vector of which no use says
    whether it has rows or columns, values of different layouts that are joined,
    a shape that the layout cannot hold.

    Before, in a role of four warps:
    ```mlir
    %m = fagpu.reduce max %s : tensor<64x128xf32> -> tensor<64xf32>
    %h = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
    %o = fagpu.mma_async nn %h, %v : tensor<64x128xbf16>, !kvv
        -> !fagpu.inflight<tensor<64x128xf32> keeps tensor<64x128xbf16>>
    ```
    After:
    ```mlir
    %m = fagpu.reduce max %s : !acc -> !row
    %h = arith.truncf %s : !acc to !hacc
    %p = fagpu.convert %h : !hacc -> !p
    %o = fagpu.mma_async nn %p, %v : !p, !kvv -> !fagpu.inflight<!acc keeps !p>
    ```
  }];
}

def FAGPUExpandSlotsPass : Pass<"fagpu-expand-slots"> {
  let summary = "Give every operation of a scheduled loop its stage and order";
  let description = [{
    In a loop body with slots, an operation without one takes that of the
    nearest operation above it. Scalar operations without effects, constants and
    scalar loads have no slot: each stage gets a copy.

    Refused, because no pipeline honours it: a first operation without a slot, a
    stage above 1, anything but `fagpu.put` ahead (stage below 0), a use in a
    slot before the one that makes the value, an issue and its wait in different
    stages, a segment flag used in stage 1.

    Before:
    ```mlir
    %k = fagpu.acquire %keys {fagpu.at = [0, 1]} : !kv
    %s = fagpu.load %k : !kvv -> !x
    fagpu.release %k {fagpu.at = [0, 3]} : !kvv
    ```
    After:
    ```mlir
    %k = fagpu.acquire %keys {fagpu.at = [0, 1]} : !kv
    %s = fagpu.load %k {fagpu.at = [0, 1]} : !kvv -> !x
    fagpu.release %k {fagpu.at = [0, 3]} : !kvv
    ```
  }];
}

def FAGPUPipelinePass : Pass<"fagpu-pipeline"> {
  let summary = "Turn stages and orders into prologue, loops and epilogue";
  let description = [{
    Innermost loops first. The operations of stage 0 of one iteration and those
    of stage 1 of the iteration before are one step, sorted by order (on a tie the
    older iteration first). A `fagpu.for` becomes: stage 0 of its first iteration,
    one `scf.for` of steps for each further segment, stage 1 of its last
    iteration. Segment flags are constants in each copy, and what becomes
    constant by that is folded. A `rolled` one becomes one `scf.for`, which
    computes the flags. A `fagpu.repeat` becomes one `scf.while` whose
    condition is in the middle of the step.

    Scalars are computed where they are needed, in each copy. Where stage 0 of a
    `fagpu.repeat` waits and stage 1 needs integers that take more than 20
    operations in all from what stage 0 has, as the bounds of a tile's loops,
    these are computed ahead of that wait and kept for the next step.

    In the loop around it, the prologue of a loop belongs to the stage before the
    loop's own, so the overlap across tiles is this transformation again. Needs
    fagpu-expand-slots just before it.

    Before:
    ```mlir
    %r = fagpu.for %i = %n step -1 segments(%first: once, %rest: to %c0)
        iter(%x = %init) -> (f32) {
      %k = fagpu.acquire %keys {fagpu.at = [0, 1]} : !kv
      %v = fagpu.acquire %values {fagpu.at = [1, 2]} : !kv
      ...
    }
    ```
    After:
    ```mlir
    %k0 = fagpu.acquire %keys : !kv
    %r:2 = scf.for %j = %c0 to %trips step %c1 iter_args(%k = %k0, ...) {
      %k1 = fagpu.acquire %keys : !kv      // the newer iteration
      %v = fagpu.acquire %values : !kv     // the older one
      ...
    }
    %v = fagpu.acquire %values : !kv
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

def FAGPUCheckPass : Pass<"fagpu-check", "::mlir::func::FuncOp"> {
  let summary = "Check the rules of a GPU schedule";
  let description = [{
    Reads a kernel and refuses what no verifier of a single operation sees. It
    changes nothing, and runs before and after pipelining.

    - Layouts: every tensor has a register layout, over as many warps as a group
      of its role has.
    - Uniform control: conditions, bounds and scalar operands come from kernel
      arguments, block and group numbers, received scalars, tickets, loop indices
      and loads of scalars, not from block values or thread numbers.
    - Ends: one role fills a channel or mail and one reads it.
    - Order: in a pipelined loop nest, one role's fills (reads, turns) of one thing
      stand in one loop and one stage, in rising order, so that pipelining keeps
      their order.
    - Turns: takes and passes alternate in each block, by as many groups as take
      part.
    - Views: an acquired view is released exactly once, in the block of the
      acquire, after the wait of each product that reads it, and is not used
      afterwards.
    - Protocol, once no loop has slots: all groups of all roles of a block are
      executed, without their arithmetic on block values, for many choices of
      arguments and loaded scalars, in which a loop does up to three trips each
      time that it is reached. They neither wait for one another for ever, nor
      fill a stage twice or without reading it, nor use a view after its release,
      nor memory that two channels share (`over`) at a time.
    - Registers, likewise: the block values that are live between two operations
      fit the registers of a thread, `regs(n)` of its role or its share of the
      multiprocessor. An estimate from below: scalars, addresses and predicates do
      not count, nor what is made of constants, indices and row or column values
      where it is used. A remark names the most that is live.
    - Lowering, last: what convert-fagpu-to-nvvm and the passes behind it do not
      take, whatever the plan.

    An error of the protocol says what each group waits for, what it did last, and
    in which execution. Whether an execution ends does not depend on which role is
    faster, as each channel is filled and read by one role. So a deadlock is
    excluded for the trip counts that a remark (`--remarks-filter=fagpu-check`)
    names: 0 to 2 of the steady loops and of the loop over tiles of a pipelined
    kernel, which is 1 to 3 iterations and tiles, as far as its arguments allow.
    Counts that no execution reached are named there too.

    Accepted:
    ```mlir
    %k = fagpu.acquire %keys : !kv
    %sf = fagpu.mma_async nt %q, %k : !qv, !kvv -> !fagpu.inflight<!acc>
    %s = fagpu.wait %sf : !fagpu.inflight<!acc>
    fagpu.release %k : !kvv
    ```
    Refused:
    ```mlir
    %k = fagpu.acquire %keys : !kv
    %sf = fagpu.mma_async nt %q, %k : !qv, !kvv -> !fagpu.inflight<!acc>
    // error: releases a view that a product in flight still reads; expected it
    // after the 'fagpu.wait' of that product
    fagpu.release %k : !kvv
    %s = fagpu.wait %sf : !fagpu.inflight<!acc>
    ```
  }];
}

def FAGPUAssignWaitsPass : Pass<"fagpu-assign-waits"> {
  let summary = "Count the products that may stay in flight behind each wait";
  let description = [{
    Products complete in the order in which they were issued, so a wait names how
    many that were issued after its own may still be in flight. They are counted
    in the block; one that is issued inside control flow between an issue and its
    wait makes the count unknown, and is refused.

    Before:
    ```mlir
    %sf = fagpu.mma_async nt %q, %k : !qv, !kvv -> !fagpu.inflight<!acc>
    %of = fagpu.mma_async nn %p, %v acc(%o : !acc) : ...
    %s = fagpu.wait %sf : !fagpu.inflight<!acc>
    ```
    After:
    ```mlir
    %s = fagpu.wait %sf pending(1) : !fagpu.inflight<!acc>
    ```
  }];
}

def FAGPUAssignCopiesPass : Pass<"fagpu-assign-copies", "::mlir::func::FuncOp"> {
  let summary = "Count the copies in flight behind each acquire, and place barriers";
  let description = [{
    On channels of the engines `cp_async` and `loads` the threads of a role copy,
    and wait for their own copies in the order in which they were started. An acquire gets the
    number of copies started after its own, which may stay in flight, and a
    barrier, `fagpu.sync`, behind it, since every thread waits only for what it
    copied itself; acquires that stand together share one. A put gets a barrier
    before it where none lies between it and the last release of the stage that
    it fills; so does a store that is staged in the memory of such a channel.

    What is in flight must be the same on entry to a loop and at the end of its
    body, and at the end of both branches of an `scf.if`. A put under a false
    `if` starts an empty copy, so it counts. Releases without a barrier are
    followed around loops to a fixed point.

    Banks are counted each for itself, so each use names its own by a constant; an
    acquire waits for all parts of its stage.

    Groups of a role fill a stage together, and its barriers are those of them all.

    Refused: an acquire of what was never put, a put while all stages are in use,
    copies by one thread (`elect`), and copies of whole stages by several groups.

    Before:
    ```mlir
    fagpu.put %chK, %k[%j, %c0] [64, 128] rows(%n) : !mem into !kv
    fagpu.put %chV, %v[%j, %c0] [64, 128] rows(%n) : !mem into !kv
    %kt = fagpu.acquire %chK : !kv
    fagpu.release %kt : !kvv
    fagpu.put %chK, %k[%j1, %c0] [64, 128] rows(%n) : !mem into !kv
    ```
    After:
    ```mlir
    fagpu.put %chK, %k[%j, %c0] [64, 128] rows(%n) : !mem into !kv
    fagpu.put %chV, %v[%j, %c0] [64, 128] rows(%n) : !mem into !kv
    %kt = fagpu.acquire %chK pending(1) : !kv
    fagpu.sync
    fagpu.release %kt : !kvv
    fagpu.sync
    fagpu.put %chK, %k[%j1, %c0] [64, 128] rows(%n) : !mem into !kv
    ```
  }];
}

def FAGPUAssignStagesPass : Pass<"fagpu-assign-stages", "::mlir::func::FuncOp"> {
  let summary = "Number the stages of channels, with their phase";
  let description = [{
    A role counts what it fills and what it reads of each channel: use n of a
    channel of depth d is of stage n mod d, and its barrier completes phase
    (n / d) mod 2. A put or send waits for the phase before, of the empty barrier.
    Channels that a role uses once in each of the same blocks share a counter,
    since each takes a register. Counters are rank-0 memrefs
    at the kernel's entry, so that no pass has to thread them through loops;
    upstream `mem2reg` makes values of them once control flow is branches.

    Several puts or writes that fill one stage by parts, or the banks of one
    channel in turn, are one use; they stand in one block, banks from 0 up. A role
    that reads several banks counts each of them. Of writes the first part alone
    waits for the stage (`continues` marks the others), and the last alone arrives
    (`unfinished` marks the others); parts of other sizes, or without the next one
    behind them, are refused.

    Before:
    ```mlir
    %k = fagpu.acquire %keys : !kv
    ```
    After:
    ```mlir
    %n = memref.load %uses[] : memref<i32>
    %next = arith.addi %n, %c1 : i32
    memref.store %next, %uses[] : memref<i32>
    %stage = arith.andi %n, %c1 : i32
    %half = arith.shrui %n, %c1 : i32
    %phase = arith.andi %half, %c1 : i32
    %k = fagpu.acquire %keys stage(%stage, %phase) : !kv
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
}

def FAGPUPlanResourcesPass : Pass<"fagpu-plan-resources", "::mlir::func::FuncOp"> {
  let summary = "Lay out shared memory, its barriers and the named barriers";
  let description = [{
    Channels come first, aligned for their swizzle, then mails, then barriers. A
    full barrier takes one arrival for each put that fills the stage; an empty
    one takes one of each group that acquires it (of one group, where there are
    banks), for a mail one of each warp that receives. Turns take one named
    barrier for each group, and so do roles that store through shared memory. One
    more is for all groups of a role that wait for each other beside other roles.

    Refused: more shared memory, named barriers, threads or registers than the
    chip of the kernel has.

    Before:
    ```mlir
    %k = fagpu.channel tma : !kv
    ```
    After, with `fagpu.shared_memory = 65600` on the kernel:
    ```mlir
    %k = fagpu.channel tma offset(0) barriers(65536) arrivals [1, 2] : !kv
    ```
  }];
}

def FAGPUPinPass : Pass<"fagpu-pin"> {
  let summary = "Keep operations behind what stands before them";
  let description = [{
    Slots order operations without effects only as far as LLVM keeps the order of
    the text: no dependence says that a packing to bf16 follows the wait of another
    product. Where a text carries `fagpu.pinned` on such an operation, its operands
    go through a `fagpu.pin` at its place, which becomes an empty assembly statement
    with effects: they are computed before it, the operation after it, and it stays
    between the issues and waits around it. It is no instruction; LLVM may have to
    move registers for it.

    Use it where the PTX of a kernel shows that an operation has left its slot, and
    measure: ptxas sees no statement there and schedules by itself. Without the
    attribute this pass does nothing. An operation all of whose operands are made
    where they are used (constants, splats, broadcasts, indices, predicates) cannot
    be kept in place by them: it stays as it is, with a warning.

    Before:
    ```mlir
    %o = fagpu.wait %of pending(0) : !fagpu.inflight<!acc keeps !p>
    %h = arith.truncf %x {fagpu.pinned} : !acc to !hacc
    ```
    After:
    ```mlir
    %o = fagpu.wait %of pending(0) : !fagpu.inflight<!acc keeps !p>
    %pinned = fagpu.pin %x : !acc
    %h = arith.truncf %pinned : !acc to !hacc
    ```
  }];
}

#endif // FA_DIALECT_FAGPU_TRANSFORMS_PASSES_TD
