//===- Passes.td - Passes on the fagpu dialect -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FAGPU_TRANSFORMS_PASSES_TD
#define FA_DIALECT_FAGPU_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    constant by that is folded. A `fagpu.repeat` becomes one `scf.while` whose
    condition is in the middle of the step.

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

#endif // FA_DIALECT_FAGPU_TRANSFORMS_PASSES_TD
